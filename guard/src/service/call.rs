//! The log of calls: kept behind answers, read by those who write automations.

use std::collections::{BTreeSet, HashMap};

use chrono::TimeDelta;

use super::{Guard, check_limit};
use crate::call::{About, CALLS_PER_TOKEN_MAX, Call, CallFilter, CallRequest, Heard, HeardBody, call_text};
use crate::id::{CallId, OperationId, TokenId};
use crate::operation::Operation;
use crate::queue::{Page, PageRequest};
use crate::refusal::{Refusal, StoreFault};
use crate::token::{Reach, Token};
use crate::veil::Veil;

/// So many calls are forgotten in one transaction: others wait for it briefly.
const FORGOTTEN_ROWS_MAX: u32 = 1_000;

impl Guard {
    /// Keeps calls, in the order in which they came, without what is secret or sensitive in them.
    ///
    /// # Errors
    /// The store's fault; some of them may have been kept.
    pub async fn keep_calls(&self, heard: Vec<Heard>) -> Result<(), StoreFault> {
        let store = &self.inner.store;
        let ids: BTreeSet<OperationId> = heard.iter().filter_map(|heard| heard.operation).collect();
        let ids: Vec<OperationId> = ids.into_iter().collect();
        let operations: HashMap<OperationId, Operation> =
            store.operations_of(&ids).await?.into_iter().map(|operation| (operation.id, operation)).collect();
        let logged = heard.into_iter().enumerate().map(|(ordinal, heard)| {
            let operation = heard.operation.and_then(|id| operations.get(&id));
            self.logged(heard, operation, ordinal)
        });
        let calls: Vec<(Call, CallRequest)> = logged.collect();
        store.add_calls(&calls).await
    }

    fn logged(&self, heard: Heard, operation: Option<&Operation>, ordinal: usize) -> (Call, CallRequest) {
        let about = match (operation, &heard.body) {
            (Some(operation), _) => About::operation(&operation.key),
            (None, HeardBody::Json(request, _)) => About::of(request),
            (None, HeardBody::Empty | HeardBody::Other(_)) => heard.about,
        };
        // What lies beyond the token's reach is as if it did not exist for it.
        let about = about.within(&heard.token.reach);
        let operation = operation.filter(|_| about.company.is_some()).map(|operation| operation.id);
        let veil_of = |workflow: &str| self.veil_of(workflow);
        let workflow = about.workflow.as_deref();
        let is_open = match heard.body {
            HeardBody::Empty => true,
            HeardBody::Json(..) | HeardBody::Other(_) => {
                workflow.and_then(veil_of).as_ref().is_none_or(Veil::is_lifted)
            }
        };
        let request = match &heard.body {
            HeardBody::Empty => CallRequest::Empty,
            HeardBody::Json(request, bytes) => CallRequest::of(request, *bytes, workflow, &veil_of),
            HeardBody::Other(bytes) => CallRequest::Left { bytes: *bytes },
        };
        let (problem, detail) = heard.problem.unzip();
        // The twelve bits behind the milliseconds count (RFC 9562, 6.2, method 1), so that calls of one millisecond keep their order.
        let mut random = self.inner.entropy.bytes();
        random[6..8].copy_from_slice(&u16::try_from(ordinal).unwrap_or(u16::MAX).to_be_bytes());
        let call = Call {
            id: CallId::new(heard.at, random),
            token: heard.token.id,
            at: heard.at,
            microseconds: heard.microseconds,
            method: heard.method,
            endpoint: heard.endpoint,
            path: call_text(&heard.path),
            status: heard.status,
            problem,
            detail: detail.filter(|_| is_open).map(|detail| call_text(&detail)),
            about,
            operation,
            decision: heard.decision,
            request_id: heard.request_id,
        };
        (call, request)
    }

    /// A page of calls within reach, the latest first.
    ///
    /// # Errors
    /// A cursor or a limit that is none, the store's fault.
    pub async fn calls(&self, reach: &Reach, filter: &CallFilter, page: &PageRequest) -> Result<Page<Call>, Refusal> {
        check_limit(page.limit)?;
        if page.cursor.as_ref().is_some_and(|cursor| cursor.read().is_none()) {
            return Err(Refusal::field("cursor", "is none that this list gave; start from the first page"));
        }
        Ok(self.inner.store.calls(reach, filter, page).await?)
    }

    /// A call within reach, and its request as it may be shown now.
    ///
    /// # Errors
    /// There is none within reach, the store's fault.
    pub async fn call(&self, reach: &Reach, id: CallId) -> Result<(Call, CallRequest), Refusal> {
        let found = self.inner.store.call(id).await?.filter(|(call, _)| call.about.is_within(reach));
        let (call, request) = found.ok_or_else(|| Refusal::not_found("call"))?;
        let request = request.shown(call.about.workflow.as_deref(), &|workflow| self.veil_of(workflow));
        Ok((call, request))
    }

    /// The tokens that may have calls within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn calling_tokens(&self, reach: &Reach) -> Result<Vec<Token>, Refusal> {
        let mut tokens = self.tokens().await?;
        tokens.retain(|token| token.reach.overlaps(reach));
        Ok(tokens)
    }

    /// Forgets calls that are older than so many days, and those of these tokens beyond [`CALLS_PER_TOKEN_MAX`].
    ///
    /// # Errors
    /// The store's fault; some may have been forgotten.
    pub async fn forget_calls(&self, days: u32, tokens: &[TokenId]) -> Result<(), StoreFault> {
        let store = &self.inner.store;
        let before = self.now() - TimeDelta::days(days.into());
        while store.forget_calls_before(before, FORGOTTEN_ROWS_MAX).await? >= FORGOTTEN_ROWS_MAX.into() {}
        for token in tokens {
            while store.forget_calls_of(*token, CALLS_PER_TOKEN_MAX, FORGOTTEN_ROWS_MAX).await?
                >= FORGOTTEN_ROWS_MAX.into()
            {}
        }
        Ok(())
    }
}
