//! `/settings/rules`: the rules of workflows, set by people; `?workflow=` names one.

mod decision;
mod form;
mod what_if;

use guard::{person::Person, rules::RuleLine, rules::RuleProposal, rules::RuleStanding};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use self::{decision::Waiting, form::RuleForm};
use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        banner::{Done, Refused},
        facts::Told,
        heading::Heading,
        plain::Plain,
        table::{Table, words},
    },
    functions::{
        decide_rules::DecideRules,
        propose_rules::ProposeRules,
        read_rules::{ChosenRules, RuledWorkflow, Rules, VersionLine, read_rules},
    },
    notice::rules::RulesNotice,
    wording,
};

/// The rules. Without a workflow: all of them, in a list.
#[component]
pub(crate) fn RulesPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.with(|query| query.get("workflow").unwrap_or_default()));
    let propose = ServerAction::<ProposeRules>::new();
    let decide = ServerAction::<DecideRules>::new();
    // What was refused stays as it was written: a new picture would take the choices back.
    let proposed = Memo::new(move |proposed: Option<&u32>| {
        let proposed = proposed.copied().unwrap_or(0);
        if matches!(propose.value().get(), Some(Ok(_))) { proposed + 1 } else { proposed }
    });
    let done = move || (proposed.get(), decide.version().get());
    let rules = Resource::new(move || (asked.get(), done()), |(workflow, _)| read_rules(workflow));
    let page = page_of(rules, move |rules| view! { <Shown rules propose decide /> }.into_any());
    view! {
        {move || propose.value().get().and_then(Result::ok).map(|proposal| view! { <Became proposal /> })}
        {move || decide.value().get().and_then(Result::ok).map(|proposal| view! { <Became proposal /> })}
        <Body body=page />
    }
    .into_any()
}

/// What became of a proposal.
#[component]
fn Became(proposal: RuleProposal) -> impl IntoView {
    let effect = match &proposal.standing {
        RuleStanding::Open => "Another person decides it. Until then nothing changes.".to_owned(),
        RuleStanding::Approved { version, .. } => {
            format!("Version {version} is in force: what is begun from now on is stamped with it.")
        }
        RuleStanding::Rejected { .. } | RuleStanding::Withdrawn { .. } | RuleStanding::Void { .. } => {
            "The rules stay as they are.".to_owned()
        }
    };
    view! {
        <Done>
            <p>
                "The change of the rules of "
                <strong>
                    <Plain text=proposal.workflow.clone() />
                </strong>
                " is "
                {match proposal.standing {
                    RuleStanding::Open => "proposed",
                    RuleStanding::Approved { .. } => "approved",
                    RuleStanding::Rejected { .. } => "rejected",
                    RuleStanding::Withdrawn { .. } => "withdrawn",
                    RuleStanding::Void { .. } => "void",
                }}
                "."
            </p>
            <p>{effect}</p>
        </Done>
    }
    .into_any()
}

#[component]
fn Shown(rules: Rules, propose: ServerAction<ProposeRules>, decide: ServerAction<DecideRules>) -> impl IntoView {
    let Rules { as_of, person, workflows, chosen, notice } = rules;
    let (mut told, mut refused_draft, mut refused_decision) = (None, None, None);
    match notice {
        None => {}
        Some(RulesNotice::Done(proposal)) => told = Some(*proposal),
        Some(RulesNotice::ProposalRefused(draft, failure)) => refused_draft = Some((*draft, failure)),
        Some(RulesNotice::DecisionRefused(draft, failure)) => refused_decision = Some((*draft, failure)),
    }
    let head = view! {
        {told.map(|proposal| view! { <Became proposal /> })}
        <div class="page-head">
            <Heading title="Rules">"Rules"</Heading>
            <AsOf at=as_of />
        </div>
        <p class="note rules-lead">
            "A change is proposed by one person and approved by another. Approved, it is the workflow's next version, and what is begun under it is stamped with it. A configuration file never overwrites it."
        </p>
    };
    let body = match chosen {
        Some(chosen) => view! { <Chosen chosen person refused_draft refused_decision propose decide /> }.into_any(),
        None => view! { <List workflows /> }.into_any(),
    };
    view! {
        {head}
        {body}
    }
    .into_any()
}

#[component]
fn List(workflows: Vec<RuledWorkflow>) -> impl IntoView {
    if workflows.is_empty() {
        return view! {
            <p class="empty">
                "No workflow is configured yet. " <a href="/settings#workflows">"The settings"</a> " say how."
            </p>
        }
        .into_any();
    }
    let rows = workflows.into_iter().map(|known| {
        let RuledWorkflow { workflow, version, open } = known;
        let waits = match &open {
            None => "nothing".to_owned(),
            Some(proposal) => {
                format!(
                    "{} by {}",
                    wording::counted(proposal.lines().len() as u64, "change", "changes"),
                    proposal.proposed_by
                )
            }
        };
        let rules = &workflow.amendment;
        let amendments = if rules.amendable.is_empty() {
            "nothing may be amended".to_owned()
        } else {
            let places = wording::counted(rules.amendable.len() as u64, "place", "places");
            let before = wording::correction(rules.before_reconciliation);
            let after = wording::correction(rules.after_reconciliation);
            format!("{places}; {before}, after reconciliation {after}")
        };
        view! {
            <tr>
                <th scope="row" data-label="Workflow">
                    <a href=wording::rules_address(workflow.name.as_str())>
                        <Plain text=workflow.title().to_owned() />
                    </a>
                </th>
                <td data-label="Version">{version}</td>
                <td data-label="Left out">{workflow.volatile.len()}</td>
                <td data-label="Key fields">{workflow.key_fields.len()}</td>
                <td data-label="Amendments">{amendments}</td>
                <td data-label="Waits for approval">
                    <Plain text=waits />
                </td>
            </tr>
        }
    });
    view! {
        <Table
            region="Rules of workflows"
            caption="The rules of workflows, by name"
            columns=[
                words("Workflow"),
                words("Version"),
                words("Left out"),
                words("Key fields"),
                words("Amendments"),
                words("Waits for approval"),
            ]
            rows=rows.collect_view()
        />
    }
    .into_any()
}

