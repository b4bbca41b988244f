//! `/amendments/{id}`: what changes, what it rests on, and the decision.

use guard::{
    amendment::{Amendment, AmendmentStateName, Approval},
    id::AmendmentId,
    person::Person,
    refusal::Refusal,
    view::OperationView,
};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    components::{
        age::{Age, AsOf, Moment},
        amendment::AmendmentBadge,
        awaited::{Body, page_of},
        badge::Badge,
        banner::{Done, Refused},
        copy::Copyable,
        diff::{Diff, DiffQuery, Masked},
        facts::{Fact, Told},
        heading::Heading,
        money::Amount,
        plain::Plain,
        tokens::WhyNot,
    },
    failure::Failure,
    functions::read_amendment::{AmendmentPageReport, read_amendment},
    notice::amendment::{AmendmentDraft, AmendmentNotice, AmendmentVerdict},
    wording,
};

/// The amendment. Its forms are ordinary ones.
#[component]
pub(crate) fn AmendmentPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let id = params.with(|params| params.get("id").unwrap_or_default());
        query.with(|query| (id, DiffQuery::of(query), query.get("state").unwrap_or_default()))
    });
    let report = Resource::new(move || asked.get(), |(id, shown, state)| read_amendment(id, shown, state));
    let page = page_of(report, move |report| {
        let state = asked.with_untracked(|(_, _, state)| state.clone());
        view! { <Shown report state /> }.into_any()
    });
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(
    report: AmendmentPageReport,
    /// The state to which the list is limited that the person walks.
    state: String,
) -> impl IntoView {
    let walked = state;
    let AmendmentPageReport {
        as_of,
        person,
        amendment,
        operation,
        base,
        moved,
        is_withdrawable,
        is_looked_at,
        masked,
        diffed,
        taken_back,
        before,
        behind,
        notice,
    } = report;
    let state = amendment.state.name();
    let (done, refused) = match notice {
        Some(AmendmentNotice::Proposed) => (Some(None), None),
        Some(AmendmentNotice::Decided(verdict)) => (Some(Some(verdict)), None),
        Some(AmendmentNotice::Refused(draft, failure)) => {
            (None, Some((*draft, failure)).filter(|(draft, _)| draft.amendment == amendment.id))
        }
        None => (None, None),
    };
    let is_reversal = amendment.is_reversal();
    let lead = if is_reversal { "Reversal: " } else { "Amendment: " };
    // A reversal is told by what it takes back.
    let of = base.as_ref().filter(|_| is_reversal).unwrap_or(&operation);
    let sentence = of.sentence.clone();
    let title = format!("{lead}{sentence}");
    let (now_text, next_text) = wording::amendment::standing(&amendment);
    // What nobody with this role can do is offered to nobody with it.
    let may_withdraw = person.role.may_propose() && (state.is_open() || is_withdrawable);
    let is_open = state == AmendmentStateName::AwaitingApproval || may_withdraw;
    // Without a form to stand in, the refusal stands above the page.
    let gone = refused.clone().filter(|_| !is_open).map(|(draft, failure)| view! { <Gone draft failure /> });
    let forms = is_open.then(|| {
        view! {
            <Decision
                amendment=amendment.clone()
                operation=operation.clone()
                person
                moved=moved.clone()
                is_withdrawable
                is_looked_at
                refused
            />
        }
    });
    let masked = view! { <Masked places=masked operation=operation.id /> };
    let changes = match diffed {
        Some(diffed) => view! {
            <section class="panel" aria-labelledby="diff-title">
                <h2 id="diff-title">"What changes"</h2>
                {masked}
                <Diff diffed />
            </section>
        }
        .into_any(),
        None => view! { <TakenBack amendment=amendment.clone() payload=taken_back>{masked}</TakenBack> }.into_any(),
    };
    view! {
        {done.map(|verdict| view! { <DoneBanner amendment=amendment.clone() verdict /> })}
        {gone}
        <div class="page-head">
            <Heading title>
                {lead}
                <Plain text=sentence />
            </Heading>
            <AsOf at=as_of />
        </div>
        <Steps before behind state=walked />
        <div class="standing">
            <p class="standing-state">
                <AmendmentBadge state />
                <span class="note">
                    "revision " {amendment.revision} ", proposed " <Age since=amendment.proposed_at now=as_of /> " ago"
                </span>
            </p>
            <p>
                <Plain text=now_text />
            </p>
            <p>{next_text}</p>
        </div>
        <div class="detail">
            <div class="detail-main">
                {changes}
                {forms}
            </div>
            <div class="detail-side">
                <Proposal amendment=amendment.clone() operation />
                <Rests amendment=amendment.clone() base moved is_open=state.is_open() />
                <Approvals amendment />
            </div>
        </div>
    }
    .into_any()
}

