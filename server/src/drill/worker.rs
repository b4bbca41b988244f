//! A worker: with a guard it asks before it sends, without one it tries again when in doubt.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use guard::destination::{Create, Destination};
use guard::json::Json;
use guard::lookup::Finding;
use guard::number::Number;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::order::{Order, SOURCE_SYSTEM};
use super::scenario::{Delivery, Mishap, SHORT_LEASE_SECONDS, SLOW_MILLISECONDS};
use super::{GuardAccess, Running};
use crate::destination::effect::Effect;
use crate::destination::{Outgoing, Sent};
use crate::sandbox::FAULT_HEADER;

/// A worker without a guard tries so often.
const NAIVE_TRIES_MAX: u32 = 3;

/// A worker without a guard waits for an answer at most so long, in milliseconds: shorter than the slow destination takes.
const NAIVE_PATIENCE_MILLISECONDS: u64 = 1_000;

/// The guard is asked to hold an answer that says "wait" for so many seconds.
const HOLD_SECONDS: u64 = 5;

/// Before a worker asks again it pauses so long, in milliseconds.
const PAUSE_MILLISECONDS: u64 = 250;

/// The guard answers within this time, in seconds, also where it holds the answer.
const ASK_SECONDS_MAX: u32 = 30;

/// A refused order is sent at most so often: each refusal is proof that nothing was done.
const REFUSALS_MAX: u32 = 3;

/// What came of a delivery.
pub(super) struct Told {
    /// How often the worker sent the order.
    pub(super) permissions: u64,
    /// The external references under which it did.
    pub(super) references: Vec<String>,
    /// How it ended.
    pub(super) end: End,
}

/// How a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The worker knows the record.
    Done,
    /// The worker died.
    Died,
    /// It was told to stop, or the destination refused.
    Stopped(String),
    /// It is not known, and a person decides.
    Waiting(String),
}

/// What a worker sends.
struct Errand<'a> {
    order: &'a Order,
    version: Option<u32>,
    /// The external reference.
    reference: &'a str,
    idempotency_key: Option<&'a str>,
    /// The destination's record that is changed; none where one is created.
    held: Option<&'a str>,
}

impl Running {
    /// Lets a worker handle an order until it is done.
    pub(super) async fn deliver(&self, orders: &[Order], delivery: &Delivery, until: Instant) -> Told {
        tokio::time::sleep(delivery.after).await;
        let mut told = Told { permissions: 0, references: Vec::new(), end: End::Died };
        let Some(order) = orders.get(delivery.order) else { return told };
        told.end = match &self.drill.guard {
            Some(guard) => self.guarded(guard, order, delivery, until, &mut told).await,
            None => self.naive(order, delivery, &mut told).await,
        };
        told
    }

    async fn guarded(
        &self,
        guard: &GuardAccess,
        order: &Order,
        delivery: &Delivery,
        until: Instant,
        told: &mut Told,
    ) -> End {
        let Delivery { mut mishap, version, .. } = *delivery;
        let mut refusals = 0;
        let change = version.filter(|version| *version > 1);
        if let Some(version) = change
            && let Err(reason) = self.have_approved(guard, order, version).await
        {
            return End::Stopped(reason);
        }
        let mut begin = match self.begin(order, version, mishap) {
            Ok(begin) => begin,
            Err(reason) => return End::Stopped(reason),
        };
        let mut detail = "the guard did not answer".to_owned();
        while Instant::now() < until {
            // The same begin again: its answer may be what was lost.
            let Some(answer) = self.ask(guard, "/api/v1/operations", begin.clone()).await else {
                pause().await;
                continue;
            };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            detail = text(&answer["detail"]);
            match answer["next"].as_str() {
                Some("send") => {}
                Some("use_result") => return End::Done,
                Some("wait") => {
                    pause().await;
                    continue;
                }
                Some(_) => return End::Stopped(detail),
                // A problem that is no answer to a begin: the guard or the drill is wrong, unless it passes.
                None if answer["status"].as_u64().is_some_and(|status| status >= 500 || status == 429) => {
                    pause().await;
                    continue;
                }
                None => return End::Stopped(detail),
            }
            if answer["repeated"] != json!(true) {
                told.permissions += 1;
            }
            let reference = text(&answer["external_reference"]);
            if !told.references.contains(&reference) {
                told.references.push(reference.clone());
            }
            let operation = text(&answer["operation"]["id"]);
            let lease = text(&answer["lease"]["token"]);
            if self.drill.workflow.two_step {
                let path = format!("/api/v1/operations/{operation}/sending");
                let marked = self.ask(guard, &path, json!({ "lease_token": lease }).to_string()).await;
                if marked.is_none_or(|marked| marked["id"].is_null()) {
                    // Who may not send does not.
                    continue;
                }
            }
            let held = answer["previous"]["destination_reference"].as_str();
            if change.is_some() && held.is_none() {
                return End::Stopped("the guard did not tell which record is changed".to_owned());
            }
            let key = text(&answer["idempotency_key"]);
            let errand = Errand { order, version, reference: &reference, idempotency_key: Some(&key), held };
            let effect = self.send(&errand, mishap).await;
            if mishap == Mishap::Killed {
                return End::Died;
            }
            mishap = Mishap::None;
            begin = match self.begin(order, version, mishap) {
                Ok(begin) => begin,
                Err(reason) => return End::Stopped(reason),
            };
            let report = match &effect {
                Effect::Confirmed { destination_reference } => {
                    json!({ "outcome": "confirmed", "destination_reference": destination_reference })
                }
                Effect::Failed { reason } => json!({ "outcome": "failed", "reason": reason }),
                Effect::Exists { reason } | Effect::Unknown { reason } => {
                    json!({ "outcome": "unknown", "reason": reason })
                }
            };
            self.report(guard, &operation, &lease, report).await;
            if let Effect::Failed { reason } = effect {
                refusals += 1;
                if refusals >= REFUSALS_MAX {
                    return End::Stopped(reason);
                }
            }
        }
        End::Waiting(detail)
    }

