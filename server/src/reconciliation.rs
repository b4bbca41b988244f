//! Reconciliation's readers: what the destination holds, out of files of several kinds.
//!
//! Pure over a stream of bytes, in bounded memory: one record at a time. What could be read in two ways is refused, with its line, its
//! column and the parameter that settles it.

mod date;
mod encoding;
pub mod export;
mod fault;
pub mod import;
mod json;
mod number;
mod plan;
pub mod pull;
mod table;
mod xml;

use std::io::{BufRead, BufReader, Read};

use guard::json::Json;
use guard::reconciliation::{Format, Record};

pub use fault::{FAULTS_MAX, Fault};
pub use plan::Plan;

/// A file has at most this many bytes.
pub const FILE_BYTES_MAX: usize = 1_024 * 1_024 * 1_024;

/// One record has at most this many bytes.
pub const RECORD_BYTES_MAX: usize = 1_024 * 1_024;

/// So much of a file's beginning tells what it is written in.
const BEGINNING_BYTES_MAX: usize = 64 * 1_024;

/// A value of a record, and where it stands.
struct Cell {
    value: Json,
    /// The column, from 1; none where the format has none.
    column: Option<u64>,
    /// The column as the file names it.
    name: String,
}

/// A record as its format holds it: the values that the plan asks for, in its order.
struct Cells {
    line: u64,
    values: Vec<Option<Cell>>,
}

/// Gives records one by one.
trait Reader {
    /// The next record; none behind the last.
    fn next(&mut self) -> Result<Option<Cells>, Fault>;
}

/// The records of a file.
pub struct Records<'a> {
    plan: &'a Plan,
    reader: Box<dyn Reader + Send + 'a>,
    format: Format,
    at: u64,
    /// Set by a fault behind which nothing can be read.
    is_broken: bool,
}

impl<'a> Records<'a> {
    /// Opens a file; `declared` is its media type's format where that says it.
    ///
    /// # Errors
    /// What keeps it from being read at all.
    pub fn open(
        plan: &'a Plan,
        input: impl Read + Send + 'a,
        declared: Option<Format>,
        charset: Option<&str>,
    ) -> Result<Self, Fault> {
        let label = plan.mapping.encoding.as_deref().or(charset);
        let mut input = BufReader::with_capacity(BEGINNING_BYTES_MAX, encoding::decoded(input, label)?);
        let beginning = input.fill_buf().map_err(|error| Fault::of_io(&error))?;
        if beginning.is_empty() {
            return Err(Fault::whole("the file is empty"));
        }
        let format = plan.mapping.format.or(declared).map_or_else(|| guess(beginning), Ok)?;
        let reader: Box<dyn Reader + Send> = match format {
            Format::Csv => Box::new(table::Table::open(plan, input)?),
            Format::Json => Box::new(json::Items::open(plan, input)),
            Format::Camt053 | Format::Tally => Box::new(xml::Elements::open(plan, input, format)),
        };
        Ok(Self { plan, reader, format, at: 0, is_broken: false })
    }

    /// What it is written in.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The next record, with what is to be warned of.
    ///
    /// # Errors
    /// What cannot be taken of it; the next one may be asked for all the same.
    pub fn next_record(&mut self) -> Result<Option<(Record, Vec<String>)>, Vec<Fault>> {
        if self.is_broken {
            return Ok(None);
        }
        match self.reader.next() {
            Ok(None) => Ok(None),
            Ok(Some(cells)) => {
                self.at += 1;
                self.plan.record(&cells, self.format).map(Some)
            }
            Err(fault) => {
                self.is_broken = fault.is_last;
                Err(vec![fault])
            }
        }
    }
}

/// What a file is written in, by its first characters.
fn guess(beginning: &[u8]) -> Result<Format, Fault> {
    let start = beginning.trim_ascii_start();
    let holds = |text: &str| start.windows(text.len()).any(|window| window == text.as_bytes());
    match start.first() {
        Some(b'[' | b'{') => Ok(Format::Json),
        Some(b'<') if holds("camt.053") || holds("BkToCstmrStmt") => Ok(Format::Camt053),
        Some(b'<') if holds("<ENVELOPE") || holds("<TALLYMESSAGE") || holds("<VOUCHER") => Ok(Format::Tally),
        Some(b'<') => Err(Fault::whole("is XML, and neither camt.053 nor Tally's vouchers").settled_by("format")),
        Some(_) | None => Ok(Format::Csv),
    }
}

#[cfg(test)]
mod tests;
