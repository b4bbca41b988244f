//! Answers that come in pages: asked one after the other, bounded, at one host, never beyond a page that broke.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use guard::destination::among;
use guard::json::Json;
use guard::lookup::AnswerClass;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json_path::JsonPath;
use url::Url;

use super::Prepared;
use super::client::send;
use super::read::Answer;

/// One page of an answer has at most this many bytes.
pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// At most this many pages of one answer are read.
pub const PAGES_MAX: u32 = 1_000;

/// Nothing follows: the class of the answer, and what happened.
pub(super) type Nothing = (AnswerClass, String);

/// What a profile says of statuses beside success.
#[derive(Default)]
pub(super) struct Statuses {
    /// From these nothing follows, whatever is in them.
    pub inconclusive: Vec<String>,
    /// With these the destination says that there is no such record.
    pub absent: Vec<String>,
}

/// A page that was read.
pub(super) enum Page {
    /// What it says.
    Answer(Answer),
    /// The destination says that there is no such record.
    Absent,
}

/// The pages of one answer.
pub(super) struct Pages {
    prepared: Arc<Prepared>,
    method: Method,
    statuses: Statuses,
    next_page: Option<JsonPath>,
    /// The page to be asked for; none behind the last.
    next: Option<Url>,
    seen: HashSet<Url>,
    /// The status of the last answer.
    pub status: Option<StatusCode>,
    /// How many pages were taken.
    pub taken: u32,
}

impl Pages {
    /// The pages that start below the base address at `path`.
    pub(super) fn at(
        prepared: &Arc<Prepared>,
        method: &str,
        path: &str,
        statuses: Statuses,
        next_page: Option<JsonPath>,
    ) -> Result<Self, Nothing> {
        let setup = |reason: String| (AnswerClass::Setup, reason);
        let first = prepared.url(path).map_err(setup)?;
        let method = method.parse().map_err(|_| setup("its method is none".to_owned()))?;
        let (prepared, seen) = (Arc::clone(prepared), HashSet::new());
        Ok(Self { prepared, method, statuses, next_page, next: Some(first), seen, status: None, taken: 0 })
    }

    /// Asks for the next page, within `left`; none behind the last. Whoever has taken what is in it says so by [`Pages::turn`].
    pub(super) async fn ask(&mut self, left: Duration) -> Result<Option<Page>, Nothing> {
        let Some(page) = self.next.clone() else { return Ok(None) };
        if self.taken >= PAGES_MAX {
            return Err((AnswerClass::TooManyPages, format!("there are over {PAGES_MAX} pages")));
        }
        if !self.seen.insert(page.clone()) {
            return Err((AnswerClass::TooManyPages, "a page names one before it as the next".to_owned()));
        }
        let read = self.read(&page, left).await;
        read.map(Some).map_err(|nothing| self.located(nothing))
    }

    /// The reason, with the page where it happened behind the first.
    pub(super) fn located(&self, (class, reason): Nothing) -> Nothing {
        let reason = if self.taken == 0 { reason } else { format!("at page {}: {reason}", self.taken + 1) };
        (class, reason)
    }

    async fn read(&mut self, page: &Url, left: Duration) -> Result<Page, Nothing> {
        let request = Request::builder().method(self.method.clone()).uri(page.as_str()).body(Full::default());
        let mut request =
            request.map_err(|error| (AnswerClass::Setup, format!("the address cannot be asked: {error}")))?;
        request.headers_mut().extend(self.prepared.headers.clone());
        request.headers_mut().entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let answer = send(&self.prepared.client, request, left, PAGE_BYTES_MAX).await;
        let answer = answer.map_err(|failed| {
            self.status = None;
            (failed.class, failed.reason)
        })?;
        self.status = Some(answer.status);
        if self.is_absent(answer.status)? {
            return Ok(Page::Absent);
        }
        let body = answer.body.map_err(|failed| (failed.class, failed.reason))?;
        let answer = Answer::parse(&body).map_err(|reason| unreadable(&format!("the answer is no JSON: {reason}")))?;
        Ok(Page::Answer(answer))
    }

    /// What follows from the status alone: that there is no such record, or, where the body has to be read, nothing yet.
    fn is_absent(&self, status: StatusCode) -> Result<bool, Nothing> {
        let is_among = |ranges: &[String]| among(ranges, status.as_u16());
        if is_among(&self.statuses.absent) && !is_among(&self.statuses.inconclusive) {
            if self.taken == 0 {
                return Ok(true);
            }
            return Err((AnswerClass::OtherStatus, format!("it answered {status} although an earlier page was there")));
        }
        if status.is_success() && !is_among(&self.statuses.inconclusive) {
            return Ok(false);
        }
        let class = match status.as_u16() {
            401 | 403 => AnswerClass::Refused,
            429 => AnswerClass::TooMany,
            300..=399 => AnswerClass::Redirect,
            500..=599 => AnswerClass::ServerError,
            _ => AnswerClass::OtherStatus,
        };
        let told = if class == AnswerClass::Redirect { ": it points elsewhere, and that is not followed" } else { "" };
        Err((class, format!("it answered {status}{told}")))
    }

    /// The page that was asked for last was taken: finds out which one is next.
    pub(super) fn turn(&mut self, answer: &Answer) -> Result<(), Nothing> {
        self.taken += 1;
        let Some(page) = self.next.take() else { return Ok(()) };
        self.next = self.behind(&page, answer).map_err(|nothing| self.located(nothing))?;
        Ok(())
    }

    fn behind(&self, page: &Url, answer: &Answer) -> Result<Option<Url>, Nothing> {
        let Some(path) = &self.next_page else { return Ok(None) };
        let next = match answer.select(path)[..] {
            [] | [Json::Null] => return Ok(None),
            [next] => next.as_str().ok_or_else(|| unreadable("the address of the next page is no text"))?,
            _ => return Err(unreadable("there are several addresses of the next page")),
        };
        if next.is_empty() {
            return Ok(None);
        }
        let next =
            page.join(next).map_err(|error| unreadable(&format!("the address of the next page is none: {error}")))?;
        if next.origin() != page.origin() {
            return Err((
                AnswerClass::TooManyPages,
                "the next page lies at another host, which is not asked".to_owned(),
            ));
        }
        Ok(Some(next))
    }
}

/// An answer that is not what the profile says.
pub(super) fn unreadable(reason: &str) -> Nothing {
    (AnswerClass::Unreadable, reason.to_owned())
}
