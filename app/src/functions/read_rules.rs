//! The rules of workflows, how they came about, and what is proposed.

use guard::{
    clock::Timestamp,
    person::Person,
    rules::{RuleLine, RuleProposal},
    what_if::WhatIf,
    workflow::Workflow,
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::rules::RulesNotice};

/// What the page of rules shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rules {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The workflows in force.
    pub workflows: Vec<RuledWorkflow>,
    /// The one that was asked for.
    pub chosen: Option<ChosenRules>,
    /// What became of the act before.
    pub notice: Option<RulesNotice>,
}

/// A workflow in the list.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RuledWorkflow {
    /// The workflow.
    pub workflow: Workflow,
    /// The number of its rules.
    pub version: u32,
    /// What waits for another person.
    pub open: Option<RuleProposal>,
}

/// One workflow with the history of its rules.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ChosenRules {
    /// The workflow.
    pub workflow: Workflow,
    /// The number of its rules.
    pub version: u32,
    /// Its versions, the newest first.
    pub versions: Vec<VersionLine>,
    /// The proposals, the newest first.
    pub proposals: Vec<RuleProposal>,
    /// What the waiting one would have made different.
    pub what_if: Option<WhatIf>,
}

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct VersionLine {
    /// Its number.
    pub version: u32,
    /// When and by whom it came, where that is known.
    pub changed: Option<(Timestamp, guard::actor::Actor)>,
    /// Why, where it was proposed.
    pub reason: Option<String>,
    /// What it changed in the rules.
    pub lines: Vec<RuleLine>,
}

/// Reads the rules; of one workflow with all that belongs to them, where it is named.
#[server(prefix = "/fn", endpoint = "read_rules", input = Json, output = Json)]
pub(crate) async fn read_rules(workflow: String) -> Result<Rules, Failure> {
    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let open = guard.open_rule_proposals().await?;
    let notice = crate::reply::take_notice(&visit, NOTICE).await;
    let catalogue = guard.catalogue();
    let in_force = catalogue.workflows.values().filter(|known| !known.is_retired);
    let workflows = in_force.map(|known| RuledWorkflow {
        workflow: known.workflow.clone(),
        version: known.version,
        open: open.iter().find(|proposal| proposal.workflow == known.workflow.name.as_str()).cloned(),
    });
    let workflows: Vec<RuledWorkflow> = workflows.collect();
    let chosen = match workflows.iter().find(|known| known.workflow.name.as_str() == workflow) {
        Some(known) => Some(choose(&visit, person, known).await?),
        None if workflow.is_empty() => None,
        None => return Err(guard::refusal::Refusal::not_found("workflow").into()),
    };
    Ok(Rules { as_of: guard.now(), person: person.clone(), workflows, chosen, notice })
}

/// Under this name the effect of an act on rules is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "rules";

#[cfg(feature = "ssr")]
async fn choose(visit: &crate::context::Visit, person: &Person, known: &RuledWorkflow) -> Result<ChosenRules, Failure> {
    use guard::rules::{RuleChange, RuleStanding};

    let name = known.workflow.name.as_str();
    let mut proposals = visit.guard.rule_proposals(name, None).await?;
    // One that the workflow has left behind is told as void, though nobody has noted it yet.
    if let Some(open) = &known.open {
        for proposal in proposals.iter_mut().filter(|proposal| proposal.id == open.id) {
            proposal.clone_from(open);
        }
    }
    let held = visit.guard.workflow_versions(name).await?;
    let reasons = |version: u32| {
        let made = proposals.iter().find(|proposal| proposal.standing.version() == Some(version));
        made.map(|proposal| proposal.reason.clone())
    };
    let versions = held.iter().enumerate().map(|(index, one)| {
        let rules = RuleChange::of(&one.held.workflow);
        let lines = match held.get(index + 1) {
            Some(older) => rules.lines_from(&RuleChange::of(&older.held.workflow)),
            None => Vec::new(),
        };
        VersionLine {
            version: one.held.version,
            changed: one.changed.clone(),
            reason: reasons(one.held.version),
            lines,
        }
    });
    let versions = versions.collect();
    let waiting = known.open.as_ref().filter(|proposal| proposal.standing == RuleStanding::Open);
    let what_if = match waiting {
        None => None,
        Some(proposal) => {
            let read = |path: &str, record: &guard::json::Json| visit.lookups.value_at(path, record);
            Some(visit.guard.what_if(&person.reach, name, &proposal.change, &read).await?)
        }
    };
    Ok(ChosenRules { workflow: known.workflow.clone(), version: known.version, versions, proposals, what_if })
}
