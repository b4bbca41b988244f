//! Counts of long ago, added up by days: as in PostgreSQL, see `postgres/fold.rs`.

use guard::clock::Timestamp;
use guard::refusal::StoreFault;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::recovery::Task;
use super::work::execute;
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::behind::{DAY_MILLISECONDS, FOLDED_SLOT, TEN_THOUSANDTHS_BOUND};

/// Row by row, so that no sum can be beyond its bounds.
const FOLD: &str = "INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
     SELECT workflow, company, counted, ?1, currency, ?3, number, ten_thousandths FROM count \
     WHERE hour >= ?1 AND hour < ?2 AND slot > ?3 \
     ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE SET \
         number = number + excluded.number, \
         ten_thousandths = max(min(ten_thousandths + excluded.ten_thousandths, ?4), -?4)";

/// Adds up the counts of the oldest day before `until` of which hours are told apart; whether there was one.
pub(super) async fn oldest_day(store: &SqliteStore, until: Timestamp) -> Result<bool, StoreFault> {
    let until = until.timestamp_millis();
    // Most of the time there is nothing to add up, and a look costs the writer nothing.
    if store.read(move |connection| oldest(connection, until)).await?.is_none() {
        return Ok(false);
    }
    let task = Task(move |transaction: &Connection| {
        let Some(hour) = oldest(transaction, until)? else { return Ok(false) };
        let day = hour - hour.rem_euclid(DAY_MILLISECONDS);
        let end = day + DAY_MILLISECONDS;
        execute(transaction, "count", &day, FOLD, params![day, end, FOLDED_SLOT, TEN_THOUSANDTHS_BOUND])?;
        let taken = "DELETE FROM count WHERE hour >= ?1 AND hour < ?2 AND slot > ?3";
        execute(transaction, "count", &day, taken, params![day, end, FOLDED_SLOT])?;
        Ok(true)
    });
    perform(&store.queue, task).await
}

fn oldest(connection: &Connection, until: i64) -> Result<Option<i64>, StoreFault> {
    let sql = "SELECT hour FROM count WHERE hour < ?1 AND slot > ?2 ORDER BY hour LIMIT 1";
    let oldest = connection.query_row(sql, params![until, FOLDED_SLOT], |row| row.get(0)).optional();
    oldest.map_err(|error| fault::of(&error, "count", &"?"))
}
