//! People before the desk: event streams that stay open while work goes on.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use server::live::{PATH, STREAMS_PER_PERSON_MAX};

use super::load::Target;
use super::visitor::visitor;

/// Streams that are read until they are dropped.
pub struct Streams {
    readers: tokio::task::JoinSet<()>,
    heard: Arc<AtomicU64>,
}

impl Streams {
    /// Makes people, signs them in, and opens so many streams for them.
    pub async fn open(binary: &str, database: &str, target: &Target, number: usize) -> Result<Self, Box<dyn Error>> {
        let mut streams = Self { readers: tokio::task::JoinSet::new(), heard: Arc::default() };
        for person in 0..number.div_ceil(STREAMS_PER_PERSON_MAX) {
            let email = format!("person-{person}@example.com");
            let client = visitor(binary, database, target.address, &email, &[]).await?;
            for _ in 0..STREAMS_PER_PERSON_MAX.min(number - person * STREAMS_PER_PERSON_MAX) {
                let stream = client.get(format!("http://{}{PATH}", target.address));
                let mut answer = stream.send().await?.error_for_status()?;
                let heard = Arc::clone(&streams.heard);
                streams.readers.spawn(async move {
                    while let Ok(Some(piece)) = answer.chunk().await {
                        heard.fetch_add(piece.len() as u64, Ordering::Relaxed);
                    }
                });
            }
        }
        Ok(streams)
    }

    /// How many bytes all of them were told.
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// How many of them are open still.
    pub fn are_open(&mut self) -> usize {
        while self.readers.try_join_next().is_some() {}
        self.readers.len()
    }
}
