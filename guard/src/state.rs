//! The states of an operation and the one table of what may follow on what.

use crate::clock::Timestamp;
use crate::event::{AmendmentStep, Event, Outcome, Resolution, Standing};
use crate::lookup::{Difference, Finding};
use crate::recovery::Absence;
use crate::refusal::Refusal;

/// Where an operation stands; each state carries the facts it needs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// An amendment is proposed and not approved yet.
    AwaitingApproval,
    /// It is not to be sent: the amendment that it stands for was rejected, or a person dropped it.
    Rejected {
        /// Why.
        reason: String,
        /// When a person dropped it without knowing whether it was applied; none where it was never sent, or proven not applied.
        dropped_at: Option<Timestamp>,
    },
    /// A worker owns the attempt and has not marked it as sending: nothing can have been sent.
    Acquired {
        /// When the lease ends.
        lease_expires_at: Timestamp,
    },
    /// The worker may have written at the destination.
    Sending {
        /// Since when a write is possible.
        since: Timestamp,
        /// When the lease ends.
        lease_expires_at: Timestamp,
    },
    /// The lease ended before anything could be sent; may be begun again.
    Released {
        /// Since when.
        since: Timestamp,
    },
    /// Proven not applied; may be begun again.
    Failed {
        /// Since when.
        since: Timestamp,
        /// The proof, in words.
        reason: String,
    },
    /// May have been applied; never sent again before somebody knows.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// Why it is uncertain.
        reason: String,
    },
    /// Applied, once.
    Confirmed {
        /// Since when.
        since: Timestamp,
        /// The id under which the destination holds the record.
        destination_reference: String,
    },
    /// Two truths contradict each other; a person decides.
    Disputed {
        /// Since when.
        since: Timestamp,
        /// What contradicts what.
        reason: String,
        /// The destination's record that the latest attempt reported, where it did.
        destination_reference: Option<String>,
    },
}

/// The name of a state, without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateName {
    /// See [`State::AwaitingApproval`].
    AwaitingApproval,
    /// See [`State::Rejected`].
    Rejected,
    /// See [`State::Acquired`].
    Acquired,
    /// See [`State::Sending`].
    Sending,
    /// See [`State::Released`].
    Released,
    /// See [`State::Failed`].
    Failed,
    /// See [`State::Unknown`].
    Unknown,
    /// See [`State::Confirmed`].
    Confirmed,
    /// See [`State::Disputed`].
    Disputed,
}

impl StateName {
    /// Every state, in the order in which people meet them.
    pub const ALL: [Self; 9] = [
        Self::AwaitingApproval,
        Self::Rejected,
        Self::Acquired,
        Self::Sending,
        Self::Released,
        Self::Failed,
        Self::Unknown,
        Self::Confirmed,
        Self::Disputed,
    ];