    /// Tells how it went, again where the answer is lost. Whatever the guard makes of it, the next begin shows it.
    async fn report(&self, guard: &GuardAccess, operation: &str, lease: &str, mut report: Value) {
        report["lease_token"] = json!(lease);
        for _ in 0..REFUSALS_MAX {
            if self.ask(guard, &format!("/api/v1/operations/{operation}/outcome"), report.to_string()).await.is_some() {
                return;
            }
            pause().await;
        }
    }

    async fn naive(&self, order: &Order, delivery: &Delivery, told: &mut Told) -> End {
        let reference = format!("naive-{}-{}", order.company, order.document);
        told.references.push(reference.clone());
        let Delivery { mut mishap, version, .. } = *delivery;
        // Where orders come in versions, this worker changes the record that it finds.
        let held = if version.is_some() { self.held_under(&reference).await } else { None };
        let errand = Errand { order, version, reference: &reference, idempotency_key: None, held: held.as_deref() };
        let mut doubt = String::new();
        for _ in 0..NAIVE_TRIES_MAX {
            told.permissions += 1;
            let patience = Duration::from_millis(NAIVE_PATIENCE_MILLISECONDS);
            let sent = self.send(&errand, mishap);
            let effect =
                if mishap == Mishap::Slow { tokio::time::timeout(patience, sent).await.ok() } else { Some(sent.await) };
            match effect {
                _ if mishap == Mishap::Killed => return End::Died,
                Some(Effect::Confirmed { .. }) => return End::Done,
                Some(Effect::Failed { reason }) => return End::Stopped(reason),
                Some(Effect::Exists { reason } | Effect::Unknown { reason }) => doubt = reason,
                None => doubt = "no answer in time".to_owned(),
            }
            mishap = Mishap::None;
        }
        End::Waiting(doubt)
    }

    /// The payload of an order.
    pub(super) fn content_of(&self, order: &Order, version: Option<u32>) -> Result<Json, String> {
        self.drill.content.of(order, version).map_err(|fault| fault.to_string())
    }

    /// A begin, with a payload whose numbers keep their digits.
    pub(super) fn begin(&self, order: &Order, version: Option<u32>, mishap: Mishap) -> Result<String, String> {
        let text = |text: &str| Json::String(text.to_owned());
        let begin_id = format!("{}-{}", self.drill.run, self.begins.fetch_add(1, Ordering::Relaxed));
        let mut members = vec![
            ("workflow", text(self.drill.workflow.name.as_str())),
            ("company", text(&order.company)),
            ("source_system", text(SOURCE_SYSTEM)),
            ("document", text(&order.document)),
            ("worker", text("onceover drill")),
            ("begin_id", text(&begin_id)),
            ("payload", self.content_of(order, version)?),
        ];
        members.extend(self.drill.workflow.actions.first().map(|action| ("action", text(action.as_str()))));
        let number = |number: u32| Json::Number(Number::from_integer(i64::from(number)));
        members.extend(mishap.lease_seconds().map(|seconds| ("lease_seconds", number(seconds))));
        members.extend(version.map(|version| ("revision", number(version))));
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        Ok(Json::Object(members.collect()).to_string())
    }

