//! People decide what is uncertain, and look at what there is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::event::{REPORT_TEXT_CHARACTERS_MAX, Resolution};
use guard::id::OperationId;
use guard::json::Json;
use guard::person::Role;
use guard::queue::{Cursor, Filter, Order, PAGE_ROWS_MAX, PageRequest};
use guard::refusal::{Refusal, StoreFault};
use guard::review::Ruling;
use guard::state::{State, StateName};
use guard::summary::Counted;
use guard::token::Reach;
use guard::trail::EntryKind;
use world::{Fault, Permit, Worker, World, assert_chain, dropped, not_applied, ruling, start, unknown};

/// An operation whose worker was never heard of again.
async fn uncertain(world: &World, worker: &Worker, document: &str) -> OperationId {
    let permit = worker.owns(document).await;
    world.clock.advance(60);
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
    permit.id
}

fn page(limit: u32) -> PageRequest {
    PageRequest { cursor: None, limit }
}

#[tokio::test]
async fn a_person_settles_it_either_way() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let found = uncertain(&world, &billing, "order-1").await;
    let settled = ada.confirms(found, "task-907").await.unwrap();
    assert_eq!((settled.before, settled.operation.state.name()), (StateName::Unknown, StateName::Confirmed));
    assert_eq!(billing.asks("order-1").hears().await, "replay");

    let absent = uncertain(&world, &billing, "order-2").await;
    let settled = ada.denies(absent).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Failed);
    assert_eq!(billing.owns("order-2").await.attempt, 2);

    let history = world.guard.history(&Reach::EVERYTHING, found).await.unwrap();
    assert_eq!(history.evidence.len(), 1);
    assert_eq!(history.evidence[0].note, "looked in the ledger");
    let entry = history.entries.last().unwrap();
    assert_eq!((entry.kind.as_str(), entry.actor.to_string().as_str()), ("resolved", "person:ada@example.test"));
    assert_chain(&world.operation(found).await, &history.entries);
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Confirmed)), 1);
}

#[tokio::test]
async fn a_decision_on_an_old_page_names_who_was_first() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let id = uncertain(&world, &billing, "order-1").await;
    let seen = world.operation(id).await.version;
    world.clock.advance(10);
    ada.confirms(id, "task-1").await.unwrap();
    let before = world.memory.snapshot();
    let refusal = ada.decides_on(id, seen, not_applied()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"meanwhile it is confirmed: changed by person:ada@example.test at 2026-03-01T09:01:10.000Z");
    assert_eq!(world.memory.snapshot(), before);
}

#[tokio::test]
async fn a_worker_that_answers_while_the_person_decides_wins() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    world.clock.advance(60);
    let (worker, late) = (billing.clone(), permit.clone());
    world.memory.disturb(
        2,
        Fault::meanwhile(async move {
            worker.confirms(&late, "task-1").await.unwrap();
        }),
    );
    let refusal = ada.denies(permit.id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"meanwhile it is confirmed: changed by token:billing/billing-1 at 2026-03-01T09:01:00.000Z");
    assert_eq!(world.told(permit.id), ["begun", "expired", "reported"]);
}

#[tokio::test]
async fn what_is_certain_is_not_decided() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    let refusal = ada.denies(permit.id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is sending cannot be decided by a person");
    billing.confirms(&permit, "task-1").await.unwrap();
    let refusal = ada.denies(permit.id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is confirmed cannot be decided by a person");
}

#[tokio::test]
async fn roles_and_reach_are_asked_first() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let id = uncertain(&world, &billing, "order-1").await;
    for role in Role::ALL {
        let mut person = world.person(role);
        person.person.reach = Reach::over(["globex".to_owned()], []);
        let version = world.operation(id).await.version;
        let refusal = person.decides_on(id, version, not_applied()).await.unwrap_err().to_string();
        if role.may_resolve() {
            insta::allow_duplicates! { insta::assert_snapshot!(refusal, @"there is no such operation") };
        } else {
            insta::allow_duplicates! {
                insta::assert_snapshot!(refusal, @"not allowed: deciding needs the role operator or admin")
            };
        }
    }
    assert!(world.person(Role::Admin).denies(id).await.is_ok());
}

