//! Conflicts by their own ids.

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::ConflictId;
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use crate::store::row::ConflictRow;

#[async_trait]
impl Conflicts for PostgresStore {
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault> {
        let sql = format!("SELECT {} FROM conflict WHERE id = $1", ConflictRow::COLUMNS);
        let id = Uuid::from_u128(id.as_u128());
        Ok(self.all::<ConflictRow, _>(sqlx::query(&sql).bind(id)).await?.pop())
    }

    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault> {
        let id = Uuid::from_u128(id.as_u128());
        let mut connection = self.connection().await?;
        let question = sqlx::query_scalar("SELECT payload FROM conflict WHERE id = $1").bind(id);
        let found = bounded(question.fetch_optional(&mut *connection)).await;
        Ok(found.map_err(|trouble| trouble.fault(&id))?.flatten())
    }
}
