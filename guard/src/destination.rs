//! Destinations: how to create there, how to look up, how answers are read; as the configuration file writes them.

use std::collections::BTreeMap;

use crate::key::KeyPart;
use crate::reconciliation::Mapping;
use crate::workflow::DefinitionFault;

/// How long an answer of a destination is awaited where nothing is said, in seconds.
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 10;

/// The longest timeout, in seconds.
pub const TIMEOUT_SECONDS_MAX: u32 = 300;

/// The methods that a profile may use.
pub const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// The methods by which a lookup may ask: none that is meant to change something.
pub const LOOKUP_METHODS: [&str; 2] = ["GET", "POST"];

/// How often a destination is asked per second by recovery where nothing is said.
pub const LOOKUPS_PER_SECOND_DEFAULT: u32 = 10;

/// No profile may let recovery ask more often per second.
pub const LOOKUPS_PER_SECOND_MAX: u32 = 1_000;

/// Stands for a value that is not shown.
pub const MASK: &str = "********";

/// What a lookup's path may hold in `{{ … }}`; of the payload a member of it.
pub const PLACEHOLDERS: [&str; 8] =
    ["external_reference", "document", "company", "source_system", "action", "revision", "idempotency_key", "payload"];

/// What a list's path may hold in `{{ … }}`: the company, and the period as moments in UTC (`2026-03-01T00:00:00.000Z`; the first ten
/// characters, `{{ from[:10] }}`, are the day).
pub const LIST_PLACEHOLDERS: [&str; 3] = ["company", "from", "to"];

/// The methods by which a list may be asked for.
pub const LIST_METHODS: [&str; 1] = ["GET"];

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
    /// How often recovery asks it per second, whatever waits; [`LOOKUPS_PER_SECOND_DEFAULT`] where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookups_per_second: Option<u32>,
    /// How a record is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Create>,
    /// How a record is found; left out: every uncertain case goes to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
    /// How its records are listed; left out: they are handed in as files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<List>,
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

/// How records are listed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The method.
    #[serde(default = "list_method_default")]
    pub method: String,
    /// The path below the base address, a template.
    pub path: String,
    /// Where the records stand in the answer (RFC 9535).
    pub records: String,
    /// Where the address of the next page stands in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<String>,
    /// Where a record says its company; those of others are left out. Left out: the path asks for one company's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Where a record holds what, as for a JSON file; what is left out is found where the lookup finds it.
    #[serde(default, skip_serializing_if = "Mapping::is_empty")]
    pub record: Mapping,
}

fn list_method_default() -> String {
    LIST_METHODS.concat()
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
    /// How often recovery asks it per second.
    pub fn lookups_per_second(&self) -> u32 {
        self.lookups_per_second.unwrap_or(LOOKUPS_PER_SECOND_DEFAULT)
    }

    /// The profile as it may be shown: where a secret is found stays, a header's value that stands in the profile itself is masked.
    #[must_use]
    pub fn masked(mut self) -> Self {
        for value in self.headers.values_mut() {
            if !value.starts_with("env:") && !value.starts_with("file:") {
                MASK.clone_into(value);
            }
        }
        self
    }

    /// Checks what the shape alone cannot say. Whether a JSONPath is one is checked where they are evaluated.
    ///
    /// # Errors
    /// The first key that contradicts a limit or another key, with its table: `create.path`.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        if let Err(wrong) = KeyPart::new(self.name.as_str()) {
            return Err(DefinitionFault::new("name", format!("is {:?}: {wrong}", self.name)));
        }
        check_base_url(&self.base_url)?;
        if !(1..=TIMEOUT_SECONDS_MAX).contains(&self.timeout_seconds) {
            return Err(DefinitionFault::new(
                "timeout_seconds",
                format!("is {}; write 1 to {TIMEOUT_SECONDS_MAX} seconds", self.timeout_seconds),
            ));
        }
        if self.lookups_per_second.is_some_and(|number| !(1..=LOOKUPS_PER_SECOND_MAX).contains(&number)) {
            let message = format!("is out of bounds; write 1 to {LOOKUPS_PER_SECOND_MAX}");
            return Err(DefinitionFault::new("lookups_per_second", message));
        }
        for (name, value) in &self.headers {
            check_header_name("headers", name)?;
            let secret = value.strip_prefix("env:").or_else(|| value.strip_prefix("file:"));
            if secret.is_some_and(str::is_empty) || value.chars().any(char::is_control) {
                let message = format!(
                    "gives {name} no readable value; write \"env:NAME\" or \"file:PATH\", or a text of one line"
                );
                return Err(DefinitionFault::new("headers", message));
            }
        }
        if let Some(name) = &self.idempotency_header {
            check_header_name("idempotency_header", name)?;
        }
        if let Some(create) = &self.create {
            create.validate()?;
        }
        if let Some(lookup) = &self.lookup {
            lookup.validate()?;
        }
        if let Some(list) = &self.list {
            list.validate(self.lookup.is_some())?;
        }
        Ok(())
    }
}

