//! What lies where, by the kinds of cases that are met, and by chance.

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::matching::{Link, Matching};
use super::*;
use crate::fingerprint::Fingerprint;
use crate::key::{KeyPart, OperationKey};
use crate::money::Money;
use crate::trail::ChainHash;

const AT: DateTime<Utc> = DateTime::UNIX_EPOCH;

fn confirmed(reference: &str) -> State {
    State::Confirmed { since: AT, destination_reference: reference.to_owned() }
}

fn operation(number: u128, state: State, amount: &str, currency: &str) -> Operation {
    let part = |text: &str| KeyPart::new(text).unwrap();
    Operation {
        id: OperationId::from_u128(number),
        key: OperationKey {
            workflow: part("handoff"),
            company: part("ACME"),
            source_system: part("shop"),
            document: part(&format!("INV-{number}")),
            action: part("create"),
            revision: 1,
        },
        state,
        version: 1,
        head: ChainHash::START,
        fingerprint: Fingerprint::from_bytes([0; 32]),
        fingerprint_scheme: 1,
        policy_version: 1,
        attempt: None,
        money: (!amount.is_empty()).then(|| Money { amount: amount.parse().unwrap(), currency: currency.to_owned() }),
        superseded_by: None,
        duplicates_prevented: 0,
        open_conflicts: 0,
        created_at: AT,
        updated_at: AT,
        content: crate::retention::Content::Kept,
    }
}

fn record(reference: &str, amount: &str, currency: &str) -> Record {
    Record {
        destination_reference: (!reference.is_empty()).then(|| reference.to_owned()),
        amount: (!amount.is_empty()).then(|| amount.parse().unwrap()),
        currency: (!currency.is_empty()).then(|| currency.to_owned()),
        ..Record::default()
    }
}

#[test]
fn what_was_confirmed_while_the_list_was_read_is_not_missing() {
    let at = |seconds| AT + chrono::TimeDelta::seconds(seconds);
    let since =
        |seconds, reference: &str| State::Confirmed { since: at(seconds), destination_reference: reference.to_owned() };
    let operations = [
        operation(1, since(10, "R-1"), "5.00", "EUR"),
        operation(2, since(11, "R-2"), "5.00", "EUR"),
        operation(3, since(12, "R-3"), "5.00", "EUR"),
    ];
    let mut matching = Matching::complete_until(Some(at(10)));
    for operation in &operations {
        matching.add_operation(operation).unwrap();
    }
    let listed = record("R-3", "5.00", "EUR");
    matching.add_record(&listed, &links(&operations, &listed)).unwrap();
    let decided = matching.decide();
    let buckets = [0, 1, 2].map(|at| decided.operation(at).unwrap().bucket);
    assert_eq!(buckets, [Bucket::Missing, Bucket::Pending, Bucket::Matched]);
}

/// Links by the reference that is held and by the external reference, as the service does.
fn links(operations: &[Operation], record: &Record) -> Vec<Link> {
    let workflow = Workflow::named(KeyPart::new("handoff").unwrap());
    let is_linked = |operation: &&Operation| {
        let held = operation.state.destination_reference();
        (held.is_some() && held == record.destination_reference.as_deref())
            || record.external_reference == Some(operation.external_reference())
    };
    let link = |operation: &Operation| {
        let compared = compare(&workflow, operation, None, record);
        Link { operation: operation.id, agrees: compared.agrees(), is_complete: compared.is_complete }
    };
    operations.iter().filter(is_linked).map(link).collect()
}

struct Outcome {
    operations: Vec<Bucket>,
    records: Vec<Bucket>,
    totals: Vec<Total>,
    repeated: u64,
}

fn reconcile(operations: &[Operation], records: &[Record]) -> Outcome {
    reconcile_with(operations, records, Matching::default(), &[])
}