    /// Asks the guard; none where no answer came that can be read.
    pub(super) async fn ask(&self, guard: &GuardAccess, path: &str, body: String) -> Option<Value> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", guard.token)).ok()?);
        headers.insert("prefer", HeaderValue::from_str(&format!("wait={HOLD_SECONDS}")).ok()?);
        let itself = Destination {
            name: "the guard itself".to_owned(),
            base_url: guard.url.clone(),
            timeout_seconds: ASK_SECONDS_MAX,
            finality_seconds: None,
            lookups_per_second: None,
            headers: BTreeMap::new(),
            idempotency_header: None,
            idempotency_ttl_seconds: None,
            create: None,
            lookup: None,
            list: None,
        };
        let asked = Outgoing { method: Method::POST, path: path.to_owned(), headers, body: Bytes::from(body) };
        match self.destinations.send(&itself, asked).await {
            Sent::Answer { body, .. } => serde_json::from_slice(&body.ok()?).ok(),
            Sent::NotSent { .. } | Sent::Lost { .. } => None,
        }
    }

    /// Creates the record, or changes the one that is held, with what goes wrong on the way.
    async fn send(&self, errand: &Errand<'_>, mishap: Mishap) -> Effect {
        let profile = if errand.held.is_some() { &self.change } else { &self.create };
        let outgoing = match self.outgoing(errand, profile, mishap) {
            Ok(outgoing) => outgoing,
            Err(reason) => return Effect::Failed { reason },
        };
        let is_sandbox = self.drill.sandbox.is_some();
        let lost = |reason: &str| Effect::Unknown { reason: reason.to_owned() };
        // Nobody else's destination can be told to fail: there it is this worker that loses what it sends or gets.
        if !is_sandbox && mishap == Mishap::LostRequest {
            return lost("the drill lost the request");
        }
        let sent = self.destinations.send(&self.drill.destination, outgoing).await;
        if is_sandbox {
            return Effect::of(profile, &sent);
        }
        match mishap {
            Mishap::LostAnswer => return lost("the drill lost the answer"),
            Mishap::Slow => {
                let longer_than_the_lease = Duration::from_secs(SHORT_LEASE_SECONDS.into());
                tokio::time::sleep(longer_than_the_lease + Duration::from_millis(SLOW_MILLISECONDS)).await;
            }
            Mishap::None | Mishap::Killed | Mishap::LostRequest | Mishap::FailsAfterWrite => {}
        }
        Effect::of(profile, &sent)
    }

    fn outgoing(&self, errand: &Errand<'_>, profile: &Create, mishap: Mishap) -> Result<Outgoing, String> {
        let Errand { order, version, reference, idempotency_key, held } = *errand;
        let mut content = self.content_of(order, version)?;
        if let Some(pointer) = &profile.external_reference_pointer
            && !pointer.put(&mut content, Json::String(reference.to_owned()))
        {
            return Err(format!("the payload has no place {pointer} for the external reference"));
        }
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| {
            let name = HeaderName::try_from(name).map_err(|error| error.to_string())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|error| error.to_string())?);
            Ok::<(), String>(())
        };
        set(CONTENT_TYPE.as_str(), "application/json")?;
        if let Some(name) = &profile.external_reference_header {
            set(name, reference)?;
        }
        if let (Some(name), Some(key)) = (&self.drill.destination.idempotency_header, idempotency_key) {
            set(name, key)?;
        }
        if let Some(fault) = mishap.fault().filter(|_| self.drill.sandbox.is_some()) {
            set(FAULT_HEADER, &fault.to_string())?;
        }
        let method = Method::try_from(profile.method.as_str()).map_err(|error| error.to_string())?;
        let path = held.map_or_else(|| profile.path.clone(), |held| format!("{}/{held}", profile.path));
        Ok(Outgoing { method, path, headers, body: Bytes::from(content.to_string()) })
    }

    /// The one record that a lookup finds under an external reference.
    async fn held_under(&self, reference: &str) -> Option<String> {
        match self.destinations.look_for(&self.drill.destination, reference).await.looked.finding {
            Finding::Found { destination_reference } => Some(destination_reference),
            Finding::Differs { .. }
            | Finding::Several { .. }
            | Finding::VoidOnly { .. }
            | Finding::Absent
            | Finding::Inconclusive { .. } => None,
        }
    }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(PAUSE_MILLISECONDS)).await;
}
