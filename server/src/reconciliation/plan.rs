//! Which column holds what, and what is made of it.

use std::sync::atomic::{AtomicBool, Ordering};

use guard::destination::Destination;
use guard::json::Json;
use guard::reconciliation::{Format, Mapping, RECORD_TEXT_CHARACTERS_MAX, Record, minor_digits};
use guard::workflow::{Comparison, Workflow};
use rust_decimal::Decimal;

use super::{Cell, Cells, Fault, date, number};

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    DestinationReference,
    ExternalReference,
    Document,
    SourceSystem,
    Amount,
    Currency,
    Date,
    Status,
    /// A key field of the workflow, by its index.
    Key(usize, Comparison),
}

/// A value that is asked for.
pub(super) struct Wanted {
    field: Field,
    /// The names under which it is looked for; the first that is there counts.
    pub(super) names: Vec<String>,
    /// Whether somebody named the column: it must then be there.
    is_told: bool,
}

/// What is read of each record.
pub struct Plan {
    pub(super) mapping: Mapping,
    wanted: Vec<Wanted>,
    void_values: Vec<String>,
    key_fields: usize,
    /// Whether a point can only be a decimal point: the file's commas are its delimiters, or it is no table.
    is_point_likely: AtomicBool,
}

impl Plan {
    /// The plan of a workflow with this mapping: what it does not name is looked for under its own name, where the destination's lookup
    /// finds it, and where the format has it.
    pub fn of(workflow: &Workflow, destination: Option<&Destination>, mapping: Mapping) -> Self {
        let lookup = destination.and_then(|destination| destination.lookup.as_ref());
        let record_of = |place: Option<&guard::pointer::Pointer>| {
            let field = workflow.key_fields.iter().find(|field| Some(&field.payload) == place);
            field.map(|field| field.record.clone())
        };
        let fixed = [
            (
                Field::DestinationReference,
                "destination_reference",
                lookup.map(|lookup| lookup.reference.clone()),
                &["AcctSvcrRef", "REMOTEID", "GUID"][..],
            ),
            (
                Field::ExternalReference,
                "external_reference",
                lookup.map(|lookup| lookup.external_reference.clone()),
                &["EndToEndId", "REFERENCE"][..],
            ),
            (Field::Document, "document", None, &["VOUCHERNUMBER", "NtryRef"][..]),
            (Field::SourceSystem, "source_system", None, &[][..]),
            (Field::Amount, "amount", record_of(workflow.amount.as_ref()), &["Amt", "AMOUNT"][..]),
            (Field::Currency, "currency", record_of(workflow.currency.as_ref()), &["Ccy", "CURRENCY"][..]),
            (Field::Date, "date", None, &["BookgDt", "DATE"][..]),
            (
                Field::Status,
                "status",
                lookup.and_then(|lookup| Some(lookup.void.as_ref()?.path.clone())),
                &["ISCANCELLED"][..],
            ),
        ];
        let mut wanted = Vec::new();
        for (field, name, at_destination, by_format) in fixed {
            if let Some(told) = mapping.column(name) {
                // An empty name maps the field to nothing.
                if !told.is_empty() {
                    wanted.push(Wanted { field, names: vec![told.to_owned()], is_told: true });
                }
                continue;
            }
            let mut names = vec![name.to_owned()];
            names.extend(at_destination.into_iter().flat_map(|path| [short(&path).to_owned(), path]));
            names.extend(by_format.iter().map(|name| (*name).to_owned()));
            names.dedup();
            wanted.push(Wanted { field, names, is_told: false });
        }
        for (index, field) in workflow.key_fields.iter().enumerate() {
            let place = field.payload.to_string();
            let told = mapping.column(&place).filter(|told| !told.is_empty());
            let is_money =
                Some(&field.payload) == workflow.amount.as_ref() || Some(&field.payload) == workflow.currency.as_ref();
            if is_money {
                // Read once, as money.
                continue;
            }
            let names = told.map_or_else(
                || {
                    vec![
                        short(&field.record).to_owned(),
                        field.record.clone(),
                        place.trim_start_matches('/').to_owned(),
                    ]
                },
                |told| vec![told.to_owned()],
            );
            wanted.push(Wanted { field: Field::Key(index, field.compare), names, is_told: told.is_some() });
        }
        let of_lookup = lookup.and_then(|lookup| lookup.void.as_ref()).map(|void| void.values.clone());
        let void_values = if mapping.void_values.is_empty() {
            of_lookup.unwrap_or_else(|| ["Yes", "true"].map(ToOwned::to_owned).to_vec())
        } else {
            mapping.void_values.clone()
        };
        let key_fields = workflow.key_fields.len();
        Self { mapping, wanted, void_values, key_fields, is_point_likely: AtomicBool::new(true) }
    }

