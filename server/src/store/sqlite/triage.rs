//! The queue of what is uncertain: stretches of its indexes.

use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::state::REASON_LEASE_EXPIRED;
use guard::token::Reach;
use guard::triage::{Cause, ClaimedBy, Place, STEPS_MAX, Show, Step, Stretch, Triage, TriageFilter};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::fault;
use crate::store::row::json_text;

/// What makes an operation uncertain, as the indexes of the queue say it.
const UNCERTAIN: &str = "state IN ('unknown', 'disputed')";

/// SQL and the values of its places.
pub(super) struct Question {
    pub sql: String,
    pub values: Vec<Value>,
}

/// The index that fits, with the column by which it starts.
fn index(filter: &TriageFilter) -> (&'static str, Option<(&'static str, &String)>) {
    match (&filter.workflow, &filter.company) {
        (_, Some(company)) => ("operation_at_risk_by_company", Some(("company", company))),
        (Some(workflow), None) => ("operation_at_risk_by_workflow", Some(("workflow", workflow))),
        (None, None) => ("operation_at_risk", None),
    }
}

/// The next smaller step of an index, each found by one look: no row between them is read.
pub(super) fn steps_question(triage: &Triage) -> Question {
    let (index, start) = index(&triage.filter);
    let start_condition = start.map(|(column, _)| format!(" AND {column} = ?1")).unwrap_or_default();
    let largest = |below: &str| {
        format!(
            "(SELECT at_risk FROM operation INDEXED BY {index} WHERE {UNCERTAIN}{start_condition}{below} \
             ORDER BY at_risk DESC LIMIT 1)"
        )
    };
    let sql = format!(
        "WITH RECURSIVE step (number) AS (SELECT {} UNION ALL SELECT {} FROM step WHERE number IS NOT NULL LIMIT {}) \
         SELECT number FROM step WHERE number IS NOT NULL",
        // Bounded, so that the index is searched and not read from its end.
        largest(" AND at_risk >= 0"),
        largest(" AND at_risk < step.number"),
        STEPS_MAX + 1,
    );
    Question { sql, values: start.map(|(_, name)| Value::Text(name.clone())).into_iter().collect() }
}

/// The question for one stretch. A plus keeps the planner from choosing another index.
pub(super) fn stretch_question(reach: &Reach, triage: &Triage, stretch: &Stretch, limit: u32) -> Question {
    let mut values = Values::default();
    let (index, start) = index(&triage.filter);
    let mut conditions = vec![UNCERTAIN.to_owned()];
    if let Some((column, name)) = start {
        conditions.push(format!("{column} = {}", values.text(name)));
    }
    conditions.push(format!("at_risk = {}", values.integer(stretch.step.number())));
    let since = values.integer(stretch.since);
    conditions.push(format!("(state_since, id) > ({since}, {})", values.id(stretch.id)));
    conditions.extend(values.filtered(reach, triage));
    let sql = format!(
        "SELECT at_risk, state_since, id FROM operation INDEXED BY {index} WHERE {} ORDER BY state_since, id LIMIT {}",
        conditions.join(" AND "),
        values.integer(limit.into()),
    );
    Question { sql, values: values.0 }
}

/// The question by age alone.
pub(super) fn age_question(
    reach: &Reach,
    triage: &Triage,
    latest_first: bool,
    behind: Option<(i64, OperationId)>,
    limit: u32,
) -> Question {
    let mut values = Values::default();
    let mut conditions = vec![UNCERTAIN.to_owned()];
    let (comparison, direction) = if latest_first { ("<", " DESC") } else { (">", "") };
    if let Some((since, id)) = behind {
        let since = values.integer(since);
        conditions.push(format!("(state_since, id) {comparison} ({since}, {})", values.id(id.as_u128())));
    }
    conditions.extend(values.filtered(reach, triage));
    let sql = format!(
        "SELECT at_risk, state_since, id FROM operation INDEXED BY operation_uncertain WHERE {} \
         ORDER BY state_since{direction}, id{direction} LIMIT {}",
        conditions.join(" AND "),
        values.integer(limit.into()),
    );
    Question { sql, values: values.0 }
}

/// The steps that there are.
pub(super) fn steps(connection: &Connection, triage: &Triage) -> Result<Vec<Step>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let Question { sql, values } = steps_question(triage);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(values), |row| row.get(0)).map_err(failed)?;
    found.map(|number| Ok(Step::from_number(number.map_err(failed)?))).collect()
}

/// The places that a question finds.
pub(super) fn places(connection: &Connection, question: Question) -> Result<Vec<Place>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let mut statement = connection.prepare_cached(&question.sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(question.values), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, [u8; 16]>(2)?))
    });
    let place = |(step, since, id): (i64, i64, [u8; 16])| Place {
        step: Step::from_number(step),
        since,
        id: OperationId::from_u128(u128::from_be_bytes(id)),
    };
    found.map_err(failed)?.map(|row| row.map(place).map_err(failed)).collect()
}

/// Collects the values of a question.
#[derive(Default)]
struct Values(Vec<Value>);

impl Values {
    fn place(&mut self, value: Value) -> String {
        self.0.push(value);
        format!("?{}", self.0.len())
    }

    fn text(&mut self, value: &str) -> String {
        self.place(Value::Text(value.to_owned()))
    }

