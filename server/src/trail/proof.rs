//! Proves that the trail is whole, or names the first place where it is not.

use std::collections::{HashMap, VecDeque};

use guard::fingerprint::Fingerprint;
use guard::id::{OperationId, PeriodId};
use guard::json::Json;
use guard::operation::Operation;
use guard::payload::Payload;
use guard::refusal::StoreFault;
use guard::state::{State, StateName};
use guard::store::Catalogue;
use guard::trail::{ChainHash, Entry, EntryKind};

use super::certificate::{Certificates, States};
use super::{ChainId, HASHES_PER_READ_MAX, Ledger, PAYLOADS_PER_READ_MAX};

/// So many entries are held in memory at once.
const ENTRIES_PER_READ: u32 = 1_000;

/// So many operations are held in memory at once.
const OPERATIONS_PER_READ: u32 = 500;

/// So many seals are held in memory at once.
const SEALS_PER_READ: u32 = 4;

/// What was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many operations agree with their chains.
    pub operations: u64,
    /// How many payloads have the fingerprint of their operation; those that were dropped are not counted.
    pub payloads: u64,
    /// How many entries fit their hashes.
    pub entries: u64,
    /// How many seals fit theirs, and hold heads that are still there.
    pub seals: u64,
    /// How many certificates of closed periods say what the trail says.
    pub certificates: u64,
    /// The number and hash of the last seal. Kept elsewhere, they prove later that the last seals were not taken out.
    pub last_seal: Option<(u64, ChainHash)>,
}

/// The first place where the trail is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FirstBroken {
    /// An entry no longer fits its hash.
    #[error("entry {sequence} of {chain} was altered: it does not fit its hash")]
    EntryAltered {
        /// The chain.
        chain: ChainId,
        /// The entry.
        sequence: u64,
    },
    /// An entry is gone.
    #[error("entry {sequence} of {chain} is missing")]
    EntryMissing {
        /// The chain.
        chain: ChainId,
        /// The entry.
        sequence: u64,
    },
    /// A chain has entries that its operation (or the administration) does not know of.
    #[error("{chain} has entry {sequence}, beyond the last one that it is said to have")]
    EntryAdded {
        /// The chain.
        chain: ChainId,
        /// The entry.
        sequence: u64,
    },
    /// A chain stands without its operation.
    #[error("operation {chain} is missing; its entries are there")]
    OperationMissing {
        /// The chain.
        chain: ChainId,
    },
    /// An operation is held otherwise than its entries tell.
    #[error("operation {operation} was altered: its {column} is {held}, and its entries tell {told}")]
    OperationAltered {
        /// The operation.
        operation: OperationId,
        /// What of it.
        column: &'static str,
        /// What it holds.
        held: String,
        /// What its entries tell.
        told: String,
    },
    /// A payload is not the one that its operation was begun with.
    #[error(
        "the payload of operation {operation} was altered: its fingerprint is {measured}, and its entries tell {told}"
    )]
    PayloadAltered {
        /// The operation.
        operation: OperationId,
        /// The fingerprint of what is stored, or what is wrong with it.
        measured: String,
        /// The fingerprint that it was begun with.
        told: Fingerprint,
    },
    /// The administration holds another head than its entries have.
    #[error("the administration was altered: its head is {held}, and its entries end in {told}")]
    AdministrationAltered {
        /// What it holds.
        held: ChainHash,
        /// What its entries tell.
        told: ChainHash,
    },
    /// A certificate of a closed period does not say what the trail says.
    #[error("the certificate of period {period} does not hold: {what}")]
    Certificate {
        /// The period.
        period: PeriodId,
        /// What is wrong with it.
        what: String,
    },
    /// A seal is gone.
    #[error("seal {number} is missing")]
    SealMissing {
        /// The seal.
        number: u64,
    },
    /// A seal no longer fits its hash.
    #[error("seal {number} was altered: it does not fit its hash")]
    SealAltered {
        /// The seal.
        number: u64,
    },
    /// An entry that was sealed is gone.
    #[error("entry {sequence} of {chain} is missing; seal {number} has it")]
    SealedMissing {
        /// The seal.
        number: u64,
        /// The chain.
        chain: ChainId,
        /// The entry.
        sequence: u64,
    },
    /// An entry that was sealed is another one now.
    #[error("entry {sequence} of {chain} was altered since seal {number}")]
    SealedAltered {
        /// The seal.
        number: u64,
        /// The chain.
        chain: ChainId,
        /// The entry.
        sequence: u64,
    },
    /// The store cannot be read, or holds a row that is no legal record.
    #[error(transparent)]
    Unreadable(#[from] StoreFault),
}

