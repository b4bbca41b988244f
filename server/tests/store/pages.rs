//! Lists, page by page.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use guard::clock::Entropy as _;
use guard::conflict::Conflict;
use guard::fingerprint::Fingerprint;
use guard::id::ConflictId;
use guard::key::KeyPart;
use guard::money::Money;
use guard::operation::Operation;
use guard::queue::{Cursor, Filter, Order, PageRequest, Sought, WALKED_ROWS_MAX};
use guard::state::{State, StateName};
use guard::store::Store;
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::support::{Fresh, begun_as, change, key, moment, on_both, uncertainty};

on_both!(
    every_filter_limits_and_the_newest_comes_first,
    reach_limits_every_list,
    pages_stay_true_while_rows_come_in,
    leases_that_ended_come_in_their_order,
    times_are_bounds_of_ids,
    what_waits_is_summed_within_reach,
    what_is_pasted_is_found,
    a_page_looks_through_so_many_rows_and_says_how_far,
);

const ALL: Reach = Reach::EVERYTHING;

fn first(limit: u32) -> PageRequest {
    PageRequest { cursor: None, limit }
}

/// Every row of a list, read in pages of this size.
async fn listed(store: &dyn Store, reach: &Reach, filter: &Filter, order: Order, limit: u32) -> Vec<Operation> {
    let mut rows = Vec::new();
    let mut page = first(limit);
    loop {
        let found = store.operations(reach, filter, order, &page).await.unwrap();
        assert!(found.rows.len() <= usize::try_from(limit).unwrap());
        rows.extend(found.rows);
        match found.next {
            Some(next) => page.cursor = Some(next),
            None => return rows,
        }
    }
}

fn stake(operation: &Operation) -> Option<i64> {
    operation.money.as_ref().map(Money::stake)
}

/// Puts in an operation; the parts are workflow, company, source system, document, action.
async fn put(fresh: &Fresh, parts: [&str; 5], state: StateName, milliseconds: i64) -> Operation {
    let [workflow, company, source_system, document, action] = parts.map(|part| KeyPart::new(part).unwrap());
    let at = moment(milliseconds);
    let key = guard::key::OperationKey { workflow, company, source_system, document, action, revision: 1 };
    let mut new = begun_as(key, at);
    let worker = format!("worker {}", 1 + milliseconds / 1_000 % 2);
    new.operation.attempt.as_mut().unwrap().worker = Some(worker);
    let operation = new.operation.clone();
    fresh.database.store.insert_if_absent(new).await.unwrap();
    let reason = || "lost".to_owned();
    let state = match state {
        StateName::Sending => return operation,
        StateName::Confirmed => State::Confirmed { since: at, destination_reference: "907".to_owned() },
        StateName::Unknown => State::Unknown { since: at, reason: reason() },
        StateName::Disputed => State::Disputed { since: at, reason: reason(), destination_reference: None },
        StateName::Failed => State::Failed { since: at, reason: reason() },
        StateName::Released => State::Released { since: at },
        StateName::Acquired | StateName::AwaitingApproval | StateName::Rejected => panic!("not used here"),
    };
    let replacement = change(&operation, state, at);
    let operation = replacement.operation.clone();
    fresh.database.store.replace(replacement).await.unwrap();
    operation
}

