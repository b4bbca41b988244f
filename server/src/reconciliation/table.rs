//! Tables of separated values.

use std::collections::VecDeque;
use std::io::{self, BufRead, Cursor, Read};

use guard::json::Json;
use guard::reconciliation::delimiter;

use super::plan::Plan;
use super::{Cell, Cells, Fault, RECORD_BYTES_MAX, Reader};

/// What may stand between columns, where nobody says it.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table may have so many columns.
const COLUMNS_MAX: usize = 2_000;

/// A table, behind its header.
pub(super) struct Table<R> {
    reader: csv::Reader<Watched<R>>,
    header: Vec<String>,
    /// The column of each value that the plan asks for.
    places: Vec<Option<usize>>,
    record: csv::StringRecord,
    /// A line that says the delimiter stands before the header, and is not counted by the reader.
    lines_before: u64,
}

type Input<R> = io::Chain<Cursor<Vec<u8>>, R>;

impl<R: BufRead> Table<Input<R>> {
    pub(super) fn open(plan: &Plan, mut input: R) -> Result<Self, Fault> {
        let beginning = input.fill_buf().map_err(|error| Fault::of_io(&error))?;
        let mut start = beginning.to_vec();
        let length = start.len();
        input.consume(length);
        let told = separator_line(&start);
        let mut lines_before = 0;
        if let Some((_, end)) = told {
            start.drain(..end);
            lines_before = 1;
        }
        let declared = plan.mapping.delimiter.as_deref().and_then(delimiter);
        let delimiter = declared.or(told.map(|(byte, _)| byte)).map_or_else(|| detect(&start), Ok)?;
        let watched = Watched::new(Cursor::new(start).chain(input), delimiter, lines_before);
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(watched);
        let mut record = csv::StringRecord::new();
        let has_header = reader.read_record(&mut record).map_err(|error| fault(&error, lines_before))?;
        if !has_header {
            return Err(Fault::whole("the file is empty"));
        }
        let header: Vec<String> = record.iter().map(|name| name.trim().to_owned()).collect();
        if header.len() > COLUMNS_MAX {
            return Err(Fault::whole(format!("the file has over {COLUMNS_MAX} columns")));
        }
        let twice = header.iter().enumerate().find(|(at, name)| {
            header.get(..*at).is_some_and(|before| before.iter().any(|known| known.eq_ignore_ascii_case(name)))
        });
        if let Some((at, name)) = twice {
            let column = u64::try_from(at + 1).ok();
            return Err(Fault::at(1 + lines_before, "stands twice in the header").in_column(column, name).last());
        }
        let places = plan.columns(&header)?;
        plan.note_delimiter(delimiter);
        Ok(Self { reader, header, places, record, lines_before })
    }
}

impl<R: Read> Reader for Table<R> {
    fn next(&mut self) -> Result<Option<Cells>, Fault> {
        let is_there = self.reader.read_record(&mut self.record).map_err(|error| fault(&error, self.lines_before))?;
        if !is_there {
            return Ok(None);
        }
        let line = self.reader.get_mut().line_of(self.record.position().map_or(0, csv::Position::byte));
        if self.record.len() != self.header.len() {
            let message = format!("has {} columns, and the header has {}", self.record.len(), self.header.len());
            return Err(Fault::at(line, message));
        }
        for (at, text) in self.record.iter().enumerate() {
            if text.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\r' | '\n')) {
                let name = self.header.get(at).map_or("", String::as_str);
                return Err(Fault::at(line, "holds a control character").in_column(u64::try_from(at + 1).ok(), name));
            }
        }
        let cell = |place: &Option<usize>| {
            let at = (*place)?;
            let value = Json::String(super::export::original(self.record.get(at)?).to_owned());
            Some(Cell { value, column: u64::try_from(at + 1).ok(), name: self.header.get(at)?.clone() })
        };
        Ok(Some(Cells { line, values: self.places.iter().map(cell).collect() }))
    }
}

fn fault(error: &csv::Error, lines_before: u64) -> Fault {
    if let csv::ErrorKind::Io(error) = error.kind() {
        return Fault::of_io(error).last();
    }
    let line = error.position().map_or(0, csv::Position::line) + lines_before;
    Fault::at(line, error.to_string()).last()
}

