//! Numbers that keep every digit: a JSON number never passes through floating point.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A number's digits, and its exponent, may each be at most this: beyond it lies no business value, only trouble.
pub const NUMBER_DIGITS_MAX: usize = 1_000;

/// A JSON number as it was written, with all its digits.
///
/// Two numbers are equal when their values are: `1180.00`, `1.18e3` and `1180` are one number.
#[derive(Clone)]
pub struct Number {
    lexeme: Box<str>,
}

/// The exact value behind a lexeme: `digits × 10^exponent`, digits without zeros at either end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal<'a> {
    negative: bool,
    digits: Cow<'a, str>,
    exponent: i64,
}

/// The number has more than [`NUMBER_DIGITS_MAX`] digits, or an exponent beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number has more than 1,000 digits or an exponent beyond 1,000")]
pub struct UnsafeNumber;

impl Number {
    /// Takes a lexeme that already follows the JSON grammar (RFC 8259, section 6).
    pub(crate) fn from_grammatical(lexeme: &str) -> Result<Self, UnsafeNumber> {
        let (mantissa, exponent) = split_exponent(lexeme);
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
        let exponent_is_safe =
            exponent.parse::<i64>().is_ok_and(|value| value.unsigned_abs() <= NUMBER_DIGITS_MAX as u64);
        if digits > NUMBER_DIGITS_MAX || !exponent_is_safe {
            return Err(UnsafeNumber);
        }
        Ok(Self { lexeme: lexeme.into() })
    }

    /// The number of an integer.
    pub fn from_integer(value: i64) -> Self {
        Self { lexeme: value.to_string().into() }
    }

    /// The number as it was written by its sender.
    pub fn as_written(&self) -> &str {
        &self.lexeme
    }

    /// The canonical text: as RFC 8785 (ECMAScript) writes it where that keeps the value, else its exact decimal:
    /// the shortest digits, then `e` and the exponent.
    pub fn canonical(&self) -> String {
        let exact = Decimal::of(&self.lexeme);
        if exact.digits.is_empty() {
            return "0".to_owned();
        }
        if let Ok(double) = self.lexeme.parse::<f64>()
            && double.is_finite()
        {
            let mut buffer = ryu_js::Buffer::new();
            let written = buffer.format_finite(double);
            if Decimal::of(written) == exact {
                return written.to_owned();
            }
        }
        format!("{}{}e{}", if exact.negative { "-" } else { "" }, exact.digits, exact.exponent)
    }

    /// The number without exponent, where it has at most `places` digits before and after the point together: for people.
    pub fn plain(&self, places: usize) -> Option<String> {
        let exact = Decimal::of(&self.lexeme);
        let digits = i64::try_from(exact.digits.len()).ok()?;
        let places = i64::try_from(places).ok()?;
        if exact.digits.is_empty() {
            return Some("0".to_owned());
        }
        if exact.exponent >= 0 {
            if digits + exact.exponent > places {
                return None;
            }
            let zeros = "0".repeat(usize::try_from(exact.exponent).ok()?);
            return Some(format!("{}{}{zeros}", if exact.negative { "-" } else { "" }, exact.digits));
        }
        let point = digits + exact.exponent;
        if digits.max(-exact.exponent) > places {
            return None;
        }
        let padded = if point <= 0 {
            format!("{}{}", "0".repeat(usize::try_from(1 - point).ok()?), exact.digits)
        } else {
            exact.digits.into_owned()
        };
        let split = usize::try_from(point.max(1)).ok()?;
        Some(format!("{}{}.{}", if exact.negative { "-" } else { "" }, &padded[..split], &padded[split..]))
    }
}

