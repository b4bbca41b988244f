//! Proves that the certificates of closed periods say what the trail says.
//!
//! A certificate is an entry of the administration. Its figures are added up anew from the entries of the operations: where each stood
//! at the moment that the certificate names. What was in conflict then, and which revision had been superseded, is not told there; the
//! lines of superseded and of other confirmed operations are therefore compared together, as are those of reversals.

use std::collections::{BTreeMap, HashMap};

use guard::clock::Timestamp;
use guard::id::{OperationId, PeriodId};
use guard::json::Json;
use guard::operation::Operation;
use guard::period::{Certificate, Day};
use guard::refusal::StoreFault;
use guard::state::StateName;
use guard::trail::{Entry, EntryKind};
use rust_decimal::Decimal;

use super::proof::FirstBroken;
use super::{ChainId, Ledger, Seal};

/// So many entries of the administration are held in memory at once.
const ENTRIES_PER_READ: u32 = 500;

/// One line: workflow, state, currency.
type LineOf = (String, StateName, Option<String>);

/// How many operations stand in a line, and the sum of their money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    operations: u64,
    amount: Decimal,
}

/// A certificate, with what its figures turn out to be.
struct Measured {
    period: PeriodId,
    certificate: Certificate,
    lines: BTreeMap<LineOf, Sum>,
    operations: u64,
    is_seal_seen: bool,
}

/// The certificates that are to be proven.
#[derive(Default)]
pub(super) struct Certificates {
    all: Vec<Measured>,
}

/// What the entries of an operation tell of where it stood.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// Where, and since when: in the order of its entries.
    pub states: Vec<(Timestamp, StateName)>,
    /// Whether it takes a record back.
    pub is_reversal: bool,
}

impl Certificates {
    /// Reads every certificate that was signed, and compares each with its SHA-256 and with what is shown of it.
    pub(super) async fn read(ledger: &dyn Ledger) -> Result<Self, FirstBroken> {
        let mut certificates = Self::default();
        let mut behind = (ChainId::ADMINISTRATION, 0);
        loop {
            let page = ledger.all_entries(behind, ENTRIES_PER_READ).await?;
            let own: Vec<Entry> = page
                .into_iter()
                .filter(|(chain, _)| *chain == ChainId::ADMINISTRATION)
                .map(|(_, entry)| entry)
                .collect();
            let Some(last) = own.last() else { return Ok(certificates) };
            behind.1 = last.sequence;
            for entry in own.iter().filter(|entry| entry.kind == EntryKind::PeriodClosed) {
                certificates.take_in(ledger, entry).await?;
            }
        }
    }

    async fn take_in(&mut self, ledger: &dyn Ledger, entry: &Entry) -> Result<(), FirstBroken> {
        let fact = |name: &str| entry.detail.member(name).and_then(Json::as_str);
        let unreadable = || {
            FirstBroken::Unreadable(StoreFault::Corrupt {
                table: "entry".to_owned(),
                column: "detail".to_owned(),
                id: format!("administration/{}", entry.sequence),
            })
        };
        let period: PeriodId = fact("period").and_then(|id| id.parse().ok()).ok_or_else(unreadable)?;
        let told = entry.detail.member("certificate").ok_or_else(unreadable)?;
        let certificate: Certificate = serde_json::from_str(&told.to_string()).map_err(|_| unreadable())?;
        let broken = |what: String| FirstBroken::Certificate { period, what };
        let measured = certificate.fingerprint().to_string();
        if fact("sha256") != Some(measured.as_str()) {
            let claimed = fact("sha256").unwrap_or("none");
            return Err(broken(format!("its SHA-256 is {measured}, and its entry says {claimed}")));
        }
        match ledger.period(period).await? {
            None => return Err(broken("it is no longer kept; its entry is there".to_owned())),
            Some(held) if held.certificate != certificate => {
                return Err(broken("what is shown of it is not what its entry says".to_owned()));
            }
            Some(_) => {}
        }
        let lines = BTreeMap::new();
        self.all.push(Measured { period, certificate, lines, operations: 0, is_seal_seen: false });
        Ok(())
    }

