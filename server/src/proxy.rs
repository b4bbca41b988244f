//! `ANY /proxy/{workflow}/{path…}`: the drop-in proxy.
//!
//! For automations whose only editable things are a URL and headers. A request that changes something is begun, sent once, recorded, and
//! answered with what the destination answered; a repetition is answered from what was kept. From the begin on it does not depend on
//! its caller: one that disconnects cancels nothing that may have been written.

mod header;
pub mod key;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use guard::decision::{Decision, DecisionName};
use guard::destination::{Create, Destination};
use guard::event::Outcome;
use guard::json::Json;
use guard::operation::{LeaseToken, Operation};
use guard::pointer::Pointer;
use guard::refusal::Refusal;
use guard::service::{BeginRequest, Report};
use guard::state::State as OperationState;
use guard::store::VersionedWorkflow;
use guard::token::{Scope, Token};
use percent_encoding::percent_decode_str;
use tracing::Instrument as _;

use crate::api::answer::{answer, lost};
use crate::api::request;
use crate::body;
use crate::caller::Caller;
use crate::destination::effect::Effect;
use crate::destination::{Outgoing, Sent, template};
use crate::observe::RequestId;
use crate::problem::{Code, Problem};
use crate::state::Server;
use reply::Reply;

pub use reply::KEPT_BYTES_MAX;

/// The operation that a request was about.
pub const ONCEOVER_OPERATION: HeaderName = HeaderName::from_static("onceover-operation");

/// What was decided on it.
pub const ONCEOVER_DECISION: HeaderName = HeaderName::from_static("onceover-decision");

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The lease of a proxied attempt is at least this much longer than the destination's time, in seconds: it must not run down between the
/// answer and its record.
pub const LEASE_MARGIN_SECONDS: u32 = 15;

/// What became of an attempt is handed in this often before it is left to the end of the lease.
const REPORT_TRIES_MAX: u32 = 5;

/// After the first try that failed the next one waits this long, then twice as long each time, in milliseconds.
const REPORT_AGAIN_MILLISECONDS: u64 = 250;

/// When to ask again where nothing was sent, in seconds.
const RETRY_AFTER_UNSENT_SECONDS: u64 = 5;

/// The worker behind a proxied attempt, as the trail names it.
const WORKER: &str = "proxy";

/// The methods that go through.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");

/// Sends a request once and answers what the destination answered, or what it answered before.
///
/// `GET` and `HEAD` create nothing and go through as they are, for tokens that reach every company: what a destination answers cannot be
/// limited to some.
pub async fn proxy(
    State(server): State<Server>,
    caller: Caller,
    id: RequestId,
    request: Request,
) -> Result<Response, Problem> {
    let (name, path) = target(request.uri())?;
    let method = request.method().clone();
    if !is_known(&method) {
        let detail = "the header Allow lists the methods that go through";
        return Err(Problem::new(Code::MethodNotAllowed, detail).allow(Some(METHODS)));
    }
    caller.require(if method.is_safe() { Scope::OperationsRead } else { Scope::OperationsWrite })?;
    let workflow = server.guard.workflow_for(&caller.token, &name).await?;
    let (destination, create) = destination_of(&server, &workflow)?;
    if method.is_safe() {
        return pass(&server, &caller.token, &destination, (method, path), request).await;
    }
    let headers = request.headers().clone();
    let bytes = body::read_bytes(request, server.settings.body_bytes_max).await?;
    let content = content_of(&headers, &bytes)?;
    let key = key::read(&headers, &content, &workflow.workflow, &caller.token)?;
    if let Some(pointer) = &create.external_reference_pointer
        && !pointer.put(&mut content.clone(), Json::Null)
    {
        return Err(no_place(pointer));
    }
    let begin = BeginRequest {
        key,
        payload: request::payload(content)?,
        worker: Some(WORKER.to_owned()),
        delivery_id: None,
        begin_id: None,
        lease_seconds: Some(lease_seconds(&workflow, &destination)?),
        request_id: Some(id.as_str().to_owned()),
    };
    let outgoing = Outgoing { method, path, headers: header::outgoing(&headers), body: bytes };
    let tracker = server.proxied.clone();
    let proxied = Proxied { server, token: caller.token, begin, destination, create, outgoing };
    // A task of its own, which the caller's connection cannot cancel and the end of the server waits for.
    let task = tracker.spawn(proxied.run().instrument(tracing::Span::current()));
    task.await.unwrap_or_else(|_| {
        // What it had begun is found by the end of its lease.
        Err(Problem::new(Code::Internal, "the request broke off in the server; ask again, and it is not sent twice"))
    })
}

