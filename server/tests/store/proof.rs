//! A prevented duplicate is kept once for each operation, and counted in the transaction that makes it certain.

use chrono::TimeDelta;
use guard::board::start_of_day;
use guard::conflict::{Conflict, ConflictStanding, Places};
use guard::decision::DecisionName;
use guard::fingerprint::Fingerprint;
use guard::id::{ConflictId, OperationId};
use guard::operation::Operation;
use guard::state::State;
use guard::summary::Prevention;
use guard::token::Reach;

use crate::support::{Fresh, change, confirmation, delivery, eventually, now, on_both};

on_both!(
    a_repetition_of_what_is_confirmed_is_counted_with_its_flush,
    a_repetition_that_was_held_waits_until_it_is_certain,
    what_is_proven_not_applied_is_forgotten,
    two_processes_count_it_once,
    a_store_from_before_is_counted_anew,
    conflicts_tell_their_places_within_reach,
    of_each_day_the_last_look_at_ages_stays,
);

async fn counted(fresh: &Fresh, kind: &str) -> (i64, i64) {
    let of = |column: &str| {
        format!("SELECT CAST(coalesce(sum({column}), 0) AS BIGINT) FROM count WHERE counted = 'prevented:{kind}'")
    };
    (fresh.number(&of("number")).await, fresh.number(&of("ten_thousandths")).await)
}

async fn rows(fresh: &Fresh) -> i64 {
    fresh.number("SELECT count(*) FROM prevented").await
}

async fn latest(fresh: &Fresh, reach: &Reach) -> Vec<(OperationId, Prevention)> {
    let (from, to) = (now() - TimeDelta::hours(1), now() + TimeDelta::hours(1));
    let found = fresh.database.store.prevented(reach, from, to, 10).await.unwrap();
    found.into_iter().map(|prevented| (prevented.operation, prevented.kind)).collect()
}

async fn confirmed(fresh: &Fresh, document: &str) -> Operation {
    let operation = fresh.begun(document).await;
    let replacement = confirmation(&operation);
    let confirmed = replacement.operation.clone();
    fresh.database.store.replace(replacement).await.unwrap();
    confirmed
}

async fn a_repetition_of_what_is_confirmed_is_counted_with_its_flush(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = confirmed(&fresh, "812").await;
    for _ in 0..5 {
        store.note_delivery(delivery(&operation, DecisionName::Replay));
    }
    eventually("it is counted", || async { counted(&fresh, "replay").await == (1, 1_180_000) }).await;
    store.note_delivery(delivery(&operation, DecisionName::Superseded));
    eventually("the other is told", || async { fresh.stored(operation.id).await.duplicates_prevented == 6 }).await;
    assert_eq!((counted(&fresh, "replay").await, counted(&fresh, "superseded").await), ((1, 1_180_000), (0, 0)));
    assert_eq!(latest(&fresh, &Reach::EVERYTHING).await, [(operation.id, Prevention::Replay)]);
    assert_eq!(latest(&fresh, &Reach::over(["nobody".to_owned()], [])).await, []);
    assert_eq!(store.settle_held(now(), 10).await.unwrap(), 0);
    fresh.remove().await;
}

async fn a_repetition_that_was_held_waits_until_it_is_certain(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    store.note_delivery(delivery(&operation, DecisionName::InProgress));
    eventually("it is kept", || async { rows(&fresh).await == 1 }).await;
    assert_eq!(store.settle_held(now(), 10).await.unwrap(), 0);
    assert_eq!((counted(&fresh, "in_progress").await.0, latest(&fresh, &Reach::EVERYTHING).await.len()), (0, 0));
    store.replace(confirmation(&operation)).await.unwrap();
    assert_eq!(store.settle_held(now(), 10).await.unwrap(), 1);
    assert_eq!(store.settle_held(now(), 10).await.unwrap(), 0);
    let fresh = fresh.reopened().await;
    assert_eq!(counted(&fresh, "in_progress").await, (1, 1_180_000), "a restart loses nothing");
    assert_eq!(latest(&fresh, &Reach::EVERYTHING).await, [(operation.id, Prevention::InProgress)]);
    fresh.remove().await;
}

