//! Pulls of a destination's list by a schedule: which is due, who makes it, what became of it; and whether a list that says the same
//! as before is news.

use chrono::TimeDelta;

use super::{Guard, TRIES_MAX, contended};
use crate::clock::Timestamp;
use crate::id::ReconciliationId;
use crate::pull::{PullRules, PullSchedule, ScheduledPull};
use crate::queue::{Filter, Order, PAGE_ROWS_MAX, PageRequest};
use crate::reconciliation::{Progress, RunFilter, Scope as RunScope};
use crate::recovery::{Claim, later};
use crate::refusal::Refusal;
use crate::store::{Catalogue, Replaced};
use crate::token::Reach;

impl Guard {
    /// The pulls that the configuration schedules within reach, by workflow and company. One that no process has taken note of yet
    /// stands as it would begin now.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn scheduled_pulls(&self, reach: &Reach) -> Result<Vec<ScheduledPull>, Refusal> {
        let catalogue = self.catalogue();
        let wanted: Vec<_> = wanted(&catalogue)
            .filter(|(workflow, company, ..)| reach.workflow(workflow) && reach.company(company))
            .collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let (known, now) = (self.inner.store.pull_schedules().await?, self.now());
        let stands = |wanted| scheduled(wanted, &known).unwrap_or_else(|| starting(wanted, now));
        Ok(wanted.into_iter().map(stands).collect())
    }

    /// Claims the scheduled pull that has been due the longest; none where none is due, or another process was first.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn claim_pull(&self, by: &str, span: TimeDelta) -> Result<Option<ScheduledPull>, Refusal> {
        let catalogue = self.catalogue();
        if wanted(&catalogue).next().is_none() {
            return Ok(None);
        }
        let (store, now) = (&self.inner.store, self.now());
        let known = store.pull_schedules().await?;
        let mut due = Vec::new();
        for wanted in wanted(&catalogue) {
            if let Some(pull) = scheduled(wanted, &known) {
                due.push(pull);
                continue;
            }
            let pull = starting(wanted, now);
            // Another process that came first may have it already.
            if store.put_pull_schedule(&pull.schedule).await? == Replaced::Replaced {
                due.push(pull);
            }
        }
        due.retain(|pull| pull.due_at() <= now && !pull.schedule.is_claimed(now));
        due.sort_by_key(ScheduledPull::due_at);
        for pull in due {
            let claim = Claim { by: by.to_owned(), until: later(now, span) };
            let schedule = pull.schedule.clone().claimed(Some(claim));
            if store.put_pull_schedule(&schedule).await? == Replaced::Replaced {
                return Ok(Some(ScheduledPull { schedule, ..pull }));
            }
        }
        Ok(None)
    }

    /// Keeps a claimed pull for another while; false where this process does not have it any more.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn keep_pull(&self, pull: &ScheduledPull, by: &str, span: TimeDelta) -> Result<bool, Refusal> {
        let claim = Claim { by: by.to_owned(), until: later(self.now(), span) };
        self.change_pull(pull, by, |schedule| schedule.claimed(Some(claim.clone()))).await
    }

    /// Gives a claimed pull back as it was, so that it is made by whoever comes next.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn release_pull(&self, pull: &ScheduledPull, by: &str) -> Result<(), Refusal> {
        self.change_pull(pull, by, |schedule| schedule.claimed(None)).await.map(drop)
    }

    /// Keeps what became of a claimed pull: the run, or the reason why there is none.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn pull_made(
        &self,
        pull: &ScheduledPull,
        by: &str,
        made: &Result<ReconciliationId, String>,
    ) -> Result<(), Refusal> {
        let (now, random) = (self.now(), self.inner.entropy.bytes());
        let after = |schedule: PullSchedule| match made {
            Ok(run) => schedule.after_success(now, *run),
            Err(reason) => schedule.after_failure(now, reason, random),
        };
        self.change_pull(pull, by, after).await.map(drop)
    }

    /// Changes the schedule of a pull as long as this process has it; whether it had it.
    async fn change_pull(
        &self,
        pull: &ScheduledPull,
        by: &str,
        change: impl Fn(PullSchedule) -> PullSchedule,
    ) -> Result<bool, Refusal> {
        let PullSchedule { workflow, company, .. } = &pull.schedule;
        for _ in 0..TRIES_MAX {
            let known = self.inner.store.pull_schedules().await?;
            let held = known.into_iter().find(|known| known.workflow == *workflow && known.company == *company);
            let Some(held) = held.filter(|held| held.is_held_by(by)) else { return Ok(false) };
            if self.inner.store.put_pull_schedule(&change(held)).await? == Replaced::Replaced {
                return Ok(true);
            }
        }
        Err(contended())
    }

    /// What tells a pull of this content. A list that says what it said before is the same reconciliation only as long as no operation
    /// of the scope has changed since: what was confirmed meanwhile and is still not listed is missing, which is news.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn identity_of_pull(&self, content: &str, scope: &RunScope) -> Result<String, Refusal> {
        let filter = RunFilter { workflow: Some(scope.workflow.clone()), company: Some(scope.company.clone()) };
        let runs = self.inner.store.reconciliations(&Reach::EVERYTHING, &filter, None, PAGE_ROWS_MAX).await?;
        let same = runs.iter().find(|run| run.identity.starts_with(content));
        if let Some(run) = same {
            let over_at = run.finished_at.unwrap_or(run.started_at);
            // One that broke off is taken up.
            if run.progress == Progress::Running || !self.has_changed_since(scope, over_at).await? {
                return Ok(run.identity.clone());
            }
        }
        let Some(last) = runs.first() else { return Ok(content.to_owned()) };
        Ok(format!("{content}-{}", last.id))
    }

    async fn has_changed_since(&self, scope: &RunScope, moment: Timestamp) -> Result<bool, Refusal> {
        let filter = Filter {
            workflow: Some(scope.workflow.clone()),
            company: Some(scope.company.clone()),
            from: scope.from,
            to: scope.to,
            ..Filter::default()
        };
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        loop {
            let found = self.inner.store.operations(&Reach::EVERYTHING, &filter, Order::Newest, &page).await?;
            if found.rows.iter().any(|operation| operation.updated_at > moment) {
                return Ok(true);
            }
            page.cursor = found.next;
            if page.cursor.is_none() {
                return Ok(false);
            }
        }
    }
}

