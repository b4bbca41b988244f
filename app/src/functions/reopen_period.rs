//! A closed period is opened again.

use guard::period::Period;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::period::ReopeningDraft};

/// Opens a period again, with a reason.
#[server(prefix = "/fn", endpoint = "reopen_period", output = Json)]
pub(crate) async fn reopen_period(draft: ReopeningDraft) -> Result<Period, Failure> {
    use super::list_periods::NOTICE;
    use crate::notice::period::PeriodNotice;

    let visit = crate::context::Visit::current()?;
    let page = format!("/periods/{}", draft.period);
    let result = match visit.person() {
        Ok(person) => {
            let reopened = visit.guard.reopen_period(person, draft.period, draft.reason.trim()).await;
            reopened.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    crate::reply::answer(&visit, result, |result| match result {
        Ok(period) => (NOTICE, PeriodNotice::Done(Box::new(period.clone())), page),
        Err(failure) => {
            (NOTICE, PeriodNotice::ReopeningRefused(Box::new(draft), failure.clone()), format!("{page}#reopen"))
        }
    })
    .await
}