#[tokio::test]
async fn reasons_and_links_have_limits() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let id = uncertain(&world, &billing, "order-1").await;
    let version = world.operation(id).await.version;
    let before = world.memory.snapshot();
    let decide = async |resolution: Resolution, reason: &str, link: Option<&str>| {
        let ruling = ruling(&world.guard, version, resolution);
        let (reason, link) = (reason.to_owned(), link.map(ToOwned::to_owned));
        let ruling = Ruling { reason, link, ..ruling };
        world.guard.resolve(&ada.person, id, &ruling).await.unwrap_err().to_string()
    };
    let because = |reason: &str| Resolution::NotApplied { reason: reason.to_owned() };
    let found = |reference: &str| Resolution::Confirmed { destination_reference: reference.to_owned() };
    insta::assert_snapshot!(decide(not_applied(), " ", None).await, @"reason: is empty; it is needed here");
    insta::assert_snapshot!(decide(because(""), "x", None).await, @"reason: is empty; it is needed here");
    insta::assert_snapshot!(decide(because("a\0"), "x", None).await, @"reason: contains the character U+0000");
    insta::assert_snapshot!(decide(found(""), "x", None).await, @"destination_reference: is empty; it is needed here");
    let long = "x".repeat(REPORT_TEXT_CHARACTERS_MAX + 1);
    insta::assert_snapshot!(decide(not_applied(), &long, None).await, @"reason: has over 2000 characters");
    insta::assert_snapshot!(decide(not_applied(), "x", Some("javascript:alert(1)")).await, @"link: is no web address; it starts with https:// or http:// and holds no white space");
    insta::assert_snapshot!(decide(not_applied(), "x", Some("https://a b")).await, @"link: is no web address; it starts with https:// or http:// and holds no white space");
    assert_eq!(world.memory.snapshot(), before);
    insta::assert_snapshot!(decide(not_applied(), "x", Some(" ")).await, @"evidence: is needed, and somebody's word is none, also as a note. Give a file or a link");
}

#[tokio::test]
async fn a_disputed_key_is_not_freed_while_somebody_may_be_sending() {
    let world = World::new().await;
    let (w1, w2, ada) = (world.worker("w1").await, world.worker("w2").await, world.operator());
    let first = w1.owns("order-1").await;
    world.clock.advance(60);
    ada.denies(first.id).await.unwrap();
    let second = w2.asks("order-1").for_seconds(30).permit().await;
    world.clock.advance(5);
    w1.confirms(&first, "A").await.unwrap_err();
    assert_eq!(world.state(first.id).await, StateName::Disputed);

    let before = world.memory.snapshot();
    let refusal = ada.denies(first.id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is disputed cannot be decided as not applied before 2026-03-01T09:01:30.000Z: attempt 2 may be sending until then");
    assert_eq!(world.memory.snapshot(), before);
    world.clock.advance(25);
    ada.denies(first.id).await.expect("its lease is over");

    let third = w2.owns("order-1").await;
    w1.confirms(&first, "A again").await.unwrap_err();
    assert!(ada.denies(first.id).await.is_err());
    w2.fails(&third, "refused").await.unwrap_err();
    ada.denies(first.id).await.expect("its worker has told");

    w2.owns("order-1").await;
    w1.confirms(&first, "A once more").await.unwrap_err();
    ada.confirms(first.id, "A").await.expect("confirming frees no key");
    assert_eq!(second.attempt, 2);
}

#[tokio::test]
async fn a_person_who_confirms_a_revision_supersedes_the_one_before() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let first = billing.owns("order-1").await;
    billing.confirms(&first, "task-1").await.unwrap();
    let second = OperationId::from_u128(2);
    world.memory.force_revision(first.id, second, 2, State::Unknown { since: start(), reason: "why".to_owned() });
    ada.confirms(second, "task-2").await.unwrap();
    assert_eq!(billing.asks("order-1").hears().await, "superseded");
}