/// With reversals: which operation took a record back, and which one is confirmed as that very record.
fn reconcile_with(
    operations: &[Operation],
    records: &[Record],
    mut matching: Matching,
    reversals: &[(usize, Option<usize>)],
) -> Outcome {
    for operation in operations {
        matching.add_operation(operation).unwrap();
    }
    for record in records {
        matching.add_record(record, &links(operations, record)).unwrap();
    }
    for (by, of) in reversals {
        matching.take_back(&operations[*by], of.map(|of| operations[of].id));
    }
    let decided = matching.decide();
    let index = |length: usize| 0..u32::try_from(length).unwrap();
    Outcome {
        operations: index(operations.len()).map(|at| decided.operation(at).unwrap().bucket).collect(),
        records: index(records.len()).map(|at| decided.record(at).unwrap().bucket).collect(),
        repeated: decided.repeated,
        totals: decided.totals,
    }
}

fn sums(totals: &[Total]) -> (Decimal, Decimal) {
    (totals.iter().map(|total| total.source).sum(), totals.iter().map(|total| total.destination).sum())
}

#[test]
fn one_record_for_one_operation_is_matched_and_another_amount_is_not() {
    let ours = [operation(1, confirmed("R-1"), "10.00", "EUR"), operation(2, confirmed("R-2"), "20.00", "EUR")];
    let theirs = [record("R-1", "10", "EUR"), record("R-2", "20.01", "EUR")];
    let outcome = reconcile(&ours, &theirs);
    assert_eq!(outcome.operations, [Bucket::Matched, Bucket::Mismatched]);
    assert_eq!(outcome.records, [Bucket::Matched, Bucket::Mismatched]);
}

#[test]
fn one_payment_for_two_invoices_is_counted_once() {
    let ours = [operation(1, confirmed("P-1"), "100.00", "EUR"), operation(2, confirmed("P-1"), "200.00", "EUR")];
    let outcome = reconcile(&ours, &[record("P-1", "300.00", "EUR")]);
    assert_eq!(outcome.operations, [Bucket::Matched, Bucket::Matched]);
    let three_hundred: Decimal = "300.00".parse().unwrap();
    assert_eq!(sums(&outcome.totals), (three_hundred, three_hundred));
    // Listed once for each invoice that it pays, it is still one payment.
    let outcome = reconcile(&ours, &[record("P-1", "300.00", "EUR"), record("P-1", "300.00", "EUR")]);
    assert_eq!((sums(&outcome.totals), outcome.repeated), ((three_hundred, three_hundred), 1));
    let outcome = reconcile(&ours, &[record("P-1", "299.00", "EUR")]);
    assert_eq!(outcome.operations, [Bucket::Mismatched, Bucket::Mismatched]);
}

#[test]
fn two_live_records_of_one_operation_are_a_duplicate_unless_they_are_its_parts() {
    let ours = [operation(1, confirmed("P-1"), "100.00", "EUR")];
    let second = |amount: &str| Record {
        external_reference: Some(ours[0].external_reference()),
        // A part is booked under the same id by some, under another by most; the reference that is held then disagrees.
        ..record("", amount, "EUR")
    };
    let outcome = reconcile(&ours, &[record("P-1", "100.00", "EUR"), second("100.00")]);
    assert_eq!(outcome.operations, [Bucket::Duplicated]);
    assert_eq!(outcome.records, [Bucket::Duplicated, Bucket::Duplicated]);
    let outcome = reconcile(&ours, &[record("P-1", "60.00", "EUR"), second("40.00")]);
    assert_eq!(outcome.records, [Bucket::Matched, Bucket::Matched]);
    let outcome = reconcile(&ours, &[record("P-1", "150.00", "EUR"), second("-50.00")]);
    assert_eq!(outcome.operations, [Bucket::Duplicated], "what takes each other back is no part");
    let mut voided = second("100.00");
    voided.is_void = true;
    let outcome = reconcile(&ours, &[record("P-1", "100.00", "EUR"), voided]);
    assert_eq!((outcome.operations[0], outcome.records[1]), (Bucket::Matched, Bucket::Void));
}

