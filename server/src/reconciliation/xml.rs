//! Bank statements (camt.053) and Tally's vouchers: one element at a time, without document types or entities of their own.

use std::collections::VecDeque;
use std::io::BufRead;

use guard::json::Json;
use guard::reconciliation::Format;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use rust_decimal::Decimal;

use super::plan::Plan;
use super::{Cell, Cells, Fault, RECORD_BYTES_MAX, Reader};

/// Elements nest at most this deep.
const NESTING_MAX: usize = 64;

/// An element with what is in it.
#[derive(Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    fn text(&self) -> Option<&str> {
        Some(self.text.trim()).filter(|text| !text.is_empty())
    }

    /// What stands at a path such as `Refs/EndToEndId`, or anywhere under a single name; the nearest first.
    fn find(&self, path: &str) -> Option<&str> {
        if let Some((_, value)) = self.attributes.iter().find(|(name, _)| name == path) {
            return Some(value.as_str()).filter(|value| !value.is_empty());
        }
        if path.contains('/') {
            return path.split('/').try_fold(self, |element, name| element.child(name))?.text();
        }
        let mut near: VecDeque<&Self> = self.children.iter().collect();
        while let Some(element) = near.pop_front() {
            if element.name == path {
                return element.text();
            }
            near.extend(&element.children);
        }
        None
    }

    fn descendants(&self, name: &str) -> Vec<&Self> {
        let mut found = Vec::new();
        let mut waiting: Vec<&Self> = vec![self];
        while let Some(element) = waiting.pop() {
            for child in &element.children {
                if child.name == name { found.push(child) } else { waiting.push(child) }
            }
        }
        found
    }
}

/// The records of a file.
pub(super) struct Elements<R> {
    reader: quick_xml::Reader<Lines<R>>,
    format: Format,
    places: Vec<Vec<String>>,
    buffer: Vec<u8>,
    open: usize,
    ready: VecDeque<Cells>,
}

/// Counts the lines of what passes.
struct Lines<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> std::io::Read for Lines<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(into)?;
        self.line += count_lines(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Lines<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let lines = self.input.fill_buf().map_or(0, |ready| count_lines(ready.get(..amount).unwrap_or_default()));
        self.line += lines;
        self.input.consume(amount);
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or_default()
}

impl<R: BufRead> Elements<R> {
    pub(super) fn open(plan: &Plan, input: R, format: Format) -> Self {
        Self {
            reader: quick_xml::Reader::from_reader(Lines { input, line: 1 }),
            format,
            places: plan.wanted().map(|wanted| wanted.names.clone()).collect(),
            buffer: Vec::new(),
            open: 0,
            ready: VecDeque::new(),
        }
    }

    fn line(&self) -> u64 {
        self.reader.get_ref().line
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::at(self.line(), message).last()
    }

    fn event(&mut self) -> Result<Event<'static>, Fault> {
        self.buffer.clear();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event.into_owned(),
            Err(quick_xml::Error::Io(error)) => return Err(Fault::of_io(&error).last()),
            Err(error) => return Err(self.fault(format!("is no XML that can be read: {error}"))),
        };
        if matches!(event, Event::DocType(_)) {
            let why = "has a document type, which is not taken: it could name files and addresses to read";
            return Err(self.fault(why));
        }
        Ok(event)
    }

    /// Reads an element to its end.
    fn element(&mut self, start: &BytesStart<'_>) -> Result<Element, Fault> {
        let mut stack = vec![self.opened(start)?];
        let mut bytes = 0_usize;
        loop {
            let event = self.event()?;
            bytes += self.buffer.len();
            if bytes > RECORD_BYTES_MAX {
                return Err(self.fault("a record has over 1,048,576 bytes"));
            }
            let text = match event {
                Event::Start(start) => {
                    if stack.len() + self.open >= NESTING_MAX {
                        return Err(self.fault("elements nest over 64 levels"));
                    }
                    stack.push(self.opened(&start)?);
                    continue;
                }
                Event::Empty(start) => {
                    let element = self.opened(&start)?;
                    if let Some(parent) = stack.last_mut() {
                        parent.children.push(element);
                    }
                    continue;
                }
                Event::End(_) => {
                    let Some(element) = stack.pop() else {
                        return Err(self.fault("an element ends that was not begun"));
                    };
                    match stack.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                    continue;
                }
                Event::Text(text) => text.xml10_content().into_owned(),
                Event::CData(text) => text.xml10_content().into_owned(),
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().map_err(|error| self.fault(error.to_string()))?;
                    let name = reference.xml10_content().into_owned();
                    match (character, resolve_predefined_entity(&name)) {
                        (Some(character), _) => character.to_string(),
                        (None, Some(text)) => text.to_owned(),
                        (None, None) => {
                            return Err(self.fault(format!("has the entity {name:?}, which nothing declares")));
                        }
                    }
                }
                Event::Eof => return Err(self.fault("ends inside of an element")),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => continue,
            };
            if let Some(element) = stack.last_mut() {
                element.text.push_str(&text);
            }
        }
    }

    fn opened(&self, start: &BytesStart<'_>) -> Result<Element, Fault> {
        let mut element = Element { name: start.local_name().as_ref().to_owned(), ..Element::default() };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.fault(error.to_string()))?;
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| self.fault(error.to_string()))?;
            element.attributes.push((attribute.key.local_name().as_ref().to_owned(), value.into_owned()));
        }
        Ok(element)
    }

    fn take(&mut self, line: u64, values: &dyn Fn(&str) -> Option<String>) {
        let cell = |names: &Vec<String>| {
            names.iter().find_map(|name| {
                let value = Json::String(values(name)?);
                Some(Cell { value, column: None, name: name.clone() })
            })
        };
        let values = self.places.iter().map(cell).collect();
        self.ready.push_back(Cells { line, values });
    }

    /// An entry of a statement: one record for each transaction in it, or one for itself.
    fn take_entry(&mut self, line: u64, entry: &Element) {
        let transactions = entry.descendants("TxDtls");
        if transactions.is_empty() {
            self.take(line, &|name| entry_value(entry, name));
            return;
        }
        let is_single = transactions.len() == 1;
        for transaction in transactions {
            self.take(line, &|name| transaction_value(entry, transaction, is_single, name));
        }
    }
}

