//! Amendments: stored whole with their operation, one open at a time, listed and expired page by page.

use guard::actor::Actor;
use guard::amendment::{Amendment, AmendmentState, AmendmentStateName, Approval, Base, Ruled, Shown};
use guard::clock::{Entropy as _, Timestamp};
use guard::diff::{Change, ChangeKind};
use guard::id::{AmendmentId, ConflictId, OperationId};
use guard::json::Json;
use guard::key::{KeyPart, OperationKey};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::queue::{PageRequest, WALKED_ROWS_MAX};
use guard::state::State;
use guard::store::{AmendmentChange, Insertion, NewOperation, Replaced, Replacement};
use guard::token::Reach;
use guard::trail::{ChainHash, Entry, EntryKind};
use guard::workflow::Correction;
use server::clock::OsEntropy;

use crate::support::{Fresh, actor, begun_as, change, key, moment, object, on_both};

on_both!(
    an_amendment_is_read_as_it_was_written_in_every_state,
    one_proposal_is_open_at_a_time,
    two_approvals_at_once_are_one,
    a_row_that_is_no_amendment_is_a_named_fault,
    lists_go_page_by_page_within_reach,
    what_few_companies_have_is_found_behind_any_number,
    what_nobody_decides_is_over_in_order,
);

/// The second revision with this key, proposed at this moment; it expires ten seconds later.
fn proposed_as(key: OperationKey, at: Timestamp) -> (NewOperation, Amendment) {
    let base = begun_as(key.at_revision(1), at).operation;
    let new = begun_as(key.at_revision(2), at);
    let state = State::AwaitingApproval;
    let detail = object(&[
        ("state", state.name().as_str()),
        ("key", &hex::encode(new.operation.key.hash())),
        ("fingerprint", &new.operation.fingerprint.to_string()),
    ]);
    let entry = Entry::following((0, ChainHash::START), at, actor(), EntryKind::AmendmentProposed, detail);
    let operation = Operation { state, attempt: None, head: entry.hash, ..new.operation };
    let amendment = amendment(&operation, &base, at);
    let new = NewOperation { operation, entry, counts: Vec::new(), amendment: Some(amendment.clone()), ..new };
    (new, amendment)
}

/// The second revision of this document, proposed at this moment.
pub fn proposed(document: &str, at: Timestamp) -> (NewOperation, Amendment) {
    proposed_as(key(document), at)
}

/// An amendment with something in every field.
fn amendment(operation: &Operation, base: &Operation, at: Timestamp) -> Amendment {
    let text = |text: &str| Some(Json::String(text.to_owned()));
    let change =
        |path: &str, kind, approved, received| Change { path: path.parse().unwrap(), kind, approved, received };
    Amendment {
        id: AmendmentId::new(at, OsEntropy.bytes()),
        operation: operation.id,
        revision: 2,
        base: Base {
            operation: base.id,
            revision: 1,
            version: 7,
            fingerprint: base.fingerprint,
            destination_reference: "task \u{202e} 907".to_owned(),
            confirmed_at: moment(-5),
        },
        fingerprint: operation.fingerprint,
        changes: vec![
            change("/total", ChangeKind::Changed, text("118.00"), text("236.00")),
            change("/a~1b/0", ChangeKind::Removed, text("\u{1f570} \"x\""), None),
            change("/lines/1", ChangeKind::Added, None, Some(Json::Array(Vec::new()))),
        ],
        changes_total: 4_711,
        proposed_by: Actor::Person { email: "olga@example.test".to_owned() },
        behind: Some("ada@example.test".to_owned()),
        reason: "the \"quantity\"\nchanged \u{e4}".to_owned(),
        requested_by: Some("the customer".to_owned()),
        from_conflict: Some(ConflictId::new(at, OsEntropy.bytes())),
        ruled: Ruled {
            correction: Correction::ReverseAndRepost,
            rule_version: 3,
            because: "the period is closed".to_owned(),
        },
        approvals_needed: 2,
        approvals: Vec::new(),
        proposed_at: at,
        expires_at: at + chrono::TimeDelta::seconds(10),
        state: AmendmentState::AwaitingApproval,
    }
}

fn approval(by: &str, shown: Shown) -> Approval {
    Approval { by: by.to_owned(), at: moment(8), reason: Some("seen".to_owned()), shown }
}

/// The change of an operation that makes this of its amendment.
fn with(operation: &Operation, state: State, change_to: AmendmentChange) -> Replacement {
    Replacement { amendment: change_to, ..change(operation, state, moment(9)) }
}

fn put(amendment: &Amendment) -> AmendmentChange {
    AmendmentChange::Put(Box::new(amendment.clone()))
}