/// The way through the list that it was opened from.
#[component]
fn Steps(
    #[prop(into)] before: Option<AmendmentId>,
    #[prop(into)] behind: Option<AmendmentId>,
    state: String,
) -> impl IntoView {
    let address = |path: String| match state.as_str() {
        "" => path,
        state => format!("{path}?state={state}"),
    };
    let link = |id: Option<AmendmentId>, rel: &'static str, text: &'static str, key: &'static str| {
        id.map(|id| {
            let address = address(format!("/amendments/{id}"));
            view! { <a class="button is-quiet is-small" rel=rel data-key=key href=address>{text}</a> }
        })
    };
    view! {
        <nav class="pages steps" aria-label="Queue">
            <a class="button is-quiet is-small" href=address("/amendments".to_owned())>"To the list"</a>
            {link(before, "prev", "Previous", "[")}
            {link(behind, "next", "Next", "]")}
        </nav>
    }
    .into_any()
}

/// The record that is taken back, and what it was made of.
#[component]
fn TakenBack(amendment: Amendment, payload: Option<String>, children: Children) -> impl IntoView {
    let held = amendment.base;
    let content = match payload {
        None => view! { <p class="empty">"The payload that it was made of was dropped by retention."</p> }.into_any(),
        Some(text) => view! {
            <pre class="payload" tabindex="0" role="region" aria-label="The payload that the record was made of">
                <code><Plain text /></code>
            </pre>
        }
        .into_any(),
    };
    view! {
        <section class="panel" aria-labelledby="taken-title">
            <h2 id="taken-title">"What is taken back"</h2>
            <dl class="facts">
                <Fact name="Record">
                    <Copyable value=held.destination_reference what="record" />
                </Fact>
                <Fact name="Of">
                    <a href=format!("/operations/{}", held.operation)>"the operation, revision " {held.revision}</a>
                </Fact>
            </dl>
            <h3>"What it was made of"</h3>
            {children()}
            {content}
        </section>
    }
    .into_any()
}

/// A decision that was not made and has no form to stand in any more, with what was written.
#[component]
fn Gone(draft: AmendmentDraft, failure: Failure) -> impl IntoView {
    view! {
        <Refused what="Nothing was changed" failure />
        {(!draft.reason.is_empty()).then(|| view! {
            <div class="panel undecided">
                <h2>"What you wrote"</h2>
                <dl class="facts"><Told name="Reason" text=draft.reason /></dl>
            </div>
        })}
    }
    .into_any()
}

/// What an act did.
#[component]
fn DoneBanner(
    amendment: Amendment,
    /// What was decided; none where it was proposed.
    verdict: Option<AmendmentVerdict>,
) -> impl IntoView {
    let missing = amendment.approvals_missing();
    let is_reversal = amendment.is_reversal();
    let anew = if is_reversal { "It can be asked for anew." } else { "The change can be proposed anew." };
    let never = format!("It stays readable, and is never sent. {anew}");
    let (what, effect) = match verdict {
        None => ("It is proposed", "Another person approves it. Nothing is sent before that.".to_owned()),
        Some(AmendmentVerdict::Approve) if missing > 0 => (
            "Your approval is kept",
            format!(
                "{} needed before it may be begun.",
                wording::counted(missing.into(), "more approval is", "more approvals are")
            ),
        ),
        Some(AmendmentVerdict::Approve) => {
            ("It is approved", "A worker that begins it with exactly this payload may send it, once.".to_owned())
        }
        Some(AmendmentVerdict::Reject) => ("It is rejected", never),
        Some(AmendmentVerdict::Withdraw) => ("It is withdrawn", never),
    };
    view! {
        <Done>
            <p>{what} {if is_reversal { ", as a reversal of " } else { ", as " }} "revision " {amendment.revision} "."</p>
            <p>{effect}</p>
        </Done>
    }
    .into_any()
}

