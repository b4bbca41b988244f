//! Which indexes answer, on connections whose statements were first planned when the tables were empty: a fresh install.

use std::sync::Arc;

use guard::activity::ActivityFilter;
use guard::amendment::AmendmentStateName;
use guard::conflict::{ConflictFilter, ConflictOrder, GroupKey, place_key};
use guard::decision::{Decision, DecisionName};
use guard::id::{AmendmentId, OperationId};
use guard::key::{KeyPart, OperationKey};
use guard::look_alike::Look;
use guard::period::{Basis, Span};
use guard::queue::{Filter, Order, PageRequest, Sought, WALKED_ROWS_MAX};
use guard::recovery::Claim;
use guard::retention::HoldSubject;
use guard::state::StateName;
use guard::store::{LookAlikeQuestion, NewOperation};
use guard::token::Reach;
use guard::trail::EntryKind;
use server::trail::{ChainId, Moment};
use sqlx::Connection as _;

use crate::server_process::Server;
use crate::support::{Fresh, begun_as, eventually, key, now};

const OPERATIONS: i64 = 8_000;

/// Where little fits, three hundred rows of all are looked at before the narrower index, once to find where looking ends and once to look:
/// thirty lists, ten times.
const PEEKED_ROWS_MAX: i64 = 2 * 300 * 30 * 10;

/// What failed within a company is rare, and is looked for among all that failed before it is in the narrower index: two pages, ten times,
/// once to find where looking ends and once to look.
const WALKED_OF_FAILED_MAX: i64 = 2 * WALKED_ROWS_MAX as i64 * 2 * 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_question_reads_a_whole_table_though_it_was_planned_on_an_empty_one() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let server = Server::over(fresh.opened_again().await).await;
    for round in 0..10 {
        Box::pin(ask_everything(&server, &format!("empty {round}"))).await;
    }
    fill(&fresh, &server).await;
    let before = Usage::of(&fresh).await;
    for round in 0..10 {
        Box::pin(ask_everything(&server, &format!("full {round}"))).await;
    }
    server.database.close().await;
    until_gone(&fresh, "key_hash").await;
    let after = Usage::of(&fresh).await;
    for table in [
        "operation",
        "entry",
        "body",
        "conflict",
        "conflict_place",
        "amendment",
        "evidence",
        "delivery",
        "recovery",
        "look_alike",
    ] {
        let (before, after) = (before.rows_scanned(table), after.rows_scanned(table));
        assert!(after - before < OPERATIONS / 4, "{table}: {} rows were read without an index", after - before);
    }
    for index in [
        "operation_pkey",
        "operation_by_key",
        "operation_by_lease",
        "operation_uncertain",
        "operation_by_document",
        "operation_by_facet",
        "operation_by_reference",
        "operation_by_worker",
        "operation_left",
        "operation_unfinished",
        "operation_unknown",
        "operation_unknown_by_company",
        "entry_by_people",
        "entry_by_person",
        "entry_of_people_by_kind",
        "entry_by_person_and_kind",
        "entry_pkey",
        "body_pkey",
        "conflict_by_payload",
        "conflict_open",
        "conflict_open_by_company",
        "conflict_open_by_workflow",
        "conflict_open_by_group",
        "conflict_decided",
        "conflict_decided_by_company",
        "conflict_decided_by_workflow",
        "conflict_decided_by_group",
        "conflict_pkey",
        "conflict_place_pkey",
        "evidence_by_operation",
        "delivery_by_operation",
        "recovery_pkey",
        "recovery_due",
        "operation_to_drop",
        "amendment_by_base",
        "amendment_by_state",
        "amendment_by_company_and_state",
        "amendment_by_company",
        "amendment_pkey",
        "legal_hold_pkey",
        "look_alike_pkey",
        "look_alike_by_look",
    ] {
        assert!(after.index_scans(index) > before.index_scans(index), "{index} is not used");
        let read = after.rows_of_index(index) - before.rows_of_index(index);
        let bound = match index {
            "operation_pkey" => PEEKED_ROWS_MAX,
            "operation_unfinished" => OPERATIONS + WALKED_OF_FAILED_MAX,
            // Half of as many conflicts as operations are in each; of some lists none fits.
            index if index.starts_with("conflict_") => {
                (after.index_scans(index) - before.index_scans(index)) * (i64::from(WALKED_ROWS_MAX) + 2)
            }
            _ => OPERATIONS,
        };
        assert!(read < bound, "{index}: {read} rows for ten pages each");
    }
    fresh.remove().await;
}

