//! What two values mean to people: by how much an amount changed, how many days lie between two dates, which characters differ
//! that look alike.

use chrono::{DateTime, FixedOffset, NaiveDate};
use guard::{json::Json, money::Money};
use rust_decimal::Decimal;
use unicode_normalization::{UnicodeNormalization as _, char::canonical_combining_class};
use unicode_security::confusable_detection::skeleton;

use crate::wording;

/// A text is shown whole up to this many characters.
const TEXT_WHOLE_CHARACTERS_MAX: usize = 240;

/// Of a longer text, this many characters are shown before and behind what differs.
const CONTEXT_CHARACTERS: usize = 60;

/// Of what differs in a longer text, this many characters are shown.
const DIFFERENCE_CHARACTERS_MAX: usize = 400;

/// Characters are named one by one up to this many.
const NAMED_CHARACTERS_MAX: usize = 8;

/// Texts that differ in more characters than this are not looked through for what looks alike.
const ALIKE_CHARACTERS_MAX: usize = 500;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Stands in both texts.
    Same(String),
    /// Stands in this text only.
    Differs(String),
    /// A space, a tab or a line break that stands in this text only, with its name.
    Space(char, &'static str),
    /// So many characters are not shown.
    Cut(usize),
}

/// Two values as people read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// By how much it changed.
    pub(super) delta: Option<String>,
    /// What else there is to know.
    pub(super) notes: Vec<String>,
}

/// The pieces of two texts, and what is to be known about their difference.
pub(super) fn texts(approved: &str, received: &str) -> (Vec<Piece>, Vec<Piece>, Vec<String>) {
    let (left, right): (Vec<char>, Vec<char>) = (approved.chars().collect(), received.chars().collect());
    let shorter = left.len().min(right.len());
    let mut start = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    let is_mark = |text: &[char], at: usize| text.get(at).is_some_and(|&mark| canonical_combining_class(mark) != 0);
    while start > 0 && (is_mark(&left, start) || is_mark(&right, start)) {
        start -= 1;
    }
    let end = left.iter().rev().zip(right.iter().rev()).take(shorter - start);
    let end = end.take_while(|(left, right)| left == right).count();
    let middles = (&left[start..left.len() - end], &right[start..right.len() - end]);
    let mut notes = Vec::new();
    notes.extend(alike(middles.0, middles.1));
    (pieces(&left, start, end), pieces(&right, start, end), notes)
}

fn pieces(text: &[char], start: usize, end: usize) -> Vec<Piece> {
    let (before, rest) = text.split_at(start);
    let (middle, behind) = rest.split_at(rest.len() - end);
    let is_long = text.len() > TEXT_WHOLE_CHARACTERS_MAX;
    let mut pieces = Vec::new();
    let skipped = if is_long { before.len().saturating_sub(CONTEXT_CHARACTERS) } else { 0 };
    if skipped > 0 {
        pieces.push(Piece::Cut(skipped));
    }
    push_same(&mut pieces, &before[skipped..]);
    let shown = if is_long { middle.len().min(DIFFERENCE_CHARACTERS_MAX) } else { middle.len() };
    for &character in &middle[..shown] {
        match (space(character), pieces.last_mut()) {
            (Some(name), _) => pieces.push(Piece::Space(character, name)),
            (None, Some(Piece::Differs(text))) => text.push(character),
            (None, Some(Piece::Same(_) | Piece::Space(..) | Piece::Cut(_)) | None) => {
                pieces.push(Piece::Differs(character.to_string()));
            }
        }
    }
    if middle.len() > shown {
        pieces.push(Piece::Cut(middle.len() - shown));
    }
    let shown = if is_long { behind.len().min(CONTEXT_CHARACTERS) } else { behind.len() };
    push_same(&mut pieces, &behind[..shown]);
    if behind.len() > shown {
        pieces.push(Piece::Cut(behind.len() - shown));
    }
    pieces
}

fn push_same(pieces: &mut Vec<Piece>, text: &[char]) {
    if !text.is_empty() {
        pieces.push(Piece::Same(text.iter().collect()));
    }
}

/// The name of a space that would not be seen; the unusual ones are named wherever they stand.
const fn space(character: char) -> Option<&'static str> {
    Some(match character {
        ' ' => "space",
        '\t' => "tab",
        '\n' => "line break",
        '\r' => "carriage return",
        _ => return None,
    })
}

