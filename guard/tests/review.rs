//! People settle what is uncertain: who is on it, and which pages are still true.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use std::sync::Arc;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::event::Resolution;
use guard::evidence::{EVIDENCE_PER_OPERATION_MAX, FILE_BYTES_MAX, FileHash, MediaType};
use guard::id::{OperationId, PersonId};
use guard::json::Json;
use guard::lookup::{AnswerClass, Finding, Looked};
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::review::{CLAIM_MINUTES, CLAIM_RENEWED_BELOW_MINUTES, KEEP_WAITING_DAYS_MAX, Look, Ruling};
use guard::service::NewEvidence;
use guard::state::StateName;
use guard::store::Store as _;
use guard::token::Reach;
use guard::triage::{Sort, TriageFilter};
use guard::veil::OPENED_MINUTES;
use guard::workflow::{ReviewRules, Workflow};
use world::{Operator, World, assert_chain, handoff, ledger, not_applied, ruling, start};

/// An operation whose worker was never heard of again.
async fn uncertain(world: &World, document: &str) -> OperationId {
    let permit = world.worker(&format!("billing of {document}")).await.owns(document).await;
    world.clock.advance(60);
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
    permit.id
}

fn somebody(world: &World, name: &str, role: Role) -> Operator {
    let person = Person {
        id: PersonId::new(start(), [9; 16]),
        email: format!("{name}@example.test"),
        role,
        reach: Reach::EVERYTHING,
    };
    Operator { guard: world.guard.clone(), person }
}

#[tokio::test]
async fn a_claim_tells_who_is_on_it_and_ends_by_itself() {
    let world = World::new().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    let claim = world.guard.claim(&ada.person, id).await.unwrap();
    assert_eq!(claim.until - world.guard.now(), TimeDelta::minutes(CLAIM_MINUTES));
    let shown = async || {
        let review = world.guard.reviews(&[world.operation(id).await]).await.unwrap().pop().flatten();
        review.and_then(|review| review.claim_at(world.guard.now()).cloned())
    };
    assert_eq!(shown().await, Some(claim.clone()));
    // Pressed twice: nothing more is told.
    assert_eq!(world.guard.claim(&ada.person, id).await.unwrap(), claim);
    assert_eq!(world.told(id), ["begun", "expired", "claimed"]);
    world.clock.advance(60 * (CLAIM_MINUTES - CLAIM_RENEWED_BELOW_MINUTES) + 1);
    let renewed = world.guard.claim(&ada.person, id).await.unwrap();
    assert!(renewed.until > claim.until);
    world.clock.advance(60 * CLAIM_MINUTES);
    assert_eq!(shown().await, None);
    assert_chain(&world.operation(id).await, &world.entries(id));
}

#[tokio::test]
async fn a_claim_is_taken_over_released_and_over_with_the_decision() {
    let world = World::new().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Admin));
    let id = uncertain(&world, "order-1").await;
    world.guard.claim(&ada.person, id).await.unwrap();
    let taken = world.guard.claim(&ben.person, id).await.unwrap();
    assert_eq!(taken.by, "ben@example.test");
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.detail.member("taken_from").and_then(Json::as_str), Some("ada@example.test"));
    assert_eq!(entry.detail.member("state").and_then(Json::as_str), Some("unknown"));

    // Who is not on it any more releases nothing.
    let before = world.memory.snapshot();
    world.guard.release_claim(&ada.person, id).await.unwrap();
    assert_eq!(world.memory.snapshot(), before);
    world.guard.release_claim(&ben.person, id).await.unwrap();
    world.guard.claim(&ada.person, id).await.unwrap();
    assert_eq!(world.told(id)[2..], ["claimed", "claimed", "claim_released", "claimed"]);

    // A claim of another keeps nobody from deciding.
    ben.confirms(id, "task-907").await.unwrap();
    assert_eq!(world.guard.reviews(&[world.operation(id).await]).await.unwrap(), [None]);
    let refusal = world.guard.claim(&ada.person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is confirmed cannot be claimed");
}