/// Asks everything that is asked while serving, about the documents of one round.
async fn ask_everything(server: &Server, document: &str) {
    let database = &server.database;
    let store = &database.store;
    let Decision::Proceed { operation, .. } = server.begin(document).await.unwrap() else { panic!() };
    assert_eq!(server.begin(document).await.unwrap().name(), DecisionName::InProgress);
    server.confirm(&operation).await.unwrap();
    assert_eq!(server.begin(document).await.unwrap().name(), DecisionName::Replay);

    let page = PageRequest { cursor: None, limit: 20 };
    let some = |text: &str| Some(text.to_owned());
    let everywhere = Reach::EVERYTHING;
    let one_company = Reach::over(["RARE".to_owned()], []);
    let filters = [
        (&everywhere, Filter::default()),
        (&everywhere, Filter { document: some(document), ..Filter::default() }),
        (&everywhere, Filter { company: some("RARE"), ..Filter::default() }),
        (&everywhere, Filter { workflow: some("rare"), ..Filter::default() }),
        (&everywhere, Filter { states: vec![StateName::Failed, StateName::Released], ..Filter::default() }),
        (&everywhere, Filter { states: vec![StateName::Failed], company: some("RARE"), ..Filter::default() }),
        (&everywhere, Filter { worker: some("nobody"), ..Filter::default() }),
        (&everywhere, Filter { sought: Some(Sought::of(document)), ..Filter::default() }),
        (&everywhere, Filter { source_system: some("rare"), ..Filter::default() }),
        (&everywhere, Filter { action: some("rare"), ..Filter::default() }),
        (&everywhere, Filter { from: Some(now()), ..Filter::default() }),
        (&everywhere, Filter { to: Some(now() - chrono::TimeDelta::days(1)), ..Filter::default() }),
        (&one_company, Filter::default()),
    ];
    for (reach, filter) in filters {
        let mut request = page.clone();
        let first = store.operations(reach, &filter, Order::Newest, &request).await.unwrap();
        request.cursor = first.next;
        store.operations(reach, &filter, Order::Newest, &request).await.unwrap();
    }
    store.waiting(&everywhere, 100).await.unwrap();
    for reach in [&everywhere, &one_company] {
        store.latest_unknown(reach, 20).await.unwrap();
        store.recovering(reach, 20).await.unwrap();
    }
    store.expired(now() - chrono::TimeDelta::days(1), 100).await.unwrap();

    ask_for_conflicts_and_amendments(server, [&everywhere, &one_company], &page).await;

    let rare = ActivityFilter { person: some("rare@example.test"), ..ActivityFilter::default() };
    let of_kind = ActivityFilter { kind: Some(EntryKind::Resolved), ..ActivityFilter::default() };
    let both = ActivityFilter { kind: of_kind.kind, ..rare.clone() };
    for filter in [ActivityFilter::default(), rare, of_kind, both] {
        store.activities(&everywhere, &filter, &page).await.unwrap();
    }

    let id = operation.id;
    assert_eq!(store.entries(id, 0, 10).await.unwrap().len(), 2);
    assert!(store.payload(id).await.unwrap().is_some());
    assert!(store.conflict(id, &operation.fingerprint).await.unwrap().is_none());
    store.conflicts(id, 10).await.unwrap();
    store.evidence(id, 10).await.unwrap();
    store.deliveries(id, 10).await.unwrap();

    let claim = Claim { by: document.to_owned(), until: now() };
    store.claim_recoveries("ledger", now(), &claim, 20).await.unwrap();
    store.release_recoveries(&[id], "nobody").await.unwrap();
    assert!(!store.hasten_recovery(id, now()).await.unwrap());
    assert_eq!(store.recovery(id).await.unwrap(), None);
    assert_eq!(store.recoveries(&[id]).await.unwrap(), []);
    store.without_recovery("handoff", "ledger", OperationId::from_u128(0), 20).await.unwrap();
    store.drop_recovery(id).await.unwrap();
    store.accesses().await.unwrap();

    // All but nothing of what there is has been settled for so long.
    let yesterday = now() - chrono::TimeDelta::days(1);
    store.due_to_drop("rare", now(), None, 20).await.unwrap();
    store.due_to_drop("handoff", yesterday, Some((yesterday, id)), 20).await.unwrap();
    store.count_due_to_drop("handoff", now(), 100).await.unwrap();
    store.bodies(id).await.unwrap();
    store.built_on(id).await.unwrap();
    store.holds(&[HoldSubject::operation(id), HoldSubject::document(&operation.key)]).await.unwrap();

    let week = chrono::TimeDelta::days(7);
    let alike = LookAlikeQuestion { operation: id, from: now() - week, to: now() + week };
    store.look_alikes(&[alike], 10).await.unwrap();

    let today = now().date_naive();
    let span = Span { from: today, to: today };
    for basis in [Basis::Created, Basis::Payload] {
        for company in ["RARE", operation.key.company.as_str()] {
            let first = store.period_rows(company, span, basis, None, 5).await.unwrap();
            store.period_rows(company, span, basis, first.last(), 5).await.unwrap();
        }
    }
    store.days(&[id]).await.unwrap();
    store.closed_period("RARE", span).await.unwrap();

    let ledger = &database.ledger;
    let moment = now();
    ledger.heads_by_moment(Moment::start_of(moment), moment, 20).await.unwrap();
    ledger.all_entries((ChainId::from(id), 0), 20).await.unwrap();
    ledger.all_operations(OperationId::from_u128(id.as_u128() - 1), 20).await.unwrap();
    assert_eq!(ledger.hashes(&[(ChainId::from(id), 1)]).await.unwrap().len(), 1);
}