/// Walks every chain with its payload and every seal, in pages. The store may be in use meanwhile. The catalogue says which places
/// each fingerprint leaves out.
///
/// # Errors
/// The first place where it is broken.
pub async fn verify(ledger: &dyn Ledger, catalogue: &Catalogue) -> Result<Report, FirstBroken> {
    let mut report = Report::default();
    let mut certificates = Certificates::read(ledger).await?;
    verify_chains(ledger, catalogue, &mut certificates, &mut report).await?;
    verify_seals(ledger, &mut certificates, &mut report).await?;
    report.certificates = certificates.finish()?;
    Ok(report)
}

/// What the entries of a chain tell, up to one of them.
#[derive(Clone, Debug)]
struct Told {
    sequence: u64,
    hash: ChainHash,
    state: Option<String>,
    key: Option<String>,
    fingerprint: Option<String>,
    lease: Option<String>,
    destination_reference: Option<String>,
    states: States,
}

impl Told {
    const NOTHING: Self = Self {
        sequence: 0,
        hash: ChainHash::START,
        state: None,
        key: None,
        fingerprint: None,
        lease: None,
        destination_reference: None,
        states: States { states: Vec::new(), is_reversal: false },
    };

    /// Takes the next entry in, if it is the next one and fits its hash.
    fn follow(&mut self, chain: ChainId, entry: &Entry) -> Result<(), FirstBroken> {
        if entry.sequence != self.sequence + 1 {
            return Err(FirstBroken::EntryMissing { chain, sequence: self.sequence + 1 });
        }
        if entry.hash_after(self.hash) != entry.hash {
            return Err(FirstBroken::EntryAltered { chain, sequence: entry.sequence });
        }
        self.sequence = entry.sequence;
        self.hash = entry.hash;
        let fact = |name: &str| entry.detail.member(name).and_then(Json::as_str).map(ToOwned::to_owned);
        if let Some(state) = fact("state") {
            self.states.states.extend(StateName::parse(&state).map(|state| (entry.at, state)));
            self.state = Some(state);
        }
        // Only the proposal of a reversal names the record.
        self.states.is_reversal |= entry.kind == EntryKind::AmendmentProposed && fact("record").is_some();
        match entry.kind {
            EntryKind::Begun | EntryKind::Registered | EntryKind::AmendmentProposed | EntryKind::Adopted => {
                self.destination_reference = fact("destination_reference").or(self.destination_reference.take());
                self.key = fact("key").or(self.key.take());
                self.fingerprint = fact("fingerprint").or(self.fingerprint.take());
                self.lease = fact("lease").or(self.lease.take());
            }
            EntryKind::Reported
            | EntryKind::LookedUp
            | EntryKind::Resolved
            | EntryKind::Reconciled
            | EntryKind::CandidateConfirmed => {
                self.destination_reference = fact("destination_reference").or(self.destination_reference.take());
            }
            EntryKind::MarkedSending
            | EntryKind::Extended
            | EntryKind::Released
            | EntryKind::Expired
            | EntryKind::ReportKept
            | EntryKind::ConflictOpened
            | EntryKind::Claimed
            | EntryKind::ClaimReleased
            | EntryKind::EvidenceAdded
            | EntryKind::FieldsOpened
            | EntryKind::CandidateRefused
            | EntryKind::KeptWaiting
            | EntryKind::ResolutionProposed
            | EntryKind::ResolutionRejected
            | EntryKind::ConflictDecided
            | EntryKind::AmendmentApproved
            | EntryKind::AmendmentRejected
            | EntryKind::AmendmentWithdrawn
            | EntryKind::AmendmentExpired
            | EntryKind::AmendmentVoid
            | EntryKind::ReversalAsked
            | EntryKind::Reversed
            | EntryKind::BodiesDropped
            | EntryKind::HoldPlaced
            | EntryKind::HoldLifted
            | EntryKind::WorkflowApplied
            | EntryKind::WorkflowRemoved
            | EntryKind::DestinationApplied
            | EntryKind::DestinationRemoved
            | EntryKind::ChannelApplied
            | EntryKind::ChannelRemoved
            | EntryKind::ChannelTested
            | EntryKind::PersonAdded
            | EntryKind::TokenCreated
            | EntryKind::TokenRevoked
            | EntryKind::ExportBegun
            | EntryKind::ExportEnded
            | EntryKind::EvidencePacked
            | EntryKind::RunBegun
            | EntryKind::RunApplied
            | EntryKind::RunEnded
            | EntryKind::RulesProposed
            | EntryKind::RulesApproved
            | EntryKind::RulesRejected
            | EntryKind::RulesWithdrawn
            | EntryKind::RulesVoided
            | EntryKind::PeriodClosed
            | EntryKind::PeriodReopened => {}
        }
        Ok(())
    }

