//! Days as people write them.

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

/// The format that stands for the serial days of spreadsheets.
pub(super) const SERIAL: &str = "excel";

/// The serial number of a day that never was: spreadsheets take 1900 for a leap year.
const SERIAL_THAT_NEVER_WAS: i64 = 60;

/// The last serial day that spreadsheets know: 9999-12-31.
const SERIAL_MAX: i64 = 2_958_465;

/// The day of a text, by a declared format or where it reads only one way.
pub(super) fn day(text: &str, format: Option<&str>) -> Result<NaiveDate, String> {
    let text = text.trim();
    match format {
        Some(SERIAL) => serial(text),
        Some(format) => declared(text, format).ok_or_else(|| format!("{text:?} is no date as {format:?} writes it")),
        None => unambiguous(text),
    }
}

fn declared(text: &str, format: &str) -> Option<NaiveDate> {
    let with_time = || NaiveDateTime::parse_from_str(text, format).ok().map(|moment| moment.date());
    NaiveDate::parse_from_str(text, format).ok().or_else(with_time)
}

fn serial(text: &str) -> Result<NaiveDate, String> {
    let number: i64 = text.parse().map_err(|_| format!("{text:?} is no serial day"))?;
    if number == SERIAL_THAT_NEVER_WAS {
        return Err("the serial day 60 is the 29th of February 1900, which never was".to_owned());
    }
    // Before that day the count is one ahead.
    let start = if number < SERIAL_THAT_NEVER_WAS { (1899, 12, 31) } else { (1899, 12, 30) };
    let start = NaiveDate::from_ymd_opt(start.0, start.1, start.2);
    let day = (1..=SERIAL_MAX).contains(&number).then(|| start?.checked_add_signed(TimeDelta::days(number))).flatten();
    day.ok_or_else(|| format!("{text:?} is no serial day"))
}

fn unambiguous(text: &str) -> Result<NaiveDate, String> {
    let iso = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10);
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let day = NaiveDate::parse_from_str(text, "%Y%m%d").ok();
        return day.ok_or_else(|| format!("{text:?} is no day"));
    }
    let beginning = text
        .get(..10)
        .filter(|_| text.get(10..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['T', ' ', 'Z', '+'])));
    if let Some(day) = beginning.and_then(iso) {
        return Ok(day);
    }
    let parts: Vec<&str> = text.split(['/', '.', '-']).collect();
    let numbers: Option<Vec<u32>> = parts.iter().map(|part| part.parse().ok()).collect();
    match (numbers.as_deref(), parts.as_slice()) {
        (Some([one, other, year]), [_, _, written]) if written.len() == 4 => {
            let day = |day, month| NaiveDate::from_ymd_opt(i32::try_from(*year).ok()?, month, day);
            match (day(*one, *other), day(*other, *one)) {
                (Some(first), Some(second)) if first != second => {
                    Err(format!("{text:?} may be the {first} or the {second}"))
                }
                (Some(only), _) | (None, Some(only)) => Ok(only),
                (None, None) => Err(format!("{text:?} is no day")),
            }
        }
        _ => Err(format!("{text:?} is no date that reads only one way")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: Option<&str>) -> Option<String> {
        day(text, format).ok().map(|day| day.to_string())
    }

    #[test]
    fn dates_read_one_way_or_not_at_all() {
        for text in ["2026-03-31", "20260331", "31/03/2026", "31.03.2026", "03/31/2026", "2026-03-31T10:00:00+02:00"] {
            assert_eq!(read(text, None).as_deref(), Some("2026-03-31"), "{text}");
        }
        for text in ["03/04/2026", "46112", "31-Mar-26", "60", "", "2026-02-30", "2026-3-1"] {
            assert_eq!(read(text, None), None, "{text}");
        }
        assert_eq!(read("04/04/2026", None).as_deref(), Some("2026-04-04"), "either way round it is that day");
    }

    #[test]
    fn a_declared_format_decides() {
        assert_eq!(read("03/04/2026", Some("%d/%m/%Y")).as_deref(), Some("2026-04-03"));
        assert_eq!(read("31-Mar-26", Some("%d-%b-%y")).as_deref(), Some("2026-03-31"));
        assert_eq!(read("46112", Some("excel")).as_deref(), Some("2026-03-31"));
        assert_eq!(read("59", Some("excel")).as_deref(), Some("1900-02-28"));
        assert_eq!(read("60", Some("excel")), None);
        assert_eq!(read("2026-03-31", Some("%d/%m/%Y")), None);
    }
}
