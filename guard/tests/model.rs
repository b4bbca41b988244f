//! Every order of events, walked through: two workers, one operation, a destination, recovery, a person, and a network that loses answers.
//!
//! The guard's half of each step is the real thing: [`State::after`] says what follows on what, [`decide`] what a begin means. Around
//! them the model lets workers pause, crash and start anew at any step, lets any lease end at any moment, loses any answer, and lets a
//! request that was sent arrive as late as it likes, or never. The destination shows a record as late as it likes, but for its finality
//! window; and once it fails to show what it showed before, as a replica does that is behind. Recovery looks at it at any moment, and what
//! it saw may reach the guard as late as anything else; what it proves is [`Recovery::after`]'s to say.
//!
//! What the guard cannot know it must be told truly. The proofs of absence are: `released` (the guard's own), a worker's
//! `failed` after the destination said no, a person's "not applied" while nothing is there **and nothing can arrive any more**, and two
//! lookups in vain after the finality window, which is over only when nothing can arrive any more and all that arrived is shown. With
//! these, no effect is ever doubled. The last tests break one rule each and expect the checker to find how the effect is doubled then.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, TimeZone as _};
use guard::clock::Timestamp;
use guard::decision::{Asker, Verdict, decide};
use guard::event::{Event, Outcome, Resolution, Standing};
use guard::fingerprint::Fingerprint;
use guard::id::{OperationId, TokenId};
use guard::key::{KeyPart, OperationKey};
use guard::lookup::Finding;
use guard::operation::{Attempt, LeaseToken, Operation};
use guard::recovery::{Recovery, Step};
use guard::refusal::Refusal;
use guard::state::{State, StateName};
use guard::trail::ChainHash;
use stateright::{Checker, HasDiscoveries, Model, Property};

/// An operation is attempted at most so often: the first time, once after proof, and once more after that.
const ATTEMPTS_MAX: usize = 3;

/// A check that has not ended by then has too many states.
const CHECK_SECONDS_MAX: u64 = 60;

/// What became of the request of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    /// On its way; nobody knows for how long.
    InFlight,
    /// The destination made a record of it.
    Applied,
    /// The destination said no.
    Refused,
    /// It never arrived, and never will.
    Lost,
}

/// Where a worker is, and all that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Worker {
    /// Between two tries; also after a crash, which forgets everything.
    Idle,
    /// It asked, heard nothing, and still knows the value under which it asked.
    Asking,
    /// It was permitted.
    Permitted(usize),
    /// It was told that its mark stands (two steps).
    Marked(usize),
    /// It has sent, and waits for the destination.
    Waiting(usize),
    /// It knows how it went, and has not told the guard.
    Knows(usize, Learned),
    /// It crashed and never comes back.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Learned {
    Confirmed,
    Failed,
    Unknown,
}

/// The operation as the store holds it, with nothing in it that does not matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Held {
    state: StateName,
    /// Whether the lease has ended, noticed or not.
    is_over: bool,
    /// The attempt whose record the state names.
    record: Option<usize>,
    attempt: usize,
    /// Which worker still knows the value under which the attempt was begun.
    begun_by: Option<usize>,
    /// Whether the destination's finality window is over since the last possible write.
    is_final: bool,
    /// Whether it was looked for in vain since.
    has_negative: bool,
    /// Whether a person dropped it, whatever became of it afterwards.
    was_dropped: bool,
}

/// A look at the destination, on its way back to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Look {
    /// The records that it saw: none, one, or several.
    saw: Option<usize>,
    saw_several: bool,
    /// Whether it was begun after the finality window.
    was_final: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Scene {
    held: Option<Held>,
    workers: [Worker; 2],
    requests: [Option<Request>; ATTEMPTS_MAX],
    /// Which records the destination shows.
    shown: [bool; ATTEMPTS_MAX],
    look: Option<Look>,
    /// Whether a look has already been shown less than there is.
    was_misled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Begin { worker: usize, answer_is_lost: bool },
    Mark { worker: usize, answer_is_lost: bool },
    Send { worker: usize },
    Arrive { attempt: usize, becomes: Request },
    Answer { worker: usize },
    TimeOut { worker: usize },
    Report { worker: usize, answer_is_lost: bool },
    Crash { worker: usize, comes_back: bool },
    LeaseEnds,
    Notice,
    Appear { attempt: usize },
    WindowEnds,
    LookAt { is_misled: bool },
    TakeIn,
    PersonConfirms { attempt: usize },
    PersonDenies,
    PersonDrops,
}

