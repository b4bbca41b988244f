//! The queue of what is uncertain: stretches of its indexes.

use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::state::REASON_LEASE_EXPIRED;
use guard::triage::{Cause, ClaimedBy, Look, Part, Place, STEPS_MAX, Seen, Show, Sort, Step, Stretch, Triage};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::fault;
use super::list::{Question, Values};

/// What makes an operation uncertain, as the indexes of the queue say it.
const UNCERTAIN: &str = "state IN ('unknown', 'disputed')";

/// What is at stake, rounded to its step, as the indexes of the queue say it. Asked for as a generated column, it would have each row read
/// beside the index.
const AT_RISK: &str = "(CASE WHEN ten_thousandths IS NULL THEN 0 WHEN ten_thousandths < 10 THEN ten_thousandths \
     ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER) \
     - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER) \
     % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2 \
     WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5 ELSE 10 END) \
     * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER) END)";

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
            "(SELECT {AT_RISK} FROM operation INDEXED BY {index} WHERE {held}{start_condition}{below} \
             ORDER BY {AT_RISK} DESC LIMIT 1)"
        )
    };
    let sql = format!(
        "WITH RECURSIVE step (number) AS (SELECT {} UNION ALL SELECT {} FROM step WHERE number IS NOT NULL LIMIT {}) \
         SELECT number FROM step WHERE number IS NOT NULL",
        // Bounded, so that the index is searched and not read from its end.
        largest(&format!(" AND {AT_RISK} >= 0")),
        largest(&format!(" AND {AT_RISK} < step.number")),
        STEPS_MAX + 1,
    );
    Question { sql, values: start.map(|(_, name)| Value::Text(name.clone())).into_iter().collect() }
}

/// The first values of a statement of [`stretch_question`]: they say which stretch, the moment, and how far is looked.
fn stretch_values(triage: &Triage, stretch: &Stretch, seen: u32) -> [Value; 6] {
    let (_, _, start) = index(&stretch.part);
    let name = start.map_or(Value::Null, |(_, name)| Value::Text(name.clone()));
    let step = stretch.step.map_or(Value::Null, |step| Value::Integer(step.number()));
    let (since, id) = stretch.start(triage.sort);
    let id = Value::Blob(id.as_u128().to_be_bytes().to_vec());
    let now = Value::Integer(triage.now.timestamp_millis());
    [name, step, Value::Integer(since), id, now, Value::Integer(seen.into())]
}

/// The rows of a stretch, and of all that are of parts of one kind with or without a step, each with whether it fits. A plus keeps the planner
/// from choosing another index.
fn stretch_question(triage: &Triage, stretch: &Stretch, seen: u32) -> Question {
    let mut values = Values(stretch_values(triage, stretch, seen).to_vec());
    let Stretch { part, step, behind: _ } = stretch;
    let (by_step, held, start) = index(part);
    let mut conditions = vec![held.to_owned()];
    conditions.extend(start.map(|(column, _)| format!("{column} = ?1")));
    let (index, at_risk) = match step {
        Some(_) => {
            conditions.push(format!("{AT_RISK} = ?2"));
            (by_step, "?2")
        }
        None => {
            let by_age = match part {
                Part::All => "operation_uncertain",
                Part::Company(_) => "operation_uncertain_by_company",
                // Not held by age: sorted.
                Part::Disputed | Part::Workflow(_) => by_step,
            };
            (by_age, AT_RISK)
        }
    };
    let (comparison, direction) = match triage.sort {
        Sort::AtRisk | Sort::Longest => (">", ""),
        Sort::Latest => ("<", " DESC"),
    };
    conditions.push(format!("(state_since, id) {comparison} (?3, ?4)"));
    let fits = values.fits(triage, "?5");
    let sql = format!(
        "SELECT {at_risk}, state_since, id, {fits} FROM operation INDEXED BY {index} WHERE {} \
         ORDER BY state_since{direction}, id{direction} LIMIT ?6",
        conditions.join(" AND "),
    );
    Question { sql, values: values.0 }
}

/// What people have claimed or keep waiting, one more than `most` of it.
fn reviewed(values: &mut Values, triage: &Triage, now: &str, most: u32) -> String {
    let (index, condition) = match triage.filter.claim {
        Some(ClaimedBy::Me) => {
            ("review_by_claim", format!("claimed_by = {} AND claimed_until > {now}", values.text(&triage.person)))
        }
        Some(ClaimedBy::Nobody) | None => ("review_by_wait", format!("waits_until > {now}")),
    };
    let limit = values.integer(i64::from(most) + 1);
    format!("SELECT operation AS reviewed FROM review INDEXED BY {index} WHERE {condition} LIMIT {limit}")
}

/// How much that is, from an index alone: where it is more than `most`, no row behind it is read.
fn reviewed_number_question(triage: &Triage, most: u32) -> Question {
    let mut values = Values::default();
    let now = values.integer(triage.now.timestamp_millis());
    let sql = format!("SELECT count(*) FROM ({})", reviewed(&mut values, triage, &now, most));
    Question { sql, values: values.0 }
}

