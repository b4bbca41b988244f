//! What looks alike is found by its look, the nearest first.

use guard::amendment::AmendmentState;
use guard::id::OperationId;
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::state::State;
use guard::store::{AmendmentChange, LookAlikeQuestion, NewOperation, Replaced};

use crate::support::{Fresh, begun_as, change, key, moment, on_both};

on_both!(
    the_nearest_on_both_sides_are_found,
    the_first_of_a_key_alone_is_kept,
    many_are_asked_about_at_once,
    a_look_changes_with_what_is_proposed,
);

const MINUTE: i64 = 60_000;

fn look(number: u8) -> Option<Look> {
    Some(Look::from_bytes([number; 16]))
}

async fn put(fresh: &Fresh, document: &str, minutes: i64, look: Option<Look>) -> Operation {
    let new = NewOperation { look, ..begun_as(key(document), moment(minutes * MINUTE)) };
    let operation = new.operation.clone();
    fresh.database.store.insert_if_absent(new).await.unwrap();
    operation
}

/// Those that look like one, between these minutes, by id.
async fn found(fresh: &Fresh, of: &Operation, minutes: [i64; 2], limit: u32) -> Vec<OperationId> {
    let [from, to] = minutes.map(|minutes| moment(minutes * MINUTE));
    let question = LookAlikeQuestion { operation: of.id, from, to };
    let found = fresh.database.store.look_alikes(&[question], limit).await.unwrap();
    assert!(found.iter().all(|(asked, _)| *asked == of.id));
    let mut ids: Vec<_> = found.into_iter().map(|(_, other)| other.id).collect();
    ids.sort_unstable();
    ids
}

async fn the_nearest_on_both_sides_are_found(fresh: Fresh) {
    let mut alike = Vec::new();
    for minutes in 0..9 {
        alike.push(put(&fresh, &format!("A-{minutes}"), minutes, look(1)).await);
        put(&fresh, &format!("B-{minutes}"), minutes, look(2)).await;
    }
    let without = put(&fresh, "C-1", 4, None).await;
    let ids = |places: &[usize]| places.iter().map(|place| alike[*place].id).collect::<Vec<_>>();
    assert_eq!(found(&fresh, &alike[4], [0, 99], 100).await, ids(&[0, 1, 2, 3, 5, 6, 7, 8]));
    assert_eq!(found(&fresh, &alike[4], [0, 99], 2).await, ids(&[2, 3, 5, 6]));
    assert_eq!(found(&fresh, &alike[4], [3, 6], 100).await, ids(&[3, 5]), "from this moment on, until before that");
    assert_eq!(found(&fresh, &alike[0], [0, 99], 1).await, ids(&[1]));
    assert_eq!(found(&fresh, &without, [0, 99], 100).await, []);
    let question = LookAlikeQuestion { operation: alike[0].id, from: moment(0), to: moment(2 * MINUTE) };
    let whole = fresh.database.store.look_alikes(&[question], 5).await.unwrap();
    assert_eq!(whole, [(alike[0].id, alike[1].clone())], "the whole operation comes along");
    fresh.remove().await;
}

async fn the_first_of_a_key_alone_is_kept(fresh: Fresh) {
    let first = put(&fresh, "A-1", 0, look(1)).await;
    let lost = put(&fresh, "A-1", 1, look(1)).await;
    let other = put(&fresh, "A-2", 2, look(1)).await;
    assert_eq!(found(&fresh, &other, [0, 99], 5).await, [first.id]);
    assert_eq!(found(&fresh, &lost, [0, 99], 5).await, [], "it was never stored");
    fresh.remove().await;
}

async fn many_are_asked_about_at_once(fresh: Fresh) {
    let mut pairs = Vec::new();
    for number in 0..50u8 {
        let one = put(&fresh, &format!("A-{number}"), 0, look(number)).await;
        let other = put(&fresh, &format!("B-{number}"), 1, look(number)).await;
        pairs.push((one.id, other));
    }
    let question = |of: &OperationId| LookAlikeQuestion { operation: *of, from: moment(0), to: moment(9 * MINUTE) };
    let questions: Vec<_> = pairs.iter().map(|(one, _)| question(one)).collect();
    let mut found = fresh.database.store.look_alikes(&questions, 10).await.unwrap();
    found.sort_unstable_by_key(|(of, _)| *of);
    pairs.sort_unstable_by_key(|(of, _)| *of);
    assert_eq!(found, pairs);
    assert_eq!(fresh.database.store.look_alikes(&[], 10).await.unwrap(), []);
    fresh.remove().await;
}

async fn a_look_changes_with_what_is_proposed(fresh: Fresh) {
    let store = &fresh.database.store;
    let other = put(&fresh, "A-1", 0, look(1)).await;
    let (new, first) = super::amendment::proposed("812", moment(MINUTE));
    let mut operation = new.operation.clone();
    store.insert_if_absent(NewOperation { look: look(2), ..new }).await.unwrap();
    assert_eq!(found(&fresh, &operation, [0, 99], 5).await, []);

    let mut open = first;
    for (proposed, expected) in [(look(1), vec![other.id]), (None, Vec::new())] {
        let state =
            AmendmentState::Withdrawn { at: moment(2 * MINUTE), by: open.proposed_by.clone(), reason: "no".into() };
        let withdrawn = guard::amendment::Amendment { state, ..open.clone() };
        let rejected = State::Rejected { reason: "no".to_owned(), dropped_at: None };
        let mut ending = change(&operation, rejected, moment(2 * MINUTE));
        ending.amendment = AmendmentChange::Put(Box::new(withdrawn));
        operation = ending.operation.clone();
        assert_eq!(store.replace(ending).await, Ok(Replaced::Replaced));
        open.id = guard::id::AmendmentId::from_u128(open.id.as_u128() + 1);
        let mut proposing = change(&operation, State::AwaitingApproval, moment(3 * MINUTE));
        let payload = "{}".to_owned();
        proposing.amendment = AmendmentChange::Propose { amendment: Box::new(open.clone()), payload, look: proposed };
        operation = proposing.operation.clone();
        assert_eq!(store.replace(proposing).await, Ok(Replaced::Replaced));
        assert_eq!(found(&fresh, &operation, [0, 99], 5).await, expected);
    }
    fresh.remove().await;
}
