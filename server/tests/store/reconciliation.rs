//! Reconciliations: runs that are the same when their identity is, rows by bucket, and what was last said of an operation.

use guard::id::{OperationId, ReconciliationId};
use guard::pull::PullSchedule;
use guard::reconciliation::{
    Bucket, Format, LinkVerdict, OpenDuplicates, Origin, Progress, Reconciled, RecordDecision, Row, Run, RunFilter,
    Scope, Summary,
};
use guard::recovery::Claim;
use guard::state::State;
use guard::store::Replaced;
use guard::token::Reach;

use crate::support::{Fresh, actor, confirmation, moment, on_both};

on_both!(
    a_pull_schedule_follows_on_the_version_that_was_read,
    a_run_is_the_same_when_its_identity_is,
    a_run_that_broke_off_is_taken_up_without_its_rows,
    rows_are_read_by_bucket_behind_a_number,
    what_was_said_of_an_operation_is_stored_with_its_change,
    operations_are_found_by_reference_within_their_workflow_and_company,
    the_last_word_on_a_record_and_an_operation_is_kept,
    what_is_held_twice_counts_while_it_is_disputed,
);

fn run(number: u128, identity: &str) -> Run {
    Run {
        id: ReconciliationId::from_u128(number),
        identity: identity.to_owned(),
        scope: Scope { workflow: "handoff".to_owned(), company: "ACME".to_owned(), from: Some(moment(0)), to: None },
        origin: Origin::File { format: Format::Csv, sha256: "ab".repeat(32) },
        actor: actor(),
        started_at: moment(5),
        take: 1,
        progress: Progress::Running,
        finished_at: None,
        summary: Summary::default(),
    }
}

fn row(number: u64, bucket: Bucket) -> Row {
    Row {
        number,
        bucket,
        together: number,
        operation: None,
        record: None,
        disagreements: Vec::new(),
        notes: Vec::new(),
        candidates: Vec::new(),
    }
}

async fn a_pull_schedule_follows_on_the_version_that_was_read(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = PullSchedule::starting("handoff", "ACME", moment(0));
    assert_eq!(store.put_pull_schedule(&first).await, Ok(Replaced::Replaced));
    assert_eq!(store.put_pull_schedule(&first).await, Ok(Replaced::Stale), "another process made it");
    let other = PullSchedule::starting("handoff", "GLOBEX", moment(1));
    assert_eq!(store.put_pull_schedule(&other).await, Ok(Replaced::Replaced));
    let claim = |by: &str| Some(Claim { by: by.to_owned(), until: moment(60) });
    let claimed = first.clone().claimed(claim("here"));
    assert_eq!(store.put_pull_schedule(&claimed).await, Ok(Replaced::Replaced));
    assert_eq!(store.put_pull_schedule(&first.claimed(claim("there"))).await, Ok(Replaced::Stale), "one has it");
    let failed = claimed.after_failure(moment(9), "no answer", [0; 16]);
    assert_eq!(store.put_pull_schedule(&failed).await, Ok(Replaced::Replaced));
    assert_eq!(store.pull_schedules().await, Ok(vec![failed.clone(), other.clone()]));
    let done = failed.after_success(moment(20), ReconciliationId::from_u128(7));
    assert_eq!(store.put_pull_schedule(&done).await, Ok(Replaced::Replaced));
    assert_eq!(store.pull_schedules().await, Ok(vec![done, other]));
}

