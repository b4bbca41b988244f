//! A destination that lists whatever a test says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

/// What whoever asks must know.
pub const SECRET: &str = "Bearer of the list";

/// A destination at an address of its own, until its test ends.
pub struct Holder {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Holder {
    /// Answers 200 with what the test says to a path.
    pub async fn saying(say: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> Self {
        let answer = move |path: &str| {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (StatusCode::OK, json, say(path).to_string()).into_response()
        };
        Self::answering(answer).await
    }

    /// Points elsewhere.
    pub async fn redirecting(to: &str) -> Self {
        let to = to.to_owned();
        Self::answering(move |_| (StatusCode::FOUND, [(header::LOCATION, to.clone())]).into_response()).await
    }

    async fn answering(answer: impl Fn(&str) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let router = Router::new().fallback(move |request: Request| async move {
            let path = request.uri().to_string();
            kept.lock().unwrap().push(path.clone());
            let told = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            if told != Some(SECRET) {
                return StatusCode::UNAUTHORIZED.into_response();
            }
            answer(&path)
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    /// What was asked, in its order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
