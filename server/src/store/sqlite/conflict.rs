//! Conflicts by their own ids.

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::ConflictId;
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use rusqlite::{OptionalExtension as _, params};

use super::readers::one;
use super::{SqliteStore, fault};
use crate::store::row::ConflictRow;

fn bytes(id: ConflictId) -> [u8; 16] {
    id.as_u128().to_be_bytes()
}

#[async_trait]
impl Conflicts for SqliteStore {
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM conflict WHERE id = ?1", ConflictRow::COLUMNS);
            one::<ConflictRow, _>(connection, "conflict", &sql, [bytes(id)])
        })
    }

    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault> {
        self.read_here(|connection| {
            let found = connection
                .prepare_cached("SELECT payload FROM conflict WHERE id = ?1")
                .and_then(|mut statement| statement.query_row(params![bytes(id)], |row| row.get(0)).optional());
            found.map(Option::flatten).map_err(|error| fault::of(&error, "conflict", &id))
        })
    }
}