#[test]
fn twins_stay_two() {
    let ours = [operation(9, confirmed("PMT-9"), "54.00", "INR"), operation(10, confirmed("PMT-10"), "54.00", "INR")];
    let outcome = reconcile(&ours, &[record("PMT-10", "54.00", "INR"), record("PMT-9", "54.00", "INR")]);
    assert_eq!(outcome.operations, [Bucket::Matched, Bucket::Matched]);
    let outcome = reconcile(&ours, &[record("PMT-9", "54.00", "INR")]);
    assert_eq!(outcome.operations, [Bucket::Matched, Bucket::Missing]);
    // The same money and day under no id are two records, too.
    let outcome = reconcile(&[], &[record("", "54.00", "INR"), record("", "54.00", "INR")]);
    assert_eq!((outcome.records.len(), outcome.repeated), (2, 0));
}

#[test]
fn a_record_listed_twice_counts_once_and_with_two_amounts_is_a_finding() {
    let ours = [operation(9, confirmed("PMT-9"), "54.00", "INR")];
    let twice = [record("PMT-9", "54.00", "INR"), record("PMT-9", "54.0", "INR")];
    let outcome = reconcile(&ours, &twice);
    assert_eq!((outcome.operations[0], outcome.repeated), (Bucket::Matched, 1));
    let outcome = reconcile(&ours, &[record("PMT-9", "54.00", "INR"), record("PMT-9", "45.00", "INR")]);
    assert_eq!((outcome.operations[0], outcome.repeated), (Bucket::Mismatched, 0));
}

#[test]
fn currencies_have_their_real_minor_units() {
    assert_eq!(["JPY", "KWD", "EUR", "INR"].map(minor_digits), [Some(0), Some(3), Some(2), Some(2)]);
    assert_eq!(minor_digits("ZZZ"), None);
    let ours = [operation(1, confirmed("R-1"), "5.00", "ZZZ")];
    let outcome = reconcile(&ours, &[record("R-1", "5.00", "ZZZ")]);
    assert_eq!(outcome.operations, [Bucket::Mismatched], "an unknown currency is a finding");
    let ours = [operation(1, confirmed("R-1"), "80", "JPY")];
    assert_eq!(reconcile(&ours, &[record("R-1", "80", "EUR")]).operations, [Bucket::Mismatched]);
    assert_eq!(reconcile(&ours, &[record("R-1", "80", "")]).operations, [Bucket::Matched], "told by its operation");
}

#[test]
fn what_is_not_settled_is_pending_and_what_failed_must_not_be_there() {
    let unknown =
        |number| operation(number, State::Unknown { since: AT, reason: "no answer".to_owned() }, "1.00", "EUR");
    let failed = |number| operation(number, State::Failed { since: AT, reason: "refused".to_owned() }, "1.00", "EUR");
    let found = |operation: &Operation| Record {
        external_reference: Some(operation.external_reference()),
        ..record("R", "1.00", "EUR")
    };
    let ours = [unknown(1), failed(2)];
    assert_eq!(reconcile(&ours, &[]).operations, [Bucket::Pending, Bucket::NotExpected]);
    let outcome = reconcile(&ours[..1], &[found(&ours[0])]);
    assert_eq!(outcome.operations, [Bucket::Matched], "found, and everything agrees: it settles");
    assert_eq!(reconcile(&ours[1..], &[found(&ours[1])]).operations, [Bucket::Mismatched]);
}

