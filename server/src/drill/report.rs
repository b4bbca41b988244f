//! What came of a drill.

use super::scenario::Scenario;
use super::worker::End;

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As many records as there should be, and every worker knows it.
    Ok,
    /// Nothing is doubled or lost; a person has to decide.
    Waiting,
    /// More records than there should be.
    Doubled,
    /// Fewer records than there should be, and nobody is told.
    Lost,
    /// A record shows an older version than the newest one that was sent.
    Overwritten,
    /// The records could not be counted.
    NotCounted,
    /// It was not played.
    Skipped,
}

impl Verdict {
    /// Whether an effect was doubled or lost, or nobody can tell.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Doubled | Self::Lost | Self::Overwritten | Self::NotCounted => true,
            Self::Ok | Self::Waiting | Self::Skipped => false,
        }
    }
}

/// A scenario, played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which one.
    pub scenario: Scenario,
    /// How often a worker was allowed to send; without a guard: how often one sent.
    pub permissions: u64,
    /// How many records the destination holds; none where nobody knows.
    pub records: Option<u64>,
    /// How many it should hold.
    pub expected: u64,
    /// What follows.
    pub verdict: Verdict,
    /// In a sentence, where there is something to say.
    pub sentence: Option<String>,
}

/// A drill, done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether workers asked a guard.
    pub is_guarded: bool,
    /// The destination's name.
    pub destination: String,
    /// The workflow's name.
    pub workflow: String,
    /// What tells the records of this run from others.
    pub run: String,
    /// Every scenario.
    pub rows: Vec<Row>,
}

/// What was seen of a scenario.
pub(super) struct Played<'a> {
    pub(super) is_guarded: bool,
    /// How often a worker was allowed to send, or sent.
    pub(super) permissions: u64,
    /// How often one should have.
    pub(super) due: u64,
    /// How many records are held, or why nobody knows.
    pub(super) held: Result<u64, String>,
    /// How many there should be.
    pub(super) expected: u64,
    /// How many of them show an older version.
    pub(super) outdated: Result<u64, String>,
    pub(super) references: &'a [String],
    pub(super) ends: &'a [&'a End],
}

impl Row {
    /// The verdict in the table.
    pub fn verdict_in_words(&self) -> String {
        let records = self.records.unwrap_or_default();
        match self.verdict {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Waiting => "waits for a person".to_owned(),
            Verdict::Doubled => format!("{} TOO MANY", records.saturating_sub(self.expected)),
            Verdict::Lost => format!("{} MISSING", self.expected.saturating_sub(records)),
            Verdict::Overwritten => "OVERWRITTEN".to_owned(),
            Verdict::NotCounted => "NOT COUNTED".to_owned(),
            Verdict::Skipped => "not played".to_owned(),
        }
    }

    pub(super) const fn skipped(scenario: Scenario, reason: String) -> Self {
        Self { scenario, permissions: 0, records: None, expected: 0, verdict: Verdict::Skipped, sentence: Some(reason) }
    }