fn rejected() -> State {
    State::Rejected { reason: "not so".to_owned(), dropped_at: None }
}

fn released() -> State {
    State::Released { since: moment(9) }
}

fn expired_of(amendment: &Amendment) -> Amendment {
    Amendment { state: AmendmentState::Expired { at: moment(9) }, ..amendment.clone() }
}

async fn an_amendment_is_read_as_it_was_written_in_every_state(fresh: Fresh) {
    let (at, by, reason) = (moment(9), actor(), "because \u{e9}".to_owned());
    let mut kept = Vec::new();
    for (number, name) in AmendmentStateName::ALL.into_iter().enumerate() {
        let state = match name {
            AmendmentStateName::AwaitingApproval => AmendmentState::AwaitingApproval,
            AmendmentStateName::Approved => AmendmentState::Approved { at },
            AmendmentStateName::Begun => AmendmentState::Begun { at },
            AmendmentStateName::Rejected => AmendmentState::Rejected { at, by: by.clone(), reason: reason.clone() },
            AmendmentStateName::Withdrawn => AmendmentState::Withdrawn { at, by: by.clone(), reason: reason.clone() },
            AmendmentStateName::Expired => AmendmentState::Expired { at },
            AmendmentStateName::Void => AmendmentState::Void { at, reason: reason.clone() },
        };
        let store = &fresh.database.store;
        let (new, amendment) = proposed(&format!("order {number}"), moment(0));
        let operation = new.operation.clone();
        assert!(matches!(store.insert_if_absent(new.clone()).await, Ok(Insertion::Inserted)));
        assert_eq!(store.amendment(amendment.id).await, Ok(Some(amendment.clone())));
        assert_eq!(store.amendment_payload(amendment.id).await, Ok(Some(new.payload)));
        let doubtful = Shown::Inconclusive { reason: "503".to_owned() };
        let approvals = vec![approval("ada@example.test", Shown::Agrees), approval("bob@example.test", doubtful)];
        let now = Amendment { approvals, state, ..amendment };
        let replaced = store.replace(with(&operation, operation.state.clone(), put(&now))).await;
        assert_eq!(replaced, Ok(Replaced::Replaced));
        kept.push(now);
    }
    let fresh = fresh.reopened().await;
    let store = &fresh.database.store;
    for amendment in kept {
        assert_eq!(store.amendments_of(amendment.operation, 5).await, Ok(vec![amendment.clone()]));
        assert_eq!(store.amendment(amendment.id).await, Ok(Some(amendment)));
    }
    let nobody = AmendmentId::from_u128(1);
    assert_eq!(store.amendment(nobody).await, Ok(None));
    assert_eq!(store.amendment_payload(nobody).await, Ok(None));
    fresh.remove().await;
}

async fn one_proposal_is_open_at_a_time(fresh: Fresh) {
    let store = &fresh.database.store;
    let (new, first) = proposed("812", moment(0));
    let operation = new.operation.clone();
    store.insert_if_absent(new).await.unwrap();

    // The same revision proposed by somebody else meets the first, and leaves nothing of its own.
    let (other, theirs) = proposed("812", moment(1));
    let Ok(Insertion::Existing(existing)) = store.insert_if_absent(other).await else { panic!("it is there") };
    assert_eq!(existing.id, operation.id);
    assert_eq!(store.amendment(theirs.id).await, Ok(None));

    // Nor can a second one stand beside it, whatever the caller believes.
    let id = AmendmentId::new(moment(2), OsEntropy.bytes());
    let payload = r#"{"document":"812","total":"354.00","currency":"EUR"}"#.to_owned();
    let fingerprint = guard::fingerprint::Fingerprint::of(&Payload::parse(payload.as_bytes()).unwrap(), &[]);
    let second = Amendment { id, fingerprint, proposed_at: moment(2), ..first.clone() };
    let propose =
        || AmendmentChange::Propose { amendment: Box::new(second.clone()), payload: payload.clone(), look: None };
    let beside = store.replace(with(&operation, State::AwaitingApproval, propose())).await;
    assert!(beside.is_err(), "{beside:?}");
    assert_eq!(store.operation(operation.id).await.unwrap().unwrap(), operation, "nothing of it is stored");
    assert_eq!(store.amendments_of(operation.id, 5).await, Ok(vec![first.clone()]));

    // What came to nothing makes room, and stays readable with its payload; the operation's payload is the newest.
    let first_payload = store.amendment_payload(first.id).await.unwrap();
    let ended = expired_of(&first);
    let ending = with(&operation, rejected(), put(&ended));
    let operation = ending.operation.clone();
    assert_eq!(store.replace(ending).await, Ok(Replaced::Replaced));
    let again = Operation { fingerprint, ..operation };
    let proposing = with(&again, State::AwaitingApproval, propose());
    let operation = proposing.operation.clone();
    assert_eq!(store.replace(proposing).await, Ok(Replaced::Replaced));
    assert_eq!(store.amendments_of(operation.id, 5).await, Ok(vec![second.clone(), ended.clone()]));
    assert_eq!(store.amendments_of(operation.id, 1).await, Ok(vec![second]));
    assert_eq!(store.amendment_payload(ended.id).await, Ok(first_payload));
    assert_eq!(store.payload(operation.id).await, Ok(Some(payload)));
    assert_eq!(fresh.stored(operation.id).await.fingerprint, fingerprint);
    fresh.remove().await;
}

