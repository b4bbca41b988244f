//! A destination's list: every record of a company and a period, page by page.

use std::sync::Arc;
use std::time::Duration;

use guard::destination::List;
use guard::json::Json;
use guard::lookup::AnswerClass;
use serde_json_path::JsonPath;

use super::Prepared;
use super::page::{Nothing, Page, Pages, Statuses, unreadable};
use super::read::{Answer, Records};

/// A list that is being read. Each page is awaited as long as the destination's profile says.
pub struct Listing {
    pages: Pages,
    records: Records,
    company: Option<(JsonPath, String)>,
    time: Duration,
    /// How many records of other companies were left out.
    pub left_out: u64,
}

/// Why a list could not be read to its end; nothing of it may be used then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The kind of answer.
    pub class: AnswerClass,
    /// What happened, in a sentence that names the page.
    pub reason: String,
}

impl From<Nothing> for Unlisted {
    fn from((class, reason): Nothing) -> Self {
        Self { class, reason }
    }
}

/// A profile that cannot be followed.
pub(super) fn setup(reason: impl Into<String>) -> Unlisted {
    Unlisted { class: AnswerClass::Setup, reason: reason.into() }
}

impl Listing {
    /// The list of a company, below the base address at `path`.
    pub(super) fn at(prepared: &Arc<Prepared>, list: &List, path: &str, company: &str) -> Result<Self, Unlisted> {
        let parse = |path: &str| JsonPath::parse(path).map_err(|error| format!("{path:?} is no JSONPath: {error}"));
        let next_page = list.next_page.as_deref().map(parse).transpose().map_err(setup)?;
        let of = list.company.as_deref().map(parse).transpose().map_err(setup)?;
        Ok(Self {
            pages: Pages::at(prepared, &list.method, path, Statuses::default(), next_page)?,
            records: Records::at(&list.records).map_err(setup)?,
            company: of.map(|path| (path, company.to_owned())),
            time: Duration::from_secs(prepared.destination.timeout_seconds.into()),
            left_out: 0,
        })
    }

    /// How many pages were read.
    pub const fn pages(&self) -> u32 {
        self.pages.taken
    }

    /// The records of the next page; none behind the last.
    ///
    /// # Errors
    /// Why there is no such page, or what it says cannot be used.
    pub async fn next(&mut self) -> Result<Option<Vec<Json>>, Unlisted> {
        let answer = match self.pages.ask(self.time).await? {
            None => return Ok(None),
            Some(Page::Answer(answer)) => answer,
            // No status means it here.
            Some(Page::Absent) => return Err(unreadable("it says that there is no such list").into()),
        };
        let records = match self.take(&answer) {
            Ok(records) => records,
            Err(nothing) => return Err(self.pages.located(nothing).into()),
        };
        self.pages.turn(&answer)?;
        Ok(Some(records))
    }

    fn take(&mut self, answer: &Answer) -> Result<Vec<Json>, Nothing> {
        let records = self.records.of(answer);
        let records =
            records.ok_or_else(|| unreadable("the answer has nothing where the profile says records stand"))?;
        let mut taken = Vec::with_capacity(records.len());
        for record in records {
            if !matches!(record, Json::Object(_)) {
                return Err(unreadable(&format!("a record is {}; an object is needed", record.kind())));
            }
            if self.is_ours(record)? {
                taken.push(record.clone());
            } else {
                self.left_out += 1;
            }
        }
        Ok(taken)
    }

    fn is_ours(&self, record: &Json) -> Result<bool, Nothing> {
        let Some((path, wanted)) = &self.company else { return Ok(true) };
        let record = Answer::of(record.clone());
        match record.select(path)[..] {
            [Json::String(company)] => Ok(company == wanted),
            [Json::Number(company)] => Ok(company.as_written() == wanted),
            _ => Err(unreadable("a record names no company where list.company says that it stands")),
        }
    }
}