impl<'a> Decimal<'a> {
    fn of(lexeme: &'a str) -> Self {
        let (mantissa, exponent) = split_exponent(lexeme);
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (digits, fraction_length) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (Cow::Owned(format!("{whole}{fraction}")), fraction.len()),
            None => (Cow::Borrowed(mantissa), 0),
        };
        let trailing = digits.len() - digits.trim_end_matches('0').len();
        let digits = match digits {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches('0')),
            Cow::Owned(text) => Cow::Owned(text.trim_matches('0').to_owned()),
        };
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let fraction_length = i64::try_from(fraction_length).unwrap_or(i64::MAX);
        let trailing = i64::try_from(trailing).unwrap_or(i64::MAX);
        Self { negative, digits, exponent: exponent - fraction_length + trailing }
    }

    fn magnitude_order(&self, other: &Self) -> Ordering {
        let size =
            |decimal: &Self| i64::try_from(decimal.digits.len()).unwrap_or(i64::MAX).saturating_add(decimal.exponent);
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        size(self).cmp(&size(other)).then_with(|| self.digits.as_ref().cmp(other.digits.as_ref()))
    }
}

fn split_exponent(lexeme: &str) -> (&str, &str) {
    match lexeme.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix('+').unwrap_or(exponent)),
        None => (lexeme, "0"),
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.lexeme == other.lexeme || Decimal::of(&self.lexeme) == Decimal::of(&other.lexeme)
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (Decimal::of(&self.lexeme), Decimal::of(&other.lexeme));
        match (left.negative, right.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => left.magnitude_order(&right),
            (true, true) => right.magnitude_order(&left),
        }
    }
}

impl std::fmt::Debug for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.lexeme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(lexeme: &str) -> Number {
        Number::from_grammatical(lexeme).unwrap()
    }

    #[test]
    fn what_ecmascript_can_write_is_written_so() {
        for (lexeme, canonical) in [
            ("1180.00", "1180"),
            ("1.18e3", "1180"),
            ("-0.00", "0"),
            ("0E7", "0"),
            ("0.1", "0.1"),
            ("1e21", "1e+21"),
            ("100000000000000000000", "100000000000000000000"),
            ("0.0000001", "1e-7"),
            ("9007199254740992", "9007199254740992"),
            ("-12.50", "-12.5"),
        ] {
            assert_eq!(number(lexeme).canonical(), canonical, "{lexeme}");
        }
    }

    #[test]
    fn what_a_double_would_bend_keeps_its_digits() {
        for (lexeme, canonical) in [
            ("9007199254740993", "9007199254740993e0"),
            ("820982911946154509", "820982911946154509e0"),
            ("1.000000000000000005", "1000000000000000005e-18"),
            ("1e400", "1e400"),
            ("-1e-999", "-1e-999"),
            ("90071992547409930.00", "9007199254740993e1"),
        ] {
            assert_eq!(number(lexeme).canonical(), canonical, "{lexeme}");
        }
    }

    #[test]
    fn numbers_order_by_value() {
        let ascending =
            ["-1e3", "-2.5", "-0.1", "0", "1e-9", "0.30000000000000000001", "0.4", "9.99", "10", "1e2", "100.5"];
        for pair in ascending.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{} < {}", pair[0], pair[1]);
        }
        assert_eq!(number("100"), number("1e2"));
    }

    #[test]
    fn limits_hold() {
        assert!(Number::from_grammatical(&"9".repeat(1_000)).is_ok());
        assert_eq!(Number::from_grammatical(&"9".repeat(1_001)), Err(UnsafeNumber));
        assert!(Number::from_grammatical("1e1000").is_ok());
        assert_eq!(Number::from_grammatical("1e1001"), Err(UnsafeNumber));
        assert_eq!(Number::from_grammatical("1e-99999999999999999999999"), Err(UnsafeNumber));
    }

    #[test]
    fn plain_text_is_for_people() {
        for (lexeme, plain) in [("1.18e3", "1180"), ("0.050", "0.05"), ("-12.5", "-12.5"), ("5e-3", "0.005")] {
            assert_eq!(number(lexeme).plain(20).as_deref(), Some(plain), "{lexeme}");
        }
        assert_eq!(number("1e400").plain(20), None);
    }
}
