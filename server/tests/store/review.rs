//! Reviews: what people do about an uncertain operation is stored with its change, and gone with it.

use std::collections::HashMap;
use std::sync::Arc;

use guard::event::Resolution;
use guard::evidence::{Evidence, FILE_BYTES_MAX, File, FileHash, MediaType};
use guard::id::{EvidenceId, OperationId};
use guard::key::{KeyPart, OperationKey};
use guard::money::Money;
use guard::operation::Operation;
use guard::recovery::Recovery;
use guard::review::{Claim, Deferral, Proposal, Review, ReviewChange};
use guard::state::{REASON_LEASE_EXPIRED, State, StateName};
use guard::store::{Replaced, Store};
use guard::token::Reach;
use guard::triage::{
    Cause, ClaimedBy, Look, Part, Place, Places, Show, Sort, Spot, Step, Stretch, Triage, TriageFilter, Walk,
    stretches, stretches_by_age,
};

use crate::support::{Fresh, actor, begun_as, change, confirmation, key, moment, now, on_both, uncertainty};

on_both!(
    a_review_is_stored_and_ended_with_its_operation,
    a_review_that_cannot_be_read_is_a_named_fault,
    a_file_is_kept_with_its_evidence,
    the_queue_comes_by_money_times_age_page_by_page,
    the_queue_is_filtered,
);

async fn a_review_is_stored_and_ended_with_its_operation(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    assert_eq!(store.reviews(&[operation.id]).await, Ok(Vec::new()));
    let replacement = uncertainty(&operation, now());
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));

    let by = "ada@example.test".to_owned();
    let review = Review {
        operation: operation.id,
        claim: Some(Claim { by: by.clone(), at: moment(1), until: moment(2) }),
        deferral: Some(Deferral { by: by.clone(), at: moment(3), until: moment(4), reason: "\u{1f570}".to_owned() }),
        proposal: Some(Proposal {
            by,
            at: moment(5),
            resolution: Resolution::Confirmed { destination_reference: "task-907".to_owned() },
            reason: "the ledger \"shows\" it".to_owned(),
            link: Some("https://tickets.example/1".to_owned()),
            version: 3,
            fingerprint: operation.fingerprint,
        }),
    };
    let put = |operation: &Operation, review: &Review| {
        let mut replacement = change(operation, operation.state.clone(), now());
        replacement.review = review.clone().change();
        replacement
    };
    let replacement = put(&operation, &review);
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement.clone()).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![review.clone()]));

    // What comes too late leaves it alone, and so does what does not concern it.
    let late = Review { claim: None, ..review.clone() };
    let stale = guard::store::Replacement { review: late.clone().change(), ..replacement };
    assert_eq!(store.replace(stale).await, Ok(Replaced::Stale));
    let kept = change(&operation, operation.state.clone(), now());
    let operation = kept.operation.clone();
    assert_eq!(store.replace(kept).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![review]));

    let replacement = put(&operation, &late);
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![late]));
    let mut settled = confirmation(&operation);
    settled.review = ReviewChange::End;
    assert_eq!(store.replace(settled).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(Vec::new()));
    fresh.remove().await;
}

async fn a_review_that_cannot_be_read_is_a_named_fault(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let sql =
        format!("INSERT INTO review (operation, proposal) VALUES ({}, 'no JSON')", fresh.id(operation.id.as_u128()));
    fresh.tamper(&sql).await.unwrap();
    let fault = fresh.database.store.reviews(&[operation.id]).await.unwrap_err();
    let told =
        format!("the store holds a row that is no legal record: table review, column proposal, id {}", operation.id);
    assert_eq!(fault.to_string(), told);
    fresh.remove().await;
}

