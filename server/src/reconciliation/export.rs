//! The rows of a report as CSV and JSON.

use guard::reconciliation::{Disagreement, Row};
use serde_json::{Value, json};

/// The columns of the CSV.
pub const COLUMNS: [&str; 19] = [
    "number",
    "bucket",
    "together",
    "operation",
    "source_system",
    "document",
    "revision",
    "state",
    "source_amount",
    "source_currency",
    "line",
    "destination_reference",
    "external_reference",
    "record_document",
    "record_date",
    "record_amount",
    "record_currency",
    "differences",
    "notes",
];

/// What starts a formula in a spreadsheet; the last is the full-width equals sign.
const FORMULA_STARTS: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}'];

/// A text for a table: one that a spreadsheet would take for a formula gets an apostrophe before it. So does one that starts with an
/// apostrophe, so that [`original`] gives every text back.
pub fn neutral(text: &str) -> String {
    let starts = text.chars().next().is_some_and(|first| first == '\'' || FORMULA_STARTS.contains(&first));
    if starts && text.parse::<rust_decimal::Decimal>().is_err() { format!("'{text}") } else { text.to_owned() }
}

/// The text of a cell without the apostrophe that [`neutral`] put before it.
pub fn original(text: &str) -> &str {
    let rest = text.strip_prefix('\'');
    rest.filter(|rest| rest.starts_with(|first| first == '\'' || FORMULA_STARTS.contains(&first))).unwrap_or(text)
}

/// The columns' names as a line of the CSV.
pub fn header() -> String {
    line(COLUMNS.map(ToOwned::to_owned).to_vec())
}

/// A row as a line of the CSV: amounts are numbers, texts are neutral.
pub fn csv(row: &Row) -> String {
    let text = |text: Option<&str>| text.map(neutral).unwrap_or_default();
    let (operation, record) = (row.operation.as_ref(), row.record.as_ref());
    let about = operation.map(|side| side.operation).or_else(|| record?.about);
    line(vec![
        row.number.to_string(),
        row.bucket.as_str().to_owned(),
        row.together.to_string(),
        about.map(|id| id.to_string()).unwrap_or_default(),
        text(operation.map(|side| side.source_system.as_str()).or_else(|| record?.source_system.as_deref())),
        text(operation.map(|side| side.document.as_str())),
        operation.map(|side| side.revision.to_string()).unwrap_or_default(),
        operation.map(|side| side.state.as_str().to_owned()).unwrap_or_default(),
        operation.and_then(|side| side.amount).map(|amount| amount.to_string()).unwrap_or_default(),
        text(operation.and_then(|side| side.currency.as_deref())),
        record.map(|side| side.line.to_string()).unwrap_or_default(),
        text(record.and_then(|side| side.destination_reference.as_deref())),
        text(record.and_then(|side| side.external_reference.as_deref())),
        text(record.and_then(|side| side.document.as_deref())),
        record.and_then(|side| side.date).map(|date| date.to_string()).unwrap_or_default(),
        record.and_then(|side| side.amount).map(|amount| amount.to_string()).unwrap_or_default(),
        text(record.and_then(|side| side.currency.as_deref())),
        neutral(&row.disagreements.iter().map(difference).collect::<Vec<_>>().join("; ")),
        row.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    ])
}

fn line(cells: Vec<String>) -> String {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // A vector takes whatever is written into it.
    let written = writer.write_record(&cells).is_ok();
    let bytes = writer.into_inner().unwrap_or_default();
    if written { String::from_utf8(bytes).unwrap_or_default() } else { String::new() }
}

/// In what both sides disagree, in words.
pub fn difference(disagreement: &Disagreement) -> String {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{}: {} here, {} there", disagreement.field, side(&disagreement.ours), side(&disagreement.theirs))
}

/// A row as JSON: amounts are exact texts.
pub fn json(row: &Row) -> Value {
    let operation = row.operation.as_ref().map(|side| {
        json!({
            "id": side.operation.to_string(),
            "source_system": side.source_system,
            "document": side.document,
            "revision": side.revision,
            "state": side.state.as_str(),
            "amount": side.amount.map(|amount| amount.to_string()),
            "currency": side.currency,
        })
    });
    let record = row.record.as_ref().map(|side| {
        json!({
            "line": side.line,
            "destination_reference": side.destination_reference,
            "external_reference": side.external_reference,
            "document": side.document,
            "source_system": side.source_system,
            "amount": side.amount.map(|amount| amount.to_string()),
            "currency": side.currency,
            "date": side.date.map(|date| date.to_string()),
            "operation_id": side.about.map(|id| id.to_string()),
        })
    });
    let differences: Vec<Value> = row
        .disagreements
        .iter()
        .map(|one| json!({"field": one.field, "source": one.ours, "destination": one.theirs}))
        .collect();
    let candidates: Vec<Value> = row
        .candidates
        .iter()
        .map(|one| json!({"operation_id": one.operation.to_string(), "document": one.document, "same_fields": one.same_fields}))
        .collect();
    json!({
        "number": row.number,
        "bucket": row.bucket.as_str(),
        "together": row.together,
        "operation": operation,
        "record": record,
        "differences": differences,
        "notes": row.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "candidates": candidates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_formula_and_every_text_comes_back() {
        for text in ["=1+2", "+1+2", "@SUM(1)", "-2+3", "\t=1+2", "\r=1+2", "\u{ff1d}1+2", "--x", "'=1", "''", "'"] {
            let cell = neutral(text);
            assert!(cell.starts_with('\''), "{text:?}");
            assert_eq!(original(&cell), text);
        }
        for text in ["-5.00", "INV-1", "O'Brien", "", "'s"] {
            assert_eq!(original(&neutral(text)), text);
        }
        assert_eq!(neutral("-5.00"), "-5.00", "a number is none");
    }
}