/// The workflow and the path below the destination's base address, with the query: as they came, encoded as they are.
fn target(uri: &Uri) -> Result<(String, String), Problem> {
    let below = uri.path().strip_prefix("/proxy/").unwrap_or_default();
    let (workflow, path) = below.find('/').map_or((below, ""), |slash| below.split_at(slash));
    let workflow = percent_decode_str(workflow).decode_utf8().map_err(|_| Problem::not_found("workflow"))?;
    if template::climbs(path) {
        return Err(Problem::not_found("address: a path that climbs with \"..\" leads elsewhere"));
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok((workflow.into_owned(), format!("{path}{query}")))
}

fn is_known(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method)
}

fn destination_of(server: &Server, workflow: &VersionedWorkflow) -> Result<(Destination, Create), Problem> {
    let catalogue = server.guard.catalogue();
    let name = workflow.workflow.destination.as_ref();
    let destination = name.and_then(|name| catalogue.destinations.get(name)).cloned();
    let create = destination.as_ref().and_then(|destination| destination.create.clone());
    destination.zip(create).ok_or_else(|| {
        let name = workflow.workflow.name.as_str();
        let detail = format!(
            "the workflow {name:?} has no destination whose answers can be read; give it one with [destination.create]"
        );
        Problem::new(Code::NotFound, detail)
    })
}