#[test]
fn what_was_taken_back_is_not_missing_and_must_be_gone() {
    let reversal = |reference: &str| operation(2, confirmed(reference), "100.00", "EUR");
    let of = || operation(1, confirmed("R-1"), "100.00", "EUR");
    let reconcile =
        |ours: &[Operation], theirs: &[Record]| reconcile_with(ours, theirs, Matching::default(), &[(1, Some(0))]);
    let hundred: Decimal = "100.00".parse().unwrap();
    // Some report an id of their own for the deletion, some that of the record.
    for reported in ["DELETED-9", "R-1"] {
        let ours = [of(), reversal(reported)];
        let gone = reconcile(&ours, &[]);
        assert_eq!(gone.operations, [Bucket::TakenBack, Bucket::NotExpected], "{reported}");
        assert_eq!(sums(&gone.totals), (hundred, Decimal::ZERO), "the reversal adds nothing of its own");
        let line = gone.totals.iter().find(|total| total.bucket == Bucket::TakenBack).unwrap();
        assert_eq!((line.operations, line.source, line.records), (1, hundred, 0));
        let void = Record { is_void: true, ..record("R-1", "100.00", "EUR") };
        let voided = reconcile(&ours, std::slice::from_ref(&void));
        assert_eq!(voided.operations, [Bucket::TakenBack, Bucket::NotExpected], "{reported}");
        assert_eq!(voided.records, [Bucket::Void]);
        let there = reconcile(&ours, &[record("R-1", "100.00", "EUR")]);
        assert_eq!(there.operations, [Bucket::Mismatched, Bucket::NotExpected], "{reported}");
        assert_eq!(there.records, [Bucket::Mismatched]);
    }
    // A destination that posts against it keeps both, with whatever sign.
    for amount in ["-100.00", "100.00"] {
        let posted =
            reconcile(&[of(), reversal("CN-1")], &[record("R-1", "100", "EUR"), record("CN-1", amount, "EUR")]);
        assert_eq!(posted.operations, [Bucket::Matched, Bucket::Matched], "{amount}");
        let (source, destination) = sums(&posted.totals);
        assert_eq!(source, destination, "{amount}");
    }
    let less = reconcile(&[of(), reversal("CN-1")], &[record("R-1", "100", "EUR"), record("CN-1", "-90", "EUR")]);
    assert_eq!(less.operations, [Bucket::Matched, Bucket::Mismatched], "it took back something else");
    // A list that was made before does not contradict it.
    let early = Matching::complete_until(Some(AT - chrono::TimeDelta::seconds(1)));
    let ours = [of(), reversal("R-1")];
    let listed = reconcile_with(&ours, &[record("R-1", "100", "EUR")], early, &[(1, Some(0))]);
    assert_eq!(listed.operations[0], Bucket::Matched);
    // The record too many of a duplicate goes; the other one stays matched.
    let ours = [of(), operation(2, confirmed("R-1b"), "", "")];
    let one_left = [record("R-1", "100", "EUR")];
    let outcome = reconcile_with(&ours, &one_left, Matching::default(), &[(1, None)]);
    assert_eq!(outcome.operations, [Bucket::Matched, Bucket::NotExpected]);
}

#[test]
fn a_newer_revision_speaks_for_the_record_that_both_name() {
    let mut old = operation(1, confirmed("R-1"), "10.00", "EUR");
    let new = operation(2, confirmed("R-1"), "12.00", "EUR");
    old.superseded_by = Some(new.id);
    let outcome = reconcile(&[old.clone(), new], &[record("R-1", "12.00", "EUR")]);
    assert_eq!(outcome.operations, [Bucket::NotExpected, Bucket::Matched]);
    let outcome = reconcile(&[old], &[record("R-1", "10.00", "EUR")]);
    assert_eq!(outcome.operations, [Bucket::Matched], "reversed and posted anew, the old record is still its own");
}

#[test]
fn a_record_that_names_two_operations_disagrees_with_one() {
    let ours = [operation(1, confirmed("R-1"), "10.00", "EUR"), operation(2, confirmed("R-2"), "10.00", "EUR")];
    let crossed = Record { external_reference: Some(ours[1].external_reference()), ..record("R-1", "10.00", "EUR") };
    let outcome = reconcile(&ours, &[crossed]);
    assert_eq!(outcome.records, [Bucket::Mismatched]);
}