async fn a_run_is_the_same_when_its_identity_is(fresh: Fresh) {
    let store = &fresh.database.store;
    let begun = run(1, "same");
    assert_eq!(store.take_up(&begun).await, Ok(begun.clone()));
    let over = Run { progress: Progress::Done, finished_at: Some(moment(9)), ..begun.clone() };
    assert_eq!(store.finish(&over).await, Ok(Replaced::Replaced));
    assert_eq!(store.take_up(&run(2, "same")).await, Ok(over.clone()), "the one that is over is answered");
    assert_eq!(store.reconciliation(run(2, "same").id).await, Ok(None));
    let other = run(3, "other");
    assert_eq!(store.take_up(&other).await, Ok(other.clone()));
    let listed = store.reconciliations(&Reach::EVERYTHING, &RunFilter::default(), None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|run| run.id).collect::<Vec<_>>(), [other.id, over.id], "the newest first");
    assert_eq!(
        store.reconciliations(&Reach::EVERYTHING, &RunFilter::default(), Some(other.id), 10).await.unwrap().len(),
        1
    );
    let elsewhere = Reach::over(["GLOBEX".to_owned()], []);
    assert_eq!(store.reconciliations(&elsewhere, &RunFilter::default(), None, 10).await, Ok(Vec::new()));
    for (workflow, company, found) in
        [("handoff", "ACME", 2), ("handoff", "", 2), ("", "ACME", 2), ("other", "ACME", 0), ("handoff", "GLOBEX", 0)]
    {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let filter = RunFilter { workflow: some(workflow), company: some(company) };
        let listed = store.reconciliations(&Reach::EVERYTHING, &filter, None, 10).await.unwrap();
        assert_eq!(listed.len(), found, "{filter:?}");
    }
    assert_eq!(store.last_reconciliations(&Reach::EVERYTHING).await, Ok(vec![over]), "what is not over says nothing");
    assert_eq!(store.last_reconciliations(&elsewhere).await, Ok(Vec::new()));
    fresh.remove().await;
}

async fn a_run_that_broke_off_is_taken_up_without_its_rows(fresh: Fresh) {
    let store = &fresh.database.store;
    let begun = store.take_up(&run(1, "same")).await.unwrap();
    assert_eq!(store.add_rows(begun.id, begun.take, vec![row(1, Bucket::Matched)]).await, Ok(Replaced::Replaced));
    let again = store.take_up(&run(2, "same")).await.unwrap();
    assert_eq!((again.id, again.take), (begun.id, 2));
    assert_eq!(store.reconciliation_rows(begun.id, Bucket::Matched, 0, 10).await, Ok(Vec::new()));
    // Whoever was first writes nothing any more.
    assert_eq!(store.add_rows(begun.id, 1, vec![row(1, Bucket::Matched)]).await, Ok(Replaced::Stale));
    assert_eq!(store.finish(&Run { progress: Progress::Done, ..begun }).await, Ok(Replaced::Stale));
    assert_eq!(store.add_rows(again.id, 2, vec![row(1, Bucket::Matched)]).await, Ok(Replaced::Replaced));
    fresh.remove().await;
}

async fn rows_are_read_by_bucket_behind_a_number(fresh: Fresh) {
    let store = &fresh.database.store;
    let run = store.take_up(&run(1, "same")).await.unwrap();
    let rows: Vec<Row> =
        (1..=7).map(|at| row(at, if at % 2 == 0 { Bucket::Matched } else { Bucket::Missing })).collect();
    assert_eq!(store.add_rows(run.id, run.take, rows).await, Ok(Replaced::Replaced));
    let numbers = async |after, limit| {
        let found = store.reconciliation_rows(run.id, Bucket::Missing, after, limit).await.unwrap();
        found.into_iter().map(|row| row.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 3).await, [1, 3, 5]);
    assert_eq!(numbers(5, 3).await, [7]);
    assert_eq!(numbers(7, 3).await, [0; 0]);
    fresh.remove().await;
}

async fn what_was_said_of_an_operation_is_stored_with_its_change(fresh: Fresh) {
    let store = &fresh.database.store;
    let (one, two) = (fresh.begun("1").await, fresh.begun("2").await);
    let said = |operation: OperationId, bucket| Reconciled {
        operation,
        run: ReconciliationId::from_u128(7),
        bucket,
        at: moment(3),
    };
    let mut first = confirmation(&one);
    first.reconciled = Some(said(one.id, Bucket::Matched));
    let mut second = confirmation(&two);
    second.operation.version += 1;
    second.reconciled = Some(said(two.id, Bucket::Matched));
    let replaced = store.replace_all(vec![first, second]).await;
    assert_eq!(replaced, Ok(vec![Replaced::Replaced, Replaced::Stale]));
    assert_eq!(store.reconciled(&[one.id, two.id]).await, Ok(vec![said(one.id, Bucket::Matched)]));
    let mut changed = confirmation(&fresh.stored(one.id).await);
    changed.reconciled = Some(said(one.id, Bucket::Missing));
    assert_eq!(store.replace(changed).await, Ok(Replaced::Replaced));
    assert_eq!(store.reconciled(&[one.id]).await, Ok(vec![said(one.id, Bucket::Missing)]));
    fresh.remove().await;
}