    /// Reads on, from where it stands to the entry `until`.
    async fn read_on(
        &mut self,
        ledger: &dyn Ledger,
        chain: ChainId,
        until: u64,
        report: &mut Report,
    ) -> Result<(), FirstBroken> {
        while self.sequence < until {
            let page = ledger.all_entries((chain, self.sequence), ENTRIES_PER_READ).await?;
            let missing = FirstBroken::EntryMissing { chain, sequence: self.sequence + 1 };
            let own = page.iter().filter(|(of, entry)| *of == chain && entry.sequence <= until);
            let before = self.sequence;
            for (_, entry) in own {
                self.follow(chain, entry)?;
                report.entries += 1;
            }
            if self.sequence == before {
                return Err(missing);
            }
        }
        Ok(())
    }

    /// Whether the operation is what its entries tell.
    fn check(&self, operation: &Operation) -> Result<(), FirstBroken> {
        let altered = |column, held: String, told: String| FirstBroken::OperationAltered {
            operation: operation.id,
            column,
            held,
            told,
        };
        if operation.head != self.hash {
            return Err(altered("head", operation.head.to_string(), self.hash.to_string()));
        }
        let reference = match &operation.state {
            State::Confirmed { destination_reference, .. } => Some(destination_reference.clone()),
            State::AwaitingApproval
            | State::Rejected { .. }
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Failed { .. }
            | State::Unknown { .. }
            | State::Disputed { .. } => None,
        };
        let facts = [
            ("state", Some(operation.state.name().as_str().to_owned()), &self.state),
            ("key", Some(hex::encode(operation.key.hash())), &self.key),
            ("fingerprint", Some(operation.fingerprint.to_string()), &self.fingerprint),
            ("lease_token", operation.attempt.as_ref().map(|attempt| attempt.lease_token.digest()), &self.lease),
            ("destination_reference", reference, &self.destination_reference),
        ];
        for (column, held, told) in facts {
            // What a state does not hold cannot be compared; what a row holds must have been told.
            if let Some(held) = held
                && told.as_ref() != Some(&held)
            {
                return Err(altered(column, held, told.clone().unwrap_or_else(|| "nothing".to_owned())));
            }
        }
        Ok(())
    }
}

