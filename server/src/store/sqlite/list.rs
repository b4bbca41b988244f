//! Lists and sums: which index answers a question, and how its SQL reads. Every list starts behind a key and ends at a limit;
//! nothing is counted beyond a bound, and nothing is skipped.

use std::collections::BTreeSet;

use guard::clock::Timestamp;
use guard::money::Money;
use guard::operation::Operation;
use guard::queue::{Filter, PageRequest, Sought};
use guard::refusal::StoreFault;
use guard::state::State;
use guard::summary::Waiting;
use guard::token::Reach;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::fault;
use crate::store::behind::{UPPER_HALF, whole};
use crate::store::few_companies;
use crate::store::row::{OperationRow, json_text};

/// SQL and the values of its places.
#[derive(Debug)]
pub(super) struct Question {
    pub sql: String,
    pub values: Vec<Value>,
}

/// Collects the values of a question.
#[derive(Default)]
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

/// Since when an uncertain operation is so: the moment by which their list is ordered.
pub(super) fn uncertain_since(operation: &Operation) -> Timestamp {
    match &operation.state {
        State::Unknown { since, .. } | State::Disputed { since, .. } => *since,
        State::AwaitingApproval
        | State::Rejected { .. }
        | State::Acquired { .. }
        | State::Sending { .. }
        | State::Released { .. }
        | State::Failed { .. }
        | State::Confirmed { .. } => operation.created_at,
    }
}

/// The question for one page of what is uncertain and one row more, which tells whether there is a next one. None when nothing can be
/// within reach.
pub(super) fn question(reach: &Reach, filter: &Filter, page: &PageRequest) -> Option<Question> {
    let reaches_nothing = |names: &Option<BTreeSet<String>>| names.as_ref().is_some_and(BTreeSet::is_empty);
    if reaches_nothing(&reach.companies) || reaches_nothing(&reach.workflows) {
        return None;
    }
    let behind = match &page.cursor {
        Some(cursor) => Some(cursor.read()?),
        None => None,
    };
    Some(longest_uncertain(reach, filter, behind, page.limit))
}

fn longest_uncertain(reach: &Reach, filter: &Filter, behind: Option<(i64, u128)>, limit: u32) -> Question {
    let mut values = Values::default();
    let (moment, id) = behind.unwrap_or((i64::MIN, 0));
    let moment = values.place(Value::Integer(moment));
    let id = values.place(Value::Blob(id.to_be_bytes().to_vec()));
    let limit = values.place(Value::Integer(i64::from(limit) + 1));
    let (first, end) = id_bounds(filter);
    let first = values.place(Value::Blob(first.to_be_bytes().to_vec()));
    let end = values.place(Value::Blob(end.to_be_bytes().to_vec()));
    let mut conditions = vec![
        "state IN ('unknown', 'disputed')".to_owned(),
        format!("(state_since, id) > ({moment}, {id})"),
        format!("+id >= {first}"),
        format!("+id < {end}"),
    ];
    conditions.extend(filtered(&mut values, filter));
    values.within(reach, &mut conditions);
    let sql = format!(
        "SELECT {} FROM operation INDEXED BY operation_uncertain WHERE {} ORDER BY state_since, id LIMIT {limit}",
        OperationRow::COLUMNS,
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

/// The first id of the filter's time, and the first one behind it: ids start with the milliseconds of their moment.
fn id_bounds(filter: &Filter) -> (u128, u128) {
    let start_of =
        |moment: Timestamp| u128::try_from(moment.timestamp_millis()).unwrap_or_default().saturating_mul(1 << 80);
    (filter.from.map_or(0, start_of), filter.to.map_or(u128::MAX, start_of))
}

/// What the filter asks of each row.
fn filtered(values: &mut Values, filter: &Filter) -> Vec<String> {
    let texts = [
        ("workflow", &filter.workflow),
        ("company", &filter.company),
        ("source_system", &filter.source_system),
        ("document", &filter.document),
        ("action", &filter.action),
        ("worker", &filter.worker),
    ];
    let mut conditions: Vec<String> = texts
        .into_iter()
        .filter_map(|(column, text)| Some(format!("+{column} = {}", values.text(text.as_ref()?))))
        .collect();
    if !filter.states.is_empty() {
        let states: BTreeSet<String> = filter.states.iter().map(|state| state.as_str().to_owned()).collect();
        conditions.push(values.one_of("state", &states));
    }
    if filter.with_open_conflicts {
        conditions.push("open_conflicts > 0".to_owned());
    }
    let stakes = [(">=", filter.stake_from), ("<=", filter.stake_to)];
    for (relation, stake) in stakes.into_iter().filter_map(|(relation, stake)| Some((relation, stake?))) {
        conditions.push(format!("+ten_thousandths {relation} {}", values.place(Value::Integer(stake))));
    }
    match &filter.sought {
        Some(Sought::Operation(id)) => {
            let id = values.place(Value::Blob(id.as_u128().to_be_bytes().to_vec()));
            conditions.push(format!("+id = {id}"));
        }
        Some(Sought::Named(name)) => {
            let name = values.text(name);
            conditions.push(format!("(+document = {name} OR +destination_reference = {name})"));
        }
        None => {}
    }
    conditions
}

/// The question for counts of hours.
pub(super) fn counts(reach: &Reach, from: Timestamp, to: Timestamp) -> Question {
    let mut values = Values::default();
    let from = values.place(Value::Integer(from.timestamp_millis()));
    let to = values.place(Value::Integer(to.timestamp_millis()));
    let mut conditions = vec![format!("hour >= {from}"), format!("hour < {to}")];
    values.within(reach, &mut conditions);
    let CountColumns { columns, order } = COUNT_COLUMNS;
    let sql = format!(
        "SELECT {columns}, sum(number), sum(ten_thousandths) FROM count WHERE {} GROUP BY {order} ORDER BY {order}",
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

/// How many recoveries there are within reach that are exhausted or not, at most `limit`.
pub(super) fn recovering(reach: &Reach, index: &str, condition: &str, limit: u32) -> Question {
    let mut values = Values::default();
    let limit = values.place(Value::Integer(limit.into()));
    let mut conditions = vec![format!("recovery.exhausted_at {condition}")];
    values.within(reach, &mut conditions);
    let joined = if conditions.len() > 1 { "JOIN operation ON operation.id = recovery.operation" } else { "" };
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM recovery INDEXED BY {index} {joined} WHERE {} LIMIT {limit})",
        conditions.join(" AND ")
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
    let limit = values.place(Value::Integer(most.into()));
    let mut stretch = |company: Option<&String>| {
        let mut conditions = vec!["state IN ('unknown', 'disputed')".to_owned()];
        let index = match company {
            Some(company) => {
                conditions.push(format!("company = {}", values.text(company)));
                "operation_uncertain_by_company"
            }
            None => "operation_uncertain",
        };
        values.within(reach, &mut conditions);
        format!(
            "SELECT * FROM (SELECT currency, state_since, id, ten_thousandths FROM operation INDEXED BY {index} \
             WHERE {} ORDER BY state_since, id LIMIT {limit})",
            conditions.join(" AND ")
        )
    };
    let stretches = match few_companies(reach) {
        Some(companies) => companies.iter().map(|company| stretch(Some(company))).collect(),
        None => vec![stretch(None)],
    };
    let sql = format!(
        "SELECT currency, count(*), min(state_since), sum(ten_thousandths / {UPPER_HALF}), sum(ten_thousandths % {UPPER_HALF}) FROM (\
         SELECT * FROM ({}) ORDER BY state_since, id LIMIT {limit}) GROUP BY currency ORDER BY currency",
        stretches.join(" UNION ALL ")
    );
    Question { sql, values: values.0 }
}

/// The conflicts that are open within reach, as far as they are counted.
fn open(reach: &Reach, most: u32) -> Question {
    let mut values = Values::default();
    let limit = values.place(Value::Integer(most.into()));
    let mut stretch = |company: Option<&String>| {
        let mut conditions = vec!["is_open = 1".to_owned()];
        let index = match company {
            Some(company) => {
                conditions.push(format!("company = {}", values.text(company)));
                "conflict_open_by_company"
            }
            None => "conflict_open",
        };
        values.within(reach, &mut conditions);
        let conditions = conditions.join(" AND ");
        format!("SELECT * FROM (SELECT 1 FROM conflict INDEXED BY {index} WHERE {conditions} LIMIT {limit})")
    };
    let stretches = match few_companies(reach) {
        Some(companies) => companies.iter().map(|company| stretch(Some(company))).collect(),
        None => vec![stretch(None)],
    };
    let sql = format!("SELECT count(*) FROM (SELECT * FROM ({}) LIMIT {limit})", stretches.join(" UNION ALL "));
    Question { sql, values: values.0 }
}

fn open_conflicts(connection: &Connection, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
    let Question { sql, values } = open(reach, most);
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0)))
        .map_err(|error| fault::of(&error, "conflict", &"?"))
}

