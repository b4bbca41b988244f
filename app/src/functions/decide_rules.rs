//! A decision on a proposed change of rules.

use guard::rules::RuleProposal;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::rules::RuleDecision};

/// Approves, rejects or withdraws a proposed change of rules.
#[server(prefix = "/fn", endpoint = "decide_rules", output = Json)]
pub(crate) async fn decide_rules(draft: RuleDecision) -> Result<RuleProposal, Failure> {
    use super::read_rules::NOTICE;
    use crate::notice::rules::RulesNotice;

    let visit = crate::context::Visit::current()?;
    let page = crate::wording::rules_address(&draft.workflow);
    let result = match visit.person() {
        Ok(person) => {
            let decided = visit.guard.decide_rules(person, draft.proposal, draft.verdict, draft.reason.trim()).await;
            decided.map_err(Failure::from)
        }
        Err(failure) => Err(failure),
    };
    crate::reply::answer(&visit, result, |result| match result {
        Ok(proposal) => (NOTICE, RulesNotice::Done(Box::new(proposal.clone())), page),
        Err(failure) => {
            (NOTICE, RulesNotice::DecisionRefused(Box::new(draft), failure.clone()), format!("{page}#waiting"))
        }
    })
    .await
}