    /// Whether there is none: then nothing of operations needs to be remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds up operations, each with its states, by their days.
    pub(super) async fn add(
        &mut self,
        ledger: &dyn Ledger,
        operations: &[(Operation, States)],
    ) -> Result<(), FirstBroken> {
        if self.is_empty() || operations.is_empty() {
            return Ok(());
        }
        let ids: Vec<OperationId> = operations.iter().map(|(operation, _)| operation.id).collect();
        let days: HashMap<OperationId, Day> = ledger.days(&ids).await?.into_iter().collect();
        for (operation, states) in operations {
            let day = days.get(&operation.id).copied().unwrap_or_else(|| operation.created_at.date_naive());
            for measured in &mut self.all {
                measured.add(operation, states, day);
            }
        }
        Ok(())
    }

    /// Takes note of a seal that is whole.
    pub(super) fn see_seal(&mut self, seal: &Seal) -> Result<(), FirstBroken> {
        for measured in &mut self.all {
            let Some(mark) = measured.certificate.seal.filter(|mark| mark.number == seal.number) else { continue };
            if mark.hash != seal.hash {
                let what = format!(
                    "it was signed on seal {} with the hash {}, which is {} now",
                    mark.number, mark.hash, seal.hash
                );
                return Err(FirstBroken::Certificate { period: measured.period, what });
            }
            measured.is_seal_seen = true;
        }
        Ok(())
    }

    /// Whether every certificate says what was added up; answers how many there are.
    pub(super) fn finish(self) -> Result<u64, FirstBroken> {
        for measured in &self.all {
            measured.check().map_err(|what| FirstBroken::Certificate { period: measured.period, what })?;
        }
        Ok(self.all.len() as u64)
    }
}

impl Measured {
    fn add(&mut self, operation: &Operation, states: &States, day: Day) {
        let totals = &self.certificate.totals;
        if operation.key.company.as_str() != totals.company || !totals.span.holds(day) {
            return;
        }
        let then = states.states.iter().rev().find(|(at, _)| *at <= totals.as_of);
        let Some((_, state)) = then else { return };
        let workflow = operation.key.workflow.as_str().to_owned();
        let currency = operation.money.as_ref().map(|money| money.currency.clone());
        let sum = self.lines.entry((workflow, *state, currency)).or_default();
        sum.operations += 1;
        let amount = operation.money.as_ref().map_or(Decimal::ZERO, |money| money.amount);
        let amount = if states.is_reversal { -amount } else { amount };
        // A sum that does not fit was not signed.
        sum.amount = sum.amount.checked_add(amount).unwrap_or(Decimal::MAX);
        self.operations += 1;
    }

    fn check(&self) -> Result<(), String> {
        let totals = &self.certificate.totals;
        if let Some(mark) = self.certificate.seal.filter(|_| !self.is_seal_seen) {
            return Err(format!("it was signed on seal {}, which is gone", mark.number));
        }
        if totals.operations != self.operations {
            let (signed, now) = (totals.operations, self.operations);
            return Err(format!("{signed} operations were signed, and the trail tells of {now}"));
        }
        let mut signed: BTreeMap<LineOf, Sum> = BTreeMap::new();
        for line in &totals.lines {
            let sum = signed.entry((line.workflow.clone(), line.state, line.currency.clone())).or_default();
            sum.operations += line.operations;
            sum.amount = sum.amount.checked_add(line.amount.unwrap_or_default()).unwrap_or(Decimal::MAX);
        }
        for place in signed.keys().chain(self.lines.keys()) {
            let nothing = Sum::default();
            let (signed, told) = (signed.get(place).unwrap_or(&nothing), self.lines.get(place).unwrap_or(&nothing));
            // A rejected amendment may be proposed anew with another amount.
            let has_fixed_amount = !matches!(place.1, StateName::Rejected | StateName::AwaitingApproval);
            if signed.operations == told.operations && (signed.amount == told.amount || !has_fixed_amount) {
                continue;
            }
            let (workflow, state, currency) = place;
            return Err(format!(
                "{workflow}, {}: {} operations with {} {currency} were signed, and the trail tells of {} with {}",
                state.as_str(),
                signed.operations,
                signed.amount,
                told.operations,
                told.amount,
                currency = currency.as_deref().unwrap_or("of no currency"),
            ));
        }
        Ok(())
    }
}
