//! Look-alikes.

use std::sync::LazyLock;

use async_trait::async_trait;
use guard::id::OperationId;
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::store::{LookAlikeQuestion, LookAlikes};
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::SqliteStore;
use super::readers::all;
use super::work::{execute, key};
use crate::store::row::OperationRow;
use crate::store::walk::first_id;

/// Those before an operation, the nearest first.
pub(super) static BEFORE: LazyLock<String> =
    LazyLock::new(|| nearest("operation < ?1 AND look_alike.operation >= ?2", "DESC"));

/// Those behind an operation, the nearest first.
pub(super) static BEHIND: LazyLock<String> =
    LazyLock::new(|| nearest("operation > ?1 AND look_alike.operation < ?2", "ASC"));

fn nearest(span: &str, direction: &str) -> String {
    format!(
        "SELECT {} FROM look_alike CROSS JOIN operation ON operation.id = look_alike.operation \
         WHERE look_alike.look = (SELECT look FROM look_alike WHERE operation = ?1) AND look_alike.{span} \
         ORDER BY look_alike.operation {direction} LIMIT ?3",
        OperationRow::COLUMNS
    )
}

/// Keeps by what an operation looks like others.
pub(super) fn keep_look(transaction: &Connection, operation: &Uuid, look: Option<Look>) -> Result<(), StoreFault> {
    let Some(look) = look else { return Ok(()) };
    let sql = "INSERT INTO look_alike (operation, look) VALUES (?1, ?2)";
    let values = params![&operation.as_bytes()[..], &look.as_bytes()[..]];
    execute(transaction, "look_alike", operation, sql, values).map(drop)
}

/// Forgets by what an operation looked like others.
pub(super) fn forget_look(transaction: &Connection, operation: &Uuid) -> Result<(), StoreFault> {
    let sql = "DELETE FROM look_alike WHERE operation = ?1";
    execute(transaction, "look_alike", operation, sql, [&operation.as_bytes()[..]]).map(drop)
}

#[async_trait]
impl LookAlikes for SqliteStore {
    async fn look_alikes(
        &self,
        questions: &[LookAlikeQuestion],
        limit: u32,
    ) -> Result<Vec<(OperationId, Operation)>, StoreFault> {
        let questions = questions.to_vec();
        self.read(move |connection| {
            let mut found = Vec::new();
            for LookAlikeQuestion { operation, from, to } in questions {
                for (sql, bound) in [(&*BEFORE, from), (&*BEHIND, to)] {
                    let place = params![key(operation), first_id(bound).to_be_bytes(), limit];
                    let rows = all::<OperationRow, Operation>(connection, "operation", sql, place)?;
                    found.extend(rows.into_iter().map(|other| (operation, other)));
                }
            }
            Ok(found)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    #[test]
    fn look_alikes_are_read_from_stretches_of_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        for sql in [&*super::BEFORE, &*super::BEHIND] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let rows = statement.query_map(([0_u8; 16], [0_u8; 16], 10), |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
            let reads = |index: &str| plan.iter().any(|step| step.contains(index));
            assert!(reads("look_alike_by_look (look=? AND operation>? AND operation<?)"), "{plan:#?}");
            assert!(reads("SEARCH operation USING PRIMARY KEY (id=?)"), "{plan:#?}");
            assert!(!reads("TEMP B-TREE") && !reads("SCAN "), "{plan:#?}");
        }
    }
}