/// When a person says "not applied".
#[derive(Clone, Copy, PartialEq, Eq)]
enum Person {
    /// When nothing is there and nothing can arrive any more.
    Patient,
    /// When nothing is there.
    Hasty,
}

struct Drama {
    is_two_step: bool,
    person: Person,
    after: fn(&State, &Event) -> Result<State, Refusal>,
    decide: fn(&Operation, &Fingerprint, Asker<'_>, Timestamp) -> Verdict,
    prove: fn(&Recovery, &Finding, Timestamp) -> Step,
}

/// The finality window of the model's destination.
const FINALITY: TimeDelta = TimeDelta::seconds(30);

/// What the real rule makes of a lookup that was begun at this moment.
fn prove(recovery: &Recovery, finding: &Finding, asked_at: Timestamp) -> Step {
    recovery.after(finding, asked_at, now(), Some(FINALITY), [0; 16])
}

impl Drama {
    fn with(is_two_step: bool) -> Self {
        Self { is_two_step, person: Person::Patient, after: State::after, decide, prove }
    }
}

/// The one moment of the model: leases end by a step of their own.
fn now() -> Timestamp {
    chrono::Utc.with_ymd_and_hms(2026, 3, 1, 9, 0, 0).unwrap()
}

fn record(attempt: usize) -> String {
    format!("record-{attempt}")
}

impl Held {
    fn state(&self) -> State {
        let since = now();
        let lease_expires_at = if self.is_over { now() } else { now() + TimeDelta::seconds(60) };
        let reason = String::new();
        let named = || self.record.map(record);
        match self.state {
            StateName::AwaitingApproval => State::AwaitingApproval,
            // Nothing else is rejected here: no amendment is played.
            StateName::Rejected => State::Rejected { reason, dropped_at: Some(now()) },
            StateName::Acquired => State::Acquired { lease_expires_at },
            StateName::Sending => State::Sending { since, lease_expires_at },
            StateName::Released => State::Released { since },
            StateName::Failed => State::Failed { since, reason },
            StateName::Unknown => State::Unknown { since, reason },
            StateName::Confirmed => State::Confirmed { since, destination_reference: named().unwrap() },
            StateName::Disputed => State::Disputed { since, reason, destination_reference: named() },
        }
    }

    fn become_state(&mut self, state: &State) {
        if self.state != state.name() {
            (self.is_final, self.has_negative) = (false, false);
        }
        self.state = state.name();
        self.is_over = state.lease_is_over(now());
        self.record = state.destination_reference().map(|reference| {
            let number = reference.strip_prefix("record-").unwrap();
            number.parse().unwrap()
        });
    }

    fn operation(&self) -> Operation {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part("handoff"),
            company: part("acme"),
            source_system: part("shop"),
            document: part("order-1"),
            action: part("create"),
            revision: 1,
        };
        let attempt = Attempt {
            number: u32::try_from(self.attempt).unwrap() + 1,
            lease_token: LeaseToken::from_text(&self.attempt.to_string()),
            token: TokenId::from_u128(1),
            begin_id: self.begun_by.map(|worker| worker.to_string()),
            worker: None,
            begun_at: now(),
        };
        Operation {
            id: OperationId::from_u128(1),
            key,
            state: self.state(),
            version: 1,
            head: ChainHash::START,
            fingerprint: Fingerprint::from_bytes([1; 32]),
            fingerprint_scheme: 1,
            policy_version: 1,
            attempt: Some(attempt),
            money: None,
            superseded_by: None,
            duplicates_prevented: 0,
            open_conflicts: 0,
            created_at: now(),
            updated_at: now(),
            content: guard::retention::Content::Kept,
        }
    }
}

impl Scene {
    fn written(&self) -> usize {
        self.requests.iter().filter(|request| **request == Some(Request::Applied)).count()
    }

    fn shows(&self) -> usize {
        self.shown.iter().filter(|is_shown| **is_shown).count()
    }

    fn is_in_flight(&self) -> bool {
        self.requests.contains(&Some(Request::InFlight))
    }

