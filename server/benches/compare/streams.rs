//! People before the desk: event streams that stay open while work goes on.

use std::error::Error;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::header::{COOKIE, SET_COOKIE};
use server::live::{PATH, STREAMS_PER_PERSON_MAX};

use super::load::Target;

const PASSWORD: &str = "nine bright shiners";

/// Streams that are read until they are dropped.
pub struct Streams {
    readers: tokio::task::JoinSet<()>,
    heard: Arc<AtomicU64>,
}

impl Streams {
    /// Makes people, signs them in, and opens so many streams for them.
    pub async fn open(binary: &str, database: &str, target: &Target, number: usize) -> Result<Self, Box<dyn Error>> {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        let mut streams = Self { readers: tokio::task::JoinSet::new(), heard: Arc::default() };
        for person in 0..number.div_ceil(STREAMS_PER_PERSON_MAX) {
            let email = format!("person-{person}@example.com");
            make_person(binary, database, &email)?;
            let form = client.post(format!("http://{}/login", target.address));
            let answer = form.form(&[("email", email.as_str()), ("password", PASSWORD)]).send().await?;
            let cookie = answer.headers().get(SET_COOKIE).ok_or("nobody was signed in")?.to_str()?;
            let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
            for _ in 0..STREAMS_PER_PERSON_MAX.min(number - person * STREAMS_PER_PERSON_MAX) {
                let stream = client.get(format!("http://{}{PATH}", target.address)).header(COOKIE, &cookie);
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

fn make_person(binary: &str, database: &str, email: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(binary);
    command.args(["user", "create", "--email", email, "--role", "operator", "--database", database]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    child.stdin.take().ok_or("the command reads nothing")?.write_all(PASSWORD.as_bytes())?;
    if child.wait()?.success() { Ok(()) } else { Err(format!("{email} could not be made").into()) }
}
