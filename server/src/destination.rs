//! Asks and tells destinations: looks whether a record is there, and creates one.
//!
//! A destination gets one client, made when it is first used or its profile has changed; that is also when its secrets are read.
//! Nothing is ever sent twice from here.

pub mod client;
pub mod effect;
pub mod list;
mod look;
mod page;
pub mod read;
pub mod secret;
pub mod template;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use app::context::Lookups;
use bytes::Bytes;
use guard::clock::Timestamp;
use guard::destination::Destination;
use guard::lookup::{AnswerClass, Finding, Looked, Trial, Wanted};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::store::Catalogue;
use guard::workflow::Workflow;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use url::Url;

use client::{Client, Failed, send};
use list::{Listing, Unlisted, setup};
use look::{Look, Reader};
use secret::HeaderFault;
use template::Values;

pub use page::{PAGE_BYTES_MAX, PAGES_MAX};

/// The answer to a creation is read up to this many bytes.
pub const CREATED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The destinations that are asked. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Destinations {
    prepared: Arc<Mutex<HashMap<String, Arc<Prepared>>>>,
}

/// A destination that can be asked. Holds secrets, and shows itself to nobody.
struct Prepared {
    destination: Destination,
    client: Client,
    headers: HeaderMap,
}

impl Prepared {
    fn of(destination: &Destination) -> Result<Self, String> {
        let in_words = |fault: HeaderFault| format!("headers.{}: {}", fault.header, fault.message);
        let headers = secret::headers(destination)
            .map_err(|faults| faults.into_iter().map(in_words).collect::<Vec<_>>().join("; "))?;
        Ok(Self { client: client::client(destination)?, headers, destination: destination.clone() })
    }

    /// The address of a path below the base address.
    fn url(&self, path: &str) -> Result<Url, String> {
        let address = format!("{}{path}", self.destination.base_url.trim_end_matches('/'));
        Url::parse(&address).map_err(|error| format!("the address cannot be made: {error}"))
    }
}

/// A request to a destination.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The path below the base address, with its query.
    pub path: String,
    /// The headers; those of the profile are added, and win.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// What became of a request.
#[derive(Debug)]
pub enum Sent {
    /// An answer came.
    Answer {
        /// Its status.
        status: StatusCode,
        /// Its headers.
        headers: HeaderMap,
        /// Its body, or why it did not come whole.
        body: Result<Bytes, String>,
    },
    /// Proven: not a byte was written.
    NotSent {
        /// What happened, in a sentence.
        reason: String,
    },
    /// No answer came; it may have had its effect.
    Lost {
        /// What happened, in a sentence.
        reason: String,
    },
}

