//! Reconciliation: what the destination holds, handed in as a file.

use guard::id::PersonId;
use guard::period::Span;
use guard::person::{Person, Role};
use guard::reconciliation::Bucket;
use guard::service::{Approving, AskedReversal, Signing};
use guard::token::{Reach, Scope};
use reqwest::Method;
use serde_json::Value;

use crate::answer::{Answer, Grant};
use crate::desk::{Desk, Worker};
use crate::support::{Fresh, now, on_both};

on_both!(
    everything_lies_in_its_bucket_and_both_sides_add_up,
    the_same_file_again_changes_nothing,
    a_file_that_cannot_be_read_stores_nothing,
    what_is_said_in_one_company_is_nothing_in_another,
    a_mapping_that_contradicts_nearly_everything_moves_nothing,
    a_record_of_what_failed_contradicts_it,
    one_payment_for_two_invoices_is_counted_once_in_the_export_too,
    document_numbers_are_texts_on_every_way,
    amounts_leave_as_numbers_and_texts_as_texts,
    two_refunds_of_one_bill_add_up,
    minor_units_are_those_of_their_currency,
    what_was_taken_back_has_a_line_of_its_own,
);

/// Hands a file in.
async fn hand_in(worker: &Worker, query: &str, media_type: &str, body: &str) -> Answer {
    let path = format!("/api/v1/reconciliations?{query}");
    let request = worker.request(Method::POST, &path).header("content-type", media_type.to_owned());
    Answer::raw(request.body(body.to_owned()).send().await.unwrap()).await
}