#[tokio::test]
async fn only_who_may_decide_may_claim_and_only_within_reach() {
    let world = World::new().await;
    let id = uncertain(&world, "order-1").await;
    for role in Role::ALL {
        let person = somebody(&world, "ada", role).person;
        assert_eq!(world.guard.claim(&person, id).await.is_ok(), role.may_resolve(), "{role:?}");
        let elsewhere = Person { reach: Reach::over(["globex".to_owned()], []), ..person };
        let refusal = world.guard.claim(&elsewhere, id).await.unwrap_err();
        assert_eq!(matches!(refusal, Refusal::NotFound { .. }), role.may_resolve(), "{role:?}: {refusal}");
    }
}

#[tokio::test]
async fn a_page_is_stale_only_by_what_a_decision_rests_on() {
    let world = World::new().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Operator));
    let id = uncertain(&world, "order-1").await;
    let seen = world.operation(id).await.version;
    world.guard.claim(&ben.person, id).await.unwrap();
    world.guard.release_claim(&ben.person, id).await.unwrap();
    let operation = world.operation(id).await;
    assert_eq!(operation.version, seen + 2);
    assert_eq!(world.guard.moved_since(&operation, seen).await, Ok(None));
    // From before the lease ended it is.
    let moved = world.guard.moved_since(&operation, seen - 1).await.unwrap().unwrap();
    assert_eq!(moved.kind.as_str(), "expired");
    let refusal = world.guard.moved_since(&operation, operation.version + 1).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"version: is none that this operation has had; open it again");

    let settled = ada.decides_on(id, seen, not_applied()).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Failed);
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.detail.member("seen_version").map(ToString::to_string), Some(seen.to_string()));
    let refusal = ben.decides_on(id, seen, not_applied()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"meanwhile it is failed: changed by person:ada@example.test at 2026-03-01T09:01:00.000Z");
}

fn because(ruling: Ruling, reason: &str) -> Ruling {
    Ruling { reason: reason.to_owned(), ..ruling }
}

fn confirmed(reference: &str) -> Resolution {
    Resolution::Confirmed { destination_reference: reference.to_owned() }
}

/// A world whose workflow's records can be looked for.
async fn asked_world() -> World {
    let world = World::new().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![ledger(Some(30))]).await;
    world
}

#[tokio::test]
async fn evidence_is_kept_with_its_hash_and_decides_nothing() {
    let world = World::new().await;
    let fay = somebody(&world, "fay", Role::Finance);
    let id = uncertain(&world, "order-1").await;
    let content: Arc<[u8]> = Arc::from(&b"%PDF-1.7 statement"[..]);
    let new = NewEvidence {
        note: " the bank shows it ".to_owned(),
        link: "https://bank.example/1".to_owned(),
        file: Some(("C:\\bank\\statement.pdf".to_owned(), Arc::clone(&content))),
    };
    let evidence = world.guard.add_evidence(&fay.person, id, &new).await.unwrap();
    assert_eq!((evidence.note.as_str(), world.state(id).await), ("the bank shows it", StateName::Unknown));
    let file = evidence.file.clone().unwrap();
    assert_eq!((file.name.as_str(), file.media_type, file.bytes), ("statement.pdf", MediaType::Pdf, 18));
    assert_eq!(file.sha256, FileHash::of(&content));
    let (read, bytes) = world.guard.evidence_file(&Reach::EVERYTHING, evidence.id).await.unwrap();
    assert_eq!((read, bytes), (file.clone(), content.to_vec()));
    let elsewhere = Reach::over(["globex".to_owned()], []);
    let refusal = world.guard.evidence_file(&elsewhere, evidence.id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"there is no such file");
    let entry = world.entries(id).pop().unwrap();
    let hash = entry.detail.member("file").and_then(|file| file.member("sha256")).and_then(Json::as_str);
    assert_eq!(hash, Some(file.sha256.to_string().as_str()));
    assert_chain(&world.operation(id).await, &world.entries(id));
}

