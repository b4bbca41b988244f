//! Who is told of what waits: once for a group, again only when it has grown, and never of another company.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "support/world.rs"]
mod world;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::notification::{About, Attempt, Channel, Delivery, Kind, Mail, Message, Secret, Tls, Webhook};
use guard::person::Role;
use guard::recovery::Claim;
use guard::service::{Definitions, Proposer};
use guard::token::{Reach, Scope};
use guard::workflow::{AmendmentRules, Correction, ReviewRules, Workflow};
use world::{Fault, HANDOFF, World, handoff, payload};

const MINUTE: i64 = 60;

/// What is uncertain for half an hour is told.
fn watched() -> Workflow {
    let amendment = AmendmentRules {
        amendable: vec!["/amount".parse().unwrap()],
        before_reconciliation: Correction::Amend,
        tell: vec!["Books@acme.example".to_owned()],
        ..AmendmentRules::default()
    };
    let review = ReviewRules { late_after_minutes: Some(30), ..ReviewRules::default() };
    Workflow { review, amendment, ..handoff() }
}

fn hook(name: &str, kinds: &[Kind], companies: &[&str]) -> Channel {
    let secret = |text: &str| Secret(text.to_owned());
    Channel {
        name: name.to_owned(),
        kinds: kinds.to_vec(),
        companies: companies.iter().map(|&name| name.to_owned()).collect(),
        workflows: Vec::new(),
        quiet_minutes: 60,
        webhook: Some(Webhook { url: secret("http://127.0.0.1:1"), secrets: vec![secret("env:HOOK")] }),
        mail: None,
    }
}

fn mail(name: &str, to: &[&str]) -> Channel {
    let mail = Mail {
        server: "127.0.0.1:1".to_owned(),
        tls: Tls::None,
        user: None,
        password: None,
        from: "onceover@acme.example".to_owned(),
        to: to.iter().map(|&address| address.to_owned()).collect(),
    };
    Channel { webhook: None, mail: Some(mail), ..hook(name, &[Kind::AmendmentWaiting], &[]) }
}

async fn world(channels: Vec<Channel>) -> World {
    let world = World::new().await;
    let definitions = Definitions { workflows: vec![watched()], channels, ..Definitions::default() };
    world.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    world
}

/// Makes so many operations of a company unknown.
async fn unknown(world: &World, company: &str, documents: std::ops::Range<u32>) {
    let name = format!("{company}-{}", documents.start);
    let worker = world.worker(&name).await;
    for number in documents {
        let permit = worker.asks(&format!("{company}-{number}")).in_company(company).permit().await;
        worker.is_unsure(&permit, "the connection was lost").await.unwrap();
    }
}

/// Takes what is on its way, as a process that delivers it does.
async fn taken(world: &World) -> Vec<Message> {
    let claim = Claim { by: "here".to_owned(), until: world.guard.now() + TimeDelta::minutes(1) };
    let messages = world.guard.claim_messages(&claim, 100).await.unwrap();
    for message in &messages {
        let settled = world.guard.message_settled(message, "here", Some(&Delivery::Delivered)).await.unwrap();
        assert_eq!(settled, Attempt::Delivered);
    }
    messages
}

#[tokio::test]
async fn a_group_is_told_once_and_again_when_it_grew_and_the_quiet_time_is_over() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    unknown(&world, "acme", 0..7).await;
    world.clock.advance(30 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "not yet: what was stored this very moment may be missing");
    world.clock.advance(6);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1, "one message for all");
    let told = taken(&world).await;
    let facts = &told[0].facts;
    assert_eq!((facts.count, facts.new, facts.is_again), (7, 7, false));
    assert_eq!(facts.money[0].amount.to_string(), "826.00");
    for _ in 0..3 {
        assert_eq!(world.guard.tell_news().await.unwrap(), 0, "told once");
        assert_eq!(world.another_process().await.tell_news().await.unwrap(), 0, "after a restart, too");
        world.clock.advance(MINUTE);
    }

    unknown(&world, "acme", 7..9).await;
    world.clock.advance(31 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "it has grown, and is quiet");
    world.clock.advance(30 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1);
    let facts = &taken(&world).await[0].facts;
    assert_eq!((facts.count, facts.new, facts.is_again), (9, 2, true));
    world.clock.advance(24 * 60 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "nothing is new, however long it lasts");
}

