//! A period is signed and closed.

use guard::period::Period;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::period::ClosingDraft};

/// Closes a period, on the figures that the page showed.
#[server(prefix = "/fn", endpoint = "close_period", output = Json)]
pub(crate) async fn close_period(draft: ClosingDraft) -> Result<Period, Failure> {
    use super::list_periods::NOTICE;
    use crate::notice::period::PeriodNotice;

    let visit = crate::context::Visit::current()?;
    let result = close(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(period) => (NOTICE, PeriodNotice::Done(Box::new(period.clone())), format!("/periods/{}", period.id)),
        Err(failure) => {
            let page = format!("{}#sign", crate::wording::period_address(&draft.company, &draft.from, &draft.to));
            (NOTICE, PeriodNotice::ClosingRefused(Box::new(draft), failure.clone()), page)
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn close(visit: &crate::context::Visit, draft: &ClosingDraft) -> Result<Period, Failure> {
    use guard::{refusal::Refusal, service::Signing};

    let person = visit.person()?;
    let span = super::list_periods::span(&draft.from, &draft.to)?;
    let seen = draft.seen.parse().map_err(|wrong| Refusal::field("seen", format!("{wrong}; open the page again")))?;
    let signing = Signing { name: draft.name.trim(), statement: draft.statement.trim(), reason: &draft.reason, seen };
    Ok(visit.guard.close_period(person, draft.company.trim(), span, &signing).await?)
}