/// The amount of an element with its currency.
fn amount_of(element: &Element) -> Option<&Element> {
    let instructed = || element.child("AmtDtls")?.child("TxAmt")?.child("Amt");
    element.child("Amt").or_else(instructed)
}

fn entry_value(entry: &Element, name: &str) -> Option<String> {
    match name {
        "Amt" => amount_of(entry)?.text().map(ToOwned::to_owned),
        "SignedAmt" => signed(entry.find("CdtDbtInd"), amount_of(entry)?.text()?),
        "Ccy" => amount_of(entry)?.find("Ccy").map(ToOwned::to_owned),
        "BookgDt" | "ValDt" => {
            let date = entry.child(name)?;
            date.text().or_else(|| date.find("Dt")).or_else(|| date.find("DtTm")).map(ToOwned::to_owned)
        }
        // What banks write where there is none is none.
        "EndToEndId" => entry.find(name).filter(|id| *id != "NOTPROVIDED").map(ToOwned::to_owned),
        _ => entry.find(name).map(ToOwned::to_owned),
    }
}

fn transaction_value(entry: &Element, transaction: &Element, is_single: bool, name: &str) -> Option<String> {
    let own = match name {
        "SignedAmt" => {
            let direction = transaction.find("CdtDbtInd").or_else(|| entry.find("CdtDbtInd"));
            amount_of(transaction).and_then(Element::text).and_then(|amount| signed(direction, amount))
        }
        _ => entry_value(transaction, name),
    };
    // The entry's own reference and amount are those of all its transactions together.
    let is_shared = matches!(name, "AcctSvcrRef" | "NtryRef" | "Amt" | "SignedAmt" | "EndToEndId");
    own.or_else(|| if is_single || !is_shared { entry_value(entry, name) } else { None })
}

/// Money that leaves the account is negative.
fn signed(direction: Option<&str>, amount: &str) -> Option<String> {
    match direction {
        Some("DBIT") => Some(format!("-{amount}")),
        Some("CRDT") => Some(amount.to_owned()),
        Some(_) | None => None,
    }
}

fn voucher_value(voucher: &Element, name: &str) -> Option<String> {
    match name {
        "AMOUNT" => voucher_amount(voucher),
        "CURRENCY" => voucher.find("CURRENCY").map(|sign| if sign == "₹" { "INR" } else { sign }.to_owned()),
        _ => voucher
            .attributes
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
            .or_else(|| voucher.child(name)?.text().map(ToOwned::to_owned))
            .or_else(|| voucher.find(name).map(ToOwned::to_owned)),
    }
}

/// What a voucher moves: its own amount, or the sum of what its ledgers are debited with.
fn voucher_amount(voucher: &Element) -> Option<String> {
    if let Some(own) = voucher.child("AMOUNT") {
        return own.text().or_else(|| own.find("AMOUNT")).map(ToOwned::to_owned);
    }
    let ledgers = voucher.children.iter().filter(|child| child.name.ends_with("LEDGERENTRIES.LIST"));
    let mut debited: Option<Decimal> = None;
    for ledger in ledgers {
        let Some(amount) = ledger.child("AMOUNT") else { continue };
        let number = amount.text().or_else(|| amount.find("AMOUNT"))?;
        let number: Decimal = number.parse().ok()?;
        let is_debit =
            number.is_sign_negative() || amount.find("ISDEBIT").is_some_and(|flag| flag == "true" || flag == "Yes");
        if is_debit {
            debited = Some(debited.unwrap_or_default().checked_add(number.abs())?);
        }
    }
    debited.map(|sum| sum.to_string())
}

impl<R: BufRead> Reader for Elements<R> {
    fn next(&mut self) -> Result<Option<Cells>, Fault> {
        loop {
            if let Some(cells) = self.ready.pop_front() {
                return Ok(Some(cells));
            }
            match self.event()? {
                Event::Start(start) => {
                    let line = self.line();
                    let name = start.local_name().as_ref().to_owned();
                    match (self.format, name.as_str()) {
                        (Format::Camt053, "Ntry") => {
                            let entry = self.element(&start)?;
                            self.take_entry(line, &entry);
                        }
                        (Format::Tally, "VOUCHER") => {
                            let voucher = self.element(&start)?;
                            self.take(line, &|name| voucher_value(&voucher, name));
                        }
                        _ => {
                            self.open += 1;
                            if self.open >= NESTING_MAX {
                                return Err(self.fault("elements nest over 64 levels"));
                            }
                        }
                    }
                }
                Event::End(_) => self.open = self.open.saturating_sub(1),
                Event::Eof if self.open > 0 => return Err(self.fault("ends inside of an element")),
                Event::Eof => return Ok(None),
                Event::Empty(_)
                | Event::Text(_)
                | Event::CData(_)
                | Event::GeneralRef(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::Comment(_)
                | Event::DocType(_) => {}
            }
        }
    }
}
