//! What goes wrong, played.

use std::time::Duration;

use super::Drill;
use super::change::NEWEST;
use super::order::Order;
use crate::sandbox::Fault;

/// So many workers ask at once.
const WORKERS_AT_ONCE: usize = 20;

/// A worker that dies or meets a slow destination asked for a lease of so many seconds.
pub(super) const SHORT_LEASE_SECONDS: u32 = 1;

/// The slow destination writes after this time, in milliseconds: longer than the lease.
pub(super) const SLOW_MILLISECONDS: u64 = 2_500;

/// Somebody else asks for what is slow after this time, in milliseconds: when the lease is over.
const MEANWHILE_MILLISECONDS: u64 = 1_500;

/// A queue delivers a message this often.
const REDELIVERIES: u64 = 5;

/// A queue delivers a message again after this time, in milliseconds.
const REDELIVERY_MILLISECONDS: u64 = 150;

/// The company of orders of which there is nothing to tell.
const COMPANY: &str = "drill-north";

/// Another company.
const OTHER_COMPANY: &str = "drill-south";

/// One thing that goes wrong in real life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Somebody pressed Submit twice.
    Twice,
    /// Many workers take the same order from somewhere.
    AtOnce,
    /// A worker dies between the write and telling it.
    Killed,
    /// The record is written, and its answer does not arrive.
    LostAnswer,
    /// The connection breaks before the record is written.
    LostRequest,
    /// The destination answers 500 and has written the record.
    FailsAfterWrite,
    /// The destination takes longer than the lease, or than a worker's patience.
    Slow,
    /// An old version of a document arrives behind a newer one.
    OldRevision,
    /// Two companies use the same document number.
    TwoCompanies,
    /// Two documents have the same content.
    Twins,
    /// A queue delivers a message again and again.
    Redelivery,
}

/// What happens to one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// Nothing.
    None,
    /// The worker ends once the destination has answered.
    Killed,
    /// The answer is lost.
    LostAnswer,
    /// The request is lost.
    LostRequest,
    /// The answer is 500 though it was written.
    FailsAfterWrite,
    /// The answer takes longer than the lease.
    Slow,
}

impl Mishap {
    /// What a sandbox is asked for, to make it happen on the wire.
    pub(super) const fn fault(self) -> Option<Fault> {
        match self {
            Self::None | Self::Killed => None,
            Self::LostAnswer => Some(Fault::CutAfter),
            Self::LostRequest => Some(Fault::CutBefore),
            Self::FailsAfterWrite => Some(Fault::FailAfter),
            Self::Slow => Some(Fault::SlowBefore(SLOW_MILLISECONDS)),
        }
    }

    /// The lease that its worker asks for; none: the workflow's.
    pub(super) const fn lease_seconds(self) -> Option<u32> {
        match self {
            Self::Killed | Self::Slow => Some(SHORT_LEASE_SECONDS),
            Self::None | Self::LostAnswer | Self::LostRequest | Self::FailsAfterWrite => None,
        }
    }
}

/// One arrival of an order at a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Which of the orders.
    pub(super) order: usize,
    /// How long after the wave began.
    pub(super) after: Duration,
    /// What happens to it.
    pub(super) mishap: Mishap,
    /// Which version of the order arrives, where it has several.
    pub(super) version: Option<u32>,
}

/// The orders of a scenario, each of which should be one record, and their deliveries: those of a wave at once, the waves one after
/// the other.
pub(super) struct Script {
    pub(super) orders: Vec<Order>,
    /// How often a record should be changed afterwards.
    pub(super) changes: u64,
    pub(super) waves: Vec<Vec<Delivery>>,
}

