//! Destinations: how to create there, how to look up, how answers are read; as the configuration file writes them.

use std::collections::BTreeMap;

use crate::workflow::DefinitionFault;

/// How long an answer of a destination is awaited where nothing is said, in seconds.
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 10;

/// The longest timeout, in seconds.
pub const TIMEOUT_SECONDS_MAX: u32 = 300;

/// The other system, and its profile.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// Its name.
    pub name: String,
    /// The address under which its paths lie.
    pub base_url: String,
    /// How long an answer is awaited, in seconds.
    #[serde(default = "timeout_seconds_default")]
    pub timeout_seconds: u32,
    /// A negative lookup is proof only this long after the last possible write, in seconds; left out: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finality_seconds: Option<u32>,
    /// Headers of every request; `env:NAME` and `file:PATH` stand for secrets that are read at start and never shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The header in which it takes an idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// How long it remembers such a key, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_ttl_seconds: Option<u32>,
    /// How a record is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Create>,
    /// How a record is found; left out: every uncertain case goes to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
}

/// How a record is created.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The method.
    pub method: String,
    /// The path below the base address.
    pub path: String,
    /// Where the destination reference stands in the answer (RFC 9535).
    pub reference: String,
    /// Statuses that mean confirmed, as `200` or `200-299`.
    pub confirmed: Vec<String>,
    /// Statuses that prove that nothing was applied.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Statuses that mean that it exists already, which starts a lookup.
    #[serde(default)]
    pub exists: Vec<String>,
    /// The header that carries the external reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_reference_header: Option<String>,
    /// Where the external reference is put into a JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_reference_pointer: Option<crate::pointer::Pointer>,
}

/// How a record is found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// The method.
    pub method: String,
    /// The path below the base address, a template.
    pub path: String,
    /// Where the records stand in the answer (RFC 9535).
    pub records: String,
    /// Where the external reference stands in a record.
    pub external_reference: String,
    /// Where the destination reference stands in a record.
    pub reference: String,
    /// Where the address of the next page stands in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<String>,
    /// Which records are void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Void>,
    /// Statuses from which nothing follows.
    #[serde(default)]
    pub inconclusive: Vec<String>,
    /// Statuses that mean that there is no such record.
    #[serde(default)]
    pub absent: Vec<String>,
}

/// Which records are void.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Void {
    /// Where a record says so (RFC 9535).
    pub path: String,
    /// The values that mean void.
    pub values: Vec<String>,
}

const fn timeout_seconds_default() -> u32 {
    TIMEOUT_SECONDS_DEFAULT
}

impl Destination {
    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first key that contradicts a limit.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        if !(self.base_url.starts_with("https://") || self.base_url.starts_with("http://")) {
            return Err(DefinitionFault::new("base_url", "does not start with https:// or http://"));
        }
        if !(1..=TIMEOUT_SECONDS_MAX).contains(&self.timeout_seconds) {
            return Err(DefinitionFault::new("timeout_seconds", format!("is not within 1 to {TIMEOUT_SECONDS_MAX}")));
        }
        let statuses = self
            .create
            .iter()
            .flat_map(|create| {
                [("confirmed", &create.confirmed), ("failed", &create.failed), ("exists", &create.exists)]
            })
            .chain(
                self.lookup
                    .iter()
                    .flat_map(|lookup| [("inconclusive", &lookup.inconclusive), ("absent", &lookup.absent)]),
            );
        for (key, ranges) in statuses {
            if let Some(wrong) = ranges.iter().find(|range| status_range(range).is_none()) {
                return Err(DefinitionFault::new(
                    key,
                    format!("holds {wrong:?}; write a status as \"404\" or a range as \"400-404\""),
                ));
            }
        }
        Ok(())
    }
}

/// The first and last status of `200` or `200-299`.
pub fn status_range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let status = |text: &str| text.parse().ok().filter(|status| (100..=599).contains(status));
    let (first, last) = (status(first)?, status(last)?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_or_ranges() {
        assert_eq!(status_range("404"), Some((404, 404)));
        assert_eq!(status_range("400-404"), Some((400, 404)));
        for wrong in ["", "4xx", "404-400", "99", "600", "200-", "-1"] {
            assert_eq!(status_range(wrong), None, "{wrong}");
        }
    }
}