/// What two texts have in common though they differ.
fn alike(left: &[char], right: &[char]) -> Option<String> {
    if left.len().max(right.len()) > ALIKE_CHARACTERS_MAX {
        return None;
    }
    let is_space = |character: &char| character.is_whitespace();
    let without_spaces = |text: &[char]| text.iter().filter(|character| !is_space(character)).collect::<String>();
    if without_spaces(left) == without_spaces(right) {
        let is_short = left.iter().chain(right).all(is_space);
        return Some(if is_short {
            format!("Only white space differs: {} against {}.", spaces(left), spaces(right))
        } else {
            "Only white space differs.".to_owned()
        });
    }
    let (ours, theirs): (String, String) = (left.iter().collect(), right.iter().collect());
    let against = || format!("{} against {}", codes(left), codes(right));
    let seen = |text: &str| text.chars().filter(|c| wording::invisible(*c).is_none()).collect::<String>();
    if ours.nfc().eq(theirs.nfc()) {
        return Some(format!("The same letters, once composed and once decomposed: {}.", against()));
    }
    if seen(&ours) == seen(&theirs) {
        return Some(format!("Only characters that nobody sees differ: {}.", against()));
    }
    if ours.nfkc().eq(theirs.nfkc()) {
        return Some(format!("The same letters in another form: {}.", against()));
    }
    if skeleton(&ours).eq(skeleton(&theirs)) {
        return Some(format!("They look alike and are different characters: {}.", against()));
    }
    None
}

fn spaces(text: &[char]) -> String {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for &character in text {
        match runs.last_mut() {
            Some((last, count)) if *last == character => *count += 1,
            Some(_) | None => runs.push((character, 1)),
        }
    }
    let told = runs.iter().take(NAMED_CHARACTERS_MAX).map(|&(character, count)| {
        let name = space(character).or(wording::invisible(character)).unwrap_or("space");
        match count {
            1 => format!("a {name}"),
            2 => format!("two {name}s"),
            count => format!("{count} {name}s"),
        }
    });
    let told = told.collect::<Vec<_>>().join(", ");
    if told.is_empty() { "nothing".to_owned() } else { told }
}

/// The code points of a text, the first few.
fn codes(text: &[char]) -> String {
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let mut told: Vec<String> =
        text.iter().take(NAMED_CHARACTERS_MAX).map(|character| format!("U+{:04X}", u32::from(*character))).collect();
    if text.len() > NAMED_CHARACTERS_MAX {
        told.push("…".to_owned());
    }
    told.join(" ")
}

/// What is to be known about two values at a place of this name.
pub(super) fn of(name: &str, approved: &Json, received: &Json, currency: Option<&str>) -> Reading {
    let mut reading = Reading::default();
    if let Some(told) = days(name, approved, received) {
        reading.delta = Some(told);
        return reading;
    }
    let Some((before, after)) = decimal(approved).zip(decimal(received)) else { return reading };
    if before == after {
        let is_text = |value: &Json| matches!(value, Json::String(_));
        reading.notes.push(
            if is_text(approved) == is_text(received) {
                "The same number, written differently."
            } else {
                "The same number, once as text and once as a number."
            }
            .to_owned(),
        );
    } else if counts(name, approved, received) {
        reading.delta = delta(before, after, currency);
    }
    reading
}

/// Whether a difference of two numbers says anything at this place: a document's number is no quantity.
fn counts(name: &str, approved: &Json, received: &Json) -> bool {
    const NAMES: [&str; 12] =
        ["id", "no", "number", "key", "code", "ref", "reference", "document", "phone", "account", "sku", "zip"];
    let lower = name.to_lowercase();
    if NAMES.iter().any(|name| lower.ends_with(name)) {
        return false;
    }
    let is_amount = |value: &Json| match value {
        Json::Number(_) => true,
        Json::String(text) => !text.trim_start_matches('-').starts_with("00") && text.len() <= 28,
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => false,
    };
    is_amount(approved) && is_amount(received)
}