    fn integer(&mut self, value: i64) -> String {
        self.place(Value::Integer(value))
    }

    fn id(&mut self, id: u128) -> String {
        self.place(Value::Blob(id.to_be_bytes().to_vec()))
    }

    /// What is asked of each row.
    fn filtered(&mut self, reach: &Reach, triage: &Triage) -> Vec<String> {
        let Triage { filter, person, now } = triage;
        let mut conditions = Vec::new();
        for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
            if let Some(names) = names {
                conditions
                    .push(format!("+{column} IN (SELECT value FROM json_each({}))", self.text(&json_text(names))));
            }
        }
        let texts = [("workflow", &filter.workflow), ("company", &filter.company), ("currency", &filter.currency)];
        for (column, text) in texts {
            if let Some(text) = text {
                conditions.push(format!("+{column} = {}", self.text(text)));
            }
        }
        if let Some(state) = filter.state {
            conditions.push(format!("+state = {}", self.text(state.as_str())));
        }
        conditions.extend(filter.cause.map(|cause| match cause {
            Cause::Disputed => "+state = 'disputed'".to_owned(),
            Cause::LeaseEnded => format!("+state = 'unknown' AND reason = {}", self.text(REASON_LEASE_EXPIRED)),
            Cause::Reported => format!("+state = 'unknown' AND reason <> {}", self.text(REASON_LEASE_EXPIRED)),
        }));
        let now = self.integer(now.timestamp_millis());
        let reviewed =
            |what: &str| format!("EXISTS (SELECT 1 FROM review WHERE review.operation = operation.id AND {what})");
        conditions.extend(filter.claim.map(|claim| match claim {
            ClaimedBy::Me => reviewed(&format!("claimed_until > {now} AND claimed_by = {}", self.text(person))),
            ClaimedBy::Nobody => format!("NOT {}", reviewed(&format!("claimed_until > {now}"))),
        }));
        let waits = reviewed(&format!("waits_until > {now}"));
        match filter.show {
            Show::All => {}
            Show::Now => conditions.push(format!("NOT {waits}")),
            Show::Waiting => conditions.push(waits),
            Show::NeedsMe => conditions.push(format!(
                "NOT {waits} AND (+state = 'disputed' OR NOT EXISTS (SELECT 1 FROM recovery \
                 WHERE recovery.operation = operation.id AND exhausted_at IS NULL))"
            )),
        }
        conditions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_from_its_indexes() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        let plan = |question: Question| -> String {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", question.sql)).unwrap();
            let rows = statement.query_map(params_from_iter(question.values), |row| row.get::<_, String>(3)).unwrap();
            rows.map(Result::unwrap).collect::<Vec<_>>().join("\n")
        };
        let reach = Reach::over(["ACME".to_owned()], ["handoff".to_owned()]);
        let now = chrono::DateTime::UNIX_EPOCH;
        let name = Some("x".to_owned());
        for (workflow, company, index) in [
            (None, None, "operation_at_risk ("),
            (name.clone(), None, "operation_at_risk_by_workflow ("),
            (name.clone(), name, "operation_at_risk_by_company ("),
        ] {
            for show in Show::ALL {
                let (claim, cause) = (Some(ClaimedBy::Me), Some(Cause::Reported));
                let filter = TriageFilter {
                    workflow: workflow.clone(),
                    company: company.clone(),
                    claim,
                    cause,
                    show,
                    ..TriageFilter::default()
                };
                let triage = Triage { filter, person: "ada@example.test".to_owned(), now };
                let stretch = Stretch { step: Step::from_number(10), since: 7, id: 7 };
                let steps = plan(steps_question(&triage));
                assert!(steps.contains(index) && !steps.contains("SCAN operation"), "{steps}");
                let stretch = plan(stretch_question(&reach, &triage, &stretch, 50));
                assert!(
                    stretch.contains(index) && stretch.contains("at_risk=? AND (state_since,id)>(?,?)"),
                    "{stretch}"
                );
                assert!(!stretch.contains("TEMP B-TREE FOR ORDER BY"), "{stretch}");
                for latest in [true, false] {
                    let by_age = plan(age_question(&reach, &triage, latest, Some((7, OperationId::from_u128(7))), 50));
                    assert!(by_age.contains("operation_uncertain") && !by_age.contains("FOR ORDER BY"), "{by_age}");
                }
            }
        }
    }

    #[test]
    fn the_database_rounds_as_the_guard_does() {
        let connection = Connection::open_in_memory().unwrap();
        let rounded = super::super::MIGRATIONS.iter().find(|migration| migration.version == 7).unwrap();
        let expression = rounded.sql.split_once("AS (\n").unwrap().1.split_once("\n) VIRTUAL").unwrap().0;
        let sql = format!("SELECT {expression} FROM (SELECT ?1 AS ten_thousandths)");
        let mut stake = 0_i64;
        while stake < guard::money::STAKE_MAX {
            let held: i64 = connection.query_row(&sql, [stake], |row| row.get(0)).unwrap();
            assert_eq!(Step::of(Some(stake)).number(), held, "{stake}");
            stake += stake / 13 + 1;
        }
        let held: i64 = connection.query_row(&sql, [guard::money::STAKE_MAX], |row| row.get(0)).unwrap();
        assert_eq!(held, guard::money::STAKE_MAX);
    }
}