#[tokio::test]
async fn what_is_over_is_forgotten_after_the_quiet_time() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    let worker = world.worker("billing").await;
    let permit = worker.owns("1").await;
    worker.is_unsure(&permit, "the connection was lost").await.unwrap();
    world.clock.advance(31 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1);
    worker.confirms(&permit, "task-1").await.unwrap();
    world.clock.advance(61 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0);

    unknown(&world, "acme", 0..1).await;
    world.clock.advance(31 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1);
    let facts = &taken(&world).await[1].facts;
    assert_eq!((facts.count, facts.is_again), (1, false), "another story");
}

#[tokio::test]
async fn what_is_kept_waiting_is_told_when_the_wait_is_over() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    let worker = world.worker("billing").await;
    let permit = worker.owns("1").await;
    let operation = worker.is_unsure(&permit, "the connection was lost").await.unwrap();
    let until = world.guard.now() + TimeDelta::hours(2);
    let person = world.operator().person;
    world.guard.keep_waiting(&person, operation.id, operation.version, until, "they answer at noon").await.unwrap();
    world.clock.advance(60 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "somebody decided to wait");
    world.clock.advance(61 * MINUTE);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1);
}

#[tokio::test]
async fn a_channel_of_a_company_never_tells_of_another() {
    let all = Kind::ALL;
    let channels = vec![hook("acme", &all, &["acme"]), hook("every", &all, &[]), hook("nobody", &all, &["void"])];
    let world = world(channels).await;
    unknown(&world, "acme", 0..5).await;
    unknown(&world, "elsewhere", 0..6).await;
    world.clock.advance(31 * MINUTE);
    world.guard.tell_news().await.unwrap();
    let told = taken(&world).await;
    let count = |channel: &str| {
        let of_it = told.iter().filter(|message| message.channel == channel);
        let said = of_it.map(|message| (message.facts.kind(), message.facts.count, message.facts.company.clone()));
        said.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let acme = Some("acme".to_owned());
    assert_eq!(count("acme"), [("incident.opened", 5, acme.clone()), ("unknown.overdue", 5, acme)]);
    assert_eq!(count("every"), [("incident.opened", 11, None), ("unknown.overdue", 11, None)]);
    assert_eq!(count("nobody"), []);
}

#[tokio::test]
async fn an_incident_is_one_message_for_its_cause() {
    let world = world(vec![hook("operations", &[Kind::IncidentOpened], &[])]).await;
    unknown(&world, "acme", 0..4).await;
    world.clock.advance(10);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "too few");
    unknown(&world, "acme", 4..12).await;
    world.clock.advance(10);
    assert_eq!(world.guard.tell_news().await.unwrap(), 1);
    let told = taken(&world).await;
    let About::Incident { destination, cause } = &told[0].facts.about else { panic!("{told:?}") };
    assert_eq!((&**destination, &**cause, told[0].facts.count), (HANDOFF, "the connection was lost", 12));
}

#[tokio::test]
async fn amendments_are_told_to_the_channel_and_to_whom_the_workflow_names() {
    let channels = vec![mail("books", &["Ada@acme.example", "books@acme.example"]), hook("chat", &Kind::ALL, &[])];
    let world = world(channels).await;
    let worker = world.worker("billing").await;
    let scopes = BTreeSet::from([Scope::AmendmentsPropose]);
    let made = world.guard.create_token("proposing", scopes, Reach::EVERYTHING, &Actor::CommandLine).await;
    let token = made.unwrap().0;
    for document in ["1", "2", "3"] {
        let permit = worker.owns(document).await;
        let base = worker.confirms(&permit, "task-907").await.unwrap().id;
        let change = payload(r#"{"amount":"236.00","currency":"INR"}"#);
        world.guard.propose(Proposer::Token(&token), base, change, "quantity changed", None, None).await.unwrap();
    }
    world.clock.advance(10);
    assert_eq!(world.guard.tell_news().await.unwrap(), 3, "one message for all three, to each who is told");
    let told = taken(&world).await;
    let mut to: Vec<_> = told.iter().map(|message| (message.channel.as_str(), message.recipient.as_deref())).collect();
    to.sort_unstable();
    assert_eq!(
        to,
        [("books", Some("ada@acme.example")), ("books", Some("books@acme.example")), ("chat", None)],
        "nobody twice"
    );
    assert!(told.iter().all(|message| message.facts.count == 3 && message.facts.kind() == "amendment.waiting"));
    assert_eq!(told[0].facts.sentence(), "3 amendments of handoff wait for approval, 708.00 INR");
}

#[tokio::test]
async fn of_two_processes_that_look_at_once_one_tells() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    unknown(&world, "acme", 0..3).await;
    world.clock.advance(31 * MINUTE);
    let other = world.another_process().await;
    world.memory.disturb(1, Fault::meanwhile(async move { assert_eq!(other.tell_news().await.unwrap(), 1) }));
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "somebody else told it");
    assert_eq!(taken(&world).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_not_taken_is_tried_until_it_is_given_up() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    unknown(&world, "acme", 0..1).await;
    world.clock.advance(31 * MINUTE);
    world.guard.tell_news().await.unwrap();
    let mut ids = BTreeSet::new();
    let mut tries = 0;
    loop {
        let claim = Claim { by: "here".to_owned(), until: world.guard.now() + TimeDelta::minutes(1) };
        let messages = world.guard.claim_messages(&claim, 100).await.unwrap();
        if let [message] = messages.as_slice() {
            let other = Claim { by: "other".to_owned(), ..claim };
            assert_eq!(world.guard.claim_messages(&other, 100).await.unwrap(), [], "somebody has it");
            ids.insert(message.id);
            tries += 1;
            let failed = Delivery::Failed("answered 500".to_owned());
            let attempt = world.guard.message_settled(message, "here", Some(&failed)).await.unwrap();
            if attempt != Attempt::Failed("answered 500".to_owned()) {
                assert_eq!(attempt, Attempt::GivenUp("answered 500".to_owned()));
                break;
            }
        }
        world.clock.advance(MINUTE);
    }
    assert_eq!(ids.len(), 1, "the id stays the same");
    assert!((20..=40).contains(&tries), "{tries}");
    let state = &world.guard.channel_states().await.unwrap()[0];
    assert_eq!((state.given_up, state.failed, state.is_failing()), (1, tries - 1, true));
    assert_eq!(world.guard.messages_waiting().await.unwrap(), 0);
}