async fn a_file_is_kept_with_its_evidence(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    // The largest that is taken, with bytes that are no text.
    let content: Arc<[u8]> = (0..FILE_BYTES_MAX).map(|place| u8::try_from(place % 251).unwrap()).collect();
    let evidence = Evidence {
        id: EvidenceId::new(now(), [7; 16]),
        operation: operation.id,
        at: moment(1),
        actor: actor(),
        note: String::new(),
        link: None,
        file: Some(File {
            name: "scan \u{e4}.png".to_owned(),
            media_type: MediaType::Png,
            bytes: u64::try_from(content.len()).unwrap(),
            sha256: FileHash::of(&content),
        }),
    };
    assert_eq!(store.evidence_file(evidence.id).await, Ok(None));
    let mut replacement = change(&operation, operation.state.clone(), now());
    (replacement.evidence, replacement.file) = (Some(evidence.clone()), Some(Arc::clone(&content)));
    let stale = replacement.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    assert_eq!(store.replace(stale).await, Ok(Replaced::Stale), "and nothing is kept twice");
    let (held, bytes) = store.evidence_file(evidence.id).await.unwrap().unwrap();
    assert_eq!(held, evidence);
    assert_eq!(FileHash::of(&bytes), FileHash::of(&content));
    assert_eq!(store.evidence(operation.id, 9).await, Ok(vec![evidence]));
    fresh.remove().await;
}

/// An uncertain operation of a company, with so much money, since so many minutes before a moment.
async fn uncertain(fresh: &Fresh, company: &str, document: &str, amount: Option<i64>, minutes: i64) -> Operation {
    let key = OperationKey { company: KeyPart::new(company).unwrap(), ..key(document) };
    let mut new = begun_as(key, now());
    new.operation.money = amount.map(|amount| Money {
        amount: amount.into(),
        currency: if amount % 2 == 0 { "EUR" } else { "INR" }.to_owned(),
    });
    let operation = new.operation.clone();
    fresh.database.store.insert_if_absent(new).await.unwrap();
    let since = moment(-minutes * 60_000);
    let reason = if minutes % 2 == 0 { REASON_LEASE_EXPIRED } else { "timed out" }.to_owned();
    let state = match minutes % 3 {
        0 => State::Disputed { since, reason, destination_reference: None },
        _ => State::Unknown { since, reason },
    };
    let replacement = change(&operation, state, now());
    let operation = replacement.operation.clone();
    fresh.database.store.replace(replacement).await.unwrap();
    operation
}

fn triage(filter: TriageFilter, sort: Sort, reach: &Reach) -> Triage {
    Triage { filter, sort, reach: reach.clone(), person: "ada@example.test".to_owned(), now: moment(0) }
}

/// A page behind a spot, as the guard reads it.
async fn page(store: &dyn Store, question: &Triage, spot: Option<Spot>, limit: u32) -> Places {
    let as_of = moment(0);
    if question.is_of_reviewed() {
        let all = store.places_reviewed(question, 9).await.unwrap().unwrap();
        return question.page_of(all, as_of, spot.as_ref(), limit);
    }
    let parts = question.parts();
    let steps = store.steps(&parts).await.unwrap();
    let mut walk = Walk::over(stretches(&steps, question.sort, spot.as_ref()), question.clone(), as_of, limit);
    while let Some((stretches, look)) = walk.next() {
        let seen = store.places(question, stretches, look).await.unwrap();
        walk.take(seen);
    }
    let found = walk.page();
    if question.sort.is_by_age() && parts.iter().all(Part::is_held_by_age) {
        let whole = stretches_by_age(parts, spot.as_ref());
        let mut walk = Walk::over(whole, question.clone(), as_of, limit);
        while let Some((stretches, look)) = walk.next() {
            let seen = store.places(question, stretches, look).await.unwrap();
            walk.take(seen);
        }
        assert_eq!(walk.page(), found, "step by step or all at once: {question:?}");
    }
    found
}

fn place(operation: &Operation) -> Place {
    let (State::Unknown { since, .. } | State::Disputed { since, .. }) = &operation.state else {
        panic!("{operation:?}");
    };
    let since = since.timestamp_millis();
    Place { step: Step::of(operation.money.as_ref().map(Money::stake)), since, id: operation.id }
}

