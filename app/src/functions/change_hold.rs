//! A person places or lifts a legal hold.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::retention::HoldDraft};

/// Under this name what became of a hold is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "hold";

/// Places or lifts a hold on an operation or its document.
#[server(prefix = "/fn", endpoint = "change_hold", output = Json)]
pub(crate) async fn change_hold(draft: HoldDraft) -> Result<(), Failure> {
    use crate::notice::retention::HoldNotice;

    let visit = crate::context::Visit::current()?;
    let result = change(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let page = format!("/operations/{}#content", draft.operation);
        let notice = match result {
            Ok(()) => HoldNotice::Done(draft.operation, draft.act),
            Err(failure) => HoldNotice::Refused(Box::new(draft.clone()), failure.clone()),
        };
        (NOTICE, notice, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn change(visit: &crate::context::Visit, draft: &HoldDraft) -> Result<(), Failure> {
    use guard::retention::HoldScope;

    use crate::notice::retention::HoldAct;

    let (person, guard) = (visit.person()?, &visit.guard);
    let HoldDraft { operation, version, act, reason } = draft;
    let (operation, version, reason) = (*operation, *version, reason.trim());
    let (is_lifted, scope) = match act {
        HoldAct::HoldOperation => (false, HoldScope::Operation),
        HoldAct::HoldDocument => (false, HoldScope::Document),
        HoldAct::LiftOperation => (true, HoldScope::Operation),
        HoldAct::LiftDocument => (true, HoldScope::Document),
    };
    if is_lifted {
        guard.lift_hold(person, operation, version, scope, reason).await?;
    } else {
        guard.place_hold(person, operation, version, scope, reason).await?;
    }
    Ok(())
}
