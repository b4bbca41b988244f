//! `GET /metrics` in Prometheus's text format.
//!
//! Decisions and states are counted in the store: they survive a restart, and every process that shares the store says the same.
//! Keys and documents are never labels.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use guard::clock::Timestamp;
use guard::notification::{ChannelState, WayName};
use guard::reconciliation::{Bucket, OpenDuplicates, Run};
use guard::refusal::Refusal;
use guard::summary::{Count, Counted, Recovering, Waiting, start_of_hour};
use guard::token::{Reach, Scope};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// The media type of the text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Counts of an hour are taken as final this long after its start: late deliveries have been written by then.
const HOURS_UNTIL_FINAL: i64 = 3;

/// `GET /metrics`: what a token with `metrics:read` reaches; everything where the server is configured open.
pub async fn metrics(State(server): State<Server>, headers: HeaderMap) -> Result<Response, Problem> {
    let reach = if server.settings.metrics_open {
        Reach::EVERYTHING
    } else {
        let caller = Caller::authenticate(&server, &headers).await?;
        caller.require(Scope::MetricsRead)?;
        caller.token.reach.clone()
    };
    let mut text = String::with_capacity(16 * 1024);
    write_build(&mut text);
    write_totals(&mut text, &server.totals.within(&server, &reach).await?);
    write_waiting(&mut text, &server.guard.waiting(&reach).await?, server.guard.now());
    write_recovering(&mut text, server.guard.recovering(&reach).await?);
    let (runs, duplicates) = (server.guard.last_reconciliations(&reach), server.guard.open_duplicates(&reach));
    write_reconciliations(&mut text, &runs.await?, &duplicates.await?);
    // Messages are not told apart by company: who reaches only some is told nothing of them.
    if reach == Reach::EVERYTHING {
        let states = server.guard.channel_states().await.map_err(Refusal::from)?;
        let catalogue = server.guard.catalogue();
        let failing =
            states.iter().filter(|state| state.is_failing() && catalogue.channels.contains_key(&state.channel));
        let failing = failing.count();
        let waiting = server.guard.messages_waiting().await.map_err(Refusal::from)?;
        write_notifications(&mut text, &states, failing, waiting);
    }
    server.latency.write(&mut text);
    let help = "Calls of the API that are missing in the log at the desk, because this process could not keep up.";
    head(&mut text, "onceover_calls_unlogged_total", "counter", help);
    let _ = writeln!(text, "onceover_calls_unlogged_total {}", server.calls.unlogged());
    Ok(([(CONTENT_TYPE, TEXT_FORMAT), (CACHE_CONTROL, "no-store")], text).into_response())
}

/// How often each thing was counted.
type Sums = BTreeMap<(String, String, Counted), u64>;

/// The counts of hours that are over, so that a scrape reads only the last few.
#[derive(Default)]
pub struct Totals {
    over: Mutex<Option<(Timestamp, Sums)>>,
}

impl Totals {
    /// All counts within reach.
    async fn within(&self, server: &Server, reach: &Reach) -> Result<Sums, Refusal> {
        let final_until = start_of_hour(server.guard.now()) - TimeDelta::hours(HOURS_UNTIL_FINAL);
        let known = self.over.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (until, mut sums) = known.unwrap_or((Timestamp::UNIX_EPOCH, Sums::new()));
        if until < final_until {
            add(&mut sums, server.guard.counts(&Reach::EVERYTHING, until, final_until).await?);
            *self.over.lock().unwrap_or_else(PoisonError::into_inner) = Some((final_until, sums.clone()));
        }
        let from = until.max(final_until);
        add(&mut sums, server.guard.counts(&Reach::EVERYTHING, from, Timestamp::MAX_UTC).await?);
        sums.retain(|(workflow, company, _), _| reach.workflow(workflow) && reach.company(company));
        Ok(sums)
    }
}

fn add(sums: &mut Sums, counts: Vec<Count>) {
    for count in counts {
        *sums.entry((count.workflow, count.company, count.counted)).or_default() += count.number;
    }
}

fn write_build(text: &mut String) {
    head(text, "onceover_build_info", "gauge", "The version of this server; the value is always 1.");
    let _ = writeln!(text, "onceover_build_info{{version=\"{}\"}} 1", Label(env!("CARGO_PKG_VERSION")));
}

