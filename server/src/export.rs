//! Lists as files: what a filter says, all pages of it, streamed. A list plugs in as [`Listed`].

mod activity;
mod amendments;
mod conflicts;
mod metrics;
mod operations;
mod reconciliation;
mod text;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use app::context::Visit;
use async_trait::async_trait;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use guard::clock::Timestamp;
use guard::id::PersonId;
use guard::person::Person;
use guard::queue::{Cursor, Page};
use guard::refusal::Refusal;
use guard::service::{Exported, Guard};
use tokio::sync::mpsc;

use self::activity::Activities;
use self::amendments::Amendments;
use self::conflicts::Conflicts;
use self::metrics::Metrics;
use self::operations::{Operations, Uncertain};
use self::reconciliation::Rows;
use self::text::Format;
use crate::problem::{Code, Problem};

/// So many pages wait for whoever reads slowly: the memory that an export takes.
const PAGES_WAITING_MAX: usize = 2;

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing is known.
    Absent,
    /// A text; whatever it starts with, no spreadsheet takes it for a formula.
    Text(String),
    /// A number in decimal digits, of any length.
    Number(String),
    /// A moment, written as RFC 3339 in UTC.
    Moment(Timestamp),
}

impl Cell {
    /// A text, or nothing.
    pub fn of(text: Option<&str>) -> Self {
        text.map_or(Self::Absent, |text| Self::Text(text.to_owned()))
    }
}

/// A list that can leave the desk as a file, within the reach of whoever asked for it.
#[async_trait]
pub trait Listed: Send + Sync {
    /// The names of the columns.
    fn columns(&self) -> &'static [&'static str];

    /// The page behind a cursor; each row has a cell for each column. What a person may not see is masked here as on the desk.
    ///
    /// # Errors
    /// As the list on the desk.
    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal>;
}

/// Who takes a list out right now: one at a time for each person and process, since each reads a whole list.
#[derive(Clone, Debug, Default)]
pub struct Exports {
    under_way: Arc<Mutex<HashSet<PersonId>>>,
}

/// Gives the person's place back.
struct Place {
    exports: Exports,
    person: PersonId,
}

impl Exports {
    fn place(&self, person: PersonId) -> Option<Place> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(person).then(|| Place { exports: self.clone(), person })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.exports.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.person);
    }
}

/// The list with this name, as its page's address asks for it.
fn listed(visit: &Visit, person: &Person, name: &str, query: &str) -> Result<Box<dyn Listed>, Problem> {
    match name {
        "operations" => Ok(Box::new(Operations::of_table(visit, person, query)?)),
        "amendments" => Ok(Box::new(Amendments::of(visit, person, query)?)),
        "conflicts" => Ok(Box::new(Conflicts::of(visit, person, query)?)),
        "metrics" => Ok(Box::new(Metrics::of(visit, person, query)?)),
        "unknown" => Ok(Box::new(Uncertain::of_queue(visit, person, query)?)),
        "activity" => Ok(Box::new(Activities::of(visit, person, query)?)),
        "reconciliation" => Ok(Box::new(Rows::of(visit, person, query)?)),
        _ => Err(Problem::not_found("list")),
    }
}

