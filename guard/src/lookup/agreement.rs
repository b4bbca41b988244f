//! When a value of the payload and one of the destination's record say the same.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

use crate::canonical::canonical;
use crate::json::Json;
use crate::number::Number;
use crate::workflow::Comparison;

/// Whether both say the same, compared as the workflow says. What cannot be read in that way agrees with nothing.
pub fn agrees(compare: Comparison, ours: &Json, theirs: &Json) -> bool {
    let both =
        |read: fn(&Json) -> Option<String>| read(ours).zip(read(theirs)).is_some_and(|(one, other)| one == other);
    match compare {
        Comparison::Exact => is_exactly(ours, theirs),
        Comparison::Decimal => {
            decimal(ours).zip(decimal(theirs)).is_some_and(|(ours, theirs): (Number, Number)| ours == theirs)
        }
        Comparison::Date => date(ours).zip(date(theirs)).is_some_and(|(ours, theirs)| ours.is(theirs)),
        Comparison::Text => both(|value| text(value).map(|text| folded(&text))),
    }
}

/// Texts byte for byte; a text and a number by the digits as written; two numbers, lists or objects as the fingerprint sees them.
fn is_exactly(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::String(text), Json::Number(number)) | (Json::Number(number), Json::String(text)) => {
            number.as_written() == text
        }
        (ours, theirs) => canonical(ours, &[]) == canonical(theirs, &[]),
    }
}

/// The text with white space folded to single blanks and letters to lower case.
pub(crate) fn folded(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.as_written().to_owned()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// The exact decimal: `561.80`, `"561.8"` and `"+0561.80"` are one. Separators of thousands and decimal commas are nobody's to guess.
fn decimal(value: &Json) -> Option<Number> {
    let text = match value {
        Json::Number(number) => return Some(number.clone()),
        Json::String(text) => text.trim(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return None,
    };
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (if text.starts_with('-') { "-" } else { "" }, rest),
        None => ("", text),
    };
    let (whole, rest) =
        digits.split_at(digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len()));
    let significant = whole.trim_start_matches('0');
    let significant = if significant.is_empty() && !whole.is_empty() { "0" } else { significant };
    // The rest of the grammar, and the limits, are those of JSON's numbers.
    match Json::parse(format!("{sign}{significant}{rest}").as_bytes()).ok()? {
        Json::Number(number) => Some(number),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// A day, as it is written, and the day in UTC where the text names a moment with its offset.
#[derive(Clone, Copy)]
struct Day {
    written: NaiveDate,
    utc: Option<NaiveDate>,
}

impl Day {
    /// Two moments are compared in UTC; a day without an offset means the day that is written.
    fn is(self, other: Self) -> bool {
        match (self.utc, other.utc) {
            (Some(one), Some(other)) => one == other,
            (Some(_), None) | (None, Some(_)) | (None, None) => self.written == other.written,
        }
    }
}

/// The day that a value names, as it is written: `2026-04-01`, `20260401`, with a time or without.
pub fn day_of(value: &Json) -> Option<NaiveDate> {
    date(value).map(|day| day.written)
}

/// `2026-04-01`, `20260401`, with a time or without. An order of day and month that has to be guessed is no date.
fn date(value: &Json) -> Option<Day> {
    let text = text(value)?;
    let text = text.trim();
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(Day { written: moment.date_naive(), utc: Some(moment.to_utc().date_naive()) });
    }
    let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let local = || local.into_iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let is_basic = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let day = if is_basic {
        NaiveDate::parse_from_str(text, "%Y%m%d").ok()
    } else {
        NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .ok()
            .filter(|_| text.len() == 10)
            .or_else(|| local().map(|at| at.date()))
    };
    day.map(|written| Day { written, utc: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn agree(compare: Comparison, ours: &str, theirs: &str) -> bool {
        let (ours, theirs) = (json(ours), json(theirs));
        let forth = agrees(compare, &ours, &theirs);
        assert_eq!(forth, agrees(compare, &theirs, &ours), "{ours} and {theirs}, either way round");
        forth
    }

    #[test]
    fn exact_is_byte_for_byte_and_never_rounds() {
        assert!(agree(Comparison::Exact, r#""29AAAAA0000A1Z5""#, r#""29AAAAA0000A1Z5""#));
        assert!(!agree(Comparison::Exact, r#""29AAAAA0000A1Z5""#, r#""29aaaaa0000a1z5""#));
        assert!(!agree(Comparison::Exact, r#""a ""#, r#""a""#));
        assert!(!agree(Comparison::Exact, "9007199254740993", "9007199254740992"));
        assert!(agree(Comparison::Exact, "820982911946154508", r#""820982911946154508""#));
        assert!(!agree(Comparison::Exact, "12.50", r#""12.5""#), "as text they differ: that is what decimal is for");
        assert!(agree(Comparison::Exact, r#"{"a":1.0,"b":[2]}"#, r#"{"b":[2],"a":1}"#));
        assert!(!agree(Comparison::Exact, "null", r#""null""#));
    }

    #[test]
    fn decimals_are_compared_by_value() {
        for other in ["561.8", "5.618e2", r#""561.80""#, r#"" +0561.800 ""#] {
            assert!(agree(Comparison::Decimal, r#""561.80""#, other), "{other}");
        }
        assert!(agree(Comparison::Decimal, r#""-0.00""#, "0"));
        assert!(!agree(Comparison::Decimal, r#""561.80""#, r#""651.80""#));
        assert!(!agree(Comparison::Decimal, "9007199254740993", "9007199254740992.0"));
        for unreadable in
            [r#""1,180.00""#, r#""1180,00""#, r#""""#, r#""-""#, r#""--1""#, r#""0x1""#, "null", "true", "[1]"]
        {
            assert!(!agree(Comparison::Decimal, unreadable, unreadable), "{unreadable}");
        }
    }

    #[test]
    fn dates_are_days() {
        for other in [r#""20260401""#, "20260401", r#""2026-04-01T09:42:00""#, r#""2026-04-01 09:42:00""#] {
            assert!(agree(Comparison::Date, r#""2026-04-01""#, other), "{other}");
        }
        assert!(!agree(Comparison::Date, r#""2026-04-01""#, r#""2026-04-02""#));
        let in_new_york = r#""2026-04-01T23:30:00-04:00""#;
        assert!(agree(Comparison::Date, in_new_york, r#""2026-04-02T03:30:00Z""#), "one moment");
        assert!(agree(Comparison::Date, in_new_york, r#""2026-04-01""#), "the day that is written");
        for unreadable in [r#""01/04/2026""#, r#""2026-13-01""#, r#""2026-4-1""#, r#""yesterday""#, "2026", "null"] {
            assert!(!agree(Comparison::Date, unreadable, unreadable), "{unreadable}");
        }
    }

    #[test]
    fn text_folds_case_and_white_space() {
        assert!(agree(Comparison::Text, r#""Müller  GmbH""#, r#""  MÜLLER\ngmbh""#));
        assert!(!agree(Comparison::Text, r#""Müller GmbH""#, r#""MüllerGmbH""#));
        assert!(agree(Comparison::Text, "14", r#""14""#));
        assert!(!agree(Comparison::Text, "null", "null"));
    }
}