#[tokio::test]
async fn a_store_in_trouble_decides_nothing() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let id = uncertain(&world, &billing, "order-1").await;
    let before = world.memory.snapshot();
    world.memory.disturb(1, Fault::Fails(StoreFault::Full));
    assert_eq!(ada.denies(id).await, Err(Refusal::Store(StoreFault::Full)));
    assert_eq!(world.memory.snapshot(), before);
}

#[tokio::test]
async fn lists_are_paged_and_keep_their_filter() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(billing.owns(&format!("order-{number}")).await.id);
        world.clock.advance(1);
    }
    let list = async |filter: &Filter, order, request: &PageRequest| {
        let page = world.guard.operations(&Reach::EVERYTHING, filter, order, request).await.unwrap();
        (page.rows.iter().map(|operation| operation.id).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = list(&Filter::default(), Order::Newest, &page(3)).await;
    assert_eq!(first, [ids[4], ids[3], ids[2]]);
    billing.owns("order-5").await;
    let (second, end) = list(&Filter::default(), Order::Newest, &PageRequest { cursor: next, limit: 3 }).await;
    assert_eq!((second, end), (vec![ids[1], ids[0]], None), "a row that came in between moves nothing");

    world.clock.advance(56);
    let sending = Filter { states: vec![StateName::Sending], ..Filter::default() };
    let (rows, _) = list(&sending, Order::Newest, &page(10)).await;
    assert_eq!(rows.len(), 4, "two leases ended while the page was made: they are unknown, not sending");
    assert_eq!(world.guard.waiting(&Reach::EVERYTHING).await.unwrap().uncertain, 2);

    let refusal = async |request: PageRequest| {
        let filter = Filter::default();
        world.guard.operations(&Reach::EVERYTHING, &filter, Order::Newest, &request).await.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal(page(0)).await, @"limit: is 0; 1 to 500 are possible");
    insta::assert_snapshot!(refusal(page(PAGE_ROWS_MAX + 1)).await, @"limit: is 501; 1 to 500 are possible");
    let impossible = Filter { document: Some("order\0".to_owned()), ..Filter::default() };
    let refused = world.guard.operations(&Reach::EVERYTHING, &impossible, Order::Newest, &page(1)).await.unwrap_err();
    insta::assert_snapshot!(refused, @"document: contains the character U+0000");
    let wrong = PageRequest { cursor: Some(Cursor::from_text("x")), limit: 1 };
    insta::assert_snapshot!(refusal(wrong).await, @"cursor: is no cursor; take it from next_cursor of the page before");
}

#[tokio::test]
async fn a_long_history_tells_its_end() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    for _ in 0..PAGE_ROWS_MAX {
        world.clock.advance(20);
        billing.extends(&permit, 60).await.unwrap();
    }
    billing.confirms(&permit, "task-1").await.unwrap();
    let history = world.guard.history(&Reach::EVERYTHING, permit.id).await.unwrap();
    assert_eq!(history.entries.len(), PAGE_ROWS_MAX as usize);
    assert_eq!(history.entries.last().map(|entry| entry.kind.as_str()), Some("reported"));
}

