//! The configuration file: workflows, destinations, notifications and, in `[server]`, settings of the process.
//!
//! It is read as a whole or not at all. Every fault says which file, line and key, and how to mend it.

mod fault;
mod place;
mod text;

use std::path::Path;

use guard::destination::{Destination, LIST_PLACEHOLDERS, PLACEHOLDERS};
use guard::notification::Channel;
use guard::reconciliation::FIELDS;
use guard::service::Definitions;
use guard::workflow::Workflow;
use serde_json_path::JsonPath;

use crate::destination::secret::{self, HeaderFault};
use crate::destination::template;

pub use fault::{ConfigFault, Place};
use place::Tree;
pub use text::{effective, export};

/// A configuration file has at most this many bytes: it is written by hand.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Settings of the process; flags and the environment win over them.
    pub server: ServerTable,
    /// Workflows, destinations and channels of notifications.
    pub definitions: Definitions,
    /// The file's name and text, to say where something stands.
    source: (String, String),
}

/// The table `[server]`: settings of the process, each of which may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    /// `sqlite://PATH` or `postgres://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// `ADDRESS:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The address under which people and automations reach the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// How many reverse proxies stand before the server; what they write into `X-Forwarded-For` is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_proxies: Option<u32>,
    /// Whether `/metrics` answers without a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_open: Option<bool>,
    /// The greatest body of a request, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes_max: Option<usize>,
    /// The greatest body of a batch, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_bytes_max: Option<usize>,
    /// How often one token may ask per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<u32>,
    /// How many connections are served at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u32>,
    /// For how many days calls of the API are kept; 0: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_days: Option<u32>,
    /// What is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How it is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_format: Option<String>,
}

/// The shape of the file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: ServerTable,
    #[serde(default)]
    workflow: Vec<Workflow>,
    #[serde(default)]
    destination: Vec<Destination>,
    #[serde(default)]
    notification: Vec<Channel>,
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn read(path: &Path) -> Result<Self, ConfigFault> {
        let file = path.display().to_string();
        let unreadable = |reason: String| ConfigFault { file: file.clone(), place: None, key: None, message: reason };
        let size = std::fs::metadata(path).map_err(|error| unreadable(format!("cannot be read: {error}")))?.len();
        if size > FILE_BYTES_MAX {
            return Err(unreadable(format!("has over {FILE_BYTES_MAX} bytes; that is no configuration file")));
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(format!("is not UTF-8 from byte {} on; save it as UTF-8", error.utf8_error().valid_up_to()))
        })?;
        Self::parse(&file, &text)
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// The first fault of the text.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigFault> {
        let read: File = toml::from_str(text).map_err(|error| fault::of_shape(file, text, &error))?;
        let definitions =
            Definitions { workflows: read.workflow, destinations: read.destination, channels: read.notification };
        let at = |table: &str, index: Option<usize>, key: &str, message: String| {
            let found = Tree::of(text).and_then(|tree| tree.nearest(table, index, key));
            ConfigFault {
                file: file.to_owned(),
                place: found.map(|offset| Place::of(text, offset)),
                key: Some(format!("{table}.{key}")),
                message,
            }
        };
        if let Err((key, message)) = crate::settings::check(&read.server) {
            return Err(at("server", None, key, message));
        }
        if let Err((kind, index, fault)) = definitions.validate() {
            return Err(at(kind, Some(index), fault.key, fault.message));
        }
        if let Some((kind, index, key, message)) = json_paths(&definitions).find_map(wrong_json_path) {
            return Err(at(kind, Some(index), key, message));
        }
        if let Some((index, key, message)) = wrong_template(&definitions) {
            return Err(at("destination", Some(index), key, message));
        }
        Ok(Self { server: read.server, definitions, source: (file.to_owned(), text.to_owned()) })
    }

    /// What is wrong with a key of a workflow, where that was found out later than by reading the file.
    pub fn fault_of_workflow(&self, workflow: &str, key: &str, message: String) -> ConfigFault {
        let (file, text) = &self.source;
        let index = self.definitions.workflows.iter().position(|known| known.name.as_str() == workflow);
        let found = Tree::of(text).and_then(|tree| tree.nearest("workflow", index, key));
        ConfigFault {
            file: file.clone(),
            place: found.map(|offset| Place::of(text, offset)),
            key: Some(format!("workflow.{key}")),
            message,
        }
    }

    /// Where destinations and channels of notifications stand for secrets that cannot be read here.
    pub fn missing_secrets(&self) -> Vec<ConfigFault> {
        let (file, text) = &self.source;
        let tree = Tree::of(text);
        let mut missing = Vec::new();
        for (index, destination) in self.definitions.destinations.iter().enumerate() {
            for HeaderFault { header, message } in secret::headers(destination).err().into_iter().flatten() {
                let key = format!("headers.{header}");
                let offset = tree.as_ref().and_then(|tree| tree.nearest("destination", Some(index), &key));
                missing.push(ConfigFault {
                    file: file.clone(),
                    place: offset.map(|offset| Place::of(text, offset)),
                    key: Some(format!("destination.{key}")),
                    message,
                });
            }
        }
        for (index, channel) in self.definitions.channels.iter().enumerate() {
            for (key, message) in crate::notification::faults(channel) {
                let offset = tree.as_ref().and_then(|tree| tree.nearest("notification", Some(index), key));
                missing.push(ConfigFault {
                    file: file.clone(),
                    place: offset.map(|offset| Place::of(text, offset)),
                    key: Some(format!("notification.{key}")),
                    message,
                });
            }
        }
        missing
    }
}