/// A first line `sep=;`, as spreadsheets write it: what it says, and where it ends.
fn separator_line(start: &[u8]) -> Option<(u8, usize)> {
    let rest = start.get(..4).filter(|word| word.eq_ignore_ascii_case(b"sep=")).and(start.get(4..))?;
    let (byte, rest) = rest.split_first()?;
    let end = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    Some((*byte, 5 + end))
}

/// The delimiter, by the header: the only one that stands there outside of quotes.
fn detect(start: &[u8]) -> Result<u8, Fault> {
    let mut is_quoted = false;
    let mut found: Vec<u8> = Vec::new();
    for byte in start.trim_ascii_start() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\r' | b'\n' if !is_quoted => break,
            byte if !is_quoted && DELIMITERS.contains(byte) && !found.contains(byte) => found.push(*byte),
            _ => {}
        }
    }
    match found.as_slice() {
        [] => Ok(b','),
        [only] => Ok(*only),
        [..] => Err(Fault::at(1, "may be separated by more than one character").settled_by("delimiter").last()),
    }
}

/// Where the watcher is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    FieldStart,
    Unquoted,
    Quoted,
    QuoteInQuoted,
}

/// Watches what is read: a quote that is never closed would swallow the rest of the file, and a record without an end the memory.
struct Watched<R> {
    input: R,
    delimiter: u8,
    place: Place,
    line: u64,
    opened_at: u64,
    record_bytes: usize,
    /// How many bytes were read.
    bytes: u64,
    /// Whether the last one was a carriage return: a line feed behind it ends no second line.
    is_after_return: bool,
    /// Whether the next byte that ends no line starts a record.
    is_between: bool,
    /// Where the records start that were read ahead: the place of the byte, and the line. The CSV reader counts the line feed behind a
    /// carriage return to the record after it, and so its line as the one before.
    starts: VecDeque<(u64, u64)>,
}

impl<R: Read> Watched<R> {
    const fn new(input: R, delimiter: u8, lines_before: u64) -> Self {
        let (place, line) = (Place::FieldStart, lines_before + 1);
        Self {
            input,
            delimiter,
            place,
            line,
            opened_at: 0,
            record_bytes: 0,
            bytes: 0,
            is_after_return: false,
            is_between: true,
            starts: VecDeque::new(),
        }
    }

    /// The line of the first record that starts at a byte or behind it; those before are forgotten.
    fn line_of(&mut self, byte: u64) -> u64 {
        while self.starts.front().is_some_and(|(start, _)| *start < byte) {
            self.starts.pop_front();
        }
        self.starts.front().map_or(self.line, |(_, line)| *line)
    }

    fn watch(&mut self, byte: u8) {
        self.record_bytes += 1;
        let ends_line = matches!(byte, b'\r' | b'\n');
        if self.is_between && !ends_line {
            self.starts.push_back((self.bytes, self.line));
            self.is_between = false;
        }
        self.bytes += 1;
        self.line += u64::from(ends_line && !(byte == b'\n' && self.is_after_return));
        self.is_after_return = byte == b'\r';
        self.place = match (self.place, byte) {
            (Place::FieldStart, b'"') => {
                self.opened_at = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::QuoteInQuoted,
            (Place::Quoted, _) | (Place::QuoteInQuoted, b'"') => Place::Quoted,
            (_, b'\r' | b'\n') => {
                self.record_bytes = 0;
                self.is_between = true;
                Place::FieldStart
            }
            (_, byte) if byte == self.delimiter => Place::FieldStart,
            _ => Place::Unquoted,
        };
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        if read == 0 && self.place == Place::Quoted && !into.is_empty() {
            let message = "a quote is opened and never closed";
            return Err(Fault::at(self.opened_at, message).last().into_io());
        }
        for byte in into.get(..read).unwrap_or_default() {
            self.watch(*byte);
        }
        if self.record_bytes > RECORD_BYTES_MAX {
            let message = format!("a record has over {RECORD_BYTES_MAX} bytes; a quote may be missing");
            return Err(Fault::at(self.line, message).last().into_io());
        }
        Ok(read)
    }
}