#[tokio::test]
async fn a_receiver_that_wants_nothing_more_switches_its_channel_off_until_somebody_acts() {
    let channel = hook("operations", &[Kind::UnknownOverdue], &[]);
    let world = world(vec![channel.clone()]).await;
    unknown(&world, "acme", 0..1).await;
    world.clock.advance(31 * MINUTE);
    world.guard.tell_news().await.unwrap();
    let claim = || Claim { by: "here".to_owned(), until: world.guard.now() + TimeDelta::minutes(1) };
    let messages = world.guard.claim_messages(&claim(), 100).await.unwrap();
    let gone = Delivery::Gone("answered 410".to_owned());
    world.guard.message_settled(&messages[0], "here", Some(&gone)).await.unwrap();
    world.clock.advance(60 * MINUTE);
    assert_eq!(world.guard.claim_messages(&claim(), 100).await.unwrap(), [], "nothing is sent there");

    let admin = Actor::Person { email: "ada@example.test".to_owned() };
    assert_eq!(world.person(Role::Admin).person.role, Role::Admin);
    world.guard.channel_tested(&admin, &channel, &Delivery::Delivered).await.unwrap();
    let again = world.guard.claim_messages(&claim(), 100).await.unwrap();
    assert_eq!(again.iter().map(|message| message.id).collect::<Vec<_>>(), [messages[0].id], "it was kept");
    world.guard.message_settled(&again[0], "here", Some(&gone)).await.unwrap();

    let changed = Channel { quiet_minutes: 61, ..channel };
    let definitions = Definitions { workflows: vec![watched()], channels: vec![changed], ..Definitions::default() };
    world.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    assert!(world.guard.channel_states().await.unwrap()[0].switched_off.is_none(), "it is another channel now");
    world.clock.advance(60 * MINUTE);
    assert_eq!(world.guard.claim_messages(&claim(), 100).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_message_whose_channel_was_taken_out_is_given_up() {
    let world = world(vec![hook("operations", &[Kind::UnknownOverdue], &[])]).await;
    unknown(&world, "acme", 0..1).await;
    world.clock.advance(31 * MINUTE);
    world.guard.tell_news().await.unwrap();
    let definitions = Definitions { workflows: vec![watched()], ..Definitions::default() };
    world.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    let claim = Claim { by: "here".to_owned(), until: world.guard.now() + TimeDelta::minutes(1) };
    let messages = world.guard.claim_messages(&claim, 100).await.unwrap();
    assert_eq!(world.guard.channel_of(&messages[0]), None);
    let settled = world.guard.message_settled(&messages[0], "here", None).await.unwrap();
    assert!(matches!(settled, Attempt::GivenUp(_)), "{settled:?}");
    assert_eq!(world.guard.messages_waiting().await.unwrap(), 0);
    assert_eq!(world.guard.tell_news().await.unwrap(), 0, "what it was told is forgotten with it");
}
