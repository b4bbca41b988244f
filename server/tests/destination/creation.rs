//! What is sent once, and what is known of it afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::json;
use server::destination::{Destinations, Outgoing, Sent};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::ledger::{self, Ledger, SECRET, destination};

fn creation() -> Outgoing {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer of-the-caller"));
    headers.insert("x-caller", HeaderValue::from_static("kept"));
    Outgoing {
        method: Method::POST,
        path: "/tasks?a=b".to_owned(),
        headers,
        body: Bytes::from_static(b"{ \"n\": 1.0 }"),
    }
}

#[tokio::test]
async fn the_body_arrives_as_it_is_and_the_profile_has_the_last_word_on_headers() {
    let ledger = Ledger::over(|request: axum::extract::Request| async move {
        let [authorization, caller] =
            ["authorization", "x-caller"].map(|name| request.headers()[name].to_str().unwrap().to_owned());
        let body = axum::body::to_bytes(request.into_body(), 1_000).await.unwrap();
        assert_eq!(&body[..], b"{ \"n\": 1.0 }");
        ledger::json(201, &json!({ "authorization": authorization, "caller": caller }))
    })
    .await;
    let Sent::Answer { status, body, .. } = Destinations::default().send(&ledger.destination(), creation()).await
    else {
        panic!()
    };
    assert_eq!(status, 201);
    let told: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
    assert_eq!(told, json!({ "authorization": SECRET, "caller": "kept" }));
    assert_eq!(ledger.asked(), ["POST /api/tasks?a=b"]);
}

#[tokio::test]
async fn refused_before_a_byte_was_written_is_proven() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let destinations = Destinations::default();
    let sent = destinations.send(&destination(&format!("http://{closed}")), creation()).await;
    assert!(matches!(sent, Sent::NotSent { .. }), "{sent:?}");
    let mut without_secret = destination(&format!("http://{closed}"));
    without_secret.headers.insert("X-Key".to_owned(), "file:/nowhere".to_owned());
    let sent = destinations.send(&without_secret, creation()).await;
    assert!(matches!(sent, Sent::NotSent { .. }), "{sent:?}");
}

/// Every connection is counted, read from, and answered by nothing.
async fn silent(hangs_up: bool) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = socket.read(&mut [0; 4_096]).await;
            if !hangs_up {
                open.push(socket);
            }
        }
    });
    (address, count)
}

#[tokio::test]
async fn an_answer_that_never_comes_is_lost_and_nothing_is_sent_again() {
    for hangs_up in [true, false] {
        let (address, count) = silent(hangs_up).await;
        let mut destination = destination(&address);
        destination.timeout_seconds = 1;
        let sent = Destinations::default().send(&destination, creation()).await;
        assert!(matches!(sent, Sent::Lost { .. }), "{sent:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_does_not_lose_the_next_request() {
    let ledger = Ledger::saying(201, json!({ "id": 1 })).await;
    let destinations = Destinations::default();
    for _ in 0..20 {
        let sent = destinations.send(&ledger.destination(), creation()).await;
        assert!(matches!(sent, Sent::Answer { .. }), "{sent:?}");
    }
    assert_eq!(ledger.asked().len(), 20);
}