#[component]
fn Proposal(amendment: Amendment, operation: OperationView) -> impl IntoView {
    let is_reversal = amendment.is_reversal();
    let behind = amendment.behind.clone().map(|behind| view! { <Told name="Made the token" text=behind /> });
    let asked = amendment.requested_by.clone().map(|name| view! { <Told name="Asked for by" text=name /> });
    let conflict = amendment.from_conflict.map(|id| {
        view! {
            <Fact name="Came from">
                <a href=format!("/conflicts/{id}")>"a conflict"</a>
            </Fact>
        }
    });
    view! {
        <section class="panel" aria-labelledby="proposal-title">
            <h2 id="proposal-title">"The proposal"</h2>
            <dl class="facts">
                <Told name="Proposed by" text=wording::actor(&amendment.proposed_by) />
                {behind}
                {asked}
                <Fact name="When">
                    <Moment at=amendment.proposed_at />
                </Fact>
                <Told name="Reason" text=amendment.reason />
                {conflict}
                <Fact name="Operation">
                    <a href=format!("/operations/{}", operation.id)>
                        {if is_reversal { "the reversal of " } else { "" }} "revision " {amendment.revision}
                    </a>
                    " "
                    <Badge state=operation.state.name() />
                </Fact>
                <Told name="Workflow" text=operation.key.workflow.as_str().to_owned() />
                <Told name="Company" text=operation.key.company.as_str().to_owned() />
                <Fact name="Money">
                    <Amount money=operation.money />
                </Fact>
                <Fact name="Fingerprint">
                    <Copyable value=amendment.fingerprint.to_string() what="fingerprint" />
                </Fact>
            </dl>
        </section>
    }
    .into_any()
}

/// What it rests on, and what will be done.
#[component]
fn Rests(amendment: Amendment, base: Option<OperationView>, moved: Option<String>, is_open: bool) -> impl IntoView {
    let is_reversal = amendment.is_reversal();
    let held = amendment.base;
    let ruled = amendment.ruled;
    let current = is_open.then(|| match moved {
        None if is_reversal => "Yes: the record stands as it did when this was asked.".to_owned(),
        None => "Yes: it is confirmed as it was when the change was proposed.".to_owned(),
        Some(reason) if is_reversal => format!("No: {reason}. It has to be asked for anew."),
        Some(reason) => format!("No: {reason}. The change has to be proposed anew."),
    });
    view! {
        <section class="panel" aria-labelledby="base-title">
            <h2 id="base-title">"What it rests on"</h2>
            <dl class="facts">
                <Fact name="Base">
                    <a href=format!("/operations/{}", held.operation)>"revision " {held.revision}</a>
                    " "
                    {base.map(|base| view! { <Badge state=base.state.name() /> })}
                </Fact>
                {current.map(|text| view! { <Told name="Still current" text /> })}
                <Fact name="Destination reference">
                    <Copyable value=held.destination_reference what="destination reference" />
                </Fact>
                <Fact name="Base fingerprint">
                    <Copyable value=held.fingerprint.to_string() what="base fingerprint" />
                </Fact>
                <Fact name="Correction">{wording::amendment::correction(ruled.correction)}</Fact>
                <Told name="By rule" text=ruled.because />
                <Fact name="Rule version">{ruled.rule_version}</Fact>
            </dl>
        </section>
    }
    .into_any()
}

#[component]
fn Approvals(amendment: Amendment) -> impl IntoView {
    let given = amendment.approvals.len();
    let saw = wording::amendment::saw(&amendment);
    let saw_at_end = saw.clone();
    let ended = wording::amendment::ended_by(&amendment);
    let needed = match amendment.approvals_needed {
        1 => "One person must approve it, other than whoever proposed it or asked for it.".to_owned(),
        number => {
            format!(
                "{number} different people must approve it, none of whom proposed it or asked for it: it is above the workflow's amount, or its amount cannot be read."
            )
        }
    };
    let items = amendment.approvals.into_iter().map(|approval| {
        let Approval { by, at, reason, shown } = approval;
        view! {
            <li>
                <p><Plain text=by /> " · " <Moment at /></p>
                <p>{match reason {
                    Some(reason) => view! { "Reason: " <Plain text=reason /> }.into_any(),
                    None => view! { "No reason was given." }.into_any(),
                }}</p>
                <p class="note"><Plain text=wording::amendment::shown(&shown) /></p>
                <p class="note"><Plain text=saw.clone() /></p>
            </li>
        }
    });
    let items = items.collect_view();
    view! {
        <section class="panel" aria-labelledby="approvals-title">
            <h2 id="approvals-title">"Approvals: " {given} " of " {amendment.approvals_needed}</h2>
            <p class="note">{needed}</p>
            {(given > 0).then(|| view! { <ul class="evidence">{items}</ul> })}
            {ended.map(|ended| view! { <p><Plain text=ended /></p> <p class="note"><Plain text=saw_at_end /></p> })}
        </section>
    }
    .into_any()
}