    pub(super) fn of(scenario: Scenario, played: &Played<'_>) -> Self {
        let Played { is_guarded, permissions, due, expected, references, ends, .. } = *played;
        let (records, outdated) = match (&played.held, &played.outdated) {
            (Ok(records), Ok(outdated)) => (*records, *outdated),
            (Err(reason), _) | (_, Err(reason)) => {
                let sentence = Some(format!("The destination could not be asked: {reason}."));
                let verdict = Verdict::NotCounted;
                return Self { scenario, permissions, records: None, expected, verdict, sentence };
            }
        };
        let stopped = ends.iter().find_map(|end| match end {
            End::Stopped(detail) | End::Waiting(detail) => Some(detail.trim_end_matches('.')),
            End::Done | End::Died => None,
        });
        let is_waiting = ends.iter().any(|end| matches!(end, End::Waiting(_)));
        let verdict = match records.cmp(&expected) {
            std::cmp::Ordering::Greater => Verdict::Doubled,
            std::cmp::Ordering::Less if is_waiting && is_guarded => Verdict::Waiting,
            std::cmp::Ordering::Less => Verdict::Lost,
            std::cmp::Ordering::Equal if outdated > 0 => Verdict::Overwritten,
            std::cmp::Ordering::Equal if is_waiting => Verdict::Waiting,
            std::cmp::Ordering::Equal => Verdict::Ok,
        };
        let under = references.join(", ");
        let sentence = match verdict {
            Verdict::Doubled if is_guarded => Some(format!(
                "{records} records where {} be, under the external reference {under}; {} given",
                should(expected),
                number(permissions, "permission was", "permissions were")
            )),
            Verdict::Doubled => Some(format!("{records} records where {} be: {}", should(expected), scenario.cause())),
            Verdict::Lost => {
                let reason = stopped.map(|detail| format!(": {detail}")).unwrap_or_default();
                let found = number(records, "record", "records");
                Some(format!("{found} where {} be, and nothing puts that right later{reason}", should(expected)))
            }
            Verdict::Waiting => {
                let reason = stopped.unwrap_or("it is not known whether the record was made");
                Some(format!("Nothing was doubled, and nothing is sent again by itself: {reason}"))
            }
            Verdict::Overwritten if is_guarded => {
                Some("The newer version was made, and the record shows the older one".to_owned())
            }
            Verdict::Overwritten => {
                Some(format!("The change is gone, and nothing puts that right later: {}", scenario.cause()))
            }
            Verdict::Ok if permissions > due && is_guarded => Some(
                "The first try made nothing: the destination was asked until that was proven, then another one was let through"
                    .to_owned(),
            ),
            Verdict::Ok if is_guarded => Some(scenario.remedy().to_owned()),
            Verdict::Ok if permissions <= due => None,
            Verdict::Ok => Some(format!("Right by luck: {}", scenario.cause())),
            Verdict::NotCounted | Verdict::Skipped => None,
        };
        Self {
            scenario,
            permissions,
            records: Some(records),
            expected,
            verdict,
            sentence: sentence.map(|text| text + "."),
        }
    }
}

fn should(expected: u64) -> String {
    number(expected, "should", "should")
}