/// A hundred operations that differ in every part.
async fn variety(fresh: &Fresh) -> Vec<Operation> {
    let states = [StateName::Confirmed, StateName::Sending, StateName::Failed, StateName::Unknown, StateName::Disputed];
    let mut all = Vec::new();
    for number in 0..100i64 {
        let pick = |names: [&'static str; 3], every: i64| names[usize::try_from(number / every % 3).unwrap()];
        let document = format!("{}", number % 40);
        let parts = [
            pick(["handoff", "invoice", "notify"], 1),
            pick(["ACME", "acme", "Globex %_"], 2),
            pick(["shop", "erp", "crm"], 3),
            &document,
            pick(["create", "cancel", "update"], 5),
        ];
        let state = states[usize::try_from(number % 5).unwrap()];
        // Twice the same moment: ids tell them apart.
        let mut operation = put(fresh, parts, state, number / 2 * 1_000).await;
        if number % 7 == 0 {
            let mut replacement = change(&operation, operation.state.clone(), operation.updated_at);
            replacement.operation.open_conflicts = 1;
            operation = replacement.operation.clone();
            fresh.database.store.replace(replacement).await.unwrap();
        }
        all.push(operation);
    }
    all.sort_by_key(|operation| std::cmp::Reverse(operation.id));
    all
}

fn fits(operation: &Operation, filter: &Filter, reach: &Reach) -> bool {
    let key = &operation.key;
    let same = |wanted: &Option<String>, part: &KeyPart| wanted.as_ref().is_none_or(|wanted| wanted == part.as_str());
    same(&filter.workflow, &key.workflow)
        && same(&filter.company, &key.company)
        && same(&filter.source_system, &key.source_system)
        && same(&filter.document, &key.document)
        && same(&filter.action, &key.action)
        && (filter.states.is_empty() || filter.states.contains(&operation.state.name()))
        && (!filter.with_open_conflicts || operation.open_conflicts > 0)
        && filter.from.is_none_or(|from| operation.created_at >= from)
        && filter.to.is_none_or(|to| operation.created_at < to)
        && filter.worker.as_deref().is_none_or(|worker| {
            operation.attempt.as_ref().and_then(|attempt| attempt.worker.as_deref()) == Some(worker)
        })
        && filter.stake_from.is_none_or(|from| stake(operation).is_some_and(|stake| stake >= from))
        && filter.stake_to.is_none_or(|to| stake(operation).is_some_and(|stake| stake <= to))
        && match &filter.sought {
            None => true,
            Some(Sought::Operation(id)) => operation.id == *id,
            Some(Sought::Named(name)) => {
                key.document.as_str() == name || operation.state.destination_reference() == Some(name)
            }
        }
        && reach.company(key.company.as_str())
        && reach.workflow(key.workflow.as_str())
}

fn ids(operations: &[Operation]) -> Vec<String> {
    operations.iter().map(|operation| operation.id.to_string()).collect()
}

async fn every_filter_limits_and_the_newest_comes_first(fresh: Fresh) {
    let all = variety(&fresh).await;
    let text = |bits: u32, bit: u32, value: &str| (bits & (1 << bit) != 0).then(|| value.to_owned());
    let states: [&[StateName]; 5] = [
        &[],
        &[StateName::Failed],
        &[StateName::Unknown, StateName::Failed, StateName::Unknown],
        &[StateName::Confirmed],
        &[StateName::Confirmed, StateName::Sending],
    ];
    let mut found_some = 0;
    for bits in 0..1_024 {
        for states in states {
            let filter = Filter {
                workflow: text(bits, 0, "handoff"),
                company: text(bits, 1, "ACME"),
                source_system: text(bits, 2, "shop"),
                document: text(bits, 3, "12"),
                action: text(bits, 4, "create"),
                states: states.to_vec(),
                with_open_conflicts: bits & 64 != 0,
                from: (bits & 32 != 0).then(|| moment(4_000)),
                to: (bits & 32 != 0).then(|| moment(40_000)),
                worker: text(bits, 7, "worker 1"),
                stake_from: (bits & 256 != 0).then_some(1_180_000),
                stake_to: (bits & 256 != 0).then_some(1_190_000),
                sought: text(bits, 9, "907").map(Sought::Named),
            };
            let mut expected: Vec<_> = all.iter().filter(|operation| fits(operation, &filter, &ALL)).cloned().collect();
            // Small pages now and then: each costs a question.
            let limit = if bits % 7 == 0 { 7 } else { 30 };
            let found = listed(&*fresh.database.store, &ALL, &filter, Order::Newest, limit).await;
            assert_eq!(ids(&found), ids(&expected), "{filter:?}");
            if bits % 7 == 0 {
                expected.reverse();
                let found = listed(&*fresh.database.store, &ALL, &filter, Order::Oldest, 7).await;
                assert_eq!(ids(&found), ids(&expected), "{filter:?}, the oldest first");
            }
            found_some += usize::from(!found.is_empty());
        }
    }
    assert!(found_some > 50, "the filters above find something: {found_some}");
    fresh.remove().await;
}

async fn reach_limits_every_list(fresh: Fresh) {
    let all = variety(&fresh).await;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let many = (0..80).map(|number| format!("company {number}")).chain(names(&["acme"]));
    let reaches = [
        Reach::over(names(&["ACME"]), []),
        Reach::over(names(&["ACME", "Globex %_"]), names(&["invoice", "notify"])),
        Reach::over([], names(&["handoff", "nothing"])),
        Reach::over(many, []),
        Reach { companies: Some(BTreeSet::new()), workflows: None },
    ];
    let filters = [
        Filter::default(),
        Filter { company: Some("ACME".to_owned()), ..Filter::default() },
        Filter { document: Some("12".to_owned()), ..Filter::default() },
        Filter { states: vec![StateName::Unknown, StateName::Disputed], ..Filter::default() },
    ];
    for reach in &reaches {
        for filter in &filters {
            let expected: Vec<_> = all.iter().filter(|operation| fits(operation, filter, reach)).cloned().collect();
            let found = listed(&*fresh.database.store, reach, filter, Order::Newest, 9).await;
            assert_eq!(ids(&found), ids(&expected), "{reach:?} {filter:?}");
        }
    }
    fresh.remove().await;
}

async fn pages_stay_true_while_rows_come_in(fresh: Fresh) {
    for number in 0..10i64 {
        put(&fresh, ["handoff", "ACME", "shop", &number.to_string(), "create"], StateName::Confirmed, number).await;
    }
    let store = &fresh.database.store;
    let mut seen = Vec::new();
    let mut page = first(3);
    let mut newer = 100;
    loop {
        let found = store.operations(&ALL, &Filter::default(), Order::Newest, &page).await.unwrap();
        seen.extend(found.rows.iter().map(|operation| operation.key.document.to_string()));
        put(&fresh, ["handoff", "ACME", "shop", &newer.to_string(), "create"], StateName::Confirmed, newer).await;
        newer += 1;
        match found.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, ["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"]);

    let exactly = store.operations(&ALL, &Filter::default(), Order::Newest, &first(14)).await.unwrap();
    assert_eq!((exactly.rows.len(), exactly.next), (14, None), "a full last page is the last");
    let behind = Cursor::behind(moment(0), 0);
    let page = PageRequest { cursor: Some(behind), limit: 3 };
    let empty = store.operations(&ALL, &Filter::default(), Order::Newest, &page).await.unwrap();
    assert_eq!((empty.rows.len(), empty.next), (0, None));
    fresh.remove().await;
}

async fn leases_that_ended_come_in_their_order(fresh: Fresh) {
    let store = &fresh.database.store;
    for (document, begun_at) in [("b", 2_000), ("a", 1_000), ("d", 4_000), ("c", 3_000)] {
        store.insert_if_absent(begun_as(key(document), moment(begun_at))).await.unwrap();
    }
    put(&fresh, ["handoff", "ACME", "shop", "done", "create"], StateName::Confirmed, 0).await;
    // Leases last a minute.
    let ended = |now: i64, limit| async move {
        let found = store.expired(moment(now) + TimeDelta::seconds(60), limit).await.unwrap();
        found.iter().map(|operation| operation.key.document.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ended(999, 10).await, Vec::<String>::new());
    assert_eq!(ended(1_000, 10).await, ["a"], "a lease is over at its end");
    assert_eq!(ended(3_500, 10).await, ["a", "b", "c"]);
    assert_eq!(ended(9_000, 2).await, ["a", "b"]);
    fresh.remove().await;
}

async fn times_are_bounds_of_ids(fresh: Fresh) {
    for milliseconds in [0, 1, 1, 2, 3] {
        let document = hex::encode(OsEntropy.bytes());
        put(&fresh, ["handoff", "ACME", "shop", &document, "create"], StateName::Confirmed, milliseconds).await;
    }
    let between = |from, to| {
        let filter = Filter { from: Some(moment(from)), to: Some(moment(to)), ..Filter::default() };
        let database = fresh.database.clone();
        async move { listed(&*database.store, &ALL, &filter, Order::Newest, 10).await.len() }
    };
    assert_eq!(between(0, 4).await, 5);
    assert_eq!(between(1, 2).await, 2, "from is in it, to is not");
    assert_eq!(between(1, 3).await, 3);
    assert_eq!(between(2, 2).await, 0);
    fresh.remove().await;
}

async fn what_waits_is_summed_within_reach(fresh: Fresh) {
    let store = &fresh.database.store;
    let unknown = put(&fresh, ["handoff", "ACME", "shop", "1", "create"], StateName::Unknown, 50).await;
    put(&fresh, ["invoice", "ACME", "shop", "2", "create"], StateName::Disputed, 20).await;
    put(&fresh, ["handoff", "Globex", "shop", "3", "create"], StateName::Unknown, 10).await;
    put(&fresh, ["handoff", "ACME", "shop", "4", "create"], StateName::Failed, 5).await;
    let mut replacement = uncertainty(&unknown, moment(50));
    replacement.conflict = Some((
        Conflict {
            id: ConflictId::new(moment(60), OsEntropy.bytes()),
            operation: unknown.id,
            fingerprint: Fingerprint::from_bytes([7; 32]),
            changes: Vec::new(),
            changes_total: 0,
            opened_at: moment(60),
            hits: 1,
            standing: guard::conflict::ConflictStanding::Open,
            workflow: unknown.key.workflow.as_str().to_owned(),
            company: unknown.key.company.as_str().to_owned(),
            places: guard::conflict::Places::default(),
        },
        "{}".to_owned(),
    ));
    store.replace(replacement).await.unwrap();

    let name = |name: &str| vec![name.to_owned()];
    let at_risk = |waiting: &guard::summary::Waiting| {
        waiting
            .at_risk
            .iter()
            .map(|money| format!("{} {}", money.amount.normalize(), money.currency))
            .collect::<Vec<_>>()
    };
    let waiting = store.waiting(&ALL, 100).await.unwrap();
    assert_eq!((waiting.uncertain, waiting.oldest_since, waiting.open_conflicts), (3, Some(moment(10)), 1));
    assert_eq!(at_risk(&waiting), ["354 EUR"]);
    let waiting = store.waiting(&ALL, 2).await.unwrap();
    assert_eq!((waiting.uncertain, waiting.oldest_since), (2, Some(moment(10))), "the oldest");
    let waiting = store.waiting(&Reach::over(name("ACME"), []), 100).await.unwrap();
    assert_eq!((waiting.uncertain, waiting.oldest_since, waiting.open_conflicts), (2, Some(moment(20)), 1));
    let waiting = store.waiting(&Reach::over(name("Globex"), name("invoice")), 100).await.unwrap();
    assert_eq!((waiting.uncertain, waiting.oldest_since, waiting.open_conflicts), (0, None, 0));
    assert_eq!(at_risk(&waiting), Vec::<String>::new());
    fresh.remove().await;
}

async fn what_is_pasted_is_found(fresh: Fresh) {
    let store = &fresh.database.store;
    let one = put(&fresh, ["handoff", "ACME", "shop", "907", "create"], StateName::Failed, 1).await;
    let other = put(&fresh, ["handoff", "Globex", "shop", "7", "create"], StateName::Confirmed, 2).await;
    let sought = |text: &str| Filter { sought: Some(Sought::of(text)), ..Filter::default() };
    let globex = Reach::over(["Globex".to_owned()], []);
    for (reach, text, expected) in [
        (&ALL, "907", vec![&other, &one]),
        (&ALL, "90", vec![]),
        (&ALL, &*one.id.to_string(), vec![&one]),
        (&ALL, &*one.external_reference(), vec![&one]),
        (&globex, "907", vec![&other]),
        (&globex, &*one.id.to_string(), vec![]),
    ] {
        let found = listed(&**store, reach, &sought(text), Order::Newest, 9).await;
        let expected: Vec<_> = expected.into_iter().cloned().collect();
        assert_eq!(ids(&found), ids(&expected), "{text}");
    }
    let failed = Filter { states: vec![StateName::Failed], ..sought("907") };
    assert_eq!(ids(&listed(&**store, &ALL, &failed, Order::Newest, 9).await), ids(&[one]));
    fresh.remove().await;
}

async fn a_page_looks_through_so_many_rows_and_says_how_far(fresh: Fresh) {
    let store = &fresh.database.store;
    // The one that fits lies behind more rows than are looked through for one page.
    let fitting = put(&fresh, ["handoff", "ACME", "shop", "first", "create"], StateName::Failed, 0).await;
    let number = i64::from(WALKED_ROWS_MAX) + 100;
    let mut tasks = tokio::task::JoinSet::new();
    for milliseconds in 1..=number {
        let store = std::sync::Arc::clone(store);
        tasks.spawn(async move {
            let filling = begun_as(key(&format!("filling {milliseconds}")), moment(milliseconds));
            store.insert_if_absent(filling).await.unwrap();
        });
    }
    while let Some(filled) = tasks.join_next().await {
        filled.unwrap();
    }
    let filter = Filter {
        company: Some("ACME".to_owned()),
        states: vec![StateName::Confirmed, StateName::Failed],
        ..Filter::default()
    };
    let page = store.operations(&ALL, &filter, Order::Newest, &first(50)).await.unwrap();
    assert_eq!(page.rows.len(), 0);
    let (milliseconds, _) = page.next.clone().unwrap().read().unwrap();
    assert_eq!(milliseconds, moment(101).timestamp_millis(), "so far was looked");
    let found = store.operations(&ALL, &filter, Order::Newest, &PageRequest { cursor: page.next, limit: 50 }).await;
    let found = found.unwrap();
    assert_eq!((ids(&found.rows), found.next), (ids(&[fitting]), None));
    fresh.remove().await;
}
