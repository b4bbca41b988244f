//! The words for periods.

use guard::{
    money::Money,
    period::{CertificateLine, OpenKind},
};

/// The page on which a period is looked at before it is closed.
#[cfg(feature = "ssr")]
pub(crate) fn period_address(company: &str, from: &str, to: &str) -> String {
    let query = serde_urlencoded::to_string([("company", company), ("from", from), ("to", to)]).unwrap_or_default();
    format!("/periods?{query}")
}

/// Why an item is open, in a few words.
pub(crate) const fn open_kind(kind: OpenKind) -> &'static str {
    match kind {
        OpenKind::Unknown => "Unknown: it may have been applied, and nobody knows",
        OpenKind::Disputed => "Disputed: two truths contradict each other",
        OpenKind::InConflict => "In conflict: another payload came, and nobody has decided",
        OpenKind::Unapproved => "Unapproved: an amendment waits",
        OpenKind::UnderWay => "Under way: a worker is on it",
    }
}

/// The money of a line; none where none is known.
pub(crate) fn line_money(line: &CertificateLine) -> Option<Money> {
    let (amount, currency) = line.amount.zip(line.currency.clone())?;
    Some(Money { amount, currency })
}