async fn what_is_proven_not_applied_is_forgotten(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    store.note_delivery(delivery(&operation, DecisionName::InProgress));
    eventually("it is kept", || async { rows(&fresh).await == 1 }).await;
    let failed = change(&operation, State::Failed { since: now(), reason: "refused".to_owned() }, now());
    store.replace(failed).await.unwrap();
    assert_eq!(store.settle_held(now(), 10).await.unwrap(), 1);
    assert_eq!(rows(&fresh).await, 0);

    // One that arrives behind the proof is none either.
    store.note_delivery(delivery(&operation, DecisionName::InProgress));
    eventually("it is counted", || async { fresh.stored(operation.id).await.duplicates_prevented == 2 }).await;
    assert_eq!((rows(&fresh).await, counted(&fresh, "in_progress").await.0), (0, 0));
    fresh.remove().await;
}

async fn two_processes_count_it_once(fresh: Fresh) {
    let mut operations = Vec::new();
    for number in 0..20 {
        let operation = fresh.begun(&format!("{number}")).await;
        fresh.database.store.note_delivery(delivery(&operation, DecisionName::InProgress));
        operations.push(operation);
    }
    eventually("all are kept", || async { rows(&fresh).await == 20 }).await;
    for operation in &operations {
        fresh.database.store.replace(confirmation(operation)).await.unwrap();
    }
    let other = fresh.opened_again().await;
    let settle = async |store: &dyn guard::store::Store| {
        let mut settled = 0;
        for _ in 0..20 {
            settled += store.settle_held(now(), 3).await.unwrap();
        }
        settled
    };
    let (one, two) = tokio::join!(settle(fresh.database.store.as_ref()), settle(other.store.as_ref()));
    assert_eq!(one + two, 20);
    other.close().await;
    assert_eq!(counted(&fresh, "in_progress").await, (20, 20 * 1_180_000));
    fresh.remove().await;
}

/// The statements of the migration behind the tables that it makes, on a store in which duplicates were counted by asks.
async fn a_store_from_before_is_counted_anew(fresh: Fresh) {
    let asked = confirmed(&fresh, "asked").await;
    let held = fresh.begun("held").await;
    confirmed(&fresh, "never asked").await;
    for _ in 0..3 {
        fresh.database.store.note_delivery(delivery(&asked, DecisionName::Replay));
        fresh.database.store.note_delivery(delivery(&held, DecisionName::InProgress));
    }
    eventually("all is counted", || async { rows(&fresh).await == 2 }).await;
    fresh.tamper("DELETE FROM prevented").await.unwrap();
    fresh.tamper("DELETE FROM count WHERE counted LIKE 'prevented:%'").await.unwrap();
    let number = "SELECT count(*) FROM operation WHERE duplicates_prevented > 0";
    assert_eq!(fresh.number(number).await, 2);
    let files = [
        include_str!("../../../migrations/sqlite/0021_proof.sql"),
        include_str!("../../../migrations/postgres/0021_proof.sql"),
    ];
    let is_postgres = matches!(fresh.database.pool, server::store::Pool::Postgres(_));
    let file = files[usize::from(is_postgres)];
    for statement in file.split(';').filter(|statement| statement.contains("INSERT INTO")) {
        fresh.tamper(statement).await.unwrap();
    }
    assert_eq!(counted(&fresh, "replay").await, (1, 1_180_000));
    assert_eq!(latest(&fresh, &Reach::EVERYTHING).await, [(asked.id, Prevention::Replay)]);
    fresh.database.store.replace(confirmation(&held)).await.unwrap();
    assert_eq!(fresh.database.store.settle_held(now(), 10).await.unwrap(), 1, "what was held waits on");
    assert_eq!(counted(&fresh, "in_progress").await, (1, 1_180_000));
    fresh.remove().await;
}

