//! Answers from which nothing follows, and the one that says no.

use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse as _;
use guard::lookup::{AnswerClass, Finding};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use server::destination::PAGE_BYTES_MAX;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::ledger::{self, Ledger, destination, look, nothing};

#[tokio::test]
async fn statuses_say_what_kind_of_trouble_it_is() {
    for (status, class) in [
        (401, AnswerClass::Refused),
        (403, AnswerClass::Refused),
        (429, AnswerClass::TooMany),
        (500, AnswerClass::ServerError),
        (503, AnswerClass::ServerError),
        (301, AnswerClass::Redirect),
        (400, AnswerClass::OtherStatus),
        (410, AnswerClass::OtherStatus),
    ] {
        // A body that would be read as absence, were it read.
        let ledger = Ledger::saying(status, json!({ "items": [] })).await;
        let looked = ledger.look().await;
        assert_eq!(nothing(&looked).0, class, "{status}");
        assert_eq!((looked.status, looked.pages), (Some(status), 0));
        assert_eq!(ledger.asked().len(), 1, "nothing is asked again by itself");
    }
}

#[tokio::test]
async fn a_status_that_the_profile_names_means_absent() {
    let ledger = Ledger::saying(404, json!({ "error": "no such task" })).await;
    let looked = ledger.look().await;
    assert_eq!((looked.finding, looked.status), (Finding::Absent, Some(404)));
    let mut destination = ledger.destination();
    destination.lookup.as_mut().unwrap().absent.clear();
    assert_eq!(nothing(&look(&destination).await).0, AnswerClass::OtherStatus, "not by itself");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Ledger::saying(200, json!({ "items": [] })).await;
    let target = format!("http://{}/api/tasks", other.address);
    let ledger =
        Ledger::answering(move |_| (http::StatusCode::FOUND, [("location", target.clone())]).into_response()).await;
    let looked = ledger.look().await;
    insta::assert_snapshot!(nothing(&looked).1, @"it answered 302 Found: it points elsewhere, and that is not followed");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn what_cannot_be_read_is_not_absent() {
    for body in [
        "",
        "<html>busy</html>",
        "null",
        r#"{"items":[]"#,
        r#"{"items":null}"#,
        r#"{"message":"the request timed out"}"#,
        r#"{"items":[],"items":[{"id":1}]}"#,
        // The profile looks for the reference elsewhere than these records carry it.
        r#"{"items":[{"id":1,"external":"oo-1"}]}"#,
        r#"{"items":[],"next":7}"#,
    ] {
        let ledger = Ledger::answering(move |_| body.into_response()).await;
        let looked = ledger.look().await;
        assert_eq!(nothing(&looked).0, AnswerClass::Unreadable, "{body}: {:?}", looked.finding);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let ledger = Ledger::answering(|_| " ".repeat(PAGE_BYTES_MAX + 1).into_response()).await;
    assert_eq!(nothing(&ledger.look().await).0, AnswerClass::TooLarge);
}

#[tokio::test]
async fn time_is_bounded_over_all_pages_together() {
    let ledger = Ledger::over(|request: axum::extract::Request| async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        ledger::json(200, &json!({ "items": [], "next": format!("{}&x", request.uri()) }))
    })
    .await;
    let mut destination = ledger.destination();
    destination.timeout_seconds = 1;
    let looked = look(&destination).await;
    let (class, reason) = nothing(&looked);
    assert_eq!(class, AnswerClass::Timeout, "{reason}");
    assert!(looked.pages >= 1 && (1_000..3_000).contains(&looked.took_milliseconds), "{looked:?}");
}

/// A destination that reads a request, writes these bytes and hangs up.
async fn raw(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = [0; 4_096];
            let _ = socket.read(&mut head).await;
            let _ = socket.write_all(bytes).await;
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn a_connection_that_breaks_says_nothing() {
    for bytes in [
        b"".as_slice(),
        b"HTTP/1.1 200 OK\r\ncontent-type: applic",
        b"HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{\"items\":[]}",
        b"SSH-2.0-nobody\r\n",
    ] {
        let looked = look(&destination(&raw(bytes).await)).await;
        assert_eq!(nothing(&looked).0, AnswerClass::Unreachable, "{looked:?}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let looked = look(&destination(&format!("http://{closed}"))).await;
    assert_eq!(nothing(&looked).0, AnswerClass::Unreachable);
    assert_eq!(looked.status, None);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_trusted() {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(signing_key.serialize_der().into()))
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // A server that finishes its handshake as far as the other side lets it.
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let socket = socket.into_std().unwrap();
        socket.set_nonblocking(false).unwrap();
        tokio::task::spawn_blocking(move || {
            let mut socket = socket;
            let mut tls = rustls::ServerConnection::new(config).unwrap();
            while tls.is_handshaking() {
                tls.complete_io(&mut socket)?;
            }
            Ok::<_, std::io::Error>(())
        })
        .await
        .unwrap()
    });
    let looked = look(&destination(&format!("https://{address}"))).await;
    let (class, reason) = nothing(&looked);
    assert_eq!(class, AnswerClass::Certificate, "{reason}");
    assert!(server.await.unwrap().is_err(), "the client hung up before it said anything");
}