    /// Whether the worker may send as far as it knows: it has no eye on the clock.
    fn may_send(&self, worker: usize, is_two_step: bool) -> Option<usize> {
        match self.workers[worker] {
            Worker::Permitted(attempt) if !is_two_step => Some(attempt),
            Worker::Marked(attempt) => Some(attempt),
            Worker::Permitted(_)
            | Worker::Idle
            | Worker::Asking
            | Worker::Waiting(_)
            | Worker::Knows(..)
            | Worker::Gone => None,
        }
    }

    fn can_anything_arrive(&self, is_two_step: bool) -> bool {
        self.is_in_flight() || (0..2).any(|worker| self.may_send(worker, is_two_step).is_some())
    }
}

impl Drama {
    /// What every request does first: a lease that is over is ended.
    fn look(&self, held: &mut Held) {
        if held.state().lease_is_over(now())
            && let Ok(state) = (self.after)(&held.state(), &Event::LeaseExpired { at: now() })
        {
            held.become_state(&state);
        }
    }

    /// Applies an event; whether the table let it happen.
    fn happens(&self, held: &mut Held, event: &Event) -> bool {
        match (self.after)(&held.state(), event) {
            Ok(state) => {
                held.become_state(&state);
                true
            }
            Err(_) => false,
        }
    }

    fn begin(&self, scene: &mut Scene, worker: usize, answer_is_lost: bool) {
        let lease_expires_at = now() + TimeDelta::seconds(60);
        let permitted = match &mut scene.held {
            None => {
                let mut held = Held {
                    state: StateName::Sending,
                    is_over: false,
                    record: None,
                    attempt: 0,
                    begun_by: Some(worker),
                    is_final: false,
                    has_negative: false,
                    was_dropped: false,
                };
                held.become_state(&State::begun(now(), lease_expires_at, self.is_two_step));
                scene.held = Some(held);
                Some(0)
            }
            Some(held) => {
                // A grant that was heard of is asked for under a new value.
                let begin_id = (scene.workers[worker] == Worker::Asking).then(|| worker.to_string());
                let asker = Asker { token: TokenId::from_u128(1), begin_id: begin_id.as_deref() };
                let received = Fingerprint::from_bytes([1; 32]);
                match (self.decide)(&held.operation(), &received, asker, now()) {
                    Verdict::Expire => {
                        // It decides again after that: a step of its own, so that others may come between.
                        self.look(held);
                        return;
                    }
                    Verdict::Repeat => Some(held.attempt),
                    Verdict::BeginAgain => {
                        if held.attempt + 1 == ATTEMPTS_MAX {
                            return;
                        }
                        let event = Event::Begun { at: now(), lease_expires_at, two_step: self.is_two_step };
                        let next = Held { attempt: held.attempt + 1, begun_by: Some(worker), ..*held };
                        *held = next;
                        self.happens(held, &event).then_some(held.attempt)
                    }
                    Verdict::Conflict
                    | Verdict::InProgress
                    | Verdict::Unknown
                    | Verdict::Replay
                    | Verdict::Superseded
                    | Verdict::AwaitingApproval
                    | Verdict::Rejected => None,
                }
            }
        };
        scene.workers[worker] = match permitted {
            _ if answer_is_lost => Worker::Asking,
            Some(attempt) => {
                forget_begin(scene, worker);
                Worker::Permitted(attempt)
            }
            None => Worker::Idle,
        };
    }

    fn mark(&self, scene: &mut Scene, worker: usize, attempt: usize, answer_is_lost: bool) {
        let Some(held) = &mut scene.held else { return };
        self.look(held);
        let is_marked = held.attempt == attempt && self.happens(held, &Event::MarkedSending { at: now() });
        if !answer_is_lost {
            scene.workers[worker] = if is_marked { Worker::Marked(attempt) } else { Worker::Idle };
        }
    }

    fn report(&self, scene: &mut Scene, worker: usize, attempt: usize, learned: Learned, answer_is_lost: bool) {
        let Some(held) = &mut scene.held else { return };
        self.look(held);
        let outcome = match learned {
            Learned::Confirmed => Outcome::Confirmed { destination_reference: record(attempt) },
            Learned::Failed => Outcome::Failed { reason: "the destination refused it".to_owned() },
            Learned::Unknown => Outcome::Unknown { reason: "no answer".to_owned() },
        };
        let standing = if held.attempt == attempt {
            Standing::Latest
        } else {
            Standing::Earlier { attempt: u32::try_from(attempt).unwrap() }
        };
        self.happens(held, &Event::Reported { at: now(), outcome, standing });
        if learned == Learned::Unknown {
            // A write was possible until now.
            (held.is_final, held.has_negative) = (false, false);
        }
        if !answer_is_lost {
            scene.workers[worker] = Worker::Idle;
        }
    }

