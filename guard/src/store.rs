//! What the guard asks of a database. Every method is atomic; the store never decides anything, so that two databases cannot drift
//! apart on rules. Every write has been made durable when its method returns.

mod activity;
mod amendment;
mod call;
mod conflict;
mod lists;
mod look_alike;
mod notification;
mod period;
mod proof;
mod reconciliation;
mod retention;
mod review;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::access::Access;
use crate::amendment::Amendment;
use crate::clock::Timestamp;
use crate::conflict::Conflict;
use crate::decision::DecisionName;
use crate::destination::Destination;
use crate::evidence::Evidence;
use crate::id::{ConflictId, OperationId, PersonId, TokenId};
use crate::key::OperationKey;
use crate::look_alike::Look;
use crate::notification::Channel;
use crate::operation::Operation;
use crate::period::{Day, Period};
use crate::person::Person;
use crate::pointer::Pointer;
use crate::queue::{Filter, Order, Page, PageRequest};
use crate::recovery::{Claim, Recovery};
use crate::refusal::StoreFault;
use crate::retention::{Content, HoldChange, HoldSubject};
use crate::review::ReviewChange;
use crate::rules::RuleProposal;
use crate::summary::{Count, Recovering, Waiting};
use crate::token::{Reach, Token};
use crate::trail::{ChainHash, Entry};
use crate::workflow::Workflow;

pub use activity::Activities;
pub use amendment::{AmendmentChange, Amendments};
pub use call::Calls;
pub use conflict::{Conflicts, LISTED_CHANGES_CHARACTERS_MAX};
pub use lists::Lists;
pub use look_alike::{LookAlikeQuestion, LookAlikes};
pub use notification::{Notifications, Tried};
pub use period::Periods;
pub use proof::{PreventedDuplicate, Proofs};
pub use reconciliation::Reconciliations;
pub use retention::Retentions;
pub use review::Reviews;
pub use rules::Rules;

/// A new operation with everything that is kept with it.
#[derive(Clone, Debug)]
pub struct NewOperation {
    /// The operation, version 1.
    pub operation: Operation,
    /// Its payload, compact JSON.
    pub payload: String,
    /// The day by which it belongs to a period, where its workflow reads it from the payload.
    pub day: Option<Day>,
    /// By what it looks like others, where its workflow names a counterparty.
    pub look: Option<Look>,
    /// Its first trail entry.
    pub entry: Entry,
    /// What is counted for it.
    pub counts: Vec<Count>,
    /// The amendment that proposes it.
    pub amendment: Option<Amendment>,
}

/// What became of a new operation.
#[derive(Clone, Debug)]
pub enum Insertion {
    /// It is stored.
    Inserted,
    /// The key was taken; this operation holds it.
    Existing(Box<Operation>),
}

/// A change of an operation with everything that goes with it.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The operation as it shall be; its `version` is one above the version that it replaces.
    pub operation: Operation,
    /// The trail entry of the change.
    pub entry: Entry,
    /// A conflict that is opened, with the payload that came (compact JSON).
    pub conflict: Option<(Conflict, String)>,
    /// A conflict of the operation that is decided; one that is not open stays as it is.
    pub decided: Option<(ConflictId, crate::conflict::ConflictDecision)>,
    /// Evidence that is added.
    pub evidence: Option<Evidence>,
    /// The bytes of the file that the evidence is.
    pub file: Option<Arc<[u8]>>,
    /// The destination's response that is kept (compact JSON).
    pub response: Option<String>,
    /// The revision that this operation, now confirmed, supersedes.
    pub supersedes: Option<OperationId>,
    /// What becomes of its recovery.
    pub recovery: RecoveryChange,
    /// What becomes of its review.
    pub review: ReviewChange,
    /// What a reconciliation says of it.
    pub reconciled: Option<crate::reconciliation::Reconciled>,
    /// What is counted for it.
    pub counts: Vec<Count>,
    /// What becomes of the amendment that it stands for.
    pub amendment: AmendmentChange,
    /// Its payload, which comes again after it was dropped (compact JSON).
    pub payload: Option<String>,
    /// What becomes of legal holds.
    pub hold: HoldChange,
    /// Its bodies are dropped, all of them; where there is a hold on this subject, its document, nothing is stored and it is stale.
    pub dropped: Option<HoldSubject>,
}

