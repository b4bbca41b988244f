//! API tokens and what a caller may reach.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::id::TokenId;
use crate::key::OperationKey;

/// A token's name has at most this many characters.
pub const TOKEN_NAME_CHARACTERS_MAX: usize = 80;

/// What a token may do. None can approve, resolve or configure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Scope {
    /// Begin, mark, extend, report.
    #[serde(rename = "operations:write")]
    OperationsWrite,
    /// Read operations, payloads and the trail.
    #[serde(rename = "operations:read")]
    OperationsRead,
    /// Propose amendments.
    #[serde(rename = "amendments:propose")]
    AmendmentsPropose,
    /// Hand in the destination's records.
    #[serde(rename = "reconciliation:write")]
    ReconciliationWrite,
    /// Read the metrics.
    #[serde(rename = "metrics:read")]
    MetricsRead,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 5] = [
        Self::OperationsWrite,
        Self::OperationsRead,
        Self::AmendmentsPropose,
        Self::ReconciliationWrite,
        Self::MetricsRead,
    ];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperationsWrite => "operations:write",
            Self::OperationsRead => "operations:read",
            Self::AmendmentsPropose => "amendments:propose",
            Self::ReconciliationWrite => "reconciliation:write",
            Self::MetricsRead => "metrics:read",
        }
    }

    /// The scope with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// The companies and workflows within somebody's reach; `None` is every one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// Only these companies.
    pub companies: Option<BTreeSet<String>>,
    /// Only these workflows.
    pub workflows: Option<BTreeSet<String>>,
}

impl Reach {
    /// Reach over everything.
    pub const EVERYTHING: Self = Self { companies: None, workflows: None };

    /// Reach over these companies and workflows; an empty list is every one.
    pub fn over(companies: impl IntoIterator<Item = String>, workflows: impl IntoIterator<Item = String>) -> Self {
        let limit = |names: BTreeSet<String>| if names.is_empty() { None } else { Some(names) };
        Self { companies: limit(companies.into_iter().collect()), workflows: limit(workflows.into_iter().collect()) }
    }

    /// Whether the company is within reach.
    pub fn company(&self, company: &str) -> bool {
        self.companies.as_ref().is_none_or(|companies| companies.contains(company))
    }

    /// Whether everything within this reach is within the other's too.
    pub fn is_within(&self, other: &Self) -> bool {
        let within = |own: &Option<BTreeSet<String>>, other: &Option<BTreeSet<String>>| match (own, other) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(other)) => own.is_subset(other),
        };
        within(&self.companies, &other.companies) && within(&self.workflows, &other.workflows)
    }

    /// Whether something may lie within both reaches.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |own: &Option<BTreeSet<String>>, other: &Option<BTreeSet<String>>| match (own, other) {
            (Some(own), Some(other)) => !own.is_disjoint(other),
            (None, _) | (_, None) => true,
        };
        meet(&self.companies, &other.companies) && meet(&self.workflows, &other.workflows)
    }

    /// The part of it that is of one company, of one workflow, or both; [`Self::is_nothing`] where that lies outside.
    pub fn narrowed(&self, company: Option<&String>, workflow: Option<&String>) -> Self {
        let one = |own: &Option<BTreeSet<String>>, wanted: Option<&String>| match wanted {
            None => own.clone(),
            Some(wanted) => {
                let is_reached = own.as_ref().is_none_or(|own| own.contains(wanted));
                Some(is_reached.then(|| wanted.clone()).into_iter().collect())
            }
        };
        Self { companies: one(&self.companies, company), workflows: one(&self.workflows, workflow) }
    }

    /// Whether nothing can lie within it.
    pub fn is_nothing(&self) -> bool {
        [&self.companies, &self.workflows].into_iter().flatten().any(BTreeSet::is_empty)
    }

    /// Whether the operation with this key is within reach.
    pub fn key(&self, key: &OperationKey) -> bool {
        self.company(key.company.as_str()) && self.workflow(key.workflow.as_str())
    }

    /// Whether the workflow is within reach.
    pub fn workflow(&self, workflow: &str) -> bool {
        self.workflows.as_ref().is_none_or(|workflows| workflows.contains(workflow))
    }
}

/// An API token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The name that people gave it; unique, without `/`.
    pub name: String,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// Where it may do that.
    pub reach: Reach,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it: the person behind what it does.
    pub created_by: Actor,
    /// Since when it is no longer accepted.
    pub revoked_at: Option<Timestamp>,
}

/// The secret of a token, shown once: `oo_` and 256 random bits in hexadecimal.
pub struct TokenSecret(String);

impl TokenSecret {
    /// A new secret from twice sixteen random bytes.
    pub fn new(random: [[u8; 16]; 2]) -> Self {
        Self(format!("oo_{}", crate::operation::hexadecimal(random.as_flattened())))
    }

    /// The text, for the one who made it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The SHA-256 of the text of a secret: what the store keeps. The secret has 256 random bits, so a slow hash would add nothing.
    pub fn digest(secret: &str) -> [u8; 32] {
        Sha256::digest(secret).into()
    }
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TokenSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_reach_never_leaves_it() {
        let text = |text: &str| text.to_owned();
        let two = Reach::over(["a", "b"].map(text), [text("tasks")]);
        let a = two.narrowed(Some(&text("a")), None);
        assert_eq!(a, Reach::over([text("a")], [text("tasks")]));
        assert!(!a.is_nothing() && a.is_within(&two));
        assert!(two.narrowed(Some(&text("c")), None).is_nothing());
        assert!(two.narrowed(None, Some(&text("other"))).is_nothing());
        assert_eq!(two.narrowed(None, None), two);
        assert_eq!(Reach::EVERYTHING.narrowed(None, Some(&text("tasks"))), Reach::over([], [text("tasks")]));
        assert!(!Reach::EVERYTHING.is_nothing());
    }

    #[test]
    fn reach_is_within_what_holds_all_of_it() {
        let over = |companies: &[&str]| Reach::over(companies.iter().map(|name| (*name).to_owned()), []);
        assert!(over(&["a"]).is_within(&over(&["a", "b"])));
        assert!(over(&["a"]).is_within(&Reach::EVERYTHING));
        assert!(!over(&["a", "c"]).is_within(&over(&["a", "b"])));
        assert!(!Reach::EVERYTHING.is_within(&over(&["a"])), "everything is more than any list");
    }
}