/// The content of a body: JSON, or an empty object where there is none.
fn content_of(headers: &HeaderMap, bytes: &Bytes) -> Result<Json, Problem> {
    if bytes.is_empty() {
        return Ok(Json::Object(Vec::new()));
    }
    body::check_coding(headers)?;
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // RFC 6839: what ends so is JSON too.
    if essence != "application/json" && !essence.ends_with("+json") {
        let detail = "only JSON can be told from a changed document; send it as application/json (or something that ends with +json)";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    body::parse(bytes)
}

fn no_place(pointer: &Pointer) -> Problem {
    Problem::field("body", format!("has no place at {pointer}, where the external reference is put"))
}

/// The lease of a proxied attempt: the workflow's, or what outlasts the destination's time.
fn lease_seconds(workflow: &VersionedWorkflow, destination: &Destination) -> Result<u32, Problem> {
    let workflow = &workflow.workflow;
    let needed = destination.timeout_seconds + LEASE_MARGIN_SECONDS;
    if needed > workflow.max_lease_seconds {
        let message = format!(
            "of the workflow is {}, and a request through the proxy may take {needed} seconds; raise it, or lower the \
             destination's timeout_seconds",
            workflow.max_lease_seconds
        );
        return Err(Problem::field("max_lease_seconds", message));
    }
    Ok(workflow.lease_seconds.max(needed))
}

/// A request that creates nothing.
async fn pass(
    server: &Server,
    token: &Token,
    destination: &Destination,
    (method, path): (Method, String),
    request: Request,
) -> Result<Response, Problem> {
    if let Some(name) = key::KEY_HEADERS.iter().find(|name| request.headers().contains_key(*name)) {
        let message = format!("goes with a request that is guarded, and {method} is passed on unguarded; leave it out");
        return Err(Problem::field(name.as_str(), message));
    }
    if token.reach.companies.is_some() {
        let detail = "what a destination answers cannot be limited to companies; use a token that reaches all of them";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let outgoing = Outgoing { method, path, headers: header::outgoing(request.headers()), body: Bytes::new() };
    let unreachable = |reason: String| {
        let detail = format!("the destination {} cannot be read: {reason}", destination.name);
        Problem::new(Code::DestinationUnreachable, detail).retry_after(RETRY_AFTER_UNSENT_SECONDS)
    };
    match server.destinations.send(destination, outgoing).await {
        Sent::Answer { status, headers, body } => {
            let body = body.map_err(unreachable)?;
            Ok(Reply { status, headers: header::incoming(&headers), body }.into_response())
        }
        Sent::NotSent { reason } | Sent::Lost { reason } => Err(unreachable(reason)),
    }
}

/// A guarded request, from its begin to its answer.
struct Proxied {
    server: Server,
    token: Arc<Token>,
    begin: BeginRequest,
    destination: Destination,
    create: Create,
    outgoing: Outgoing,
}

impl Proxied {
    async fn run(self) -> Result<Response, Problem> {
        let decision = self.server.guard.begin(&self.token, &self.begin).await?;
        self.server.guard.delivered_by_proxy(&self.begin, &decision);
        let name = decision.name().as_str();
        tracing::Span::current().record("decision", name);
        let operation = decision.operation().map(|operation| operation.id.to_string());
        let mut response = match decision {
            Decision::Proceed { operation, lease_token, .. } => self.send(operation, lease_token).await,
            Decision::Replay { .. } => {
                let mut response = self.replay(&decision).await?;
                response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
                Ok(response)
            }
            Decision::Superseded { .. } => self.replay(&decision).await,
            Decision::InProgress { .. }
            | Decision::Unknown { .. }
            | Decision::AwaitingApproval { .. }
            | Decision::ApprovalMissing { .. }
            | Decision::PreviousRevision { .. }
            | Decision::Rejected { .. }
            | Decision::Conflict { .. } => self.decided(&decision).await,
        }
        .unwrap_or_else(|problem| {
            // Permission was given, and what came of it is what the caller has to act on; header and body say the same.
            let told = (problem.code() == Code::OutcomeUnknown).then_some(DecisionName::Unknown.as_str());
            let mut response = problem.into_response();
            response.headers_mut().extend(told.map(|name| (ONCEOVER_DECISION, HeaderValue::from_static(name))));
            response
        });
        let headers = response.headers_mut();
        headers.entry(ONCEOVER_DECISION).or_insert(HeaderValue::from_static(name));
        headers.extend(operation.and_then(|id| HeaderValue::try_from(id).ok()).map(|id| (ONCEOVER_OPERATION, id)));
        Ok(response)
    }

    /// The decision itself, as begin answers it.
    async fn decided(&self, decision: &Decision) -> Result<Response, Problem> {
        let next_look = self.server.guard.next_look(decision).await;
        let answer = answer(decision, self.server.guard.now(), next_look, &self.server.settings.public_url)?;
        Ok((answer.status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], answer.body).into_response())
    }

    /// What the destination answered before; the decision itself where that is not kept, or is not the answer that confirmed it: what is
    /// kept may be of an attempt that was uncertain or refused, and a lookup or a person told the truth later.
    async fn replay(&self, decision: &Decision) -> Result<Response, Problem> {
        if let Some(operation) = decision.operation()
            && let Some(kept) = self.server.guard.response(&self.token.reach, operation.id).await?
            && let Some(reply) = Reply::of_kept(&kept)
            && reply.confirms(&self.create, operation)
        {
            return Ok(reply.into_response());
        }
        self.decided(decision).await
    }

    /// Sends, records, answers.
    async fn send(self, operation: Operation, lease_token: LeaseToken) -> Result<Response, Problem> {
        let guard = &self.server.guard;
        if matches!(operation.state, OperationState::Acquired { .. }) {
            guard.mark_sending(&self.token, operation.id, &lease_token).await?;
        }
        let outgoing = self.addressed(&operation)?;
        let sent = self.server.destinations.send(&self.destination, outgoing).await;
        let (outcome, reply) = self.read(sent);
        let response = reply.as_ref().ok().map(Reply::to_kept);
        let report = Report { lease_token, outcome, response, request_id: self.begin.request_id.clone() };
        let recorded = self.record(&operation, &report).await;
        match (reply, recorded) {
            (Ok(reply), Some(_)) => Ok(reply.into_response()),
            (Ok(reply), None) => {
                let detail = format!("the destination answered {}, and that could not be stored", reply.status);
                Err(lost(&operation, detail, &self.server.settings.public_url))
            }
            (Err(Unanswered::NotSent(reason)), _) => {
                let detail = format!("nothing was sent to {}: {reason}", self.destination.name);
                Err(Problem::new(Code::DestinationUnreachable, detail).retry_after(RETRY_AFTER_UNSENT_SECONDS))
            }
            (Err(Unanswered::Lost(reason)), recorded) => {
                let detail = format!("no answer of {} that can be used: {reason}", self.destination.name);
                Err(lost(recorded.as_ref().unwrap_or(&operation), detail, &self.server.settings.public_url))
            }
        }
    }

    /// The request with the operation's marks on it: the idempotency key, and the external reference by which its record is found.
    fn addressed(&self, operation: &Operation) -> Result<Outgoing, Problem> {
        let mut outgoing = self.outgoing.clone();
        let reference = operation.external_reference();
        let marks = [
            (&self.destination.idempotency_header, operation.idempotency_key()),
            (&self.create.external_reference_header, reference.clone()),
        ];
        for (name, value) in marks {
            let header = name.as_ref().and_then(|name| HeaderName::try_from(name).ok());
            if let Some((name, value)) = header.zip(HeaderValue::try_from(value).ok()) {
                // In the place of what the caller may have sent by this name.
                outgoing.headers.insert(name, value);
            }
        }
        if let Some(pointer) = &self.create.external_reference_pointer {
            let mut content = Json::from(self.begin.payload.clone());
            if !pointer.put(&mut content, Json::String(reference)) {
                return Err(no_place(pointer));
            }
            outgoing.body = content.to_string().into();
            outgoing.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        Ok(outgoing)
    }

    /// What became of it, and what the caller is answered.
    fn read(&self, sent: Sent) -> (Outcome, Result<Reply, Unanswered>) {
        let effect = Effect::of(&self.create, &sent);
        let reply = match (sent, &effect) {
            (Sent::Answer { status, headers, body: Ok(body) }, _) => {
                Ok(Reply { status, headers: header::incoming(&headers), body })
            }
            // Its status says all that counts.
            (Sent::Answer { status, body: Err(_), .. }, Effect::Failed { .. }) => {
                Ok(Reply { status, headers: HeaderMap::new(), body: Bytes::new() })
            }
            (Sent::Answer { body: Err(reason), .. } | Sent::Lost { reason }, _) => Err(Unanswered::Lost(reason)),
            (Sent::NotSent { reason }, _) => Err(Unanswered::NotSent(reason)),
        };
        (effect.into(), reply)
    }

    /// Records what became of the attempt, again where the store is away; none where it could not be stored. The end of the lease then
    /// makes the operation unknown.
    async fn record(&self, operation: &Operation, report: &Report) -> Option<Operation> {
        let mut wait = Duration::from_millis(REPORT_AGAIN_MILLISECONDS);
        for tries in 1..=REPORT_TRIES_MAX {
            match self.server.guard.report(&self.token, operation.id, report).await {
                Ok(recorded) => return Some(recorded),
                Err(refusal @ Refusal::Store(_)) if tries < REPORT_TRIES_MAX => {
                    tracing::warn!(operation = %operation.id, %refusal, tries, "an outcome is not stored yet; again");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(refusal @ (Refusal::OutcomeDisagrees { .. } | Refusal::StaleLease)) => {
                    // It is kept as evidence; somebody settled it while the request was under way.
                    tracing::warn!(operation = %operation.id, %refusal, "an outcome disagrees");
                    return Some(operation.clone());
                }
                Err(refusal) => {
                    tracing::error!(operation = %operation.id, %refusal, "an outcome could not be stored");
                    return None;
                }
            }
        }
        None
    }
}

/// Why there is no answer to give.
enum Unanswered {
    /// Proven: nothing was sent.
    NotSent(String),
    /// It may have had its effect.
    Lost(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(uri: &str) -> Result<(String, String), Code> {
        target(&uri.parse().unwrap()).map_err(|problem| problem.code())
    }

    #[test]
    fn a_path_goes_on_as_it_came_and_never_climbs() {
        let found = |workflow: &str, path: &str| Ok((workflow.to_owned(), path.to_owned()));
        assert_eq!(split("/proxy/handoff"), found("handoff", ""));
        assert_eq!(split("/proxy/handoff/"), found("handoff", "/"));
        assert_eq!(split("/proxy/hand%2Foff/a%2Fb//c?x=%20&y"), found("hand/off", "/a%2Fb//c?x=%20&y"));
        assert_eq!(split("/proxy/handoff/a?x=../.."), found("handoff", "/a?x=../.."));
        for climbing in ["/../admin", "/%2e%2E/admin", "/a/./b", "/a/..", "/a\\..\\b"] {
            assert_eq!(split(&format!("/proxy/handoff{climbing}")), Err(Code::NotFound), "{climbing}");
        }
    }
}
