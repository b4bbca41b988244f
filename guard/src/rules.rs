//! Changes of a workflow's rules: proposed by one person, approved by another, in force as the workflow's next version.
//!
//! What may be changed so is what finance answers for: the places left out of the fingerprint, the key fields, and what may be
//! amended and how. Everything else of a workflow stands in the configuration file alone. An operation is stamped with the version
//! under which it was begun, an amendment with the version under which it was proposed.

use crate::clock::Timestamp;
use crate::id::RuleProposalId;
use crate::person::{Person, Role};
use crate::pointer::Pointer;
use crate::store::VersionedWorkflow;
use crate::workflow::{AmendmentRules, Comparison, Correction, KeyField, Workflow};

/// A page of proposals holds at most this many.
pub const RULE_PROPOSALS_LISTED_MAX: u32 = 100;

/// The rules show at most this many versions of a workflow.
pub const VERSIONS_LISTED_MAX: u32 = 100;

/// A part of a workflow's rules that people change in the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulePart {
    /// The places left out of the fingerprint.
    Volatile,
    /// What must agree between a payload and the destination's record.
    KeyFields,
    /// What may be amended, and how.
    Amendment,
}

impl RulePart {
    /// Every part.
    pub const ALL: [Self; 3] = [Self::Volatile, Self::KeyFields, Self::Amendment];

    /// The key in the configuration file, and the column in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Volatile => "volatile",
            Self::KeyFields => "key_fields",
            Self::Amendment => "amendment",
        }
    }

    /// Whether somebody of this role may propose a change of this part. Who works the conflicts knows which fields are noise;
    /// how a record is corrected is for finance alone.
    pub const fn may_be_proposed_by(self, role: Role) -> bool {
        match (self, role) {
            (_, Role::Finance) | (Self::Volatile | Self::KeyFields, Role::Operator | Role::Admin) => true,
            (Self::Volatile | Self::KeyFields, Role::Viewer)
            | (Self::Amendment, Role::Viewer | Role::Operator | Role::Admin) => false,
        }
    }

    /// Whether somebody of this role may approve a change of this part that somebody else proposed.
    pub const fn may_be_approved_by(self, role: Role) -> bool {
        match (self, role) {
            (_, Role::Finance) | (Self::Volatile | Self::KeyFields, Role::Admin) => true,
            (Self::Volatile | Self::KeyFields, Role::Viewer | Role::Operator)
            | (Self::Amendment, Role::Viewer | Role::Operator | Role::Admin) => false,
        }
    }
}

/// Rules as they shall be; a part that is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleChange {
    /// The places left out of the fingerprint, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volatile: Option<Vec<Pointer>>,
    /// The key fields, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_fields: Option<Vec<KeyField>>,
    /// What may be amended, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amendment: Option<AmendmentRules>,
}

/// One line of what a change of rules changes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RuleLine {
    /// The key, as the configuration file writes it: `volatile`, `amendment.before_reconciliation`.
    pub key: String,
    /// How it was; none where nothing stood there.
    pub before: Option<String>,
    /// How it shall be; none where nothing shall stand there.
    pub after: Option<String>,
}

impl RuleChange {
    /// All rules of a workflow, as they are.
    pub fn of(workflow: &Workflow) -> Self {
        Self {
            volatile: Some(workflow.volatile.clone()),
            key_fields: Some(workflow.key_fields.clone()),
            amendment: Some(workflow.amendment.clone()),
        }
    }

    /// The change that leaves one more place out of the fingerprint.
    pub fn leaving_out(workflow: &Workflow, place: Pointer) -> Self {
        let mut volatile = workflow.volatile.clone();
        if !volatile.iter().any(|known| known.covers(&place)) {
            volatile.push(place);
        }
        Self { volatile: Some(volatile), ..Self::default() }
    }

    /// What of this change really differs from a workflow.
    pub fn against(self, workflow: &Workflow) -> Self {
        Self {
            volatile: self.volatile.filter(|volatile| *volatile != workflow.volatile),
            key_fields: self.key_fields.filter(|fields| *fields != workflow.key_fields),
            amendment: self.amendment.filter(|rules| *rules != workflow.amendment),
        }
    }

    /// The rules of a workflow in the parts that this change touches: what is before it.
    pub fn before(&self, workflow: &Workflow) -> Self {
        Self {
            volatile: self.volatile.as_ref().map(|_| workflow.volatile.clone()),
            key_fields: self.key_fields.as_ref().map(|_| workflow.key_fields.clone()),
            amendment: self.amendment.as_ref().map(|_| workflow.amendment.clone()),
        }
    }

