//! Amounts as people write them. Nothing is guessed: what two readers could take for two numbers is refused.

use guard::reconciliation::DecimalMark;

/// Why a text is no amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoNumber {
    pub message: String,
    pub parameter: Option<&'static str>,
}

fn refused(message: String) -> NoNumber {
    NoNumber { message, parameter: None }
}

fn undecided(message: String) -> NoNumber {
    NoNumber { message, parameter: Some("decimal") }
}

/// What may stand between groups of digits, besides the mark that is not the decimals'.
const SPACES: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '\u{2019}'];

/// The number in plain digits: `-1234.56`. `is_point_likely` says that a point can only be meant as a decimal point, since the commas of
/// the file are its delimiters.
pub(super) fn plain(text: &str, mark: Option<DecimalMark>, is_point_likely: bool) -> Result<String, NoNumber> {
    let (is_negative, digits) = sign(text.trim());
    if digits.is_empty() {
        return Err(refused(if text.trim().is_empty() {
            "is empty; an amount is needed".to_owned()
        } else {
            format!("{text:?} is no amount")
        }));
    }
    let is_known =
        |character: char| character.is_ascii_digit() || matches!(character, '.' | ',') || SPACES.contains(&character);
    if !digits.chars().all(is_known) {
        return Err(refused(format!(
            "{text:?} is no amount: digits alone are taken, without a currency, an exponent or a word"
        )));
    }
    let number = match mark {
        Some(DecimalMark::Point) => grouped(digits, '.', ','),
        Some(DecimalMark::Comma) => grouped(digits, ',', '.'),
        None if is_ambiguous(digits, is_point_likely) => {
            return Err(undecided(format!("{text:?} may be read with a decimal comma or a decimal point")));
        }
        None => match grouped(digits, '.', ',') {
            Some(number) => Some(number),
            None if grouped(digits, ',', '.').is_some() => {
                return Err(undecided(format!("{text:?} is written with a decimal comma, which is not declared")));
            }
            None => None,
        },
    };
    let number = number.ok_or_else(|| {
        let declared = mark.map_or("", |_| " as it is declared");
        NoNumber { message: format!("{text:?} is no amount{declared}"), parameter: mark.map(|_| "decimal") }
    })?;
    let is_zero = number.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Ok(if is_negative && !is_zero { format!("-{number}") } else { number })
}

/// The sign, however it is written, and what is left.
fn sign(text: &str) -> (bool, &str) {
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return (true, inner.trim());
    }
    if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
        return (true, rest.trim_start());
    }
    if let Some(rest) = text.strip_suffix(['-', '\u{2212}']) {
        return (true, rest.trim_end());
    }
    (false, text.strip_prefix('+').unwrap_or(text).trim_start())
}

/// Whether one mark before exactly three digits may mean thousands as well as decimals.
fn is_ambiguous(digits: &str, is_point_likely: bool) -> bool {
    let marks: Vec<(usize, char)> =
        digits.char_indices().filter(|(_, character)| !character.is_ascii_digit()).collect();
    let [(at, mark)] = marks.as_slice() else { return false };
    let (before, behind) =
        (digits.get(..*at).unwrap_or_default(), digits.get(at + mark.len_utf8()..).unwrap_or_default());
    let could_be_thousands = behind.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0');
    could_be_thousands && (*mark == ',' || (*mark == '.' && !is_point_likely))
}

/// The digits with their decimals behind a point, where groups stand as groups do: of three, or of two and a last of three.
fn grouped(text: &str, decimal: char, group: char) -> Option<String> {
    let (whole, fraction) = match text.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    if fraction.is_some_and(|fraction| fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let separator = whole.chars().find(|character| !character.is_ascii_digit());
    if separator.is_some_and(|separator| separator != group && !SPACES.contains(&separator)) {
        return None;
    }
    let groups: Vec<&str> = separator.map_or_else(|| vec![whole], |separator| whole.split(separator).collect());
    if groups.iter().any(|group| group.is_empty() || !group.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    if let [first, middle @ .., last] = groups.as_slice() {
        let of = |length: usize| middle.iter().all(|group| group.len() == length) && first.len() <= length;
        if last.len() != 3 || !(of(3) || of(2)) {
            return None;
        }
    }
    let digits = groups.concat();
    let significant = digits.trim_start_matches('0');
    let whole = if significant.is_empty() { "0" } else { significant };
    Some(fraction.map_or_else(|| whole.to_owned(), |fraction| format!("{whole}.{fraction}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, Option<&'static str>> {
        plain(text, None, true).map_err(|fault| fault.parameter)
    }

    fn comma(text: &str) -> Result<String, Option<&'static str>> {
        plain(text, Some(DecimalMark::Comma), false).map_err(|fault| fault.parameter)
    }

    #[test]
    fn signs_are_read_however_they_are_written() {
        for text in ["-12.50", "(12.50)", "12.50-", "\u{2212}12.50", " -12.50 "] {
            assert_eq!(read(text).as_deref(), Ok("-12.50"), "{text}");
        }
        assert_eq!(read("-0.00").as_deref(), Ok("0.00"));
        assert_eq!(read("+7").as_deref(), Ok("7"));
    }

    #[test]
    fn groups_are_read_where_they_can_mean_nothing_else() {
        let plain = [("1,23,456.78", "123456.78"), ("2,50,000", "250000"), ("1,00,00,000.00", "10000000.00")];
        let plain =
            plain.into_iter().chain([("1,234.56", "1234.56"), ("1'234.56", "1234.56"), ("1\u{2019}234.56", "1234.56")]);
        for (text, number) in plain.chain([("12.500", "12.500"), ("0.125", "0.125"), ("1234.567", "1234.567")]) {
            assert_eq!(read(text).as_deref(), Ok(number), "{text}");
        }
        for (text, number) in
            [("1.234,56", "1234.56"), ("-1.000", "-1000"), ("-89,9", "-89.9"), ("1\u{a0}234,56", "1234.56")]
        {
            assert_eq!(comma(text).as_deref(), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_reads_two_ways_is_refused_with_the_parameter_that_settles_it() {
        for text in ["1,000", "1.234,56", "-89,9", "12,50", "1\u{202f}234,56"] {
            assert_eq!(read(text), Err(Some("decimal")), "{text}");
        }
        for text in ["1.000", "-1.000"] {
            assert_eq!(plain(text, None, false).map_err(|fault| fault.parameter), Err(Some("decimal")), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in [
            "$12.50",
            "12.50 EUR",
            "12.50 CR",
            "1e3",
            "NaN",
            "Infinity",
            "",
            "-",
            "--1",
            ".5",
            "5.",
            "1,2,3",
            "1.2.3",
            "()",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
