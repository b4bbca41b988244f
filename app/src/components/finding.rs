//! What may be done about a record that nobody guards.

use guard::{
    person::Person,
    reconciliation::{LinkVerdict, RecordDecision, RecordSide, Run},
    view::OperationView,
};
use leptos::prelude::*;

use super::{
    badge::Badge,
    banner::{Done, Refused},
    money::Amount,
    plain::Plain,
    tokens::WhyNot,
};
use crate::{
    failure::Failure,
    functions::read_reconciliation::Opened,
    notice::reconciliation::{AdoptionDraft, Belonging, CandidateDraft, FindingNotice},
    wording::{self, reconciliation::link_verdict},
};

/// What people said of a record.
#[component]
pub(crate) fn Decisions(
    /// With the names of the operations.
    decisions: Vec<(RecordDecision, String)>,
) -> impl IntoView {
    let lines = decisions.into_iter().map(|(decision, sentence)| {
        let RecordDecision { operation, verdict, by, at, reason, .. } = decision;
        view! {
            <li>
                {link_verdict(verdict)}
                ": "
                <a href=format!("/operations/{operation}")>
                    <Plain text=sentence />
                </a>
                ", said "
                <Plain text=by />
                " at "
                {wording::moment(at)}
                ": "
                <Plain text=reason />
            </li>
        }
    });
    view! { <ul class="said">{lines.collect_view()}</ul> }.into_any()
}

/// The record in hand: the operations that it may belong to, or an operation of its own.
#[component]
pub(crate) fn Finding(
    run: Run,
    person: Person,
    opened: Opened,
    decisions: Vec<(RecordDecision, String)>,
) -> impl IntoView {
    let Opened { row, candidates, actions, notice } = opened;
    let number = row.number;
    let Some(record) = row.record else { return ().into_any() };
    let decisions: Vec<_> = decisions.into_iter().filter(|(decision, _)| decision.number == number).collect();
    let is_settled = decisions.iter().any(|(decision, _)| match decision.verdict {
        LinkVerdict::Confirmed | LinkVerdict::Adopted => true,
        LinkVerdict::Refused => false,
    });
    let (mut is_done, mut candidate, mut adoption) = (false, None, None);
    match notice {
        Some(FindingNotice::Done) => is_done = true,
        Some(FindingNotice::CandidateRefused(draft, failure)) => candidate = Some((*draft, failure)),
        Some(FindingNotice::AdoptionRefused(draft, failure)) => adoption = Some((*draft, failure)),
        None => {}
    }
    let name = record.destination_reference.clone().unwrap_or_else(|| "without an id".to_owned());
    let told = (!decisions.is_empty()).then(|| view! { <Decisions decisions /> });
    let id = run.id.to_string();
    let forms = if is_settled {
        ().into_any()
    } else {
        let candidates = candidates.into_iter().map(|(operation, same)| {
            let mine = |(draft, _): &(CandidateDraft, Failure)| draft.operation == operation.id;
            let refused = candidate.clone().filter(mine);
            view! { <Candidate run=id.clone() number operation same role=person.role refused /> }
        });
        let candidates = candidates.collect::<Vec<_>>();
        let none = candidates
            .is_empty()
            .then(|| view! { <p class="note">"No operation that is missing or pending has this amount."</p> });
        view! {
            <h3>"Operations that it may belong to"</h3>
            {none}
            {candidates}
            <Adopt run=id.clone() record number actions person refused=adoption />
        }
        .into_any()
    };
    view! {
        <section class="panel no-print" id="act" tabindex="-1" aria-labelledby="act-title">
            <h2 id="act-title">"The record " <Plain text=name /></h2>
            {is_done.then(|| view! { <Done><p>"It is done, and stands in the trail of the operation."</p></Done> })}
            {told}
            {forms}
        </section>
    }
    .into_any()
}