async fn of_each_day_the_last_look_at_ages_stays(fresh: Fresh) {
    let store = &fresh.database.store;
    let noon = start_of_day(now()) + TimeDelta::hours(12);
    let ages = [TimeDelta::hours(1), TimeDelta::milliseconds(3_600_001), TimeDelta::days(7), TimeDelta::days(30)];
    let mut made = Vec::new();
    for (number, age) in ages.into_iter().enumerate() {
        let operation = fresh.begun(&format!("{number}")).await;
        let unknown = State::Unknown { since: noon - age, reason: "no answer".to_owned() };
        let replacement = change(&operation, unknown, noon);
        made.push(replacement.operation.clone());
        store.replace(replacement).await.unwrap();
    }
    fresh.begun("under way").await;
    let seen = async |reach: &Reach| {
        let found = store.ages(reach, noon - TimeDelta::days(40), noon + TimeDelta::days(40)).await.unwrap();
        found.into_iter().map(|ages| ((ages.day - start_of_day(noon)).num_days(), ages.numbers)).collect::<Vec<_>>()
    };
    store.remember_ages(noon).await.unwrap();
    assert_eq!(seen(&Reach::EVERYTHING).await, [(0, [1, 1, 1, 1])]);
    store.remember_ages(noon - TimeDelta::days(6)).await.unwrap();
    assert_eq!(
        seen(&Reach::EVERYTHING).await,
        [(-6, [0, 1, 0, 1]), (0, [1, 1, 1, 1])],
        "what became uncertain later is none"
    );
    store.replace(confirmation(&made[3])).await.unwrap();
    store.remember_ages(noon + TimeDelta::hours(1)).await.unwrap();
    store.remember_ages(noon + TimeDelta::days(1)).await.unwrap();
    let fresh = fresh.reopened().await;
    let store = &fresh.database.store;
    let found = store.ages(&Reach::EVERYTHING, start_of_day(noon), noon + TimeDelta::days(2)).await.unwrap();
    let numbers: Vec<_> = found.into_iter().map(|ages| ages.numbers).collect();
    assert_eq!(numbers, [[0, 2, 0, 1], [0, 0, 2, 1]], "the last look of a day, also after a restart");
    let elsewhere = Reach::over(["elsewhere".to_owned()], []);
    assert_eq!(store.ages(&elsewhere, start_of_day(noon), noon + TimeDelta::days(2)).await.unwrap(), []);
    fresh.remove().await;
}

async fn conflicts_tell_their_places_within_reach(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut made = Vec::new();
    for (number, place) in ["/amount", "/date"].into_iter().enumerate() {
        let operation = fresh.begun(place).await;
        let mut replacement = confirmation(&operation);
        let places = Places { listed: vec![place.to_owned()], total: 1, ..Places::default() };
        let conflict = Conflict {
            id: ConflictId::new(now() + TimeDelta::milliseconds(i64::try_from(number).unwrap()), [7; 16]),
            operation: operation.id,
            fingerprint: Fingerprint::from_bytes([7; 32]),
            changes: Vec::new(),
            changes_total: 1,
            opened_at: now(),
            hits: 1,
            standing: ConflictStanding::Open,
            workflow: operation.key.workflow.as_str().to_owned(),
            company: operation.key.company.as_str().to_owned(),
            places: places.clone(),
        };
        replacement.conflict = Some((conflict, "{}".to_owned()));
        store.replace(replacement).await.unwrap();
        made.push((operation, places));
    }
    let (from, to) = (now() - TimeDelta::hours(1), now() + TimeDelta::hours(1));
    let all = store.places_of_conflicts(&Reach::EVERYTHING, from, to, 10).await.unwrap();
    assert_eq!(all, [made[1].1.clone(), made[0].1.clone()], "the latest first");
    assert_eq!(store.places_of_conflicts(&Reach::EVERYTHING, from, to, 1).await.unwrap().len(), 1);
    assert_eq!(store.places_of_conflicts(&Reach::EVERYTHING, to, to + TimeDelta::hours(1), 9).await.unwrap(), []);
    let company = made[0].0.key.company.as_str().to_owned();
    assert_eq!(store.places_of_conflicts(&Reach::over([company], []), from, to, 10).await.unwrap().len(), 2);
    let elsewhere = Reach::over([], ["elsewhere".to_owned()]);
    assert_eq!(store.places_of_conflicts(&elsewhere, from, to, 10).await.unwrap(), []);
    fresh.remove().await;
}
