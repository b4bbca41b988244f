//! What goes wrong with one request, and how it is asked for.

use std::fmt;
use std::str::FromStr;

use axum::http::HeaderMap;

/// The header of a request that asks for faults: names from [`Fault::ALL`], separated by commas.
pub const FAULT_HEADER: &str = "Sandbox-Fault";

/// No fault waits longer, in milliseconds.
pub const WAIT_MILLISECONDS_MAX: u64 = 600_000;

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is cut before anything is written.
    CutBefore,
    /// The record is written; then the connection is cut: the answer is lost.
    CutAfter,
    /// 500, and nothing is written.
    FailBefore,
    /// The record is written, and the answer is 500 all the same.
    FailAfter,
    /// The record is written, and half of the answer arrives.
    HalfAnswer,
    /// The record is written, and the answer is a page that is no JSON.
    Garbage,
    /// So many milliseconds pass before anything is written.
    SlowBefore(u64),
    /// The record is written; so many milliseconds pass before the answer.
    SlowAfter(u64),
    /// 422 (403 for a search), and nothing is written.
    Refuse,
    /// 429, and nothing is written.
    TooMany,
    /// "Already exists", and nothing is written.
    Exists,
    /// Two records are written for one request.
    Twice,
    /// The record is void from its start.
    Void,
    /// Searches find the record only after so many milliseconds.
    Lag(u64),
    /// A search finds records that hold the text anywhere in their external reference.
    PartOfText,
    /// A page of the search has so many records.
    PageRecords(u32),
}

impl Fault {
    /// Every fault, with an example of its number.
    pub const ALL: [Self; 16] = [
        Self::CutBefore,
        Self::CutAfter,
        Self::FailBefore,
        Self::FailAfter,
        Self::HalfAnswer,
        Self::Garbage,
        Self::SlowBefore(2_000),
        Self::SlowAfter(2_000),
        Self::Refuse,
        Self::TooMany,
        Self::Exists,
        Self::Twice,
        Self::Void,
        Self::Lag(2_000),
        Self::PartOfText,
        Self::PageRecords(2),
    ];

    /// Its name, without its number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CutBefore => "cut_before",
            Self::CutAfter => "cut_after",
            Self::FailBefore => "fail_before",
            Self::FailAfter => "fail_after",
            Self::HalfAnswer => "half_answer",
            Self::Garbage => "garbage",
            Self::SlowBefore(_) => "slow_before",
            Self::SlowAfter(_) => "slow_after",
            Self::Refuse => "refuse",
            Self::TooMany => "too_many",
            Self::Exists => "exists",
            Self::Twice => "twice",
            Self::Void => "void",
            Self::Lag(_) => "lag",
            Self::PartOfText => "part_of_text",
            Self::PageRecords(_) => "page_records",
        }
    }

    /// Its number, where it has one.
    const fn number(self) -> Option<u64> {
        match self {
            Self::SlowBefore(number) | Self::SlowAfter(number) | Self::Lag(number) => Some(number),
            // Widening.
            Self::PageRecords(number) => Some(number as u64),
            Self::CutBefore
            | Self::CutAfter
            | Self::FailBefore
            | Self::FailAfter
            | Self::HalfAnswer
            | Self::Garbage
            | Self::Refuse
            | Self::TooMany
            | Self::Exists
            | Self::Twice
            | Self::Void
            | Self::PartOfText => None,
        }
    }

    /// What happens, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::CutBefore => "the connection is cut, nothing is written",
            Self::CutAfter => "written, then the connection is cut: the answer is lost",
            Self::FailBefore => "500, nothing is written",
            Self::FailAfter => "written, and answered 500",
            Self::HalfAnswer => "written, and half of the answer arrives",
            Self::Garbage => "written, and answered with a page that is no JSON",
            Self::SlowBefore(_) => "milliseconds until it is written",
            Self::SlowAfter(_) => "written, and milliseconds until the answer",
            Self::Refuse => "422 (a search: 403), nothing is written",
            Self::TooMany => "429, nothing is written",
            Self::Exists => "\"already exists\", nothing is written",
            Self::Twice => "two records for one request",
            Self::Void => "the record is void from its start",
            Self::Lag(_) => "milliseconds until searches find the record",
            Self::PartOfText => "a search matches parts of references too",
            Self::PageRecords(_) => "records on a page of a search",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())?;
        self.number().map_or(Ok(()), |number| write!(formatter, "={number}"))
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Reads `cut_after` or `slow_before=2000`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
        let known = Self::ALL.into_iter().find(|fault| fault.name() == name);
        let known = known.ok_or_else(|| {
            let names = Self::ALL.map(|fault| fault.to_string()).join(", ");
            format!("{name:?} is no fault; possible, with examples of numbers: {names}")
        })?;
        let number = match (known.number(), number) {
            (None, None) => return Ok(known),
            (None, Some(_)) => return Err(format!("{name} takes no number")),
            (Some(_), number) => number
                .and_then(|number| number.parse::<u64>().ok())
                .filter(|number| *number <= WAIT_MILLISECONDS_MAX)
                .ok_or_else(|| format!("{name} needs a number up to {WAIT_MILLISECONDS_MAX}, for example {known}"))?,
        };
        Ok(match known {
            Self::SlowBefore(_) => Self::SlowBefore(number),
            Self::SlowAfter(_) => Self::SlowAfter(number),
            Self::Lag(_) => Self::Lag(number),
            Self::PageRecords(_) => {
                let records = u32::try_from(number).ok().filter(|records| *records > 0);
                Self::PageRecords(records.ok_or_else(|| format!("{name} needs at least 1"))?)
            }
            Self::CutBefore
            | Self::CutAfter
            | Self::FailBefore
            | Self::FailAfter
            | Self::HalfAnswer
            | Self::Garbage
            | Self::Refuse
            | Self::TooMany
            | Self::Exists
            | Self::Twice
            | Self::Void
            | Self::PartOfText => known,
        })
    }
}