    /// What a look saw reaches the guard.
    fn take_in(&self, scene: &mut Scene, look: Look) {
        let Some(held) = &mut scene.held else { return };
        let finding = match look.saw {
            None => Finding::Absent,
            Some(_) if look.saw_several => Finding::Several { destination_references: Vec::new() },
            Some(attempt) => Finding::Found { destination_reference: record(attempt) },
        };
        let mut absence = None;
        if held.state == StateName::Unknown {
            let last_write_at = now() - FINALITY * 3;
            let mut recovery = Recovery::starting(OperationId::from_u128(1), "ledger".to_owned(), now(), last_write_at);
            recovery.first_negative_at = held.has_negative.then(|| now() - FINALITY);
            let asked_at = if look.was_final { now() } else { last_write_at };
            let step = (self.prove)(&recovery, &finding, asked_at);
            held.has_negative = step.recovery.first_negative_at.is_some();
            absence = step.absence;
        }
        self.happens(held, &Event::LookedUp { at: now(), finding, absence });
    }

    fn resolve(&self, scene: &mut Scene, resolution: Resolution) {
        let Some(held) = &mut scene.held else { return };
        let is_dropped = matches!(resolution, Resolution::Dropped { .. });
        let is_done = self.happens(held, &Event::Resolved { at: now(), resolution });
        held.was_dropped |= is_dropped && is_done;
    }
}

/// The worker no longer knows the value under which it began.
fn forget_begin(scene: &mut Scene, worker: usize) {
    if let Some(held) = scene.held.as_mut().filter(|held| held.begun_by == Some(worker)) {
        held.begun_by = None;
    }
}

impl Model for Drama {
    type State = Scene;
    type Action = Action;

    fn init_states(&self) -> Vec<Scene> {
        vec![Scene {
            held: None,
            workers: [Worker::Idle; 2],
            requests: [None; ATTEMPTS_MAX],
            shown: [false; ATTEMPTS_MAX],
            look: None,
            was_misled: false,
        }]
    }

    fn actions(&self, scene: &Scene, actions: &mut Vec<Action>) {
        for worker in 0..2 {
            let either = [false, true];
            match scene.workers[worker] {
                Worker::Idle | Worker::Asking => {
                    actions.extend(either.map(|answer_is_lost| Action::Begin { worker, answer_is_lost }));
                }
                Worker::Permitted(_) if self.is_two_step => {
                    actions.extend(either.map(|answer_is_lost| Action::Mark { worker, answer_is_lost }));
                }
                Worker::Permitted(_) | Worker::Marked(_) => actions.push(Action::Send { worker }),
                Worker::Waiting(attempt) => {
                    if matches!(scene.requests[attempt], Some(Request::Applied | Request::Refused)) {
                        actions.push(Action::Answer { worker });
                    }
                    actions.push(Action::TimeOut { worker });
                }
                Worker::Knows(..) => {
                    actions.extend(either.map(|answer_is_lost| Action::Report { worker, answer_is_lost }));
                }
                Worker::Gone => {}
            }
            if !matches!(scene.workers[worker], Worker::Idle | Worker::Gone) {
                actions.extend(either.map(|comes_back| Action::Crash { worker, comes_back }));
            }
        }
        for (attempt, request) in scene.requests.iter().enumerate() {
            if *request == Some(Request::InFlight) {
                let fates = [Request::Applied, Request::Refused, Request::Lost];
                actions.extend(fates.map(|becomes| Action::Arrive { attempt, becomes }));
            }
        }
        for (attempt, request) in scene.requests.iter().enumerate() {
            if *request == Some(Request::Applied) && !scene.shown[attempt] {
                actions.push(Action::Appear { attempt });
            }
        }
        if scene.look.is_some() {
            actions.push(Action::TakeIn);
        }
        let Some(held) = &scene.held else { return };
        if held.state == StateName::Unknown {
            if scene.look.is_none() {
                actions.push(Action::LookAt { is_misled: false });
                if !scene.was_misled && scene.shown.contains(&true) {
                    actions.push(Action::LookAt { is_misled: true });
                }
            }
            // At any moment: whoever drops it need not know what is under way.
            actions.push(Action::PersonDrops);
            if !held.is_final && scene.written() == scene.shows() && !scene.can_anything_arrive(self.is_two_step) {
                actions.push(Action::WindowEnds);
            }
        }
        if matches!(held.state, StateName::Acquired | StateName::Sending) {
            actions.push(if held.is_over { Action::Notice } else { Action::LeaseEnds });
        }
        if held.state().is_uncertain() {
            for (attempt, request) in scene.requests.iter().enumerate() {
                if *request == Some(Request::Applied) {
                    actions.push(Action::PersonConfirms { attempt });
                }
            }
            let is_sure = match self.person {
                Person::Patient => !scene.can_anything_arrive(self.is_two_step),
                Person::Hasty => true,
            };
            if scene.written() == 0 && is_sure {
                actions.push(Action::PersonDenies);
            }
        }
    }