    pub(super) fn wanted(&self) -> impl Iterator<Item = &Wanted> {
        self.wanted.iter()
    }

    /// A table's delimiter was found.
    pub(super) fn note_delimiter(&self, delimiter: u8) {
        self.is_point_likely.store(delimiter == b',', Ordering::Relaxed);
    }

    /// The column of each value in a header: by its name, with case folded where that is clear.
    pub(super) fn columns(&self, header: &[String]) -> Result<Vec<Option<usize>>, Fault> {
        let find = |name: &String| {
            let exact = header.iter().position(|known| known == name);
            exact.or_else(|| header.iter().position(|known| known.eq_ignore_ascii_case(name)))
        };
        let mut places = Vec::with_capacity(self.wanted.len());
        for wanted in &self.wanted {
            let place = wanted.names.iter().find_map(find);
            if let (None, true, Some(name)) = (place, wanted.is_told, wanted.names.first()) {
                let there = header.join(", ");
                let message = format!("the column {name:?} is missing; there are: {there}");
                return Err(Fault { line: Some(1), ..Fault::whole(message) });
            }
            places.push(place);
        }
        let has = |field: Field| {
            self.wanted.iter().zip(&places).any(|(wanted, place)| wanted.field == field && place.is_some())
        };
        if !has(Field::DestinationReference) && !has(Field::ExternalReference) {
            let message = format!(
                "no column holds the destination reference or the external reference; name one with \
                 map.destination_reference or map.external_reference. There are: {}",
                header.join(", ")
            );
            return Err(Fault { line: Some(1), ..Fault::whole(message) });
        }
        Ok(places)
    }

    /// What a record's values mean.
    pub(super) fn record(&self, cells: &Cells, format: Format) -> Result<(Record, Vec<String>), Vec<Fault>> {
        let mut record = Record { line: cells.line, key_fields: vec![None; self.key_fields], ..Record::default() };
        let (mut faults, mut warnings) = (Vec::new(), Vec::new());
        let mut amount = None;
        for (wanted, cell) in self.wanted.iter().zip(&cells.values) {
            let Some(cell) = cell else { continue };
            let taken = match wanted.field {
                Field::DestinationReference => {
                    text(cells.line, cell, &mut warnings).map(|text| record.destination_reference = text)
                }
                Field::ExternalReference => {
                    text(cells.line, cell, &mut warnings).map(|text| record.external_reference = text)
                }
                Field::Document => text(cells.line, cell, &mut warnings).map(|text| record.document = text),
                Field::SourceSystem => text(cells.line, cell, &mut Vec::new()).map(|text| record.source_system = text),
                Field::Currency => text(cells.line, cell, &mut Vec::new()).map(|text| record.currency = text),
                Field::Status => {
                    let status = scalar(&cell.value);
                    record.is_void =
                        status.is_some_and(|status| self.void_values.iter().any(|value| value == status.trim()));
                    Ok(())
                }
                Field::Date => self.day(cells.line, cell).map(|day| record.date = day),
                Field::Amount => self.number(cells.line, cell, format).map(|number| amount = Some((number, cell))),
                Field::Key(index, compare) => self.key_field(cells.line, cell, compare, format).map(|value| {
                    if let Some(place) = record.key_fields.get_mut(index) {
                        *place = value;
                    }
                }),
            };
            faults.extend(taken.err());
        }
        if record.currency.is_none() {
            record.currency.clone_from(&self.mapping.every_currency);
        }
        if let Some((number, cell)) = amount {
            match self.money(cells.line, cell, &number, record.currency.as_deref()) {
                Ok(amount) => record.amount = amount,
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok((record, warnings)) } else { Err(faults) }
    }

    fn day(&self, line: u64, cell: &Cell) -> Result<Option<chrono::NaiveDate>, Fault> {
        let Some(text) = scalar(&cell.value).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        date::day(&text, self.mapping.date_format.as_deref())
            .map(Some)
            .map_err(|message| Fault::at(line, message).in_column(cell.column, &cell.name).settled_by("date_format"))
    }

    /// A number in plain digits.
    fn number(&self, line: u64, cell: &Cell, format: Format) -> Result<String, Fault> {
        let place = |message: String| Fault::at(line, message).in_column(cell.column, &cell.name);
        match &cell.value {
            Json::Number(number) => {
                number.plain(28).ok_or_else(|| place(format!("{} has more digits than an amount", number.as_written())))
            }
            Json::String(text) => {
                let is_point_likely = format != Format::Csv || self.is_point_likely.load(Ordering::Relaxed);
                number::plain(text, self.mapping.decimal, is_point_likely)
                    .map_err(|fault| Fault { parameter: fault.parameter, ..place(fault.message) })
            }
            other @ (Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_)) => {
                Err(place(format!("is {}; an amount is needed", other.kind())))
            }
        }
    }