#[component]
fn Decision(
    amendment: Amendment,
    operation: OperationView,
    person: Person,
    moved: Option<String>,
    is_withdrawable: bool,
    is_looked_at: bool,
    refused: Option<(AmendmentDraft, Failure)>,
) -> impl IntoView {
    let is_waiting = amendment.state.name() == AmendmentStateName::AwaitingApproval;
    let anew = if amendment.is_reversal() { "It can be asked for anew." } else { "The change can be proposed anew." };
    let (draft, failure) = refused.unzip();
    let form = |verdict: AmendmentVerdict, title: &'static str, effect: String, why_not: Option<String>| {
        let reason = draft.as_ref().filter(|draft| draft.verdict == verdict).map(|draft| draft.reason.clone());
        let is_uncertain = verdict == AmendmentVerdict::Approve
            && matches!(failure, Some(Failure::Refused(Refusal::BaseUncertain { .. })));
        view! {
            <Form
                amendment=amendment.clone()
                version=operation.version
                verdict
                title
                effect
                reason=reason.unwrap_or_default()
                is_uncertain
                why_not
            />
        }
    };
    let deciding = is_waiting.then(|| {
        let looked = if is_looked_at { " The destination is looked at first." } else { "" };
        let effect = match amendment.approvals_missing() {
            0 | 1 => format!("It may then be begun, once, with exactly this payload on exactly this base.{looked}"),
            _ => format!("A second person has to approve it, too.{looked}"),
        };
        let why_not = wording::amendment::why_not_approve(&amendment, &person, moved.as_deref());
        let approve = form(AmendmentVerdict::Approve, "Approve", effect, why_not);
        let why_not = wording::amendment::why_not_decide(person.role);
        let effect = format!("It is never sent. It stays readable. {anew}");
        view! {
            {approve}
            {form(AmendmentVerdict::Reject, "Reject", effect, why_not)}
        }
    });
    let withdraw = person.role.may_propose().then(|| {
        let why_not = wording::amendment::why_not_withdraw(is_withdrawable);
        let effect = format!("The proposal is taken back, and never sent. {anew}");
        form(AmendmentVerdict::Withdraw, "Withdraw", effect, why_not)
    });
    view! {
        <section class="panel decision" id="decide" tabindex="-1" aria-labelledby="decide-title">
            <h2 id="decide-title">"Decide"</h2>
            {failure.clone().map(|failure| view! { <Refused what="Nothing was changed" failure /> })}
            <div class="decision-forms">{deciding} {withdraw}</div>
        </section>
    }
    .into_any()
}

#[component]
fn Form(
    amendment: Amendment,
    version: u64,
    verdict: AmendmentVerdict,
    title: &'static str,
    effect: String,
    reason: String,
    /// Whether the destination could not tell, so that it is confirmed once more.
    is_uncertain: bool,
    why_not: Option<String>,
) -> impl IntoView {
    let name = verdict.as_str();
    let is_barred = why_not.is_some();
    let is_optional = verdict == AmendmentVerdict::Approve;
    let key = match verdict {
        AmendmentVerdict::Approve => "1",
        AmendmentVerdict::Reject => "2",
        AmendmentVerdict::Withdraw => "3",
    };
    let once_more = is_uncertain.then(|| {
        view! {
            <label class="check">
                <input type="checkbox" name="draft[despite_uncertainty]" value="true" disabled=is_barred required />
                "Approve although the destination could not tell"
            </label>
        }
    });
    view! {
        <section class="decision-form" data-key=key aria-labelledby=format!("{name}-title")>
            <h3 id=format!("{name}-title")>{title}</h3>
            <p>{effect}</p>
            <form method="post" action="/fn/decide_amendment">
                <input type="hidden" name="draft[amendment]" value=amendment.id.to_string() />
                <input type="hidden" name="draft[version]" value=version />
                <input type="hidden" name="draft[fingerprint]" value=amendment.fingerprint.to_string() />
                <input type="hidden" name="draft[verdict]" value=name />
                <label for=format!("{name}-reason")>
                    "Reason "
                    {is_optional.then(|| view! { <span class="optional">"optional"</span> })}
                </label>
                <input
                    id=format!("{name}-reason")
                    name="draft[reason]"
                    value=reason
                    required=!is_optional
                    disabled=is_barred
                    maxlength="2000"
                    autocomplete="off"
                />
                {once_more}
                <WhyNot button=title id=format!("{name}-why-not") why_not />
            </form>
        </section>
    }
    .into_any()
}
