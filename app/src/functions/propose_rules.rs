//! A proposed change of a workflow's rules.

use guard::rules::RuleProposal;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::rules::RuleDraft};

/// Proposes a change of rules; another person decides it.
#[server(prefix = "/fn", endpoint = "propose_rules", output = Json)]
pub(crate) async fn propose_rules(draft: RuleDraft) -> Result<RuleProposal, Failure> {
    use super::read_rules::NOTICE;
    use crate::notice::rules::RulesNotice;

    let visit = crate::context::Visit::current()?;
    let page = crate::wording::rules_address(&draft.workflow);
    let result = propose(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(proposal) => (NOTICE, RulesNotice::Done(Box::new(proposal.clone())), page),
        Err(failure) => {
            (NOTICE, RulesNotice::ProposalRefused(Box::new(draft), failure.clone()), format!("{page}#propose"))
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn propose(visit: &crate::context::Visit, draft: &RuleDraft) -> Result<RuleProposal, Failure> {
    let person = visit.person()?;
    let change = draft.change()?;
    for field in change.key_fields.iter().flatten() {
        let checked = visit.lookups.check_path(&field.record);
        checked.map_err(|message| guard::refusal::Refusal::field("key_fields", message))?;
    }
    Ok(visit.guard.propose_rules(person, &draft.workflow, change, draft.reason.trim()).await?)
}
