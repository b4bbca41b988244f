//! The overview: what was prevented, what waits, what was decided.

use guard::{
    clock::Timestamp,
    id::ReconciliationId,
    money::Money,
    person::{Person, Role},
    reconciliation::{Bucket, OpenDuplicates},
    summary::Waiting,
    view::OperationView,
};
use leptos::prelude::*;

#[cfg(feature = "ssr")]
use guard::decision::DecisionName;

use crate::{encoding::Json, failure::Failure};

/// So many uncertain operations are named on the overview; the queue has them all.
#[cfg(feature = "ssr")]
const NEEDS_ROWS: u32 = 5;

/// So many scheduled pulls are shown on the overview.
#[cfg(feature = "ssr")]
const PULLS_SHOWN_MAX: usize = 50;

/// How far back the overview looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Span {
    /// 24 hours, in hours.
    #[default]
    Day,
    /// 7 days, in six hours each.
    Week,
    /// 30 days, in days.
    Month,
}

impl Span {
    /// Every span.
    pub(crate) const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    /// The name in an address.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    /// The span with this name; the shortest where there is none.
    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|span| span.as_str() == name).unwrap_or_default()
    }

    /// The name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Day => "24 hours",
            Self::Week => "7 days",
            Self::Month => "30 days",
        }
    }

    /// How many bars a chart has, and how many hours each holds.
    pub(crate) const fn bars(self) -> (u32, u32) {
        match self {
            Self::Day => (24, 1),
            Self::Week => (28, 6),
            Self::Month => (30, 24),
        }
    }
}

/// What a begin came to, in the kinds that a chart tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Kind {
    /// Permitted to send.
    Sent,
    /// Answered with the result that is there.
    Replayed,
    /// Told to wait.
    Held,
    /// Refused: another payload under the same key.
    Conflict,
    /// Refused for another reason.
    Stopped,
}

impl Kind {
    /// Every kind, from the bottom of a bar to its top.
    pub(crate) const ALL: [Self; 5] = [Self::Sent, Self::Replayed, Self::Held, Self::Conflict, Self::Stopped];

    /// The kind of a decision.
    #[cfg(feature = "ssr")]
    pub(crate) const fn of(decision: DecisionName) -> Self {
        match decision {
            DecisionName::Proceed => Self::Sent,
            DecisionName::Replay | DecisionName::Superseded => Self::Replayed,
            DecisionName::InProgress | DecisionName::Unknown | DecisionName::AwaitingApproval => Self::Held,
            DecisionName::Conflict => Self::Conflict,
            DecisionName::ApprovalMissing | DecisionName::PreviousRevision | DecisionName::Rejected => Self::Stopped,
        }
    }

    /// The name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Sent => "Sent",
            Self::Replayed => "Replayed",
            Self::Held => "Told to wait",
            Self::Conflict => "Conflict",
            Self::Stopped => "Stopped",
        }
    }

    /// The name in the style.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Replayed => "replayed",
            Self::Held => "held",
            Self::Conflict => "conflict",
            Self::Stopped => "stopped",
        }
    }
}

/// What was kept from being done twice, each operation once, and what that would have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Prevented {
    /// How many operations.
    pub number: u64,
    /// The money, a sum for each currency.
    pub money: Vec<Money>,
    /// How often a repetition was held back for it; who waits asks often.
    pub asks: u64,
}

/// The decisions of one stretch of time, in the order of [`Kind::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Bar {
    /// Where it starts.
    pub start: Timestamp,
    /// How many of each kind.
    pub numbers: [u64; 5],
}

/// One workflow beside the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct WorkflowRow {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// How often a begin arrived.
    pub asked: u64,
    /// How many of them were permitted to send.
    pub sent: u64,
    /// What was kept from being done twice.
    pub prevented: Prevented,
    /// How many operations were confirmed.
    pub confirmed: u64,
    /// How many became uncertain.
    pub uncertain: u64,
    /// How many begins came with a changed payload.
    pub conflicts: u64,
}

/// What a first start needs to know to make something appear.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Guide {
    /// The address of this server.
    pub address: String,
    /// A workflow that the person may begin in, and an action and a payload for it; none is configured yet otherwise.
    pub example: Option<Example>,
    /// How many tokens are accepted.
    pub tokens: usize,
}

/// What a first begin can say.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Example {
    /// The workflow's name.
    pub workflow: String,
    /// The body of the request, indented.
    pub body: String,
}

