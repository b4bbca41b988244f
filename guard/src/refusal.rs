//! Why the guard says no: one enum, so that every interface tells the same story.

use crate::actor::Actor;
use crate::amendment::Violation;
use crate::clock::Timestamp;
use crate::diff::Change;
use crate::id::{AmendmentId, OperationId};
use crate::state::StateName;

/// A refusal. Nothing was changed by the call that got it, except where the variant says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A field of the request cannot be taken.
    #[error("{field}: {message}")]
    InvalidField {
        /// The field, as the request names it.
        field: String,
        /// What is wrong and how to mend it.
        message: String,
    },
    /// No such workflow, or not for this caller.
    #[error("{}; there are: {}", unknown_workflow(.name, *.is_retired), list(.known))]
    UnknownWorkflow {
        /// The name that was asked for.
        name: String,
        /// The workflows that this caller may use.
        known: Vec<String>,
        /// Whether it was retired: what was begun in it can be finished, nothing new is begun.
        #[serde(default)]
        is_retired: bool,
    },
    /// It does not exist, or lies outside what the caller may see; both look the same.
    #[error("there is no such {what}")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// The caller may not do this.
    #[error("not allowed: {reason}")]
    Forbidden {
        /// What is missing.
        reason: String,
    },
    /// The lease ended before the call.
    #[error("the lease has expired; do not send. Ask again with a new begin")]
    LeaseExpired,
    /// The lease token is not that of the latest attempt.
    #[error("the lease token is not that of the latest attempt; do not send")]
    StaleLease,
    /// The outcome differs from what this attempt was settled with; it is kept as evidence.
    #[error("the operation is held as {}, and the reported outcome disagrees; it was kept as evidence", .held.as_str())]
    OutcomeDisagrees {
        /// How the operation is held.
        held: StateName,
    },
    /// The transition table has no such step.
    #[error("an operation that is {} cannot be {what}", .state.as_str())]
    Impossible {
        /// Where the operation stands.
        state: StateName,
        /// What was tried.
        what: std::borrow::Cow<'static, str>,
    },
    /// The page that the decision was made on is no longer true.
    #[error("meanwhile it is {}: changed by {by} at {}", .state.as_str(), crate::clock::rfc3339(*.at))]
    Stale {
        /// Where the operation stands now.
        state: StateName,
        /// Who changed it last.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// The destination does not show what is to be confirmed; whoever knows better confirms it once more.
    #[error("the destination was asked: {shown} If that is right all the same, acknowledge it and confirm again")]
    Unconfirmed {
        /// What it shows, in a sentence.
        shown: String,
    },
    /// The change touches what the workflow's rules forbid.
    #[error("the workflow forbids this change: {}", violated(.violations))]
    RuleViolation {
        /// What differs from the base, at most [`crate::diff::CHANGES_LISTED_MAX`] places.
        changes: Vec<Change>,
        /// How many places differ.
        changes_total: u32,
        /// What is forbidden and by which rule, at most [`crate::amendment::VIOLATIONS_LISTED_MAX`].
        violations: Vec<Violation>,
    },
    /// The next revision is proposed or under way already.
    #[error("revision {revision} is proposed already and is {}; it is decided and done, or withdrawn, before another is proposed", .state.as_str().replace('_', " "))]
    AmendmentOpen {
        /// The operation of that revision.
        operation: OperationId,
        /// Its amendment, where there is one.
        amendment: Option<AmendmentId>,
        /// Its number.
        revision: u32,
        /// Where it stands.
        state: StateName,
    },
    /// The record has a reversal already; nothing is taken back twice.
    #[error(
        "the record {record:?} has a reversal already, which is {} (operation {operation}); no record is taken back twice",
        .state.as_str()
    )]
    ReversalExists {
        /// The id of the record.
        record: String,
        /// The operation that takes it back.
        operation: OperationId,
        /// The amendment by which that was asked.
        amendment: AmendmentId,
        /// Where that operation stands.
        state: StateName,
    },
    /// The proposal is what is confirmed already.
    #[error("the payload is the one that is confirmed already; nothing would change")]
    NoChange,
    /// What the approval would rest on is no longer so.
    #[error("the base has moved: {reason}")]
    BaseMoved {
        /// What moved.
        reason: String,
    },
    /// The destination could not tell whether it still holds the base.
    #[error("the destination could not be asked whether it still holds the base: {reason}")]
    BaseUncertain {
        /// What it answered.
        reason: String,
    },
    /// The name is taken.
    #[error("the {what} {name:?} exists already")]
    Taken {
        /// What kind of thing.
        what: String,
        /// The name.
        name: String,
    },
    /// A change of rules is refused.
    #[error(transparent)]
    Rules(#[from] crate::rules::RuleRefusal),
    /// A decision on a conflict is not taken.
    #[error(transparent)]
    Conflict(#[from] crate::conflict::ConflictRefusal),
    /// A period is not closed or opened.
    #[error(transparent)]
    Period(#[from] crate::period::PeriodRefusal),
    /// The store could not do it; nothing was decided.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// What is wrong with the store. Details that are not for callers are in the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreFault {
    /// It cannot be reached, or did not answer in time.
    #[error("the store cannot be reached; nothing was decided, try again")]
    Unavailable,
    /// Its disk is full.
    #[error("the disk of the store is full; nothing was decided. Free space, then try again")]
    Full,
    /// A row is no legal record.
    #[error("the store holds a row that is no legal record: table {table}, column {column}, id {id}")]
    Corrupt {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row.
        id: String,
    },
    /// The record moved under every try.
    #[error("the record changed under {tries} tries in a row; nothing was decided, try again")]
    Contended {
        /// How many times it was tried.
        tries: u32,
    },
}

impl Refusal {
    /// The refusal of a field.
    pub fn field(field: &str, message: impl std::fmt::Display) -> Self {
        Self::InvalidField { field: field.to_owned(), message: message.to_string() }
    }

    /// The refusal of something that does not exist for the caller.
    pub fn not_found(what: &str) -> Self {
        Self::NotFound { what: what.to_owned() }
    }
}

fn unknown_workflow(name: &str, is_retired: bool) -> String {
    if is_retired {
        format!("the workflow {name:?} is retired, so nothing new is begun in it")
    } else {
        format!("there is no workflow {name:?} for this caller")
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn violated(violations: &[Violation]) -> String {
    let told: Vec<String> =
        violations.iter().map(|violation| format!("{}: {}", violation.path, violation.rule)).collect();
    told.join("; ")
}
