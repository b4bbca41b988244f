//! One look at a destination: asks page by page, reads every record, and lets the guard judge.

use std::sync::Arc;
use std::time::Duration;

use guard::destination::Lookup;
use guard::lookup::{
    AnswerClass, Finding, Judge, Looked, RECORD_CHARACTERS_MAX, RECORDS_SHOWN_MAX, ShownRecord, Trial,
};
use guard::lookup::{Wanted, cut};
use http::StatusCode;
use serde_json_path::JsonPath;
use tokio::time::Instant;

use super::Prepared;
use super::page::{Nothing, Page, Pages, Statuses, unreadable};
use super::read::{Answer, Places, Records};

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
    prepared: &'a Arc<Prepared>,
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

impl<'a> Look<'a> {
    pub(super) fn new(prepared: &'a Arc<Prepared>, lookup: &'a Lookup, reader: &'a Reader, wanted: Wanted<'a>) -> Self {
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
        let Lookup { method, inconclusive, absent, .. } = self.lookup;
        let statuses = Statuses { inconclusive: inconclusive.clone(), absent: absent.clone() };
        let mut pages = Pages::at(self.prepared, method, path, statuses, self.reader.next_page.clone())?;
        loop {
            let asked = pages.ask(total.saturating_sub(started.elapsed())).await;
            self.status = pages.status;
            match asked? {
                Some(Page::Answer(answer)) => {
                    self.take(&answer).map_err(|nothing| pages.located(nothing))?;
                    let turned = pages.turn(&answer);
                    self.pages = pages.taken;
                    turned?;
                }
                Some(Page::Absent) | None => break,
            }
        }
        if self.records > 0 && self.referring == 0 {
            let reason = "there are records, and none has an external reference where the profile says it stands";
            return Err((AnswerClass::Unreadable, reason.to_owned()));
        }
        Ok(())
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
}