/// Each of it, with whether it fits.
fn reviewed_question(triage: &Triage, most: u32) -> Question {
    let mut values = Values::default();
    let now = values.integer(triage.now.timestamp_millis());
    let reviewed = reviewed(&mut values, triage, &now, most);
    let fits = values.fits(triage, &now);
    let sql = format!(
        "SELECT {AT_RISK}, state_since, id, {UNCERTAIN} AND {fits} FROM ({reviewed}) \
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
    let Some(first) = stretches.first() else { return Ok(found) };
    let Question { sql, values } = stretch_question(triage, first, look.seen);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    for (number, stretch) in stretches.iter().enumerate() {
        let which = stretch_values(triage, stretch, look.seen);
        let asked = values.iter().skip(which.len());
        let mut rows = statement.query(params_from_iter(which.iter().chain(asked))).map_err(failed)?;
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
    let Question { sql, values } = reviewed_number_question(triage, most);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let number: u32 = statement.query_row(params_from_iter(values), |row| row.get(0)).map_err(failed)?;
    if number > most {
        return Ok(None);
    }
    let Question { sql, values } = reviewed_question(triage, most);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(values), place).map_err(failed)?;
    let found: Vec<(Place, bool)> = found.collect::<Result<_, _>>().map_err(failed)?;
    Ok(Some(found.into_iter().filter_map(|(place, fits)| fits.then_some(place)).collect()))
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

impl Values {
    /// What is asked of each row; `now` is the place of the moment.
    fn fits(&mut self, triage: &Triage, now: &str) -> String {
        let Triage { filter, reach, person, .. } = triage;
        let mut conditions = Vec::new();
        self.within(reach, &mut conditions);
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
        // A value that a statement does not use is an error.
        let causes = [None, Some(Cause::LeaseEnded), Some(Cause::Reported), Some(Cause::Disputed)];
        let claims = [None, Some(ClaimedBy::Me), Some(ClaimedBy::Nobody)];
        for (cause, claim) in causes.into_iter().flat_map(|cause| claims.map(|claim| (cause, claim))) {
            for show in Show::ALL {
                let filter = TriageFilter { cause, claim, show, ..TriageFilter::default() };
                let (reach, person) = (Reach::EVERYTHING, "ada@example.test".to_owned());
                let triage = Triage { filter, sort: Sort::AtRisk, reach, person, now };
                let look = Look { rows: 5, seen: 50 };
                let stretch = Stretch { part: Part::All, step: None, behind: None };
                assert_eq!(places(&connection, &triage, &[stretch], look).unwrap(), Seen::default());
                if triage.is_of_reviewed() {
                    assert_eq!(places_reviewed(&connection, &triage, 5).unwrap(), Some(Vec::new()));
                }
            }
        }
        for (show, sort) in Show::ALL.into_iter().flat_map(|show| Sort::ALL.map(|sort| (show, sort))) {
            let text = Some("x".to_owned());
            let filter = TriageFilter {
                workflow: text.clone(),
                company: text.clone(),
                currency: text,
                state: Some(StateName::Unknown),
                claim: Some(ClaimedBy::Me),
                cause: Some(Cause::Reported),
                show,
            };
            let triage = Triage { filter, sort, reach: reach.clone(), person: "ada@example.test".to_owned(), now };
            let behind = Some((7, OperationId::from_u128(7)));
            for (part, index) in &parts {
                let steps = plan(steps_question(part));
                assert!(steps.contains(&format!("COVERING {index}")) && !steps.contains("SCAN operation"), "{steps}");
                let step = Some(Step::from_number(10));
                let stretch = plan(stretch_question(&triage, &Stretch { part: part.clone(), step, behind }, 50));
                assert!(stretch.contains(&format!("COVERING {index}")), "{stretch}");
                assert!(stretch.contains("<expr>=? AND (state_since,id)"), "{stretch}");
                assert!(!stretch.contains("TEMP B-TREE FOR ORDER BY"), "{stretch}");
            }
            for (part, _) in parts.iter().filter(|(part, _)| part.is_held_by_age()) {
                let by_age = plan(stretch_question(&triage, &Stretch { part: part.clone(), step: None, behind }, 50));
                assert!(by_age.contains("COVERING INDEX operation_uncertain"), "{by_age}");
                assert!(!by_age.contains("FOR ORDER BY"), "{by_age}");
            }
            let number = plan(reviewed_number_question(&triage, 50));
            assert!(number.contains("SEARCH review USING COVERING INDEX review_by_claim"), "{number}");
            let reviewed = plan(reviewed_question(&triage, 50));
            assert!(reviewed.contains("SEARCH review USING COVERING INDEX review_by_claim"), "{reviewed}");
            assert!(reviewed.contains("SEARCH operation USING"), "{reviewed}");
        }
    }

    #[test]
    fn the_database_rounds_as_the_guard_does() {
        let connection = Connection::open_in_memory().unwrap();
        let sql = format!("SELECT {AT_RISK} FROM (SELECT ?1 AS ten_thousandths)");
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