type KeyedPath<'a> = (&'static str, usize, &'static str, &'a str);

/// Every RFC 9535 path of the definitions, with where it stands.
fn json_paths(definitions: &Definitions) -> impl Iterator<Item = KeyedPath<'_>> {
    let of_workflows = definitions.workflows.iter().enumerate().flat_map(|(index, workflow)| {
        workflow.key_fields.iter().map(move |field| ("workflow", index, "key_fields", field.record.as_str()))
    });
    let of_destinations = definitions.destinations.iter().enumerate().flat_map(|(index, destination)| {
        let create = destination.create.as_ref().map(|create| ("create.reference", create.reference.as_str()));
        let lookup = destination.lookup.iter().flat_map(|lookup| {
            let next_page = lookup.next_page.as_deref().map(|path| ("lookup.next_page", path));
            let void = lookup.void.as_ref().map(|void| ("lookup.void.path", void.path.as_str()));
            [
                ("lookup.records", lookup.records.as_str()),
                ("lookup.external_reference", lookup.external_reference.as_str()),
                ("lookup.reference", lookup.reference.as_str()),
            ]
            .into_iter()
            .chain(next_page)
            .chain(void)
        });
        let list = destination.list.iter().flat_map(|list| {
            // Columns may be named in other ways as well.
            let of_record = FIELDS.into_iter().filter_map(|field| list.record.column(field));
            let of_record = of_record.chain(list.record.fields.values().map(String::as_str));
            let of_record = of_record.filter(|column| column.starts_with('$')).map(|path| ("list.record", path));
            [("list.records", Some(&list.records)), ("list.next_page", list.next_page.as_ref())]
                .into_iter()
                .chain([("list.company", list.company.as_ref())])
                .filter_map(|(key, path)| Some((key, path?.as_str())))
                .chain(of_record)
        });
        create.into_iter().chain(lookup).chain(list).map(move |(key, path)| ("destination", index, key, path))
    });
    of_workflows.chain(of_destinations)
}

/// The first destination with a path that is no template, its key, and why.
fn wrong_template(definitions: &Definitions) -> Option<(usize, &'static str, String)> {
    definitions.destinations.iter().enumerate().find_map(|(index, destination)| {
        let lookup = destination.lookup.iter().map(|lookup| ("lookup.path", &lookup.path, &PLACEHOLDERS[..]));
        let list = destination.list.iter().map(|list| ("list.path", &list.path, &LIST_PLACEHOLDERS[..]));
        lookup.chain(list).find_map(|(key, path, possible)| Some((index, key, template::check(path, possible).err()?)))
    })
}

fn wrong_json_path((kind, index, key, path): KeyedPath<'_>) -> Option<(&'static str, usize, &'static str, String)> {
    check_json_path(path).err().map(|message| (kind, index, key, message))
}

/// Checks a path into a record.
///
/// # Errors
/// What is wrong with it, and from which character on.
pub fn check_json_path(path: &str) -> Result<(), String> {
    let Err(wrong) = JsonPath::parse(path) else { return Ok(()) };
    let place = wrong.position() + 1;
    Err(format!("{path:?} is no JSONPath (RFC 9535) from its character {place} on; it looks like \"$.items[*].id\""))
}
