//! Recovery: schedules that change with their operation, claims that nobody shares, and how destinations may be asked.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use guard::access::Access;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::lookup::{AnswerClass, Finding};
use guard::operation::Operation;
use guard::recovery::{Claim, Recovery};
use guard::store::{RecoveryChange, Replaced};
use guard::summary::Recovering;
use guard::token::Reach;
use server::store::Pool;

use crate::support::{Fresh, change, confirmation, moment, now, on_both, uncertainty};

on_both!(
    a_schedule_is_stored_and_ended_with_its_operation,
    what_is_due_is_claimed_once_by_whomever,
    a_claim_runs_out_and_is_given_back,
    what_is_exhausted_is_not_claimed_until_a_person_asks,
    unknown_operations_without_a_schedule_are_found_and_get_one,
    recoveries_are_counted_within_reach,
    how_a_destination_may_be_asked_is_compared_before_it_is_stored,
    a_schedule_that_cannot_be_read_is_a_named_fault,
);

/// An operation that has become unknown, with a schedule due at this moment.
async fn unknown(fresh: &Fresh, document: &str, due_at: Timestamp) -> Operation {
    let operation = fresh.begun(document).await;
    let mut replacement = uncertainty(&operation, due_at);
    let recovery = Recovery::starting(operation.id, "ledger".to_owned(), due_at, due_at);
    replacement.recovery = RecoveryChange::Schedule(Box::new(recovery));
    let changed = replacement.operation.clone();
    assert_eq!(fresh.database.store.replace(replacement).await, Ok(Replaced::Replaced));
    changed
}

fn claim(by: &str, until: Timestamp) -> Claim {
    Claim { by: by.to_owned(), until }
}

async fn a_schedule_is_stored_and_ended_with_its_operation(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = unknown(&fresh, "812", moment(0)).await;
    let starting = Recovery::starting(operation.id, "ledger".to_owned(), moment(0), moment(0));
    assert_eq!(store.recovery(operation.id).await, Ok(Some(starting.clone())));

    // Every field survives: a negative lookup, then one that breaks.
    let finality = Some(TimeDelta::zero());
    let step = starting.after(&Finding::Absent, moment(5), moment(9), finality, [9; 16]);
    let reason = "no answer in 10 s \u{1f570} \"so\"".to_owned();
    let broken = Finding::Inconclusive { class: AnswerClass::Timeout, reason };
    let step = step.recovery.after(&broken, moment(10), moment(20), finality, [9; 16]);
    let (claim, exhausted_at) = (Some(claim("a", moment(99))), Some(moment(21)));
    let scheduled = Recovery { claim, exhausted_at, exists_at: Some(moment(15)), ..step.recovery };
    let mut replacement = change(&operation, operation.state.clone(), now());
    replacement.recovery = RecoveryChange::Schedule(Box::new(scheduled.clone()));
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement.clone()).await, Ok(Replaced::Replaced));
    assert_eq!(store.recovery(operation.id).await, Ok(Some(scheduled.clone())));
    assert_eq!(store.recoveries(&[OperationId::from_u128(7), operation.id]).await, Ok(vec![scheduled.clone()]));

    // A change that comes too late leaves the schedule alone, and so does one that does not concern it.
    replacement.recovery = RecoveryChange::End;
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Stale));
    let kept = change(&operation, operation.state.clone(), now());
    let operation = kept.operation.clone();
    assert_eq!(store.replace(kept).await, Ok(Replaced::Replaced));
    assert_eq!(store.recovery(operation.id).await, Ok(Some(scheduled)));

    let mut settled = confirmation(&operation);
    settled.recovery = RecoveryChange::End;
    assert_eq!(store.replace(settled).await, Ok(Replaced::Replaced));
    assert_eq!(store.recovery(operation.id).await, Ok(None));
    assert_eq!(store.recoveries(&[operation.id]).await, Ok(Vec::new()));
    fresh.remove().await;
}

