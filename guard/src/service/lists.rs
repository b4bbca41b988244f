//! What people do with whole lists: exports, saved views, runs over what a filter says.

use std::collections::BTreeSet;

use super::report::check_text;
use super::review::check_until;
use super::{Guard, Transition, integer, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::id::{OperationId, RunId, ViewId};
use crate::incident::{INCIDENT_ROWS_SEEN_MAX, Incident, incidents};
use crate::lists::{
    ListPage, RUN_ITEMS_MAX, Run, RunAction, RunItem, RunOutcome, RunStanding, SavedView, VIEW_NAME_CHARACTERS_MAX,
    VIEW_QUERY_BYTES_MAX, VIEWS_MAX,
};
use crate::money::sums;
use crate::operation::Operation;
use crate::person::Person;
use crate::queue::{Filter, Order, PAGE_ROWS_MAX, PageRequest};
use crate::recovery::{Answer, Claim, LastLookup};
use crate::refusal::Refusal;
use crate::state::StateName;
use crate::store::{Act, Replaced};
use crate::trail::{EntryKind, detail};
use crate::triage::{Sort, TriageFilter};

/// An operation that moves under this many tries of a run is told as refused.
const ITEM_TRIES_MAX: u32 = 8;

/// A list that leaves the desk as a file.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'a> {
    /// Which list.
    pub list: &'a str,
    /// What its address asked for.
    pub query: &'a str,
    /// `csv` or `json`.
    pub format: &'a str,
}

