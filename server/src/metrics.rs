//! `GET /metrics` in Prometheus's text format.
//!
//! Decisions and states are counted in the store: they survive a restart, and every process that shares the store says the same.
//! Keys and documents are never labels.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use guard::board::Numbers;
use guard::clock::Timestamp;
use guard::notification::{ChannelState, WayName};
use guard::pull::ScheduledPull;
use guard::reconciliation::{Bucket, OpenDuplicates, Run};
use guard::refusal::Refusal;
use guard::summary::{Count, Counted, Prevention, Recovering, TruthWithin, Waiting};
use guard::token::{Reach, Scope};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// The media type of the text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

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
    write_totals(&mut text, &add(&server.guard.counts_in_all(&reach).await?));
    write_waiting(&mut text, &server.guard.waiting(&reach).await?, server.guard.now());
    write_recovering(&mut text, server.guard.recovering(&reach).await?);
    let (runs, duplicates) = (server.guard.last_reconciliations(&reach), server.guard.open_duplicates(&reach));
    write_reconciliations(&mut text, &runs.await?, &duplicates.await?);
    write_pulls(&mut text, &server.guard.scheduled_pulls(&reach).await?, server.guard.now());
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

/// What was counted, by workflow and company.
type Sums = BTreeMap<(String, String), Labelled>;

/// What was counted in one workflow and company.
#[derive(Default)]
struct Labelled {
    /// By decision, state and answer, as the store names them.
    each: BTreeMap<Counted, u64>,
    /// Added up as the desk does.
    numbers: Numbers,
}

fn add(counts: &[Count]) -> Sums {
    let mut sums = Sums::new();
    for count in counts {
        let sum = sums.entry((count.workflow.clone(), count.company.clone())).or_default();
        *sum.each.entry(count.counted).or_default() += count.number;
        sum.numbers.add(count);
    }
    sums
}

fn write_build(text: &mut String) {
    head(text, "onceover_build_info", "gauge", "The version of this server; the value is always 1.");
    let _ = writeln!(text, "onceover_build_info{{version=\"{}\"}} 1", Label(env!("CARGO_PKG_VERSION")));
}

fn write_totals(text: &mut String, sums: &Sums) {
    let mut each = |name: &str, help: &str, label: &str, of: fn(Counted) -> Option<&'static str>| {
        head(text, name, "counter", help);
        for ((workflow, company), sum) in sums {
            let labels = labels(workflow, company);
            for (counted, number) in &sum.each {
                if let Some(value) = of(*counted) {
                    let _ = writeln!(text, "{name}{{{labels},{label}=\"{value}\"}} {number}");
                }
            }
        }
    };
    let help = "Begins by the decision they got.";
    each("onceover_decisions_total", help, "decision", Counted::decision_label);
    let help = "Operations by the state they came into.";
    each("onceover_states_entered_total", help, "state", |counted| {
        if let Counted::Entered(state) = counted { Some(state.as_str()) } else { None }
    });
    let help = "Looks at a destination for what is unknown, by what they showed.";
    each("onceover_lookups_total", help, "answer", |counted| {
        if let Counted::LookedUp(answer) = counted { Some(answer.as_str()) } else { None }
    });
    let help = "Begins that repeated what was permitted before and were held back, every ask of a worker that waits among them.";
    each("onceover_repetitions_total", help, "kind", |counted| counted.held_as().map(Prevention::as_str));
    let help = "Uncertain operations that were settled, by who brought the truth.";
    each("onceover_settled_total", help, "by", |counted| {
        if let Counted::Settled(by) = counted { Some(by.as_str()) } else { None }
    });
    let help = "Payloads, responses and files that were dropped by retention or erased.";
    head(text, "onceover_bodies_dropped_total", "counter", help);
    for ((workflow, company), sum) in sums {
        if let Some(number) = sum.each.get(&Counted::BodyDropped) {
            let _ = writeln!(text, "onceover_bodies_dropped_total{{{}}} {number}", labels(workflow, company));
        }
    }
    write_prevented(text, sums);
    write_truth(text, sums);
    let name = "onceover_decisions_contradicted_total";
    head(text, name, "counter", "Decisions of people on uncertain operations that a later truth contradicted.");
    for ((workflow, company), sum) in sums {
        let _ = writeln!(text, "{name}{{{}}} {}", labels(workflow, company), sum.numbers.contradicted);
    }
}

