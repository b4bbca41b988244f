//! Rules that people set: proposed by one, approved by another, in force as the workflow's next version.

use std::sync::Arc;

use super::administration::{ADMINISTRATION_TRIES_MAX, Definitions};
use super::report::check_text;
use super::{Guard, contended, integer, text};
use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::id::RuleProposalId;
use crate::json::Json;
use crate::person::Person;
use crate::refusal::Refusal;
use crate::rules::{
    RULE_PROPOSALS_LISTED_MAX, RuleChange, RulePart, RuleProposal, RuleRefusal, RuleStanding, RuleVerdict,
    VERSIONS_LISTED_MAX, WorkflowVersion, may_approve_some, why_not_propose,
};
use crate::store::{Act, Administered, VersionedWorkflow};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};
use crate::workflow::Workflow;

impl Guard {
    /// A person proposes a change of a workflow's rules; another one decides it ([`Guard::decide_rules`]). What it does not change
    /// is left out of it. One waits at a time for each workflow; one that the workflow has left behind is void.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, an unknown or retired workflow, rules that do not hold (with their key), a reason out of
    /// bounds, [`RuleRefusal::Nothing`], [`RuleRefusal::Open`], the store's fault.
    pub async fn propose_rules(
        &self,
        person: &Person,
        workflow: &str,
        change: RuleChange,
        reason: &str,
    ) -> Result<RuleProposal, Refusal> {
        check_text("reason", reason)?;
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            // Before everything that is read: what is decided in between moves the head on, and makes these acts stale.
            let head = self.inner.registry.administration_head().await?;
            self.refresh().await?;
            let held = self.current_workflow(workflow)?;
            let change = change.clone().against(&held.workflow);
            if let Some(reason) = why_not_propose(person, &change.parts()) {
                return Err(Refusal::Forbidden { reason });
            }
            if change == RuleChange::default() {
                return Err(RuleRefusal::Nothing { workflow: workflow.to_owned() }.into());
            }
            let changed = change.applied_to(&held.workflow);
            changed.validate().map_err(|fault| Refusal::field(fault.key, fault.message))?;
            let at = self.now();
            let mut acts = Vec::new();
            if let Some(open) = self.inner.store.open_rule_proposal(workflow).await? {
                match left_behind(&open, Some(&held)) {
                    Some(because) => acts.push(voided(open, at, because)),
                    None => {
                        return Err(RuleRefusal::Open {
                            workflow: workflow.to_owned(),
                            proposal: open.id,
                            by: open.proposed_by,
                        }
                        .into());
                    }
                }
            }
            let proposal = RuleProposal {
                id: RuleProposalId::new(at, self.inner.entropy.bytes()),
                workflow: workflow.to_owned(),
                base_version: held.version,
                before: change.before(&held.workflow),
                change,
                reason: reason.to_owned(),
                proposed_by: person.email.clone(),
                proposed_at: at,
                standing: RuleStanding::Open,
            };
            let facts = proposal_facts(&proposal, reason, ("change", Some(json_of(&proposal.change))));
            acts.push((Act::PutRuleProposal(Box::new(proposal.clone())), EntryKind::RulesProposed, facts));
            if self.administer(&person_actor(person), head, acts).await? == Administered::Done {
                return Ok(proposal);
            }
        }
        Err(contended())
    }

    /// A person decides a proposed change of rules. Approved, it is the workflow's next version from then on.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] for its proposer (approving, rejecting), for everybody else (withdrawing), and by role;
    /// [`RuleRefusal::Decided`], [`RuleRefusal::Void`] where the workflow changed meanwhile (which is kept), a reason out of bounds,
    /// the store's fault.
    pub async fn decide_rules(
        &self,
        person: &Person,
        id: RuleProposalId,
        verdict: RuleVerdict,
        reason: &str,
    ) -> Result<RuleProposal, Refusal> {
        check_text("reason", reason)?;
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            let head = self.inner.registry.administration_head().await?;
            self.refresh().await?;
            let mut proposal = self.rule_proposal(id).await?;
            refuse_decided(&proposal)?;
            let refused = match verdict {
                RuleVerdict::Approve | RuleVerdict::Reject => proposal.why_not_decide(person),
                RuleVerdict::Withdraw if person.email == proposal.proposed_by => None,
                RuleVerdict::Withdraw => Some("only whoever proposed it can withdraw it".to_owned()),
            };
            if let Some(reason) = refused {
                return Err(Refusal::Forbidden { reason });
            }
            let at = self.now();
            let actor = person_actor(person);
            let known = self.catalogue().workflows.get(&proposal.workflow).cloned();
            if let Some(because) = left_behind(&proposal, known.as_deref()) {
                let void = voided(proposal, at, because.clone());
                if self.administer(&actor, head, vec![void]).await? == Administered::Done {
                    return Err(RuleRefusal::Void { because }.into());
                }
                continue;
            }
            let held = known.ok_or_else(|| Refusal::not_found("workflow"))?;
            let by = person.email.clone();
            let reason = reason.to_owned();
            let (standing, kind) = match verdict {
                RuleVerdict::Approve => {
                    let version = held.version + 1;
                    (RuleStanding::Approved { by, at, reason: reason.clone(), version }, EntryKind::RulesApproved)
                }
                RuleVerdict::Reject => {
                    (RuleStanding::Rejected { by, at, reason: reason.clone() }, EntryKind::RulesRejected)
                }
                RuleVerdict::Withdraw => {
                    (RuleStanding::Withdrawn { at, reason: reason.clone() }, EntryKind::RulesWithdrawn)
                }
            };
            proposal.standing = standing;
            // What was decided on, so that nobody can say later that it was another proposal.
            let seen = Fingerprint::of_value(&json_of(&proposal.change));
            let facts = proposal_facts(&proposal, &reason, ("seen", Some(text(&seen.to_string()))));
            let mut acts = vec![(Act::PutRuleProposal(Box::new(proposal.clone())), kind, facts)];
            if let Some(version) = proposal.standing.version() {
                let workflow = proposal.change.applied_to(&held.workflow);
                workflow.validate().map_err(|fault| Refusal::field(fault.key, fault.message))?;
                let facts = detail([
                    ("name", Some(text(&proposal.workflow))),
                    ("version", Some(integer(version))),
                    ("proposal", Some(text(&proposal.id.to_string()))),
                ]);
                let put = VersionedWorkflow { version, workflow, is_retired: false };
                acts.push((Act::PutWorkflow(Box::new(put)), EntryKind::WorkflowApplied, facts));
            }
            if self.administer(&actor, head, acts).await? == Administered::Done {
                return Ok(proposal);
            }
        }
        Err(contended())
    }

    /// The proposal with this id.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn rule_proposal(&self, id: RuleProposalId) -> Result<RuleProposal, Refusal> {
        self.inner.store.rule_proposal(id).await?.ok_or_else(|| Refusal::not_found("proposal"))
    }

    /// Every proposed change of rules that nobody has decided, the oldest first. One that its workflow has left behind is void, and
    /// told so, though nobody has noted it yet.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn open_rule_proposals(&self) -> Result<Vec<RuleProposal>, Refusal> {
        self.refresh().await?;
        let catalogue = self.catalogue();
        let at = self.now();
        let mut open = self.inner.store.open_rule_proposals().await?;
        for proposal in &mut open {
            let held = catalogue.workflows.get(&proposal.workflow).map(Arc::as_ref);
            if let Some(because) = left_behind(proposal, held) {
                proposal.standing = RuleStanding::Void { at, because };
            }
        }
        Ok(open)
    }

    /// How many proposed changes of rules wait for this person's approval; none where their role or reach approves none at all.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn rules_waiting(&self, person: &Person) -> Result<Option<u32>, Refusal> {
        if !may_approve_some(person) {
            return Ok(None);
        }
        let catalogue = self.catalogue();
        let waits = |proposal: &RuleProposal| {
            let held = catalogue.workflows.get(&proposal.workflow).map(Arc::as_ref);
            left_behind(proposal, held).is_none() && proposal.why_not_decide(person).is_none()
        };
        let open = self.inner.store.open_rule_proposals().await?;
        Ok(Some(u32::try_from(open.iter().filter(|open| waits(open)).count()).unwrap_or(u32::MAX)))
    }

    /// The proposed changes of a workflow's rules, the newest first, before the id `before` where one is given: at most
    /// [`RULE_PROPOSALS_LISTED_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn rule_proposals(
        &self,
        workflow: &str,
        before: Option<RuleProposalId>,
    ) -> Result<Vec<RuleProposal>, Refusal> {
        Ok(self.inner.store.rule_proposals(workflow, before, RULE_PROPOSALS_LISTED_MAX).await?)
    }

    /// The versions of a workflow, the newest first: at most [`VERSIONS_LISTED_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn workflow_versions(&self, workflow: &str) -> Result<Vec<WorkflowVersion>, Refusal> {
        Ok(self.inner.store.workflow_versions(workflow, VERSIONS_LISTED_MAX).await?)
    }

    /// What a file may not silently do: overwrite rules that people approved in the browser. Also notes proposals that the new
    /// definitions leave behind.
    pub(super) async fn rules_beside(
        &self,
        definitions: &[Workflow],
        changed: &[String],
    ) -> Result<Vec<(Act, EntryKind, Json)>, Refusal> {
        let catalogue = self.catalogue();
        let at = self.now();
        let mut acts = Vec::new();
        for name in changed {
            let Some(held) = catalogue.workflows.get(name) else { continue };
            if let Some(workflow) = definitions.iter().find(|workflow| workflow.name.as_str() == name) {
                for part in RuleChange::of(workflow).against(&held.workflow).parts() {
                    self.refuse_overwriting(name, part).await?;
                }
            }
            if let Some(open) = self.inner.store.open_rule_proposal(name).await? {
                acts.push(voided(open, at, "the workflow was changed by a configuration file".to_owned()));
            }
        }
        Ok(acts)
    }

    /// The definitions with the rules that people approved in the browser put in, where they say something else, and which these are:
    /// what a server starts with, since it must start after finance has changed a rule.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn keeping_approved(
        &self,
        definitions: &Definitions,
    ) -> Result<(Definitions, Vec<RuleRefusal>), Refusal> {
        self.refresh().await?;
        let catalogue = self.catalogue();
        let (mut kept, mut told) = (definitions.clone(), Vec::new());
        for workflow in &mut kept.workflows {
            let Some(held) = catalogue.workflows.get(workflow.name.as_str()) else { continue };
            for part in RuleChange::of(workflow).against(&held.workflow).parts() {
                match self.refuse_overwriting(workflow.name.as_str(), part).await {
                    Ok(()) => {}
                    Err(Refusal::Rules(approved)) => {
                        *workflow = RuleChange::of(&held.workflow).only(part).applied_to(workflow);
                        told.push(approved);
                    }
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        Ok((kept, told))
    }

    async fn refuse_overwriting(&self, workflow: &str, part: RulePart) -> Result<(), Refusal> {
        let Some(approved) = self.inner.store.approved_rules(workflow, part).await? else { return Ok(()) };
        match approved.standing {
            RuleStanding::Approved { by, at, version, .. } => Err(RuleRefusal::ApprovedInBrowser {
                workflow: workflow.to_owned(),
                key: part.as_str().to_owned(),
                by,
                at,
                version,
            }
            .into()),
            RuleStanding::Open
            | RuleStanding::Rejected { .. }
            | RuleStanding::Withdrawn { .. }
            | RuleStanding::Void { .. } => Ok(()),
        }
    }

    /// The workflow that is in force under this name.
    pub(super) fn current_workflow(&self, name: &str) -> Result<Arc<VersionedWorkflow>, Refusal> {
        let known = self.catalogue().workflows.get(name).cloned();
        let is_retired = known.as_ref().is_some_and(|known| known.is_retired);
        known.filter(|known| !known.is_retired).ok_or_else(|| Refusal::UnknownWorkflow {
            name: name.to_owned(),
            known: self.workflow_names(&Reach::EVERYTHING),
            is_retired,
        })
    }
}

/// What makes an open proposal void, in words; none where its workflow is as it was.
fn left_behind(proposal: &RuleProposal, held: Option<&VersionedWorkflow>) -> Option<String> {
    let Some(held) = held.filter(|held| !held.is_retired) else {
        return Some(format!("the workflow {} is retired", proposal.workflow));
    };
    let (based_on, now) = (proposal.base_version, held.version);
    (based_on != now)
        .then(|| format!("it was proposed on version {based_on} of the workflow, which has version {now} now"))
}

fn voided(mut proposal: RuleProposal, at: Timestamp, because: String) -> (Act, EntryKind, Json) {
    let facts = proposal_facts(&proposal, &because, ("change", None));
    proposal.standing = RuleStanding::Void { at, because };
    (Act::PutRuleProposal(Box::new(proposal)), EntryKind::RulesVoided, facts)
}

fn refuse_decided(proposal: &RuleProposal) -> Result<(), Refusal> {
    let decided = |by: &str, at: Timestamp| {
        let standing = proposal.standing.as_str().to_owned();
        Err(RuleRefusal::Decided { standing, by: by.to_owned(), at }.into())
    };
    match &proposal.standing {
        RuleStanding::Open => Ok(()),
        RuleStanding::Approved { by, at, .. } | RuleStanding::Rejected { by, at, .. } => decided(by, *at),
        RuleStanding::Withdrawn { at, .. } => decided(&proposal.proposed_by, *at),
        RuleStanding::Void { because, .. } => Err(RuleRefusal::Void { because: because.clone() }.into()),
    }
}

/// The facts of an entry about a proposal.
fn proposal_facts(proposal: &RuleProposal, reason: &str, further: (&str, Option<Json>)) -> Json {
    detail([
        ("proposal", Some(text(&proposal.id.to_string()))),
        ("workflow", Some(text(&proposal.workflow))),
        ("base_version", Some(integer(proposal.base_version))),
        ("version", proposal.standing.version().map(integer)),
        ("reason", Some(text(reason))),
        further,
    ])
}

pub(super) fn person_actor(person: &Person) -> Actor {
    Actor::Person { email: person.email.clone() }
}

/// A value as the JSON that an entry holds. What is kept so cannot fail to be written: its names are texts, its numbers whole.
pub(super) fn json_of<T: serde::Serialize>(value: &T) -> Json {
    let text = serde_json::to_vec(value).unwrap_or_default();
    Json::parse(&text).unwrap_or(Json::Null)
}