impl Guard {
    /// Keeps in the trail that a person begins to take a list out; before its first row.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn export_begun(&self, person: &Person, exported: Exported<'_>) -> Result<(), Refusal> {
        self.note(person, EntryKind::ExportBegun, exported.facts(None)).await
    }

    /// Keeps in the trail how many rows went out, and whether that was all.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn export_ended(
        &self,
        person: &Person,
        exported: Exported<'_>,
        rows: u64,
        is_whole: bool,
    ) -> Result<(), Refusal> {
        self.note(person, EntryKind::ExportEnded, exported.facts(Some((rows, is_whole)))).await
    }

    /// An entry of the administration that changes nothing.
    async fn note(&self, person: &Person, kind: EntryKind, facts: crate::json::Json) -> Result<(), Refusal> {
        let actor = Actor::Person { email: person.email.clone() };
        self.administer_one(&actor, Act::Note, kind, facts, "entry", kind.as_str()).await
    }

    /// The views that a person has of a page.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn views(&self, person: &Person, page: ListPage) -> Result<Vec<SavedView>, Refusal> {
        Ok(self.inner.store.views(person.id, page).await?)
    }

    /// Keeps what a page's address asks for under a name; a view of the same name is replaced.
    ///
    /// # Errors
    /// A name or an address out of bounds, more views than are kept, the store's fault.
    pub async fn save_view(
        &self,
        person: &Person,
        page: ListPage,
        name: &str,
        query: &str,
    ) -> Result<SavedView, Refusal> {
        let name = name.trim();
        check_text("name", name)?;
        if name.chars().count() > VIEW_NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
            let message = format!("has over {VIEW_NAME_CHARACTERS_MAX} characters, or control characters");
            return Err(Refusal::field("name", message));
        }
        if query.len() > VIEW_QUERY_BYTES_MAX {
            return Err(Refusal::field("query", format!("has over {VIEW_QUERY_BYTES_MAX} bytes")));
        }
        let known = self.inner.store.views(person.id, page).await?;
        let same = known.iter().find(|view| view.name == name);
        if same.is_none() && known.len() >= VIEWS_MAX {
            return Err(Refusal::field(
                "name",
                format!("is one view too many; {VIEWS_MAX} are kept. Remove one first"),
            ));
        }
        let at = self.now();
        let id = same.map_or_else(|| ViewId::new(at, self.inner.entropy.bytes()), |view| view.id);
        let (name, query) = (name.to_owned(), query.to_owned());
        let view = SavedView { id, person: person.id, page, name, query, created_at: at };
        self.inner.store.put_view(&view).await?;
        Ok(view)
    }

    /// Forgets a view.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] where the person has none with this id, the store's fault.
    pub async fn drop_view(&self, person: &Person, id: ViewId) -> Result<(), Refusal> {
        if self.inner.store.drop_view(person.id, id).await? { Ok(()) } else { Err(Refusal::not_found("view")) }
    }

    /// Asks the filter now, and keeps what it says as a run that its person may confirm: it acts on these operations and no others.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, a filter that says nothing or over [`RUN_ITEMS_MAX`] operations, the store's fault.
    pub async fn propose_run(
        &self,
        person: &Person,
        action: RunAction,
        page: ListPage,
        query: &str,
        filter: &Filter,
    ) -> Result<Run, Refusal> {
        may_run(person)?;
        if query.len() > VIEW_QUERY_BYTES_MAX {
            return Err(Refusal::field("query", format!("has over {VIEW_QUERY_BYTES_MAX} bytes")));
        }
        let operations = self.all_of(person, filter).await?;
        self.keep_run(person, action, page, query, &operations).await
    }

    /// As [`Self::propose_run`], over a part of the queue of what is uncertain. Only what is unknown can be looked for.
    ///
    /// # Errors
    /// See [`Self::propose_run`].
    pub async fn propose_run_over_queue(
        &self,
        person: &Person,
        action: RunAction,
        query: &str,
        filter: &TriageFilter,
    ) -> Result<Run, Refusal> {
        may_run(person)?;
        if query.len() > VIEW_QUERY_BYTES_MAX {
            return Err(Refusal::field("query", format!("has over {VIEW_QUERY_BYTES_MAX} bytes")));
        }
        let takes = |operation: &Operation| match action {
            RunAction::LookUp | RunAction::Verify => operation.state.name() == StateName::Unknown,
            RunAction::Claim | RunAction::KeepWaiting => true,
        };
        let mut operations = Vec::new();
        let mut spot = None;
        loop {
            let found = self.triage(person, filter, Sort::Latest, spot.as_ref(), PAGE_ROWS_MAX).await?;
            operations.extend(found.rows.into_iter().filter(takes));
            if operations.len() > RUN_ITEMS_MAX {
                let message = format!("says over {RUN_ITEMS_MAX} operations; one run takes no more. Narrow it");
                return Err(Refusal::field("filter", message));
            }
            match found.next {
                Some(next) => spot = Some(next),
                None if operations.is_empty() => return Err(Refusal::field("filter", "says no operation")),
                None => break,
            }
        }
        self.keep_run(person, action, ListPage::Unknown, query, &operations).await
    }

    /// The incidents among what is unknown within reach: [`INCIDENT_ROWS_SEEN_MAX`] operations are looked at, those begun last.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn incidents(&self, person: &Person) -> Result<Vec<Incident>, Refusal> {
        let latest = self.inner.store.latest_unknown(&person.reach, INCIDENT_ROWS_SEEN_MAX).await?;
        Ok(incidents(&self.catalogue(), &latest))
    }

    /// As [`Self::propose_run`], over an incident that is known by its first operation.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`] where there is no such incident any more, the store's fault.
    pub async fn propose_verification(&self, person: &Person, first: OperationId) -> Result<Run, Refusal> {
        may_run(person)?;
        let found = self.incidents(person).await?.into_iter().find(|incident| incident.operations.contains(&first));
        let incident = found.ok_or_else(|| Refusal::not_found("incident"))?;
        let mut operations = Vec::new();
        for id in incident.operations.into_iter().take(RUN_ITEMS_MAX) {
            operations.push(self.operation(&person.reach, id).await?);
        }
        self.keep_run(person, RunAction::Verify, ListPage::Unknown, "", &operations).await
    }

    async fn keep_run(
        &self,
        person: &Person,
        action: RunAction,
        page: ListPage,
        query: &str,
        operations: &[Operation],
    ) -> Result<Run, Refusal> {
        let at = self.now();
        let run = Run {
            id: RunId::new(at, self.inner.entropy.bytes()),
            person: person.id,
            version: 1,
            standing: RunStanding::Proposed,
            action,
            page,
            query: query.to_owned(),
            items: u32::try_from(operations.len()).unwrap_or(u32::MAX),
            money: sums(operations.iter().filter_map(|operation| operation.money.as_ref())),
            reason: String::new(),
            until: None,
            proposed_at: at,
            begun_at: None,
            ended_at: None,
        };
        let numbered = (1..).zip(operations);
        let items: Vec<RunItem> =
            numbered.map(|(number, operation)| RunItem { number, operation: operation.id, result: None }).collect();
        self.inner.store.add_run(&run, &items).await?;
        Ok(run)
    }

    /// Every operation that a filter says, the newest first, at most [`RUN_ITEMS_MAX`].
    async fn all_of(&self, person: &Person, filter: &Filter) -> Result<Vec<Operation>, Refusal> {
        let mut operations = Vec::new();
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        loop {
            let found = self.operations(&person.reach, filter, Order::Newest, &page).await?;
            operations.extend(found.rows);
            if operations.len() > RUN_ITEMS_MAX {
                let message = format!("says over {RUN_ITEMS_MAX} operations; one run takes no more. Narrow it");
                return Err(Refusal::field("filter", message));
            }
            match found.next {
                Some(next) => page.cursor = Some(next),
                None if operations.is_empty() => return Err(Refusal::field("filter", "says no operation")),
                None => return Ok(operations),
            }
        }
    }

    /// A run of this person.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] where it is somebody else's, the store's fault.
    pub async fn run(&self, person: &Person, id: RunId) -> Result<Run, Refusal> {
        let found = self.inner.store.run(id).await?;
        found.filter(|run| run.person == person.id).ok_or_else(|| Refusal::not_found("run"))
    }

    /// The items of a run of this person behind a number, with their operations as they are now; those that the person no longer
    /// reaches are left out.
    ///
    /// # Errors
    /// See [`Self::run`].
    pub async fn run_items(
        &self,
        person: &Person,
        id: RunId,
        after: u32,
        limit: u32,
    ) -> Result<Vec<(RunItem, Operation)>, Refusal> {
        self.run(person, id).await?;
        let mut found = Vec::new();
        for item in self.inner.store.run_items(id, after, limit).await? {
            match self.operation(&person.reach, item.operation).await {
                Ok(operation) => found.push((item, operation)),
                Err(Refusal::NotFound { .. }) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(found)
    }

    /// The person says that it shall run, and why; for [`RunAction::KeepWaiting`] also until when. Said twice, it runs once.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, no reason, a moment that is missing or out of bounds, a run that has begun already, the store's
    /// fault.
    pub async fn confirm_run(
        &self,
        person: &Person,
        id: RunId,
        reason: &str,
        until: Option<Timestamp>,
    ) -> Result<Run, Refusal> {
        may_run(person)?;
        let reason = reason.trim();
        check_text("reason", reason)?;
        let run = self.run(person, id).await?;
        if run.standing != RunStanding::Proposed {
            return Err(Refusal::field("run", "has begun already; its page shows how far it is"));
        }
        let at = self.now();
        let until = match run.action {
            RunAction::LookUp | RunAction::Claim | RunAction::Verify => None,
            RunAction::KeepWaiting => {
                let until = until.ok_or_else(|| Refusal::field("until", "is missing; say until when they wait"))?;
                check_until(until, at)?;
                Some(until)
            }
        };
        let begun = Run {
            version: run.version + 1,
            standing: RunStanding::Running,
            reason: reason.to_owned(),
            until,
            begun_at: Some(at),
            ..run
        };
        // Before it runs, so that nothing is done of which the trail does not tell.
        let facts = detail([
            ("run", Some(text(&begun.id.to_string()))),
            ("action", Some(text(begun.action.as_str()))),
            ("list", Some(text(begun.page.as_str()))),
            ("query", Some(text(&begun.query))),
            ("items", Some(integer(begun.items))),
            ("until", until.map(|until| text(&rfc3339(until)))),
            ("reason", Some(text(reason))),
        ]);
        self.note(person, EntryKind::RunBegun, facts).await?;
        match self.inner.store.change_run(&begun).await? {
            Replaced::Replaced => Ok(begun),
            Replaced::Stale => Err(Refusal::field("run", "has begun already; its page shows how far it is")),
        }
    }

    /// A run that is to be worked, claimed for whoever asks; none where there is none.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn claim_run(&self, claim: &Claim) -> Result<Option<Run>, Refusal> {
        let Some(id) = self.inner.store.claim_run(self.now(), claim).await? else { return Ok(None) };
        Ok(self.inner.store.run(id).await?)
    }

    /// The items of a run that is being worked, behind a number.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn items_to_work(&self, run: &Run, after: u32, limit: u32) -> Result<Vec<RunItem>, Refusal> {
        Ok(self.inner.store.run_items(run.id, after, limit).await?)
    }

    /// Does what the run does with one operation, in the name of its person as they may act now, and keeps what became of it. An item
    /// that has its result is left alone.
    ///
    /// # Errors
    /// The store's fault; then nothing is known of the item, and it is its turn again.
    pub async fn work_run_item(&self, run: &Run, item: RunItem) -> Result<RunItem, Refusal> {
        if item.result.is_some() {
            return Ok(item);
        }
        let result = match self.inner.registry.person(run.person).await? {
            None => (RunOutcome::Refused, "who began the run is no longer here".to_owned()),
            Some(person) => match self.act_on(&person, run, &item).await {
                Ok(result) => result,
                Err(refusal @ Refusal::Store(_)) => return Err(refusal),
                Err(refusal) => (RunOutcome::Refused, refusal.to_string()),
            },
        };
        let item = RunItem { result: Some(result), ..item };
        self.inner.store.settle_run_item(run.id, &item).await?;
        Ok(item)
    }

    async fn act_on(&self, person: &Person, run: &Run, item: &RunItem) -> Result<(RunOutcome, String), Refusal> {
        let id = item.operation;
        let held = self.operation(&person.reach, id).await?;
        let state = held.state.name();
        let is_uncertain = held.state.is_uncertain();
        let done = match run.action {
            RunAction::LookUp | RunAction::Verify => {
                if state != StateName::Unknown {
                    let told = format!("it is {} by now: nothing to look for", state.as_str());
                    return Ok((RunOutcome::Skipped, told));
                }
                self.look_up_now(person, id).await?;
                "it is looked for now"
            }
            RunAction::Claim => {
                if !is_uncertain {
                    let told = format!("it is {} by now: nobody has to be on it", state.as_str());
                    return Ok((RunOutcome::Skipped, told));
                }
                self.claim(person, id).await?;
                "you are on it"
            }
            RunAction::KeepWaiting => {
                if !is_uncertain {
                    let told = format!("it is {} by now: nothing to wait for", state.as_str());
                    return Ok((RunOutcome::Skipped, told));
                }
                let until = run.until.ok_or_else(|| Refusal::field("until", "is missing; begin the run anew"))?;
                let review = self.reviews(std::slice::from_ref(&held)).await?.pop().flatten();
                if review.and_then(|review| review.deferral).is_some_and(|deferral| deferral.until == until) {
                    return Ok((RunOutcome::Skipped, "it is kept waiting until then already".to_owned()));
                }
                self.keep_waiting(person, id, held.version, until, &run.reason).await?;
                "it is kept waiting"
            }
        };
        for _ in 0..ITEM_TRIES_MAX {
            let operation = self.operation(&person.reach, id).await?;
            let facts = detail([
                ("run", Some(text(&run.id.to_string()))),
                ("action", Some(text(run.action.as_str()))),
                ("reason", Some(text(&run.reason))),
            ]);
            let actor = Actor::Person { email: person.email.clone() };
            let transition = Transition {
                state: operation.state.clone(),
                at: self.now(),
                actor,
                kind: EntryKind::RunApplied,
                facts,
            };
            // It changes neither the state nor when it is looked for.
            if self.replace(transition.of(&operation)).await? == Replaced::Replaced {
                return Ok((RunOutcome::Applied, done.to_owned()));
            }
        }
        Ok((RunOutcome::Applied, format!("{done}; it changed too often for an entry of its own")))
    }

    /// Leaves an item of a run alone, and says why.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn leave_run_item(&self, run: &Run, item: RunItem, told: &str) -> Result<(), Refusal> {
        let item = RunItem { result: Some((RunOutcome::Skipped, told.to_owned())), ..item };
        Ok(self.inner.store.settle_run_item(run.id, &item).await?)
    }

    /// Whether each of these operations was looked for since a moment, or is no longer looked for at all. At most [`PAGE_ROWS_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn answered_since(&self, operations: &[OperationId], since: Timestamp) -> Result<bool, Refusal> {
        let recoveries = self.inner.store.recoveries(operations).await?;
        Ok(recoveries.iter().all(|recovery| recovery.last.as_ref().is_some_and(|last| last.at >= since)))
    }

    /// Those of these operations whose last lookup found nothing. At most [`PAGE_ROWS_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn absent_so_far(&self, operations: &[OperationId]) -> Result<BTreeSet<OperationId>, Refusal> {
        let recoveries = self.inner.store.recoveries(operations).await?;
        let is_absent = |last: &LastLookup| last.answer == Answer::Absent;
        let absent = recoveries.into_iter().filter(|recovery| recovery.last.as_ref().is_some_and(is_absent));
        Ok(absent.map(|recovery| recovery.operation).collect())
    }

    /// Ends a run of which every item has its result, with how many there were of each.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn end_run(&self, run: &Run, counts: [(RunOutcome, u32); 3]) -> Result<(), Refusal> {
        let ended =
            Run { version: run.version + 1, standing: RunStanding::Ended, ended_at: Some(self.now()), ..run.clone() };
        if self.inner.store.change_run(&ended).await? == Replaced::Stale {
            return Ok(());
        }
        let Some(person) = self.inner.registry.person(run.person).await? else { return Ok(()) };
        let [applied, skipped, refused] = counts.map(|(outcome, number)| (outcome.as_str(), Some(integer(number))));
        let facts = detail([("run", Some(text(&run.id.to_string()))), applied, skipped, refused]);
        self.note(&person, EntryKind::RunEnded, facts).await
    }
}

impl Exported<'_> {
    fn facts(&self, went_out: Option<(u64, bool)>) -> crate::json::Json {
        let rows = went_out.map(|(rows, _)| integer(i64::try_from(rows).unwrap_or(i64::MAX)));
        detail([
            ("list", Some(text(self.list))),
            ("query", Some(text(self.query))),
            ("format", Some(text(self.format))),
            ("rows", rows),
            ("whole", went_out.map(|(_, is_whole)| crate::json::Json::Bool(is_whole))),
        ])
    }
}

fn may_run(person: &Person) -> Result<(), Refusal> {
    if person.role.may_resolve() {
        return Ok(());
    }
    Err(Refusal::Forbidden { reason: "acting on many operations needs the role operator or admin".to_owned() })
}