/// The duplicates that were prevented. A workflow and company that was asked anything has every kind, if only with 0: an increase can be
/// told from a metric that begins.
fn write_prevented(text: &mut String, sums: &Sums) {
    let name = "onceover_duplicates_prevented_total";
    let help =
        "Confirmed operations that would have been done twice, each once, by how the first repetition was held back.";
    head(text, name, "counter", help);
    for ((workflow, company), sum) in sums {
        for kind in Prevention::ALL {
            let (labels, number) = (labels(workflow, company), sum.numbers.prevented_as(kind).number);
            let _ = writeln!(text, "{name}{{{labels},kind=\"{}\"}} {number}", kind.as_str());
        }
    }
    let name = "onceover_duplicates_prevented_money_total";
    head(text, name, "counter", "The money of these operations, each once, in units of its currency.");
    for ((workflow, company), sum) in sums {
        for kind in Prevention::ALL {
            for money in sum.numbers.prevented_as(kind).amounts() {
                let (labels, kind, currency) = (labels(workflow, company), kind.as_str(), Label(&money.currency));
                let _ = writeln!(text, "{name}{{{labels},kind=\"{kind}\",currency=\"{currency}\"}} {}", money.amount);
            }
        }
    }
}

/// How long uncertain operations were uncertain, by workflow: the bounds are the desk's.
fn write_truth(text: &mut String, sums: &Sums) {
    let name = "onceover_time_to_truth_seconds";
    head(text, name, "histogram", "How long operations that were settled had been uncertain.");
    let mut workflows: BTreeMap<&str, ([u64; TruthWithin::COUNT], u64)> = BTreeMap::new();
    for ((workflow, _), sum) in sums {
        let (truth, seconds) = workflows.entry(workflow).or_default();
        for (all, number) in truth.iter_mut().zip(sum.numbers.truth) {
            *all += number;
        }
        *seconds += sum.numbers.truth_seconds;
    }
    for (workflow, (truth, seconds)) in workflows {
        let workflow = Label(workflow);
        let mut number = 0;
        for within in TruthWithin::all() {
            number += truth.get(within.place()).copied().unwrap_or_default();
            let bound = within.bound_seconds().map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let _ = writeln!(text, "{name}_bucket{{workflow=\"{workflow}\",le=\"{bound}\"}} {number}");
        }
        let _ = writeln!(text, "{name}_sum{{workflow=\"{workflow}\"}} {seconds}");
        let _ = writeln!(text, "{name}_count{{workflow=\"{workflow}\"}} {number}");
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
    head(text, "onceover_uncertain_money", "gauge", "The money of these operations, in units of its currency.");
    for money in &waiting.at_risk {
        let _ = writeln!(text, "onceover_uncertain_money{{currency=\"{}\"}} {}", Label(&money.currency), money.amount);
    }
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

/// How the scheduled pulls fare. For how long one is wanted in vain is told from the first day on, so that an alert needs no earlier
/// success to tell.
fn write_pulls(text: &mut String, pulls: &[ScheduledPull], now: Timestamp) {
    let of = |pull: &ScheduledPull| labels(&pull.schedule.workflow, &pull.schedule.company);
    let help = "When the last scheduled pull that went well was over, in seconds since 1970.";
    head(text, "onceover_reconciliation_last_success_timestamp_seconds", "gauge", help);
    for (pull, success) in pulls.iter().filter_map(|pull| Some((pull, pull.schedule.succeeded?))) {
        let at = success.at.timestamp();
        let _ = writeln!(text, "onceover_reconciliation_last_success_timestamp_seconds{{{}}} {at}", of(pull));
    }
    let help = "For how long a scheduled pull is wanted and was not made; 0 where none is.";
    head(text, "onceover_reconciliation_overdue_seconds", "gauge", help);
    for pull in pulls {
        let seconds = pull.schedule.overdue(pull.every(), now).num_seconds();
        let _ = writeln!(text, "onceover_reconciliation_overdue_seconds{{{}}} {seconds}", of(pull));
    }
    head(
        text,
        "onceover_reconciliation_failures_total",
        "counter",
        "Scheduled pulls that failed; they are tried again.",
    );
    for pull in pulls {
        let _ = writeln!(text, "onceover_reconciliation_failures_total{{{}}} {}", of(pull), pull.schedule.failures);
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
    use guard::summary::SettledBy;

    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(Label("ACME 14\" \\ line\nbreak é").to_string(), "ACME 14\\\" \\\\ line\\nbreak é");
    }

    #[test]
    fn a_pull_that_is_overdue_is_told_before_one_ever_went_well() {
        use chrono::TimeZone as _;
        let at = |seconds: i64| chrono::Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap();
        let pull = |schedule| ScheduledPull { schedule, every_hours: 1, days: 31, destination: "ledger".to_owned() };
        let fresh = guard::pull::PullSchedule::starting("handoff", "acme", at(0));
        let failed = fresh.clone().after_failure(at(60), "no connection", [0; 16]);
        let done = guard::pull::PullSchedule { company: "globex".to_owned(), ..fresh };
        let done = done.after_success(at(10), guard::id::ReconciliationId::from_u128(1));
        let mut text = String::new();
        write_pulls(&mut text, &[pull(failed), pull(done)], at(7_200));
        let values: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        insta::assert_snapshot!(values.join("\n"), @r#"
        onceover_reconciliation_last_success_timestamp_seconds{workflow="handoff",company="globex"} 1700000010
        onceover_reconciliation_overdue_seconds{workflow="handoff",company="acme"} 7200
        onceover_reconciliation_overdue_seconds{workflow="handoff",company="globex"} 3590
        onceover_reconciliation_failures_total{workflow="handoff",company="acme"} 1
        onceover_reconciliation_failures_total{workflow="handoff",company="globex"} 0
        "#);
    }

    #[test]
    fn asks_and_duplicates_are_counted_apart() {
        let count = |counted, number, currency: &str, ten_thousandths| Count {
            workflow: "handoff".to_owned(),
            company: "acme".to_owned(),
            counted,
            hour: Timestamp::UNIX_EPOCH,
            number,
            currency: currency.to_owned(),
            ten_thousandths,
        };
        let sums = add(&[
            count(Counted::Decision(DecisionName::Proceed), 2, "", 0),
            count(Counted::Decision(DecisionName::Replay), 3, "EUR", 90_000),
            count(Counted::Decision(DecisionName::InProgress), 4, "EUR", 120_000),
            count(Counted::Entered(StateName::Confirmed), 1, "", 0),
            count(Counted::BodyDropped, 6, "", 0),
            count(Counted::LookedUp(Answer::Absent), 2, "", 0),
            count(Counted::LookedUp(Answer::Inconclusive(AnswerClass::Timeout)), 5, "", 0),
            count(Counted::Prevented(Prevention::Replay), 1, "EUR", 30_000),
            count(Counted::Prevented(Prevention::InProgress), 1, "INR", 11_805_000),
            count(Counted::Settled(SettledBy::Recovery), 2, "", 0),
            count(Counted::Truth(TruthWithin::of(30)), 1, "", 0),
            count(Counted::Truth(TruthWithin::of(9_999_999)), 1, "", 0),
            count(Counted::TruthSeconds, 10_000_029, "", 0),
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
        # HELP onceover_repetitions_total Begins that repeated what was permitted before and were held back, every ask of a worker that waits among them.
        # TYPE onceover_repetitions_total counter
        onceover_repetitions_total{workflow="handoff",company="acme",kind="replay"} 3
        onceover_repetitions_total{workflow="handoff",company="acme",kind="in_progress"} 4
        # HELP onceover_settled_total Uncertain operations that were settled, by who brought the truth.
        # TYPE onceover_settled_total counter
        onceover_settled_total{workflow="handoff",company="acme",by="recovery"} 2
        # HELP onceover_bodies_dropped_total Payloads, responses and files that were dropped by retention or erased.
        # TYPE onceover_bodies_dropped_total counter
        onceover_bodies_dropped_total{workflow="handoff",company="acme"} 6
        # HELP onceover_duplicates_prevented_total Confirmed operations that would have been done twice, each once, by how the first repetition was held back.
        # TYPE onceover_duplicates_prevented_total counter
        onceover_duplicates_prevented_total{workflow="handoff",company="acme",kind="replay"} 1
        onceover_duplicates_prevented_total{workflow="handoff",company="acme",kind="proxy_replay"} 0
        onceover_duplicates_prevented_total{workflow="handoff",company="acme",kind="superseded"} 0
        onceover_duplicates_prevented_total{workflow="handoff",company="acme",kind="in_progress"} 1
        onceover_duplicates_prevented_total{workflow="handoff",company="acme",kind="unknown"} 0
        # HELP onceover_duplicates_prevented_money_total The money of these operations, each once, in units of its currency.
        # TYPE onceover_duplicates_prevented_money_total counter
        onceover_duplicates_prevented_money_total{workflow="handoff",company="acme",kind="replay",currency="EUR"} 3.00
        onceover_duplicates_prevented_money_total{workflow="handoff",company="acme",kind="in_progress",currency="INR"} 1180.50
        # HELP onceover_time_to_truth_seconds How long operations that were settled had been uncertain.
        # TYPE onceover_time_to_truth_seconds histogram
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="10"} 0
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="60"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="300"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="900"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="3600"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="14400"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="43200"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="86400"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="259200"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="604800"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="1209600"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="2592000"} 1
        onceover_time_to_truth_seconds_bucket{workflow="handoff",le="+Inf"} 2
        onceover_time_to_truth_seconds_sum{workflow="handoff"} 10000029
        onceover_time_to_truth_seconds_count{workflow="handoff"} 2
        # HELP onceover_decisions_contradicted_total Decisions of people on uncertain operations that a later truth contradicted.
        # TYPE onceover_decisions_contradicted_total counter
        onceover_decisions_contradicted_total{workflow="handoff",company="acme"} 0
        "#);
    }
}
