//! The queue of what is uncertain: stretches of its indexes.

use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::state::REASON_LEASE_EXPIRED;
use guard::triage::{Cause, ClaimedBy, Look, Part, Place, STEPS_MAX, Seen, Show, Sort, Step, Stretch, Triage};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::fault;
use crate::store::row::json_text;

/// What makes an operation uncertain, as the indexes of the queue say it.
const UNCERTAIN: &str = "state IN ('unknown', 'disputed')";

/// SQL and the values of its places.
pub(super) struct Question {
    pub sql: String,
    pub values: Vec<Value>,
}

/// The index of a part by step, what it holds, and the column by which it starts.
fn index(part: &Part) -> (&'static str, &'static str, Option<(&'static str, &String)>) {
    match part {
        Part::All => ("operation_at_risk", UNCERTAIN, None),
        Part::Disputed => ("operation_disputed", "state = 'disputed'", None),
        Part::Company(name) => ("operation_at_risk_by_company", UNCERTAIN, Some(("company", name))),
        Part::Workflow(name) => ("operation_at_risk_by_workflow", UNCERTAIN, Some(("workflow", name))),
    }
}

/// The next smaller step of an index, each found by one look: no row between them is read.
fn steps_question(part: &Part) -> Question {
    let (index, held, start) = index(part);
    let start_condition = start.map(|(column, _)| format!(" AND {column} = ?1")).unwrap_or_default();
    let largest = |below: &str| {
        format!(
            "(SELECT at_risk FROM operation INDEXED BY {index} WHERE {held}{start_condition}{below} \
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

/// The rows of a stretch, each with whether it fits. A plus keeps the planner from choosing another index.
fn stretch_question(triage: &Triage, stretch: &Stretch, seen: u32) -> Question {
    let mut values = Values::default();
    let Stretch { part, step, behind } = stretch;
    let (by_step, held, start) = index(part);
    let mut conditions = vec![held.to_owned()];
    if let Some((column, name)) = start {
        conditions.push(format!("{column} = {}", values.text(name)));
    }
    let index = match step {
        Some(step) => {
            conditions.push(format!("at_risk = {}", values.integer(step.number())));
            by_step
        }
        None => match part {
            Part::All => "operation_uncertain",
            Part::Company(_) => "operation_uncertain_by_company",
            // Not held by age: sorted.
            Part::Disputed | Part::Workflow(_) => by_step,
        },
    };
    let (comparison, direction) = match triage.sort {
        Sort::AtRisk | Sort::Longest => (">", ""),
        Sort::Latest => ("<", " DESC"),
    };
    if let Some((since, id)) = behind {
        let since = values.integer(*since);
        conditions.push(format!("(state_since, id) {comparison} ({since}, {})", values.id(*id)));
    }
    // A generated column is made anew of its row even where the index holds it.
    let at_risk = step.map_or_else(|| "at_risk".to_owned(), |step| values.integer(step.number()));
    let fits = values.fits(triage);
    let sql = format!(
        "SELECT {at_risk}, state_since, id, {fits} FROM operation INDEXED BY {index} WHERE {} \
         ORDER BY state_since{direction}, id{direction} LIMIT {}",
        conditions.join(" AND "),
        values.integer(seen.into()),
    );
    Question { sql, values: values.0 }
}

/// What people have claimed or keep waiting, each with whether it fits.
fn reviewed_question(triage: &Triage, most: u32) -> Question {
    let mut values = Values::default();
    let now = values.integer(triage.now.timestamp_millis());
    let (index, condition) = match triage.filter.claim {
        Some(ClaimedBy::Me) => {
            ("review_by_claim", format!("claimed_by = {} AND claimed_until > {now}", values.text(&triage.person)))
        }
        Some(ClaimedBy::Nobody) | None => ("review_by_wait", format!("waits_until > {now}")),
    };
    let limit = values.integer(i64::from(most) + 1);
    let fits = values.fits(triage);
    let sql = format!(
        "SELECT at_risk, state_since, id, {UNCERTAIN} AND {fits} FROM \
         (SELECT operation AS reviewed FROM review INDEXED BY {index} WHERE {condition} LIMIT {limit}) \
         CROSS JOIN operation ON operation.id = reviewed"
    );
    Question { sql, values: values.0 }
}

/// The steps that there are in a part.
pub(super) fn steps(connection: &Connection, part: &Part) -> Result<Vec<(Part, Step)>, StoreFault> {
    let Question { sql, values } = steps_question(part);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(values), |row| row.get(0)).map_err(failed)?;
    found.map(|number| Ok((part.clone(), Step::from_number(number.map_err(failed)?)))).collect()
}

/// Looks through the stretches, each only as far as is asked.
pub(super) fn places(
    connection: &Connection,
    triage: &Triage,
    stretches: &[Stretch],
    look: Look,
) -> Result<Seen, StoreFault> {
    let mut found = Seen::default();
    for (number, stretch) in stretches.iter().enumerate() {
        let Question { sql, values } = stretch_question(triage, stretch, look.seen);
        let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        let (mut fitting, mut seen) = (0, 0);
        while let Some(row) = rows.next().map_err(failed)? {
            let (place, fits) = place(row).map_err(failed)?;
            seen += 1;
            if fits {
                fitting += 1;
                found.places.push(place);
            }
            if fitting == look.rows || seen == look.seen {
                found.stops.push((number, place));
                break;
            }
        }
    }
    Ok(found)
}

/// The places of what people have claimed or keep waiting; none where that is more than `most`.
pub(super) fn places_reviewed(
    connection: &Connection,
    triage: &Triage,
    most: u32,
) -> Result<Option<Vec<Place>>, StoreFault> {
    let Question { sql, values } = reviewed_question(triage, most);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(values), place).map_err(failed)?;
    let found: Vec<(Place, bool)> = found.collect::<Result<_, _>>().map_err(failed)?;
    let is_all = found.len() <= usize::try_from(most).unwrap_or(usize::MAX);
    Ok(is_all.then(|| found.into_iter().filter_map(|(place, fits)| fits.then_some(place)).collect()))
}

/// A row of a question: its place, and whether it fits.
fn place(row: &Row<'_>) -> rusqlite::Result<(Place, bool)> {
    let id: [u8; 16] = row.get(2)?;
    let id = OperationId::from_u128(u128::from_be_bytes(id));
    let place = Place { step: Step::from_number(row.get(0)?), since: row.get(1)?, id };
    Ok((place, row.get::<_, Option<bool>>(3)?.unwrap_or_default()))
}

fn failed(error: rusqlite::Error) -> StoreFault {
    fault::of(&error, "operation", &"?")
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

    fn id(&mut self, id: OperationId) -> String {
        self.place(Value::Blob(id.as_u128().to_be_bytes().to_vec()))
    }

    /// What is asked of each row.
    fn fits(&mut self, triage: &Triage) -> String {
        let Triage { filter, reach, person, now, .. } = triage;
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
        if conditions.is_empty() { "1".to_owned() } else { format!("({})", conditions.join(") AND (")) }
    }
}

#[cfg(test)]
mod tests {
    use guard::state::StateName;
    use guard::token::Reach;
    use guard::triage::TriageFilter;

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
        let (reach, now) = (Reach::over(["ACME".to_owned()], ["handoff".to_owned()]), chrono::DateTime::UNIX_EPOCH);
        let parts = [
            (Part::All, "INDEX operation_at_risk ("),
            (Part::Disputed, "INDEX operation_disputed ("),
            (Part::Company("x".to_owned()), "INDEX operation_at_risk_by_company ("),
            (Part::Workflow("x".to_owned()), "INDEX operation_at_risk_by_workflow ("),
        ];
        for (show, sort) in Show::ALL.into_iter().flat_map(|show| Sort::ALL.map(|sort| (show, sort))) {
            let text = Some("x".to_owned());
            let filter = TriageFilter {
                workflow: text.clone(),
                company: text.clone(),
                currency: text,
                state: Some(StateName::Unknown),
                claim: Some(ClaimedBy::Me),
                show,
                ..TriageFilter::default()
            };
            let triage = Triage { filter, sort, reach: reach.clone(), person: "ada@example.test".to_owned(), now };
            let behind = Some((7, OperationId::from_u128(7)));
            for (part, index) in &parts {
                let steps = plan(steps_question(part));
                assert!(steps.contains(index) && !steps.contains("SCAN operation"), "{steps}");
                let step = Some(Step::from_number(10));
                let stretch = plan(stretch_question(&triage, &Stretch { part: part.clone(), step, behind }, 50));
                assert!(stretch.contains(index) && stretch.contains("at_risk=? AND (state_since,id)"), "{stretch}");
                assert!(!stretch.contains("TEMP B-TREE FOR ORDER BY"), "{stretch}");
            }
            for (part, _) in parts.iter().filter(|(part, _)| part.is_held_by_age()) {
                let by_age = plan(stretch_question(&triage, &Stretch { part: part.clone(), step: None, behind }, 50));
                assert!(by_age.contains("INDEX operation_uncertain"), "{by_age}");
                assert!(!by_age.contains("FOR ORDER BY"), "{by_age}");
            }
            let reviewed = plan(reviewed_question(&triage, 50));
            assert!(reviewed.contains("SEARCH review USING COVERING INDEX review_by_claim"), "{reviewed}");
            assert!(reviewed.contains("SEARCH operation USING"), "{reviewed}");
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
