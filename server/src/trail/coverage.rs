//! Which seal holds an operation's chain: what ties an evidence pack to a hash that was kept elsewhere.

use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::trail::{ChainHash, Entry};

use super::{ChainId, Head, Ledger, Seal};

/// An entry may stand in a later seal than the first one whose time covers it, when its commit took long; so many are looked at.
const SEALS_LOOKED_AT_MAX: u64 = 20;

/// A seal that holds the head of a chain.
pub struct Coverage {
    /// The seal.
    pub seal: Seal,
    /// The hash of the seal before it.
    pub previous: ChainHash,
    /// The head of the chain in it.
    pub head: Head,
}

/// The seal that holds the newest sealed entry among these of an operation, oldest first; none where none of them is sealed yet.
///
/// # Errors
/// The store's fault.
pub async fn coverage(
    ledger: &dyn Ledger,
    operation: &Operation,
    entries: &[&Entry],
) -> Result<Option<Coverage>, StoreFault> {
    let Some(last) = ledger.last_seal().await? else { return Ok(None) };
    let chain = ChainId::from(operation.id);
    for entry in entries.iter().rev().filter(|entry| entry.at < last.until) {
        let first = first_until_after(ledger, entry, last.number).await?;
        let until = last.number.min(first + SEALS_LOOKED_AT_MAX);
        for number in first..=until {
            let Some(seal) = ledger.seals(number - 1, 1).await?.pop() else { break };
            let head = seal.heads.iter().find(|head| head.chain == chain && head.sequence >= entry.sequence);
            if let Some(head) = head.copied().filter(|head| entries.iter().any(|held| held.hash == head.hash)) {
                let before = number.checked_sub(2);
                let previous = match before {
                    Some(before) => ledger.seals(before, 1).await?.pop().map(|seal| seal.hash),
                    None => Some(ChainHash::START),
                };
                return Ok(previous.map(|previous| Coverage { seal, previous, head }));
            }
        }
    }
    Ok(None)
}

/// The number of the first seal that reaches beyond an entry's moment: seals reach ever further, so that it is found by halving.
async fn first_until_after(ledger: &dyn Ledger, entry: &Entry, last: u64) -> Result<u64, StoreFault> {
    let (mut low, mut high) = (1, last);
    while low < high {
        let middle = low + (high - low) / 2;
        let reaches = ledger.seals(middle - 1, 1).await?.pop().is_none_or(|seal| seal.until > entry.at);
        if reaches {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
