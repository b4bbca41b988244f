//! What an amendment looks like to automations.

use std::borrow::Cow;

use guard::amendment::{Amendment, AmendmentStateName, Approval, Violation};
use guard::diff::Change;
use guard::id::{AmendmentId, OperationId};
use guard::workflow::Correction;
use serde::Serialize;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::view::{ChangeBody, ChangeKindSchema, Moment, Shown, name_schema};

/// An amendment in an answer.
#[derive(Serialize, ToSchema)]
pub struct AmendmentAnswer<'a> {
    /// The amendment.
    pub amendment: AmendmentBody<'a>,
}

/// A reviewed change: the next revision of a document, or a record that is taken back (`correction` is `reverse`).
#[derive(Serialize, ToSchema)]
#[schema(as = Amendment)]
pub struct AmendmentBody<'a> {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub id: Shown<AmendmentId>,
    /// The operation of the revision that it proposes: what a begin of that revision is about.
    #[schema(value_type = String, format = Uuid)]
    pub operation_id: Shown<OperationId>,
    /// The number of that revision; of a reversal, that of the operation whose record it takes back.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// Where it stands.
    #[schema(value_type = AmendmentStateSchema)]
    pub state: &'static str,
    /// The fingerprint of the proposed payload.
    #[schema(value_type = String, pattern = "^sha256:[0-9a-f]{64}$")]
    pub fingerprint: Shown<guard::fingerprint::Fingerprint>,
    /// The operation of the revision that it changes.
    #[schema(value_type = String, format = Uuid)]
    pub base_operation_id: Shown<OperationId>,
    /// That revision's fingerprint; an approval holds for no other base.
    #[schema(value_type = String, pattern = "^sha256:[0-9a-f]{64}$")]
    pub base_fingerprint: Shown<guard::fingerprint::Fingerprint>,
    /// What differs from the base, at most 100 places: `approved` is the base's value, `received` the proposed one.
    #[schema(max_items = 100)]
    pub changes: Vec<ChangeBody<'a>>,
    /// How many places differ.
    #[schema(minimum = 0)]
    pub changes_total: u32,
    /// What the rules forbid. An amendment that they forbid is refused, so that nothing stands here.
    #[schema(max_items = 0)]
    pub violations: Vec<ViolationBody<'a>>,
    /// How the destination's record will be corrected.
    #[schema(value_type = CorrectionSchema)]
    pub correction: &'static str,
    /// The version of the workflow's rules that says so.
    #[schema(minimum = 1)]
    pub rule_version: u32,
    /// Who proposed it: `token:NAME` or `person:EMAIL`.
    #[schema(value_type = String)]
    pub proposed_by: Shown<&'a guard::actor::Actor>,
    /// Why.
    pub reason: &'a str,
    /// Who asked for it, as the proposer says; null where nobody is named.
    #[schema(required)]
    pub requested_by: Option<&'a str>,
    /// How many different people must approve.
    #[schema(minimum = 1)]
    pub approvals_needed: u32,
    /// Who has approved.
    pub approvals: Vec<ApprovalBody<'a>>,
    /// When it was proposed.
    #[schema(value_type = String, format = DateTime)]
    pub proposed_at: Moment,
    /// When it expires, unless somebody decides before.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Moment,
    /// Where a person sees it.
    #[schema(format = "uri")]
    pub review_url: String,
}

/// An approval.
#[derive(Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalBody<'a> {
    /// The address of the person.
    pub by: &'a str,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Moment,
}

/// A change that a rule forbids.
#[derive(Serialize, ToSchema)]
#[schema(as = Violation)]
pub struct ViolationBody<'a> {
    /// Where (RFC 6901); empty for the whole payload.
    pub path: String,
    /// How it differs.
    #[schema(value_type = ChangeKindSchema)]
    pub kind: &'static str,
    /// The rule, as the configuration file names it.
    pub rule: &'a str,
    /// What the rule says.
    pub message: String,
}