/// What the last reconciliation of a workflow and company came to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct LastReconciled {
    /// The reconciliation.
    pub id: ReconciliationId,
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// When it was over.
    pub at: Timestamp,
    /// How many lie in the buckets that somebody has to look at, of those that hold any.
    pub findings: Vec<(Bucket, u64)>,
}

#[cfg(feature = "ssr")]
impl LastReconciled {
    fn of(run: guard::reconciliation::Run) -> Self {
        let looked_at = [Bucket::Duplicated, Bucket::Missing, Bucket::Mismatched, Bucket::Unguarded];
        let findings = looked_at.map(|bucket| (bucket, run.summary.count(bucket))).into_iter();
        Self {
            id: run.id,
            at: run.finished_at.unwrap_or(run.started_at),
            findings: findings.filter(|(_, count)| *count > 0).collect(),
            workflow: run.scope.workflow,
            company: run.scope.company,
        }
    }
}

/// A scheduled pull of a workflow and company.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct PullLine {
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// The destination.
    pub destination: String,
    /// The last one that went well: when, and what it came to.
    pub succeeded: Option<(Timestamp, LastReconciled)>,
    /// The failures since: when the last one was, and why.
    pub failed: Option<(Timestamp, String)>,
    /// When the next one is tried; none: it is due.
    pub due_at: Option<Timestamp>,
}

#[cfg(feature = "ssr")]
impl PullLine {
    /// Those within reach; `reconciled` are the last runs, of which most of what was pulled last is one.
    async fn all(
        guard: &guard::service::Guard,
        person: &Person,
        reconciled: &[LastReconciled],
    ) -> Result<Vec<Self>, Failure> {
        let mut scheduled = guard.scheduled_pulls(&person.reach).await?;
        scheduled.sort_by_key(|pull| pull.schedule.failing.is_none());
        scheduled.truncate(PULLS_SHOWN_MAX);
        let now = guard.now();
        let mut lines = Vec::with_capacity(scheduled.len());
        for pull in scheduled {
            let due_at = Some(pull.due_at()).filter(|at| *at > now);
            let guard::pull::PullSchedule { workflow, company, succeeded, failing, .. } = pull.schedule;
            let succeeded = match succeeded {
                Some(success) => {
                    let last = match reconciled.iter().find(|last| last.id == success.run) {
                        Some(last) => last.clone(),
                        None => LastReconciled::of(guard.reconciliation(&person.reach, success.run).await?),
                    };
                    Some((success.at, last))
                }
                None => None,
            };
            let failed = failing.map(|failing| (failing.at, failing.reason));
            lines.push(Self { workflow, company, destination: pull.destination, succeeded, failed, due_at });
        }
        Ok(lines)
    }
}

/// What the overview shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Overview {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// How far back it looks.
    pub span: Span,
    /// What waits for a person.
    pub waiting: Waiting,
    /// How many amendments wait for approval, up to [`guard::summary::UNCERTAIN_COUNTED_MAX`].
    pub proposals: u32,
    /// How many proposed changes of rules wait for this person's approval; none where they approve none.
    pub rules: Option<u32>,
    /// What destinations hold more than once and nobody has explained: it stands first.
    pub duplicates: Vec<OpenDuplicates>,
    /// The last reconciliation of each workflow and company.
    pub reconciled: Vec<LastReconciled>,
    /// The pulls that are scheduled, those that fail first; a bounded number.
    pub pulls: Vec<PullLine>,
    /// What was prevented within the span.
    pub prevented: Prevented,
    /// What was prevented in all.
    pub prevented_in_all: Prevented,
    /// The decisions over time.
    pub bars: Vec<Bar>,
    /// The workflows side by side.
    pub workflows: Vec<WorkflowRow>,
    /// What is uncertain, first what comes first in the queue.
    pub needs: Vec<OperationView>,
    /// How to begin, where nothing ever was.
    pub guide: Option<Guide>,
}

impl Overview {
    /// Whether the one who looks administers.
    pub(crate) fn administers(&self) -> bool {
        self.person.role == Role::Admin
    }
}

