//! What callers are answered, first and again.

use guard::id::PersonId;
use guard::person::{Person, Role};
use guard::service::SeenOperation;
use guard::summary::Counted;
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::desk::Desk;
use crate::ledger::{Asking, BODY, CREATED, Ledger, SECRET, configure};
use crate::support::{Fresh, on_both};

on_both!(
    a_repetition_gets_what_the_destination_answered,
    what_is_sent_is_what_came_with_marks_to_find_it_by,
    c39_the_same_at_once_is_sent_once,
    a_refusal_is_proof_and_may_be_sent_again,
    a_changed_body_is_a_conflict,
    two_steps_are_taken_by_the_proxy,
    an_external_reference_is_put_into_the_body,
    a_binary_answer_and_a_long_one_are_kept_as_far_as_they_can,
    what_a_worker_settled_is_replayed_too,
    c35_what_was_erased_is_told_and_sent_by_nobody,
);

async fn a_repetition_gets_what_the_destination_answered(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;

    let first = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((first.status, first.decision()), (201, "proceed"), "{first:?}");
    assert_eq!(String::from_utf8_lossy(&first.body), CREATED, "byte for byte");
    assert_eq!((first.header("location"), first.header("x-trace")), ("/tasks/907", "t-1"));
    assert_eq!((first.header("set-cookie"), first.header("idempotency-replayed")), ("", ""));
    let operation = worker.read(first.header("onceover-operation")).await;
    assert_eq!((&operation["state"], &operation["destination_reference"]), (&"confirmed".into(), &"task-1".into()));

    for _ in 0..2 {
        let again = Asking::document(&worker, "INV-1").answered().await;
        assert_eq!((again.status, again.decision()), (201, "replay"), "{again:?}");
        assert_eq!((&again.body, again.header("content-type")), (&first.body, "application/vnd.ledger+json"));
        assert_eq!((again.header("location"), again.header("idempotency-replayed")), ("/tasks/907", "true"));
        assert_eq!((again.header("x-trace"), again.header("set-cookie")), ("", ""), "only what is chosen");
        assert_eq!(again.header("onceover-operation"), first.header("onceover-operation"));
    }
    let by_api = worker.begin("INV-1", BODY).with("action", "\"create\"").await;
    assert_eq!(by_api.header("idempotency-replayed"), Some("true"));
    assert_eq!(by_api.json()["decision"], "replay", "the same operation: {by_api:?}");
    assert_eq!(ledger.count(), 1);

    let counted = async |counted: Counted| {
        let counts = desk.server.guard.counts(
            &Reach::EVERYTHING,
            guard::clock::Timestamp::UNIX_EPOCH,
            guard::clock::Timestamp::MAX_UTC,
        );
        counts.await.unwrap().iter().filter(|count| count.counted == counted).map(|count| count.number).sum::<u64>()
    };
    // Written behind the answers.
    while counted(Counted::ProxyReplay).await < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let metrics = worker.get("/metrics").await.text;
    assert!(metrics.contains(r#"decision="proxy_replay"} 2"#), "{metrics}");
    assert_eq!(worker.read(first.header("onceover-operation")).await["duplicates_prevented"], 3);
    desk.close().await;
}

async fn what_is_sent_is_what_came_with_marks_to_find_it_by(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = Asking::plain(&worker, reqwest::Method::PUT, "/proxy/handoff/tasks/a%2Fb?all=1&x=%20")
        .with("onceover-company", "ACME")
        .with("onceover-source-system", "erp")
        .with("onceover-document", "INV-\u{fc}")
        .with("cookie", "session=of-the-guard")
        .with("x-once", "mine")
        .with("x-own", "kept")
        .body(BODY);
    let answer = asking.answered().await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let operation = worker.read(answer.header("onceover-operation")).await;
    assert_eq!(operation["document"], "INV-\u{fc}");

    let [record] = &ledger.records()[..] else { panic!() };
    assert_eq!(record.body, BODY, "byte for byte");
    assert_eq!(record.path, "/api/tasks/a%2Fb?all=1&x=%20");
    let header = |name: &str| record.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
    assert_eq!(header("authorization"), SECRET, "the destination's, and not the guard's");
    assert_eq!((header("cookie"), header("x-own"), header("content-type")), ("", "kept", "application/json"));
    assert_eq!(header("x-once"), operation["id"].as_str().unwrap(), "one key for every attempt");
    assert_eq!(header("x-reference"), operation["external_reference"].as_str().unwrap());
    let told = format!("{:?}", record.headers);
    assert!(!told.contains(&worker.secret) && !told.contains("onceover-"), "{told}");
    desk.close().await;
}

async fn c39_the_same_at_once_is_sent_once(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = (0..20).map(|_| Asking::document(&worker, "INV-1").with("x-fault", "slow").answered());
    let answers = futures::future::join_all(asking).await;
    let with = |status: u16, decision: &str| {
        answers.iter().filter(|answer| (answer.status, answer.decision()) == (status, decision)).count()
    };
    assert_eq!(with(201, "proceed"), 1, "{answers:?}");
    assert_eq!(with(409, "in_progress") + with(201, "replay"), 19, "{answers:?}");
    let held = answers.iter().find(|answer| answer.decision() == "in_progress").unwrap();
    assert_eq!(held.code(), "in_progress");
    assert_ne!(held.header("retry-after"), "");
    let later = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((later.status, later.decision()), (201, "replay"));
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn a_refusal_is_proof_and_may_be_sent_again(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let refused = Asking::document(&worker, "INV-1").with("x-fault", "refuse").answered().await;
    assert_eq!((refused.status, refused.decision()), (422, "proceed"), "what the destination answered");
    assert_eq!(refused.json()["error"], "no such customer");
    let id = refused.header("onceover-operation").to_owned();
    assert_eq!(worker.read(&id).await["state"], "failed");
    let sent = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((sent.status, sent.header("onceover-operation")), (201, id.as_str()));
    assert_eq!(worker.read(&id).await["attempt"], 2);
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn a_changed_body_is_a_conflict(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    Asking::document(&worker, "INV-1").answered().await;
    let asking = Asking::plain(&worker, reqwest::Method::POST, "/proxy/handoff/tasks")
        .with("onceover-company", "ACME")
        .with("onceover-source-system", "erp")
        .with("onceover-document", "INV-1")
        .body(r#"{"total":181.00,"order":820982911946154509,"currency":"EUR"}"#);
    let answer = asking.answered().await;
    assert_eq!((answer.status, answer.decision(), answer.code().as_str()), (422, "conflict", "conflict"));
    assert_eq!(answer.json()["conflict"]["changes"][0]["path"], "/total");
    assert!(
        !String::from_utf8_lossy(&answer.body).contains("task-1"),
        "the result goes with the approved payload alone"
    );
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn two_steps_are_taken_by_the_proxy(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = Asking::plain(&worker, reqwest::Method::POST, "/proxy/two-step/tasks")
        .with("onceover-company", "ACME")
        .with("onceover-source-system", "erp")
        .with("onceover-document", "INV-1")
        .body(BODY);
    let answer = asking.answered().await;
    assert_eq!(answer.status, 201);
    let kinds = worker.event_kinds(answer.header("onceover-operation")).await;
    assert_eq!(kinds, ["begun", "marked_sending", "reported"]);
    desk.close().await;
}

async fn an_external_reference_is_put_into_the_body(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "external_reference_pointer = \"/meta/reference\"").await;
    let worker = desk.worker("billing").await;
    let answer = Asking::document(&worker, "INV-1").answered().await;
    let reference = worker.read(answer.header("onceover-operation")).await["external_reference"].clone();
    let sent =
        format!(r#"{{"total":118.00,"order":820982911946154509,"currency":"EUR","meta":{{"reference":{reference}}}}}"#);
    assert_eq!(ledger.records()[0].body, sent, "numbers as they came");
    assert_eq!(
        Asking::document(&worker, "INV-1").answered().await.decision(),
        "replay",
        "the fingerprint is of what came"
    );

    let blocked = Asking::document(&worker, "INV-2");
    let blocked = blocked.raw(r#"{"meta":"text"}"#).answered().await;
    assert_eq!((blocked.status, blocked.code().as_str()), (422, "invalid_field"));
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn a_binary_answer_and_a_long_one_are_kept_as_far_as_they_can(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let answer = Asking::document(&worker, "INV-1").with("x-fault", "binary").answered().await;
    assert_eq!((answer.status, &answer.body[..]), (201, &[0xff, 0, 0xfe][..]), "it arrives as it is");
    let id = answer.header("onceover-operation").to_owned();
    assert_eq!(worker.read(&id).await["state"], "unknown", "its id cannot be read");
    let resolution = guard::event::Resolution::Confirmed { destination_reference: "task-1".to_owned() };
    desk.resolve(&id, resolution).await;
    let again = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((again.decision(), again.header("idempotency-replayed")), ("replay", "true"), "{again:?}");
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn what_a_worker_settled_is_replayed_too(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let grant = worker.begin("INV-1", BODY).with("action", "\"create\"").await.expect_proceed();
    worker.confirm(&grant, "task-7").await.expect_state("confirmed");
    let answer = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((answer.status, answer.decision()), (200, "replay"));
    assert_eq!(
        answer.json()["operation"]["destination_reference"],
        "task-7",
        "nothing was kept, so the decision says it"
    );
    let grant = worker.begin("INV-2", BODY).with("action", "\"create\"").await.expect_proceed();
    let facts = r#""outcome":"confirmed","destination_reference":"820982911946154509","response":{"status":202,"body":{"id":820982911946154509}}"#;
    worker.report(&grant, facts).await.expect_state("confirmed");
    let answer = Asking::document(&worker, "INV-2").answered().await;
    assert_eq!((answer.status, &answer.body[..]), (202, &br#"{"id":820982911946154509}"#[..]));
    assert_eq!(ledger.count(), 0);
    desk.close().await;
}

async fn c35_what_was_erased_is_told_and_sent_by_nobody(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let first = Asking::document(&worker, "INV-1").answered().await;
    let id = first.header("onceover-operation").parse().unwrap();

    let guard = &desk.server.guard;
    let fay = Person {
        id: PersonId::new(guard.now(), guard::clock::Entropy::bytes(&OsEntropy)),
        email: "fay@example.test".to_owned(),
        role: Role::Finance,
        reach: Reach::EVERYTHING,
    };
    let version = guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
    let seen = [SeenOperation { operation: id, version }];
    guard.erase(&fay, id, &seen, "the customer asked").await.unwrap();

    // The answer of the destination is gone with the rest: what is known is said, in the words of begin.
    let again = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((again.status, again.decision()), (200, "replay"), "{again:?}");
    assert_eq!(again.header("idempotency-replayed"), "true");
    let told = again.json();
    assert_eq!(told["operation"]["destination_reference"], "task-1", "{told}");
    assert!(told["operation"]["payload_dropped_at"].is_string(), "{told}");
    let changed = Asking::document(&worker, "INV-1").raw(r#"{"amount":"119.00"}"#).answered().await;
    assert_eq!((changed.status, changed.code().as_str()), (422, "conflict"), "by its fingerprint: {changed:?}");
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}