    fn next_state(&self, last: &Scene, action: Action) -> Option<Scene> {
        let mut scene = last.clone();
        match action {
            Action::Begin { worker, answer_is_lost } => self.begin(&mut scene, worker, answer_is_lost),
            Action::Mark { worker, answer_is_lost } => {
                let Worker::Permitted(attempt) = scene.workers[worker] else { return None };
                self.mark(&mut scene, worker, attempt, answer_is_lost);
            }
            Action::Send { worker } => {
                let attempt = scene.may_send(worker, self.is_two_step)?;
                scene.requests[attempt] = Some(Request::InFlight);
                scene.workers[worker] = Worker::Waiting(attempt);
            }
            Action::Arrive { attempt, becomes } => scene.requests[attempt] = Some(becomes),
            Action::Answer { worker } => {
                let Worker::Waiting(attempt) = scene.workers[worker] else { return None };
                let learned = match scene.requests[attempt]? {
                    Request::Applied => Learned::Confirmed,
                    Request::Refused => Learned::Failed,
                    Request::InFlight | Request::Lost => return None,
                };
                scene.workers[worker] = Worker::Knows(attempt, learned);
            }
            Action::TimeOut { worker } => {
                let Worker::Waiting(attempt) = scene.workers[worker] else { return None };
                scene.workers[worker] = Worker::Knows(attempt, Learned::Unknown);
            }
            Action::Report { worker, answer_is_lost } => {
                let Worker::Knows(attempt, learned) = scene.workers[worker] else { return None };
                self.report(&mut scene, worker, attempt, learned, answer_is_lost);
            }
            Action::Crash { worker, comes_back } => {
                forget_begin(&mut scene, worker);
                scene.workers[worker] = if comes_back { Worker::Idle } else { Worker::Gone };
            }
            Action::LeaseEnds => scene.held.as_mut()?.is_over = true,
            Action::Notice => self.look(scene.held.as_mut()?),
            Action::Appear { attempt } => scene.shown[attempt] = true,
            Action::WindowEnds => scene.held.as_mut()?.is_final = true,
            Action::LookAt { is_misled } => {
                let mut seen = scene.shown.iter().enumerate().filter(|(_, is_shown)| **is_shown).map(|(seen, _)| seen);
                let saw = seen.next().filter(|_| !is_misled);
                let saw_several = seen.next().is_some() && !is_misled;
                scene.look = Some(Look { saw, saw_several, was_final: scene.held?.is_final });
                scene.was_misled |= is_misled;
            }
            Action::TakeIn => {
                let look = scene.look.take()?;
                self.take_in(&mut scene, look);
            }
            Action::PersonConfirms { attempt } => {
                self.resolve(&mut scene, Resolution::Confirmed { destination_reference: record(attempt) });
            }
            Action::PersonDenies => self.resolve(&mut scene, Resolution::NotApplied { reason: "searched".to_owned() }),
            Action::PersonDrops => self.resolve(&mut scene, Resolution::Dropped { reason: "too late".to_owned() }),
        }
        // A look counts for the window after which it was begun; a later write begins a new one.
        let is_final = scene.held.is_some_and(|held| held.is_final);
        if let Some(look) = scene.look.as_mut().filter(|_| !is_final) {
            look.was_final = false;
        }
        (scene != *last).then_some(scene)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NOT_DOUBLED, |_, scene: &Scene| scene.written() <= 1),
            Property::always("released is true", |drama: &Self, scene: &Scene| {
                let is_released = scene.held.is_some_and(|held| held.state == StateName::Released);
                !is_released || (scene.written() == 0 && !scene.can_anything_arrive(drama.is_two_step))
            }),
            Property::always("confirmed is true", |_, scene: &Scene| {
                let is_confirmed = scene.held.is_some_and(|held| held.state == StateName::Confirmed);
                !is_confirmed || scene.written() == 1
            }),
            Property::always("no confirmation is contradicted where all tell the truth", |_, scene: &Scene| {
                scene
                    .held
                    .is_none_or(|held| held.state != StateName::Disputed || held.record.is_none() || held.was_dropped)
            }),
            Property::sometimes("what was dropped turns out to be applied", |_, scene: &Scene| {
                scene.held.is_some_and(|held| held.was_dropped && held.state == StateName::Disputed)
            }),
            Property::sometimes("a worker doubts what a person decided", |_, scene: &Scene| {
                scene.held.is_some_and(|held| held.state == StateName::Disputed)
            }),
            Property::sometimes("it is done at the first attempt", |_, scene: &Scene| {
                scene.held.is_some_and(|held| held.state == StateName::Confirmed && held.attempt == 0)
            }),
            Property::sometimes("it is done at the last attempt, after every kind of proof", |_, scene: &Scene| {
                scene.held.is_some_and(|held| held.state == StateName::Confirmed && held.attempt + 1 == ATTEMPTS_MAX)
            }),
            Property::always("failed is true", |drama: &Self, scene: &Scene| {
                let is_failed = scene.held.is_some_and(|held| held.state == StateName::Failed);
                drama.person == Person::Hasty || !is_failed || scene.written() == 0
            }),
            Property::sometimes("a lookup finds what the network lost", |_, scene: &Scene| {
                let is_confirmed = scene.held.is_some_and(|held| held.state == StateName::Confirmed);
                is_confirmed && scene.workers == [Worker::Gone; 2]
            }),
            Property::sometimes("a worker reports late", |_, scene: &Scene| {
                let attempt = scene.held.map_or(0, |held| held.attempt);
                scene.workers.iter().any(|worker| matches!(worker, Worker::Knows(earlier, _) if *earlier < attempt))
            }),
            Property::sometimes("a request outlives its lease", |_, scene: &Scene| {
                let is_unknown = scene.held.is_some_and(|held| held.state == StateName::Unknown);
                is_unknown && scene.is_in_flight()
            }),
        ]
    }
}