    /// The workflow with these rules.
    pub fn applied_to(&self, workflow: &Workflow) -> Workflow {
        let mut changed = workflow.clone();
        if let Some(volatile) = &self.volatile {
            changed.volatile.clone_from(volatile);
        }
        if let Some(key_fields) = &self.key_fields {
            changed.key_fields.clone_from(key_fields);
        }
        if let Some(amendment) = &self.amendment {
            changed.amendment.clone_from(amendment);
        }
        changed
    }

    /// One part of it alone.
    pub fn only(self, part: RulePart) -> Self {
        match part {
            RulePart::Volatile => Self { volatile: self.volatile, ..Self::default() },
            RulePart::KeyFields => Self { key_fields: self.key_fields, ..Self::default() },
            RulePart::Amendment => Self { amendment: self.amendment, ..Self::default() },
        }
    }

    /// The parts that it touches.
    pub fn parts(&self) -> Vec<RulePart> {
        RulePart::ALL.into_iter().filter(|part| self.touches(*part)).collect()
    }

    /// Whether it touches a part.
    pub const fn touches(&self, part: RulePart) -> bool {
        match part {
            RulePart::Volatile => self.volatile.is_some(),
            RulePart::KeyFields => self.key_fields.is_some(),
            RulePart::Amendment => self.amendment.is_some(),
        }
    }

    /// What changes from the rules `before` to these, line by line, in the order of the configuration file.
    pub fn lines_from(&self, before: &Self) -> Vec<RuleLine> {
        let mut lines = Vec::new();
        let texts = |places: &Option<Vec<Pointer>>| -> Vec<String> {
            places.iter().flatten().map(|place| place.to_string()).collect()
        };
        if self.volatile.is_some() {
            members(&mut lines, "volatile", &texts(&before.volatile), &texts(&self.volatile));
        }
        let fields =
            |fields: &Option<Vec<KeyField>>| -> Vec<String> { fields.iter().flatten().map(field_text).collect() };
        if self.key_fields.is_some() {
            members(&mut lines, "key_fields", &fields(&before.key_fields), &fields(&self.key_fields));
        }
        if let Some(after) = &self.amendment {
            let nothing = AmendmentRules::default();
            amendment_lines(&mut lines, before.amendment.as_ref().unwrap_or(&nothing), after);
        }
        lines
    }
}

/// A key field in one line: `/amount = $.total (decimal)`.
pub fn field_text(field: &KeyField) -> String {
    format!("{} = {} ({})", field.payload, field.record, comparison_name(field.compare))
}

/// The name of a comparison in the configuration file.
pub const fn comparison_name(compare: Comparison) -> &'static str {
    match compare {
        Comparison::Exact => "exact",
        Comparison::Decimal => "decimal",
        Comparison::Date => "date",
        Comparison::Text => "text",
    }
}

/// The name of a correction in the configuration file.
pub const fn correction_name(correction: Correction) -> &'static str {
    match correction {
        Correction::Amend => "amend",
        Correction::Replace => "replace",
        Correction::ReverseAndRepost => "reverse_and_repost",
        Correction::Forbid => "forbid",
        Correction::Reverse => "reverse",
    }
}

fn members(lines: &mut Vec<RuleLine>, key: &str, before: &[String], after: &[String]) {
    let gone = before.iter().filter(|text| !after.contains(text));
    lines.extend(gone.map(|text| RuleLine { key: key.to_owned(), before: Some(text.clone()), after: None }));
    let new = after.iter().filter(|text| !before.contains(text));
    lines.extend(new.map(|text| RuleLine { key: key.to_owned(), before: None, after: Some(text.clone()) }));
}

fn amendment_lines(lines: &mut Vec<RuleLine>, before: &AmendmentRules, after: &AmendmentRules) {
    let places = |rules: &AmendmentRules| rules.amendable.iter().map(ToString::to_string).collect::<Vec<_>>();
    members(lines, "amendment.amendable", &places(before), &places(after));
    let correction = |correction| Some(correction_name(correction).to_owned());
    let single = [
        (
            "amendment.before_reconciliation",
            correction(before.before_reconciliation),
            correction(after.before_reconciliation),
        ),
        (
            "amendment.after_reconciliation",
            correction(before.after_reconciliation),
            correction(after.after_reconciliation),
        ),
        ("amendment.second_approval_over", before.second_approval_over.clone(), after.second_approval_over.clone()),
        ("amendment.proposal_days", Some(before.proposal_days().to_string()), Some(after.proposal_days().to_string())),
    ];
    let changed = single.into_iter().filter(|(_, before, after)| before != after);
    lines.extend(changed.map(|(key, before, after)| RuleLine { key: key.to_owned(), before, after }));
    members(lines, "amendment.tell", &before.tell, &after.tell);
}

