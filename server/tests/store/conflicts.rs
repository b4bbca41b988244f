//! Conflicts: decided once, and found in the queue by place, group, company and workflow.

use guard::clock::Entropy as _;
use guard::conflict::{
    Conflict, ConflictDecision, ConflictFilter, ConflictOrder, ConflictOutcome, ConflictStanding, GROUP_FIRST_MAX,
    Places,
};
use guard::diff::{Change, ChangeKind};
use guard::fingerprint::Fingerprint;
use guard::id::ConflictId;
use guard::operation::Operation;
use guard::queue::{PageRequest, WALKED_ROWS_MAX};
use guard::store::Replaced;
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::support::{Fresh, moment, now, on_both, uncertainty};

on_both!(
    a_decision_is_kept_once,
    the_queue_is_read_page_by_page,
    what_little_fits_is_looked_for_so_far_and_no_further,
    what_an_index_tells_is_found_behind_any_number,
    groups_are_counted,
);

fn conflict_on(operation: &Operation, number: u8, path: &str) -> Conflict {
    let changes = vec![Change {
        path: path.parse().unwrap(),
        kind: ChangeKind::Removed,
        approved: Some(guard::json::Json::Null),
        received: None,
    }];
    Conflict {
        id: ConflictId::new(moment(number.into()), OsEntropy.bytes()),
        operation: operation.id,
        workflow: operation.key.workflow.as_str().to_owned(),
        company: operation.key.company.as_str().to_owned(),
        fingerprint: Fingerprint::from_bytes([number; 32]),
        places: Places::of(operation.key.workflow.as_str(), &changes),
        changes,
        changes_total: 1,
        opened_at: moment(number.into()),
        hits: 1,
        standing: ConflictStanding::Open,
    }
}

