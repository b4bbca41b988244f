//! What an act did, or why it did nothing.

use guard::state::StateName;
use leptos::{html::Div, prelude::*};

use super::{
    age::Moment,
    badge::Badge,
    facts::Told,
    fault,
    heading::focus_soon,
    icon::{Icon, Picture},
    plain::Plain,
};
use crate::{
    failure::Failure,
    notice::{Decided, Draft, Verdict},
    wording,
};

/// An effect: read out, and standing until the next page. The focus goes to it, since what was acted on may be gone.
#[component]
pub(crate) fn Done(children: Children) -> impl IntoView {
    let banner = NodeRef::<Div>::new();
    Effect::new(move || {
        if let Some(banner) = banner.get() {
            focus_soon(banner.into());
        }
    });
    view! {
        <div class="banner is-done" role="status" tabindex="-1" node_ref=banner>
            <Icon picture=Picture::Check />
            <div>{children()}</div>
        </div>
    }
    .into_any()
}

/// No effect, and the reason.
#[component]
pub(crate) fn Refused(
    /// What was not done.
    what: &'static str,
    failure: Failure,
) -> impl IntoView {
    view! {
        <div class="banner is-refused" role="alert">
            <Icon picture=Picture::Warning />
            <div>
                <p>
                    <strong>{what}</strong>
                </p>
                <p>
                    <Plain text=fault::sentence(&failure) />
                </p>
            </div>
        </div>
    }
    .into_any()
}

/// A decision that was not made and has no form to stand in any more, with what was written.
#[component]
pub(crate) fn Undecided(draft: Draft, failure: Failure) -> impl IntoView {
    let Draft { operation, destination_reference, reason, link, .. } = draft;
    let written = [("Reference", destination_reference), ("Reason", reason), ("Link", link)];
    let written = written.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| {
        view! { <Told name text /> }
    });
    view! {
        <Refused what="Nothing was changed" failure />
        <div class="panel undecided">
            <h2>"What you wrote"</h2>
            <dl class="facts">{written.collect_view()}</dl>
            <p>
                <a href=format!("/operations/{operation}")>"The operation as it is now"</a>
            </p>
        </div>
    }
    .into_any()
}

/// The effect of a decision: from what to what, by whom, when.
#[component]
pub(crate) fn DecidedBanner(decided: Decided) -> impl IntoView {
    let Decided { settled, by, verdict, deferral } = decided;
    let proposed = settled.proposal.is_some();
    let operation = settled.operation;
    let state = operation.state.name();
    let waits = deferral
        .map(|deferral| format!("It is kept waiting until {}, and comes back then.", wording::moment(deferral.until)));
    let aside = if proposed {
        "It is proposed. Nothing else has changed: a second person has to confirm it."
    } else if verdict == Verdict::RejectProposal {
        "The proposal is gone. Nothing else has changed."
    } else {
        ""
    };
    let was_not_applied = verdict == Verdict::NotApplied;
    let effect = match state {
        StateName::Confirmed => "Repetitions are answered with this result from now on.",
        StateName::Failed if was_not_applied => {
            "Not applied: the operation is Failed. The next begin with the same payload may send it again."
        }
        StateName::Failed => "The next begin with the same payload may send it again.",
        StateName::Rejected => {
            "Dropped: the operation is Rejected. It is never sent again: every repetition is told to stop."
        }
        StateName::AwaitingApproval
        | StateName::Acquired
        | StateName::Sending
        | StateName::Released
        | StateName::Unknown
        | StateName::Disputed => "",
    };
    let lead = match verdict {
        Verdict::Confirmed | Verdict::NotApplied | Verdict::Dropped | Verdict::ConfirmProposal if proposed => {
            "Proposed"
        }
        Verdict::Confirmed | Verdict::NotApplied | Verdict::Dropped | Verdict::ConfirmProposal => "Decided",
        Verdict::KeepWaiting => "Kept waiting",
        Verdict::RejectProposal => "Not decided",
    };
    let reference = operation.state.destination_reference().map(|reference| {
        view! {
            " as "
            <code>
                <Plain text=reference />
            </code>
        }
    });
    view! {
        <Done>
            <p>
                {lead}
                ": "
                <a href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence.clone() />
                </a>
                ": "
                <Badge state=settled.before />
                <span aria-hidden="true">" → "</span>
                <span class="hidden">" became "</span>
                <Badge state=state />
                {reference}
                ", by "
                <Plain text=by />
                " at "
                <Moment at=operation.updated_at />
                "."
            </p>
            <p>{effect}{aside}{waits}</p>
        </Done>
    }
    .into_any()
}