#[tokio::test]
async fn evidence_has_limits_and_needs_a_role() {
    let world = World::new().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    for role in Role::ALL {
        let new = NewEvidence { note: role.as_str().to_owned(), ..NewEvidence::default() };
        let added = world.guard.add_evidence(&somebody(&world, "x", role).person, id, &new).await;
        assert_eq!(added.is_ok(), role.may_add_evidence(), "{role:?}");
    }
    let before = world.memory.snapshot();
    let refusal =
        async |new: NewEvidence| world.guard.add_evidence(&ada.person, id, &new).await.unwrap_err().to_string();
    let file = |name: &str, content: &[u8]| NewEvidence {
        file: Some((name.to_owned(), Arc::from(content))),
        ..NewEvidence::default()
    };
    insta::assert_snapshot!(refusal(NewEvidence::default()).await, @"note: is empty, and so are link and file; one of them is needed");
    insta::assert_snapshot!(refusal(file("page.html", b"<html>")).await, @"file: its name ends in none of: png, jpg, jpeg, webp, pdf, txt, log, csv, json, eml");
    insta::assert_snapshot!(refusal(file("scan.png", b"<svg>")).await, @r#"file: its name ends in "png", and its content is no image/png"#);
    insta::assert_snapshot!(refusal(file("a.txt", b"")).await, @"file: is empty");
    insta::assert_snapshot!(refusal(file("a.txt", &vec![b'x'; FILE_BYTES_MAX + 1])).await, @"file: has over 5 MiB; put it where others can see it, and give the link");
    assert_eq!(world.memory.snapshot(), before);
    for _ in 0..10 {
        let full = file("a.txt", &vec![b'x'; FILE_BYTES_MAX]);
        world.guard.add_evidence(&ada.person, id, &full).await.unwrap();
    }
    insta::assert_snapshot!(refusal(file("a.txt", b"x")).await, @"file: is too much: the files of an operation have up to 50 MiB together");
    for number in 13..EVIDENCE_PER_OPERATION_MAX {
        let note = NewEvidence { note: number.to_string(), ..NewEvidence::default() };
        world.guard.add_evidence(&ada.person, id, &note).await.unwrap();
    }
    let note = NewEvidence { note: "one more".to_owned(), ..NewEvidence::default() };
    insta::assert_snapshot!(refusal(note).await, @"note: is too much: an operation holds 100 pieces of evidence");
}

#[tokio::test]
async fn not_applied_needs_more_than_a_word() {
    let world = asked_world().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    world.clock.advance(30);
    let decide = async || {
        let version = world.operation(id).await.version;
        let ruling = Ruling { link: None, ..ruling(&world.guard, version, not_applied()) };
        world.guard.resolve(&ada.person, id, &ruling).await
    };
    assert!(matches!(decide().await.unwrap_err(), Refusal::InvalidField { field, .. } if field == "evidence"));
    let note = NewEvidence { note: "I am sure".to_owned(), ..NewEvidence::default() };
    world.guard.add_evidence(&ada.person, id, &note).await.unwrap();
    assert!(decide().await.is_err(), "a note alone is a word");
    // A lookup that showed nothing to go by is none either; one in vain is.
    let timeout = Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer".to_owned() };
    world.guard.looked_up(id, world.guard.now(), &looked(timeout)).await.unwrap();
    assert!(decide().await.is_err());
    world.guard.looked_up(id, world.guard.now(), &looked(Finding::Absent)).await.unwrap();
    assert_eq!(decide().await.unwrap().operation.state.name(), StateName::Failed);
}

#[tokio::test]
async fn a_file_is_evidence_that_comes_with_the_decision() {
    let world = asked_world().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    world.clock.advance(30);
    let version = world.operation(id).await.version;
    let with = |name: &str| {
        let file = Some((name.to_owned(), Arc::from(&b"%PDF-1.7 none"[..])));
        Ruling { link: None, file, ..ruling(&world.guard, version, not_applied()) }
    };
    let refusal = world.guard.resolve(&ada.person, id, &with("statement.html")).await.unwrap_err();
    assert!(matches!(refusal, Refusal::InvalidField { field, .. } if field == "file"));
    assert_eq!(world.operation(id).await.version, version, "nothing is kept of a refused one");
    world.guard.resolve(&ada.person, id, &with("statement.pdf")).await.unwrap();
    let held = world.guard.history(&Reach::EVERYTHING, id).await.unwrap();
    assert_eq!(held.operation.state.name(), StateName::Failed);
    assert_eq!(held.evidence.len(), 1, "one piece: the reason with its file");
    assert_eq!(held.evidence[0].file.as_ref().map(|file| file.name.as_str()), Some("statement.pdf"));
    let (_, content) = world.guard.evidence_file(&Reach::EVERYTHING, held.evidence[0].id).await.unwrap();
    assert_eq!(content, b"%PDF-1.7 none");
    assert!(held.entries.last().unwrap().detail.member("file").is_some(), "and the trail tells of it");
}

#[tokio::test]
async fn a_look_at_what_is_disputed_settles_nothing() {
    let world = asked_world().await;
    let (ada, vic) = (somebody(&world, "ada", Role::Operator), somebody(&world, "vic", Role::Viewer));
    let id = uncertain(&world, "order-1").await;
    let refusal = world.guard.may_look(&ada.person, &world.operation(id).await).unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be looked up");
    let several = Finding::Several { destination_references: vec!["task-1".to_owned(), "task-2".to_owned()] };
    world.guard.looked_up(id, world.guard.now(), &looked(several)).await.unwrap();
    assert_eq!(world.operation(id).await.state.name(), StateName::Disputed);
    assert!(matches!(world.guard.may_look(&vic.person, &world.operation(id).await), Err(Refusal::Forbidden { .. })));
    for finding in [Finding::Absent, Finding::Found { destination_reference: "task-1".to_owned() }] {
        let after = world.guard.looked_at(&ada.person, id, world.guard.now(), &looked(finding)).await.unwrap();
        assert_eq!(after.state.name(), StateName::Disputed);
    }
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.actor, Actor::Person { email: ada.person.email.clone() }, "in the name of who asked");
    let refused = world.guard.looked_at(&vic.person, id, world.guard.now(), &looked(Finding::Absent)).await;
    assert!(matches!(refused, Err(Refusal::Forbidden { .. })));
}