/// The unknown operations within reach that were begun last.
pub(super) fn latest_unknown(reach: &Reach, limit: u32) -> Question {
    let mut values = Values::default();
    let limit = values.place(Value::Integer(limit.into()));
    let mut conditions = vec!["state = 'unknown'".to_owned()];
    values.within(reach, &mut conditions);
    let sql = format!(
        "SELECT id, workflow, state_since FROM operation INDEXED BY operation_unknown WHERE {} ORDER BY id DESC LIMIT {limit}",
        conditions.join(" AND ")
    );
    Question { sql, values: values.0 }
}

#[cfg(test)]
mod tests {
    use guard::queue::Cursor;

    use super::*;
    use crate::store::walk::tests::every_filter;

    fn plan(connection: &Connection, question: &Question) -> Vec<String> {
        let sql = format!("EXPLAIN QUERY PLAN {}", question.sql);
        let mut statement = connection.prepare(&sql).unwrap();
        let rows = statement.query_map(rusqlite::params_from_iter(question.values.clone()), |row| row.get(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    fn schema() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        connection
    }

    #[test]
    fn what_is_uncertain_is_read_from_its_index() {
        let connection = schema();
        let names = |number: usize| (0..number).map(|index| format!("company {index}")).collect::<Vec<_>>();
        let reaches = [Reach::EVERYTHING, Reach::over(names(1), []), Reach::over(names(3), names(2))];
        let pages = [None, Some(Cursor::behind(chrono::DateTime::UNIX_EPOCH, 7 << 80))];
        for (reach, filter) in
            reaches.iter().flat_map(|reach| every_filter().into_iter().map(move |filter| (reach, filter)))
        {
            for cursor in &pages {
                let question = question(reach, &filter, &PageRequest { cursor: cursor.clone(), limit: 50 }).unwrap();
                let plan = plan(&connection, &question);
                assert!(plan.iter().any(|step| step.contains("operation_uncertain")), "{plan:#?}\n{}", question.sql);
                assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}\n{}", question.sql);
            }
        }
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
        for (index, condition) in [("recovery_due", "IS NULL"), ("recovery_exhausted", "IS NOT NULL")] {
            let counted = plan(&connection, &recovering(&reach, index, condition, 9));
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
    }
}
