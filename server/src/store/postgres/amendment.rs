//! Amendments.

use async_trait::async_trait;
use guard::amendment::{Amendment, AmendmentStateName};
use guard::clock::Timestamp;
use guard::id::{AmendmentId, OperationId};
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::{AmendmentChange, Amendments};
use guard::token::Reach;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::connection::bounded;
use super::look_alike::keep_look;
use super::stretch::{FirstRows, Walk};
use super::{PostgresStore, uuid};
use crate::store::row::{AmendmentRow, OperationRow, Place};

/// What the changes of a batch make of amendments.
#[derive(Default)]
pub(super) struct Amending<'a> {
    /// New rows, each with its payload.
    proposed: Vec<(AmendmentRow, &'a str)>,
    /// Operations that were there before and stand for another proposal now, each with its payload and its look.
    anew: Vec<(OperationRow, &'a str, Option<Look>)>,
    put: Vec<AmendmentRow>,
}

impl<'a> Amending<'a> {
    /// Takes in a new operation.
    pub(super) fn take_new(&mut self, amendment: Option<&Amendment>, payload: &'a str) {
        self.proposed.extend(amendment.map(|amendment| (amendment.into(), payload)));
    }

    /// Takes in the change of an operation.
    pub(super) fn take(&mut self, operation: &Operation, change: &'a AmendmentChange) {
        match change {
            AmendmentChange::Keep => {}
            AmendmentChange::Propose { amendment, payload, look } => {
                self.proposed.push(((&**amendment).into(), payload));
                self.anew.push((operation.into(), payload, *look));
            }
            AmendmentChange::Put(amendment) => self.put.push((&**amendment).into()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.proposed.is_empty() && self.anew.is_empty() && self.put.is_empty()
    }

    /// Stores it for the operations that were changed.
    pub(super) async fn store(self, connection: &mut PgConnection, stored: &[Uuid]) -> Result<(), sqlx::Error> {
        for (row, payload, look) in self.anew.iter().filter(|(row, ..)| stored.contains(&row.id)) {
            let update = sqlx::query(
                "UPDATE operation SET fingerprint = $2, fingerprint_scheme = $3, policy_version = $4, amount = $5, \
                 currency = $6, ten_thousandths = $7 WHERE id = $1",
            );
            let update = update.bind(row.id).bind(&row.fingerprint).bind(row.fingerprint_scheme);
            let update = update.bind(row.policy_version).bind(&row.amount).bind(&row.currency);
            update.bind(row.ten_thousandths).execute(&mut *connection).await?;
            let body = sqlx::query(
                "INSERT INTO body (operation, kind, content) VALUES ($1, 'payload', $2) \
                 ON CONFLICT (operation, kind) DO UPDATE SET content = excluded.content",
            );
            body.bind(row.id).bind(*payload).execute(&mut *connection).await?;
            keep_look(&mut *connection, row.id, *look).await?;
        }
        // What is over before what is new: one of an operation is open.
        for row in self.put.iter().filter(|row| stored.contains(&row.operation)) {
            let update = sqlx::query(
                "UPDATE amendment SET approvals = $2, state = $3, settled_at = $4, settled_by = $5, settled_reason = $6 \
                 WHERE id = $1",
            );
            let update = update.bind(row.id).bind(&row.approvals).bind(&row.state).bind(row.settled_at);
            update.bind(&row.settled_by).bind(&row.settled_reason).execute(&mut *connection).await?;
        }
        for (row, payload) in self.proposed.iter().filter(|(row, _)| stored.contains(&row.operation)) {
            let places: Vec<String> = (1..=29).map(|place| format!("${place}")).collect();
            let sql = AmendmentRow::insert(&places);
            bind(sqlx::query(&sql), row).bind(*payload).execute(&mut *connection).await?;
        }
        Ok(())
    }
}

fn bind<'q>(query: Query<'q, Postgres, PgArguments>, row: &'q AmendmentRow) -> Query<'q, Postgres, PgArguments> {
    query
        .bind(row.id)
        .bind(row.operation)
        .bind(row.revision)
        .bind(row.base)
        .bind(row.base_revision)
        .bind(row.base_version)
        .bind(&row.base_fingerprint)
        .bind(&row.base_reference)
        .bind(row.base_confirmed_at)
        .bind(&row.fingerprint)
        .bind(&row.changes)
        .bind(row.changes_total)
        .bind(&row.proposed_by)
        .bind(&row.behind)
        .bind(&row.proposal_reason)
        .bind(&row.requested_by)
        .bind(row.conflict)
        .bind(&row.correction)
        .bind(row.rule_version)
        .bind(&row.because)
        .bind(row.approvals_needed)
        .bind(&row.approvals)
        .bind(row.proposed_at)
        .bind(row.expires_at)
        .bind(&row.state)
        .bind(row.settled_at)
        .bind(&row.settled_by)
        .bind(&row.settled_reason)
}

/// The amendments in a state, or in any; of them those that `behind` says.
fn rows(state: Option<AmendmentStateName>, behind: &str, order: &'static str) -> FirstRows {
    let condition = state.map_or_else(|| "true".to_owned(), |state| format!("state = '{}'", state.as_str()));
    FirstRows {
        table: "amendment",
        columns: "id, company, workflow",
        condition: format!("{condition}{behind}").into(),
        order,
        has_workflows: false,
        most: 0,
    }
}

impl PostgresStore {
    /// A page of the amendments behind this one, or before it.
    async fn amendments_from(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: Option<u128>,
        is_ascending: bool,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, StoreFault> {
        if reach.is_nothing() {
            return Ok(Page::EMPTY);
        }
        let (sign, direction, order) = if is_ascending { (">", "ASC", "id ASC") } else { ("<", "DESC", "id DESC") };
        let behind = id.map(|id| format!(" AND id {sign} '{}'::uuid", Uuid::from_u128(id))).unwrap_or_default();
        let walk = Walk::along(rows(state, &behind, order), reach, direction);
        let of_table = ("amendment", AmendmentRow::COLUMNS);
        self.walk::<AmendmentRow, _>(&walk, of_table, page, |amendment: &Amendment| amendment.id.as_u128()).await
    }
}

#[async_trait]
impl Amendments for PostgresStore {
    async fn amendment(&self, id: AmendmentId) -> Result<Option<Amendment>, StoreFault> {
        let sql = format!("SELECT {} FROM amendment WHERE id = $1", AmendmentRow::COLUMNS);
        let found = sqlx::query(&sql).bind(Uuid::from_u128(id.as_u128()));
        Ok(self.all::<AmendmentRow, _>(found).await?.pop())
    }

    async fn amendment_payload(&self, id: AmendmentId) -> Result<Option<String>, StoreFault> {
        let mut connection = self.connection().await?;
        let payload = sqlx::query_scalar::<_, Option<String>>("SELECT payload FROM amendment WHERE id = $1");
        let payload = payload.bind(Uuid::from_u128(id.as_u128())).fetch_optional(&mut *connection);
        bounded(payload).await.map(Option::flatten).map_err(|trouble| trouble.fault(&id))
    }

    async fn amendments_of(&self, operation: OperationId, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        let sql =
            format!("SELECT {} FROM amendment WHERE operation = $1 ORDER BY id DESC LIMIT $2", AmendmentRow::COLUMNS);
        self.all::<AmendmentRow, _>(sqlx::query(&sql).bind(uuid(operation)).bind(i64::from(limit))).await
    }

    async fn amendments(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, StoreFault> {
        let behind = page.cursor.as_ref().and_then(Cursor::read).map(|(_, id)| id);
        self.amendments_from(reach, state, behind, false, page).await
    }

    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault> {
        let next = PageRequest { cursor: None, limit: 1 };
        Ok(self.amendments_from(reach, state, Some(id.as_u128()), true, &next).await?.rows.pop())
    }

    async fn proposals_over(&self, now: Timestamp, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM amendment WHERE state = 'awaiting_approval' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2",
            AmendmentRow::COLUMNS
        );
        self.all::<AmendmentRow, _>(sqlx::query(&sql).bind(now.timestamp_millis()).bind(i64::from(limit))).await
    }

    async fn proposals_waiting(&self, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (");
        FirstRows { most, ..rows(Some(AmendmentStateName::AwaitingApproval), "", "id") }.push(&mut query, reach);
        query.push(") AS waiting");
        let mut connection = self.connection().await?;
        let counted = query.build_query_scalar().fetch_one(&mut *connection);
        let counted: i64 = bounded(counted).await.map_err(|trouble| trouble.fault(&"counts"))?;
        Place::new("amendment", &"counts").number("state", counted)
    }
}