#[tokio::test]
async fn that_what_is_disputed_is_not_found_is_no_evidence() {
    let world = asked_world().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let worker = world.worker("billing").await;
    let permit = worker.owns("order-1").await;
    worker.fails(&permit, "refused: 422").await.unwrap();
    // It failed, and may be there all the same.
    world.clock.advance(30);
    let _ = worker.is_unsure(&permit, "no answer").await;
    assert_eq!(world.state(permit.id).await, StateName::Disputed);
    world.clock.advance(300);
    world.guard.looked_at(&ada.person, permit.id, world.guard.now(), &looked(Finding::Absent)).await.unwrap();
    assert!(world.guard.lacks_evidence(&world.operation(permit.id).await).await.unwrap().is_some());
    let sides = world.guard.sides(&Reach::EVERYTHING, permit.id).await.unwrap();
    assert_eq!(sides.shown.map(|entry| entry.at), Some(world.guard.now()), "it is shown all the same");
    assert!(sides.payload.is_some() && !sides.values.is_empty());
    let void = Finding::VoidOnly { destination_references: vec!["task-1".to_owned()] };
    world.guard.looked_at(&ada.person, permit.id, world.guard.now(), &looked(void)).await.unwrap();
    assert_eq!(world.guard.lacks_evidence(&world.operation(permit.id).await).await.unwrap(), None);
}

