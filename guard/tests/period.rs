//! Finance closes periods, signs what they held, and opens them again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::fingerprint::Fingerprint;
use guard::id::PersonId;
use guard::period::{OpenKind, PeriodRefusal, PeriodStanding, Span, Totals};
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::service::Signing;
use guard::state::StateName;
use guard::store::Registry as _;
use guard::token::Reach;
use guard::trail::EntryKind;
use guard::workflow::Workflow;
use insta::assert_snapshot;
use world::{World, handoff};

const DATED: &str = "dated";

fn person(role: Role) -> Person {
    let id = PersonId::new(world::start(), [9; 16]);
    Person { id, email: "fay@example.test".to_owned(), role, reach: Reach::EVERYTHING }
}

/// March 2026, in which every world starts.
fn march() -> Span {
    Span { from: "2026-03-01".parse().unwrap(), to: "2026-03-31".parse().unwrap() }
}

async fn world() -> World {
    let dated = Workflow {
        name: guard::key::KeyPart::new(DATED).unwrap(),
        period: Some("/date".parse().unwrap()),
        ..handoff()
    };
    World::with(vec![handoff(), dated]).await
}

async fn totals(world: &World, company: &str) -> Totals {
    world.clock.advance(10);
    world.guard.period_totals(&Reach::EVERYTHING, company, march()).await.unwrap()
}

fn signing(seen: Fingerprint, reason: &str) -> Signing<'_> {
    Signing { name: "Fay Finance", statement: "these figures agree with the ledger", reason, seen }
}

fn shown(totals: &Totals) -> Vec<String> {
    let lines = totals.lines.iter().map(|line| {
        let money = line.amount.map(|amount| format!(" {amount} {}", line.currency.as_deref().unwrap_or("?")));
        format!("{} {} {}{}", line.workflow, line.state.as_str(), line.operations, money.unwrap_or_default())
    });
    lines.collect()
}