async fn the_queue_comes_by_money_times_age_page_by_page(fresh: Fresh) {
    let store = &fresh.database.store;
    let of = |filter: TriageFilter, sort| triage(TriageFilter { show: Show::All, ..filter }, sort, &Reach::EVERYTHING);
    assert_eq!(store.steps(&[Part::All, Part::Company("ACME".to_owned())]).await, Ok(Vec::new()));
    let mut all = Vec::new();
    for number in 0..60_i64 {
        let amount = (number % 6 != 0).then_some(number * number * 37 % 900);
        let company = if number % 4 == 0 { "globex" } else { "ACME" };
        let operation = uncertain(&fresh, company, &format!("order {number}"), amount, number % 17).await;
        all.push((company, operation.state.name() == StateName::Disputed, place(&operation)));
    }
    let globex = || Part::Company("globex".to_owned());
    for part in
        [Part::All, globex(), Part::Disputed, Part::Workflow("handoff".to_owned()), Part::Workflow("x".to_owned())]
    {
        let mut known: Vec<Step> = all
            .iter()
            .filter(|(company, is_disputed, _)| match &part {
                Part::All => true,
                Part::Disputed => *is_disputed,
                Part::Company(name) => company == name,
                Part::Workflow(name) => name == "handoff",
            })
            .map(|(_, _, place)| place.step)
            .collect();
        known.sort_unstable_by(|left, right| right.cmp(left));
        known.dedup();
        let known: Vec<(Part, Step)> = known.into_iter().map(|step| (part.clone(), step)).collect();
        assert_eq!(store.steps(std::slice::from_ref(&part)).await, Ok(known), "the database rounds as the guard does");
    }

    let as_of = moment(0);
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        TriageFilter::default(),
        TriageFilter { company: text("globex"), ..TriageFilter::default() },
        TriageFilter { workflow: text("handoff"), ..TriageFilter::default() },
        TriageFilter { state: Some(StateName::Disputed), ..TriageFilter::default() },
    ];
    for (filter, sort) in filters.into_iter().flat_map(|filter| Sort::ALL.map(|sort| (filter.clone(), sort))) {
        let question = of(filter, sort);
        let fits = |(company, is_disputed, _): &&(&str, bool, Place)| {
            question.filter.company.as_deref().is_none_or(|wanted| wanted == *company)
                && (question.filter.state.is_none() || *is_disputed)
        };
        let mut expected: Vec<Place> = all.iter().filter(fits).map(|(_, _, place)| *place).collect();
        question.order(&mut expected, as_of);
        let mut read: Vec<Place> = Vec::new();
        let mut spot = None;
        loop {
            let Places { rows, next } = page(store.as_ref(), &question, spot, 7).await;
            read.extend(rows);
            let Some(behind) = next else { break };
            spot = Some(Spot { as_of, behind });
        }
        assert_eq!(read, expected, "{question:?}");
    }

    // How far a look looks: rows that fit, and rows.
    let rare = of(TriageFilter { company: text("globex"), ..TriageFilter::default() }, Sort::Longest);
    let mut by_age: Vec<Place> = all.iter().map(|(_, _, place)| *place).collect();
    by_age.sort_unstable_by_key(|place| (place.since, place.id));
    let companies: HashMap<OperationId, &str> = all.iter().map(|(company, _, place)| (place.id, *company)).collect();
    let stretch = [Stretch { part: Part::All, step: None, behind: Some((by_age[9].since, by_age[9].id)) }];
    for (rows, seen) in [(2, 40), (9, 12), (60, 60)] {
        let found = store.places(&rare, &stretch, Look { rows, seen }).await.unwrap();
        let looked: Vec<Place> = by_age[10..].iter().take(seen as usize).copied().collect();
        let mut fitting: Vec<Place> = looked.iter().filter(|place| companies[&place.id] == "globex").copied().collect();
        let is_full = fitting.len() >= rows as usize;
        fitting.truncate(rows as usize);
        let stop = if is_full { fitting.last() } else { looked.last().filter(|_| looked.len() == seen as usize) };
        assert_eq!(found.stops, stop.map(|stop| (0, *stop)).into_iter().collect::<Vec<_>>(), "{rows} of {seen}");
        assert_eq!(found.places, fitting, "{rows} of {seen}");
    }
    let ids = [by_age[3].id, OperationId::from_u128(7), by_age[1].id];
    assert_eq!(store.operations_of(&ids).await.unwrap().len(), 2);
    fresh.remove().await;
}