    /// The name in the store, the API and the URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingApproval => "awaiting_approval",
            Self::Rejected => "rejected",
            Self::Acquired => "acquired",
            Self::Sending => "sending",
            Self::Released => "released",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Confirmed => "confirmed",
            Self::Disputed => "disputed",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl State {
    /// The name without the facts.
    pub const fn name(&self) -> StateName {
        match self {
            Self::AwaitingApproval => StateName::AwaitingApproval,
            Self::Rejected { .. } => StateName::Rejected,
            Self::Acquired { .. } => StateName::Acquired,
            Self::Sending { .. } => StateName::Sending,
            Self::Released { .. } => StateName::Released,
            Self::Failed { .. } => StateName::Failed,
            Self::Unknown { .. } => StateName::Unknown,
            Self::Confirmed { .. } => StateName::Confirmed,
            Self::Disputed { .. } => StateName::Disputed,
        }
    }

    /// The state of an operation that a person registers: never sent, and free to be begun.
    pub const fn registered(at: Timestamp) -> Self {
        Self::Released { since: at }
    }

    /// The state of an operation whose record a person found at the destination and adopts: never permitted here, and there.
    pub const fn adopted(at: Timestamp, destination_reference: String) -> Self {
        Self::Confirmed { since: at, destination_reference }
    }

    /// The state of a first attempt: one-step workflows may write from the start.
    pub const fn begun(at: Timestamp, lease_expires_at: Timestamp, two_step: bool) -> Self {
        if two_step { Self::Acquired { lease_expires_at } } else { Self::Sending { since: at, lease_expires_at } }
    }

    /// When the lease ends, where one is held.
    pub const fn lease_expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Acquired { lease_expires_at } | Self::Sending { lease_expires_at, .. } => Some(*lease_expires_at),
            Self::AwaitingApproval
            | Self::Rejected { .. }
            | Self::Released { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. }
            | Self::Confirmed { .. }
            | Self::Disputed { .. } => None,
        }
    }

    /// Whether a lease was held and has ended.
    pub fn lease_is_over(&self, now: Timestamp) -> bool {
        self.lease_expires_at().is_some_and(|end| now >= end)
    }

    /// The record at the destination, where one is known.
    pub fn destination_reference(&self) -> Option<&str> {
        match self {
            Self::Confirmed { destination_reference, .. } => Some(destination_reference),
            Self::Disputed { destination_reference, .. } => destination_reference.as_deref(),
            Self::AwaitingApproval
            | Self::Rejected { .. }
            | Self::Acquired { .. }
            | Self::Sending { .. }
            | Self::Released { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. } => None,
        }
    }

    /// Since when it is confirmed; none where it is not.
    pub const fn confirmed_at(&self) -> Option<Timestamp> {
        match self {
            Self::Confirmed { since, .. } => Some(*since),
            Self::AwaitingApproval
            | Self::Rejected { .. }
            | Self::Acquired { .. }
            | Self::Sending { .. }
            | Self::Released { .. }
            | Self::Failed { .. }
            | Self::Unknown { .. }
            | Self::Disputed { .. } => None,
        }
    }

    /// Whether a person has to decide, or recovery to find out: the Unknown queue.
    pub const fn is_uncertain(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Disputed { .. })
    }

    /// Since when it is uncertain, where it is.
    pub const fn uncertain_since(&self) -> Option<Timestamp> {
        match self {
            Self::Unknown { since, .. } | Self::Disputed { since, .. } => Some(*since),
            Self::AwaitingApproval
            | Self::Rejected { .. }
            | Self::Acquired { .. }
            | Self::Sending { .. }
            | Self::Released { .. }
            | Self::Failed { .. }
            | Self::Confirmed { .. } => None,
        }
    }

    /// The state after `event`: the one table of what may follow on what. An equal state means that nothing changes.
    ///
    /// # Errors
    /// The refusal names both sides; a report that disagrees with a settled attempt is refused and kept as evidence by the caller.
    pub fn after(&self, event: &Event) -> Result<Self, Refusal> {
        match event {
            Event::Begun { at, lease_expires_at, two_step } => match self {
                Self::Released { .. } | Self::Failed { .. } => Ok(Self::begun(*at, *lease_expires_at, *two_step)),
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. } => Err(self.impossible("begun")),
            },
            Event::MarkedSending { at } => match self {
                Self::Acquired { lease_expires_at } if at < lease_expires_at => {
                    Ok(Self::Sending { since: *at, lease_expires_at: *lease_expires_at })
                }
                Self::Sending { lease_expires_at, .. } if at < lease_expires_at => Ok(self.clone()),
                Self::AwaitingApproval | Self::Rejected { .. } => Err(self.impossible("marked as sending")),
                Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. } => Err(Refusal::LeaseExpired),
            },
            Event::Extended { at, lease_expires_at: new_end } => match self {
                Self::Acquired { lease_expires_at } if at < lease_expires_at => {
                    Ok(Self::Acquired { lease_expires_at: *new_end })
                }
                Self::Sending { since, lease_expires_at } if at < lease_expires_at => {
                    Ok(Self::Sending { since: *since, lease_expires_at: *new_end })
                }
                Self::AwaitingApproval | Self::Rejected { .. } => Err(self.impossible("extended")),
                Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. } => Err(Refusal::LeaseExpired),
            },
            Event::Renewed { lease_expires_at, .. } => match self {
                Self::Acquired { .. } => Ok(Self::Acquired { lease_expires_at: *lease_expires_at }),
                Self::Sending { since, .. } => Ok(Self::Sending { since: *since, lease_expires_at: *lease_expires_at }),
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. } => Err(self.impossible("renewed")),
            },
            Event::LeaseExpired { at } => match self {
                Self::Acquired { lease_expires_at } if at >= lease_expires_at => Ok(Self::Released { since: *at }),
                Self::Sending { lease_expires_at, .. } if at >= lease_expires_at => {
                    Ok(Self::Unknown { since: *at, reason: REASON_LEASE_EXPIRED.to_owned() })
                }
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. } => Err(self.impossible("expired")),
            },
            Event::Reported { at, outcome, standing } => match standing {
                Standing::Latest => self.after_report(*at, outcome),
                Standing::Earlier { attempt } => self.after_late_report(*at, outcome, *attempt),
            },
            Event::LookedUp { at, finding, absence } => self.after_lookup(*at, finding, absence.as_ref()),
            Event::Resolved { at, resolution } => self.after_decision(*at, resolution),
            Event::Amended { at, step } => self.after_amendment(*at, step),
        }
    }

    /// What a person decides. Dropped is only what may have been applied or not: where two truths contradict each other, a record is
    /// named, and somebody has to say what becomes of it.
    fn after_decision(&self, at: Timestamp, resolution: &Resolution) -> Result<Self, Refusal> {
        match (self, resolution) {
            (Self::Unknown { .. } | Self::Disputed { .. }, Resolution::Confirmed { destination_reference }) => {
                Ok(Self::Confirmed { since: at, destination_reference: destination_reference.clone() })
            }
            (Self::Unknown { .. } | Self::Disputed { .. }, Resolution::NotApplied { reason }) => {
                Ok(Self::Failed { since: at, reason: reason.clone() })
            }
            (Self::Unknown { .. }, Resolution::Dropped { reason }) => {
                Ok(Self::Rejected { reason: reason.clone(), dropped_at: Some(at) })
            }
            (Self::Disputed { .. }, Resolution::Dropped { .. }) => {
                Err(self.impossible("dropped; say whether it was applied"))
            }
            (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Confirmed { .. },
                Resolution::Confirmed { .. } | Resolution::NotApplied { .. } | Resolution::Dropped { .. },
            ) => Err(self.impossible("decided by a person")),
        }
    }

    /// What becomes of an operation when its amendment does. Only what is proven not applied can be taken back or become void; whatever
    /// may be at the destination stays what it is.
    fn after_amendment(&self, at: Timestamp, step: &AmendmentStep) -> Result<Self, Refusal> {
        let (may_follow, after, what) = match step {
            AmendmentStep::Proposed => {
                (matches!(self, Self::Rejected { dropped_at: None, .. }), Self::AwaitingApproval, "proposed anew")
            }
            AmendmentStep::Approved => {
                (matches!(self, Self::AwaitingApproval), Self::Released { since: at }, "approved")
            }
            AmendmentStep::Rejected { reason } => (
                matches!(self, Self::AwaitingApproval),
                Self::Rejected { reason: reason.clone(), dropped_at: None },
                "rejected",
            ),
            AmendmentStep::Expired { reason } => (
                matches!(self, Self::AwaitingApproval),
                Self::Rejected { reason: reason.clone(), dropped_at: None },
                "expired",
            ),
            AmendmentStep::Withdrawn { reason } => (
                matches!(self, Self::AwaitingApproval | Self::Released { .. } | Self::Failed { .. }),
                Self::Rejected { reason: reason.clone(), dropped_at: None },
                "withdrawn",
            ),
            AmendmentStep::Void { reason } => (
                matches!(self, Self::AwaitingApproval | Self::Released { .. } | Self::Failed { .. }),
                Self::Rejected { reason: reason.clone(), dropped_at: None },
                "made void",
            ),
        };
        if may_follow { Ok(after) } else { Err(self.impossible(what)) }
    }

    /// What the holder of the latest lease says.
    fn after_report(&self, at: Timestamp, outcome: &Outcome) -> Result<Self, Refusal> {
        match (self, outcome) {
            // Whoever dropped it knew that it may have been applied, and its key stays taken: only a record is news.
            (Self::Rejected { reason, dropped_at: Some(_) }, Outcome::Confirmed { destination_reference }) => {
                Ok(Self::Disputed {
                    since: at,
                    reason: format!(
                        "dropped by a person ({reason}), and its worker reported it confirmed as {destination_reference:?}"
                    ),
                    destination_reference: Some(destination_reference.clone()),
                })
            }
            (Self::Rejected { dropped_at: Some(_), .. }, Outcome::Unknown { .. }) => Ok(self.clone()),
            // The attempt was proven not applied, and its amendment taken back since; now that proof is contradicted.
            (Self::AwaitingApproval | Self::Rejected { .. }, Outcome::Confirmed { destination_reference }) => Ok(self
                .disputed_after_withdrawal(
                    at,
                    &format!("reported it confirmed as {destination_reference:?}"),
                    Some(destination_reference),
                )),
            (Self::AwaitingApproval | Self::Rejected { .. }, Outcome::Unknown { reason }) => Ok(
                self.disputed_after_withdrawal(at, &format!("reported that it may have been applied: {reason}"), None)
            ),
            (Self::AwaitingApproval | Self::Rejected { .. }, Outcome::Failed { .. }) => Ok(self.clone()),
            (
                Self::Acquired { .. } | Self::Sending { .. } | Self::Unknown { .. },
                Outcome::Confirmed { destination_reference },
            ) => Ok(Self::Confirmed { since: at, destination_reference: destination_reference.clone() }),
            (Self::Acquired { .. } | Self::Sending { .. } | Self::Unknown { .. }, Outcome::Failed { reason }) => {
                Ok(Self::Failed { since: at, reason: reason.clone() })
            }
            (Self::Acquired { .. } | Self::Sending { .. }, Outcome::Unknown { reason }) => {
                Ok(Self::Unknown { since: at, reason: reason.clone() })
            }
            (Self::Unknown { .. }, Outcome::Unknown { .. }) => Ok(self.clone()),
            (Self::Released { .. } | Self::Failed { .. }, Outcome::Confirmed { destination_reference }) => {
                Ok(Self::Disputed {
                    since: at,
                    reason: format!(
                        "held as {}, and its worker reported it confirmed as {destination_reference:?}",
                        self.name().as_str()
                    ),
                    destination_reference: Some(destination_reference.clone()),
                })
            }
            (Self::Released { .. } | Self::Failed { .. }, Outcome::Failed { .. }) => Ok(self.clone()),
            (Self::Released { .. }, Outcome::Unknown { reason }) => Ok(Self::Disputed {
                since: at,
                reason: format!("released as never sent, and its worker reported that it may have been sent: {reason}"),
                destination_reference: None,
            }),
            // The proof is taken back by the one who would know; a key that stayed free would let the effect be doubled.
            (Self::Failed { reason: proof, .. }, Outcome::Unknown { reason }) => Ok(Self::Disputed {
                since: at,
                reason: format!(
                    "held as failed ({proof}), and its worker reported that it may have been applied: {reason}"
                ),
                destination_reference: None,
            }),
            (Self::Confirmed { destination_reference: held, .. }, Outcome::Confirmed { destination_reference }) => {
                if held == destination_reference {
                    return Ok(self.clone());
                }
                Ok(Self::Disputed {
                    since: at,
                    reason: format!(
                        "confirmed as {held:?}, and then reported as {destination_reference:?}: there may be two records"
                    ),
                    destination_reference: Some(held.clone()),
                })
            }
            (
                Self::Disputed { since, reason, destination_reference: None },
                Outcome::Confirmed { destination_reference },
            ) => Ok(Self::Disputed {
                since: *since,
                reason: reason.clone(),
                destination_reference: Some(destination_reference.clone()),
            }),
            (
                Self::Disputed { destination_reference: Some(held), .. },
                Outcome::Confirmed { destination_reference },
            ) if held == destination_reference => Ok(self.clone()),
            (Self::Disputed { .. }, Outcome::Confirmed { .. })
            | (Self::Confirmed { .. } | Self::Disputed { .. }, Outcome::Failed { .. } | Outcome::Unknown { .. }) => {
                Err(Refusal::OutcomeDisagrees { held: self.name() })
            }
        }
    }

    /// An attempt that was proven not applied speaks after its amendment was taken back.
    fn disputed_after_withdrawal(&self, at: Timestamp, said: &str, destination_reference: Option<&String>) -> Self {
        Self::Disputed {
            since: at,
            reason: format!(
                "held as {} after an attempt that was proven not applied, and the worker of that attempt {said}",
                self.name().as_str()
            ),
            destination_reference: destination_reference.cloned(),
        }
    }

    /// What the holder of an earlier lease says after a newer attempt was permitted.
    fn after_late_report(&self, at: Timestamp, outcome: &Outcome, attempt: u32) -> Result<Self, Refusal> {
        match (self, outcome) {
            (Self::Confirmed { destination_reference: held, .. }, Outcome::Confirmed { destination_reference })
                if held == destination_reference =>
            {
                Ok(self.clone())
            }
            (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. },
                Outcome::Confirmed { destination_reference },
            ) => Ok(Self::Disputed {
                since: at,
                reason: format!(
                    "attempt {attempt} reported {destination_reference:?} as confirmed after a newer attempt was permitted: there may be two records"
                ),
                destination_reference: self.destination_reference().map(ToOwned::to_owned),
            }),
            (Self::Disputed { .. }, Outcome::Confirmed { .. })
            | (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Sending { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. }
                | Self::Disputed { .. },
                Outcome::Failed { .. } | Outcome::Unknown { .. },
            ) => Ok(self.clone()),
        }
    }

    /// What the destination showed.
    ///
    /// Only what is unknown is settled by it. What was settled meanwhile becomes disputed where a record contradicts it; where an
    /// attempt is under way, a record may be that attempt's own, unless nothing can have been sent yet.
    fn after_lookup(&self, at: Timestamp, finding: &Finding, absence: Option<&Absence>) -> Result<Self, Refusal> {
        match (self, finding) {
            (Self::Unknown { .. }, Finding::Found { destination_reference }) => {
                Ok(Self::Confirmed { since: at, destination_reference: destination_reference.clone() })
            }
            (Self::Unknown { .. }, Finding::Absent) => Ok(match absence {
                Some(absence) => Self::Failed { since: at, reason: absence.reason() },
                None => self.clone(),
            }),
            (Self::Confirmed { destination_reference: held, .. }, Finding::Found { destination_reference })
                if held == destination_reference =>
            {
                Ok(self.clone())
            }
            (Self::Unknown { .. }, Finding::Differs { .. } | Finding::Several { .. })
            | (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Confirmed { .. },
                Finding::Found { .. } | Finding::Differs { .. } | Finding::Several { .. },
            ) => Ok(Self::Disputed {
                since: at,
                reason: self.contradicted_by(finding),
                destination_reference: match (self, finding) {
                    (Self::Confirmed { destination_reference: held, .. }, _) => Some(held.clone()),
                    (_, Finding::Found { destination_reference } | Finding::Differs { destination_reference, .. }) => {
                        Some(destination_reference.clone())
                    }
                    (
                        _,
                        Finding::Several { .. }
                        | Finding::VoidOnly { .. }
                        | Finding::Absent
                        | Finding::Inconclusive { .. },
                    ) => None,
                },
            }),
            (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Unknown { .. }
                | Self::Confirmed { .. },
                Finding::VoidOnly { .. } | Finding::Inconclusive { .. },
            )
            | (
                Self::AwaitingApproval
                | Self::Rejected { .. }
                | Self::Acquired { .. }
                | Self::Released { .. }
                | Self::Failed { .. }
                | Self::Confirmed { .. },
                Finding::Absent,
            )
            | (
                Self::Sending { .. } | Self::Disputed { .. },
                Finding::Found { .. }
                | Finding::Differs { .. }
                | Finding::Several { .. }
                | Finding::VoidOnly { .. }
                | Finding::Absent
                | Finding::Inconclusive { .. },
            ) => Ok(self.clone()),
        }
    }

    /// What contradicts what, in words.
    fn contradicted_by(&self, finding: &Finding) -> String {
        let shown = match finding {
            Finding::Found { destination_reference } => format!("the destination holds {destination_reference:?}"),
            Finding::Differs { destination_reference, differences } => {
                format!("the destination holds {destination_reference:?}, and it differs in {}", places(differences))
            }
            Finding::Several { destination_references } => format!(
                "the destination holds several live records: {}",
                destination_references.iter().map(|reference| format!("{reference:?}")).collect::<Vec<_>>().join(", ")
            ),
            Finding::VoidOnly { .. } | Finding::Absent | Finding::Inconclusive { .. } => finding.as_str().to_owned(),
        };
        match self {
            Self::Confirmed { destination_reference, .. } => {
                format!("confirmed as {destination_reference:?}, and {shown}")
            }
            Self::Failed { reason, .. } => format!("held as failed ({reason}), and {shown}"),
            Self::Rejected { reason, dropped_at: Some(_) } => format!("dropped by a person ({reason}), and {shown}"),
            Self::AwaitingApproval
            | Self::Rejected { dropped_at: None, .. }
            | Self::Acquired { .. }
            | Self::Released { .. } => {
                format!("held as {}, before anything was sent, and {shown}", self.name().as_str())
            }
            Self::Sending { .. } | Self::Unknown { .. } | Self::Disputed { .. } => shown,
        }
    }

    fn impossible(&self, what: &'static str) -> Refusal {
        Refusal::Impossible { state: self.name(), what: what.into() }
    }
}

/// The key fields that differ, as the payload names them.
pub(crate) fn places(differences: &[Difference]) -> String {
    differences.iter().map(|difference| difference.payload.to_string()).collect::<Vec<_>>().join(", ")
}

/// Why an operation is unknown whose worker was never heard of again.
pub const REASON_LEASE_EXPIRED: &str = "the lease expired while the request may have been under way";