fn looked(finding: Finding) -> Looked {
    Looked {
        request: "GET /tasks".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 12,
        finding,
        candidates: Vec::new(),
    }
}

#[tokio::test]
async fn what_is_confirmed_is_looked_for_first() {
    let world = asked_world().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    let version = world.operation(id).await.version;
    let confirm = async |look: Option<Look>| {
        let ruling = Ruling { look, ..ruling(&world.guard, version, confirmed("task-907")) };
        world.guard.resolve(&ada.person, id, &ruling).await
    };
    let look = |finding: Finding, acknowledged: Option<&str>| {
        let acknowledged = acknowledged.map(ToOwned::to_owned);
        Some(Look { asked_at: world.guard.now(), looked: looked(finding), acknowledged })
    };
    insta::assert_snapshot!(confirm(None).await.unwrap_err(), @"destination_reference: was not looked for at the destination yet");
    let other = Finding::Found { destination_reference: "task-908".to_owned() };
    insta::assert_snapshot!(confirm(look(other, None)).await.unwrap_err(), @"the destination was asked: One live record carries it: task-908. If that is right all the same, acknowledge it and confirm again");
    let Err(Refusal::Unconfirmed { shown }) = confirm(look(Finding::Absent, None)).await else { panic!() };
    // What was acknowledged is not what it shows now.
    let several = Finding::Several { destination_references: vec!["task-1".to_owned(), "task-2".to_owned()] };
    assert!(confirm(look(several, Some(&shown))).await.is_err());
    let settled = confirm(look(Finding::Absent, Some(&shown))).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Confirmed);
    let told = world.entries(id).pop().unwrap().detail.member("look").cloned().unwrap();
    assert_eq!(told.member("finding").and_then(Json::as_str), Some("absent"));
    assert_eq!(told.member("acknowledged"), Some(&Json::Bool(true)));
}

#[tokio::test]
async fn what_is_kept_waiting_comes_back() {
    let world = World::new().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    world.guard.claim(&ada.person, id).await.unwrap();
    let version = world.operation(id).await.version;
    let wait = async |version: u64, span: TimeDelta, reason: &str| {
        world.guard.keep_waiting(&ada.person, id, version, world.guard.now() + span, reason).await
    };
    insta::assert_snapshot!(wait(version, TimeDelta::seconds(59), "soon").await.unwrap_err(), @"until: is out of bounds; from 2026-03-01T09:02:00.000Z to 2026-03-31T09:01:00.000Z (30 days) are possible");
    assert!(wait(version, TimeDelta::days(KEEP_WAITING_DAYS_MAX) + TimeDelta::seconds(1), "late").await.is_err());
    assert!(wait(version, TimeDelta::hours(1), " ").await.is_err());
    wait(version, TimeDelta::hours(1), "the bank posts at ten").await.unwrap();
    let standing = async || world.guard.standings(&[world.operation(id).await]).await.unwrap().pop().unwrap();
    let now = standing().await;
    assert_eq!(now.deferral.unwrap().reason, "the bank posts at ten");
    assert_eq!(now.claim, None, "whoever waits is not on it");
    assert!(matches!(wait(version, TimeDelta::hours(2), "again").await, Err(Refusal::Stale { .. })));
    world.clock.advance(3_600);
    assert_eq!(standing().await.deferral, None);
    assert_eq!(world.told(id), ["begun", "expired", "claimed", "kept_waiting"]);
}

/// A world in which decisions over 100 need a second person.
async fn strict_world() -> World {
    let review = ReviewRules { second_person_over: Some("100.00".to_owned()), ..ReviewRules::default() };
    World::with(vec![Workflow { review, ..handoff() }]).await
}