/// Goes through the entries of all chains, in pages.
struct Entries<'a> {
    ledger: &'a dyn Ledger,
    page: VecDeque<(ChainId, Entry)>,
    behind: (ChainId, u64),
}

impl Entries<'_> {
    /// The chain of the next entry.
    async fn next_chain(&mut self) -> Result<Option<ChainId>, FirstBroken> {
        if self.page.is_empty() {
            self.page = self.ledger.all_entries(self.behind, ENTRIES_PER_READ).await?.into();
        }
        Ok(self.page.front().map(|(chain, _)| *chain))
    }

    /// Follows the chain to its end.
    async fn follow(&mut self, chain: ChainId, report: &mut Report) -> Result<Told, FirstBroken> {
        let mut told = Told::NOTHING;
        while self.next_chain().await? == Some(chain) {
            if let Some((_, entry)) = self.page.pop_front() {
                self.behind = (chain, entry.sequence);
                told.follow(chain, &entry)?;
                report.entries += 1;
            }
        }
        // What was added to it since is not the start of another chain.
        self.behind = (chain, u64::MAX);
        Ok(told)
    }
}

/// Goes through all operations, in pages.
struct Operations<'a> {
    ledger: &'a dyn Ledger,
    page: VecDeque<Operation>,
    behind: OperationId,
}

impl Operations<'_> {
    /// The id of the next operation.
    async fn next_id(&mut self) -> Result<Option<OperationId>, FirstBroken> {
        if self.page.is_empty() {
            self.page = self.ledger.all_operations(self.behind, OPERATIONS_PER_READ).await?.into();
        }
        Ok(self.page.front().map(|operation| operation.id))
    }

    fn take(&mut self) -> Option<Operation> {
        let operation = self.page.pop_front()?;
        self.behind = operation.id;
        Some(operation)
    }
}

async fn verify_chains(
    ledger: &dyn Ledger,
    catalogue: &Catalogue,
    certificates: &mut Certificates,
    report: &mut Report,
) -> Result<(), FirstBroken> {
    let mut entries = Entries { ledger, page: VecDeque::new(), behind: (ChainId::ADMINISTRATION, 0) };
    let mut operations = Operations { ledger, page: VecDeque::new(), behind: OperationId::from_u128(0) };
    let told = entries.follow(ChainId::ADMINISTRATION, report).await?;
    verify_administration(ledger, told, report).await?;
    let mut with_payloads = Vec::with_capacity(PAYLOADS_PER_READ_MAX);
    loop {
        let chain = entries.next_chain().await?;
        let operation = operations.next_id().await?.map(ChainId::from);
        let Some(id) = chain.into_iter().chain(operation).min() else {
            certificates.add(ledger, &with_payloads).await?;
            return verify_payloads(ledger, catalogue, &with_payloads, report).await;
        };
        let told = if chain == Some(id) { entries.follow(id, report).await? } else { Told::NOTHING };
        let held = if operation == Some(id) { operations.take() } else { None };
        let (operation, told) = verify_operation(ledger, id, told, held, report).await?;
        with_payloads.push((operation, told.states));
        report.operations += 1;
        if with_payloads.len() >= PAYLOADS_PER_READ_MAX {
            certificates.add(ledger, &with_payloads).await?;
            verify_payloads(ledger, catalogue, &with_payloads, report).await?;
            with_payloads.clear();
        }
    }
}

