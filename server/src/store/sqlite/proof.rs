//! Duplicates prevented, and what conflicts were about.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::TimeDelta;
use guard::board::{AgeBand, AgesOfDay, start_of_day};
use guard::clock::Timestamp;
use guard::conflict::Places;
use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::store::{PreventedDuplicate, Proofs};
use guard::summary::Count;
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::list::{Question, Values};
use super::writer::{Work, perform};
use super::{SqliteStore, fault, readers};
use crate::store::behind::Counts;
use crate::store::row::{AgesRow, CertainRow, FromSqlite as _, PlacesRow, PreventedRow};
use crate::store::walk::first_id;

/// Which rows that wait need not wait any longer, and whether they are duplicates.
const DUE: &str = "SELECT prevented.operation, operation.state = 'confirmed' AND operation.attempt = prevented.attempt \
     FROM prevented INDEXED BY prevented_waiting CROSS JOIN operation ON operation.id = prevented.operation \
     WHERE prevented.certain_at IS NULL AND (operation.state IN ('confirmed', 'released', 'failed', 'rejected') \
         OR operation.attempt <> prevented.attempt) \
     ORDER BY prevented.operation LIMIT ?1";

fn due(connection: &Connection, limit: u32) -> Result<Vec<([u8; 16], bool)>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "prevented", &"?");
    let mut statement = connection.prepare_cached(DUE).map_err(failed)?;
    let rows = statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
    rows.collect::<Result<_, _>>().map_err(failed)
}

/// Counts or forgets what need not wait any longer.
struct Settle {
    now: Timestamp,
    limit: u32,
}

impl Work for Settle {
    type Answer = u32;

    fn run(&self, transaction: &Connection) -> Result<u32, StoreFault> {
        const COUNT: &str = "UPDATE prevented SET certain_at = ?2 WHERE operation = ?1 AND certain_at IS NULL \
             RETURNING workflow, company, kind, currency, ten_thousandths, certain_at";
        const FORGET: &str = "DELETE FROM prevented WHERE operation = ?1 AND certain_at IS NULL";
        let failed = |error: rusqlite::Error| fault::of(&error, "prevented", &"?");
        let (mut number, mut counts) = (0, Counts::default());
        let mut count = transaction.prepare_cached(COUNT).map_err(failed)?;
        let mut forget = transaction.prepare_cached(FORGET).map_err(failed)?;
        for (operation, is_duplicate) in due(transaction, self.limit)? {
            number += 1;
            if !is_duplicate {
                forget.execute([operation]).map_err(failed)?;
                continue;
            }
            let values = params![operation, self.now.timestamp_millis()];
            for row in count.query_map(values, CertainRow::from_sqlite).map_err(failed)? {
                counts.add(&row.map_err(failed)?.try_into()?);
            }
        }
        counts.write(transaction)?;
        Ok(number)
    }

    fn counts(&self, _: &u32) -> &[Count] {
        &[]
    }

    fn changed(&self, _: &u32) -> Option<OperationId> {
        None
    }
}

