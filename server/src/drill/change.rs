//! A changed order: proposed by its worker, approved by people, and made on the record that is there.

use guard::amendment::Place;
use guard::destination::Create;
use guard::id::AmendmentId;
use guard::json::Json;
use guard::refusal::Refusal;
use guard::service::Approving;
use guard::token::Reach;
use guard::workflow::{AmendmentRules, Correction};
use serde_json::Value;

use super::order::Order;
use super::{GuardAccess, Running};

/// The member that tells the versions of an order apart; only orders that are changed have it.
pub(super) const VERSION_MEMBER: &str = "drill_version";

/// The version of an order that is right in the end.
pub(super) const NEWEST: u32 = 2;

/// What may be changed in a drill against the sandbox, and how: its records are changed in place, and two people approve. The rules of
/// a workflow are about other payloads.
///
/// # Errors
/// The name of the member is no place.
pub fn amendment_rules() -> Result<AmendmentRules, String> {
    let place: Place = format!("/{VERSION_MEMBER}").parse().map_err(|fault| format!("{VERSION_MEMBER}: {fault}"))?;
    Ok(AmendmentRules {
        amendable: vec![place],
        before_reconciliation: Correction::Amend,
        second_approval_over: Some("0".to_owned()),
        ..AmendmentRules::default()
    })
}

/// How the answer to a change is read where records are created like this: the sandbox answers 200 with the record.
pub(super) fn of_the_sandbox(create: &Create) -> Create {
    Create { method: "PATCH".to_owned(), confirmed: vec!["200".to_owned()], ..create.clone() }
}

impl Running {
    /// Proposes this version of an order on the one before, as an automation does, and lets people approve it, as they do at the desk.
    pub(super) async fn have_approved(&self, guard: &GuardAccess, order: &Order, version: u32) -> Result<(), String> {
        let no_answer = || "the guard did not answer".to_owned();
        let before = self.begin(order, Some(version - 1), super::scenario::Mishap::None)?;
        let before = self.ask(guard, "/api/v1/operations", before).await.ok_or_else(no_answer)?;
        let base = before["operation"]["id"].as_str().ok_or_else(|| detail(&before))?;
        let text = |text: &str| Json::String(text.to_owned());
        let proposal = Json::Object(vec![
            ("payload".to_owned(), self.content_of(order, Some(version))?),
            ("reason".to_owned(), text("the customer changed the order")),
            ("requested_by".to_owned(), text("the customer")),
        ]);
        let path = format!("/api/v1/operations/{base}/amendments");
        let proposed = self.ask(guard, &path, proposal.to_string()).await.ok_or_else(no_answer)?;
        let id = proposed["amendment"]["id"].as_str().and_then(|id| id.parse().ok());
        self.approve(guard, id.ok_or_else(|| detail(&proposed))?).await.map_err(|refusal| refusal.to_string())
    }

    /// One person after the other looks at the destination and approves, until nobody else is needed.
    async fn approve(&self, guard: &GuardAccess, id: AmendmentId) -> Result<(), Refusal> {
        let everything = &Reach::EVERYTHING;
        for person in &guard.people {
            let amendment = guard.guard.amendment(everything, id).await?;
            if amendment.approvals_missing() == 0 {
                break;
            }
            let base = guard.guard.operation(everything, amendment.base.operation).await?;
            let trial = self.destinations.look_for(&self.drill.destination, &base.external_reference()).await;
            let seen_version = guard.guard.operation(everything, amendment.operation).await?.version;
            let looked = Some(trial.looked);
            let approving = Approving { seen_version, reason: None, looked, despite_uncertainty: false };
            guard.guard.approve(person, id, &approving).await?;
        }
        Ok(())
    }

    /// How many live records of changed orders show another version than the newest.
    pub(super) async fn outdated(&self) -> Result<u64, String> {
        let Some(sandbox) = &self.drill.sandbox else { return Ok(0) };
        let counts = sandbox.counts_by(VERSION_MEMBER).await.map_err(|fault| fault.to_string())?;
        let newest = NEWEST.to_string();
        // What has no version at all is no changed order.
        let others = counts.iter().filter(|(version, _)| !version.is_empty() && **version != newest);
        Ok(others.map(|(_, counts)| counts.live).sum())
    }
}

fn detail(answer: &Value) -> String {
    answer["detail"].as_str().unwrap_or("the guard's answer cannot be read").to_owned()
}
