//! Periods, and what lies in them.

use async_trait::async_trait;
use guard::id::{OperationId, PeriodId};
use guard::period::{Basis, Day, Period, PeriodRow, SealMark, Span};
use guard::refusal::StoreFault;
use guard::store::Periods;
use guard::token::Reach;
use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use super::{PostgresStore, bounded, uuid};
use crate::store::row::{ClosedPeriodRow, DayRow, PeriodOperationRow, period_uuid};
use crate::trail::Ledger as _;

/// Stores a period as it stands now.
pub(super) async fn put(connection: &mut PgConnection, period: &Period) -> Result<(), sqlx::Error> {
    let ClosedPeriodRow { id, company, from_day, to_day, standing, period } = ClosedPeriodRow::from(period);
    sqlx::query(
        "INSERT INTO period (id, company, from_day, to_day, standing, period) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, period = excluded.period",
    )
    .bind(id)
    .bind(company)
    .bind(from_day)
    .bind(to_day)
    .bind(standing)
    .bind(period)
    .execute(connection)
    .await?;
    Ok(())
}

/// Keeps the days of new operations: the operation, its company, its day.
pub(super) async fn keep_days(
    connection: &mut PgConnection,
    days: Vec<(Uuid, String, String)>,
) -> Result<(), sqlx::Error> {
    for (operation, company, day) in days {
        let insert = sqlx::query("INSERT INTO dated (operation, company, day) VALUES ($1, $2, $3)");
        insert.bind(operation).bind(company).bind(day).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The first id of a day.
fn first_id(day: Day) -> Uuid {
    let milliseconds = day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis();
    Uuid::from_u128(u128::try_from(milliseconds).unwrap_or_default() << 80)
}

/// A workflow, source system and action.
type Facet = (String, String, String);

impl PostgresStore {
    /// The next workflow, source system and action of a company.
    async fn next_facet(&self, company: &str, facet: &Facet) -> Result<Option<Facet>, StoreFault> {
        let (workflow, source_system, action) = facet;
        let mut connection = self.connection().await?;
        let found = sqlx::query_as(
            "SELECT workflow, source_system, action FROM facet \
             WHERE company = $1 AND (workflow, source_system, action) > ($2, $3, $4) \
             ORDER BY workflow, source_system, action LIMIT 1",
        )
        .bind(company)
        .bind(workflow)
        .bind(source_system)
        .bind(action)
        .fetch_optional(&mut *connection);
        bounded(found).await.map_err(|trouble| trouble.fault(&company))
    }

    /// What was begun in a span, facet by facet.
    async fn created(
        &self,
        company: &str,
        span: Span,
        after: Option<&PeriodRow>,
        limit: u32,
    ) -> Result<Vec<PeriodRow>, StoreFault> {
        let sql = format!(
            "SELECT {}, NULL::text AS day FROM operation \
             WHERE facet = ANY(ARRAY[facet_of($1, $2, $3, $4)]) AND id > $5 AND id < $6 \
             AND NOT EXISTS (SELECT FROM dated WHERE dated.operation = operation.id) ORDER BY facet, id LIMIT $7",
            PeriodOperationRow::COLUMNS
        );
        let end = span.to.succ_opt().map_or(Uuid::max(), first_id);
        let (mut facet, mut behind) = match after {
            Some(row) => {
                let facet = (row.workflow.clone(), row.source_system.clone(), row.action.clone());
                (Some(facet), uuid(row.operation))
            }
            None => (self.next_facet(company, &Facet::default()).await?, first_id(span.from)),
        };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut rows: Vec<PeriodRow> = Vec::new();
        while let Some(stretch) = facet {
            let left = i64::try_from(most.saturating_sub(rows.len())).unwrap_or(i64::MAX);
            let (workflow, source_system, action) = &stretch;
            let query = sqlx::query(&sql).bind(company).bind(workflow).bind(source_system).bind(action);
            rows.extend(self.all::<PeriodOperationRow, _>(query.bind(behind).bind(end).bind(left)).await?);
            if rows.len() >= most {
                break;
            }
            facet = self.next_facet(company, &stretch).await?;
            behind = first_id(span.from);
        }
        Ok(rows)
    }
}

#[async_trait]
impl Periods for PostgresStore {
    async fn days(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, Day)>, StoreFault> {
        let ids: Vec<Uuid> = operations.iter().map(|operation| uuid(*operation)).collect();
        let days = sqlx::query("SELECT operation, day FROM dated WHERE operation = ANY($1)").bind(ids);
        self.all::<DayRow, _>(days).await
    }

    async fn period_rows(
        &self,
        company: &str,
        span: Span,
        basis: Basis,
        after: Option<&PeriodRow>,
        limit: u32,
    ) -> Result<Vec<PeriodRow>, StoreFault> {
        let columns = PeriodOperationRow::COLUMNS;
        match basis {
            Basis::Created => self.created(company, span, after, limit).await,
            Basis::Payload => {
                let place = after.map(|row| (row.day, row.operation));
                let (day, id) = place.unwrap_or((span.from, OperationId::from_u128(0)));
                let sql = format!(
                    "SELECT {columns}, dated.day FROM dated JOIN operation ON operation.id = dated.operation \
                     WHERE dated.company = $1 AND (dated.day, dated.operation) > ($2, $3) AND dated.day <= $4 \
                     ORDER BY dated.day, dated.operation LIMIT $5"
                );
                let rows = sqlx::query(&sql).bind(company).bind(day.to_string()).bind(uuid(id));
                self.all::<PeriodOperationRow, _>(rows.bind(span.to.to_string()).bind(i64::from(limit))).await
            }
        }
    }

    async fn period(&self, id: PeriodId) -> Result<Option<Period>, StoreFault> {
        let sql = format!("SELECT {} FROM period WHERE id = $1", ClosedPeriodRow::COLUMNS);
        Ok(self.all::<ClosedPeriodRow, _>(sqlx::query(&sql).bind(period_uuid(id))).await?.pop())
    }

    async fn closed_period(&self, company: &str, span: Span) -> Result<Option<Period>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM period WHERE company = $1 AND standing = 'closed' AND to_day >= $2 AND from_day <= $3 \
             ORDER BY to_day LIMIT 1",
            ClosedPeriodRow::COLUMNS
        );
        let period = sqlx::query(&sql).bind(company).bind(span.from.to_string()).bind(span.to.to_string());
        Ok(self.all::<ClosedPeriodRow, _>(period).await?.pop())
    }

    async fn periods(&self, reach: &Reach, before: Option<PeriodId>, limit: u32) -> Result<Vec<Period>, StoreFault> {
        let mut query = QueryBuilder::new(format!("SELECT {} FROM period WHERE id < ", ClosedPeriodRow::COLUMNS));
        query.push_bind(before.map_or(Uuid::max(), period_uuid));
        if let Some(companies) = &reach.companies {
            query.push(" AND company = ANY(").push_bind(companies.iter().cloned().collect::<Vec<_>>()).push(")");
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(limit));
        self.all::<ClosedPeriodRow, _>(query.build()).await
    }

    async fn last_seal_mark(&self) -> Result<Option<SealMark>, StoreFault> {
        Ok(self.last_seal().await?.map(|seal| SealMark { number: seal.number, hash: seal.hash }))
    }
}