fn prevented(reach: &Reach, from: Timestamp, to: Timestamp, limit: u32) -> Question {
    let mut values = Values::default();
    let from = values.integer(from.timestamp_millis());
    let to = values.integer(to.timestamp_millis());
    let mut conditions = vec![format!("certain_at >= {from}"), format!("certain_at < {to}")];
    values.within(reach, &mut conditions);
    let limit = values.integer(limit.into());
    let sql = format!(
        "SELECT {} FROM prevented INDEXED BY prevented_latest WHERE {} ORDER BY certain_at DESC LIMIT {limit}",
        PreventedRow::COLUMNS,
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

fn places(reach: &Reach, from: Timestamp, to: Timestamp, limit: u32) -> Question {
    let mut values = Values::default();
    let from = values.place(Value::Blob(first_id(from).to_be_bytes().to_vec()));
    let to = values.place(Value::Blob(first_id(to).to_be_bytes().to_vec()));
    let mut conditions = vec![format!("id >= {from}"), format!("id < {to}")];
    values.within(reach, &mut conditions);
    let limit = values.integer(limit.into());
    let sql =
        format!("SELECT id, places FROM conflict WHERE {} ORDER BY id DESC LIMIT {limit}", conditions.join(" AND "));
    Question { sql, values: values.0 }
}

/// For how long the operations of a workflow and a company are uncertain, in the order of [`AgeBand::ALL`].
type Aged = (String, String, [i64; AgeBand::ALL.len()]);

fn aged(connection: &Connection, at: Timestamp) -> Result<Vec<Aged>, StoreFault> {
    const AGED: &str = "SELECT workflow, company, ?1 - state_since FROM operation INDEXED BY operation_uncertain \
         WHERE state IN ('unknown', 'disputed') AND state_since <= ?1";
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let mut found: BTreeMap<(String, String), [i64; AgeBand::ALL.len()]> = BTreeMap::new();
    let mut statement = connection.prepare_cached(AGED).map_err(failed)?;
    let mut rows = statement.query([at.timestamp_millis()]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let age = TimeDelta::milliseconds(row.get(2).map_err(failed)?);
        let numbers = found.entry((row.get(0).map_err(failed)?, row.get(1).map_err(failed)?)).or_default();
        let band = AgeBand::of(age);
        AgeBand::ALL.iter().zip(numbers).filter(|(known, _)| **known == band).for_each(|(_, number)| *number += 1);
    }
    Ok(found.into_iter().map(|((workflow, company), numbers)| (workflow, company, numbers)).collect())
}

/// Puts the ages of a day in place of those before.
struct Remember {
    day: Timestamp,
    ages: Vec<Aged>,
}

impl Work for Remember {
    type Answer = ();

    fn run(&self, transaction: &Connection) -> Result<(), StoreFault> {
        const ADD: &str = "INSERT INTO uncertain_age (day, workflow, company, within_hour, within_day, within_week, longer) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let failed = |error: rusqlite::Error| fault::of(&error, "uncertain_age", &self.day);
        let day = self.day.timestamp_millis();
        transaction.execute("DELETE FROM uncertain_age WHERE day = ?1", [day]).map_err(failed)?;
        let mut add = transaction.prepare_cached(ADD).map_err(failed)?;
        for (workflow, company, [within_hour, within_day, within_week, longer]) in &self.ages {
            let values = params![day, workflow, company, within_hour, within_day, within_week, longer];
            add.execute(values).map_err(failed)?;
        }
        Ok(())
    }

    fn counts(&self, (): &()) -> &[Count] {
        &[]
    }

    fn changed(&self, (): &()) -> Option<OperationId> {
        None
    }
}

fn ages(reach: &Reach, from: Timestamp, to: Timestamp) -> Question {
    let mut values = Values::default();
    let from = values.integer(from.timestamp_millis());
    let to = values.integer(to.timestamp_millis());
    let mut conditions = vec![format!("day >= {from}"), format!("day < {to}")];
    values.within(reach, &mut conditions);
    let (columns, conditions) = (AgesRow::COLUMNS, conditions.join(" AND "));
    let sql = format!("SELECT {columns} FROM uncertain_age WHERE {conditions} GROUP BY day ORDER BY day");
    Question { sql, values: values.0 }
}

#[async_trait]
impl Proofs for SqliteStore {
    async fn settle_held(&self, now: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        // Asked every second: where nothing has changed, nothing is written.
        if self.read(|connection| due(connection, 1)).await?.is_empty() {
            return Ok(0);
        }
        perform(&self.queue, Settle { now, limit }).await
    }

    async fn prevented(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<PreventedDuplicate>, StoreFault> {
        let Question { sql, values } = prevented(reach, from, to, limit);
        self.read(move |connection| {
            readers::all::<PreventedRow, _>(connection, "prevented", &sql, params_from_iter(values))
        })
        .await
    }

    async fn places_of_conflicts(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Places>, StoreFault> {
        let Question { sql, values } = places(reach, from, to, limit);
        self.read(move |connection| {
            readers::all::<PlacesRow, _>(connection, "conflict", &sql, params_from_iter(values))
        })
        .await
    }

    async fn remember_ages(&self, at: Timestamp) -> Result<(), StoreFault> {
        // Read beside the writer, which has better things to do.
        let ages = self.read(move |connection| aged(connection, at)).await?;
        perform(&self.queue, Remember { day: start_of_day(at), ages }).await
    }

    async fn ages(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<AgesOfDay>, StoreFault> {
        let Question { sql, values } = ages(reach, from, to);
        self.read(move |connection| {
            readers::all::<AgesRow, _>(connection, "uncertain_age", &sql, params_from_iter(values))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn proofs_are_read_from_stretches_of_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        let plan = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let places = vec![Value::Null; statement.parameter_count()];
            let rows = statement.query_map(params_from_iter(places), |row| row.get(3)).unwrap();
            rows.collect::<Result<_, _>>().unwrap()
        };
        let moment = DateTime::UNIX_EPOCH;
        let reach = Reach::over(["ACME".to_owned()], ["handoff".to_owned()]);
        let questions = [
            (prevented(&reach, moment, moment, 1).sql, "prevented_latest (certain_at>? AND certain_at<?)"),
            (places(&reach, moment, moment, 1).sql, "USING PRIMARY KEY (id>? AND id<?)"),
            (ages(&reach, moment, moment).sql, "USING PRIMARY KEY (day>? AND day<?)"),
            (DUE.to_owned(), "SEARCH operation USING PRIMARY KEY (id=?)"),
        ];
        for (sql, reads) in questions {
            let plan = plan(&sql);
            assert!(plan.iter().any(|step| step.contains(reads)), "{plan:#?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
        }
    }
}