/// What a request does: rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `POST /tasks`.
    Create,
    /// `GET /tasks`, the first page.
    Search,
    /// `GET /tasks`, a further page.
    Page,
    /// `GET /tasks/{id}`.
    Read,
    /// `PATCH` and `DELETE /tasks/{id}`.
    Change,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 5] = [Self::Create, Self::Search, Self::Page, Self::Read, Self::Change];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Search => "search",
            Self::Page => "page",
            Self::Read => "read",
            Self::Change => "change",
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|step| step.as_str() == name);
        found.ok_or_else(|| format!("{name:?} is nothing that a request does; possible: {known}"))
    }
}

/// The faults of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    /// Those that the request asks for itself.
    pub(super) fn from_header(headers: &HeaderMap) -> Result<Self, String> {
        let mut faults = Self::default();
        for value in headers.get_all(FAULT_HEADER) {
            let text = value.to_str().map_err(|_| format!("{FAULT_HEADER} is not ASCII"))?;
            for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                faults.add(name.parse()?);
            }
        }
        Ok(faults)
    }

    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|fault| fault.name())
    }

    /// The longest wait before the write, in milliseconds.
    pub(super) fn before_milliseconds(&self) -> u64 {
        self.longest(|fault| if let Fault::SlowBefore(wait) = fault { Some(wait) } else { None })
    }

    /// The longest wait after it, in milliseconds.
    pub(super) fn after_milliseconds(&self) -> u64 {
        self.longest(|fault| if let Fault::SlowAfter(wait) = fault { Some(wait) } else { None })
    }

    /// How long searches do not find the record, in milliseconds; at least what is the setting.
    pub(super) fn lag_milliseconds(&self, setting: u64) -> u64 {
        self.longest(|fault| if let Fault::Lag(lag) = fault { Some(lag) } else { None }).max(setting)
    }

    /// How many records a page has.
    pub(super) fn page_records(&self, otherwise: u32) -> u32 {
        let asked = self.0.iter().find_map(|fault| if let Fault::PageRecords(n) = fault { Some(*n) } else { None });
        asked.unwrap_or(otherwise)
    }

    fn longest(&self, of: impl Fn(Fault) -> Option<u64>) -> u64 {
        self.0.iter().filter_map(|fault| of(*fault)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_read_as_it_is_written() {
        for fault in Fault::ALL {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        for step in Step::ALL {
            assert_eq!(step.as_str().parse(), Ok(step));
        }
    }

    #[test]
    fn a_mistyped_fault_is_refused() {
        for wrong in ["", "cut", "slow_before", "slow_before=", "slow_before=soon", "slow_before=600001", "refuse=1"] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
        assert!("page_records=0".parse::<Fault>().is_err());
    }

    #[test]
    fn a_header_names_several() {
        let mut headers = HeaderMap::new();
        headers.append(FAULT_HEADER, "slow_before=10, slow_before=20,cut_after".parse().unwrap());
        headers.append(FAULT_HEADER, "lag=5".parse().unwrap());
        let faults = Faults::from_header(&headers).unwrap();
        assert!(faults.has(Fault::CutAfter) && !faults.has(Fault::CutBefore));
        assert_eq!((faults.before_milliseconds(), faults.after_milliseconds()), (20, 0));
        assert_eq!((faults.lag_milliseconds(0), faults.lag_milliseconds(9), faults.page_records(7)), (5, 9, 7));
    }
}