#[tokio::test]
async fn a_history_tells_everything() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.asks("order-1").delivered_as("evt_9f2").hears().await;
    billing.asks("order-1").with(r#"{"amount":"1","currency":"INR"}"#).hears().await;
    let history = world.guard.history(&Reach::EVERYTHING, permit.id).await.unwrap();
    assert_eq!(history.operation.sentence, "create order-1 in acme");
    assert_eq!(history.payload.as_deref(), Some(r#"{"amount":"118.00","currency":"INR"}"#));
    assert_eq!(history.entries.len(), 2);
    assert_eq!(history.conflicts.len(), 1);
    let deliveries: Vec<&str> = history.deliveries.iter().map(|delivery| delivery.decision.as_str()).collect();
    assert_eq!(deliveries, ["conflict", "in_progress"]);
    assert_eq!(history.deliveries[1].delivery_id.as_deref(), Some("evt_9f2"));
    let shown = serde_json::to_string(&history).unwrap();
    assert!(!shown.contains(permit.lease.reveal()), "nobody is shown the secret of a lease");

    let everything = Reach::EVERYTHING;
    assert!(world.guard.payload(&everything, permit.id, 1).await.is_ok());
    for revision in [0, 2, u32::MAX] {
        let refusal = world.guard.payload(&everything, permit.id, revision).await.unwrap_err();
        insta::allow_duplicates! { insta::assert_snapshot!(refusal, @"there is no such revision") };
    }
    world.memory.forget_payload(permit.id);
    let refusal = world.guard.payload(&everything, permit.id, 1).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"there is no such payload");
    let elsewhere = Reach::over(["globex".to_owned()], []);
    for refusal in [
        world.guard.history(&elsewhere, permit.id).await.unwrap_err(),
        world.guard.entries(&elsewhere, permit.id, 0, 10).await.unwrap_err(),
        world.guard.payload(&elsewhere, permit.id, 1).await.map(|_| ()).unwrap_err(),
        world.guard.operation(&elsewhere, OperationId::from_u128(9)).await.map(|_| ()).unwrap_err(),
    ] {
        insta::allow_duplicates! { insta::assert_snapshot!(refusal, @"there is no such operation") };
    }
}

/// Drops an operation whose outcome is unknown, and answers its permit.
async fn drops(world: &World, worker: &Worker, document: &str) -> Permit {
    let permit = worker.owns(document).await;
    world.clock.advance(60);
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
    let settled = world.operator().decides(permit.id, dropped()).await.unwrap();
    assert_eq!((settled.before, world.state(permit.id).await), (StateName::Unknown, StateName::Rejected));
    permit
}

#[tokio::test]
async fn what_is_dropped_is_never_sent_again() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = drops(&world, &billing, "order-1").await;
    for _ in 0..3 {
        world.clock.advance(86_400);
        assert_eq!(billing.asks("order-1").hears().await, "rejected", "no age frees its key");
    }
    let entry = world.entries(permit.id).pop().unwrap();
    assert_eq!((entry.kind, entry.actor.to_string().as_str()), (EntryKind::Resolved, "person:ada@example.test"));
    assert_eq!(entry.detail.member("state").and_then(Json::as_str), Some("rejected"));
    let ada = world.operator();
    for anew in [dropped(), not_applied()] {
        let refusal = ada.decides(permit.id, anew).await.unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal, @"an operation that is rejected cannot be decided by a person");
        }
    }
}

#[tokio::test]
async fn only_a_record_brings_back_what_was_dropped() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let doubtful = drops(&world, &billing, "order-1").await;
    billing.reports(&doubtful, unknown("still no answer")).await.unwrap();
    assert_eq!(world.state(doubtful.id).await, StateName::Rejected, "nobody knew when it was dropped");
    billing.fails(&doubtful, "refused").await.unwrap();
    assert_eq!(world.state(doubtful.id).await, StateName::Rejected);

    let applied = drops(&world, &billing, "order-2").await;
    billing.confirms(&applied, "task-2").await.unwrap_err();
    let held = world.operation(applied.id).await;
    let State::Disputed { reason, destination_reference, .. } = held.state else { panic!("{:?}", held.state) };
    insta::assert_snapshot!(reason, @r#"dropped by a person (nobody can ask a mail server), and its worker reported it confirmed as "task-2""#);
    assert_eq!(destination_reference.as_deref(), Some("task-2"));
    let ada = world.operator();
    insta::assert_snapshot!(ada.decides(applied.id, dropped()).await.unwrap_err(), @"an operation that is disputed cannot be dropped; say whether it was applied");
    ada.confirms(applied.id, "task-2").await.unwrap();
    assert_eq!(billing.asks("order-2").hears().await, "replay");
}

#[tokio::test]
async fn the_effect_of_an_amendment_is_not_dropped() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let first = billing.owns("order-1").await;
    billing.confirms(&first, "task-1").await.unwrap();
    let second = OperationId::from_u128(2);
    world.memory.force_revision(first.id, second, 2, State::Unknown { since: start(), reason: "why".to_owned() });
    let refusal = ada.decides(second, dropped()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be dropped: it stands for an amendment. Say whether it was applied; then the amendment can be withdrawn");
    assert_eq!(world.state(second).await, StateName::Unknown);
}