async fn what_is_due_is_claimed_once_by_whomever(fresh: Fresh) {
    let mut expected = BTreeSet::new();
    for number in 0..40 {
        expected.insert(unknown(&fresh, &format!("order {number}"), moment(number)).await.id);
    }
    unknown(&fresh, "later", moment(1_000)).await;
    let other = fresh.opened_again().await;
    let claims: Vec<_> = (0..16)
        .map(|number| {
            let database = if number % 2 == 0 { fresh.database.clone() } else { other.clone() };
            tokio::spawn(async move {
                let claim = claim(&format!("process {number}"), moment(9_000));
                database.store.claim_recoveries("ledger", moment(100), &claim, 3).await.unwrap()
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for task in claims {
        let some = task.await.unwrap();
        assert!(some.len() <= 3);
        claimed.extend(some);
    }
    let mine = claim("the rest", moment(9_000));
    claimed.extend(fresh.database.store.claim_recoveries("ledger", moment(100), &mine, 100).await.unwrap());
    assert_eq!(claimed.len(), 40, "none twice, none left, and not the one that is not due");
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(fresh.database.store.claim_recoveries("bank", moment(100), &mine, 9).await, Ok(Vec::new()));
    other.close().await;
    fresh.remove().await;
}

async fn a_claim_runs_out_and_is_given_back(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = unknown(&fresh, "812", moment(0)).await.id;
    let second = unknown(&fresh, "813", moment(1)).await.id;
    let killed = claim("killed", moment(50));
    assert_eq!(store.claim_recoveries("ledger", moment(10), &killed, 1).await, Ok(vec![first]), "the longest due");
    let next = claim("next", moment(200));
    assert_eq!(store.claim_recoveries("ledger", moment(49), &next, 9).await, Ok(vec![second]));
    assert_eq!(store.claim_recoveries("ledger", moment(50), &next, 9).await, Ok(vec![first]), "it ran out");

    store.release_recoveries(&[first, second], "killed").await.unwrap();
    assert!(store.recovery(first).await.unwrap().unwrap().is_claimed(moment(60)), "only its owner gives it back");
    store.release_recoveries(&[first], "next").await.unwrap();
    assert_eq!(store.claim_recoveries("ledger", moment(60), &killed, 9).await, Ok(vec![first]));
    fresh.remove().await;
}

async fn what_is_exhausted_is_not_claimed_until_a_person_asks(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = unknown(&fresh, "812", moment(0)).await;
    let void = Finding::VoidOnly { destination_references: vec!["907".to_owned()] };
    let held = store.recovery(operation.id).await.unwrap().unwrap();
    let exhausted = held.after(&void, moment(1), moment(2), None, [0; 16]).recovery;
    let mut replacement = change(&operation, operation.state.clone(), now());
    replacement.recovery = RecoveryChange::Schedule(Box::new(exhausted.clone()));
    store.replace(replacement).await.unwrap();
    let mine = claim("mine", moment(900_000));
    assert_eq!(store.claim_recoveries("ledger", moment(500_000), &mine, 9).await, Ok(Vec::new()));

    assert_eq!(store.hasten_recovery(operation.id, moment(500)).await, Ok(true));
    assert_eq!(store.recovery(operation.id).await, Ok(Some(exhausted.asked_for(moment(500)))));
    assert_eq!(store.claim_recoveries("ledger", moment(500), &mine, 9).await, Ok(vec![operation.id]));
    assert_eq!(store.hasten_recovery(operation.id, moment(600)).await, Ok(false), "it is being looked for");
    assert_eq!(store.hasten_recovery(OperationId::from_u128(7), moment(600)).await, Ok(false));
    fresh.remove().await;
}

async fn unknown_operations_without_a_schedule_are_found_and_get_one(fresh: Fresh) {
    let store = &fresh.database.store;
    fresh.begun("under way").await;
    let scheduled = unknown(&fresh, "scheduled", moment(0)).await;
    let mut lacking = Vec::new();
    for number in 0..5 {
        let operation = fresh.begun(&format!("lacking {number}")).await;
        let replacement = uncertainty(&operation, now());
        lacking.push(replacement.operation.clone());
        store.replace(replacement).await.unwrap();
    }
    lacking.sort_by_key(|operation| operation.id);
    let start = OperationId::from_u128(0);
    let first = store.without_recovery("handoff", "ledger", start, 3).await.unwrap();
    assert_eq!(first, lacking[..3]);
    let rest = store.without_recovery("handoff", "ledger", first[2].id, 3).await.unwrap();
    assert_eq!(rest, lacking[3..]);
    assert_eq!(store.without_recovery("other", "ledger", start, 9).await, Ok(Vec::new()));

    let starting = |operation: &Operation| Recovery::starting(operation.id, "ledger".to_owned(), moment(7), moment(7));
    // One of them is settled meanwhile.
    store.replace(confirmation(&lacking[4])).await.unwrap();
    store.add_recoveries(lacking.iter().map(starting).collect()).await.unwrap();
    assert_eq!(store.recovery(lacking[0].id).await, Ok(Some(starting(&lacking[0]))));
    assert_eq!(store.recovery(lacking[4].id).await, Ok(None));
    assert_eq!(store.without_recovery("handoff", "ledger", start, 9).await, Ok(Vec::new()));

    // The workflow has another destination now: what is there moves over and keeps what it knows.
    assert_eq!(store.without_recovery("handoff", "bank", start, 9).await.unwrap().len(), 5);
    let there = Recovery::starting(scheduled.id, "bank".to_owned(), moment(9), moment(9));
    store.add_recoveries(vec![there]).await.unwrap();
    let moved = store.recovery(scheduled.id).await.unwrap().unwrap();
    assert_eq!((moved.destination.as_str(), moved.since), ("bank", moment(0)));

    // What is no longer unknown needs none; what is keeps it.
    store.drop_recovery(scheduled.id).await.unwrap();
    assert_eq!(store.recovery(scheduled.id).await, Ok(Some(moved)));
    store.replace(confirmation(&scheduled)).await.unwrap();
    store.drop_recovery(scheduled.id).await.unwrap();
    assert_eq!(store.recovery(scheduled.id).await, Ok(None));
    fresh.remove().await;
}

async fn recoveries_are_counted_within_reach(fresh: Fresh) {
    let store = &fresh.database.store;
    for number in 0..3 {
        unknown(&fresh, &format!("order {number}"), moment(0)).await;
    }
    let exhausted = unknown(&fresh, "exhausted", moment(0)).await;
    fresh
        .tamper(&format!("UPDATE recovery SET exhausted_at = 1 WHERE operation = {}", fresh.id(exhausted.id.as_u128())))
        .await
        .unwrap();
    let all = Recovering { waiting: 3, exhausted: 1, is_cut: false };
    let [acme, other] = ["ACME", "other"].map(|company| Reach::over([company.to_owned()], ["handoff".to_owned()]));
    let some = Reach::over([], ["handoff".to_owned()]);
    for reach in [&Reach::EVERYTHING, &acme, &some] {
        assert_eq!(store.recovering(reach, 10).await, Ok(all), "{reach:?}");
        let cut = store.recovering(reach, 2).await.unwrap();
        assert!(cut.is_cut && cut.waiting <= 2 && cut.exhausted <= 1, "{cut:?} {reach:?}");
    }
    assert_eq!(store.recovering(&other, 10).await, Ok(Recovering::default()));
    fresh.remove().await;
}

async fn how_a_destination_may_be_asked_is_compared_before_it_is_stored(fresh: Fresh) {
    let store = &fresh.database.store;
    let timeout = guard::recovery::Answer::Inconclusive(AnswerClass::Timeout);
    let mut access = Access::fresh("ledger".to_owned());
    assert_eq!(store.accesses().await, Ok(Vec::new()));
    for _ in 0..guard::access::FAILURES_MAX {
        access = access.answered(timeout, "no answer \u{1f570}", moment(0), [3; 16]).unwrap();
        assert_eq!(store.put_access(&access).await, Ok(Replaced::Replaced));
        assert_eq!(store.put_access(&access).await, Ok(Replaced::Stale), "the same again");
        assert_eq!(store.accesses().await, Ok(vec![access.clone()]));
    }
    let probe_at = access.down.as_ref().unwrap().probe_at;
    let probes: Vec<_> = (0..8)
        .map(|number| {
            let (database, probed) = (fresh.database.clone(), access.probed(probe_at, [number; 16]));
            tokio::spawn(async move { database.store.put_access(&probed).await.unwrap() })
        })
        .collect();
    let mut taken = 0;
    for probe in probes {
        taken += usize::from(probe.await.unwrap() == Replaced::Replaced);
    }
    assert_eq!(taken, 1, "one probe");
    let held = store.accesses().await.unwrap().remove(0);
    let closed = held.answered(guard::recovery::Answer::Absent, "", probe_at, [0; 16]).unwrap();
    assert_eq!(store.put_access(&closed).await, Ok(Replaced::Replaced));
    assert_eq!(store.accesses().await, Ok(vec![closed]));
    fresh.remove().await;
}

async fn a_schedule_that_cannot_be_read_is_a_named_fault(fresh: Fresh) {
    let operation = unknown(&fresh, "812", moment(0)).await;
    fresh.tamper("UPDATE recovery SET last_at = 1, last_answer = 'maybe'").await.unwrap();
    let fault = fresh.database.store.recovery(operation.id).await.unwrap_err();
    let expected = format!("table recovery, column last_answer, id {}", operation.id);
    assert!(fault.to_string().ends_with(&expected), "{fault}");
    for shape in [
        "UPDATE recovery SET last_answer = NULL",
        "UPDATE recovery SET claimed_by = 'x'",
        "UPDATE recovery SET lookups = -1",
        "INSERT INTO access (destination, version, failures, probe_at, paced_until) VALUES ('x', 1, 0, 1, 1)",
    ] {
        assert!(fresh.tamper(shape).await.is_err(), "{shape}");
    }
    fresh.remove().await;
}

/// Reading whole tables is forbidden to the planner, which takes the one way that there is for dear all the same: dear enough to compile it,
/// which takes a thousand times longer than reading the row.
#[tokio::test]
async fn a_table_without_an_index_to_go_by_is_read_without_compiling_anything() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let Pool::Postgres(pool) = &fresh.database.pool else { unreachable!("it is PostgreSQL") };
    let explained = sqlx::query_scalar("EXPLAIN ANALYZE SELECT destination, version FROM access ORDER BY version");
    let plan: Vec<String> = explained.fetch_all(pool).await.unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("Seq Scan on access") && plan.contains("cost=10000000"), "{plan}");
    assert!(!plan.contains("JIT"), "{plan}");
    fresh.remove().await;
}