/// A pull that is wanted, as its schedule stands; none where no process has taken note of it yet.
fn scheduled((workflow, company, rules, destination): Wanted<'_>, known: &[PullSchedule]) -> Option<ScheduledPull> {
    let schedule = known.iter().find(|known| known.workflow == workflow && known.company == company)?.clone();
    Some(of_schedule(schedule, rules, destination))
}

/// A pull that is wanted from now on.
fn starting((workflow, company, rules, destination): Wanted<'_>, now: Timestamp) -> ScheduledPull {
    of_schedule(PullSchedule::starting(workflow, company, now), rules, destination)
}

fn of_schedule(schedule: PullSchedule, rules: &PullRules, destination: &str) -> ScheduledPull {
    let (every_hours, days, destination) = (rules.every_hours, rules.days(), destination.to_owned());
    ScheduledPull { schedule, every_hours, days, destination }
}

type Wanted<'a> = (&'a str, &'a str, &'a PullRules, &'a str);

/// What the configuration schedules: workflow, company, rules and destination.
fn wanted(catalogue: &Catalogue) -> impl Iterator<Item = Wanted<'_>> {
    let scheduled = catalogue.workflows.values().filter(|known| !known.is_retired).filter_map(|known| {
        let workflow = &known.workflow;
        let destination = catalogue.destinations.get(workflow.destination.as_ref()?)?;
        destination.list.as_ref()?;
        Some((workflow.name.as_str(), workflow.pull.as_ref()?, destination.name.as_str()))
    });
    scheduled.flat_map(|(workflow, rules, destination)| {
        rules.companies.iter().map(move |company| (workflow, company.as_str(), rules, destination))
    })
}