/// Reads the overview.
#[server(prefix = "/fn", endpoint = "read_overview", input = Json, output = Json)]
pub(crate) async fn read_overview(span: Span) -> Result<Overview, Failure> {
    use guard::triage::{Sort, TriageFilter};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    // In the order of the queue, so that its first row is the first here.
    let needs = guard.triage(person, &TriageFilter::default(), Sort::default(), None, NEEDS_ROWS).await?;
    let waiting = guard.waiting(&person.reach).await?;
    let as_of = guard.now();
    let in_all = guard.counts_in_all(&person.reach).await?;
    let from = summary::start(span, as_of);
    let counts = guard.counts(&person.reach, from, as_of + chrono::TimeDelta::hours(1)).await?;
    let summary = summary::of(&counts, span, as_of, &guard.catalogue());
    let guide = if in_all.is_empty() { Some(guide::of(guard, person, &visit.address).await?) } else { None };
    let reconciled = guard.last_reconciliations(&person.reach).await?;
    let reconciled: Vec<_> = reconciled.into_iter().map(LastReconciled::of).collect();
    Ok(Overview {
        as_of,
        person: person.clone(),
        span,
        waiting,
        proposals: guard.proposals_waiting(&person.reach).await?,
        rules: guard.rules_waiting(person).await?,
        duplicates: guard.open_duplicates(&person.reach).await?,
        pulls: PullLine::all(guard, person, &reconciled).await?,
        reconciled,
        prevented: summary.prevented,
        prevented_in_all: summary::prevented(&in_all),
        bars: summary.bars,
        workflows: summary.workflows,
        needs: needs.rows.iter().map(|operation| guard.view(operation)).collect(),
        guide,
    })
}

#[cfg(feature = "ssr")]
mod summary {
    use std::collections::BTreeMap;

    use chrono::{DurationRound as _, TimeDelta};
    use guard::{board::Numbers, clock::Timestamp, state::StateName, store::Catalogue, summary::Count};

    use super::{Bar, Kind, Prevented, Span, WorkflowRow};

    pub(super) struct Summary {
        pub prevented: Prevented,
        pub bars: Vec<Bar>,
        pub workflows: Vec<WorkflowRow>,
    }

    /// The bars of the span, empty. The last holds the present moment; they start on whole hours, quarters of a day or days.
    fn bars(span: Span, now: Timestamp) -> Vec<Bar> {
        let (bars, hours) = span.bars();
        let width = TimeDelta::hours(hours.into());
        let last = now.duration_trunc(width).unwrap_or(now);
        let starts = (0..bars).rev().map(|back| last - width * i32::try_from(back).unwrap_or(0));
        starts.map(|start| Bar { start, numbers: [0; 5] }).collect()
    }

    /// Where the span starts.
    pub(super) fn start(span: Span, now: Timestamp) -> Timestamp {
        bars(span, now).first().map_or(now, |bar| bar.start)
    }

    /// What was prevented in all that these count.
    pub(super) fn prevented(counts: &[Count]) -> Prevented {
        told(&Numbers::of(counts))
    }

    fn told(numbers: &Numbers) -> Prevented {
        let all = numbers.prevented_in_all();
        Prevented { number: all.number, money: all.amounts(), asks: numbers.repetitions() }
    }

    /// Adds the hourly counts of a span up.
    pub(super) fn of(counts: &[Count], span: Span, now: Timestamp, catalogue: &Catalogue) -> Summary {
        let mut bars = bars(span, now);
        let mut workflows: BTreeMap<&str, (WorkflowRow, Numbers)> = BTreeMap::new();
        for (name, known) in catalogue.workflows.iter().filter(|(_, known)| !known.is_retired) {
            let row =
                WorkflowRow { name: name.clone(), title: known.workflow.title().to_owned(), ..WorkflowRow::default() };
            workflows.insert(name, (row, Numbers::default()));
        }

        for count in counts {
            let (_, numbers) = workflows.entry(&count.workflow).or_insert_with(|| {
                let (name, title) = (count.workflow.clone(), count.workflow.clone());
                (WorkflowRow { name, title, ..WorkflowRow::default() }, Numbers::default())
            });
            numbers.add(count);
            let Some(kind) = count.counted.decision().map(Kind::of) else { continue };
            let place = bars.partition_point(|bar| bar.start <= count.hour);
            if let Some(bar) = place.checked_sub(1).and_then(|place| bars.get_mut(place)) {
                bar.numbers[kind as usize] += count.number;
            }
        }
        let workflows = workflows.into_values().map(|(row, numbers)| WorkflowRow {
            asked: numbers.asked,
            sent: numbers.sent,
            prevented: told(&numbers),
            confirmed: numbers.entered.get(&StateName::Confirmed).copied().unwrap_or_default(),
            uncertain: numbers.became_uncertain(),
            conflicts: numbers.conflicts,
            ..row
        });
        Summary { prevented: prevented(counts), bars, workflows: workflows.collect() }
    }

    #[cfg(test)]
    mod tests {
        use chrono::TimeZone as _;
        use guard::{
            decision::DecisionName,
            money::Money,
            summary::{Counted, Prevention},
        };

