//! Sums: counts of hours, what waits, each counted up to a bound; which index answers a question, and how its SQL reads.

use std::collections::BTreeSet;

use guard::clock::Timestamp;
use guard::money::Money;
use guard::refusal::StoreFault;
use guard::summary::Waiting;
use guard::token::Reach;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::fault;
use super::stretch::FirstRows;
use crate::store::behind::{UPPER_HALF, whole};
use crate::store::row::{UnsettledRow, json_text};

/// SQL and the values of its places.
#[derive(Debug)]
pub(super) struct Question {
    pub sql: String,
    pub values: Vec<Value>,
}

/// Collects the values of a question.
#[derive(Clone, Default)]
pub(super) struct Values(pub(super) Vec<Value>);

impl Values {
    /// The place of a value.
    pub(super) fn place(&mut self, value: Value) -> String {
        self.0.push(value);
        format!("?{}", self.0.len())
    }

    pub(super) fn text(&mut self, value: &str) -> String {
        self.place(Value::Text(value.to_owned()))
    }

    pub(super) fn integer(&mut self, value: i64) -> String {
        self.place(Value::Integer(value))
    }

    /// A condition: the column is one of these.
    fn one_of(&mut self, column: &str, names: &BTreeSet<String>) -> String {
        let place = self.text(&json_text(names));
        // The plus keeps the planner from choosing an index for it: which one is used is decided here.
        format!("+{column} IN (SELECT value FROM json_each({place}))")
    }

    pub(super) fn within(&mut self, reach: &Reach, conditions: &mut Vec<String>) {
        if let Some(companies) = &reach.companies {
            conditions.push(self.one_of("company", companies));
        }
        if let Some(workflows) = &reach.workflows {
            conditions.push(self.one_of("workflow", workflows));
        }
    }
}

/// The question for counts of hours.
pub(super) fn counts(reach: &Reach, from: Timestamp, to: Timestamp) -> Question {
    let mut values = Values::default();
    let from = values.integer(from.timestamp_millis());
    let to = values.integer(to.timestamp_millis());
    let mut conditions = vec![format!("hour >= {from}"), format!("hour < {to}")];
    values.within(reach, &mut conditions);
    let CountColumns { columns, order } = COUNT_COLUMNS;
    let sql = format!(
        "SELECT {columns}, sum(number), sum(ten_thousandths) FROM count WHERE {} GROUP BY {order} ORDER BY {order}",
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

/// How many recoveries are not exhausted, how many are, and how many were counted at most of either. Of a limited reach, they are looked for
/// from the operations that are within it: among those of all, they may be rare.
pub(super) fn recovering(reach: &Reach, most: u32) -> Question {
    let mut values = Values::default();
    if reach == &Reach::EVERYTHING {
        let limit = values.integer(most.into());
        let count = |index: &str, condition: &str| {
            format!(
                "(SELECT count(*) FROM (SELECT 1 FROM recovery INDEXED BY {index} WHERE exhausted_at {condition} LIMIT {limit}))"
            )
        };
        let (waiting, exhausted) = (count("recovery_due", "IS NULL"), count("recovery_exhausted", "IS NOT NULL"));
        let sql = format!(
            "SELECT waiting, exhausted, max(waiting, exhausted) FROM (SELECT {waiting} AS waiting, {exhausted} AS exhausted)"
        );
        return Question { sql, values: values.0 };
    }
    let latest = FirstRows { columns: "id", ..unknown_last(most) }.sql(&mut values, reach);
    let sql = format!(
        "SELECT count(*) FILTER (WHERE operation IS NOT NULL AND exhausted_at IS NULL), \
         count(*) FILTER (WHERE exhausted_at IS NOT NULL), count(*) \
         FROM ({latest}) AS latest LEFT JOIN recovery ON recovery.operation = latest.id"
    );
    Question { sql, values: values.0 }
}

struct CountColumns {
    columns: &'static str,
    order: &'static str,
}

/// In the order of the fields of `CountRow`, and in the order of the primary key.
const COUNT_COLUMNS: CountColumns = CountColumns {
    columns: "workflow, company, counted, hour, currency",
    order: "hour, workflow, company, counted, currency",
};

/// What waits for a person: at most so many operations and as many conflicts are looked at.
pub(super) fn waiting(connection: &Connection, reach: &Reach, most: u32) -> Result<Waiting, StoreFault> {
    let mut waiting = Waiting::default();
    let Question { sql, values } = uncertain(reach, most);
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(failed)?;
    let mut oldest: Option<i64> = None;
    while let Some(row) = rows.next().map_err(failed)? {
        let currency: Option<String> = row.get(0).map_err(failed)?;
        let number: u32 = row.get(1).map_err(failed)?;
        let since: i64 = row.get(2).map_err(failed)?;
        let upper: Option<i64> = row.get(3).map_err(failed)?;
        let lower: Option<i64> = row.get(4).map_err(failed)?;
        waiting.uncertain += number;
        oldest = Some(oldest.map_or(since, |oldest| oldest.min(since)));
        if let (Some(currency), Some(upper), Some(lower)) = (currency, upper, lower) {
            waiting.at_risk.push(Money::from_ten_thousandths(whole(upper, lower), currency));
        }
    }
    waiting.oldest_since = oldest.and_then(chrono::DateTime::from_timestamp_millis);
    waiting.open_conflicts = open_conflicts(connection, reach, most)?;
    Ok(waiting)
}

/// The money in what is uncertain within reach, the oldest first, as far as it is counted.
fn uncertain(reach: &Reach, most: u32) -> Question {
    let mut values = Values::default();
    let first = FirstRows {
        table: "operation",
        columns: "currency, state_since, id, ten_thousandths",
        condition: "state IN ('unknown', 'disputed')",
        order: "state_since, id",
        index: "operation_uncertain",
        index_by_company: "operation_uncertain_by_company",
        index_by_workflow: None,
        most,
    };
    let sql = format!(
        "SELECT currency, count(*), min(state_since), sum(ten_thousandths / {UPPER_HALF}), sum(ten_thousandths % {UPPER_HALF}) \
         FROM ({}) GROUP BY currency ORDER BY currency",
        first.sql(&mut values, reach)
    );
    Question { sql, values: values.0 }
}

fn open_conflicts(connection: &Connection, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
    let Question { sql, values } = super::conflict::open(reach, most);
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0)))
        .map_err(|error| fault::of(&error, "conflict", &"?"))
}

