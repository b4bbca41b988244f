//! Periods, days, and what lies in them.

use guard::actor::Actor;
use guard::clock::Entropy as _;
use guard::id::{OperationId, PeriodId};
use guard::key::{KeyPart, OperationKey};
use guard::period::{Basis, Certificate, Day, Period, PeriodStanding, SealMark, Signature, Span, Totals};
use guard::state::StateName;
use guard::store::{Act, Administered, NewOperation, Registry};
use guard::token::Reach;
use guard::trail::{ChainHash, Entry, EntryKind};
use server::clock::OsEntropy;

use crate::support::{Fresh, begun_as, confirmation, now, object, on_both};

on_both!(
    a_period_is_kept_and_found_by_its_days,
    rows_come_in_pages_by_creation_and_by_day,
    a_taken_key_keeps_no_second_day,
);

fn day(text: &str) -> Day {
    text.parse().unwrap()
}

fn span(from: &str, to: &str) -> Span {
    Span { from: day(from), to: day(to) }
}

fn key(company: &str, document: &str) -> OperationKey {
    let part = |text: &str| KeyPart::new(text).unwrap();
    OperationKey {
        workflow: part("handoff"),
        company: part(company),
        source_system: part("shop"),
        document: part(document),
        action: part("create"),
        revision: 1,
    }
}

fn period(company: &str, span: Span, second: i64) -> Period {
    let at = now() + chrono::TimeDelta::seconds(second);
    let totals =
        Totals { company: company.to_owned(), span, as_of: at, operations: 0, lines: Vec::new(), open: Vec::new() };
    let signature = Signature {
        by: "fay@example.test".to_owned(),
        name: "F\u{e4}y".to_owned(),
        statement: "it agrees".to_owned(),
        reason: None,
        at,
    };
    let seal = Some(SealMark { number: 3, hash: ChainHash::from_bytes([7; 32]) });
    let certificate = Certificate { totals, seal, signature };
    Period { id: PeriodId::new(at, OsEntropy.bytes()), certificate, standing: PeriodStanding::Closed }
}

async fn put(registry: &dyn Registry, period: &Period) {
    let head = registry.administration_head().await.unwrap();
    let entry = Entry::following(head, now(), Actor::CommandLine, EntryKind::PeriodClosed, object(&[("name", "x")]));
    let act = Act::PutPeriod(Box::new(period.clone()));
    assert_eq!(registry.administer(vec![(act, entry)]).await, Ok(Administered::Done));
}

