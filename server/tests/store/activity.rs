//! What people did, as a list over all chains.

use chrono::TimeDelta;
use guard::activity::{Activity, ActivityFilter, TrailCheck};
use guard::actor::Actor;
use guard::clock::Timestamp;
use guard::queue::{LOOKED_UP_ROWS_MAX, Page, PageRequest};
use guard::store::{Replaced, Replacement};
use guard::token::Reach;
use guard::trail::{Entry, EntryKind};
use server::trail::{self, Sealed};

use crate::support::{Fresh, change, moment, now, object, on_both};

on_both!(
    people_are_listed_over_all_chains_and_automations_are_not,
    pages_of_deeds_lose_and_double_nothing,
    what_little_reach_shows_is_looked_for_so_far_and_no_further,
    the_last_seal_and_the_last_check_are_told
);

fn by(email: &str) -> Actor {
    Actor::Person { email: email.to_owned() }
}

/// A person does something about an operation; answers the operation after it.
async fn deed(
    fresh: &Fresh,
    operation: &guard::operation::Operation,
    who: &str,
    kind: EntryKind,
    at: Timestamp,
) -> guard::operation::Operation {
    let mut replacement: Replacement = change(operation, operation.state.clone(), at);
    replacement.entry =
        Entry::following((operation.version, operation.head), at, by(who), kind, object(&[("state", "acquired")]));
    replacement.operation.head = replacement.entry.hash;
    let after = replacement.operation.clone();
    assert_eq!(fresh.database.store.replace(replacement).await, Ok(Replaced::Replaced));
    after
}

async fn page(fresh: &Fresh, reach: &Reach, filter: ActivityFilter) -> Vec<(String, Option<String>)> {
    let request = PageRequest { cursor: None, limit: 50 };
    let found = fresh.database.store.activities(reach, &filter, &request).await.unwrap();
    assert_eq!(found.next, None);
    let name = |row: &Activity| (row.entry.actor.to_string(), row.operation.map(|operation| operation.to_string()));
    found.rows.iter().map(name).collect()
}

async fn people_are_listed_over_all_chains_and_automations_are_not(fresh: Fresh) {
    let (first, second) = (fresh.begun("1").await, fresh.begun("2").await);
    let (one, two) = (Some(first.id.to_string()), Some(second.id.to_string()));
    deed(&fresh, &first, "ada@example.test", EntryKind::Claimed, moment(1_000)).await;
    let second = deed(&fresh, &second, "bob@example.test", EntryKind::Resolved, moment(2_000)).await;
    deed(&fresh, &second, "ada@example.test", EntryKind::Resolved, moment(3_000)).await;
    let ada = || ("person:ada@example.test".to_owned(), two.clone());
    let bob = ("person:bob@example.test".to_owned(), two.clone());
    let claim = ("person:ada@example.test".to_owned(), one.clone());
    let none = ActivityFilter::default;

    let everything = &Reach::EVERYTHING;
    assert_eq!(page(&fresh, everything, none()).await, [ada(), bob.clone(), claim.clone()]);
    let person = Some("ada@example.test".to_owned());
    assert_eq!(page(&fresh, everything, ActivityFilter { person, ..none() }).await, [ada(), claim.clone()]);
    let kind = Some(EntryKind::Resolved);
    assert_eq!(page(&fresh, everything, ActivityFilter { kind, ..none() }).await, [ada(), bob.clone()]);
    let operation = Some(first.id);
    assert_eq!(page(&fresh, everything, ActivityFilter { operation, ..none() }).await, std::slice::from_ref(&claim));
    let (from, to) = (Some(moment(1_000)), Some(moment(3_000)));
    assert_eq!(page(&fresh, everything, ActivityFilter { from, to, ..none() }).await, [bob, claim]);

    assert_eq!(page(&fresh, &Reach::over(["ACME".to_owned()], []), none()).await.len(), 3);
    assert_eq!(page(&fresh, &Reach::over(["acme".to_owned()], []), none()).await, []);
    assert_eq!(page(&fresh, &Reach::over([], ["other".to_owned()]), none()).await, []);
    fresh.remove().await;
}

