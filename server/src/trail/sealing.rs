//! Makes seals.

use std::collections::{BTreeMap, HashMap};

use chrono::TimeDelta;
use guard::clock::Timestamp;
use guard::refusal::StoreFault;
use guard::trail::ChainHash;

use super::{ChainId, Head, Ledger, Moment, Seal};

/// A seal is made so often, in seconds.
pub const SEAL_EVERY_SECONDS: u64 = 60;

/// A seal covers entries up to so many seconds ago: younger ones may still be on their way into the store.
pub const SEAL_DELAY_SECONDS: i64 = 10;

/// A seal looks again at so many seconds before the last one, for entries whose commit took longer than the delay. Requests are given
/// up far earlier.
const SEAL_OVERLAP_SECONDS: i64 = 60;

/// A seal holds at most about so many heads (56 bytes each); more make further seals at once.
const SEAL_HEADS_MAX: usize = 20_000;

/// So many entries are read at once.
const ENTRIES_PER_READ: u32 = 5_000;

/// What sealing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// So many seals were made.
    Made(u32),
    /// Nothing has changed since the last one.
    NothingNew,
    /// Another process made the next one.
    OtherWasFirst,
}

/// Seals what has changed since the last seal. Every process may try; one makes the seal.
///
/// # Errors
/// The store's fault.
pub async fn seal(ledger: &dyn Ledger, now: Timestamp) -> Result<Sealed, StoreFault> {
    let mut made = 0;
    loop {
        let Some((seal, is_whole)) = next_seal(ledger, now).await? else {
            return Ok(if made == 0 { Sealed::NothingNew } else { Sealed::Made(made) });
        };
        if !ledger.add_seal(&seal).await? {
            return Ok(Sealed::OtherWasFirst);
        }
        made += 1;
        if is_whole {
            return Ok(Sealed::Made(made));
        }
    }
}

/// The next seal, and whether it covers all that there is; none where nothing has changed.
async fn next_seal(ledger: &dyn Ledger, now: Timestamp) -> Result<Option<(Seal, bool)>, StoreFault> {
    let target = now - TimeDelta::seconds(SEAL_DELAY_SECONDS);
    let last = ledger.last_seal().await?;
    let start =
        last.as_ref().map_or(Timestamp::UNIX_EPOCH, |last| last.until - TimeDelta::seconds(SEAL_OVERLAP_SECONDS));
    let covered = covered_since(ledger, last.as_ref(), start).await?;

    let mut heads: BTreeMap<ChainId, (u64, ChainHash)> = BTreeMap::new();
    let mut place = Moment::start_of(start);
    let mut is_whole = true;
    loop {
        let page = ledger.heads_by_moment(place, target, ENTRIES_PER_READ).await?;
        let Some((end, _)) = page.last() else { break };
        place = *end;
        for (moment, hash) in page {
            let is_covered = covered.get(&moment.chain).is_some_and(|sealed| *sealed >= moment.sequence);
            let is_newest = heads.get(&moment.chain).is_none_or(|(known, _)| *known < moment.sequence);
            if !is_covered && is_newest {
                heads.insert(moment.chain, (moment.sequence, hash));
            }
        }
        if heads.len() >= SEAL_HEADS_MAX {
            is_whole = false;
            break;
        }
    }
    if heads.is_empty() {
        return Ok(None);
    }
    let until = if is_whole { target } else { place.at };
    let until = last.as_ref().map_or(until, |last| last.until.max(until));
    let previous = last.map_or((0, ChainHash::START), |last| (last.number, last.hash));
    let heads = heads.into_iter().map(|(chain, (sequence, hash))| Head { chain, sequence, hash }).collect();
    Ok(Some((Seal::following(previous, now, until, heads), is_whole)))
}

/// The greatest sequence of each chain that was sealed since `start`.
async fn covered_since(
    ledger: &dyn Ledger,
    last: Option<&Seal>,
    start: Timestamp,
) -> Result<HashMap<ChainId, u64>, StoreFault> {
    let mut covered = HashMap::new();
    let mut next = last.cloned();
    while let Some(seal) = next.filter(|seal| seal.until > start) {
        for head in &seal.heads {
            let sealed = covered.entry(head.chain).or_insert(head.sequence);
            *sealed = head.sequence.max(*sealed);
        }
        next = match seal.number.checked_sub(2) {
            Some(before_previous) => ledger.seals(before_previous, 1).await?.pop(),
            None => None,
        };
    }
    Ok(covered)
}
