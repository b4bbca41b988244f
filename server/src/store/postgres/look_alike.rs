//! Look-alikes.

use std::sync::LazyLock;

use async_trait::async_trait;
use guard::id::OperationId;
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::store::{LookAlikeQuestion, LookAlikes};
use sqlx::{FromRow as _, PgConnection, Row as _};
use uuid::Uuid;

use super::{PostgresStore, ReadError, read};
use crate::store::row::OperationRow;
use crate::store::walk::first_id;

/// For each operation that is asked about, a stretch of one index before it and one behind it.
static NEAREST: LazyLock<String> = LazyLock::new(|| {
    let side = |span: &str, direction: &str| {
        format!(
            "(SELECT other.operation FROM look_alike AS other \
              WHERE other.look = (SELECT look FROM look_alike WHERE operation = asked.wanted) AND other.operation {span} \
              ORDER BY other.operation {direction} LIMIT $4)"
        )
    };
    format!(
        "SELECT asked.wanted, {} FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS asked (wanted, since, until) \
         CROSS JOIN LATERAL ({} UNION ALL {}) AS near JOIN operation ON operation.id = near.operation",
        OperationRow::COLUMNS,
        side("< asked.wanted AND other.operation >= asked.since", "DESC"),
        side("> asked.wanted AND other.operation < asked.until", "ASC"),
    )
});

/// Keeps by what an operation looks like others, in place of what was kept before.
pub(super) async fn keep_look(
    connection: &mut PgConnection,
    operation: Uuid,
    look: Option<Look>,
) -> Result<(), sqlx::Error> {
    let query = match &look {
        Some(look) => sqlx::query(
            "INSERT INTO look_alike (operation, look) VALUES ($1, $2) \
             ON CONFLICT (operation) DO UPDATE SET look = excluded.look",
        )
        .bind(operation)
        .bind(look.as_bytes().as_slice()),
        None => sqlx::query("DELETE FROM look_alike WHERE operation = $1").bind(operation),
    };
    query.execute(connection).await.map(drop)
}

#[async_trait]
impl LookAlikes for PostgresStore {
    async fn look_alikes(
        &self,
        questions: &[LookAlikeQuestion],
        limit: u32,
    ) -> Result<Vec<(OperationId, Operation)>, StoreFault> {
        let column = |value: fn(&LookAlikeQuestion) -> u128| {
            questions.iter().map(|question| Uuid::from_u128(value(question))).collect::<Vec<_>>()
        };
        let mut connection = self.connection().await?;
        read(async {
            let rows = sqlx::query(&NEAREST)
                .bind(column(|question| question.operation.as_u128()))
                .bind(column(|question| first_id(question.from)))
                .bind(column(|question| first_id(question.to)))
                .bind(i64::from(limit))
                .fetch_all(&mut *connection)
                .await?;
            let read = |row: &sqlx::postgres::PgRow| {
                let of: Uuid = row.try_get("wanted")?;
                let other = Operation::try_from(OperationRow::from_row(row)?)?;
                Ok((OperationId::from_u128(of.as_u128()), other))
            };
            rows.iter().map(read).collect::<Result<Vec<_>, ReadError>>()
        })
        .await
    }
}