/// Asks for every list of conflicts and of amendments.
async fn ask_for_conflicts_and_amendments(server: &Server, reaches: [&Reach; 2], page: &PageRequest) {
    let store = &server.database.store;
    let all = ConflictFilter::default();
    let company = || Some("RARE".to_owned());
    let filters = [
        all.clone(),
        ConflictFilter { company: company(), ..all.clone() },
        ConflictFilter { workflow: Some("rare".to_owned()), ..all.clone() },
        ConflictFilter { workflow: Some("rare".to_owned()), company: company(), ..all.clone() },
        ConflictFilter { place: Some("/amount".to_owned()), ..all.clone() },
        ConflictFilter { place: Some("/rare".to_owned()), company: company(), ..all.clone() },
        ConflictFilter { group: Some(GroupKey::default()), ..all.clone() },
        ConflictFilter { group: Some(GroupKey::default()), company: company(), ..all },
    ];
    for reach in reaches {
        for filter in &filters {
            for is_decided in [false, true] {
                let filter = ConflictFilter { is_decided, ..filter.clone() };
                for order in [ConflictOrder::Oldest, ConflictOrder::Newest] {
                    let mut request = page.clone();
                    let first = store.conflict_page(reach, &filter, order, &request).await.unwrap();
                    request.cursor = first.next;
                    store.conflict_page(reach, &filter, order, &request).await.unwrap();
                }
            }
            store.conflict_groups(reach, filter, 20).await.unwrap();
        }
        for state in std::iter::once(None).chain(AmendmentStateName::ALL.map(Some)) {
            let mut request = page.clone();
            let first = store.amendments(reach, state, &request).await.unwrap();
            request.cursor = first.next;
            store.amendments(reach, state, &request).await.unwrap();
            store.amendment_before(reach, state, AmendmentId::from_u128(7)).await.unwrap();
        }
        store.proposals_waiting(reach, 100).await.unwrap();
    }
}