#[component]
fn Chosen(
    chosen: ChosenRules,
    person: Person,
    refused_draft: Option<(crate::notice::rules::RuleDraft, crate::failure::Failure)>,
    refused_decision: Option<(crate::notice::rules::RuleDecision, crate::failure::Failure)>,
    propose: ServerAction<ProposeRules>,
    decide: ServerAction<DecideRules>,
) -> impl IntoView {
    let ChosenRules { workflow, version, versions, proposals, what_if } = chosen;
    let waiting = proposals.iter().find(|proposal| proposal.standing == RuleStanding::Open).cloned();
    let name = workflow.title().to_owned();
    let decided = proposals.into_iter().filter(|proposal| proposal.standing != RuleStanding::Open).collect::<Vec<_>>();
    let gone = refused_decision.clone().filter(|_| waiting.is_none());
    view! {
        <p>
            <a href="/settings/rules">"All workflows"</a>
        </p>
        <h2 class="rules-name">
            <Plain text=name />
            <span class="optional">" version " {version} " is in force"</span>
        </h2>
        {gone.map(|(_, failure)| view! { <Refused what="Nothing was decided" failure /> })}
        {waiting.clone().map(|proposal| view! { <Waiting proposal person=person.clone() what_if refused=refused_decision act=decide /> })}
        <RuleForm workflow person waiting=waiting.is_some() refused=refused_draft act=propose />
        <Versions versions />
        <Decided proposals=decided />
    }
    .into_any()
}

/// What a change of rules changes, as a table.
#[component]
pub(crate) fn Lines(lines: Vec<RuleLine>) -> impl IntoView {
    let cell = |text: Option<String>, word: &'static str| match text {
        Some(text) => view! { <code><Plain text /></code> }.into_any(),
        None => view! { <span class="none">{word}</span> }.into_any(),
    };
    let rows = lines.into_iter().map(|line| {
        view! {
            <tr>
                <th scope="row" data-label="Rule">
                    <code>
                        <Plain text=line.key />
                    </code>
                </th>
                <td data-label="Now">{cell(line.before, "–")}</td>
                <td data-label="Then">{cell(line.after, "taken out")}</td>
            </tr>
        }
    });
    view! {
        <table class="cards rule-lines">
            <caption class="hidden">"What it changes"</caption>
            <thead>
                <tr>
                    <th scope="col">"Rule"</th>
                    <th scope="col">"Before"</th>
                    <th scope="col">"After"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

#[component]
fn Versions(versions: Vec<VersionLine>) -> impl IntoView {
    let items = versions.into_iter().map(|line| {
        let by = match line.changed {
            Some((at, actor)) => view! {
                <Plain text=wording::actor(&actor) />
                ", "
                <Moment at />
            }
            .into_any(),
            None => view! { <span class="none">"before this was recorded"</span> }.into_any(),
        };
        let why = line.reason.unwrap_or_else(|| "set by a configuration file".to_owned());
        let lines = line.lines;
        view! {
            <li>
                <p>
                    <strong>"Version " {line.version}</strong>
                    " · "
                    {by}
                </p>
                <p>
                    <Plain text=why />
                </p>
                {(!lines.is_empty()).then(|| view! { <Lines lines /> })}
            </li>
        }
    });
    view! {
        <section class="part" aria-labelledby="versions-title">
            <h2 id="versions-title">"Versions"</h2>
            <ol class="rule-versions" reversed>
                {items.collect_view()}
            </ol>
        </section>
    }
    .into_any()
}

#[component]
fn Decided(proposals: Vec<RuleProposal>) -> impl IntoView {
    let items = proposals.into_iter().map(|proposal| {
        let lines = proposal.lines();
        view! {
            <li>
                <p>
                    <Plain text=proposal.proposed_by.clone() />
                    ", "
                    <Moment at=proposal.proposed_at />
                    ": "
                    <Plain text=proposal.reason.clone() />
                </p>
                <dl class="facts">
                    <Told name="Became of it" text=wording::rule_standing(&proposal) />
                </dl>
                <Lines lines />
            </li>
        }
    });
    let items = items.collect::<Vec<_>>();
    (!items.is_empty()).then(|| {
        view! {
            <section class="part" aria-labelledby="decided-title">
                <h2 id="decided-title">"Proposals that were decided"</h2>
                <ol class="rule-versions">{items}</ol>
            </section>
        }
    })
}
