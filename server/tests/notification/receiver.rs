//! Receivers on loopback that count what arrives: one of webhooks, which answers as it is told to, and one of mail.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header::LOCATION};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub const NEW_SECRET: &str = "whsec_bmV3IHNlY3JldCBvZiB0aGVzZSB0ZXN0cywgbG9uZw==";
pub const OLD_SECRET: &str = "whsec_b2xkIHNlY3JldCBvZiB0aGVzZSB0ZXN0cywgbG9uZw==";

/// How a request is answered.
pub enum Answer {
    Status(u16),
    Redirect(String),
    Hang,
}

/// A message as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    timestamp: i64,
    signatures: Vec<String>,
    text: Vec<u8>,
    pub body: Value,
}

impl Received {
    /// Whether one of the signatures is that of this secret, by somebody else's reading of the rules.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let oracle = standardwebhooks::Webhook::new(secret).unwrap();
        self.signatures.contains(&oracle.sign(&self.id, self.timestamp, &self.text).unwrap())
    }
}

/// A receiver of webhooks.
pub struct Receiver {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// One that answers so, and 200 from then on.
    pub async fn answering(script: impl IntoIterator<Item = Answer>) -> Self {
        let script: Arc<Mutex<VecDeque<Answer>>> = Arc::new(Mutex::new(script.into_iter().collect()));
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        let answer = move |headers: HeaderMap, text: Bytes| {
            let header = |name: &str| headers[name].to_str().unwrap().to_owned();
            kept.lock().unwrap().push(Received {
                id: header("webhook-id"),
                timestamp: header("webhook-timestamp").parse().unwrap(),
                signatures: header("webhook-signature").split(' ').map(ToOwned::to_owned).collect(),
                body: serde_json::from_slice(&text).unwrap(),
                text: text.to_vec(),
            });
            let answer = script.lock().unwrap().pop_front().unwrap_or(Answer::Status(200));
            async move { answered(answer).await }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self { url, received }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn answered(answer: Answer) -> Response {
    match answer {
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::Redirect(to) => (StatusCode::FOUND, [(LOCATION, to)]).into_response(),
        Answer::Hang => std::future::pending().await,
    }
}

/// A mail as it arrived.
#[derive(Clone, Debug)]
pub struct Mail {
    pub from: String,
    pub to: String,
    lines: Vec<String>,
}

impl Mail {
    /// A header, unfolded.
    pub fn header(&self, name: &str) -> String {
        let head = self.lines.iter().take_while(|line| !line.is_empty());
        let mut text = String::new();
        let mut is_in = false;
        for line in head {
            let is_folded = line.starts_with([' ', '\t']);
            is_in = if is_folded { is_in } else { line.starts_with(&format!("{name}: ")) };
            if is_in {
                text.push_str(if is_folded { line } else { &line[name.len() + 2..] });
            }
        }
        text
    }

    /// What it says, whatever way its lines were kept short.
    pub fn text(&self) -> String {
        let body = self.lines.iter().skip_while(|line| !line.is_empty()).map(String::as_str).collect::<Vec<_>>();
        body.join("\n").replace("=\n", "").replace("=3D", "=")
    }
}

/// A mail server that speaks as much of SMTP as it takes to receive. Addresses in `at_second` are refused for the moment at the first
/// try.
pub struct Mailbox {
    pub address: String,
    received: Arc<Mutex<Vec<Mail>>>,
}

impl Mailbox {
    pub async fn open(at_second: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let refused: Arc<Mutex<Vec<String>>> =
            Arc::new(Mutex::new(at_second.iter().map(|&address| address.to_owned()).collect()));
        let kept = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(speak(stream, Arc::clone(&kept), Arc::clone(&refused)));
            }
        });
        Self { address, received }
    }

    pub fn received(&self) -> Vec<Mail> {
        self.received.lock().unwrap().clone()
    }
}

async fn speak(stream: TcpStream, received: Arc<Mutex<Vec<Mail>>>, refused: Arc<Mutex<Vec<String>>>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let (mut from, mut to) = (String::new(), String::new());
    write.write_all(b"220 mail.example ready\r\n").await.unwrap();
    while let Ok(Some(line)) = lines.next_line().await {
        let address = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            "EHLO" | "HELO" => "250 mail.example",
            "MAIL" => {
                from = address();
                "250 fine"
            }
            "RCPT" => {
                to = address();
                let mut refused = refused.lock().unwrap();
                match refused.iter().position(|known| *known == to) {
                    Some(place) => {
                        refused.remove(place);
                        "451 come back later"
                    }
                    None => "250 fine",
                }
            }
            "DATA" => {
                write.write_all(b"354 go on\r\n").await.unwrap();
                let mut mail = Mail { from: from.clone(), to: to.clone(), lines: Vec::new() };
                while let Ok(Some(line)) = lines.next_line().await {
                    if line == "." {
                        break;
                    }
                    mail.lines.push(line);
                }
                received.lock().unwrap().push(mail);
                "250 taken"
            }
            "QUIT" => {
                write.write_all(b"221 bye\r\n").await.unwrap();
                return;
            }
            _ => "250 fine",
        };
        write.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
    }
}