/// Where a proposed change of rules stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleStanding {
    /// It waits for another person.
    Open,
    /// It was approved, and is in force since.
    Approved {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
        /// As this version of the workflow.
        version: u32,
    },
    /// It was rejected.
    Rejected {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// Its proposer took it back.
    Withdrawn {
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// The workflow changed meanwhile, so that nobody has seen what approving it would do.
    Void {
        /// When that was noticed.
        at: Timestamp,
        /// What happened.
        because: String,
    },
}

impl RuleStanding {
    /// The name in the store.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved { .. } => "approved",
            Self::Rejected { .. } => "rejected",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Void { .. } => "void",
        }
    }

    /// The version that it became, where it was approved.
    pub const fn version(&self) -> Option<u32> {
        match self {
            Self::Approved { version, .. } => Some(*version),
            Self::Open | Self::Rejected { .. } | Self::Withdrawn { .. } | Self::Void { .. } => None,
        }
    }
}

/// A proposed change of a workflow's rules.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RuleProposal {
    /// Its id.
    pub id: RuleProposalId,
    /// The workflow.
    pub workflow: String,
    /// The version that it changes: it holds for this one alone.
    pub base_version: u32,
    /// The rules that it changes, as they were.
    pub before: RuleChange,
    /// The rules as they shall be.
    pub change: RuleChange,
    /// Why.
    pub reason: String,
    /// Who proposed it.
    pub proposed_by: String,
    /// When.
    pub proposed_at: Timestamp,
    /// Where it stands.
    pub standing: RuleStanding,
}

impl RuleProposal {
    /// What it changes, line by line.
    pub fn lines(&self) -> Vec<RuleLine> {
        self.change.lines_from(&self.before)
    }

    /// Why this person cannot approve or reject it, in a sentence; none where they can.
    pub fn why_not_decide(&self, person: &Person) -> Option<String> {
        if person.email == self.proposed_by {
            return Some("whoever proposed it cannot decide it; another person does".to_owned());
        }
        if let Some(part) = self.change.parts().into_iter().find(|part| !part.may_be_approved_by(person.role)) {
            let needed = match part {
                RulePart::Amendment => "the role finance",
                RulePart::Volatile | RulePart::KeyFields => "the role finance or admin",
            };
            return Some(format!("deciding on {} needs {needed}", part.as_str()));
        }
        why_not_everywhere(person)
    }
}

/// Why this person cannot propose such a change, in a sentence; none where they can.
pub fn why_not_propose(person: &Person, parts: &[RulePart]) -> Option<String> {
    let part = parts.iter().find(|part| !part.may_be_proposed_by(person.role))?;
    let needed = match part {
        RulePart::Amendment => "the role finance",
        RulePart::Volatile | RulePart::KeyFields => "the role finance, operator or admin",
    };
    Some(format!("proposing a change of {} needs {needed}", part.as_str()))
}

/// Whether there are changes of rules that this person may approve at all.
pub fn may_approve_some(person: &Person) -> bool {
    let parts = [RulePart::Volatile, RulePart::KeyFields, RulePart::Amendment];
    parts.into_iter().any(|part| part.may_be_approved_by(person.role)) && why_not_everywhere(person).is_none()
}

/// A workflow's rules hold for every company, so that whoever reaches only some does not decide them.
fn why_not_everywhere(person: &Person) -> Option<String> {
    let is_limited = person.reach.companies.is_some();
    is_limited.then(|| "the rules hold for every company, and you reach only some".to_owned())
}

/// What is decided on a proposed change of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// It is put in force.
    Approve,
    /// It is not.
    Reject,
    /// Its proposer takes it back.
    Withdraw,
}

/// One version of a workflow, with who brought it about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowVersion {
    /// The definition with its number.
    pub held: VersionedWorkflow,
    /// When and by whom it came; none for versions that are older than this record of it.
    pub changed: Option<(Timestamp, crate::actor::Actor)>,
}