#[tokio::test]
async fn a_period_holds_what_is_dated_in_it_and_what_was_begun_in_it() {
    let world = world().await;
    let billing = world.worker("billing").await;
    let paid = billing.owns("order-1").await;
    billing.confirms(&paid, "task-1").await.unwrap();
    let dated = |document: &str, date: &str| {
        let payload = format!(r#"{{"amount":"0.10","currency":"INR","date":{date}}}"#);
        billing.asks(document).in_workflow(DATED).with(&payload)
    };
    for (document, date) in [("in-march", r#""20260305""#), ("last-day", r#""2026-03-31T23:59:59-11:00""#)] {
        let permit = dated(document, date).permit().await;
        billing.confirms(&permit, document).await.unwrap();
    }
    dated("in-april", r#""2026-04-01""#).permit().await;
    // No date: it belongs to the day on which it was begun.
    dated("undated", r#""soon""#).permit().await;
    billing.asks("elsewhere").in_company("globex").permit().await;

    let totals = totals(&world, "acme").await;
    assert_eq!(
        shown(&totals),
        ["dated confirmed 2 0.20 INR", "dated sending 1 0.10 INR", "handoff confirmed 1 118.00 INR"]
    );
    assert_eq!(totals.operations, 4);
    let open: Vec<_> = totals.open.iter().map(|open| (open.kind, open.number)).collect();
    assert_eq!(open, [(OpenKind::UnderWay, 1)]);
}

#[tokio::test]
async fn what_is_open_needs_a_reason_and_what_moved_is_looked_at_again() {
    let world = world().await;
    let billing = world.worker("billing").await;
    let lost = billing.owns("order-1").await;
    billing.is_unsure(&lost, "no answer").await.unwrap();
    billing.asks("order-1").with(r#"{"amount":"1.00","currency":"INR"}"#).decision().await;
    let seen = totals(&world, "acme").await;
    let open: Vec<_> = seen.open.iter().map(|open| (open.kind, open.operations.clone())).collect();
    assert_eq!(open, [(OpenKind::Unknown, vec![lost.id]), (OpenKind::InConflict, vec![lost.id])]);

    let fay = person(Role::Finance);
    let close = async |by: &Person, seen: Fingerprint, reason: &str| {
        world.guard.close_period(by, "acme", march(), &signing(seen, reason)).await
    };
    let refused = async |role, reason| close(&person(role), seen.fingerprint(), reason).await.unwrap_err().to_string();
    assert_snapshot!(refused(Role::Admin, "x").await, @"not allowed: closing and opening a period needs the role finance");
    assert_snapshot!(refused(Role::Finance, " ").await, @"reason: is empty; it is needed here");
    let abroad = Person { reach: Reach::over(["globex".to_owned()], []), ..fay.clone() };
    assert_eq!(close(&abroad, seen.fingerprint(), "x").await, Err(Refusal::not_found("company")));

    world.operator().confirms(lost.id, "task-1").await.unwrap();
    world.clock.advance(10);
    assert_eq!(close(&fay, seen.fingerprint(), "x").await, Err(PeriodRefusal::Moved.into()));
    let seen = totals(&world, "acme").await;
    let period = close(&fay, seen.fingerprint(), "the customer is on holiday").await.unwrap();
    assert_eq!(period.certificate.totals.lines, seen.lines);

    let entries = world.memory.administration_entries(0, 1_000).await.unwrap();
    let told = entries.iter().find(|entry| entry.kind == EntryKind::PeriodClosed).unwrap();
    assert_eq!(told.detail.member("certificate"), Some(&period.certificate.to_json()));
    let sha256 = told.detail.member("sha256").and_then(guard::json::Json::as_str).unwrap();
    assert_eq!(sha256, period.certificate.fingerprint().to_string());
    let kept: guard::period::Certificate = serde_json::from_str(&period.certificate.to_json().to_string()).unwrap();
    assert_eq!(kept.fingerprint(), period.certificate.fingerprint(), "it survives its text");
}

#[tokio::test]
async fn a_closed_period_holds_its_days_until_it_is_opened_again() {
    let world = world().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    let operation = world.operation(permit.id).await;
    assert_eq!(world.guard.closed_period_of(&operation).await, Ok(None));
    let fay = person(Role::Finance);
    let seen = totals(&world, "acme").await.fingerprint();
    let period = world.guard.close_period(&fay, "acme", march(), &signing(seen, "")).await.unwrap();
    assert_eq!(world.guard.closed_period_of(&operation).await.unwrap().map(|held| held.id), Some(period.id));

    let late = billing.asks("late").in_workflow(DATED);
    let late = late.with(r#"{"amount":"1","currency":"INR","date":"2026-03-09"}"#).permit().await;
    let april = billing.asks("april").in_workflow(DATED);
    let april = april.with(r#"{"amount":"1","currency":"INR","date":"2026-04-09"}"#).permit().await;
    for (id, lies) in [(late.id, true), (april.id, false)] {
        let operation = world.operation(id).await;
        assert_eq!(world.guard.closed_period_of(&operation).await.unwrap().is_some(), lies, "by its own date");
    }

    let overlapping = Span { from: "2026-03-31".parse().unwrap(), to: "2026-04-30".parse().unwrap() };
    let refusal = world.guard.close_period(&fay, "acme", overlapping, &signing(seen, "")).await.unwrap_err();
    assert_snapshot!(refusal, @"2026-03-01 to 2026-03-31 is closed already for this company, and shares days with it");

    let reopened = world.guard.reopen_period(&fay, period.id, "an invoice came late").await.unwrap();
    assert!(matches!(reopened.standing, PeriodStanding::Reopened { .. }));
    assert_eq!(reopened.certificate, period.certificate, "what was signed stays readable");
    assert_eq!(world.guard.closed_period_of(&operation).await, Ok(None));
    let again = world.guard.reopen_period(&fay, period.id, "once more").await.unwrap_err();
    assert!(matches!(again, Refusal::Period(PeriodRefusal::Reopened { .. })), "{again}");
    let kinds = world.memory.administration_entries(0, 1_000).await.unwrap();
    let kinds: Vec<_> =
        kinds.iter().map(|entry| entry.kind.as_str()).filter(|kind| kind.starts_with("period")).collect();
    assert_eq!(kinds, ["period_closed", "period_reopened"]);
}

#[tokio::test]
async fn the_figures_are_those_of_a_moment_that_is_over() {
    let world = world().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.clock.advance(10);
    billing.confirms(&permit, "task-1").await.unwrap();
    billing.owns("order-2").await;
    // Both happened within the margin: they are not in yet.
    let totals = world.guard.period_totals(&Reach::EVERYTHING, "acme", march()).await.unwrap();
    let states: Vec<_> = totals.lines.iter().map(|line| (line.state, line.operations)).collect();
    assert_eq!(states, [(StateName::Sending, 1)]);
    let wrong = Span { from: march().to, to: march().from };
    let refusal = world.guard.period_totals(&Reach::EVERYTHING, "acme", wrong).await.unwrap_err();
    assert_snapshot!(refusal, @"to: is before the first day");
}
