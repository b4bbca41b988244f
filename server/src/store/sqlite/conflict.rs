//! Conflicts by their own ids, and as a queue. Every list is read from an index behind a key, up to a limit.

use async_trait::async_trait;
use guard::conflict::{
    CONFLICTS_GROUPED_MAX, Conflict, ConflictFilter, ConflictGroup, ConflictOrder, GROUP_FIRST_MAX, place_key,
};
use guard::id::ConflictId;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, params};

use super::list::{Question, Values};
use super::readers::{all, one};
use super::stretch::{FirstRows, Walk};
use super::{SqliteStore, fault};
use crate::store::row::{ConflictGroupRow, ConflictRow};

fn bytes(id: ConflictId) -> [u8; 16] {
    id.as_u128().to_be_bytes()
}

/// How a list is walked through: along what is rare, as far as an index tells. What it does not tell is asked of each row.
fn walk(within: &Reach, filter: &ConflictFilter, order: ConflictOrder, cursor: Option<&Cursor>) -> Walk {
    let mut values = Values::default();
    let standing = if filter.is_decided { "is_open = 0" } else { "is_open = 1" };
    let (sign, direction, is_ascending) = match order {
        ConflictOrder::Oldest => (">", "ASC", true),
        ConflictOrder::Newest => ("<", "DESC", false),
    };
    let place = filter.place.as_ref().map(|place| values.place(Value::Blob(place_key(place).to_vec())));
    let behind = cursor.and_then(Cursor::read).map(|(_, behind)| {
        let place = values.place(Value::Blob(behind.to_be_bytes().to_vec()));
        format!("{sign} {place}")
    });
    let behind = |column: &str| behind.as_ref().map(|behind| format!(" AND {column} {behind}")).unwrap_or_default();
    // Few of all that ever were at a place are open, and most are decided.
    if let (Some(place), None, true) = (&place, filter.group, filter.is_decided) {
        let stretch = format!(
            "SELECT conflict AS id FROM conflict_place WHERE place = {place}{} ORDER BY conflict {direction}",
            behind("conflict")
        );
        let mut walk = Walk::of(values, stretch, is_ascending);
        walk.ask(|values, apart| {
            let mut of_it = vec!["conflict.id = walked.id".to_owned(), format!("conflict.{standing}")];
            values.within(within, &mut of_it);
            let of_it = of_it.join(" AND ");
            apart.push(format!("EXISTS (SELECT 1 FROM conflict INDEXED BY conflict_decided WHERE {of_it})"));
        });
        return walk;
    }
    let mut condition = format!("{standing}{}", behind("id"));
    let group = filter.group.map(|group| values.place(Value::Blob(group.as_bytes().to_vec())));
    if let Some(group) = &group {
        condition.push_str(&format!(" AND grouping_key = {group}"));
    }
    let rows = FirstRows {
        columns: "id, company, workflow",
        condition: &condition,
        order: &format!("id {direction}"),
        ..listed(filter.is_decided)
    };
    let mut walk = match group {
        None => Walk::along(values, &rows, within, is_ascending),
        Some(_) => {
            let index = if filter.is_decided { "conflict_decided_by_group" } else { "conflict_open_by_group" };
            let mut walk = Walk::along(values, &FirstRows { index, ..rows }, &Reach::EVERYTHING, is_ascending);
            walk.ask(|values, apart| values.within(within, apart));
            walk
        }
    };
    if let Some(place) = place {
        let at_it = format!("SELECT 1 FROM conflict_place WHERE place = {place} AND conflict = walked.id");
        walk.ask(|_, apart| apart.push(format!("EXISTS ({at_it})")));
    }
    walk
}

/// The conflicts that are open, or decided, the oldest first.
const fn listed(is_decided: bool) -> FirstRows<'static> {
    let (condition, index, index_by_company, index_by_workflow) = if is_decided {
        ("is_open = 0", "conflict_decided", "conflict_decided_by_company", "conflict_decided_by_workflow")
    } else {
        ("is_open = 1", "conflict_open", "conflict_open_by_company", "conflict_open_by_workflow")
    };
    FirstRows {
        table: "conflict",
        columns: "id",
        condition,
        order: "id",
        index,
        index_by_company,
        index_by_workflow: Some(index_by_workflow),
        most: 0,
    }
}

/// The conflicts that are open within reach, as far as they are counted.
pub(super) fn open(reach: &Reach, most: u32) -> Question {
    let mut values = Values::default();
    let sql = format!("SELECT count(*) FROM ({})", FirstRows { most, ..listed(false) }.sql(&mut values, reach));
    Question { sql, values: values.0 }
}

fn groups(reach: &Reach, filter: &ConflictFilter, limit: u32) -> Question {
    let mut values = Values::default();
    let within = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
    let counted = FirstRows {
        columns: "workflow, grouping_key, id, hits, opened_at",
        most: CONFLICTS_GROUPED_MAX,
        ..listed(false)
    };
    let counted = counted.sql(&mut values, &within);
    let limit = values.integer(limit.into());
    // The places are long, and the same in all of a group: they are read of one.
    let sql = format!(
        "SELECT workflow, (SELECT places FROM conflict WHERE id = oldest_id), open, hits, oldest, counted, first FROM ( \
         SELECT workflow, min(id) AS oldest_id, count(*) AS open, sum(hits) AS hits, min(opened_at) AS oldest, \
         sum(count(*)) OVER () AS counted, json_group_array(hex(id)) FILTER (WHERE place <= {GROUP_FIRST_MAX}) AS first \
         FROM (SELECT *, row_number() OVER (PARTITION BY workflow, grouping_key ORDER BY id) AS place FROM ({counted})) \
         GROUP BY workflow, grouping_key ORDER BY open DESC, oldest LIMIT {limit}) ORDER BY open DESC, oldest"
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
        let within = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
        if within.is_nothing() {
            return Ok(Page::EMPTY);
        }
        let (walk, page) = (walk(&within, filter, order, page.cursor.as_ref()), page.clone());
        self.read(move |connection| {
            let columns = ConflictRow::listed_columns();
            let id = |conflict: &Conflict| conflict.id.as_u128();
            walk.read::<ConflictRow, _>(connection, ("conflict", &columns), &page, id)
        })
        .await
    }

    async fn conflicts_by_id(&self, ids: &[ConflictId]) -> Result<Vec<Conflict>, StoreFault> {
        let ids = ids.to_vec();
        self.read(move |connection| {
            let sql = format!("SELECT {} FROM conflict WHERE id = ?1", ConflictRow::listed_columns());
            let found =
                ids.iter().map(|id| one::<ConflictRow, _>(connection, "conflict", &sql, [bytes(*id)]).transpose());
            found.flatten().collect()
        })
        .await
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
    use super::super::list::tests::{plan, schema};
    use super::*;

    #[test]
    fn every_list_is_read_from_an_index() {
        let connection = schema();
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
                let within = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
                let question = walk(&within, &filter, order, cursor.as_ref()).page("conflict", "conflict.id", 50);
                let plan = plan(&connection, &question);
                let reads: Vec<_> = plan.iter().filter(|step| step.contains("conflict")).collect();
                let is_found = |step: &str| {
                    ["COVERING INDEX", "conflict USING PRIMARY KEY (id=?)", "conflict_place USING PRIMARY KEY (place=?"]
                        .iter()
                        .any(|way| step.contains(way))
                };
                assert!(!reads.is_empty() && reads.iter().all(|step| is_found(step)), "{plan:#?} {}", question.sql);
            }
        }
    }
}