fn any_state() -> impl Strategy<Value = u8> {
    0u8..4
}

fn world(
    operations: &[(u8, i64, bool)],
    records: &[(Option<u8>, Option<u8>, i64, bool)],
) -> (Vec<Operation>, Vec<Record>) {
    let state = |number: usize, kind: u8| match kind {
        0 => State::Unknown { since: AT, reason: "r".to_owned() },
        1 => State::Failed { since: AT, reason: "r".to_owned() },
        // Every third shares the record of the one before.
        _ => confirmed(&format!("R-{}", number - usize::from(number % 3 == 2))),
    };
    let currency = |is_euro: bool| if is_euro { "EUR" } else { "INR" };
    let ours: Vec<Operation> = operations
        .iter()
        .enumerate()
        .map(|(at, (kind, amount, is_euro))| {
            operation(u128::try_from(at).unwrap() + 1, state(at, *kind), &amount.to_string(), currency(*is_euro))
        })
        .collect();
    let theirs = records
        .iter()
        .map(|(reference, external, amount, is_void)| Record {
            external_reference: external.and_then(|at| ours.get(usize::from(at))).map(Operation::external_reference),
            is_void: *is_void,
            ..record(&reference.map_or_else(String::new, |at| format!("R-{at}")), &amount.to_string(), "EUR")
        })
        .collect();
    (ours, theirs)
}

proptest! {
    #[test]
    fn everything_lies_in_one_bucket_totals_add_up_and_order_never_matters(
        operations in prop::collection::vec((any_state(), 1i64..4, any::<bool>()), 0..12),
        records in prop::collection::vec(
            (prop::option::of(0u8..12), prop::option::of(0u8..12), 1i64..4, prop::bool::weighted(0.2)), 0..12),
        seed in any::<u64>(),
    ) {
        let (ours, theirs) = world(&operations, &records);
        let outcome = reconcile(&ours, &theirs);
        let counted: u64 = outcome.totals.iter().map(|total| total.operations).sum();
        prop_assert_eq!(counted, u64::try_from(ours.len()).unwrap());
        let counted: u64 = outcome.totals.iter().map(|total| total.records).sum();
        prop_assert_eq!(counted + outcome.repeated, u64::try_from(theirs.len()).unwrap());
        let source: Decimal = ours.iter().filter_map(|operation| operation.money.as_ref()).map(|money| money.amount).sum();
        prop_assert_eq!(sums(&outcome.totals).0, source);
        let mut once: Vec<(String, Bucket)> = theirs
            .iter()
            .zip(&outcome.records)
            .map(|(record, bucket)| (format!("{record:?}"), *bucket))
            .collect();
        // Another order, the same for the same seed.
        let mut order: Vec<usize> = (0..theirs.len()).collect();
        order.sort_by_key(|at| seed.rotate_left(u32::try_from(*at).unwrap() * 7) ^ u64::try_from(*at).unwrap());
        let shuffled: Vec<Record> = order.iter().map(|at| theirs[*at].clone()).collect();
        let backwards: Vec<Operation> = ours.iter().rev().cloned().collect();
        let again = reconcile(&backwards, &shuffled);
        let mut twice: Vec<(String, Bucket)> = shuffled
            .iter()
            .zip(&again.records)
            .map(|(record, bucket)| (format!("{record:?}"), *bucket))
            .collect();
        once.sort();
        twice.sort();
        prop_assert_eq!(once, twice);
        let mut buckets = again.operations.clone();
        buckets.reverse();
        prop_assert_eq!(&outcome.operations, &buckets);
        let plain = |totals: &[Total]| {
            let mut totals: Vec<String> = totals.iter().map(|total| format!("{total:?}")).collect();
            totals.sort();
            totals
        };
        prop_assert_eq!(plain(&outcome.totals), plain(&again.totals));
    }
}