fn write_totals(text: &mut String, sums: &Sums) {
    head(text, "onceover_decisions_total", "counter", "Begins by the decision they got.");
    for ((workflow, company, counted), number) in sums {
        if let Some(decision) = counted.decision_label() {
            let labels = labels(workflow, company);
            let _ = writeln!(text, "onceover_decisions_total{{{labels},decision=\"{decision}\"}} {number}");
        }
    }
    head(text, "onceover_states_entered_total", "counter", "Operations by the state they came into.");
    for ((workflow, company, counted), number) in sums {
        if let Counted::Entered(state) = counted {
            let labels = labels(workflow, company);
            let _ = writeln!(text, "onceover_states_entered_total{{{labels},state=\"{}\"}} {number}", state.as_str());
        }
    }
    head(text, "onceover_lookups_total", "counter", "Looks at a destination for what is unknown, by what they showed.");
    for ((workflow, company, counted), number) in sums {
        if let Counted::LookedUp(answer) = counted {
            let labels = labels(workflow, company);
            let _ = writeln!(text, "onceover_lookups_total{{{labels},answer=\"{}\"}} {number}", answer.as_str());
        }
    }
    let help = "Payloads, responses and files that were dropped by retention or erased.";
    head(text, "onceover_bodies_dropped_total", "counter", help);
    for ((workflow, company, counted), number) in sums {
        if *counted == Counted::BodyDropped {
            let labels = labels(workflow, company);
            let _ = writeln!(text, "onceover_bodies_dropped_total{{{labels}}} {number}");
        }
    }
    let mut prevented: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for ((workflow, company, counted), number) in sums {
        if counted.decision().is_some() {
            let sum = prevented.entry((workflow, company)).or_default();
            *sum += if counted.prevents_duplicate() { *number } else { 0 };
        }
    }
    head(
        text,
        "onceover_duplicates_prevented_total",
        "counter",
        "Repetitions that were kept from doing the same again.",
    );
    for ((workflow, company), number) in prevented {
        let _ = writeln!(text, "onceover_duplicates_prevented_total{{{}}} {number}", labels(workflow, company));
    }
}

fn write_waiting(text: &mut String, waiting: &Waiting, now: Timestamp) {
    head(
        text,
        "onceover_uncertain_operations",
        "gauge",
        "Operations that are unknown or disputed, counted up to 10000.",
    );
    let _ = writeln!(text, "onceover_uncertain_operations {}", waiting.uncertain);
    let age = waiting.oldest_since.map_or(0, |since| (now - since).num_milliseconds().max(0));
    head(
        text,
        "onceover_uncertain_oldest_age_seconds",
        "gauge",
        "How long the oldest uncertain operation has been so; 0 without one.",
    );
    let _ = writeln!(text, "onceover_uncertain_oldest_age_seconds {}.{:03}", age / 1_000, age % 1_000);
    head(text, "onceover_open_conflicts", "gauge", "Conflicts that nobody has settled, counted up to 10000.");
    let _ = writeln!(text, "onceover_open_conflicts {}", waiting.open_conflicts);
}

fn write_recovering(text: &mut String, recovering: Recovering) {
    let help = "Unknown operations that are looked for at their destination, counted up to 10000.";
    head(text, "onceover_recovery_waiting", "gauge", help);
    let _ = writeln!(text, "onceover_recovery_waiting {}", recovering.waiting);
    let help = "Unknown operations that are no longer looked for and wait for a person, counted up to 10000.";
    head(text, "onceover_recovery_exhausted", "gauge", help);
    let _ = writeln!(text, "onceover_recovery_exhausted {}", recovering.exhausted);
}

/// What the last reconciliation of each workflow and company came to. Where nothing was ever found twice, the number is there too, and
/// 0: an alert can tell that from a metric that is missing.
fn write_reconciliations(text: &mut String, runs: &[Run], duplicates: &[OpenDuplicates]) {
    let of = |run: &Run| labels(&run.scope.workflow, &run.scope.company);
    let help = "When the last reconciliation was over, in seconds since 1970.";
    head(text, "onceover_reconciliation_last_timestamp_seconds", "gauge", help);
    for run in runs {
        let at = run.finished_at.unwrap_or(run.started_at).timestamp();
        let _ = writeln!(text, "onceover_reconciliation_last_timestamp_seconds{{{}}} {at}", of(run));
    }
    let help = "What lies in each bucket of the last reconciliation: operations, or records that have none.";
    head(text, "onceover_reconciliation_findings", "gauge", help);
    for run in runs {
        for bucket in Bucket::ALL {
            let (labels, count) = (of(run), run.summary.count(bucket));
            let bucket = bucket.as_str();
            let _ = writeln!(text, "onceover_reconciliation_findings{{{labels},bucket=\"{bucket}\"}} {count}");
        }
    }
    let help = "Disputed operations that the destination holds more than once, counted up to 10000.";
    head(text, "onceover_destination_duplicates", "gauge", help);
    let mut numbers: BTreeMap<(&str, &str), u64> =
        runs.iter().map(|run| ((run.scope.workflow.as_str(), run.scope.company.as_str()), 0)).collect();
    for open in duplicates {
        numbers.insert((&open.workflow, &open.company), open.number);
    }
    for ((workflow, company), number) in numbers {
        let _ = writeln!(text, "onceover_destination_duplicates{{{}}} {number}", labels(workflow, company));
    }
}