impl Replacement {
    /// What is kept of the operation after this change.
    pub fn content(&self) -> Content {
        let held = self.operation.content;
        let brings_payload = match self.amendment {
            AmendmentChange::Propose { .. } => true,
            AmendmentChange::Keep | AmendmentChange::Put(_) => self.payload.is_some(),
        };
        if self.dropped.is_some() {
            held.dropped(self.entry.at)
        } else if brings_payload {
            Content::Kept
        } else if self.conflict.is_some() || self.file.is_some() || self.response.is_some() {
            held.with_more()
        } else {
            held
        }
    }
}

/// What a change of an operation makes of its recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveryChange {
    /// It stays as it is.
    Keep,
    /// It is this from now on.
    Schedule(Box<Recovery>),
    /// There is none any more.
    End,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// It is stored.
    Replaced,
    /// Somebody else moved first; nothing was stored.
    Stale,
}

/// One arrival of a begin that was answered without a write: counted, and told in the operation's history.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Delivery {
    /// The operation, where one exists.
    pub operation: Option<OperationId>,
    /// When it arrived.
    pub at: Timestamp,
    /// What it was answered.
    pub decision: DecisionName,
    /// The conflict that it hit.
    pub conflict: Option<ConflictId>,
    /// The worker, as it names itself.
    pub worker: Option<String>,
    /// The message that the worker acts on, as it names it.
    pub delivery_id: Option<String>,
    /// The request's id, as in the log.
    pub request_id: Option<String>,
    /// What is counted for it.
    pub count: Count,
    /// The attempt on account of which it was held back, where it was: nothing that is shown, and not read back.
    #[serde(skip)]
    pub held_by: Option<u32>,
}