/// What is unknown, begun last.
const fn unknown_last(most: u32) -> FirstRows<'static> {
    FirstRows {
        table: "operation",
        columns: UnsettledRow::COLUMNS,
        condition: "state = 'unknown'",
        order: "id DESC",
        index: "operation_unknown",
        index_by_company: "operation_unknown_by_company",
        index_by_workflow: None,
        most,
    }
}

/// The unknown operations within reach that were begun last.
pub(super) fn latest_unknown(reach: &Reach, limit: u32) -> Question {
    let mut values = Values::default();
    Question { sql: unknown_last(limit).sql(&mut values, reach), values: values.0 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The steps of the plan of a question.
    pub(in crate::store::sqlite) fn plan(connection: &Connection, question: &Question) -> Vec<String> {
        let sql = format!("EXPLAIN QUERY PLAN {}", question.sql);
        let mut statement = connection.prepare(&sql).unwrap();
        let rows = statement.query_map(rusqlite::params_from_iter(question.values.clone()), |row| row.get(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// The tables, without a row.
    pub(in crate::store::sqlite) fn schema() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        connection
    }

    #[test]
    fn recovery_is_read_from_its_indexes() {
        let connection = schema();
        let reach = Reach::over(["ACME".to_owned()], ["handoff".to_owned()]);
        let steps = |sql: &str, places: usize| {
            let values = vec![Value::Null; places];
            plan(&connection, &Question { sql: sql.to_owned(), values })
        };
        let claim = steps(super::super::recovery::CLAIM, 5);
        assert!(
            claim.iter().any(|step| step.contains("INDEX recovery_due (destination=? AND due_at<?)")),
            "{claim:#?}"
        );
        assert!(!claim.iter().any(|step| step.contains("TEMP B-TREE")), "{claim:#?}");
        let without = steps(&super::super::recovery::without_question(), 4);
        assert!(without.iter().any(|step| step.contains("operation_unfinished (state=? AND id>?)")), "{without:#?}");
        let counted = plan(&connection, &recovering(&Reach::EVERYTHING, 9));
        for index in ["recovery USING INDEX recovery_due", "recovery USING INDEX recovery_exhausted"] {
            assert!(counted.iter().any(|step| step.contains(index)), "{counted:#?}");
        }
        let counted = plan(&connection, &recovering(&reach, 9));
        for index in ["COVERING INDEX operation_unknown_by_company (company=?)", "recovery USING PRIMARY KEY"] {
            assert!(counted.iter().any(|step| step.contains(index)), "{counted:#?}");
        }
    }

    #[test]
    fn counts_and_what_waits_are_read_from_an_index() {
        let connection = schema();
        let reach = Reach::over(["ACME".to_owned()], ["handoff".to_owned()]);
        let moment = chrono::DateTime::UNIX_EPOCH;
        let plan = plan(&connection, &counts(&reach, moment, moment));
        assert!(plan.iter().any(|step| step.contains("SEARCH count USING PRIMARY KEY")), "{plan:#?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
        assert_eq!(waiting(&connection, &reach, 100).unwrap(), Waiting::default());
        let names = |number: usize| (0..number).map(|index| format!("company {index}")).collect::<Vec<_>>();
        for reach in [Reach::EVERYTHING, Reach::over(names(1), names(2)), Reach::over(names(64), [])] {
            for question in [uncertain(&reach, 9), super::super::conflict::open(&reach, 9), latest_unknown(&reach, 9)] {
                let plan = self::plan(&connection, &question);
                let reads: Vec<_> =
                    plan.iter().filter(|step| step.starts_with("SEARCH") || step.contains("operation")).collect();
                assert!(reads.iter().all(|step| step.contains("COVERING INDEX")), "{plan:#?}");
                assert!(!plan.iter().any(|step| step.contains("ORDER BY")), "{plan:#?}");
            }
        }
    }
}