#[tokio::test]
async fn over_an_amount_a_second_person_confirms() {
    let world = strict_world().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Operator));
    let id = uncertain(&world, "order-1").await;
    let settled = ada.confirms(id, "task-907").await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Unknown);
    assert_eq!(settled.proposal.unwrap().by, "ada@example.test");
    let version = settled.operation.version;
    let refusal = world.guard.confirm_proposal(&ada.person, id, version).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"not allowed: whoever proposed a decision cannot confirm it; another person has to");
    let refusal = ben.denies(id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be decided anew while the proposal of ada@example.test waits for a second person");

    let settled = world.guard.confirm_proposal(&ben.person, id, version).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Confirmed);
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.actor.to_string(), "person:ben@example.test");
    assert_eq!(entry.detail.member("proposed_by").and_then(Json::as_str), Some("ada@example.test"));
    let again = world.guard.confirm_proposal(&ben.person, id, version).await.unwrap_err();
    insta::assert_snapshot!(again, @"an operation that is confirmed cannot be confirmed by a second person");
    assert_eq!(world.told(id), ["begun", "expired", "resolution_proposed", "resolved"]);

    // Under the amount one person is enough.
    let small =
        world.worker("small").await.asks("order-2").with(r#"{"amount":"99.99","currency":"INR"}"#).permit().await;
    world.clock.advance(60);
    assert_eq!(ada.confirms(small.id, "task-1").await.unwrap().proposal, None);
    // What cannot be read may be any amount.
    let blank =
        world.worker("blank").await.asks("order-3").with(r#"{"amount":"much","currency":"INR"}"#).permit().await;
    world.clock.advance(60);
    assert!(ada.confirms(blank.id, "task-2").await.unwrap().proposal.is_some());
}

#[tokio::test]
async fn a_proposal_is_rejected_taken_back_or_void() {
    let world = strict_world().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Operator));
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.clock.advance(60);
    let id = permit.id;
    let version = ada.denies(id).await.unwrap().operation.version;
    world.guard.reject_proposal(&ben.person, id, version, "the bank shows it").await.unwrap();
    let version = ben.confirms(id, "task-907").await.unwrap().operation.version;
    world.guard.reject_proposal(&ben.person, id, version, "the wrong one").await.unwrap();
    let version = ben.confirms(id, "task-908").await.unwrap().operation.version;

    // Another word of the worker is something to look at first.
    billing.is_unsure(&permit, "sent once more").await.unwrap();
    let now = world.operation(id).await.version;
    let refusal = world.guard.confirm_proposal(&ada.person, id, now).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Stale { .. }), "{refusal}");
    assert!(world.guard.confirm_proposal(&ada.person, id, version).await.is_err());
    let standing = world.guard.standings(&[world.operation(id).await]).await.unwrap().pop().unwrap();
    assert!(standing.is_void && standing.proposal.is_none());
    // It can be proposed anew.
    let version = ada.denies(id).await.unwrap().operation.version;
    let settled = world.guard.confirm_proposal(&ben.person, id, version).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Failed);
}

#[tokio::test]
async fn two_people_at_once_decide_once() {
    let world = World::new().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Operator));
    let id = uncertain(&world, "order-1").await;
    let version = world.operation(id).await.version;
    let first = ruling(&world.guard, version, confirmed("task-907"));
    let second = because(ruling(&world.guard, version, not_applied()), "searched in vain");
    let (left, right) =
        tokio::join!(world.guard.resolve(&ada.person, id, &first), world.guard.resolve(&ben.person, id, &second));
    assert_eq!([left.is_ok(), right.is_ok()].into_iter().filter(|won| *won).count(), 1);
    let lost = left.err().or(right.err()).unwrap();
    let winner = world.entries(id).pop().unwrap();
    assert!(matches!(lost, Refusal::Stale { by, at, .. } if by == winner.actor && at == winner.at));
}