async fn two_approvals_at_once_are_one(fresh: Fresh) {
    let store = &fresh.database.store;
    for number in 0..5 {
        let (new, amendment) = proposed(&format!("order {number}"), moment(0));
        let operation = new.operation.clone();
        store.insert_if_absent(new).await.unwrap();
        let approved_by = |by: &str| {
            let approvals = vec![approval(by, Shown::NoLookup)];
            Amendment { approvals, state: AmendmentState::Approved { at: moment(9) }, ..amendment.clone() }
        };
        let approve = |by: &str| store.replace(with(&operation, released(), put(&approved_by(by))));
        let (ada, bob) = tokio::join!(approve("ada@example.test"), approve("bob@example.test"));
        let winner = match (ada.unwrap(), bob.unwrap()) {
            (Replaced::Replaced, Replaced::Stale) => "ada@example.test",
            (Replaced::Stale, Replaced::Replaced) => "bob@example.test",
            both => panic!("{both:?}"),
        };
        assert_eq!(store.amendment(amendment.id).await, Ok(Some(approved_by(winner))));
        assert_eq!(fresh.stored(operation.id).await.state, released());
    }
    fresh.remove().await;
}

async fn a_row_that_is_no_amendment_is_a_named_fault(fresh: Fresh) {
    let (new, amendment) = proposed("812", moment(0));
    fresh.database.store.insert_if_absent(new).await.unwrap();
    let id = fresh.id(amendment.id.as_u128());
    fresh.tamper(&format!("UPDATE amendment SET approvals = 'no JSON' WHERE id = {id}")).await.unwrap();
    let fault = fresh.database.store.amendment(amendment.id).await.unwrap_err();
    let id = amendment.id;
    let told = format!("the store holds a row that is no legal record: table amendment, column approvals, id {id}");
    assert_eq!(fault.to_string(), told);
    fresh.remove().await;
}

async fn lists_go_page_by_page_within_reach(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut newest_first = Vec::new();
    for number in 0..5 {
        let (new, amendment) = proposed(&format!("order {number}"), moment(number));
        store.insert_if_absent(new).await.unwrap();
        newest_first.insert(0, amendment);
    }
    let south = OperationKey { company: KeyPart::new("SOUTH").unwrap(), ..key("order 0") };
    let (new, elsewhere) = proposed_as(south, moment(100));
    store.insert_if_absent(new).await.unwrap();

    let acme = Reach::over(["ACME".to_owned()], []);
    let waiting = Some(AmendmentStateName::AwaitingApproval);
    for state in [None, waiting] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.amendments(&acme, state, &PageRequest { cursor, limit: 2 }).await.unwrap();
            assert!(page.rows.len() <= 2);
            seen.extend(page.rows);
            // What comes in between stands in front, and shifts nothing.
            if seen.len() == 2 && state.is_none() {
                let (new, _) = proposed("order 9", moment(50));
                store.insert_if_absent(new).await.unwrap();
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let expected = newest_first.iter().map(|amendment| amendment.id);
        let seen = seen.iter().map(|amendment| amendment.id);
        if state.is_none() {
            assert!(seen.eq(expected));
        } else {
            assert!(seen.skip(1).eq(expected), "the one that came in between is the first now");
        }
    }

    // Each stands behind the one that is told to stand before it.
    for (reach, state) in [
        (Reach::EVERYTHING, None),
        (acme.clone(), Some(AmendmentStateName::AwaitingApproval)),
        (acme.clone(), Some(AmendmentStateName::Approved)),
    ] {
        let all = PageRequest { cursor: None, limit: 50 };
        let ids: Vec<_> =
            store.amendments(&reach, state, &all).await.unwrap().rows.iter().map(|held| held.id).collect();
        for (place, id) in ids.iter().enumerate() {
            let before = store.amendment_before(&reach, state, *id).await.unwrap().map(|before| before.id);
            assert_eq!(before, place.checked_sub(1).map(|before| ids[before]), "{place}");
        }
    }

    let all = PageRequest { cursor: None, limit: 50 };
    let of = |reach: Reach, state| {
        let all = &all;
        async move { store.amendments(&reach, state, all).await.unwrap().rows.len() }
    };
    assert_eq!(of(Reach::EVERYTHING, None).await, 7);
    assert_eq!(of(Reach::over([], ["other".to_owned()]), None).await, 0);
    assert_eq!(of(Reach::EVERYTHING, Some(AmendmentStateName::Approved)).await, 0);
    assert_eq!(store.proposals_waiting(&acme, 9).await, Ok(6));
    let operation = fresh.stored(elsewhere.operation).await;
    store.replace(with(&operation, rejected(), put(&expired_of(&elsewhere)))).await.unwrap();
    assert_eq!(of(Reach::EVERYTHING, Some(AmendmentStateName::Expired)).await, 1);
    assert_eq!(store.proposals_waiting(&Reach::EVERYTHING, 9).await, Ok(6));
    fresh.remove().await;
}

