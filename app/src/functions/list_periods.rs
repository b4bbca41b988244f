//! The periods that were closed, and what one holds that may be.

use guard::{
    clock::Timestamp,
    period::{Period, Totals},
    person::Person,
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::period::PeriodNotice};

/// What the page of periods shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Periods {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// What was closed, the newest first.
    pub periods: Vec<Period>,
    /// What the period that was asked for holds, or why that cannot be said.
    pub asked: Option<Result<Totals, Failure>>,
    /// What became of the act before.
    pub notice: Option<PeriodNotice>,
}

/// Reads the periods; and what one holds, where its company and both its days are named.
#[server(prefix = "/fn", endpoint = "list_periods", input = Json, output = Json)]
pub(crate) async fn list_periods(company: String, from: String, to: String) -> Result<Periods, Failure> {
    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let asked = match (company.trim(), from.trim(), to.trim()) {
        ("", _, _) => None,
        (company, from, to) => Some(match span(from, to) {
            Ok(span) => guard.period_totals(&person.reach, company, span).await.map_err(Failure::from),
            Err(refusal) => Err(refusal.into()),
        }),
    };
    let periods = guard.periods(&person.reach, None).await?;
    let notice = crate::reply::take_notice(&visit, NOTICE).await;
    Ok(Periods { as_of: guard.now(), person: person.clone(), periods, asked, notice })
}

/// Under this name the effect of an act on a period is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "period";

/// The days from one to another.
#[cfg(feature = "ssr")]
pub(crate) fn span(from: &str, to: &str) -> Result<guard::period::Span, guard::refusal::Refusal> {
    let day = |field: &str, text: &str| {
        let wrong = |_| guard::refusal::Refusal::field(field, format!("{text:?} is no day; write it as 2026-03-31"));
        text.trim().parse().map_err(wrong)
    };
    Ok(guard::period::Span { from: day("from", from)?, to: day("to", to)? })
}
