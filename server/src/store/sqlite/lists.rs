//! Saved views, and runs over what a filter says.

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::{PersonId, RunId, ViewId};
use guard::lists::{ListPage, Run, RunItem, SavedView, VIEWS_MAX};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::store::{Lists, Replaced};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::readers::{all, one};
use super::recovery::Task;
use super::work::execute;
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::row::{RunItemRow, RunRow, ViewRow};

/// The runs that somebody (`?2`) may claim at a moment (`?1`).
const TO_WORK: &str = "FROM run INDEXED BY run_to_work WHERE standing = 'running' \
     AND (claimed_until IS NULL OR claimed_until <= ?1 OR claimed_by = ?2)";

fn bytes(id: u128) -> [u8; 16] {
    id.to_be_bytes()
}

#[async_trait]
impl Lists for SqliteStore {
    async fn views(&self, person: PersonId, page: ListPage) -> Result<Vec<SavedView>, StoreFault> {
        self.read_here(|connection| {
            let columns = ViewRow::COLUMNS;
            let sql = format!(
                "SELECT {columns} FROM saved_view WHERE person = ?1 AND page = ?2 ORDER BY name LIMIT {VIEWS_MAX}"
            );
            all::<ViewRow, _>(connection, "saved_view", &sql, params![bytes(person.as_u128()), page.as_str()])
        })
    }

    async fn put_view(&self, view: &SavedView) -> Result<(), StoreFault> {
        let row = ViewRow::from(view);
        let task = Task(move |transaction: &Connection| {
            let values = params![
                &row.id.as_bytes()[..],
                &row.person.as_bytes()[..],
                row.page,
                row.name,
                row.query,
                row.created_at
            ];
            execute(
                transaction,
                "saved_view",
                &row.id,
                "INSERT INTO saved_view (id, person, page, name, query, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT (person, page, name) DO UPDATE SET query = excluded.query, created_at = excluded.created_at",
                values,
            )?;
            Ok(())
        });
        perform(&self.queue, task).await
    }

    async fn drop_view(&self, person: PersonId, id: ViewId) -> Result<bool, StoreFault> {
        let task = Task(move |transaction: &Connection| {
            let place = params![bytes(id.as_u128()), bytes(person.as_u128())];
            let sql = "DELETE FROM saved_view WHERE id = ?1 AND person = ?2";
            Ok(execute(transaction, "saved_view", &id, sql, place)? == 1)
        });
        perform(&self.queue, task).await
    }

    async fn add_run(&self, run: &Run, items: &[RunItem]) -> Result<(), StoreFault> {
        let row = RunRow::from(run);
        let items: Vec<RunItemRow> = items.iter().map(|item| RunItemRow::of(run.id, item)).collect();
        let task = Task(move |transaction: &Connection| {
            execute(
                transaction,
                "run",
                &row.id,
                "INSERT INTO run (id, person, version, standing, content) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![&row.id.as_bytes()[..], &row.person.as_bytes()[..], row.version, row.standing, row.content],
            )?;
            for item in &items {
                execute(
                    transaction,
                    "run_item",
                    &row.id,
                    "INSERT INTO run_item (run, number, operation, outcome, told) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        &item.run.as_bytes()[..],
                        item.number,
                        &item.operation.as_bytes()[..],
                        item.outcome,
                        item.told
                    ],
                )?;
            }
            Ok(())
        });
        perform(&self.queue, task).await
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM run WHERE id = ?1", RunRow::COLUMNS);
            one::<RunRow, _>(connection, "run", &sql, [bytes(id.as_u128())])
        })
    }

    async fn change_run(&self, run: &Run) -> Result<Replaced, StoreFault> {
        let row = RunRow::from(run);
        let task = Task(move |transaction: &Connection| {
            let changed = execute(
                transaction,
                "run",
                &row.id,
                "UPDATE run SET version = ?2, standing = ?3, content = ?4, claimed_by = NULL, claimed_until = NULL \
                 WHERE id = ?1 AND version = ?2 - 1",
                params![&row.id.as_bytes()[..], row.version, row.standing, row.content],
            )?;
            Ok(if changed == 1 { Replaced::Replaced } else { Replaced::Stale })
        });
        perform(&self.queue, task).await
    }

    async fn run_items(&self, id: RunId, after: u32, limit: u32) -> Result<Vec<RunItem>, StoreFault> {
        self.read(move |connection| {
            let columns = RunItemRow::COLUMNS;
            let sql = format!("SELECT {columns} FROM run_item WHERE run = ?1 AND number > ?2 ORDER BY number LIMIT ?3");
            all::<RunItemRow, _>(connection, "run_item", &sql, params![bytes(id.as_u128()), after, limit])
        })
        .await
    }

    async fn settle_run_item(&self, id: RunId, item: &RunItem) -> Result<(), StoreFault> {
        let row = RunItemRow::of(id, item);
        let task = Task(move |transaction: &Connection| {
            execute(
                transaction,
                "run_item",
                &row.run,
                "UPDATE run_item SET outcome = ?3, told = ?4 WHERE run = ?1 AND number = ?2 AND outcome IS NULL",
                params![&row.run.as_bytes()[..], row.number, row.outcome, row.told],
            )?;
            Ok(())
        });
        perform(&self.queue, task).await
    }

    async fn claim_run(&self, now: Timestamp, claim: &Claim) -> Result<Option<RunId>, StoreFault> {
        // Asked every second: where nothing is to be worked, nothing is written.
        let is_due: bool = self.read_here(|connection| {
            let sql = format!("SELECT EXISTS (SELECT 1 {TO_WORK})");
            let place = params![now.timestamp_millis(), claim.by];
            let found = connection.prepare_cached(&sql).and_then(|mut asked| asked.query_row(place, |row| row.get(0)));
            found.map_err(|error| fault::of(&error, "run", &"?"))
        })?;
        if !is_due {
            return Ok(None);
        }
        let claim = claim.clone();
        let task = Task(move |transaction: &Connection| {
            let sql = format!(
                "UPDATE run SET claimed_by = ?2, claimed_until = ?3 \
                 WHERE id = (SELECT id {TO_WORK} ORDER BY claimed_until, id LIMIT 1) RETURNING id"
            );
            let place = params![now.timestamp_millis(), claim.by, claim.until.timestamp_millis()];
            let claimed: Result<Option<[u8; 16]>, _> = transaction
                .prepare_cached(&sql)
                .and_then(|mut statement| statement.query_row(place, |row| row.get(0)).optional());
            let claimed = claimed.map_err(|error| fault::of(&error, "run", &"?"))?;
            Ok(claimed.map(|id| RunId::from_u128(u128::from_be_bytes(id))))
        });
        perform(&self.queue, task).await
    }
}