async fn operations_are_found_by_reference_within_their_workflow_and_company(fresh: Fresh) {
    let store = &fresh.database.store;
    let (one, two) = (fresh.begun("1").await, fresh.begun("2").await);
    for operation in [&one, &two] {
        assert_eq!(store.replace(confirmation(operation)).await, Ok(Replaced::Replaced));
    }
    let references = ["task 907".to_owned(), "task 908".to_owned()];
    let found = store.operations_by_reference("handoff", "ACME", &references, 10).await.unwrap();
    assert_eq!(found.len(), 2, "one record may hold two operations");
    assert_eq!(store.operations_by_reference("handoff", "ACME", &references, 1).await.unwrap().len(), 1);
    assert_eq!(store.operations_by_reference("handoff", "GLOBEX", &references, 10).await, Ok(Vec::new()));
    assert_eq!(store.operations_by_reference("other", "ACME", &references, 10).await, Ok(Vec::new()));
    assert_eq!(store.operations_by_id(&[two.id, OperationId::from_u128(3)]).await.unwrap().len(), 1);
    let payloads = store.payloads_of(&[one.id, OperationId::from_u128(3)]).await.unwrap();
    assert_eq!(payloads.len(), 1);
    fresh.remove().await;
}

async fn the_last_word_on_a_record_and_an_operation_is_kept(fresh: Fresh) {
    let store = &fresh.database.store;
    let (one, two) = (fresh.begun("1").await, fresh.begun("2").await);
    let run = ReconciliationId::from_u128(7);
    let said = |operation: OperationId, reference: &str, verdict, number| RecordDecision {
        operation,
        reference: reference.to_owned(),
        verdict,
        run,
        number,
        by: "olga@example.test".to_owned(),
        at: moment(3),
        reason: "seen".to_owned(),
    };
    // An id as long as one may be.
    let long = "\u{e9}".repeat(1_000);
    let first = said(one.id, "R-1", LinkVerdict::Refused, 1);
    let last = RecordDecision { verdict: LinkVerdict::Confirmed, ..first.clone() };
    let other = said(two.id, &long, LinkVerdict::Adopted, 2);
    for decision in [&first, &other, &last, &last] {
        assert_eq!(store.put_record_decision(decision).await, Ok(()));
    }
    assert_eq!(store.record_decisions_of_rows(run, 1..=2).await, Ok(vec![last.clone(), other.clone()]));
    assert_eq!(store.record_decisions_of_rows(run, 2..=9).await, Ok(vec![other.clone()]));
    assert_eq!(store.record_decisions_of_rows(ReconciliationId::from_u128(8), 1..=9).await, Ok(Vec::new()));
    assert_eq!(store.record_decisions_of(&[one.id]).await, Ok(vec![last]));
    assert_eq!(store.record_decisions_of(&[]).await, Ok(Vec::new()));
    fresh.remove().await;
}

async fn what_is_held_twice_counts_while_it_is_disputed(fresh: Fresh) {
    let store = &fresh.database.store;
    assert_eq!(store.open_duplicates().await, Ok(Vec::new()));
    for (document, bucket, is_disputed) in
        [("1", Bucket::Duplicated, true), ("2", Bucket::Duplicated, false), ("3", Bucket::Mismatched, true)]
    {
        let begun = fresh.begun(document).await;
        let mut change = confirmation(&begun);
        if is_disputed {
            change.operation.state = State::Disputed {
                since: moment(4),
                reason: "two records".to_owned(),
                destination_reference: Some("task 907".to_owned()),
            };
        }
        change.reconciled =
            Some(Reconciled { operation: begun.id, run: ReconciliationId::from_u128(7), bucket, at: moment(4) });
        assert_eq!(store.replace(change).await, Ok(Replaced::Replaced));
    }
    let open = OpenDuplicates {
        workflow: "handoff".to_owned(),
        company: "ACME".to_owned(),
        number: 1,
        run: ReconciliationId::from_u128(7),
    };
    assert_eq!(store.open_duplicates().await, Ok(vec![open]));
    fresh.remove().await;
}