impl Create {
    fn validate(&self) -> Result<(), DefinitionFault> {
        check_method("create.method", &self.method, &METHODS)?;
        check_path("create.path", &self.path)?;
        if self.confirmed.is_empty() {
            let message = "is empty; name the statuses that mean success, for example [\"200-299\"]";
            return Err(DefinitionFault::new("create.confirmed", message));
        }
        if let Some(name) = &self.external_reference_header {
            check_header_name("create.external_reference_header", name)?;
        }
        check_statuses(&[
            ("create.confirmed", &self.confirmed),
            ("create.failed", &self.failed),
            ("create.exists", &self.exists),
        ])
    }
}

impl Lookup {
    fn validate(&self) -> Result<(), DefinitionFault> {
        check_method("lookup.method", &self.method, &LOOKUP_METHODS)?;
        check_path("lookup.path", &self.path)?;
        check_placeholders("lookup.path", &self.path, &PLACEHOLDERS)?;
        if self.void.as_ref().is_some_and(|void| void.values.is_empty()) {
            return Err(DefinitionFault::new("lookup.void.values", "is empty; name the values that mean void"));
        }
        check_statuses(&[("lookup.inconclusive", &self.inconclusive), ("lookup.absent", &self.absent)])
    }
}

impl List {
    fn validate(&self, has_lookup: bool) -> Result<(), DefinitionFault> {
        check_method("list.method", &self.method, &LIST_METHODS)?;
        check_path("list.path", &self.path)?;
        check_placeholders("list.path", &self.path, &LIST_PLACEHOLDERS)?;
        if self.company.is_none() && !self.path.contains("company") {
            let message = "asks for no company; write {{ company }} into the path, or say with list.company where a record names \
                           its own: a document's number means nothing without it";
            return Err(DefinitionFault::new("list.path", message));
        }
        let Mapping { format, delimiter, encoding, destination_reference, external_reference, .. } = &self.record;
        if format.is_some() || delimiter.is_some() || encoding.is_some() {
            let message =
                "says how a file is written (format, delimiter, encoding); a list is JSON in UTF-8, leave that out";
            return Err(DefinitionFault::new("list.record", message));
        }
        if !has_lookup && destination_reference.is_none() && external_reference.is_none() {
            let message = "says neither destination_reference nor external_reference, and there is no lookup that does";
            return Err(DefinitionFault::new("list.record", message));
        }
        let of_list = |fault: DefinitionFault| {
            let key = fault.key.trim_start_matches("reconciliation.");
            DefinitionFault::new("list.record", format!("{key} {}", fault.message))
        };
        self.record.validate().map_err(of_list)
    }
}

fn check_base_url(address: &str) -> Result<(), DefinitionFault> {
    let fault = |message: &str| Err(DefinitionFault::new("base_url", message));
    let Some(rest) = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://")) else {
        return fault("does not start with https:// or http://");
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.contains('@') {
        return fault("holds a user or a password; write them as a header, for example Authorization = \"env:NAME\"");
    }
    if host.is_empty() || rest.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return fault("names no host; it looks like https://ledger.example/api");
    }
    if rest.contains(['?', '#']) {
        return fault("holds a query or a fragment; write those into the paths");
    }
    Ok(())
}

fn check_header_name(key: &'static str, name: &str) -> Result<(), DefinitionFault> {
    // A token of RFC 9110, section 5.6.2.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_token) {
        return Ok(());
    }
    Err(DefinitionFault::new(key, format!("names the header {name:?}; a header's name is letters, digits and \"-\"")))
}

fn check_method(key: &'static str, method: &str, possible: &[&str]) -> Result<(), DefinitionFault> {
    if possible.contains(&method) {
        return Ok(());
    }
    Err(DefinitionFault::new(key, format!("is {method:?}; possible: {}", possible.join(", "))))
}

fn check_path(key: &'static str, path: &str) -> Result<(), DefinitionFault> {
    if path.starts_with('/') && !path.chars().any(char::is_control) {
        return Ok(());
    }
    Err(DefinitionFault::new(key, format!("is {path:?}; a path starts with \"/\" and lies below base_url")))
}

/// Looks at the names in `{{ … }}` alone; what else stands there is the template engine's.
fn check_placeholders(key: &'static str, template: &str, possible: &[&str]) -> Result<(), DefinitionFault> {
    for part in template.split("{{").skip(1) {
        let Some((expression, _)) = part.split_once("}}") else {
            return Err(DefinitionFault::new(key, "opens \"{{\" without \"}}\""));
        };
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let expression = expression.trim();
        let name = expression.split(|character| !is_name(character)).next().unwrap_or_default();
        if !possible.contains(&name) {
            let message = format!("has {{{{ {expression} }}}}; possible: {}", possible.join(", "));
            return Err(DefinitionFault::new(key, message));
        }
    }
    Ok(())
}