async fn what_few_companies_have_is_found_behind_any_number(fresh: Fresh) {
    let store = &fresh.database.store;
    let (new, own) = proposed("order 1", moment(0));
    store.insert_if_absent(new).await.unwrap();
    // The others came later, and stand before it in every list.
    let number = WALKED_ROWS_MAX + 1;
    let ids: Vec<String> =
        (1..=number).map(|number| format!("({})", fresh.id(own.id.as_u128() + u128::from(number)))).collect();
    let columns = "operation, revision, base, base_revision, base_version, base_fingerprint, base_reference, base_confirmed_at, \
         fingerprint, changes, changes_total, proposed_by, behind, proposal_reason, requested_by, conflict, correction, \
         rule_version, because, approvals_needed, approvals, proposed_at, expires_at, workflow";
    let filling = format!(
        "WITH filling (id) AS (VALUES {}) INSERT INTO amendment ({columns}, id, state, settled_at, company) \
         SELECT {columns}, filling.id, 'expired', 7, 'ELSEWHERE' FROM filling, amendment",
        ids.join(", ")
    );
    assert_eq!(fresh.tamper(&filling).await, Ok(number.into()));

    let page = |cursor| PageRequest { cursor, limit: 50 };
    let company = || ["ACME".to_owned()].into_iter();
    let few = Reach::over(company(), []);
    for state in [None, Some(AmendmentStateName::AwaitingApproval)] {
        let found = store.amendments(&few, state, &page(None)).await.unwrap();
        assert_eq!((found.rows, found.next), (vec![own.clone()], None));
    }
    let many = Reach::over(company().chain((0..100).map(|number| format!("COMPANY {number}"))), []);
    let first = store.amendments(&many, None, &page(None)).await.unwrap();
    assert_eq!(first.rows, [], "so many companies are looked for among all, so far and no further");
    let second = store.amendments(&many, None, &page(first.next)).await.unwrap();
    assert_eq!((second.rows, second.next), (vec![own], None));
    fresh.remove().await;
}

async fn what_nobody_decides_is_over_in_order(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut ids = Vec::new();
    // Proposed in another order than they expire in.
    for milliseconds in [20, 0, 10, 30] {
        let (new, amendment) = proposed(&format!("order {milliseconds}"), moment(milliseconds));
        store.insert_if_absent(new).await.unwrap();
        ids.push((amendment.expires_at, amendment));
    }
    ids.sort_by_key(|(expires_at, _)| *expires_at);
    let over = |at: i64, limit| {
        let now = moment(10_000 + at);
        async move {
            let over = store.proposals_over(now, limit).await.unwrap();
            over.into_iter().map(|amendment| amendment.operation).collect::<Vec<OperationId>>()
        }
    };
    let all: Vec<OperationId> = ids.iter().map(|(_, amendment)| amendment.operation).collect();
    assert_eq!(over(-1, 9).await, []);
    assert_eq!(over(0, 9).await, all[..1], "at this very moment");
    assert_eq!(over(20, 9).await, all[..3]);
    assert_eq!(over(99, 2).await, all[..2], "the longest ago first");
    // What is decided does not expire.
    let decided = &ids[0].1;
    let operation = fresh.stored(decided.operation).await;
    let approved = Amendment { state: AmendmentState::Approved { at: moment(9) }, ..decided.clone() };
    store.replace(with(&operation, released(), put(&approved))).await.unwrap();
    assert_eq!(over(20, 9).await, all[1..3]);
    fresh.remove().await;
}