/// Fills the tables: little is neither confirmed nor failed, more failed than one page looks through, and one company and one workflow are
/// rare.
async fn fill(fresh: &Fresh, server: &Server) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..OPERATIONS {
        let store = Arc::clone(&server.database.store);
        tasks.spawn(async move {
            let part = |text: &str| KeyPart::new(text).unwrap();
            let base = key(&format!("filling {number}"));
            let filling = match number % 2_000 {
                1 => OperationKey { company: part("RARE"), ..base },
                2 => OperationKey { workflow: part("rare"), ..base },
                _ => base,
            };
            // Two of each look.
            let look = Some(Look::from_bytes(i128::from(number / 2).to_be_bytes()));
            store.insert_if_absent(NewOperation { look, ..begun_as(filling, now()) }).await.unwrap();
        });
        if tasks.len() >= 256 {
            tasks.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(filled) = tasks.join_next().await {
        filled.unwrap();
    }
    let settled = [
        "UPDATE operation SET state = 'confirmed', lease_expires_at = NULL, destination_reference = document WHERE document LIKE 'filling %'",
        "UPDATE operation SET state = 'unknown', reason = 'lost', destination_reference = NULL WHERE document LIKE 'filling %77'",
        "UPDATE operation SET state = 'failed', reason = 'refused', destination_reference = NULL WHERE document SIMILAR TO 'filling %[2468]'",
    ];
    let mut connection = sqlx::PgConnection::connect(&fresh.url).await.unwrap();
    for sql in settled {
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
    // As many conflicts as there are operations, half of them open, and as many amendments, of which few wait.
    let conflicts = "INSERT INTO conflict (id, operation, fingerprint, changes, changes_total, opened_at, hits, is_open, workflow, company, \
         places, decision) \
         SELECT id, id, fingerprint, '[]', 0, created_at, 1, number % 2 = 0, workflow, company, '{\"listed\":[],\"total\":0,\"group\":\"00000000000000000000000000000000\"}', \
         CASE WHEN number % 2 = 1 THEN '{\"outcome\":\"kept_approved\",\"by\":\"ada@example.test\",\"at\":\"2026-01-01T00:00:00Z\",\"reason\":\"so\",\"link\":null,\"seen_version\":1,\"seen_fingerprint\":\"sha256:' \
              || encode(fingerprint, 'hex') || '\"}' END \
         FROM (SELECT *, row_number() OVER () AS number FROM operation WHERE document LIKE 'filling %') AS filling";
    sqlx::query(conflicts).execute(&mut connection).await.unwrap();
    let places = "INSERT INTO conflict_place (place, conflict) SELECT $1, id FROM conflict WHERE changes_total = 0";
    sqlx::query(places).bind(place_key("/amount").to_vec()).execute(&mut connection).await.unwrap();
    let amendments = "INSERT INTO amendment (id, operation, revision, base, base_revision, base_version, base_fingerprint, base_reference, \
         base_confirmed_at, fingerprint, changes, changes_total, proposed_by, proposal_reason, correction, rule_version, because, \
         approvals_needed, approvals, proposed_at, expires_at, state, settled_at, company, workflow) \
         SELECT id, id, 2, id, 1, 1, fingerprint, 'L-1', created_at, fingerprint, '[]', 0, 'person:ada@example.test', 'so', 'replace', 1, 'so', 1, \
         '[]', created_at, created_at, CASE WHEN number % 100 = 0 THEN 'awaiting_approval' ELSE 'begun' END, \
         CASE WHEN number % 100 = 0 THEN NULL ELSE created_at END, company, workflow \
         FROM (SELECT *, row_number() OVER () AS number FROM operation WHERE document LIKE 'filling %') AS filling";
    sqlx::query(amendments).execute(&mut connection).await.unwrap();
    // As many as there are operations, all of them long due.
    let scheduled = "INSERT INTO recovery (operation, destination, since, last_write_at, due_at, lookups) \
         SELECT id, 'ledger', created_at, created_at, created_at, 0 FROM operation WHERE document LIKE 'filling %'";
    sqlx::query(scheduled).execute(&mut connection).await.unwrap();
    // As many deeds of people, few of them by one person or of one kind.
    let deeds = "INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash) \
         SELECT chain, 2, at, CASE number % 1000 WHEN 1 THEN 'person:rare@example.test' ELSE 'person:ada@example.test' END, \
         CASE number % 1000 WHEN 2 THEN 'resolved' ELSE 'claimed' END, detail, hash FROM \
         (SELECT entry.*, row_number() OVER () AS number FROM entry JOIN operation ON operation.id = entry.chain \
          WHERE sequence = 1 AND document LIKE 'filling %') AS begun";
    sqlx::query(deeds).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    until_gone(fresh, "filling").await;
}

/// Waits for the end of the connections whose last statement holds this word: only then is what they did counted for certain.
async fn until_gone(fresh: &Fresh, word: &str) {
    let connections = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND query LIKE '%{word}%' AND query NOT LIKE '%pg_stat_activity%'"
    );
    eventually("the connections are gone", async || fresh.number(&connections).await == 0).await;
}

/// What PostgreSQL counts of the use of tables and indexes.
struct Usage {
    tables: Vec<(String, i64)>,
    indexes: Vec<(String, i64, i64)>,
}

impl Usage {
    async fn of(fresh: &Fresh) -> Self {
        let mut connection = sqlx::PgConnection::connect(&fresh.url).await.unwrap();
        let tables = sqlx::query_as("SELECT relname::text, seq_tup_read FROM pg_stat_user_tables");
        let indexes = sqlx::query_as("SELECT indexrelname::text, idx_scan, idx_tup_read FROM pg_stat_user_indexes");
        let usage = Self {
            tables: tables.fetch_all(&mut connection).await.unwrap(),
            indexes: indexes.fetch_all(&mut connection).await.unwrap(),
        };
        connection.close().await.unwrap();
        usage
    }

    fn rows_scanned(&self, table: &str) -> i64 {
        self.tables.iter().find(|(name, _)| name == table).unwrap().1
    }

    fn index_scans(&self, index: &str) -> i64 {
        self.indexes.iter().find(|(name, ..)| name == index).unwrap().1
    }

    fn rows_of_index(&self, index: &str) -> i64 {
        self.indexes.iter().find(|(name, ..)| name == index).unwrap().2
    }
}