/// Operations and what belongs to them.
#[async_trait]
pub trait Store:
    Activities
    + Amendments
    + Calls
    + Conflicts
    + Lists
    + LookAlikes
    + Notifications
    + Periods
    + Proofs
    + Reconciliations
    + Retentions
    + Reviews
    + Rules
    + Send
    + Sync
{
    /// The operation with this id.
    async fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault>;

    /// The operation with this key.
    async fn operation_by_key(&self, key: &OperationKey) -> Result<Option<Operation>, StoreFault>;

    /// Stores a new operation, its payload, its first entry and its counts, unless its key is taken.
    async fn insert_if_absent(&self, new: NewOperation) -> Result<Insertion, StoreFault>;

    /// Replaces an operation if it still has the version before, together with all that goes with the change. A conflict whose
    /// operation and fingerprint are there already makes it stale too.
    async fn replace(&self, replacement: Replacement) -> Result<Replaced, StoreFault>;

    /// A page of operations within reach.
    async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, StoreFault>;

    /// Operations whose lease ended at or before `now`, the longest ago first, at most `limit`.
    async fn expired(&self, now: Timestamp, limit: u32) -> Result<Vec<Operation>, StoreFault>;

    /// The entries of an operation behind `after`, oldest first, at most `limit`.
    async fn entries(&self, operation: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault>;

    /// The payload of an operation, compact JSON; none when it was dropped.
    async fn payload(&self, operation: OperationId) -> Result<Option<String>, StoreFault>;

    /// The destination's response that is kept of an operation, compact JSON; none where there is none, or it was dropped.
    async fn response(&self, operation: OperationId) -> Result<Option<String>, StoreFault>;

    /// The conflict of an operation with this fingerprint.
    async fn conflict(
        &self,
        operation: OperationId,
        fingerprint: &crate::fingerprint::Fingerprint,
    ) -> Result<Option<Conflict>, StoreFault>;

    /// The conflicts of an operation, newest first, at most `limit`.
    async fn conflicts(&self, operation: OperationId, limit: u32) -> Result<Vec<Conflict>, StoreFault>;

    /// The evidence of an operation, oldest first, at most `limit`.
    async fn evidence(&self, operation: OperationId, limit: u32) -> Result<Vec<Evidence>, StoreFault>;

    /// The deliveries of an operation that were told in its history, newest first, at most `limit`.
    async fn deliveries(&self, operation: OperationId, limit: u32) -> Result<Vec<Delivery>, StoreFault>;

    /// Takes note of a delivery. It is counted and told at most a second later, behind the answer: a crash may lose that second.
    /// Raises how often the operation was asked for again where the decision held a repetition back, and the hits of the conflict
    /// where it names one. The first repetition that an attempt holds back is kept ([`Proofs`]), and counted at once where the
    /// operation is confirmed.
    fn note_delivery(&self, delivery: Delivery);

    /// The counts of hours from `from` (inclusive) to `to` (exclusive) within reach, summed over slots of writers. Those of a day (in
    /// UTC) before [`hours_kept_since`](crate::summary::hours_kept_since) may all stand in its first hour.
    async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, StoreFault>;

    /// What waits for a person within reach: so many of what is uncertain, the oldest, and so many conflicts.
    async fn waiting(&self, reach: &Reach, most: u32) -> Result<Waiting, StoreFault>;

    /// The recovery of an operation.
    async fn recovery(&self, operation: OperationId) -> Result<Option<Recovery>, StoreFault>;

    /// The recoveries of these operations, of those that have one; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn recoveries(&self, operations: &[OperationId]) -> Result<Vec<Recovery>, StoreFault>;

    /// Claims recoveries at a destination that are due and neither exhausted nor claimed, the longest due first, at most `limit`.
    /// Nobody waits for a row that somebody else is claiming.
    async fn claim_recoveries(
        &self,
        destination: &str,
        now: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreFault>;

    /// Gives back what a process has claimed of these operations.
    async fn release_recoveries(&self, operations: &[OperationId], by: &str) -> Result<(), StoreFault>;

    /// Makes a recovery due at `now` and takes back that it is exhausted, unless somebody is looking right now; answers whether it did.
    async fn hasten_recovery(&self, operation: OperationId, now: Timestamp) -> Result<bool, StoreFault>;

    /// Unknown operations of a workflow without a recovery at this destination, by their id, at most `limit`.
    async fn without_recovery(
        &self,
        workflow: &str,
        destination: &str,
        after: OperationId,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault>;

    /// Adds recoveries of operations that are still unknown; one that has a recovery keeps it, at the new destination.
    async fn add_recoveries(&self, recoveries: Vec<Recovery>) -> Result<(), StoreFault>;

    /// Takes out the recovery of an operation that is no longer unknown.
    async fn drop_recovery(&self, operation: OperationId) -> Result<(), StoreFault>;

    /// How many recoveries there are within reach. At most so many are counted, where the reach is limited of the operations begun last.
    async fn recovering(&self, reach: &Reach, most: u32) -> Result<Recovering, StoreFault>;

    /// How each destination may be asked, of those that were asked before.
    async fn accesses(&self) -> Result<Vec<Access>, StoreFault>;

    /// Stores how a destination may be asked, where its version follows on the one that is stored.
    async fn put_access(&self, access: &Access) -> Result<Replaced, StoreFault>;
}

/// A workflow with the number of its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedWorkflow {
    /// The number of this definition, from 1.
    pub version: u32,
    /// The definition.
    pub workflow: Workflow,
    /// Whether it was taken out of the configuration: nothing new is begun in it.
    pub is_retired: bool,
}

/// Everything that is configured.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Raised by every change.
    pub epoch: u64,
    /// The current workflows by name.
    pub workflows: BTreeMap<String, Arc<VersionedWorkflow>>,
    /// The volatile fields of every version that there was.
    pub volatile: BTreeMap<(String, u32), Arc<[Pointer]>>,
    /// The current destinations by name.
    pub destinations: BTreeMap<String, Destination>,
    /// The channels by which people are told, by name.
    pub channels: BTreeMap<String, Channel>,
}

impl Catalogue {
    /// The destination of a workflow, where it can be asked what it holds.
    pub fn destination_to_ask(&self, workflow: &str) -> Option<&Destination> {
        let name = self.workflows.get(workflow)?.workflow.destination.as_deref()?;
        self.destinations.get(name).filter(|destination| destination.lookup.is_some())
    }
}

/// What the administration does; each act is one trail entry of its chain.
#[derive(Clone, Debug)]
pub enum Act {
    /// Nothing is configured: its entry tells what somebody did.
    Note,
    /// Stores a workflow's new definition (a new version), or takes it out.
    PutWorkflow(Box<VersionedWorkflow>),
    /// Stores a proposed change of rules as it stands now.
    PutRuleProposal(Box<RuleProposal>),
    /// Stores a period as it stands now.
    PutPeriod(Box<Period>),
    /// Stores a destination.
    PutDestination(Box<Destination>),
    /// Takes a destination out.
    RemoveDestination(String),
    /// Stores a channel; one that was switched off is switched on.
    PutChannel(Box<Channel>),
    /// Takes a channel out.
    RemoveChannel(String),
    /// Adds a person with the hash of a password; a taken address is [`Administered::Taken`].
    AddPerson {
        /// The person.
        person: Person,
        /// The hash of the password, in PHC form.
        password_hash: String,
        /// Only while there is nobody yet.
        only_first: bool,
    },
    /// Adds a token with the SHA-256 of its secret; a taken name is [`Administered::Taken`].
    AddToken {
        /// The token.
        token: Token,
        /// The SHA-256 of its secret.
        digest: [u8; 32],
    },
    /// Revokes a token.
    RevokeToken {
        /// The token.
        id: TokenId,
        /// Since when.
        at: Timestamp,
    },
}

/// What became of acts of the administration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Administered {
    /// All are stored.
    Done,
    /// The chain has moved on; nothing was stored.
    Stale,
    /// A name is taken (or somebody was first); nothing was stored.
    Taken,
}