#[component]
fn Candidate(
    run: String,
    number: u64,
    operation: OperationView,
    same: u32,
    role: guard::person::Role,
    refused: Option<(CandidateDraft, Failure)>,
) -> impl IntoView {
    let why_not = wording::why_not_resolve(role);
    let (draft, failure) = refused.unzip();
    let draft = draft.as_ref();
    let field = format!("candidate-{}", operation.id);
    let is_barred = why_not.is_some();
    let reason = draft.map(|draft| draft.reason.clone()).unwrap_or_default();
    let differs = draft.is_some_and(|draft| draft.belonging == Belonging::Differs);
    let effect = if operation.state.is_uncertain() {
        "Where it belongs to it, the operation is confirmed by this record."
    } else {
        "Where it belongs to it, the operation is disputed: it is held under another id. Decide it then on its page."
    };
    view! {
        <article class="candidate">
            <p>
                <a href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence />
                </a>
                " "
                <Badge state=operation.state.name() />
                " "
                <Amount money=operation.money />
            </p>
            <p class="note">
                {wording::counted(same.into(), "field", "fields")}
                " beside the amount say the same. "
                {effect}
            </p>
            {failure.map(|failure| view! { <Refused what="Nothing was decided" failure /> })}
            <form method="post" action="/fn/decide_candidate">
                <input type="hidden" name="draft[run]" value=run />
                <input type="hidden" name="draft[number]" value=number />
                <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
                <input type="hidden" name="draft[version]" value=operation.version />
                <label for=format!("{field}-belonging")>"This record"</label>
                <select id=format!("{field}-belonging") name="draft[belonging]" disabled=is_barred>
                    <option value=Belonging::Belongs.as_str()>"belongs to this operation"</option>
                    <option value=Belonging::Differs.as_str() selected=differs>"does not belong to it"</option>
                </select>
                <label for=format!("{field}-reason")>"How you know"</label>
                <input id=format!("{field}-reason") name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" autocomplete="off" />
                <WhyNot button="Decide" id=format!("{field}-why-not") why_not />
            </form>
        </article>
    }
    .into_any()
}

#[component]
fn Adopt(
    run: String,
    record: RecordSide,
    number: u64,
    actions: Vec<String>,
    person: Person,
    refused: Option<(AdoptionDraft, Failure)>,
) -> impl IntoView {
    let why_not = if !person.role.may_reconcile() {
        Some(format!(
            "Adopting needs the role operator, finance or admin; you are {}.",
            wording::role_phrase(person.role)
        ))
    } else if record.destination_reference.is_none() {
        Some("The record has no id of its own: nobody could tell it again.".to_owned())
    } else {
        None
    };
    let is_barred = why_not.is_some();
    let (draft, failure) = refused.unzip();
    let (source_system, document, action, reason) = match draft {
        Some(AdoptionDraft { source_system, document, action, reason, .. }) => {
            (source_system, document, action, reason)
        }
        None => (
            record.source_system.unwrap_or_default(),
            record.document.unwrap_or_default(),
            String::new(),
            String::new(),
        ),
    };
    let actions = actions.into_iter().map(|known| {
        let selected = known == action;
        view! { <option selected=selected>{known}</option> }
    });
    view! {
        <h3>"Or adopt it"</h3>
        <p class="note">
            "An operation is registered as confirmed by this record. Whoever begins it later, with the same amount, is answered with this record and sends nothing."
        </p>
        {failure.map(|failure| view! { <Refused what="Nothing was adopted" failure /> })}
        <form method="post" action="/fn/adopt_record">
            <input type="hidden" name="draft[run]" value=run />
            <input type="hidden" name="draft[number]" value=number />
            <div class="fields">
                <div class="field">
                    <label for="adopt-source">"Source system"</label>
                    <input id="adopt-source" name="draft[source_system]" value=source_system required disabled=is_barred maxlength="200" autocomplete="off" />
                </div>
                <div class="field">
                    <label for="adopt-document">"Document"</label>
                    <input id="adopt-document" name="draft[document]" value=document required disabled=is_barred maxlength="200" autocomplete="off" />
                </div>
                <div class="field">
                    <label for="adopt-action">"Action"</label>
                    <select id="adopt-action" name="draft[action]" disabled=is_barred>
                        {actions.collect_view()}
                    </select>
                </div>
            </div>
            <label for="adopt-reason">"Why it is adopted"</label>
            <input id="adopt-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" autocomplete="off" />
            <WhyNot button="Adopt this record" id="adopt-why-not" why_not />
        </form>
    }
    .into_any()
}