    fn money(&self, line: u64, cell: &Cell, number: &str, currency: Option<&str>) -> Result<Option<Decimal>, Fault> {
        let place = |message: String| Fault::at(line, message).in_column(cell.column, &cell.name);
        let exact =
            Decimal::from_str_exact(number).map_err(|_| place(format!("{number} has more digits than are kept")))?;
        if !self.mapping.minor_units {
            return Ok(Some(exact));
        }
        let Some(currency) = currency else {
            let message = "is in the smallest unit of a currency that nothing names".to_owned();
            return Err(place(message).settled_by("every_currency"));
        };
        if !exact.fract().is_zero() {
            return Err(place(format!("{number} is no whole number of the smallest unit")).settled_by("minor_units"));
        }
        // Of a currency that is not known nothing is assumed: that is a finding.
        let Some(digits) = minor_digits(currency) else { return Ok(None) };
        let whole = exact.trunc();
        let scale = Decimal::from(10_u64.checked_pow(digits).unwrap_or(1));
        Ok(whole.checked_div(scale))
    }

    fn key_field(&self, line: u64, cell: &Cell, compare: Comparison, format: Format) -> Result<Option<Json>, Fault> {
        let is_empty = scalar(&cell.value).is_some_and(|text| text.trim().is_empty());
        if is_empty {
            return Ok(None);
        }
        Ok(Some(match compare {
            Comparison::Decimal => Json::String(self.number(line, cell, format)?),
            Comparison::Date => match self.day(line, cell)? {
                Some(day) => Json::String(day.to_string()),
                None => return Ok(None),
            },
            Comparison::Exact | Comparison::Text => cell.value.clone(),
        }))
    }
}

/// The last name of a plain path: `$.id` is `id`.
fn short(path: &str) -> &str {
    path.strip_prefix("$.")
        .filter(|rest| !rest.contains(['[', '(', '?', '*']))
        .map_or(path, |rest| rest.rsplit('.').next().unwrap_or(rest))
}

fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.as_written().to_owned()),
        Json::Bool(truth) => Some(truth.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// A reference or a name: as it stands, without white space around it.
fn text(line: u64, cell: &Cell, warnings: &mut Vec<String>) -> Result<Option<String>, Fault> {
    let place = |message: &str| Fault::at(line, message).in_column(cell.column, &cell.name);
    let Some(text) = scalar(&cell.value) else { return Err(place("is a list or an object; a text is needed")) };
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err(place("holds a control character"));
    }
    if text.chars().count() > RECORD_TEXT_CHARACTERS_MAX {
        return Err(place("has over 1,000 characters"));
    }
    if is_rounded(text) {
        let column = cell.column.map_or_else(String::new, |column| format!(", column {column}"));
        let warning = format!(
            "line {line}{column} ({}): {text} looks like a long number that a spreadsheet has rounded; its digits are lost",
            cell.name
        );
        // One column may hold both the reference and the document's number.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Whether a text looks like what spreadsheets make of long numbers: `1.23457E+19`.
fn is_rounded(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once("E+") else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(exponent)
        && mantissa
            .split_once(['.', ','])
            .map_or_else(|| digits(mantissa), |(whole, rest)| digits(whole) && digits(rest))
}