/// People, tokens, workflows and destinations, with the chain of the administration.
#[async_trait]
pub trait Registry: Send + Sync {
    /// Everything that is configured.
    async fn catalogue(&self) -> Result<Catalogue, StoreFault>;

    /// The catalogue's epoch alone: cheap.
    async fn epoch(&self) -> Result<u64, StoreFault>;

    /// The sequence and hash of the administration's last entry.
    async fn administration_head(&self) -> Result<(u64, ChainHash), StoreFault>;

    /// The entries of the administration behind `after`, oldest first, at most `limit`.
    async fn administration_entries(&self, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault>;

    /// Does all acts, each with its entry, or none; the first entry follows on the head that the caller saw. Raises the epoch.
    async fn administer(&self, acts: Vec<(Act, Entry)>) -> Result<Administered, StoreFault>;

    /// The token whose secret has this SHA-256, revoked ones too.
    async fn token_by_digest(&self, digest: &[u8; 32]) -> Result<Option<Token>, StoreFault>;

    /// Every token, newest first.
    async fn tokens(&self) -> Result<Vec<Token>, StoreFault>;

    /// The person who signs in with this address (in lower case), with the hash of the password.
    async fn person_by_email(&self, email: &str) -> Result<Option<(Person, String)>, StoreFault>;

    /// The person with this id.
    async fn person(&self, id: PersonId) -> Result<Option<Person>, StoreFault>;

    /// Everybody, by address.
    async fn people(&self) -> Result<Vec<Person>, StoreFault>;
}