/// Every status is one or a range, and none stands under two keys.
fn check_statuses(lists: &[(&'static str, &Vec<String>)]) -> Result<(), DefinitionFault> {
    let mut taken: Vec<(u16, u16, &str, &str)> = Vec::new();
    for &(key, ranges) in lists {
        for range in ranges {
            let Some((first, last)) = status_range(range) else {
                let message = format!("holds {range:?}; write a status as \"404\" or a range as \"400-404\"");
                return Err(DefinitionFault::new(key, message));
            };
            let other = taken.iter().find(|&&(start, end, by, _)| by != key && first <= end && start <= last);
            if let Some((_, _, by, theirs)) = other {
                let message = format!("holds {range:?}, and {by} holds {theirs:?}; an answer means one thing");
                return Err(DefinitionFault::new(key, message));
            }
            taken.push((first, last, key, range));
        }
    }
    Ok(())
}

/// Whether a status is among those of a list; the list was checked before.
pub fn among(ranges: &[String], status: u16) -> bool {
    ranges.iter().filter_map(|range| status_range(range)).any(|(first, last)| (first..=last).contains(&status))
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

    fn destination() -> Destination {
        Destination {
            name: "ledger".to_owned(),
            base_url: "https://ledger.example/api".to_owned(),
            timeout_seconds: TIMEOUT_SECONDS_DEFAULT,
            finality_seconds: None,
            headers: BTreeMap::new(),
            idempotency_header: None,
            idempotency_ttl_seconds: None,
            lookups_per_second: None,
            create: Some(Create {
                method: "POST".to_owned(),
                path: "/tasks".to_owned(),
                reference: "$.id".to_owned(),
                confirmed: vec!["200-299".to_owned()],
                failed: vec!["400-404".to_owned()],
                exists: vec!["409".to_owned()],
                external_reference_header: None,
                external_reference_pointer: None,
            }),
            lookup: Some(Lookup {
                method: "GET".to_owned(),
                path: "/tasks?external_reference={{ external_reference }}&of={{payload.customer}}".to_owned(),
                records: "$[*]".to_owned(),
                external_reference: "$.external_reference".to_owned(),
                reference: "$.id".to_owned(),
                next_page: None,
                void: None,
                inconclusive: vec!["500-599".to_owned()],
                absent: vec!["404".to_owned()],
            }),
            list: Some(List {
                method: list_method_default(),
                path: "/tasks?company={{ company }}&since={{ from[:10] }}".to_owned(),
                records: "$[*]".to_owned(),
                next_page: None,
                company: None,
                record: Mapping::default(),
            }),
        }
    }

    #[test]
    fn contradictions_are_named_with_their_table() {
        let fault = |change: &dyn Fn(&mut Destination)| {
            let mut destination = destination();
            change(&mut destination);
            destination.validate().unwrap_err().key
        };
        assert_eq!(destination().validate(), Ok(()));
        assert_eq!(fault(&|destination| destination.name.clear()), "name");
        assert_eq!(fault(&|destination| destination.base_url = "ledger.example".into()), "base_url");
        assert_eq!(fault(&|destination| destination.base_url = "https://a:b@ledger.example".into()), "base_url");
        assert_eq!(fault(&|destination| destination.base_url = "https:///api".into()), "base_url");
        assert_eq!(fault(&|destination| destination.timeout_seconds = 301), "timeout_seconds");
        assert_eq!(fault(&|destination| destination.lookups_per_second = Some(0)), "lookups_per_second");
        assert_eq!(fault(&|destination| _ = destination.headers.insert("X Y".into(), "z".into())), "headers");
        assert_eq!(fault(&|destination| _ = destination.headers.insert("X".into(), "env:".into())), "headers");
        let create =
            |change: &dyn Fn(&mut Create)| fault(&|destination| destination.create.iter_mut().for_each(change));
        assert_eq!(create(&|create| create.method = "post".into()), "create.method");
        assert_eq!(create(&|create| create.path = "tasks".into()), "create.path");
        assert_eq!(create(&|create| create.confirmed.clear()), "create.confirmed");
        assert_eq!(create(&|create| create.failed.push("4xx".into())), "create.failed");
        assert_eq!(create(&|create| create.exists.push("404".into())), "create.exists");
        let lookup =
            |change: &dyn Fn(&mut Lookup)| fault(&|destination| destination.lookup.iter_mut().for_each(change));
        assert_eq!(lookup(&|lookup| lookup.path = "/tasks/{{ secret }}".into()), "lookup.path");
        assert_eq!(lookup(&|lookup| lookup.path = "/tasks/{{ document".into()), "lookup.path");
        assert_eq!(lookup(&|lookup| lookup.absent.push("503".into())), "lookup.absent");
        let list = |change: &dyn Fn(&mut List)| fault(&|destination| destination.list.iter_mut().for_each(change));
        assert_eq!(list(&|list| list.method = "POST".into()), "list.method");
        assert_eq!(list(&|list| list.path = "/tasks?company={{ company }}&of={{ document }}".into()), "list.path");
        assert_eq!(list(&|list| list.path = "/tasks".into()), "list.path", "of which company?");
        assert_eq!(list(&|list| list.record.delimiter = Some(";".into())), "list.record");
        assert_eq!(list(&|list| list.record.every_currency = Some("EURO".into())), "list.record");
        let blind = |destination: &mut Destination| destination.lookup = None;
        assert_eq!(fault(&blind), "list.record", "nothing says where a reference stands");
    }
}