async fn opened(fresh: &Fresh, operation: &mut Operation, number: u8, path: &str) -> Conflict {
    let conflict = conflict_on(operation, number, path);
    let mut replacement = uncertainty(operation, now());
    replacement.operation.open_conflicts += 1;
    replacement.conflict = Some((conflict.clone(), format!(r#"{{"number":{number}}}"#)));
    *operation = replacement.operation.clone();
    assert_eq!(fresh.database.store.replace(replacement).await, Ok(Replaced::Replaced));
    conflict
}

/// So many conflicts like this one, of another company, came before it, or after it: more than are looked through for a page.
async fn copied(fresh: &Fresh, conflict: &Conflict, number: u32, is_before: bool) {
    let first = if is_before { 1 } else { conflict.id.as_u128() + 1 };
    let rows: Vec<String> = (0..number)
        .map(|number| {
            let fingerprint = fresh.bytes(&[&[0xC0 + u8::from(is_before); 28][..], &number.to_be_bytes()].concat());
            format!("({}, {fingerprint})", fresh.id(first + u128::from(number)))
        })
        .collect();
    let (filling, id) = (rows.join(", "), fresh.id(conflict.id.as_u128()));
    let columns = "changes, changes_total, opened_at, hits, is_open, workflow, places, grouping_key, decision";
    for sql in [
        format!(
            "WITH filling (id, fingerprint) AS (VALUES {filling}) \
             INSERT INTO conflict (id, operation, fingerprint, company, {columns}) \
             SELECT filling.id, operation, filling.fingerprint, 'ELSEWHERE', {columns} FROM filling, conflict WHERE conflict.id = {id}"
        ),
        format!(
            "WITH filling (id, fingerprint) AS (VALUES {filling}) INSERT INTO conflict_place (place, conflict) \
             SELECT place, filling.id FROM filling, conflict_place WHERE conflict = {id}"
        ),
    ] {
        assert_eq!(fresh.tamper(&sql).await, Ok(number.into()));
    }
}

fn decision(operation: &Operation, by: &str) -> ConflictDecision {
    ConflictDecision {
        outcome: ConflictOutcome::KeptApproved,
        by: by.to_owned(),
        at: moment(90),
        reason: "asked the customer".to_owned(),
        link: Some("https://tickets.example.test/7".to_owned()),
        seen_version: operation.version,
        seen_fingerprint: operation.fingerprint,
    }
}

async fn a_decision_is_kept_once(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut operation = fresh.begun("812").await;
    let conflict = opened(&fresh, &mut operation, 1, "/amount").await;
    let waiting = store.waiting(&Reach::EVERYTHING, 100).await.unwrap();
    assert_eq!(waiting.open_conflicts, 1);

    let mut replacement = uncertainty(&operation, now());
    replacement.operation.open_conflicts = 0;
    replacement.decided = Some((conflict.id, decision(&operation, "ada@example.test")));
    let mut late = replacement.clone();
    late.decided = Some((conflict.id, decision(&operation, "olga@example.test")));
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    assert_eq!(store.replace(late).await, Ok(Replaced::Stale));

    let held = store.conflict_by_id(conflict.id).await.unwrap().unwrap();
    assert_eq!(held.decision(), Some(&decision(&operation, "ada@example.test")));
    assert_eq!(store.conflict_payload(conflict.id).await.unwrap().as_deref(), Some(r#"{"number":1}"#));
    assert_eq!(store.conflict_by_id(ConflictId::from_u128(7)).await, Ok(None));
    assert_eq!(store.waiting(&Reach::EVERYTHING, 100).await.unwrap().open_conflicts, 0);
    fresh.remove().await;
}

async fn the_queue_is_read_page_by_page(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut operation = fresh.begun("812").await;
    let mut all = Vec::new();
    for number in 1..=5 {
        let path = if number % 2 == 0 { "/lines/3/quantity" } else { "/amount" };
        all.push(opened(&fresh, &mut operation, number, path).await);
    }
    let read = async |filter: &ConflictFilter, order, reach: &Reach| {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page = store.conflict_page(reach, filter, order, &PageRequest { cursor, limit: 2 }).await.unwrap();
            found.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() {
                return found;
            }
        }
    };
    let everything = Reach::EVERYTHING;
    let open = ConflictFilter::default();
    assert_eq!(read(&open, ConflictOrder::Oldest, &everything).await, all);
    let mut newest = all.clone();
    newest.reverse();
    assert_eq!(read(&open, ConflictOrder::Newest, &everything).await, newest);
    let of_lines = [all[1].clone(), all[3].clone()];
    let by_place = ConflictFilter { place: Some("/lines/*/quantity".to_owned()), ..open.clone() };
    assert_eq!(read(&by_place, ConflictOrder::Oldest, &everything).await, of_lines);
    let by_group = ConflictFilter { group: Some(all[1].places.group), ..open.clone() };
    assert_eq!(read(&by_group, ConflictOrder::Oldest, &everything).await, of_lines);
    let company = operation.key.company.as_str().to_owned();
    let here = ConflictFilter { company: Some(company.clone()), ..open.clone() };
    assert_eq!(read(&here, ConflictOrder::Oldest, &Reach::over([company], [])).await.len(), 5);
    let elsewhere = Reach::over(["Nowhere".to_owned()], []);
    assert_eq!(read(&open, ConflictOrder::Oldest, &elsewhere).await, []);
    let decided = ConflictFilter { is_decided: true, ..open };
    assert_eq!(read(&decided, ConflictOrder::Newest, &everything).await, []);
    fresh.remove().await;
}

async fn what_little_fits_is_looked_for_so_far_and_no_further(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut operation = fresh.begun("812").await;
    let own = opened(&fresh, &mut operation, 1, "/amount").await;
    let company = Some(operation.key.company.as_str().to_owned());
    let (workflow, group) = (Some(own.workflow.clone()), Some(own.places.group));
    let at = |place: &str| Some(place.to_owned());
    let page = |cursor| PageRequest { cursor, limit: 50 };
    let everything = Reach::EVERYTHING;
    let many: Vec<String> = (0..100).map(|number| format!("COMPANY {number}")).chain(company.clone()).collect();
    let of_many = Reach::over(many, []);

    // Exactly as many as are looked through: nothing is behind.
    copied(&fresh, &own, WALKED_ROWS_MAX - 1, true).await;
    let elsewhere = ConflictFilter { place: at("/other"), ..ConflictFilter::default() };
    let found = store.conflict_page(&everything, &elsewhere, ConflictOrder::Oldest, &page(None)).await.unwrap();
    assert_eq!((found.rows, found.next), (Vec::new(), None));

    let late = opened(&fresh, &mut operation, 2, "/late").await;
    let found = store.conflict_page(&everything, &elsewhere, ConflictOrder::Oldest, &page(None)).await.unwrap();
    assert!(found.rows.is_empty() && found.next.is_some(), "one more may be like that");
    let other = opened(&fresh, &mut operation, 3, "/amount").await;
    let open = [
        (&everything, ConflictFilter { place: at("/late"), ..ConflictFilter::default() }, vec![&late]),
        (&of_many, ConflictFilter::default(), vec![&late, &other]),
        (
            &everything,
            ConflictFilter { group, company: company.clone(), ..ConflictFilter::default() },
            vec![&own, &other],
        ),
    ];
    for (reach, filter, expected) in open {
        let mut found = Vec::new();
        let mut pages = 0;
        let mut cursor = None;
        loop {
            let next = store.conflict_page(reach, &filter, ConflictOrder::Oldest, &page(cursor)).await.unwrap();
            found.extend(next.rows);
            pages += 1;
            cursor = next.next;
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<_> = if filter.group.is_none() && filter.place.is_none() {
            std::iter::once(&own).chain(expected).collect()
        } else {
            expected
        };
        assert_eq!((found.iter().collect::<Vec<_>>(), pages), (expected, 2), "{filter:?}");
    }

    // Decided ones, the newest first: what came to the same place later is of another company.
    let mut replacement = uncertainty(&operation, now());
    replacement.decided = Some((own.id, decision(&operation, "ada@example.test")));
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    copied(&fresh, &store.conflict_by_id(own.id).await.unwrap().unwrap(), WALKED_ROWS_MAX + 1, false).await;
    let filter = ConflictFilter { place: at("/amount"), company, is_decided: true, ..ConflictFilter::default() };
    let first = store.conflict_page(&everything, &filter, ConflictOrder::Newest, &page(None)).await.unwrap();
    assert_eq!(first.rows, []);
    let second = store.conflict_page(&everything, &filter, ConflictOrder::Newest, &page(first.next)).await.unwrap();
    assert_eq!(second.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [own.id]);
    let of_workflow = ConflictFilter { workflow, company: None, ..filter };
    let first = store.conflict_page(&everything, &of_workflow, ConflictOrder::Newest, &page(None)).await.unwrap();
    assert_eq!(first.rows.len(), 50);
    fresh.remove().await;
}

async fn what_an_index_tells_is_found_behind_any_number(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut operation = fresh.begun("812").await;
    let own = opened(&fresh, &mut operation, 1, "/amount").await;
    copied(&fresh, &own, WALKED_ROWS_MAX + 1, true).await;
    let company = operation.key.company.as_str().to_owned();
    let here = Reach::over([company.clone(), "NOWHERE".to_owned()], []);
    let of_company = ConflictFilter { company: Some(company), ..ConflictFilter::default() };
    for (reach, filter) in [(&Reach::EVERYTHING, &of_company), (&here, &ConflictFilter::default())] {
        let one = PageRequest { cursor: None, limit: 1 };
        let found = store.conflict_page(reach, filter, ConflictOrder::Oldest, &one).await.unwrap();
        assert_eq!((found.rows, found.next), (vec![own.clone()], None));
        let groups = store.conflict_groups(reach, filter, 10).await.unwrap();
        let told: Vec<_> = groups.iter().map(|group| (group.open, group.is_cut, group.first.clone())).collect();
        assert_eq!(told, [(1, false, vec![own.id])]);
    }
    let elsewhere = Reach::over(["NOWHERE".to_owned()], []);
    let found =
        store.conflict_page(&elsewhere, &of_company, ConflictOrder::Oldest, &PageRequest { cursor: None, limit: 1 });
    let found = found.await.unwrap();
    assert_eq!((found.rows, found.next), (Vec::new(), None), "what lies out of reach is not looked for");
    fresh.remove().await;
}

async fn groups_are_counted(fresh: Fresh) {
    let store = &fresh.database.store;
    let mut operation = fresh.begun("812").await;
    let mut all = Vec::new();
    for (number, path) in [(1, "/amount"), (2, "/lines/0/quantity"), (3, "/lines/7/quantity")] {
        all.push(opened(&fresh, &mut operation, number, path).await);
    }
    let groups = store.conflict_groups(&Reach::EVERYTHING, &ConflictFilter::default(), 10).await.unwrap();
    let told: Vec<_> =
        groups.iter().map(|group| (group.places.listed.join(" "), group.open, group.oldest_at)).collect();
    assert_eq!(told, [("/lines/*/quantity".to_owned(), 2, moment(2)), ("/amount".to_owned(), 1, moment(1))]);
    let first: Vec<_> = groups.iter().map(|group| group.first.clone()).collect();
    assert_eq!(first, [vec![all[1].id, all[2].id], vec![all[0].id]]);
    let mut found = store.conflicts_by_id(&[all[2].id, ConflictId::from_u128(7), all[0].id]).await.unwrap();
    found.sort_by_key(|conflict| conflict.opened_at);
    assert_eq!(found, [all[0].clone(), all[2].clone()]);
    for number in 4..=6 {
        opened(&fresh, &mut operation, number, "/amount").await;
    }
    let groups = store.conflict_groups(&Reach::EVERYTHING, &ConflictFilter::default(), 1).await.unwrap();
    assert_eq!((groups[0].open, groups[0].first.len(), groups[0].first[0]), (4, GROUP_FIRST_MAX as usize, all[0].id));
    let elsewhere = ConflictFilter { company: Some("Nowhere".to_owned()), ..ConflictFilter::default() };
    assert_eq!(store.conflict_groups(&Reach::EVERYTHING, &elsewhere, 10).await.unwrap(), []);
    fresh.remove().await;
}
