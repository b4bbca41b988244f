//! Reviews: what people do about an uncertain operation is stored with its change, and gone with it.

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
use guard::store::Replaced;
use guard::token::Reach;
use guard::triage::{Cause, ClaimedBy, Place, Show, Spot, Step, Triage, TriageFilter, order, stretches};

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

fn triage(filter: TriageFilter) -> Triage {
    Triage { filter, person: "ada@example.test".to_owned(), now: moment(0) }
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
    let reach = Reach::EVERYTHING;
    let question = triage(TriageFilter { show: Show::All, ..TriageFilter::default() });
    assert_eq!(store.steps(&question).await, Ok(Vec::new()));
    let mut all = Vec::new();
    for number in 0..60_i64 {
        let amount = (number % 6 != 0).then_some(number * number * 37 % 900);
        let company = if number % 4 == 0 { "globex" } else { "ACME" };
        all.push(place(&uncertain(&fresh, company, &format!("order {number}"), amount, number % 17).await));
    }
    let steps = store.steps(&question).await.unwrap();
    let mut known: Vec<Step> = all.iter().map(|place| place.step).collect();
    known.sort_unstable_by(|left, right| right.cmp(left));
    known.dedup();
    assert_eq!(steps, known, "the database rounds as the guard does");

    let as_of = moment(0);
    let mut expected = all.clone();
    order(&mut expected, as_of);
    let mut read: Vec<Place> = Vec::new();
    loop {
        let spot = read.last().map(|last| Spot { as_of, behind: *last });
        let mut page = store.places(&reach, &question, &stretches(&steps, spot.as_ref()), 7).await.unwrap();
        order(&mut page, as_of);
        page.truncate(7);
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert_eq!(read, expected);

    let company =
        |company: &str| TriageFilter { company: Some(company.to_owned()), show: Show::All, ..TriageFilter::default() };
    let of_company = store.steps(&triage(company("globex"))).await.unwrap();
    assert!(of_company.len() < steps.len() && of_company.iter().all(|step| steps.contains(step)));

    // By age, both ways, behind a place.
    let mut by_age = all.clone();
    by_age.sort_unstable_by_key(|place| (place.since, place.id));
    let found = store.places_by_age(&reach, &question, false, Some((by_age[9].since, by_age[9].id)), 5).await;
    assert_eq!(found, Ok(by_age[10..15].to_vec()));
    by_age.reverse();
    let found = store.places_by_age(&reach, &question, true, Some((by_age[9].since, by_age[9].id)), 5).await;
    assert_eq!(found, Ok(by_age[10..15].to_vec()));
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
        let question = triage(filter);
        let found = store.places_by_age(reach, &question, false, None, 9).await.unwrap();
        assert_eq!(found.iter().map(|place| place.id).collect::<Vec<_>>(), expected, "{question:?}");
        // The other order holds the same.
        let steps = store.steps(&question).await.unwrap();
        let mut found = store.places(reach, &question, &stretches(&steps, None), 9).await.unwrap();
        found.sort_unstable_by_key(|place| (place.since, place.id));
        assert_eq!(found.iter().map(|place| place.id).collect::<Vec<_>>(), expected, "{question:?}");
    }
    fresh.remove().await;
}