async fn pages_of_deeds_lose_and_double_nothing(fresh: Fresh) {
    // Several in one moment, in one chain and in others: the moment alone tells none of them apart.
    let mut expected = Vec::new();
    for document in ["1", "2", "3"] {
        let mut operation = fresh.begun(document).await;
        for _ in 0..4 {
            operation = deed(&fresh, &operation, "ada@example.test", EntryKind::Claimed, moment(500)).await;
            expected.push((operation.id, operation.version));
        }
    }
    expected.sort_unstable();
    expected.reverse();
    let mut found = Vec::new();
    let mut request = PageRequest { cursor: None, limit: 5 };
    loop {
        let all = ActivityFilter::default();
        let page = fresh.database.store.activities(&Reach::EVERYTHING, &all, &request);
        let Page { rows, next } = page.await.unwrap();
        found.extend(rows.iter().map(|row| (row.operation.unwrap(), row.entry.sequence)));
        match next {
            Some(next) => request.cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(found, expected);
    fresh.remove().await;
}

async fn what_little_reach_shows_is_looked_for_so_far_and_no_further(fresh: Fresh) {
    let store = &fresh.database.store;
    // The one that is within reach lies behind more than is looked through for one page.
    let own = fresh.begun("1").await;
    let own = deed(&fresh, &own, "ada@example.test", EntryKind::Resolved, moment(0)).await;
    let number = i64::from(LOOKED_UP_ROWS_MAX) + 100;
    let chain = fresh.id(0xE15E);
    let head = fresh.bytes(&[7; 32]);
    let sql = format!(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {number}) \
         INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash) \
         SELECT {chain}, n, {} + n, 'person:ada@example.test', 'claimed', '{{}}', {head} FROM number",
        moment(0).timestamp_millis()
    );
    assert_eq!(fresh.tamper(&sql).await, Ok(number.unsigned_abs()));
    let acme = Reach::over(["ACME".to_owned()], []);
    let all = ActivityFilter::default();
    let page = |cursor| PageRequest { cursor, limit: 50 };
    let first = store.activities(&acme, &all, &page(None)).await.unwrap();
    assert_eq!(first.rows, []);
    let (at, ..) = first.next.as_ref().and_then(Activity::behind).unwrap();
    assert_eq!(at, moment(101).timestamp_millis(), "so far was looked");
    let second = store.activities(&acme, &all, &page(first.next)).await.unwrap();
    assert_eq!((second.rows.len(), second.rows[0].operation, second.next), (1, Some(own.id), None));
    // What an index tells is found behind any number.
    let by_ada = ActivityFilter { person: Some("ada@example.test".to_owned()), ..all.clone() };
    let resolved = ActivityFilter { kind: Some(EntryKind::Resolved), ..all };
    for filter in [ActivityFilter { kind: resolved.kind, ..by_ada }, resolved] {
        for reach in [&acme, &Reach::EVERYTHING] {
            let found = store.activities(reach, &filter, &page(None)).await.unwrap();
            assert_eq!((found.rows.len(), found.rows[0].operation, found.next), (1, Some(own.id), None), "{filter:?}");
        }
    }
    fresh.remove().await;
}

async fn the_last_seal_and_the_last_check_are_told(fresh: Fresh) {
    let store = &fresh.database.store;
    assert_eq!(store.trail_state().await.unwrap(), guard::activity::TrailState::default());
    fresh.begun("1").await;
    let later = now() + TimeDelta::minutes(5);
    assert_eq!(trail::seal(fresh.database.ledger.as_ref(), later).await, Ok(Sealed::Made(1)));
    let sealed = fresh.database.ledger.last_seal().await.unwrap().unwrap();
    let told = store.trail_state().await.unwrap().seal.unwrap();
    assert_eq!((told.number, told.at, told.until, told.hash), (1, sealed.at, sealed.until, sealed.hash));
    for broken in [None, Some("entry 2 was altered".to_owned())] {
        let check = TrailCheck { at: moment(9), entries: 3, broken };
        store.put_trail_check(&check).await.unwrap();
        assert_eq!(store.trail_state().await.unwrap().check, Some(check), "the last one");
    }
    fresh.remove().await;
}