/// Compares an operation with its entries. Where they differ it may have changed between two reads: then it is read again, and its
/// entries up to its version, which must agree, since both were committed together.
async fn verify_operation(
    ledger: &dyn Ledger,
    chain: ChainId,
    mut told: Told,
    held: Option<Operation>,
    report: &mut Report,
) -> Result<(Operation, Told), FirstBroken> {
    if let Some(held) = held
        && held.version == told.sequence
        && told.check(&held).is_ok()
    {
        return Ok((held, told));
    }
    let before = OperationId::from_u128(chain.as_u128().saturating_sub(1));
    let now = ledger.all_operations(before, 1).await?.pop();
    let now = now.filter(|operation| ChainId::from(operation.id) == chain);
    let now = now.ok_or(FirstBroken::OperationMissing { chain })?;
    if now.version < told.sequence {
        return Err(FirstBroken::EntryAdded { chain, sequence: now.version + 1 });
    }
    told.read_on(ledger, chain, now.version, report).await?;
    told.check(&now)?;
    Ok((now, told))
}

/// Measures the payloads of operations again. A payload never changes, so that it does not matter when it is read.
async fn verify_payloads(
    ledger: &dyn Ledger,
    catalogue: &Catalogue,
    operations: &[(Operation, States)],
    report: &mut Report,
) -> Result<(), FirstBroken> {
    let ids: Vec<OperationId> = operations.iter().map(|(operation, _)| operation.id).collect();
    let mut payloads: HashMap<OperationId, String> = ledger.payloads(&ids).await?.into_iter().collect();
    for (operation, _) in operations {
        let version = (operation.key.workflow.as_str().to_owned(), operation.policy_version);
        // One that was dropped by retention cannot be measured; nor can one whose rules this server has not read yet.
        let (Some(payload), Some(volatile)) = (payloads.remove(&operation.id), catalogue.volatile.get(&version)) else {
            continue;
        };
        let measured = Payload::parse(payload.as_bytes()).map(|payload| Fingerprint::of(&payload, volatile));
        if measured.as_ref().is_ok_and(|measured| *measured == operation.fingerprint) {
            report.payloads += 1;
            continue;
        }
        let measured = measured.map_or_else(|error| error.to_string(), |measured| measured.to_string());
        let (operation, told) = (operation.id, operation.fingerprint);
        return Err(FirstBroken::PayloadAltered { operation, measured, told });
    }
    Ok(())
}

async fn verify_administration(ledger: &dyn Ledger, mut told: Told, report: &mut Report) -> Result<(), FirstBroken> {
    let chain = ChainId::ADMINISTRATION;
    let (sequence, held) = ledger.administration().await?;
    if sequence < told.sequence {
        return Err(FirstBroken::EntryAdded { chain, sequence: sequence + 1 });
    }
    told.read_on(ledger, chain, sequence, report).await?;
    if held == told.hash { Ok(()) } else { Err(FirstBroken::AdministrationAltered { held, told: told.hash }) }
}

async fn verify_seals(
    ledger: &dyn Ledger,
    certificates: &mut Certificates,
    report: &mut Report,
) -> Result<(), FirstBroken> {
    let (mut number, mut hash) = (0, ChainHash::START);
    loop {
        let page = ledger.seals(number, SEALS_PER_READ).await?;
        if page.is_empty() {
            report.last_seal = (number > 0).then_some((number, hash));
            return Ok(());
        }
        for seal in page {
            if seal.number != number + 1 {
                return Err(FirstBroken::SealMissing { number: number + 1 });
            }
            if seal.hash_after(hash) != seal.hash {
                return Err(FirstBroken::SealAltered { number: seal.number });
            }
            (number, hash) = (seal.number, seal.hash);
            certificates.see_seal(&seal)?;
            for heads in seal.heads.chunks(HASHES_PER_READ_MAX) {
                let places: Vec<_> = heads.iter().map(|head| (head.chain, head.sequence)).collect();
                let found = ledger.hashes(&places).await?;
                for (head, found) in heads.iter().zip(found) {
                    let (chain, sequence) = (head.chain, head.sequence);
                    match found {
                        Some(found) if found == head.hash => {}
                        Some(_) => return Err(FirstBroken::SealedAltered { number, chain, sequence }),
                        None => return Err(FirstBroken::SealedMissing { number, chain, sequence }),
                    }
                }
            }
            report.seals += 1;
        }
    }
}