async fn a_period_is_kept_and_found_by_its_days(fresh: Fresh) {
    let (store, registry) = (&fresh.database.store, fresh.database.registry.as_ref());
    let mut march = period("acme", span("2026-03-01", "2026-03-31"), 1);
    let april = period("acme", span("2026-04-01", "2026-04-30"), 2);
    let other = period("globex", span("2026-03-01", "2026-03-31"), 3);
    for period in [&march, &april, &other] {
        put(registry, period).await;
    }
    assert_eq!(store.period(march.id).await, Ok(Some(march.clone())));
    let closed = async |company: &str, from: &str, to: &str| {
        store.closed_period(company, span(from, to)).await.unwrap().map(|period| period.id)
    };
    assert_eq!(closed("acme", "2026-03-31", "2026-03-31").await, Some(march.id));
    assert_eq!(closed("acme", "2026-03-31", "2026-04-01").await, Some(march.id));
    assert_eq!(closed("acme", "2026-04-01", "2026-05-01").await, Some(april.id));
    assert_eq!(closed("acme", "2026-02-28", "2026-02-28").await, None);
    assert_eq!(closed("acme", "2026-01-01", "2026-12-31").await, Some(march.id));
    assert_eq!(closed("initech", "2026-03-05", "2026-03-05").await, None);

    let at = now();
    march.standing = PeriodStanding::Reopened { by: "fay@example.test".to_owned(), at, reason: "late".to_owned() };
    put(registry, &march).await;
    assert_eq!(store.period(march.id).await, Ok(Some(march.clone())));
    assert_eq!(closed("acme", "2026-03-31", "2026-03-31").await, None);
    let listed = async |reach: &Reach, before, limit| {
        let periods = store.periods(reach, before, limit).await.unwrap();
        periods.into_iter().map(|period| period.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(&Reach::EVERYTHING, None, 2).await, [other.id, april.id]);
    assert_eq!(listed(&Reach::EVERYTHING, Some(april.id), 2).await, [march.id]);
    let acme = Reach::over(["acme".to_owned(), "initech".to_owned()], []);
    assert_eq!(listed(&acme, None, 9).await, [april.id, march.id]);
    assert_eq!(store.last_seal_mark().await, Ok(None));
}

async fn rows_come_in_pages_by_creation_and_by_day(fresh: Fresh) {
    let store = &fresh.database.store;
    let at = |text: &str| chrono::DateTime::parse_from_rfc3339(text).unwrap().to_utc();
    let mut created = Vec::new();
    // The first by its workflow, the others by their moment.
    let early = OperationKey { workflow: KeyPart::new("a handoff").unwrap(), ..key("acme", "a") };
    let new = begun_as(early, at("2026-03-30T00:00:00Z"));
    created.push(new.operation.id);
    store.insert_if_absent(new).await.unwrap();
    for (number, moment) in
        ["2026-03-01T00:00:00Z", "2026-03-15T12:00:00Z", "2026-03-31T23:59:59.999Z"].iter().enumerate()
    {
        let new = begun_as(key("acme", &format!("c{number}")), at(moment));
        created.push(new.operation.id);
        store.insert_if_absent(new).await.unwrap();
    }
    for moment in ["2026-02-28T23:59:59.999Z", "2026-04-01T00:00:00Z"] {
        store.insert_if_absent(begun_as(key("acme", moment), at(moment))).await.unwrap();
    }
    store.insert_if_absent(begun_as(key("globex", "other"), at("2026-03-15T12:00:00Z"))).await.unwrap();
    let mut dated: Vec<(Day, OperationId)> = Vec::new();
    for (number, text) in ["2026-03-31", "2026-03-01", "2026-03-01", "2026-04-01", "2026-02-28"].iter().enumerate() {
        let new = begun_as(key("acme", &format!("d{number}")), at("2026-03-20T00:00:00Z"));
        if text.starts_with("2026-03") {
            dated.push((day(text), new.operation.id));
        }
        store.insert_if_absent(NewOperation { day: Some(day(text)), ..new }).await.unwrap();
    }
    dated.sort();
    let march = span("2026-03-01", "2026-03-31");
    let walk = async |basis, limit| {
        let (mut found, mut after) = (Vec::new(), None::<guard::period::PeriodRow>);
        loop {
            let page = store.period_rows("acme", march, basis, after.as_ref(), limit).await.unwrap();
            let Some(last) = page.last() else { return found };
            assert!(page.len() <= limit as usize);
            after = Some(last.clone());
            found.extend(page);
        }
    };
    for limit in [1, 2, 100] {
        let rows = walk(Basis::Created, limit).await;
        assert_eq!(rows.iter().map(|row| row.operation).collect::<Vec<_>>(), created);
        assert_eq!(rows[3].day, day("2026-03-31"));
        let rows = walk(Basis::Payload, limit).await;
        assert_eq!(rows.iter().map(|row| (row.day, row.operation)).collect::<Vec<_>>(), dated);
    }
    let held = store.operation(created[0]).await.unwrap().unwrap();
    store.replace(confirmation(&held)).await.unwrap();
    let row = walk(Basis::Created, 9).await.swap_remove(0);
    assert_eq!((row.state, row.is_superseded, row.in_conflict), (StateName::Confirmed, false, false));
    assert_eq!(row.money, held.money);
    let mut days = store.days(&[created[0], dated[0].1, dated[2].1]).await.unwrap();
    days.sort();
    let mut expected = vec![(dated[0].1, dated[0].0), (dated[2].1, dated[2].0)];
    expected.sort();
    assert_eq!(days, expected);
    assert_eq!(store.days(&[]).await, Ok(Vec::new()));
}

async fn a_taken_key_keeps_no_second_day(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = NewOperation { day: Some(day("2026-03-01")), ..begun_as(key("acme", "one"), now()) };
    let second = NewOperation { day: Some(day("2026-04-01")), ..begun_as(key("acme", "one"), now()) };
    store.insert_if_absent(first.clone()).await.unwrap();
    store.insert_if_absent(second.clone()).await.unwrap();
    let days = store.days(&[first.operation.id, second.operation.id]).await;
    assert_eq!(days, Ok(vec![(first.operation.id, day("2026-03-01"))]));
}