async fn the_queue_is_filtered(fresh: Fresh) {
    let store = &fresh.database.store;
    let disputed = uncertain(&fresh, "ACME", "disputed", Some(10), 3).await;
    let mine = uncertain(&fresh, "ACME", "mine", Some(10), 1).await;
    let late = uncertain(&fresh, "globex", "late", Some(11), 2).await;
    let waits = uncertain(&fresh, "globex", "waits", None, 5).await;
    let put = async |operation: &Operation, review: Review| {
        let mut replacement = change(operation, operation.state.clone(), now());
        replacement.review = review.change();
        assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    };
    let claim = |until| Claim { by: "ada@example.test".to_owned(), at: moment(-9), until };
    put(&mine, Review { claim: Some(claim(moment(1))), ..Review::fresh(mine.id) }).await;
    // Over at this very moment.
    put(&late, Review { claim: Some(claim(moment(0))), ..Review::fresh(late.id) }).await;
    let (by, reason) = ("ben@example.test".to_owned(), "later".to_owned());
    let deferral = Deferral { by, at: moment(-9), until: moment(1), reason };
    put(&waits, Review { deferral: Some(deferral), ..Review::fresh(waits.id) }).await;
    store.add_recoveries(vec![Recovery::starting(mine.id, "ledger".to_owned(), moment(0), moment(0))]).await.unwrap();

    let all = || TriageFilter { show: Show::All, ..TriageFilter::default() };
    let text = |text: &str| Some(text.to_owned());
    let acme = Reach::over(["ACME".to_owned()], ["handoff".to_owned()]);
    let cases: Vec<(TriageFilter, &Reach, Vec<OperationId>)> = vec![
        (all(), &Reach::EVERYTHING, vec![waits.id, disputed.id, late.id, mine.id]),
        (all(), &acme, vec![disputed.id, mine.id]),
        (TriageFilter::default(), &Reach::EVERYTHING, vec![disputed.id, late.id, mine.id]),
        (TriageFilter { show: Show::Waiting, ..all() }, &Reach::EVERYTHING, vec![waits.id]),
        (TriageFilter { show: Show::NeedsMe, ..all() }, &Reach::EVERYTHING, vec![disputed.id, late.id]),
        (TriageFilter { claim: Some(ClaimedBy::Me), ..all() }, &Reach::EVERYTHING, vec![mine.id]),
        (TriageFilter { claim: Some(ClaimedBy::Nobody), ..all() }, &acme, vec![disputed.id]),
        (TriageFilter { state: Some(StateName::Disputed), ..all() }, &Reach::EVERYTHING, vec![disputed.id]),
        (TriageFilter { cause: Some(Cause::Disputed), ..all() }, &Reach::EVERYTHING, vec![disputed.id]),
        (TriageFilter { cause: Some(Cause::LeaseEnded), ..all() }, &Reach::EVERYTHING, vec![late.id]),
        (TriageFilter { cause: Some(Cause::Reported), ..all() }, &acme, vec![mine.id]),
        (TriageFilter { currency: text("EUR"), ..all() }, &Reach::EVERYTHING, vec![disputed.id, mine.id]),
        (TriageFilter { company: text("globex"), ..all() }, &Reach::EVERYTHING, vec![waits.id, late.id]),
        (TriageFilter { company: text("globex"), ..all() }, &acme, vec![]),
        (TriageFilter { workflow: text("handoff"), ..all() }, &acme, vec![disputed.id, mine.id]),
        (TriageFilter { workflow: text("other"), ..all() }, &Reach::EVERYTHING, vec![]),
    ];
    for (filter, reach, expected) in cases {
        for sort in Sort::ALL {
            let question = triage(filter.clone(), sort, reach);
            let Places { mut rows, next } = page(store.as_ref(), &question, None, 9).await;
            assert_eq!(next, None, "{question:?}");
            // The order is looked at elsewhere.
            rows.sort_unstable_by_key(|place| (place.since, place.id));
            assert_eq!(rows.iter().map(|place| place.id).collect::<Vec<_>>(), expected, "{question:?}");
        }
    }
    let waiting = triage(TriageFilter { show: Show::Waiting, ..all() }, Sort::AtRisk, &Reach::EVERYTHING);
    assert_eq!(store.places_reviewed(&waiting, 1).await.unwrap().unwrap().len(), 1);
    assert_eq!(store.places_reviewed(&waiting, 0).await, Ok(None), "more than that");
    fresh.remove().await;
}