/// What a refused change adds to its problem document; other refusals with the same status do without.
#[derive(Serialize, ToSchema)]
pub struct Violated<'a> {
    /// What differs from the base, at most 100 places.
    #[schema(max_items = 100, required = false)]
    pub changes: Vec<ChangeBody<'a>>,
    /// How many places differ.
    #[schema(minimum = 0, required = false)]
    pub changes_total: u32,
    /// What the rules forbid, at most 100 places.
    #[schema(max_items = 100, required = false)]
    pub violations: Vec<ViolationBody<'a>>,
}

/// What an open amendment adds to the problem document of another proposal; other refusals with the same status do without.
#[derive(Serialize, ToSchema)]
pub struct OpenAmendment {
    /// The amendment that is open; null where the revision is under way without one.
    #[schema(value_type = Option<String>, format = Uuid, required = false)]
    pub amendment_id: Option<Shown<AmendmentId>>,
    /// The operation of the revision that it proposes.
    #[schema(value_type = String, format = Uuid, required = false)]
    pub operation_id: Shown<OperationId>,
    /// Its number.
    #[schema(minimum = 2, required = false)]
    pub revision: u32,
}

/// What the reversal of a record adds to the problem document of a change of that record.
#[derive(Serialize, ToSchema)]
pub struct Reversing {
    /// The amendment by which it was asked.
    #[schema(value_type = String, format = Uuid, required = false)]
    pub amendment_id: Shown<AmendmentId>,
    /// The operation that takes the record back.
    #[schema(value_type = String, format = Uuid, required = false)]
    pub operation_id: Shown<OperationId>,
}

name_schema!(
    /// Where an amendment stands.
    AmendmentStateSchema "AmendmentState" AmendmentStateName::ALL.map(AmendmentStateName::as_str)
);
name_schema!(
    /// How the destination's record is corrected.
    CorrectionSchema "Correction"
    [Correction::Amend, Correction::Replace, Correction::ReverseAndRepost, Correction::Reverse].map(Correction::as_str)
);

impl<'a> AmendmentBody<'a> {
    /// The public shape of an amendment.
    pub fn of(amendment: &'a Amendment, public_url: &str) -> Self {
        Self {
            id: Shown(amendment.id),
            operation_id: Shown(amendment.operation),
            revision: amendment.revision,
            state: amendment.state.name().as_str(),
            fingerprint: Shown(amendment.fingerprint),
            base_operation_id: Shown(amendment.base.operation),
            base_fingerprint: Shown(amendment.base.fingerprint),
            changes: amendment.changes.iter().map(ChangeBody::of).collect(),
            changes_total: amendment.changes_total,
            violations: Vec::new(),
            correction: amendment.ruled.correction.as_str(),
            rule_version: amendment.ruled.rule_version,
            proposed_by: Shown(&amendment.proposed_by),
            reason: &amendment.reason,
            requested_by: amendment.requested_by.as_deref(),
            approvals_needed: amendment.approvals_needed,
            approvals: amendment.approvals.iter().map(ApprovalBody::of).collect(),
            proposed_at: Moment(amendment.proposed_at),
            expires_at: Moment(amendment.expires_at),
            review_url: format!("{public_url}/amendments/{}", amendment.id),
        }
    }
}

impl<'a> ApprovalBody<'a> {
    fn of(approval: &'a Approval) -> Self {
        Self { by: &approval.by, at: Moment(approval.at) }
    }
}

impl ViolationBody<'_> {
    fn of(violation: &Violation) -> Self {
        let (path, kind) = (violation.path.to_string(), violation.kind.as_str());
        Self { path, kind, rule: violation.rule.key(), message: violation.rule.to_string() }
    }
}

impl<'a> Violated<'a> {
    /// What the rules forbid of these changes.
    pub fn of(changes: &'a [Change], changes_total: u32, violations: &[Violation]) -> Self {
        let changes = changes.iter().map(ChangeBody::of).collect();
        Self { changes, changes_total, violations: violations.iter().map(ViolationBody::of).collect() }
    }
}
