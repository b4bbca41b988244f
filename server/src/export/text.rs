//! Rows as CSV (RFC 4180) and as JSON.

use guard::clock::{Timestamp, rfc3339};

use super::Cell;

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Json,
}

impl Format {
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Csv, Self::Json].into_iter().find(|format| format.as_str() == name)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
        }
    }

    /// What stands before the rows.
    pub(super) fn head(self, list: &str, query: &str, at: Timestamp, columns: &[&str]) -> String {
        match self {
            Self::Csv => columns.join(",") + "\r\n",
            Self::Json => format!(
                "{{\"list\":{},\"query\":{},\"exported_at\":\"{}\",\"rows\":[",
                quoted(list),
                quoted(query),
                rfc3339(at)
            ),
        }
    }

    /// Rows, behind others unless they are the first.
    pub(super) fn rows(self, columns: &[&str], rows: &[Vec<Cell>], are_first: bool) -> String {
        let mut text = String::new();
        for (place, row) in rows.iter().enumerate() {
            match self {
                Self::Csv => {
                    let cells: Vec<String> = row.iter().map(csv_cell).collect();
                    text.push_str(&cells.join(","));
                    text.push_str("\r\n");
                }
                Self::Json => {
                    text.push_str(if are_first && place == 0 { "\n{" } else { ",\n{" });
                    let members: Vec<String> =
                        columns.iter().zip(row).map(|(name, cell)| format!("\"{name}\":{}", json_cell(cell))).collect();
                    text.push_str(&members.join(","));
                    text.push('}');
                }
            }
        }
        text
    }

    /// What stands behind the rows: a file without it is not whole.
    pub(super) const fn tail(self) -> &'static str {
        match self {
            Self::Csv => "",
            Self::Json => "\n]}\n",
        }
    }
}

/// A text as JSON; writing one cannot fail.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn json_cell(cell: &Cell) -> String {
    match cell {
        Cell::Absent => "null".to_owned(),
        Cell::Text(text) => quoted(text),
        Cell::Number(digits) => digits.clone(),
        Cell::Moment(at) => format!("\"{}\"", rfc3339(*at)),
    }
}

fn csv_cell(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => csv_text(text),
        Cell::Number(digits) => digits.clone(),
        Cell::Moment(at) => rfc3339(*at),
    }
}

/// A text that a spreadsheet shows as it is: one that would start a formula gets an apostrophe before it, as does one that starts with
/// an apostrophe, so that whoever takes the first one away has the text again.
fn csv_text(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠']);
    let text = if starts_formula { format!("'{text}") } else { text.to_owned() };
    let needs_quotes = text.contains([',', '"', '\r', '\n', ';', '\t']) || text.trim() != text;
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an import makes of a line: the quotes are gone, and one apostrophe before what would start a formula.
    fn read(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut characters = line.trim_end_matches("\r\n").chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
                other => cell.push(other),
            }
        }
        cells.push(cell);
        cells.into_iter().map(|cell| cell.strip_prefix('\'').map(ToOwned::to_owned).unwrap_or(cell)).collect()
    }

    #[test]
    fn a_text_comes_back_as_it_was_and_starts_no_formula() {
        for text in [
            "=1+1",
            "+49 30",
            "-5.00",
            "@sum",
            "'quoted'",
            "''",
            "a,b",
            "say \"x\"",
            "two\nlines",
            "\tx",
            " x ",
            "000123",
            "820982911946154508",
            "1.23457E+19",
            "Söhne; Ångström",
            "＝1",
            "",
        ] {
            let row = vec![Cell::Text(text.to_owned()), Cell::Number("1".to_owned())];
            let line = Format::Csv.rows(&["a", "b"], &[row], true);
            assert_eq!(read(&line), [text, "1"], "{line:?}");
            let opened = line.trim_start_matches('"');
            assert!(!opened.starts_with(['=', '+', '-', '@', '\t', '＝']), "{line:?}");
        }
    }

    #[test]
    fn numbers_stay_numbers_with_all_their_digits() {
        let cells = ["-5.00", "9007199254740993", "0.10"].map(|digits| Cell::Number(digits.to_owned()));
        let csv = Format::Csv.rows(&["a", "b", "c"], &[cells.to_vec()], true);
        assert_eq!(csv, "-5.00,9007199254740993,0.10\r\n");
        let json = Format::Json.rows(&["a", "b", "c"], &[cells.to_vec()], true);
        assert_eq!(json, "\n{\"a\":-5.00,\"b\":9007199254740993,\"c\":0.10}");
    }

    #[test]
    fn the_json_is_one_document_with_texts_untouched() {
        let at = chrono::DateTime::from_timestamp_millis(1_790_000_000_123).unwrap();
        let row = |text: &str| vec![Cell::Text(text.to_owned()), Cell::Moment(at), Cell::Absent];
        let columns = ["a", "b", "c"];
        let mut text = Format::Json.head("operations", "company=\"x\"", at, &columns);
        text.push_str(&Format::Json.rows(&columns, &[row("=1+1"), row("\u{202e}\"")], true));
        text.push_str(&Format::Json.rows(&columns, &[row("'")], false));
        text.push_str(Format::Json.tail());
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["query"], "company=\"x\"");
        assert_eq!(read["rows"].as_array().unwrap().len(), 3);
        assert_eq!(read["rows"][0]["a"], "=1+1");
        assert_eq!(read["rows"][0]["b"], "2026-09-21T14:13:20.123Z");
        assert_eq!(read["rows"][0]["c"], serde_json::Value::Null);
    }
}