#[tokio::test]
async fn masked_fields_are_opened_in_the_open() {
    let world = World::with(vec![Workflow { sensitive: vec!["/iban".parse().unwrap()], ..handoff() }]).await;
    let (ada, vic) = (somebody(&world, "ada", Role::Operator), somebody(&world, "vic", Role::Viewer));
    let id = uncertain(&world, "order-1").await;
    let is_open =
        async |who: &Operator| world.guard.veil(&who.person, &world.operation(id).await).await.unwrap().is_lifted();
    assert!(!is_open(&ada).await && !is_open(&vic).await, "masked until somebody opens it");
    let refusal = world.guard.open_fields(&vic.person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"not allowed: opening masked fields needs the role operator, finance or admin");
    let seen = world.operation(id).await.version;
    world.guard.open_fields(&ada.person, id).await.unwrap();
    world.guard.open_fields(&ada.person, id).await.unwrap();
    assert_eq!(world.told(id), ["begun", "expired", "fields_opened"]);
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.detail.member("fields").map(ToString::to_string), Some(r#"["/iban"]"#.to_owned()));
    assert!(is_open(&ada).await);
    assert!(!is_open(&somebody(&world, "ben", Role::Admin)).await, "each for themselves");
    assert_eq!(world.guard.moved_since(&world.operation(id).await, seen).await, Ok(None));
    world.clock.advance(60 * OPENED_MINUTES);
    assert!(!is_open(&ada).await);
}

#[tokio::test]
async fn who_waits_is_told_when_the_destination_is_looked_at_next() {
    let world = asked_world().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.is_unsure(&permit, "timed out").await.unwrap();
    world.guard.looked_up(permit.id, world.guard.now(), &looked(Finding::Absent)).await.unwrap();
    let decision = billing.asks("order-1").decision().await;
    let next = world.guard.next_look(&decision).await.unwrap();
    assert_eq!(Some(next), world.memory.recovery(permit.id).await.unwrap().map(|recovery| recovery.due_at));
    let settled = billing.owns("order-2").await;
    billing.confirms(&settled, "task-1").await.unwrap();
    assert_eq!(world.guard.next_look(&billing.asks("order-2").decision().await).await, None);
}

#[tokio::test]
async fn the_queue_is_read_within_reach_and_page_by_page() {
    let world = World::new().await;
    let ada = somebody(&world, "ada", Role::Operator);
    for (document, amount) in [("small", "10.00"), ("large", "900.00"), ("middle", "50.00")] {
        let worker = world.worker(document).await;
        let payload = format!(r#"{{"amount":"{amount}","currency":"INR"}}"#);
        let permit = worker.asks(document).with(&payload).permit().await;
        worker.is_unsure(&permit, "timed out").await.unwrap();
        world.clock.advance(60);
    }
    let read = async |person: &Person, sort: Sort| {
        let mut read = Vec::new();
        let mut spot = None;
        loop {
            let page = world.guard.triage(person, &TriageFilter::default(), sort, spot.as_ref(), 2).await.unwrap();
            read.extend(page.rows.iter().map(|row| row.key.document.as_str().to_owned()));
            spot = page.next;
            if spot.is_none() {
                return read;
            }
        }
    };
    assert_eq!(read(&ada.person, Sort::AtRisk).await, ["large", "middle", "small"]);
    assert_eq!(read(&ada.person, Sort::Longest).await, ["small", "large", "middle"]);
    assert_eq!(read(&ada.person, Sort::Latest).await, ["middle", "large", "small"]);
    let elsewhere = Person { reach: Reach::over(["globex".to_owned()], []), ..ada.person.clone() };
    assert!(read(&elsewhere, Sort::AtRisk).await.is_empty());
    let refusal = world.guard.triage(&ada.person, &TriageFilter::default(), Sort::AtRisk, None, 0).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"limit: is 0; 1 to 500 are possible");
}
