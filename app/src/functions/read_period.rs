//! A certificate, with what has become of its period since.

use guard::{clock::Timestamp, period::Period, person::Person};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::period::PeriodNotice};

/// A period with its certificate.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Certified {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The period.
    pub period: Period,
    /// The SHA-256 of the certificate.
    pub sha256: String,
    /// The plain sentences of the open items that are named, with their ids as texts.
    pub sentences: Vec<(String, String)>,
    /// What became of the act before.
    pub notice: Option<PeriodNotice>,
}

/// Reads a period within reach.
#[server(prefix = "/fn", endpoint = "read_period", input = Json, output = Json)]
pub(crate) async fn read_period(id: String) -> Result<Certified, Failure> {
    use guard::{id::PeriodId, refusal::Refusal};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id: PeriodId = id.parse().map_err(|_| Refusal::not_found("period"))?;
    let period = guard.period(&person.reach, id).await?;
    let mut sentences = Vec::new();
    for operation in period.certificate.totals.open.iter().flat_map(|open| &open.operations) {
        match guard.operation(&person.reach, *operation).await {
            Ok(found) => sentences.push((operation.to_string(), guard.view(&found).sentence)),
            Err(Refusal::NotFound { .. }) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
    let notice = crate::reply::take_notice(&visit, super::list_periods::NOTICE).await;
    let sha256 = period.certificate.fingerprint().to_string();
    Ok(Certified { as_of: guard.now(), person: person.clone(), period, sha256, sentences, notice })
}