impl Scenario {
    /// Every scenario, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Twice,
        Self::AtOnce,
        Self::Killed,
        Self::LostAnswer,
        Self::LostRequest,
        Self::FailsAfterWrite,
        Self::Slow,
        Self::OldRevision,
        Self::TwoCompanies,
        Self::Twins,
        Self::Redelivery,
    ];

    /// Its name for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Twice => "same_operation_twice",
            Self::AtOnce => "many_workers_at_once",
            Self::Killed => "worker_killed_after_the_write",
            Self::LostAnswer => "lost_answer",
            Self::LostRequest => "lost_request",
            Self::FailsAfterWrite => "error_after_the_write",
            Self::Slow => "slow_destination",
            Self::OldRevision => "old_revision_after_a_newer_one",
            Self::TwoCompanies => "same_number_in_two_companies",
            Self::Twins => "twin_documents",
            Self::Redelivery => "redelivery_by_a_queue",
        }
    }

    /// What happens, for somebody who knows nothing of Onceover.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Twice => "The same order is submitted twice",
            Self::AtOnce => "20 workers take the same order at once",
            Self::Killed => "A worker dies right after it made the record",
            Self::LostAnswer => "The record is made, its answer is lost",
            Self::LostRequest => "The connection breaks before the record is made",
            Self::FailsAfterWrite => "The record is made, the answer is an error",
            Self::Slow => "The answer takes longer than the worker may wait",
            Self::OldRevision => "An order is changed, then its older copy comes again",
            Self::TwoCompanies => "Two companies use the same order number",
            Self::Twins => "Two different orders have the same content",
            Self::Redelivery => "A queue delivers the same message five times",
        }
    }

    /// Why it goes wrong without a guard.
    pub(super) const fn cause(self) -> &'static str {
        match self {
            Self::Twice => "nothing remembers that the first submission was done",
            Self::AtOnce => "none of the workers knows of the others",
            Self::Killed => "the next worker cannot know that the record is there already",
            Self::LostAnswer | Self::FailsAfterWrite => "a retry cannot know that the first try made the record",
            Self::LostRequest => "the same retry makes a second record where only the answer was lost",
            Self::Slow => "the worker gave up and tried again while the first request was still being carried out",
            Self::OldRevision => "the older version is written over the newer one",
            Self::TwoCompanies => "an order number alone does not tell two companies apart",
            Self::Twins => "equal content does not make two orders one",
            Self::Redelivery => "each delivery looks like a new order",
        }
    }

    /// Why it comes out right with a guard.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Twice => "The second submission was answered with the record that the first one made",
            Self::AtOnce => "One worker was let through; the others were told to wait, and then of its record",
            Self::Killed | Self::LostAnswer | Self::FailsAfterWrite => {
                "Nobody sent again: the destination was asked, and it showed the record"
            }
            Self::Slow => "Nobody sent again: the late answer, or a look at the destination, showed the record",
            Self::LostRequest => "The destination was asked whether the first try made a record",
            Self::OldRevision => {
                "The order and its change were let through; the older copy was told that a newer version is in force"
            }
            Self::TwoCompanies => "An order number counts within its company: these are two orders",
            Self::Twins => "Equal content does not make two orders one: each has its own number",
            Self::Redelivery => "The first delivery was let through; the others were told to wait, or of its record",
        }
    }

    /// The script, or why it cannot be played.
    pub(super) fn script(self, drill: &Drill) -> Result<Script, String> {
        let order = |company: &str, number: u32| Order {
            company: company.to_owned(),
            document: format!("drill-{}-{}-{number}", drill.run, self.as_str()),
        };
        let one = || vec![order(COMPANY, 1)];
        let delivery = |mishap| Delivery { order: 0, after: Duration::ZERO, mishap, version: None };
        let plain = delivery(Mishap::None);
        let mut changes = 0;
        let (orders, waves) = match self {
            Self::Twice => (one(), vec![vec![plain], vec![plain]]),
            Self::AtOnce => (one(), vec![vec![plain; WORKERS_AT_ONCE]]),
            Self::Killed => (one(), vec![vec![delivery(Mishap::Killed)], vec![plain]]),
            Self::LostAnswer => (one(), vec![vec![delivery(Mishap::LostAnswer)]]),
            Self::LostRequest => (one(), vec![vec![delivery(Mishap::LostRequest)]]),
            Self::FailsAfterWrite if drill.sandbox.is_none() => {
                return Err("Only the sandbox can be told to answer so.".to_owned());
            }
            Self::FailsAfterWrite => (one(), vec![vec![delivery(Mishap::FailsAfterWrite)]]),
            Self::Slow => {
                // With a guard somebody else asks while the lease is over and the answer is not there.
                let meanwhile = Delivery { after: Duration::from_millis(MEANWHILE_MILLISECONDS), ..plain };
                let asks = std::iter::repeat_n(meanwhile, usize::from(drill.guard.is_some()));
                (one(), vec![std::iter::once(delivery(Mishap::Slow)).chain(asks).collect()])
            }
            Self::OldRevision if drill.sandbox.is_none() => {
                return Err("The drill knows how a record is changed in the sandbox only.".to_owned());
            }
            Self::OldRevision => {
                let version = |number| Delivery { version: Some(number), ..plain };
                changes = 1;
                (one(), vec![vec![version(1)], vec![version(NEWEST)], vec![version(1)]])
            }
            Self::TwoCompanies => {
                let orders = vec![order(COMPANY, 1), order(OTHER_COMPANY, 1)];
                (orders, vec![vec![plain, Delivery { order: 1, ..plain }]])
            }
            Self::Twins => {
                let orders = vec![order(COMPANY, 1), order(COMPANY, 2)];
                (orders, vec![vec![plain, Delivery { order: 1, ..plain }]])
            }
            Self::Redelivery => {
                let at = |number| Duration::from_millis(number * REDELIVERY_MILLISECONDS);
                let again = (0..REDELIVERIES).map(|number| Delivery { after: at(number), ..plain });
                (one(), vec![again.collect()])
            }
        };
        Ok(Script { orders, changes, waves })
    }
}