/// Why a change of rules is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleRefusal {
    /// It changes nothing.
    #[error("these are the rules of {workflow} already; nothing is proposed")]
    Nothing {
        /// The workflow.
        workflow: String,
    },
    /// Another proposal waits.
    #[error("{by} has proposed a change of the rules of {workflow} already; it is decided or withdrawn first")]
    Open {
        /// The workflow.
        workflow: String,
        /// The proposal that waits.
        proposal: RuleProposalId,
        /// Who proposed it.
        by: String,
    },
    /// It was decided already.
    #[error("it is {standing} already: decided by {by} at {}", crate::clock::rfc3339(*.at))]
    Decided {
        /// Where it stands.
        standing: String,
        /// Who decided.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// The workflow changed meanwhile.
    #[error("the proposal is void: {because}. Propose it anew on the rules as they are now")]
    Void {
        /// What happened.
        because: String,
    },
    /// A file would overwrite what was approved in the browser.
    #[error(
        "would overwrite what {by} approved in the browser at {} (version {version} of {workflow}). Write what is in force \
         (`onceover export` prints it), or propose the change at /settings/rules",
        crate::clock::rfc3339(*.at)
    )]
    ApprovedInBrowser {
        /// The workflow.
        workflow: String,
        /// The key in the file, within the workflow's table.
        key: String,
        /// Who approved.
        by: String,
        /// When.
        at: Timestamp,
        /// As which version.
        version: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyPart;

    fn pointer(text: &str) -> Pointer {
        text.parse().unwrap()
    }

    fn workflow() -> Workflow {
        Workflow { volatile: vec![pointer("/meta")], ..Workflow::named(KeyPart::new("handoff").unwrap()) }
    }

    #[test]
    fn a_change_tells_its_lines_and_leaves_the_rest() {
        let workflow = workflow();
        let rules = AmendmentRules {
            amendable: vec!["/lines".parse().expect("a place")],
            before_reconciliation: Correction::Amend,
            second_approval_over: Some("1000.00".to_owned()),
            ..AmendmentRules::default()
        };
        let change = RuleChange {
            volatile: Some(vec![pointer("/sent_at")]),
            key_fields: Some(Vec::new()),
            amendment: Some(rules.clone()),
        };
        let change = change.against(&workflow);
        assert_eq!(change.parts(), [RulePart::Volatile, RulePart::Amendment], "no key fields before and after");
        let lines: Vec<String> = change
            .lines_from(&change.before(&workflow))
            .into_iter()
            .map(|line| format!("{}: {:?} -> {:?}", line.key, line.before, line.after))
            .collect();
        assert_eq!(
            lines,
            [
                r#"volatile: Some("/meta") -> None"#,
                r#"volatile: None -> Some("/sent_at")"#,
                r#"amendment.amendable: None -> Some("/lines")"#,
                r#"amendment.before_reconciliation: Some("forbid") -> Some("amend")"#,
                r#"amendment.second_approval_over: None -> Some("1000.00")"#,
            ]
        );
        let changed = change.applied_to(&workflow);
        assert_eq!(changed, Workflow { volatile: vec![pointer("/sent_at")], amendment: rules, ..workflow.clone() });
        assert_eq!(RuleChange::of(&workflow).against(&workflow), RuleChange::default());
    }

    #[test]
    fn leaving_out_what_is_left_out_changes_nothing() {
        let workflow = workflow();
        let again = RuleChange::leaving_out(&workflow, pointer("/meta/attempt")).against(&workflow);
        assert_eq!(again, RuleChange::default());
        let more = RuleChange::leaving_out(&workflow, pointer("/sent_at"));
        assert_eq!(more.volatile, Some(vec![pointer("/meta"), pointer("/sent_at")]));
    }

    #[test]
    fn finance_alone_says_how_a_record_is_corrected() {
        for role in Role::ALL {
            assert_eq!(RulePart::Amendment.may_be_proposed_by(role), role == Role::Finance, "{role:?}");
            assert_eq!(RulePart::Amendment.may_be_approved_by(role), role == Role::Finance, "{role:?}");
            for part in [RulePart::Volatile, RulePart::KeyFields] {
                assert_eq!(part.may_be_proposed_by(role), role != Role::Viewer, "{role:?}");
                assert_eq!(part.may_be_approved_by(role), matches!(role, Role::Finance | Role::Admin), "{role:?}");
            }
        }
    }
}