        use super::*;

        fn count(counted: Counted, hour: Timestamp, number: u64, money: i64) -> Count {
            Count {
                workflow: "handoff".to_owned(),
                company: "acme".to_owned(),
                counted,
                hour,
                number,
                currency: "EUR".to_owned(),
                ten_thousandths: money,
            }
        }

        #[test]
        fn hours_fall_into_their_bars() {
            let now = chrono::Utc.with_ymd_and_hms(2026, 3, 2, 14, 30, 0).unwrap();
            let hour = |back| guard::summary::start_of_hour(now) - TimeDelta::hours(back);
            let replay = Counted::Decision(DecisionName::Replay);
            let counts = [
                count(Counted::Decision(DecisionName::Proceed), hour(0), 5, 50_000),
                count(replay, hour(23), 2, 20_000),
                count(Counted::Prevented(Prevention::Replay), hour(22), 1, 10_000),
                count(Counted::Entered(StateName::Unknown), hour(1), 1, 10_000),
            ];
            let summary = of(&counts, Span::Day, now, &Catalogue::default());
            assert_eq!(summary.bars.len(), 24);
            assert_eq!(summary.bars[23].numbers, [5, 0, 0, 0, 0]);
            assert_eq!(summary.bars[0].numbers, [0, 2, 0, 0, 0]);
            assert_eq!(start(Span::Day, now), hour(23));
            assert_eq!((summary.prevented.number, summary.prevented.asks), (1, 2));
            assert_eq!(summary.prevented.money, [Money::from_ten_thousandths(10_000, "EUR".to_owned())]);
            let row = &summary.workflows[0];
            assert_eq!((row.asked, row.sent, row.prevented.number, row.uncertain), (7, 5, 1, 1));
        }

        #[test]
        fn days_are_whole() {
            let now = chrono::Utc.with_ymd_and_hms(2026, 3, 2, 14, 30, 0).unwrap();
            let summary = of(&[], Span::Month, now, &Catalogue::default());
            assert_eq!(summary.bars[29].start, chrono::Utc.with_ymd_and_hms(2026, 3, 2, 0, 0, 0).unwrap());
            assert_eq!(summary.bars[0].start, chrono::Utc.with_ymd_and_hms(2026, 2, 1, 0, 0, 0).unwrap());
        }
    }
}

#[cfg(feature = "ssr")]
mod guide {
    use guard::{
        json::Json, key::ACTION_DEFAULT, person::Person, pointer::Pointer, service::Guard, token::Token,
        workflow::Workflow,
    };

    use super::{Example, Guide};
    use crate::failure::Failure;

    pub(super) async fn of(guard: &Guard, person: &Person, address: &str) -> Result<Guide, Failure> {
        guard.refresh().await?;
        let catalogue = guard.catalogue();
        let workflow = catalogue.workflows.values().find(|known| !known.is_retired).map(|known| &known.workflow);
        let company = person.reach.companies.iter().flatten().next().map_or("acme", String::as_str);
        let tokens = guard.tokens().await?;
        let is_accepted = |token: &&Token| token.revoked_at.is_none() && token.reach.is_within(&person.reach);
        Ok(Guide {
            address: address.to_owned(),
            example: workflow.map(|workflow| Example {
                workflow: workflow.name.as_str().to_owned(),
                body: body(workflow, company).indented(),
            }),
            tokens: tokens.iter().filter(is_accepted).count(),
        })
    }

    /// A begin that the workflow takes.
    fn body(workflow: &Workflow, company: &str) -> Json {
        let text = |value: &str| Json::String(value.to_owned());
        let mut payload = vec![("customer".to_owned(), text("C-77"))];
        let money = [(&workflow.amount, "1180.00"), (&workflow.currency, "EUR")];
        for (place, value) in money {
            if let Some([name]) = place.as_ref().map(Pointer::tokens) {
                payload.push((name.clone(), text(value)));
            }
        }
        let mut members = vec![
            ("workflow".to_owned(), text(workflow.name.as_str())),
            ("company".to_owned(), text(company)),
            ("source_system".to_owned(), text("shop")),
            ("document".to_owned(), text("order-812")),
        ];
        if let Some(action) = workflow.actions.first().filter(|action| action.as_str() != ACTION_DEFAULT) {
            members.push(("action".to_owned(), text(action.as_str())));
        }
        members.push(("payload".to_owned(), Json::Object(payload)));
        Json::Object(members)
    }
}
