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
use super::list::push_reach;
use super::look_alike::keep_look;
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
            let sql = format!("INSERT INTO {} VALUES ({})", AmendmentRow::INTO, places.join(", "));
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

/// The amendments within reach, in a state where one is named.
fn push_within(query: &mut QueryBuilder<'static, Postgres>, reach: &Reach, state: Option<AmendmentStateName>) {
    query.push(" FROM amendment");
    if reach.companies.is_some() || reach.workflows.is_some() {
        query.push(" JOIN operation ON operation.id = amendment.operation");
    }
    query.push(" WHERE true");
    if let Some(state) = state {
        query.push(format!(" AND amendment.state = '{}'", state.as_str()));
    }
    push_reach(query, reach, "operation");
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
        let mut query = QueryBuilder::new(format!("SELECT {}", AmendmentRow::COLUMNS));
        push_within(&mut query, reach, state);
        if let Some((_, id)) = page.cursor.as_ref().and_then(Cursor::read) {
            query.push(" AND amendment.id < ").push_bind(Uuid::from_u128(id));
        }
        query.push(" ORDER BY amendment.id DESC LIMIT ").push_bind(i64::from(page.limit) + 1);
        let mut rows: Vec<Amendment> = self.all::<AmendmentRow, _>(query.build()).await?;
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        Ok(Page { next: last.map(|last| Cursor::behind(last.proposed_at, last.id.as_u128())), rows })
    }

    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault> {
        let mut query = QueryBuilder::new(format!("SELECT {}", AmendmentRow::COLUMNS));
        push_within(&mut query, reach, state);
        query.push(" AND amendment.id > ").push_bind(Uuid::from_u128(id.as_u128()));
        query.push(" ORDER BY amendment.id LIMIT 1");
        Ok(self.all::<AmendmentRow, _>(query.build()).await?.pop())
    }

    async fn proposals_over(&self, now: Timestamp, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM amendment WHERE state = 'awaiting_approval' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2",
            AmendmentRow::COLUMNS
        );
        self.all::<AmendmentRow, _>(sqlx::query(&sql).bind(now.timestamp_millis()).bind(i64::from(limit))).await
    }

    async fn proposals_waiting(&self, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT");
        push_within(&mut query, reach, Some(AmendmentStateName::AwaitingApproval));
        query.push(" LIMIT ").push_bind(i64::from(most)).push(") AS waiting");
        let mut connection = self.connection().await?;
        let counted = query.build_query_scalar().fetch_one(&mut *connection);
        let counted: i64 = bounded(counted).await.map_err(|trouble| trouble.fault(&"counts"))?;
        Place::new("amendment", &"counts").number("state", counted)
    }
}