const NOT_DOUBLED: &str = "no effect is doubled";

/// Walks through everything, and expects that every property holds.
fn holds(drama: Drama) {
    let started = Instant::now();
    let checker = drama.checker().threads(2).timeout(Duration::from_secs(CHECK_SECONDS_MAX)).spawn_bfs().join();
    assert!(started.elapsed() < Duration::from_secs(CHECK_SECONDS_MAX), "{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 1_000, "only {} states", checker.unique_state_count());
    checker.assert_properties();
}

/// Walks until it finds how the effect is doubled; answers the steps that led there.
fn is_doubled(drama: Drama) -> Vec<Action> {
    let found = HasDiscoveries::AnyOf(BTreeSet::from([NOT_DOUBLED]));
    let checker = drama
        .checker()
        .threads(2)
        .finish_when(found)
        .timeout(Duration::from_secs(CHECK_SECONDS_MAX))
        .spawn_bfs()
        .join();
    let path = checker.discovery(NOT_DOUBLED).expect("a way in which the effect is doubled");
    path.into_actions()
}

#[test]
fn no_effect_is_doubled_in_one_step() {
    holds(Drama::with(false));
}

#[test]
fn no_effect_is_doubled_in_two_steps() {
    holds(Drama::with(true));
}

/// A lease that ends while a request may be under way is no proof: were it taken for one, the checker finds the second record.
#[test]
fn the_checker_finds_a_lease_taken_for_proof() {
    let after = |state: &State, event: &Event| match (state, event) {
        (State::Sending { .. }, Event::LeaseExpired { at }) => Ok(State::Released { since: *at }),
        _ => state.after(event),
    };
    for is_two_step in [false, true] {
        let steps = is_doubled(Drama { after, ..Drama::with(is_two_step) });
        assert!(steps.contains(&Action::LeaseEnds), "{steps:?}");
    }
}

/// Were a mark taken after its lease had been released, the worker would send beside the next attempt.
#[test]
fn the_checker_finds_a_mark_that_comes_too_late() {
    let after = |state: &State, event: &Event| match (state, event) {
        (State::Released { .. }, Event::MarkedSending { .. }) => Ok(state.clone()),
        _ => state.after(event),
    };
    let steps = is_doubled(Drama { after, ..Drama::with(true) });
    assert!(steps.iter().any(|step| matches!(step, Action::Mark { .. })), "{steps:?}");
}

/// Were the key free after a person had dropped the operation, the effect is doubled: what was dropped may have been applied.
#[test]
fn the_checker_finds_a_drop_that_frees_the_key() {
    let after = |state: &State, event: &Event| match (state, event) {
        (State::Rejected { .. }, Event::Begun { at, lease_expires_at, two_step }) => {
            Ok(State::begun(*at, *lease_expires_at, *two_step))
        }
        _ => state.after(event),
    };
    let decide = |operation: &Operation, received: &Fingerprint, asker: Asker<'_>, at: Timestamp| {
        let verdict = decide(operation, received, asker, at);
        if verdict == Verdict::Rejected { Verdict::BeginAgain } else { verdict }
    };
    let steps = is_doubled(Drama { after, decide, ..Drama::with(false) });
    assert!(steps.contains(&Action::PersonDrops), "{steps:?}");
}

