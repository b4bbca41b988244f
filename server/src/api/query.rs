//! Query strings: strict where a mistake would change what is shown.

use chrono::{DateTime, Utc};
use guard::clock::{Timestamp, to_millisecond};

use crate::problem::Problem;

/// How much a name must be like a known one for that to have been meant, from 0 (not at all) to 1 (the same).
const ALIKE_MIN: f64 = 0.7;

/// The parameters of a query string, taken out one by one.
pub struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    /// The parameters of `query`, all of which must be `known`: one that is left out of account would show more than was asked for.
    ///
    /// # Errors
    /// An unknown name, with the one that is nearest to it and those that there are.
    pub fn of(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        // Reading pairs of text never fails: what is no UTF-8 is replaced.
        Self::among(serde_urlencoded::from_str(query.unwrap_or_default()).unwrap_or_default(), known)
    }

    /// These parameters, all of which must be `known`.
    ///
    /// # Errors
    /// As [`Query::of`].
    pub fn among(parameters: Vec<(String, String)>, known: &[&str]) -> Result<Self, Problem> {
        match parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((unknown, _)) => Err(Problem::field(unknown, unknown_name(unknown, known))),
            None => Ok(Self { parameters }),
        }
    }

    /// Every value of the parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of the parameter; an empty one limits nothing.
    ///
    /// # Errors
    /// It stands twice.
    pub fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        Ok(self.only(name)?.filter(|value| !value.is_empty()))
    }

    fn only(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.all(name);
        let value = values.next();
        if values.next().is_some() {
            return Err(Problem::field(name, "stands twice; it may stand once"));
        }
        Ok(value)
    }

    /// The whole number of the parameter. An empty one is none: nothing could be meant by it.
    ///
    /// # Errors
    /// It stands twice, or is no whole number from 0 to `max`.
    pub fn whole_number(&self, name: &str, max: u64) -> Result<Option<u64>, Problem> {
        let Some(value) = self.only(name)? else { return Ok(None) };
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| value.parse().ok()).flatten().filter(|number| *number <= max);
        number.map(Some).ok_or_else(|| Problem::field(name, format!("is not a whole number from 0 to {max}")))
    }

    /// The moment of the parameter, or the start of the day that it names (with `is_end` the end of it), in UTC.
    ///
    /// # Errors
    /// It stands twice, or is neither a day nor a moment in RFC 3339.
    pub fn day_or_moment(&self, name: &str, is_end: bool) -> Result<Option<Timestamp>, Problem> {
        let day = self.one(name)?.and_then(|value| value.parse::<chrono::NaiveDate>().ok());
        let Some(day) = day else { return self.moment(name) };
        let start = if is_end { day.succ_opt() } else { Some(day) };
        Ok(start.and_then(|day| day.and_hms_opt(0, 0, 0)).map(|start| start.and_utc()))
    }

    /// The moment of the parameter.
    ///
    /// # Errors
    /// It stands twice, or is no moment in RFC 3339.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(value) = self.one(name)? else { return Ok(None) };
        // In a query string a `+` that is not escaped means a blank; in a moment it can only be the sign of an offset.
        let moment = DateTime::parse_from_rfc3339(&value.replace(' ', "+"));
        let moment = moment.or_else(|_| DateTime::parse_from_rfc3339(value));
        let refused = |_| Problem::field(name, "is no moment in RFC 3339, such as 2026-03-01T14:05:00Z");
        moment.map(|moment| Some(to_millisecond(moment.with_timezone(&Utc)))).map_err(refused)
    }
}

/// What is said of a name that is not known.
fn unknown_name(unknown: &str, known: &[&str]) -> String {
    let alike = known.iter().map(|name| (strsim::jaro_winkler(unknown, name), name));
    let nearest = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let meant = nearest.filter(|(alike, _)| *alike >= ALIKE_MIN).map(|(_, name)| format!("did you mean {name}? "));
    format!("is no parameter of this list; {}there are: {}", meant.unwrap_or_default(), known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_may_have_an_offset_with_its_plus_escaped_or_not() {
        for text in ["2026-03-01T14:05:00Z", "2026-03-01T15:05:00%2B01:00", "2026-03-01T15:05:00+01:00"] {
            let query = Query::of(Some(&format!("from={text}")), &["from"]).unwrap();
            let moment = query.moment("from").unwrap().unwrap();
            assert_eq!(guard::clock::rfc3339(moment), "2026-03-01T14:05:00.000Z", "{text}");
        }
        for text in ["2026-03-01", "1772373900", "now", "2026-13-01T00:00:00Z"] {
            assert!(Query::of(Some(&format!("from={text}")), &["from"]).unwrap().moment("from").is_err(), "{text}");
        }
    }

    #[test]
    fn a_parameter_that_would_be_ignored_by_mistake_is_refused() {
        for (unknown, meant) in [("compnay", "company"), ("status", "state")] {
            let refused = Query::of(Some(&format!("{unknown}=a")), &["company", "state"]).err().unwrap();
            let refused = refused.document("", "r");
            assert!(
                refused.contains(&format!("{unknown} is no parameter of this list; did you mean {meant}?")),
                "{refused}"
            );
        }
        let refused = Query::of(Some("x=a"), &["company", "state"]).err().unwrap().document("", "r");
        assert!(refused.contains("x is no parameter of this list; there are: company, state"), "{refused}");
        assert!(Query::of(Some("company=a&company=b"), &["company"]).unwrap().one("company").is_err());
        assert_eq!(Query::of(Some("company="), &["company"]).unwrap().one("company").unwrap(), None);
    }
}