fn number(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

impl Report {
    /// Rows that were played.
    pub fn played(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict != Verdict::Skipped).count()
    }

    /// Rows in which an effect was doubled or lost, or could not be counted.
    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_failure()).count()
    }

    /// The report for programs.
    pub fn json(&self) -> serde_json::Value {
        let rows = self.rows.iter().map(|row| {
            serde_json::json!({
                "scenario": row.scenario.as_str(),
                "title": row.scenario.title(),
                "permissions": row.permissions,
                "records": row.records,
                "expected": row.expected,
                "verdict": row.verdict,
                "sentence": row.sentence,
            })
        });
        serde_json::json!({
            "guarded": self.is_guarded,
            "destination": self.destination,
            "workflow": self.workflow,
            "run": self.run,
            "failures": self.failures(),
            "scenarios": rows.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(is_guarded: bool, held: Result<u64, String>, ends: &[&End]) -> Row {
        row_of(2, is_guarded, held, ends)
    }

    fn row_of(permissions: u64, is_guarded: bool, held: Result<u64, String>, ends: &[&End]) -> Row {
        let (references, outdated) = (&["oo-1".to_owned()], Ok(0));
        let played = Played { is_guarded, permissions, due: 1, held, expected: 1, outdated, references, ends };
        Row::of(Scenario::LostAnswer, &played)
    }

    fn changed(is_guarded: bool, permissions: u64, outdated: u64) -> Row {
        let (held, outdated) = (Ok(1), Ok(outdated));
        let played = Played {
            is_guarded,
            permissions,
            due: 2,
            held,
            expected: 1,
            outdated,
            references: &[],
            ends: &[&End::Done],
        };
        Row::of(Scenario::OldRevision, &played)
    }

    #[test]
    fn a_record_that_shows_an_older_version_is_no_success() {
        let fine = changed(true, 2, 0);
        assert_eq!(fine.verdict, Verdict::Ok, "made once, changed once");
        let overwritten = changed(false, 3, 1);
        assert!(overwritten.verdict.is_failure());
        assert_eq!(overwritten.verdict_in_words(), "OVERWRITTEN");
        insta::assert_snapshot!(overwritten.sentence.unwrap_or_default(), @"The change is gone, and nothing puts that right later: the older version is written over the newer one.");
        assert_eq!(changed(true, 3, 1).verdict, Verdict::Overwritten, "a guard is no excuse");
    }

    #[test]
    fn the_records_decide() {
        let waiting = End::Waiting("a person decides.".to_owned());
        let verdict = |held, ends: &[&End]| row(true, Ok(held), ends).verdict;
        assert_eq!(verdict(1, &[&End::Done]), Verdict::Ok);
        assert_eq!(verdict(1, &[&End::Died, &End::Done]), Verdict::Ok);
        assert_eq!(verdict(2, &[&End::Done]), Verdict::Doubled, "also when every worker believes that all is well");
        assert_eq!(verdict(0, &[&End::Done]), Verdict::Lost);
        assert_eq!(verdict(1, &[&waiting]), Verdict::Waiting);
        assert_eq!(verdict(0, &[&waiting]), Verdict::Waiting, "a person is told");
        assert_eq!(row(false, Ok(0), &[&waiting]).verdict, Verdict::Lost, "without a guard nobody is told");
        assert_eq!(row(true, Err("503".to_owned()), &[&End::Done]).verdict, Verdict::NotCounted);
    }

    #[test]
    fn every_row_that_is_not_well_says_why() {
        let sentence = |row: Row| row.sentence.unwrap_or_default();
        let waiting = End::Waiting("a person decides.".to_owned());
        insta::assert_snapshot!(sentence(row(true, Ok(2), &[])), @"2 records where 1 should be, under the external reference oo-1; 2 permissions were given.");
        insta::assert_snapshot!(sentence(row(false, Ok(2), &[])), @"2 records where 1 should be: a retry cannot know that the first try made the record.");
        insta::assert_snapshot!(sentence(row(true, Ok(0), &[&End::Stopped("422".to_owned())])), @"0 records where 1 should be, and nothing puts that right later: 422.");
        insta::assert_snapshot!(sentence(row(true, Ok(1), &[&waiting])), @"Nothing was doubled, and nothing is sent again by itself: a person decides.");
        insta::assert_snapshot!(sentence(row(true, Err("GET /tasks: 503".to_owned()), &[])), @"The destination could not be asked: GET /tasks: 503.");
        insta::assert_snapshot!(sentence(row(true, Ok(1), &[&End::Done])), @"The first try made nothing: the destination was asked until that was proven, then another one was let through.");
        insta::assert_snapshot!(sentence(row_of(1, true, Ok(1), &[&End::Done])), @"Nobody sent again: the destination was asked, and it showed the record.");
        assert_eq!(
            row_of(1, false, Ok(1), &[&End::Done]).sentence,
            None,
            "nothing went wrong, and nothing had to be done"
        );
    }

    #[test]
    fn verdicts_count() {
        let words = |held| row(true, held, &[&End::Done]).verdict_in_words();
        assert_eq!(words(Ok(1)), "ok");
        assert_eq!(words(Ok(5)), "4 TOO MANY");
        assert_eq!(words(Ok(0)), "1 MISSING");
        assert_eq!(words(Err("503".to_owned())), "NOT COUNTED");
        assert_eq!(Row::skipped(Scenario::Twice, String::new()).verdict_in_words(), "not played");
    }
}