/// Were an uncertain operation begun again because time has passed, as queues do, the effect is doubled.
#[test]
fn the_checker_finds_a_blind_retry() {
    let after = |state: &State, event: &Event| match (state, event) {
        (State::Unknown { .. }, Event::Begun { at, lease_expires_at, two_step }) => {
            Ok(State::begun(*at, *lease_expires_at, *two_step))
        }
        _ => state.after(event),
    };
    let decide = |operation: &Operation, received: &Fingerprint, asker: Asker<'_>, at: Timestamp| {
        let verdict = decide(operation, received, asker, at);
        if verdict == Verdict::Unknown { Verdict::BeginAgain } else { verdict }
    };
    is_doubled(Drama { after, decide, ..Drama::with(false) });
}

/// A lookup in vain before the window is over proves nothing: the record may still be on its way, or not be shown yet.
#[test]
fn the_checker_finds_a_lookup_that_is_believed_too_early() {
    let prove = |recovery: &Recovery, finding: &Finding, _: Timestamp| prove(recovery, finding, now());
    for is_two_step in [false, true] {
        let steps = is_doubled(Drama { prove, ..Drama::with(is_two_step) });
        assert!(!steps.contains(&Action::WindowEnds) && !steps.contains(&Action::PersonDenies), "{steps:?}");
    }
}

/// One lookup in vain is not enough: a replica may be behind.
#[test]
fn the_checker_finds_one_lookup_taken_for_proof() {
    let prove = |recovery: &Recovery, finding: &Finding, asked_at: Timestamp| {
        let doubted = Recovery { first_negative_at: Some(now() - FINALITY), ..recovery.clone() };
        prove(&doubted, finding, asked_at)
    };
    let steps = is_doubled(Drama { prove, ..Drama::with(false) });
    assert!(steps.contains(&Action::LookAt { is_misled: true }), "{steps:?}");
}

/// Were absence believed without proof, or a failed operation kept though its record is found, the effect is doubled.
#[test]
fn the_checker_finds_absence_without_proof() {
    let after = |state: &State, event: &Event| match (state, event) {
        (State::Unknown { .. }, Event::LookedUp { at, finding: Finding::Absent, .. }) => {
            Ok(State::Failed { since: *at, reason: "not there".to_owned() })
        }
        _ => state.after(event),
    };
    let steps = is_doubled(Drama { after, ..Drama::with(false) });
    assert!(steps.contains(&Action::TakeIn), "{steps:?}");
}

/// What no guard can mend: somebody says "not applied" while the request is still on its way, or its worker still asleep. The
/// documentation tells people so, and a late report makes the operation disputed.
#[test]
fn a_hasty_decision_can_double_the_effect() {
    for is_two_step in [false, true] {
        let steps = is_doubled(Drama { person: Person::Hasty, ..Drama::with(is_two_step) });
        assert!(steps.contains(&Action::PersonDenies), "{steps:?}");
    }
}
