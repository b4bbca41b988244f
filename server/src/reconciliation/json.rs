//! JSON arrays: item by item, with every digit of their numbers.

use std::io::BufRead;

use guard::json::{Json, NESTING_MAX};
use guard::pointer::Pointer;
use serde_json_path::JsonPath;

use super::plan::Plan;
use super::{Cell, Cells, Fault, RECORD_BYTES_MAX, Reader};
use crate::destination::read::Answer;

/// Where a value stands in an item.
enum Step {
    Member(String),
    Pointer(Pointer),
    Path(Box<JsonPath>),
}

/// The items of an array.
pub(super) struct Items<R> {
    input: R,
    /// The names under which each value is looked for; the first that is there counts.
    places: Vec<Vec<(String, Step)>>,
    line: u64,
    column: u64,
    number: u64,
    is_begun: bool,
    is_over: bool,
}

impl<R: BufRead> Items<R> {
    pub(super) fn open(plan: &Plan, input: R) -> Self {
        let steps = |names: &[String]| names.iter().map(|name| (name.clone(), step(name))).collect();
        let places = plan.wanted().map(|wanted| steps(&wanted.names)).collect();
        Self { input, places, line: 1, column: 1, number: 0, is_begun: false, is_over: false }
    }

    fn fault(&self, message: &str) -> Fault {
        Fault::at(self.line, message).in_column(Some(self.column), "body").last()
    }

    fn peek(&mut self) -> Result<Option<u8>, Fault> {
        let ready = self.input.fill_buf().map_err(|error| Fault::of_io(&error))?;
        Ok(ready.first().copied())
    }

    fn skip(&mut self, byte: u8) {
        self.input.consume(1);
        if byte == b'\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
    }

    fn skip_white_space(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            match self.peek()? {
                Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) => self.skip(byte),
                other => return Ok(other),
            }
        }
    }

    /// The bytes of the item that begins here.
    fn item(&mut self) -> Result<Vec<u8>, Fault> {
        let mut item = Vec::new();
        let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
        loop {
            let Some(byte) = self.peek()? else { return Err(self.fault("the text ends too early")) };
            if !is_text && depth == 0 && matches!(byte, b',' | b']') {
                return Ok(item);
            }
            match (is_text, byte) {
                (true, _) if is_escaped => is_escaped = false,
                (true, b'\\') => is_escaped = true,
                (true, b'"') => is_text = false,
                (false, b'"') => is_text = true,
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') => depth = depth.saturating_sub(1),
                (true | false, _) => {}
            }
            if item.len() == RECORD_BYTES_MAX {
                return Err(self.fault("a record has over 1,048,576 bytes"));
            }
            item.push(byte);
            self.skip(byte);
        }
    }
}

fn step(name: &str) -> Step {
    if let Ok(pointer) = name.parse::<Pointer>()
        && name.starts_with('/')
    {
        return Step::Pointer(pointer);
    }
    match name.strip_prefix("$.").map(|rest| (rest, rest.split('.').collect::<Vec<_>>())) {
        // The plain paths, without a twin of the whole item.
        Some((_, names)) if names.iter().all(|name| is_plain(name)) => {
            format!("/{}", names.join("/")).parse().map_or_else(|_| Step::Member(name.to_owned()), Step::Pointer)
        }
        _ if name.starts_with('$') => {
            JsonPath::parse(name).map_or_else(|_| Step::Member(name.to_owned()), |path| Step::Path(Box::new(path)))
        }
        _ => Step::Member(name.to_owned()),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.bytes().all(|byte| byte.is_ascii_digit())
}

fn find(item: &Json, step: &Step) -> Option<Json> {
    let found = match step {
        Step::Member(name) => item.member(name).cloned(),
        Step::Pointer(pointer) => pointer.find(item).cloned(),
        Step::Path(path) => {
            let answer = Answer::of(item.clone());
            let selected = answer.select(path);
            match selected.as_slice() {
                [only] => Some((*only).clone()),
                [] | [..] => None,
            }
        }
    };
    found.filter(|value| *value != Json::Null)
}

impl<R: BufRead> Reader for Items<R> {
    fn next(&mut self) -> Result<Option<Cells>, Fault> {
        if self.is_over {
            return Ok(None);
        }
        if !self.is_begun {
            self.is_begun = true;
            match self.skip_white_space()? {
                Some(b'[') => self.skip(b'['),
                Some(_) | None => return Err(self.fault("is no JSON array; send the records as one array of objects")),
            }
            if self.skip_white_space()? == Some(b']') {
                return self.end();
            }
        } else {
            match self.skip_white_space()? {
                Some(b',') => self.skip(b','),
                Some(b']') => return self.end(),
                Some(_) | None => return Err(self.fault("a comma or the end of the array is missing")),
            }
        }
        self.skip_white_space()?;
        let (line, column) = (self.line, self.column);
        let bytes = self.item()?;
        self.number += 1;
        let item = Json::parse_nested(&bytes, NESTING_MAX).map_err(|error| {
            let at = error.line as u64;
            let column = if at == 1 { column + error.column as u64 - 1 } else { error.column as u64 };
            Fault::at(line + at - 1, error.fault.to_string()).in_column(Some(column), "body").last()
        })?;
        if !matches!(item, Json::Object(_)) {
            return Err(
                Fault::at(line, format!("record {} is {}; an object is needed", self.number, item.kind())).last()
            );
        }
        let cell = |steps: &Vec<(String, Step)>| {
            let found = steps.iter().find_map(|(name, step)| Some((name, find(&item, step)?)));
            found.map(|(name, value)| Cell { value, column: None, name: name.clone() })
        };
        Ok(Some(Cells { line, values: self.places.iter().map(cell).collect() }))
    }
}

impl<R: BufRead> Items<R> {
    fn end(&mut self) -> Result<Option<Cells>, Fault> {
        self.skip(b']');
        self.is_over = true;
        match self.skip_white_space()? {
            None => Ok(None),
            Some(_) => Err(self.fault("something follows after the array")),
        }
    }
}