impl Destinations {
    /// Prepares every destination, so that what is missing is told at the start.
    ///
    /// # Errors
    /// A sentence for each destination that cannot be asked from here. No secret is in it.
    pub fn prepare(&self, catalogue: &Catalogue) -> Result<(), Vec<String>> {
        let fault = |destination: &Destination| {
            let fault = self.prepared(destination).err()?;
            Some(format!("the destination {}: {fault}", destination.name))
        };
        let faults: Vec<String> = catalogue.destinations.values().filter_map(fault).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Looks whether the destination holds the operation's record. Never fails: what goes wrong is inconclusive, with its reason.
    pub async fn look_up(
        &self,
        destination: &Destination,
        workflow: &Workflow,
        operation: &Operation,
        payload: Option<&Payload>,
    ) -> Trial {
        let external_reference = operation.external_reference();
        let wanted = Wanted::at(destination, &external_reference, &workflow.key_fields, payload);
        self.look(destination, wanted, &Values::of(operation, payload)).await
    }

    /// Looks for an external reference that somebody typed, without an operation to compare with.
    pub async fn look_for(&self, destination: &Destination, external_reference: &str) -> Trial {
        let wanted = Wanted::at(destination, external_reference, &[], None);
        self.look(destination, wanted, &Values::reference(external_reference)).await
    }

    async fn look(&self, destination: &Destination, wanted: Wanted<'_>, values: &Values) -> Trial {
        let Some(lookup) = &destination.lookup else {
            return unasked("", "the destination has no lookup".to_owned());
        };
        let method = &lookup.method;
        let path = match template::path(&lookup.path, values) {
            Ok(path) => path,
            Err(reason) => {
                return unasked(&format!("{method} {}", lookup.path), format!("the path cannot be made: {reason}"));
            }
        };
        let request = format!("{method} {path}");
        let prepared = match self.prepared(destination) {
            Ok(prepared) => prepared,
            Err(reason) => return unasked(&request, reason),
        };
        let key_fields = wanted.key_fields.iter().map(|field| field.record.as_str());
        match Reader::of(lookup, key_fields) {
            Ok(reader) => Look::new(&prepared, lookup, &reader, wanted).run(&path).await,
            Err(reason) => unasked(&request, reason),
        }
    }

    /// The list of what the destination holds of a company, from one moment to another. Nothing was asked yet when this answers.
    ///
    /// # Errors
    /// The destination has no list, or its profile cannot be followed.
    pub fn list(
        &self,
        destination: &Destination,
        company: &str,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Listing, Unlisted> {
        let Some(list) = &destination.list else { return Err(setup("the destination has no list")) };
        let path = template::path(&list.path, &Values::period(company, from, to));
        let path = path.map_err(|reason| setup(format!("the path cannot be made: {reason}")))?;
        let prepared = self.prepared(destination).map_err(setup)?;
        Listing::at(&prepared, list, &path, company)
    }

    /// Sends a request once: what creates a record, above all.
    pub async fn send(&self, destination: &Destination, outgoing: Outgoing) -> Sent {
        let prepared = match self.prepared(destination) {
            Ok(prepared) => prepared,
            Err(reason) => return Sent::NotSent { reason },
        };
        let url = match prepared.url(&outgoing.path) {
            Ok(url) => url,
            Err(reason) => return Sent::NotSent { reason },
        };
        let request = Request::builder().method(outgoing.method).uri(url.as_str()).body(Full::new(outgoing.body));
        let mut request = match request {
            Ok(request) => request,
            Err(error) => return Sent::NotSent { reason: format!("the address cannot be asked: {error}") },
        };
        *request.headers_mut() = outgoing.headers;
        request.headers_mut().extend(prepared.headers.clone());
        let time = Duration::from_secs(destination.timeout_seconds.into());
        match send(&prepared.client, request, time, CREATED_BYTES_MAX).await {
            Ok(answer) => Sent::Answer {
                status: answer.status,
                headers: answer.headers,
                body: answer.body.map_err(|failed| failed.reason),
            },
            Err(Failed { is_unsent: true, reason, .. }) => Sent::NotSent { reason },
            Err(Failed { is_unsent: false, reason, .. }) => Sent::Lost { reason },
        }
    }

    /// The destination, ready to be asked; made anew where its profile is not the one that was prepared.
    fn prepared(&self, destination: &Destination) -> Result<Arc<Prepared>, String> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.get(&destination.name).filter(|known| known.destination == *destination) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Prepared::of(destination)?);
        prepared.insert(destination.name.clone(), Arc::clone(&made));
        Ok(made)
    }
}

#[async_trait::async_trait]
impl Lookups for Destinations {
    async fn look_up(
        &self,
        destination: &Destination,
        workflow: &Workflow,
        operation: &Operation,
        payload: Option<&Payload>,
    ) -> Trial {
        Self::look_up(self, destination, workflow, operation, payload).await
    }

    fn check_path(&self, path: &str) -> Result<(), String> {
        crate::config::check_json_path(path)
    }

    fn value_at(&self, path: &str, record: &guard::json::Json) -> Option<guard::json::Json> {
        let path = serde_json_path::JsonPath::parse(path).ok()?;
        let answer = read::Answer::of(record.clone());
        match answer.select(&path).as_slice() {
            [value] => Some((*value).clone()),
            _ => None,
        }
    }

    async fn look_for(&self, destination: &Destination, external_reference: &str) -> Trial {
        Self::look_for(self, destination, external_reference).await
    }
}

/// A look that was not even begun.
fn unasked(request: &str, reason: String) -> Trial {
    let looked = Looked {
        request: request.to_owned(),
        status: None,
        pages: 0,
        took_milliseconds: 0,
        finding: Finding::Inconclusive { class: AnswerClass::Setup, reason },
        candidates: Vec::new(),
    };
    Trial { looked, records: 0, shown: Vec::new() }
}
