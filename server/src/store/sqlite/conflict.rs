//! Conflicts by their own ids, and as a queue. Every list is read from an index behind a key, up to a limit.

use async_trait::async_trait;
use guard::conflict::{CONFLICTS_GROUPED_MAX, Conflict, ConflictFilter, ConflictGroup, ConflictOrder, place_key};
use guard::id::ConflictId;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, params};

use super::list::{Question, Values};
use super::readers::{all, one};
use super::{SqliteStore, fault};
use crate::store::row::{ConflictGroupRow, ConflictRow};

fn bytes(id: ConflictId) -> [u8; 16] {
    id.as_u128().to_be_bytes()
}

/// The question for one page and one row more, which tells whether there is a next one.
fn question(reach: &Reach, filter: &ConflictFilter, order: ConflictOrder, page: &PageRequest) -> Question {
    let mut values = Values::default();
    let mut conditions = Vec::new();
    let (source, id) = match (&filter.place, filter.group, &filter.company, &filter.workflow) {
        (Some(place), ..) => {
            let place = values.place(Value::Blob(place_key(place).to_vec()));
            conditions.push(format!("conflict_place.place = {place}"));
            ("conflict_place CROSS JOIN conflict ON conflict.id = conflict_place.conflict", "conflict_place.conflict")
        }
        (None, Some(group), ..) => {
            let group = values.place(Value::Blob(group.as_bytes().to_vec()));
            conditions.push(format!("conflict.grouping_key = {group}"));
            let index = if filter.is_decided { "conflict_decided_by_group" } else { "conflict_open_by_group" };
            return finish(
                values,
                conditions,
                &format!("conflict INDEXED BY {index}"),
                "conflict.id",
                reach,
                filter,
                order,
                page,
            );
        }
        (None, None, Some(_), _) if filter.is_decided => {
            ("conflict INDEXED BY conflict_decided_by_company", "conflict.id")
        }
        (None, None, None, Some(_)) if filter.is_decided => {
            ("conflict INDEXED BY conflict_decided_by_workflow", "conflict.id")
        }
        (None, None, ..) if filter.is_decided => ("conflict INDEXED BY conflict_decided", "conflict.id"),
        (None, None, ..) => ("conflict INDEXED BY conflict_open", "conflict.id"),
    };
    finish(values, conditions, source, id, reach, filter, order, page)
}

#[allow(clippy::too_many_arguments, reason = "the parts of one question")]
fn finish(
    mut values: Values,
    mut conditions: Vec<String>,
    source: &str,
    id: &str,
    reach: &Reach,
    filter: &ConflictFilter,
    order: ConflictOrder,
    page: &PageRequest,
) -> Question {
    conditions.push(format!("conflict.is_open = {}", u8::from(!filter.is_decided)));
    let by_company = filter.is_decided && filter.place.is_none() && filter.group.is_none();
    if let Some(company) = &filter.company {
        let place = values.text(company);
        conditions.push(format!("{}conflict.company = {place}", if by_company { "" } else { "+" }));
    }
    if let Some(workflow) = &filter.workflow {
        let place = values.text(workflow);
        let plain = by_company && filter.company.is_none();
        conditions.push(format!("{}conflict.workflow = {place}", if plain { "" } else { "+" }));
    }
    values.within(reach, &mut conditions);
    let (sign, direction) = match order {
        ConflictOrder::Oldest => (">", "ASC"),
        ConflictOrder::Newest => ("<", "DESC"),
    };
    if let Some((_, behind)) = page.cursor.as_ref().and_then(Cursor::read) {
        let place = values.place(Value::Blob(behind.to_be_bytes().to_vec()));
        conditions.push(format!("{id} {sign} {place}"));
    }
    let limit = values.integer(i64::from(page.limit) + 1);
    let sql = format!(
        "SELECT {} FROM {source} WHERE {} ORDER BY {id} {direction} LIMIT {limit}",
        ConflictRow::listed_columns(),
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

fn groups(reach: &Reach, filter: &ConflictFilter, limit: u32) -> Question {
    let mut values = Values::default();
    let mut conditions = vec!["is_open = 1".to_owned()];
    for (column, wanted) in [("company", &filter.company), ("workflow", &filter.workflow)] {
        if let Some(wanted) = wanted {
            let place = values.text(wanted);
            conditions.push(format!("+{column} = {place}"));
        }
    }
    values.within(reach, &mut conditions);
    let counted = values.integer(CONFLICTS_GROUPED_MAX.into());
    let limit = values.integer(limit.into());
    // The places are long, and the same in all of a group: they are read of one.
    let sql = format!(
        "SELECT workflow, (SELECT places FROM conflict WHERE id = first), open, hits, oldest, counted FROM ( \
         SELECT workflow, min(id) AS first, count(*) AS open, sum(hits) AS hits, min(opened_at) AS oldest, \
         sum(count(*)) OVER () AS counted FROM ( \
         SELECT workflow, grouping_key, id, hits, opened_at FROM conflict INDEXED BY conflict_open \
         WHERE {} ORDER BY id LIMIT {counted}) \
         GROUP BY workflow, grouping_key ORDER BY open DESC, oldest LIMIT {limit}) ORDER BY open DESC, oldest",
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
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

    async fn conflict_page(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        order: ConflictOrder,
        page: &PageRequest,
    ) -> Result<Page<Conflict>, StoreFault> {
        let Question { sql, values } = question(reach, filter, order, page);
        let found = self.read(move |connection| {
            all::<ConflictRow, Conflict>(connection, "conflict", &sql, rusqlite::params_from_iter(values))
        });
        Ok(crate::store::conflict_page(found.await?, page))
    }

    async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, StoreFault> {
        let Question { sql, values } = groups(reach, filter, limit);
        self.read(move |connection| {
            all::<ConflictGroupRow, ConflictGroup>(connection, "conflict", &sql, rusqlite::params_from_iter(values))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn every_list_is_read_from_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        let reaches = [Reach::EVERYTHING, Reach::over(["a".to_owned()], ["w".to_owned()])];
        let cursors = [None, Some(Cursor::behind(chrono::DateTime::UNIX_EPOCH, 7))];
        for bits in 0..64_u8 {
            let text = |bit: u8| (bits & (1 << bit) != 0).then(|| "/x".to_owned());
            let filter = ConflictFilter {
                workflow: text(0),
                company: text(1),
                place: text(2),
                group: text(3).map(|_| guard::conflict::GroupKey::default()),
                is_decided: bits & 16 != 0,
            };
            let order = if bits & 32 == 0 { ConflictOrder::Oldest } else { ConflictOrder::Newest };
            for (reach, cursor) in reaches.iter().zip(cursors.clone()) {
                let page = PageRequest { cursor, limit: 50 };
                let question = question(reach, &filter, order, &page);
                let sql = format!("EXPLAIN QUERY PLAN {}", question.sql);
                let mut statement = connection.prepare(&sql).unwrap();
                let rows = statement.query_map(rusqlite::params_from_iter(question.values), |row| row.get(3)).unwrap();
                let plan: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
                assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{plan:#?} {sql}");
                assert!(plan.iter().all(|step| !step.starts_with("SCAN") || step.contains("INDEX")), "{plan:#?} {sql}");
            }
        }
    }
}
