//! One look at a destination: asks page by page, reads every record, and lets the guard judge.

use std::collections::HashSet;
use std::time::Duration;

use guard::destination::{Lookup, among};
use guard::lookup::{
    AnswerClass, Finding, Judge, Looked, RECORD_CHARACTERS_MAX, RECORDS_SHOWN_MAX, ShownRecord, Trial,
};
use guard::lookup::{Wanted, cut};
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json_path::JsonPath;
use tokio::time::Instant;
use url::Url;

use super::Prepared;
use super::client::send;
use super::read::{Answer, Places, Records};

/// One page of an answer has at most this many bytes.
pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A lookup reads at most this many pages.
pub const PAGES_MAX: u32 = 1_000;

/// How a lookup is read: its paths, parsed.
pub(super) struct Reader {
    records: Records,
    places: Places,
    next_page: Option<JsonPath>,
}

impl Reader {
    /// The reader of a lookup, with the records' paths of a workflow's key fields.
    pub(super) fn of<'a>(lookup: &Lookup, key_fields: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let path = |path: &str| JsonPath::parse(path).map_err(|error| format!("{path:?} is no JSONPath: {error}"));
        Ok(Self {
            records: Records::at(&lookup.records)?,
            places: Places {
                external_reference: path(&lookup.external_reference)?,
                reference: path(&lookup.reference)?,
                void: lookup.void.as_ref().map(|void| path(&void.path)).transpose()?,
                key_fields: key_fields.map(path).collect::<Result<_, _>>()?,
            },
            next_page: lookup.next_page.as_deref().map(path).transpose()?,
        })
    }
}

/// A look under way.
pub(super) struct Look<'a> {
    prepared: &'a Prepared,
    lookup: &'a Lookup,
    reader: &'a Reader,
    judge: Judge<'a>,
    status: Option<StatusCode>,
    pages: u32,
    records: u64,
    /// How many records have a place for an external reference at all.
    referring: u64,
    shown: Vec<ShownRecord>,
}

/// Nothing follows: the class of the answer, and what happened.
type Nothing = (AnswerClass, String);

/// What a page leads to.
enum Step {
    /// There is another one.
    Next(Url),
    /// It was the last.
    End,
    /// The destination says that there is no such record.
    Absent,
}

impl<'a> Look<'a> {
    pub(super) fn new(prepared: &'a Prepared, lookup: &'a Lookup, reader: &'a Reader, wanted: Wanted<'a>) -> Self {
        let judge = Judge::new(wanted);
        Self { prepared, lookup, reader, judge, status: None, pages: 0, records: 0, referring: 0, shown: Vec::new() }
    }

    /// Looks, below the base address at `path`; all pages together within the destination's time.
    pub(super) async fn run(mut self, path: &str) -> Trial {
        let started = Instant::now();
        let outcome = self.read_all(path, started).await;
        let Self { judge, status, pages, records, shown, .. } = self;
        let (finding, candidates) = match outcome {
            Ok(()) => judge.finish(),
            Err((class, reason)) => (Finding::Inconclusive { class, reason }, judge.into_candidates()),
        };
        let looked = Looked {
            request: format!("{} {path}", self.lookup.method),
            status: status.map(|status| status.as_u16()),
            pages,
            took_milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            finding,
            candidates,
        };
        Trial { looked, records, shown }
    }

    async fn read_all(&mut self, path: &str, started: Instant) -> Result<(), Nothing> {
        let total = Duration::from_secs(self.prepared.destination.timeout_seconds.into());
        let setup = |reason: String| (AnswerClass::Setup, reason);
        let mut page = self.prepared.url(path).map_err(setup)?;
        let mut seen = HashSet::new();
        loop {
            if self.pages >= PAGES_MAX {
                return Err((AnswerClass::TooManyPages, format!("there are over {PAGES_MAX} pages")));
            }
            if !seen.insert(page.clone()) {
                return Err((AnswerClass::TooManyPages, "a page names one before it as the next".to_owned()));
            }
            let left = total.saturating_sub(started.elapsed());
            match self.read_page(&page, left).await.map_err(|(class, reason)| self.located(class, reason))? {
                Step::Next(next) => page = next,
                Step::End | Step::Absent => break,
            }
        }
        if self.records > 0 && self.referring == 0 {
            let reason = "there are records, and none has an external reference where the profile says it stands";
            return Err((AnswerClass::Unreadable, reason.to_owned()));
        }
        Ok(())
    }

    /// The reason, with the page where it happened behind the first.
    fn located(&self, class: AnswerClass, reason: String) -> Nothing {
        let reason = if self.pages == 0 { reason } else { format!("at page {}: {reason}", self.pages + 1) };
        (class, reason)
    }

    async fn read_page(&mut self, page: &Url, left: Duration) -> Result<Step, Nothing> {
        let method: Method =
            self.lookup.method.parse().map_err(|_| (AnswerClass::Setup, "its method is none".to_owned()))?;
        let request = Request::builder().method(method).uri(page.as_str()).body(Full::default());
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
        if let Some(step) = self.judge_status(answer.status)? {
            return Ok(step);
        }
        let body = answer.body.map_err(|failed| (failed.class, failed.reason))?;
        let answer = Answer::parse(&body).map_err(|reason| unreadable(&format!("the answer is no JSON: {reason}")))?;
        self.take(&answer)?;
        self.pages += 1;
        self.next(page, &answer)
    }

    /// What follows from the status alone; none where the body has to be read.
    fn judge_status(&self, status: StatusCode) -> Result<Option<Step>, Nothing> {
        let is_among = |ranges: &[String]| among(ranges, status.as_u16());
        if is_among(&self.lookup.absent) && !is_among(&self.lookup.inconclusive) {
            if self.pages == 0 {
                return Ok(Some(Step::Absent));
            }
            return Err((AnswerClass::OtherStatus, format!("it answered {status} although an earlier page was there")));
        }
        if status.is_success() && !is_among(&self.lookup.inconclusive) {
            return Ok(None);
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

    fn take(&mut self, answer: &Answer) -> Result<(), Nothing> {
        let records = self.reader.records.of(answer);
        let records =
            records.ok_or_else(|| unreadable("the answer has nothing where the profile says records stand"))?;
        for record in records {
            let read = self.reader.places.read(record);
            self.records += 1;
            self.referring += u64::from(!read.external_references.is_empty());
            let reading = self.judge.take(&read);
            if self.shown.len() < RECORDS_SHOWN_MAX {
                self.shown.push(ShownRecord { record: cut(&record.to_string(), RECORD_CHARACTERS_MAX), reading });
            }
        }
        Ok(())
    }

    fn next(&self, page: &Url, answer: &Answer) -> Result<Step, Nothing> {
        let Some(path) = &self.reader.next_page else { return Ok(Step::End) };
        let next = match answer.select(path)[..] {
            [] | [guard::json::Json::Null] => return Ok(Step::End),
            [next] => next.as_str().ok_or_else(|| unreadable("the address of the next page is no text"))?,
            _ => return Err(unreadable("there are several addresses of the next page")),
        };
        if next.is_empty() {
            return Ok(Step::End);
        }
        let next =
            page.join(next).map_err(|error| unreadable(&format!("the address of the next page is none: {error}")))?;
        if next.origin() != page.origin() {
            return Err((
                AnswerClass::TooManyPages,
                "the next page lies at another host, which is not asked".to_owned(),
            ));
        }
        Ok(Step::Next(next))
    }
}

fn unreadable(reason: &str) -> Nothing {
    (AnswerClass::Unreadable, reason.to_owned())
}