fn decimal(value: &Json) -> Option<Decimal> {
    let text = match value {
        Json::Number(number) => number.plain(28)?,
        Json::String(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return None,
    };
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    is_plain.then(|| Decimal::from_str_exact(&text).ok()).flatten()
}

fn delta(before: Decimal, after: Decimal, currency: Option<&str>) -> Option<String> {
    let difference = after.checked_sub(before)?;
    let sign = if difference.is_sign_negative() { "\u{2212}" } else { "+" };
    let amount = Money { amount: difference.abs(), currency: currency.unwrap_or_default().to_owned() };
    let amount = wording::money(&amount);
    let share = difference.checked_mul(Decimal::ONE_HUNDRED).and_then(|share| share.checked_div(before.abs()));
    let share = share.map(|share| share.round_dp(1)).map(|share| {
        let sign = if share.is_sign_negative() { "\u{2212}" } else { "+" };
        format!(" ({sign}{:.1} %)", share.abs())
    });
    Some(format!("{sign}{}{}", amount.trim_end(), share.unwrap_or_default()))
}

/// What lies between two dates or two moments.
fn days(name: &str, approved: &Json, received: &Json) -> Option<String> {
    let (approved, received) = (approved.as_str()?, received.as_str()?);
    let may_be_packed = name.to_lowercase().contains("date");
    if let Some((before, after)) = date(approved, may_be_packed).zip(date(received, may_be_packed)) {
        return match (after - before).num_days() {
            0 => Some("The same day, written differently.".to_owned()),
            days => Some(told_days(days)),
        };
    }
    let (before, after) = (moment(approved)?, moment(received)?);
    let span = after - before;
    if span.is_zero() {
        return Some("The same moment, written differently.".to_owned());
    }
    if span.num_seconds() == 0 {
        return Some("Less than a second apart.".to_owned());
    }
    let direction = if span > chrono::TimeDelta::zero() { "later" } else { "earlier" };
    Some(format!("{} {direction}", wording::duration(span.abs())))
}

fn told_days(days: i64) -> String {
    let direction = if days > 0 { "later" } else { "earlier" };
    format!("{} {direction}", wording::counted(days.unsigned_abs(), "day", "days"))
}

fn date(text: &str, may_be_packed: bool) -> Option<NaiveDate> {
    let has_digits =
        |count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if has_digits(10) {
        return NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    }
    (may_be_packed && has_digits(8)).then(|| NaiveDate::parse_from_str(text, "%Y%m%d").ok()).flatten()
}

fn moment(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, approved: &str, received: &str, currency: Option<&str>) -> String {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let reading = of(name, &json(approved), &json(received), currency);
        reading.delta.into_iter().chain(reading.notes).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn amounts_tell_by_how_much() {
        assert_eq!(told("amount", r#""120.00""#, r#""102.00""#, Some("INR")), "\u{2212}18.00 INR (\u{2212}15.0 %)");
        assert_eq!(told("quantity", "1", "3", None), "+2 (+200.0 %)");
        assert_eq!(told("amount", "0", "1234567.5", Some("EUR")), "+1,234,567.5 EUR");
        assert_eq!(told("amount", r#""10""#, "10.0", None), "The same number, once as text and once as a number.");
        assert_eq!(told("amount", r#""10""#, r#""10.0""#, None), "The same number, written differently.");
        assert_eq!(told("document_number", "7", "8", None), "", "a number that names something is no quantity");
        assert_eq!(told("memo", r#""0012""#, r#""0013""#, None), "");
        assert_eq!(told("id", "820982911946154508", "820982911946154509", None), "");
    }

    #[test]
    fn dates_tell_the_days_between() {
        assert_eq!(told("due", r#""2026-04-01""#, r#""2026-04-02""#, None), "1 day later");
        assert_eq!(told("DATE", r#""20260402""#, r#""20260302""#, None), "31 days earlier");
        assert_eq!(told("at", r#""2026-04-01T10:00:00Z""#, r#""2026-04-01T12:05:00Z""#, None), "2 h 5 min later");
        assert_eq!(
            told("at", r#""2026-04-01T10:00:00Z""#, r#""2026-04-01T12:00:00+02:00""#, None),
            "The same moment, written differently."
        );
    }

    #[test]
    fn what_looks_alike_is_told_by_code_point() {
        let note = |left: &str, right: &str| texts(left, right).2.join(" ");
        assert_eq!(note("Pay  now", "Pay\nnow"), "Only white space differs: two spaces against a line break.");
        assert_eq!(
            note("Cafe\u{301}-7", "Café-7"),
            "The same letters, once composed and once decomposed: U+0065 U+0301 against U+00E9."
        );
        assert_eq!(note("ACME", "AC\u{41C}E"), "They look alike and are different characters: U+004D against U+041C.");
        assert_eq!(note("INV1", "INV\u{200B}1"), "Only characters that nobody sees differ: nothing against U+200B.");
        assert_eq!(note("ＡＢ", "AB"), "The same letters in another form: U+FF21 U+FF22 against U+0041 U+0042.");
        assert_eq!(note("red", "blue"), "");
    }

    #[test]
    fn long_texts_are_cut_around_what_differs() {
        let left = format!("{}X{}", "a".repeat(1_000), "b".repeat(1_000));
        let right = format!("{}YY{}", "a".repeat(1_000), "b".repeat(1_000));
        let (left, right, _) = texts(&left, &right);
        let same = |text: &str| Piece::Same(text.repeat(CONTEXT_CHARACTERS));
        assert_eq!(left, [Piece::Cut(940), same("a"), Piece::Differs("X".to_owned()), same("b"), Piece::Cut(940)]);
        assert_eq!(right[2], Piece::Differs("YY".to_owned()));
    }

    #[test]
    fn white_space_that_differs_is_seen() {
        let (left, right, _) = texts("Pay  now", "Pay\nnow");
        let (before, behind) = (Piece::Same("Pay".to_owned()), Piece::Same("now".to_owned()));
        let space = || Piece::Space(' ', "space");
        assert_eq!(left, [before.clone(), space(), space(), behind.clone()]);
        assert_eq!(right, [before, Piece::Space('\n', "line break"), behind]);
    }
}