/// `GET /export/{list}?format=csv|json&…`: the rest of the query is what the page's address says.
///
/// # Errors
/// A list or a filter that there is not, a second export of the same person, the store's fault.
pub async fn export(
    Extension(visit): Extension<Visit>,
    Extension(exports): Extension<Exports>,
    Path(list): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let Ok(person) = visit.person().cloned() else { return Err(Problem::not_found("list")) };
    let (format, query) = split(query.as_deref().unwrap_or_default())?;
    let rows = listed(&visit, &person, &list, &query)?;
    let Some(place) = exports.place(person.id) else {
        return Err(Problem::new(Code::RateLimited, "an export of yours is under way; wait for its end, or stop it"));
    };
    let guard = visit.guard.clone();
    let exported = Exported { list: &list, query: &query, format: format.as_str() };
    // In the trail before the first row: nothing leaves of which it does not tell.
    guard.export_begun(&person, exported).await?;
    let at = guard.now();
    let name = format!("onceover-{list}-{}.{}", at.format("%Y%m%dT%H%M%SZ"), format.as_str());
    let (sender, receiver) = mpsc::channel(PAGES_WAITING_MAX);
    let sending = Sending { guard, person, list, query, format, rows, sender, _place: place };
    tokio::spawn(sending.run(at));
    let body = futures::stream::unfold(receiver, |mut receiver| async move {
        let next: io::Result<Bytes> = receiver.recv().await?;
        Some((next, receiver))
    });
    let headers = [
        (CONTENT_TYPE, format.media_type().to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// The format, and the query without it.
fn split(query: &str) -> Result<(Format, String), Problem> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    let (formats, rest): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(name, _)| name == "format");
    let format = match formats.as_slice() {
        [(_, format)] => Format::parse(format),
        [] | [_, _, ..] => None,
    };
    let format = format.ok_or_else(|| Problem::field("format", "is csv or json, once"))?;
    // A page's place is left out: all pages are.
    let rest: Vec<_> = rest.into_iter().filter(|(name, text)| name != "cursor" && !text.is_empty()).collect();
    Ok((format, serde_urlencoded::to_string(rest).unwrap_or_default()))
}

/// A list on its way out.
struct Sending {
    guard: Guard,
    person: Person,
    list: String,
    query: String,
    format: Format,
    rows: Box<dyn Listed>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    _place: Place,
}

impl Sending {
    /// Sends every page, and tells the trail how it ended. Whoever no longer reads ends it.
    async fn run(self, at: Timestamp) {
        let head = self.format.head(&self.list, &self.query, at, self.rows.columns());
        let (rows, is_whole) = send(self.format, head, self.rows.as_ref(), &self.sender).await;
        let exported = Exported { list: &self.list, query: &self.query, format: self.format.as_str() };
        if let Err(refusal) = self.guard.export_ended(&self.person, exported, rows, is_whole).await {
            tracing::error!(%refusal, rows, "the end of an export is missing in the trail");
        }
    }
}

/// Sends page after page, each when there is room for it; how many rows, and whether everything went out.
async fn send(
    format: Format,
    head: String,
    list: &dyn Listed,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> (u64, bool) {
    let mut rows = 0;
    if sender.send(Ok(head.into())).await.is_err() {
        return (rows, false);
    }
    let mut cursor = None;
    loop {
        let page = match list.page(cursor).await {
            Ok(page) => page,
            Err(refusal) => {
                tracing::warn!(%refusal, rows, "an export ends early");
                // The file breaks off, so that nobody takes it for whole.
                let _gone = sender.send(Err(io::Error::other(refusal.to_string()))).await;
                return (rows, false);
            }
        };
        let text = format.rows(list.columns(), &page.rows, rows == 0);
        if !text.is_empty() && sender.send(Ok(text.into())).await.is_err() {
            return (rows, false);
        }
        rows += page.rows.len() as u64;
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    (rows, sender.send(Ok(format.tail().into())).await.is_ok())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_person_has_one_place() {
        let exports = Exports::default();
        let (one, other) = (PersonId::from_u128(1), PersonId::from_u128(2));
        let place = exports.place(one);
        assert!(place.is_some() && exports.place(one).is_none() && exports.place(other).is_some());
        drop(place);
        assert!(exports.place(one).is_some());
    }

    /// A list without end, that counts the pages it was asked for.
    struct Endless(AtomicUsize);

    #[async_trait]
    impl Listed for Endless {
        fn columns(&self) -> &'static [&'static str] {
            &["id"]
        }

        async fn page(&self, _: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Page { rows: vec![vec![Cell::Number("1".to_owned())]], next: Some(Cursor::from_text("x")) })
        }
    }

    #[tokio::test]
    async fn a_list_waits_for_whoever_reads_it() {
        let list = Arc::new(Endless(AtomicUsize::new(0)));
        let (sender, mut receiver) = mpsc::channel(PAGES_WAITING_MAX);
        let asked = Arc::clone(&list);
        let sending =
            tokio::spawn(async move { send(Format::Csv, "id\r\n".to_owned(), asked.as_ref(), &sender).await });
        for read in 0..20 {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let pages = list.0.load(Ordering::Relaxed);
            assert!(pages <= read + PAGES_WAITING_MAX + 1, "{pages} pages for a reader that took {read}");
            assert!(receiver.recv().await.is_some());
        }
        drop(receiver);
        let (rows, is_whole) = sending.await.unwrap();
        assert!(rows >= 18 && !is_whole, "who reads no longer ends it");
    }

    #[test]
    fn the_format_is_no_part_of_the_filter() {
        let (format, query) = split("company=a+b&format=csv&cursor=1-2&state=unknown&state=failed&worker=").unwrap();
        assert_eq!((format, &*query), (Format::Csv, "company=a+b&state=unknown&state=failed"));
        for query in ["", "format=xml", "format=csv&format=json"] {
            assert!(split(query).is_err(), "{query}");
        }
    }
}