/// What became of notifications, by the way that they go.
fn write_notifications(text: &mut String, states: &[ChannelState], failing: usize, waiting: u64) {
    let help = "Notifications by the way that they go and by what became of a try; those that failed are tried again.";
    head(text, "onceover_notifications_total", "counter", help);
    for way in WayName::ALL {
        let of_it = || states.iter().filter(|state| state.way == way);
        let results: [(&str, u64); 3] = [
            ("delivered", of_it().map(|state| state.delivered).sum()),
            ("failed", of_it().map(|state| state.failed).sum()),
            ("given_up", of_it().map(|state| state.given_up).sum()),
        ];
        for (result, number) in results {
            let way = way.as_str();
            let _ = writeln!(text, "onceover_notifications_total{{way=\"{way}\",result=\"{result}\"}} {number}");
        }
    }
    head(text, "onceover_notifications_waiting", "gauge", "Notifications that are written and were not taken yet.");
    let _ = writeln!(text, "onceover_notifications_waiting {waiting}");
    let help = "Channels of notifications whose last try failed, or that are switched off.";
    head(text, "onceover_notification_channels_failing", "gauge", help);
    let _ = writeln!(text, "onceover_notification_channels_failing {failing}");
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn labels(workflow: &str, company: &str) -> String {
    format!("workflow=\"{}\",company=\"{}\"", Label(workflow), Label(company))
}

/// A label's value with the escapes of the text format.
pub struct Label<'a>(pub &'a str);

impl fmt::Display for Label<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => formatter.write_str("\\\\")?,
                '"' => formatter.write_str("\\\"")?,
                '\n' => formatter.write_str("\\n")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use guard::decision::DecisionName;
    use guard::lookup::AnswerClass;
    use guard::recovery::Answer;
    use guard::state::StateName;

    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(Label("ACME 14\" \\ line\nbreak é").to_string(), "ACME 14\\\" \\\\ line\\nbreak é");
    }

    #[test]
    fn every_decision_counts_and_some_prevent_a_duplicate() {
        let key = |counted| ("handoff".to_owned(), "acme".to_owned(), counted);
        let sums = Sums::from([
            (key(Counted::Decision(DecisionName::Proceed)), 2),
            (key(Counted::Decision(DecisionName::Replay)), 3),
            (key(Counted::Decision(DecisionName::InProgress)), 4),
            (key(Counted::Entered(StateName::Confirmed)), 1),
            (key(Counted::BodyDropped), 6),
            (key(Counted::LookedUp(Answer::Absent)), 2),
            (key(Counted::LookedUp(Answer::Inconclusive(AnswerClass::Timeout))), 5),
        ]);
        let mut text = String::new();
        write_totals(&mut text, &sums);
        insta::assert_snapshot!(text, @r#"
        # HELP onceover_decisions_total Begins by the decision they got.
        # TYPE onceover_decisions_total counter
        onceover_decisions_total{workflow="handoff",company="acme",decision="proceed"} 2
        onceover_decisions_total{workflow="handoff",company="acme",decision="replay"} 3
        onceover_decisions_total{workflow="handoff",company="acme",decision="in_progress"} 4
        # HELP onceover_states_entered_total Operations by the state they came into.
        # TYPE onceover_states_entered_total counter
        onceover_states_entered_total{workflow="handoff",company="acme",state="confirmed"} 1
        # HELP onceover_lookups_total Looks at a destination for what is unknown, by what they showed.
        # TYPE onceover_lookups_total counter
        onceover_lookups_total{workflow="handoff",company="acme",answer="absent"} 2
        onceover_lookups_total{workflow="handoff",company="acme",answer="timeout"} 5
        # HELP onceover_bodies_dropped_total Payloads, responses and files that were dropped by retention or erased.
        # TYPE onceover_bodies_dropped_total counter
        onceover_bodies_dropped_total{workflow="handoff",company="acme"} 6
        # HELP onceover_duplicates_prevented_total Repetitions that were kept from doing the same again.
        # TYPE onceover_duplicates_prevented_total counter
        onceover_duplicates_prevented_total{workflow="handoff",company="acme"} 7
        "#);
    }
}