async fn table(worker: &Worker, body: &str) -> Value {
    let answer = hand_in(worker, "workflow=handoff&company=ACME", "text/csv", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["reconciliation"].clone()
}

async fn confirmed(worker: &Worker, document: &str, total: &str, reference: &str) -> Grant {
    let payload = format!(r#"{{"total":"{total}","currency":"EUR"}}"#);
    let grant = worker.begin(document, &payload).await.expect_proceed();
    worker.confirm(&grant, reference).await.expect_state("confirmed");
    grant
}

async fn rows(worker: &Worker, run: &Value, query: &str) -> Answer {
    let id = run["id"].as_str().unwrap();
    let request = worker.request(Method::GET, &format!("/api/v1/reconciliations/{id}/rows?{query}"));
    Answer::raw(request.send().await.unwrap()).await
}

fn external_reference(grant: &Grant) -> String {
    format!("oo-{}", grant.id.replace('-', ""))
}

fn sums(run: &Value) -> (String, String) {
    let sum = |side: &str| -> rust_decimal::Decimal {
        run["totals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|total| total[side].as_str().unwrap().parse::<rust_decimal::Decimal>().unwrap())
            .sum()
    };
    (sum("source").to_string(), sum("destination").to_string())
}

async fn everything_lies_in_its_bucket_and_both_sides_add_up(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let matched = confirmed(&worker, "INV-1", "118.00", "R-1").await;
    let mismatched = confirmed(&worker, "INV-2", "20.00", "R-2").await;
    let missing = confirmed(&worker, "INV-3", "30.00", "R-3").await;
    let duplicated = confirmed(&worker, "INV-4", "40.00", "R-4").await;
    let unknown = worker.begin("INV-5", r#"{"total":"50.00","currency":"EUR"}"#).await.expect_proceed();
    worker.lose_track(&unknown, "the connection was lost").await.expect_state("unknown");
    let pending = worker.begin("INV-6", r#"{"total":"60.00","currency":"EUR"}"#).await.expect_proceed();
    worker.lose_track(&pending, "the connection was lost").await.expect_state("unknown");
    let file = format!(
        "destination_reference,external_reference,amount,currency\r\nR-1,,118.00,EUR\r\nR-2,,20.50,EUR\r\nR-4,{four},40.00,EUR\r\n\
         R-4b,{four},40.00,EUR\r\nR-5,{five},50.00,EUR\r\nR-9,,9.99,EUR\r\nR-1,,118.00,EUR\r\n",
        four = external_reference(&duplicated),
        five = external_reference(&unknown),
    );
    let run = table(&worker, &file).await;
    let counts = &run["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    let found = ["matched", "missing", "duplicated", "mismatched", "unguarded", "pending"].map(count);
    assert_eq!(found, [2, 1, 1, 1, 1, 1], "{run}");
    assert_eq!(run["repeated_rows"], 1);
    assert_eq!(sums(&run), ("318.00".to_owned(), "278.49".to_owned()));
    for (grant, state, kinds) in [
        (&matched, "confirmed", vec!["begun", "reported", "reconciled"]),
        (&mismatched, "disputed", vec!["begun", "reported", "reconciled"]),
        (&missing, "confirmed", vec!["begun", "reported", "reconciled"]),
        (&duplicated, "disputed", vec!["begun", "reported", "reconciled"]),
        (&unknown, "confirmed", vec!["begun", "reported", "reconciled", "reconciled"]),
        (&pending, "unknown", vec!["begun", "reported"]),
    ] {
        assert_eq!(worker.read(&grant.id).await["state"], state, "{}", grant.id);
        let told = worker.event_kinds(&grant.id).await;
        // What settled an unknown operation is told with where it lies.
        assert_eq!(told[..2], kinds[..2]);
        assert_eq!(told.len() > 2, kinds.len() > 2, "{told:?}");
    }
    assert_eq!(worker.read(&unknown.id).await["destination_reference"], "R-5");
    let open = desk.server.guard.open_duplicates(&Reach::EVERYTHING).await.unwrap();
    let open: Vec<_> = open.iter().map(|open| (open.number, open.run.to_string())).collect();
    assert_eq!(open, [(1, run["id"].as_str().unwrap().to_owned())]);
    let metrics = Answer::raw(worker.request(Method::GET, "/metrics").send().await.unwrap()).await.text;
    for line in [
        "onceover_destination_duplicates{workflow=\"handoff\",company=\"ACME\"} 1",
        "onceover_reconciliation_findings{workflow=\"handoff\",company=\"ACME\",bucket=\"missing\"} 1",
        "onceover_reconciliation_last_timestamp_seconds{workflow=\"handoff\",company=\"ACME\"} ",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let doubled = rows(&worker, &run, "bucket=duplicated").await.json();
    let references: Vec<&str> = doubled["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["record"]["destination_reference"].as_str().unwrap())
        .collect();
    assert_eq!(references, ["R-4", "R-4b"], "both ids are shown");
    let differing = rows(&worker, &run, "bucket=mismatched").await.json();
    assert_eq!(differing["rows"][0]["differences"][0]["theirs"], Value::Null);
    assert_eq!(differing["rows"][0]["differences"][0]["destination"], "20.50 EUR");
    let id = matched.id.parse().unwrap();
    assert!(desk.server.guard.reconciled_at(id).await.unwrap().is_some());
    assert_eq!(desk.server.guard.reconciled_at(missing.id.parse().unwrap()).await, Ok(None));
    let catalogue = desk.server.guard.catalogue();
    let proof = server::trail::verify(&*desk.fresh.database.ledger, &catalogue).await.unwrap();
    assert_eq!(proof.operations, 6, "rows and trail agree");
    desk.close().await;
}

async fn the_same_file_again_changes_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = confirmed(&worker, "INV-1", "118.00", "R-1").await;
    let file = "destination_reference,amount,currency\nR-1,118.00,EUR\n";
    let first = table(&worker, file).await;
    let events = worker.event_kinds(&grant.id).await;
    let again = hand_in(&worker, "workflow=handoff&company=ACME", "text/csv", file).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["reconciliation"]["id"], first["id"]);
    assert_eq!(again.json()["reconciliation"]["is_repeated"], true);
    // Another file that says the same is another run, and no other entry.
    let other = table(&worker, &file.replace('\n', "\r\n")).await;
    assert_ne!(other["id"], first["id"]);
    assert_eq!(worker.event_kinds(&grant.id).await, events);
    let read = worker.get(&format!("/api/v1/reconciliations/{}", first["id"].as_str().unwrap())).await.json();
    assert_eq!(read["reconciliation"]["counts"]["matched"], 1);
    // Other parameters are another question.
    let span = "workflow=handoff&company=ACME&from=2020-01-01&to=2020-01-31";
    let span = hand_in(&worker, span, "text/csv", file).await;
    assert_eq!(span.status, 201);
    assert_eq!(
        span.json()["reconciliation"]["counts"]["matched"],
        1,
        "a record brings its operation in, whenever that was begun"
    );
    desk.close().await;
}

async fn a_file_that_cannot_be_read_stores_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "INV-1", "1000.00", "R-1").await;
    let file = "destination_reference;amount;currency\nR-1;1.000;EUR\nR-2;1,5;EUR\n";
    let query = "workflow=handoff&company=ACME";
    let problem = hand_in(&worker, query, "text/csv", file).await.expect_problem(422, "invalid_file");
    assert_eq!(problem["faults"][0]["line"], 2);
    assert_eq!(problem["faults"][0]["column"], 2);
    assert_eq!(problem["faults"][0]["parameter"], "decimal");
    assert_eq!(problem["faults"].as_array().unwrap().len(), 2);
    let declared = hand_in(&worker, &format!("{query}&decimal=comma"), "text/csv", file).await;
    assert_eq!(
        (declared.status, declared.json()["reconciliation"]["counts"]["matched"].clone()),
        (201, Value::from(1))
    );
    hand_in(&worker, "workflow=handoff", "text/csv", file).await.expect_invalid("company");
    hand_in(&worker, "company=ACME", "text/csv", file).await.expect_invalid("workflow");
    hand_in(&worker, &format!("{query}&decimal=dot"), "text/csv", file).await.expect_invalid("decimal");
    hand_in(&worker, &format!("{query}&map.colour=x"), "text/csv", file).await.expect_invalid("map.colour");
    hand_in(&worker, &format!("{query}&delimitr=x"), "text/csv", file).await.expect_invalid("delimitr");
    hand_in(&worker, &format!("{query}&from=2026-02-01&to=2026-01-01"), "text/csv", file).await.expect_invalid("to");
    hand_in(&worker, query, "image/png", file).await.expect_problem(415, "unsupported_media_type");
    hand_in(&worker, query, "text/csv", "").await.expect_problem(422, "invalid_file");
    hand_in(&worker, "workflow=none&company=ACME", "text/csv", file).await.expect_problem(404, "unknown_workflow");
    desk.close().await;
}

async fn what_is_said_in_one_company_is_nothing_in_another(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let globex = worker.for_company("GLOBEX");
    confirmed(&globex, "INV-1", "118.00", "R-1").await;
    let file = "destination_reference,amount,currency\nR-1,118.00,EUR\n";
    let run = table(&worker, file).await;
    assert_eq!(
        (run["counts"]["unguarded"].clone(), run["counts"]["matched"].clone()),
        (Value::from(1), Value::from(0))
    );
    let path = format!("/api/v1/reconciliations/{}", run["id"].as_str().unwrap());
    let limited = desk.worker_of("GLOBEX").await;
    limited.get(&path).await.expect_problem(404, "not_found");
    limited.get(&format!("{path}/rows")).await.expect_problem(404, "not_found");
    hand_in(&limited, "workflow=handoff&company=ACME", "text/csv", file).await.expect_problem(403, "forbidden");
    let reader = desk.worker_within("reader", Reach::EVERYTHING, &[Scope::OperationsRead]).await;
    hand_in(&reader, "workflow=handoff&company=ACME", "text/csv", file).await.expect_problem(403, "forbidden");
    reader.get(&path).await.expect_problem(403, "forbidden");
    desk.close().await;
}

async fn a_mapping_that_contradicts_nearly_everything_moves_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let mut file = "destination_reference,amount,net\n".to_owned();
    let mut last = None;
    for number in 0..12 {
        last = Some(confirmed(&worker, &format!("INV-{number}"), "118.00", &format!("R-{number}")).await);
        file.push_str(&format!("R-{number},118.00,100.00\n"));
    }
    let last = last.unwrap();
    let wrong = "workflow=handoff&company=ACME&map.amount=net";
    let run = hand_in(&worker, wrong, "text/csv", &file).await.json()["reconciliation"].clone();
    assert_eq!((run["is_held_back"].clone(), run["moved"].clone()), (Value::from(true), Value::from(0)));
    assert_eq!(run["counts"]["mismatched"], 12);
    assert_eq!(worker.read(&last.id).await["state"], "confirmed");
    let meant =
        hand_in(&worker, &format!("{wrong}&open=all"), "text/csv", &file).await.json()["reconciliation"].clone();
    assert_eq!(meant["moved"], 12);
    assert_eq!(worker.read(&last.id).await["state"], "disputed");
    desk.close().await;
}

async fn a_record_of_what_failed_contradicts_it(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-1", r#"{"total":"118.00","currency":"EUR"}"#).await.expect_proceed();
    worker.fail(&grant, "refused").await.expect_state("failed");
    let records = format!(
        r#"[{{"destination_reference":"R-1","external_reference":"{}","amount":118.00,"currency":"EUR"}}]"#,
        external_reference(&grant)
    );
    let answer = hand_in(&worker, "workflow=handoff&company=ACME", "application/json", &records).await;
    assert_eq!(answer.json()["reconciliation"]["counts"]["mismatched"], 1, "{answer:?}");
    assert_eq!(worker.read(&grant.id).await["state"], "disputed");
    worker.begin("INV-1", r#"{"total":"118.00","currency":"EUR"}"#).await.expect_unknown();
    desk.close().await;
}

async fn one_payment_for_two_invoices_is_counted_once_in_the_export_too(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "INV-1", "100.00", "P-1").await;
    confirmed(&worker, "=INV-2", "200.00", "P-1").await;
    let run = table(&worker, "payment,destination_reference,amount,currency\n1,P-1,300.00,EUR\n").await;
    assert_eq!(run["counts"]["matched"], 2);
    assert_eq!(sums(&run), ("300.00".to_owned(), "300.00".to_owned()));
    let csv = rows(&worker, &run, "format=csv").await.text;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("number,bucket,together,operation,"));
    let sum = |column: usize| -> rust_decimal::Decimal {
        lines[1..].iter().filter_map(|line| line.split(',').nth(column)?.parse::<rust_decimal::Decimal>().ok()).sum()
    };
    assert_eq!((sum(8).to_string(), sum(15).to_string()), ("300.00".to_owned(), "300.00".to_owned()));
    assert!(csv.contains(",'=INV-2,"), "no text becomes a formula: {csv}");
    // Page by page it is the same.
    let (guard, id) = (&desk.server.guard, run["id"].as_str().unwrap().parse().unwrap());
    let (mut after, mut paid, mut billed) = (0, rust_decimal::Decimal::ZERO, rust_decimal::Decimal::ZERO);
    loop {
        let page = guard.reconciliation_rows(&Reach::EVERYTHING, id, Bucket::Matched, after, 1).await.unwrap();
        let Some(row) = page.first() else { break };
        paid += row.record.as_ref().and_then(|side| side.amount).unwrap_or_default();
        billed += row.operation.as_ref().and_then(|side| side.amount).unwrap_or_default();
        after = row.number;
    }
    assert_eq!((paid.to_string(), billed.to_string()), ("300.00".to_owned(), "300.00".to_owned()));
    rows(&worker, &run, "bucket=lost").await.expect_invalid("bucket");
    desk.close().await;
}

/// Case C36: what looks like a number is none, where it comes in and where it goes out.
async fn document_numbers_are_texts_on_every_way(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "000815", "5.00", "000815").await;
    confirmed(&worker, "815", "6.00", "815").await;
    let long = "98765432109876543210";
    confirmed(&worker, long, "7.00", long).await;
    let file = format!(
        "destination_reference,document,amount,currency\n000815,000815,5.00,EUR\n815,815,6.00,EUR\n{long},{long},7.00,EUR\n\
         4.71148E+18,4.71148E+18,1.00,EUR\n"
    );
    let run = table(&worker, &file).await;
    assert_eq!((&run["counts"]["matched"], &run["counts"]["unguarded"]), (&Value::from(3), &Value::from(1)), "{run}");
    let warnings = run["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("4.71148E+18")), "{run}");
    let told = rows(&worker, &run, "bucket=matched").await.json();
    let documents: Vec<&Value> =
        told["rows"].as_array().unwrap().iter().map(|row| &row["record"]["document"]).collect();
    assert_eq!(documents, ["000815", "815", long]);
    let csv = rows(&worker, &run, "format=csv").await.text;
    for text in [",000815,", ",815,", long, ",4.71148E+18,"] {
        assert!(csv.contains(text), "{text}: {csv}");
    }
    // In JSON a number is read with every digit that it is written with.
    let records = format!(r#"[{{"destination_reference":{long},"amount":7.00,"currency":"EUR"}}]"#);
    let answer = hand_in(&worker, "workflow=handoff&company=ACME", "application/json", &records).await;
    assert_eq!(answer.json()["reconciliation"]["counts"]["matched"], 1, "{answer:?}");
    desk.close().await;
}

/// Case C37.
async fn amounts_leave_as_numbers_and_texts_as_texts(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "-7+8", "-5.00", "@R-1").await;
    let run = table(&worker, "destination_reference,document,amount,currency\n@R-1,=cmd,-5.00,EUR\n").await;
    assert_eq!(run["counts"]["matched"], 1, "{run}");
    let csv = rows(&worker, &run, "format=csv").await.text;
    let cells: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((cells[5], cells[8], cells[11], cells[13], cells[15]), ("'-7+8", "-5.00", "'@R-1", "'=cmd", "-5.00"));
    let told = rows(&worker, &run, "").await.json();
    let row = &told["rows"][0];
    let texts = [&row["operation"]["document"], &row["record"]["destination_reference"], &row["record"]["document"]];
    assert_eq!(texts, ["-7+8", "@R-1", "=cmd"], "in JSON nothing is neutralised");
    assert_eq!((&row["operation"]["amount"], &row["record"]["amount"]), (&Value::from("-5.00"), &Value::from("-5.00")));
    // The export is itself a file that can be handed in.
    let query = "workflow=handoff&company=ACME&map.amount=record_amount&map.currency=record_currency";
    let again = hand_in(&worker, query, "text/csv", &csv).await;
    assert_eq!(again.json()["reconciliation"]["counts"]["matched"], 1, "{again:?}");
    assert_eq!(sums(&again.json()["reconciliation"]), ("-5.00".to_owned(), "-5.00".to_owned()));
    desk.close().await;
}

/// Case C42: a second refund of one bill is a document of its own, and both count.
async fn two_refunds_of_one_bill_add_up(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "BILL-7", "12.00", "RF-1").await;
    confirmed(&worker, "BILL-7#2", "18.00", "RF-2").await;
    let file = "destination_reference,amount,currency\nRF-1,12.00,EUR\nRF-2,18.00,EUR\n";
    let run = table(&worker, file).await;
    assert_eq!((&run["counts"]["matched"], &run["counts"]["duplicated"]), (&Value::from(2), &Value::from(0)), "{run}");
    assert_eq!(sums(&run), ("30.00".to_owned(), "30.00".to_owned()));
    desk.close().await;
}

/// Case C44.
async fn minor_units_are_those_of_their_currency(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    for (document, total, currency, reference) in [
        ("A", "90", "JPY", "R-1"),
        ("B", "90", "JPY", "R-2"),
        ("C", "4.321", "KWD", "R-3"),
        ("D", "0.90", "EUR", "R-4"),
        ("E", "0.90", "ZZZ", "R-5"),
    ] {
        let grant = worker.begin(document, &format!(r#"{{"total":"{total}","currency":"{currency}"}}"#)).await;
        worker.confirm(&grant.expect_proceed(), reference).await.expect_state("confirmed");
    }
    let file =
        "destination_reference,amount,currency\nR-1,9000,JPY\nR-2,90,JPY\nR-3,4321,KWD\nR-4,90,EUR\nR-5,90,ZZZ\n";
    let answer = hand_in(&worker, "workflow=handoff&company=ACME&minor_units=true", "text/csv", file).await;
    let run = answer.json()["reconciliation"].clone();
    let references = async |bucket: &str| {
        let told = rows(&worker, &run, &format!("bucket={bucket}")).await.json();
        let reference = |row: &Value| row["record"]["destination_reference"].as_str().unwrap().to_owned();
        told["rows"].as_array().unwrap().iter().map(reference).collect::<Vec<_>>()
    };
    assert_eq!(references("matched").await, ["R-2", "R-3", "R-4"], "{run}");
    assert_eq!(
        references("mismatched").await,
        ["R-1", "R-5"],
        "nothing is assumed of a currency that nobody knows: {run}"
    );
    desk.close().await;
}

fn finance(name: &str) -> Person {
    let email = format!("{name}@example.test");
    Person { id: PersonId::new(now(), [7; 16]), email, role: Role::Finance, reach: Reach::EVERYTHING }
}

/// The record of an operation is asked to be taken back, approved, and taken back.
async fn take_back(desk: &Desk, worker: &Worker, of: &Grant, document: &str, record: &str, reference: &str) -> Grant {
    let guard = &desk.server.guard;
    let version = async |id| guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
    let id = of.id.parse().unwrap();
    let asked = AskedReversal { record, reason: "sold by mistake", requested_by: None };
    let asked = guard.ask_reversal(&finance("ada"), id, version(id).await, asked).await.unwrap();
    let seen_version = version(asked.operation).await;
    let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
    guard.approve(&finance("grace"), asked.id, &approving).await.unwrap();
    let payload =
        format!(r#"{{"reverses":{{"operation":"{}","revision":1,"destination_reference":"{record}"}}}}"#, of.id);
    let grant = worker.begin(document, &payload).with("action", r#""reverse""#).await.expect_proceed();
    worker.confirm(&grant, reference).await.expect_state("confirmed");
    grant
}

async fn what_was_taken_back_has_a_line_of_its_own(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    confirmed(&worker, "INV-1", "118.00", "R-1").await;
    let gone = confirmed(&worker, "INV-2", "20.00", "R-2").await;
    let there = confirmed(&worker, "INV-3", "30.00", "R-3").await;
    let taken = take_back(&desk, &worker, &gone, "INV-2", "R-2", "DEL-2").await;
    take_back(&desk, &worker, &there, "INV-3", "R-3", "DEL-3").await;
    let run = table(&worker, "destination_reference,amount,currency\nR-1,118.00,EUR\nR-3,30.00,EUR\n").await;
    let count = |name: &str| run["counts"][name].as_u64().unwrap();
    let found = ["matched", "missing", "mismatched", "taken_back", "not_expected"].map(count);
    assert_eq!(found, [1, 0, 1, 1, 2], "{run}");
    assert_eq!(sums(&run), ("168.00".to_owned(), "148.00".to_owned()), "what is taken back is the difference");
    let line = run["totals"].as_array().unwrap().iter().find(|total| total["bucket"] == "taken_back").unwrap();
    assert_eq!((&line["source"], &line["destination"]), (&Value::from("20.00"), &Value::from("0")));
    let still = rows(&worker, &run, "bucket=mismatched").await.json();
    let difference = &still["rows"][0]["differences"][0];
    assert_eq!((&difference["field"], &difference["source"]), (&Value::from("state"), &Value::from("reversed")));
    // The columns of the export add up to what the totals say.
    let csv = rows(&worker, &run, "format=csv").await.text;
    let sum = |column: usize| -> rust_decimal::Decimal {
        csv.lines().filter_map(|line| line.split(',').nth(column)?.parse::<rust_decimal::Decimal>().ok()).sum()
    };
    assert_eq!((sum(8).to_string(), sum(15).to_string()), ("168.00".to_owned(), "148.00".to_owned()), "{csv}");
    assert_eq!(worker.read(&there.id).await["state"], "confirmed", "nothing is moved by it; the report tells it");
    assert_eq!(worker.event_kinds(&gone.id).await.last().map(String::as_str), Some("reconciled"));
    // The period in which it was asked has it below zero, and its certificate is proven.
    let guard = &desk.server.guard;
    desk.pass(10);
    let today = guard.now().date_naive();
    let span = Span { from: today.pred_opt().unwrap(), to: today };
    let totals = guard.period_totals(&Reach::EVERYTHING, "ACME", span).await.unwrap();
    let line = |is_reversal: bool| {
        let line = totals.lines.iter().find(|line| line.is_reversal == is_reversal).unwrap();
        (line.operations, line.amount.unwrap().to_string())
    };
    assert_eq!((line(false), line(true)), ((3, "168.00".to_owned()), (2, "-50.00".to_owned())), "{totals:?}");
    let at_stake = guard.operation(&Reach::EVERYTHING, taken.id.parse().unwrap()).await.unwrap().money;
    assert_eq!(at_stake.map(|money| money.amount.to_string()).as_deref(), Some("20.00"));
    let signing = Signing { name: "Fay", statement: "it agrees", reason: "", seen: totals.fingerprint() };
    guard.close_period(&finance("fay"), "ACME", span, &signing).await.unwrap();
    let proof = server::trail::verify(&*desk.fresh.database.ledger, &guard.catalogue()).await.unwrap();
    assert_eq!((proof.operations, proof.certificates), (5, 1));
    desk.close().await;
}
