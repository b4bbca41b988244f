//! What the server provides to a request of the desk: pages and server functions take it from the context.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use guard::{
    destination::Destination,
    id::MessageId,
    lookup::{Looked, Trial},
    notification::{Channel, Delivery},
    operation::Operation,
    payload::Payload,
    person::Person,
    refusal::Refusal,
    service::Guard,
    workflow::Workflow,
};
use leptos::prelude::use_context;

use crate::failure::Failure;

/// One visit of the desk: who asks, and what may be asked. The server provides it for each request with `provide_context`.
#[derive(Clone)]
pub struct Visit {
    /// The one that decides.
    pub guard: Guard,
    /// Who is signed in.
    pub person: Option<Person>,
    /// The address under which people and automations reach this server, without a slash at its end.
    pub address: Arc<str>,
    /// Messages that outlive a redirect.
    pub flash: Arc<dyn Flash>,
    /// Makes hashes of passwords.
    pub passwords: Arc<dyn Passwords>,
    /// Looks at destinations.
    pub lookups: Arc<dyn Lookups>,
    /// Sends test messages.
    pub messengers: Arc<dyn Messengers>,
}

/// Sends messages by channels, within a bounded time.
#[async_trait]
pub trait Messengers: Send + Sync {
    /// Sends a test message, once.
    async fn test(&self, channel: &Channel, id: MessageId) -> Delivery;
}

/// What the server tells those who write automations. It provides it for each request with `provide_context`.
#[derive(Clone)]
pub struct Developers {
    reference: Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>,
    /// For how many days calls are kept; 0: none is.
    pub call_days: u32,
}

impl Default for Developers {
    fn default() -> Self {
        Self::new(String::new, 0)
    }
}

impl Developers {
    /// The reference of the API as HTML, written when it is first read, and for how many days calls are kept.
    pub fn new(reference: impl FnOnce() -> String + Send + 'static, call_days: u32) -> Self {
        Self { reference: Arc::new(LazyLock::new(Box::new(reference))), call_days }
    }

    /// The reference of the API as HTML.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Of the server in hand; one that has no API has nothing to tell.
    pub fn current() -> Self {
        use_context().unwrap_or_default()
    }
}

/// Looks at destinations, within the time that their profiles give them. What goes wrong is inconclusive, with its reason.
#[async_trait]
pub trait Lookups: Send + Sync {
    /// Looks for the record of an operation.
    async fn look_up(
        &self,
        destination: &Destination,
        workflow: &Workflow,
        operation: &Operation,
        payload: Option<&Payload>,
    ) -> Trial;

    /// What is wrong with a path into a record (RFC 9535), and from which character on.
    ///
    /// # Errors
    /// The sentence.
    fn check_path(&self, path: &str) -> Result<(), String>;

    /// The one value that a path selects in a record; none where it selects nothing, or several.
    fn value_at(&self, path: &str, record: &guard::json::Json) -> Option<guard::json::Json>;

    /// Looks for an external reference, with no operation to compare with.
    async fn look_for(&self, destination: &Destination, external_reference: &str) -> Trial;
}

/// One-time messages over a redirect; they live in the session of the one who asks.
#[async_trait]
pub trait Flash: Send + Sync {
    /// Keeps a message until it is taken; one of the same name is replaced. A message that cannot be kept is lost, and logged.
    async fn put(&self, name: &str, value: String);

    /// Takes a message out.
    async fn take(&self, name: &str) -> Option<String>;
}

/// Makes hashes of passwords, slowly on purpose; how many at a time is bounded.
#[async_trait]
pub trait Passwords: Send + Sync {
    /// The hash in PHC form.
    ///
    /// # Errors
    /// [`Failure::Internal`] when it could not be made; the log says why.
    async fn hash(&self, password: String) -> Result<String, Failure>;
}

impl Visit {
    /// The visit in hand.
    ///
    /// # Errors
    /// [`Failure::Internal`] outside a request that the server prepared.
    pub fn current() -> Result<Self, Failure> {
        use_context().ok_or(Failure::Internal)
    }

    /// Who is signed in.
    ///
    /// # Errors
    /// [`Failure::SignedOut`].
    pub fn person(&self) -> Result<&Person, Failure> {
        self.person.as_ref().ok_or(Failure::SignedOut)
    }

    /// What the destination holds of an operation right now, where it can be asked.
    ///
    /// # Errors
    /// [`Failure::SignedOut`], the operation is out of reach, the store's fault.
    pub async fn look_at(&self, operation: &Operation) -> Result<Option<Looked>, Failure> {
        let reach = &self.person()?.reach;
        let catalogue = self.guard.catalogue();
        let name = operation.key.workflow.as_str();
        let Some((known, destination)) = catalogue.workflows.get(name).zip(catalogue.destination_to_ask(name)) else {
            return Ok(None);
        };
        let payload = match self.guard.payload(reach, operation.id, operation.key.revision).await {
            Ok(text) => Payload::parse(text.as_bytes()).ok(),
            // Dropped by retention: the key fields cannot be compared, and the look says so.
            Err(Refusal::NotFound { .. }) => None,
            Err(refusal) => return Err(refusal.into()),
        };
        Ok(Some(self.lookups.look_up(destination, &known.workflow, operation, payload.as_ref()).await.looked))
    }
}
