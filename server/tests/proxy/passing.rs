//! What goes through unguarded, and what does not go through at all.

use reqwest::Method;

use crate::desk::Desk;
use crate::ledger::{Asking, BODY, Ledger, configure};
use crate::support::{Fresh, on_both};

on_both!(reading_goes_through, what_cannot_be_guarded_is_refused);

async fn reading_goes_through(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let read = Asking::plain(&worker, Method::GET, "/proxy/handoff/tasks?all=1").answered().await;
    assert_eq!((read.status, read.decision(), read.header("set-cookie")), (200, "", ""), "{read:?}");
    assert_eq!(read.body, b"GET of /api/tasks?all=1");
    let base = Asking::plain(&worker, Method::GET, "/proxy/handoff").answered().await;
    assert_eq!(base.body, b"GET of /api");
    let head = Asking::plain(&worker, Method::HEAD, "/proxy/handoff/tasks").answered().await;
    assert_eq!((head.status, head.body.len()), (200, 0));

    let keyed = Asking::plain(&worker, Method::GET, "/proxy/handoff/tasks").with("onceover-document", "INV-1");
    assert_eq!(keyed.answered().await.code(), "invalid_field", "nobody takes it for guarded");
    let limited = desk.worker_of("ACME").await;
    let refused = Asking::plain(&limited, Method::GET, "/proxy/handoff/tasks").answered().await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "it would see every company's records");
    desk.close().await;
}

async fn what_cannot_be_guarded_is_refused(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = |path: &str| {
        Asking::plain(&worker, Method::POST, path)
            .with("onceover-company", "ACME")
            .with("onceover-source-system", "erp")
            .with("onceover-document", "INV-1")
    };
    let refused = async |asking: Asking| {
        let answer = asking.answered().await;
        (answer.status, answer.code())
    };
    let tasks = "/proxy/handoff/tasks";
    let expected = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(refused(asking(tasks).raw("a=b")).await, expected(415, "unsupported_media_type"));
    assert_eq!(refused(asking(tasks).body("[1]")).await, expected(422, "invalid_field"));
    assert_eq!(refused(asking(tasks).body(r#"{"a":1,"a":2}"#)).await, expected(400, "invalid_json"));
    assert_eq!(
        refused(asking(tasks).body(BODY).with("content-encoding", "gzip")).await,
        expected(415, "unsupported_media_type")
    );
    assert_eq!(refused(asking("/proxy/alone/tasks").body(BODY)).await, expected(404, "not_found"));
    assert_eq!(refused(asking("/proxy/nowhere/tasks").body(BODY)).await, expected(404, "unknown_workflow"));
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(300 * 1024));
    assert_eq!(
        refused(asking(tasks).with("content-type", "application/json").raw(long)).await,
        expected(413, "payload_too_large")
    );
    assert_eq!(refused(Asking::plain(&worker, Method::OPTIONS, tasks)).await, expected(405, "method_not_allowed"));
    let stranger = Asking::document(&desk.stranger(), "INV-1");
    assert_eq!(refused(stranger).await, expected(401, "unauthenticated"));
    assert_eq!(ledger.count(), 0);

    let empty = asking(tasks).answered().await;
    assert_eq!(empty.status, 201, "no body is an empty object: {empty:?}");
    assert_eq!(ledger.records()[0].body, "");
    desk.close().await;
}
