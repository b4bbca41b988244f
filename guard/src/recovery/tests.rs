use chrono::TimeZone as _;

use super::*;

const FINALITY: Option<TimeDelta> = Some(TimeDelta::seconds(30));

fn at(seconds: i64) -> Timestamp {
    chrono::Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap()
}

fn starting() -> Recovery {
    Recovery::starting(OperationId::from_u128(1), "ledger".to_owned(), at(0), at(0))
}

fn timeout() -> Finding {
    Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer in 10 s".to_owned() }
}

/// Looks whenever it is due until there is proof or nobody looks any more; answers the moments of the lookups, in seconds.
fn play(finality: Option<TimeDelta>, mut answer: impl FnMut(i64) -> Finding) -> (Vec<i64>, Option<Absence>, Recovery) {
    let mut recovery = starting();
    let mut moments = Vec::new();
    loop {
        let now = recovery.due_at;
        let seconds = (now - at(0)).num_seconds();
        moments.push(seconds);
        let step = recovery.after(&answer(seconds), now, now, finality, [0; 16]);
        recovery = step.recovery;
        if step.absence.is_some() || recovery.exhausted_at.is_some() {
            return (moments, step.absence, recovery);
        }
    }
}

#[test]
fn absence_is_proven_by_two_lookups_after_the_window() {
    let (moments, absence, _) = play(FINALITY, |_| Finding::Absent);
    assert_eq!(moments, [0, 2, 6, 14, 30, 35], "growing waits, then the end of the window, then once more");
    insta::assert_snapshot!(absence.unwrap().reason(), @"proven absent: the last write was possible at 2023-11-14T22:13:20.000Z, the destination's answers are final from 2023-11-14T22:13:50.000Z on, and lookups at 2023-11-14T22:13:50.000Z and 2023-11-14T22:13:55.000Z found nothing");
}

#[test]
fn without_a_window_nothing_is_ever_proven() {
    let (moments, absence, recovery) = play(None, |_| Finding::Absent);
    assert_eq!(absence, None);
    assert_eq!(moments.len(), LOOKUPS_MAX as usize);
    assert!(recovery.exhausted_at.is_some());
}

#[test]
fn a_lookup_that_was_begun_in_the_window_counts_for_nothing() {
    let step = starting().after(&Finding::Absent, at(29), at(31), FINALITY, [0; 16]);
    assert_eq!((step.is_negative, step.recovery.first_negative_at), (false, None));
    assert_eq!(step.recovery.due_at, at(31), "the window is over: once more, at once");
}

#[test]
fn the_same_moment_does_not_count_twice() {
    let first = starting().after(&Finding::Absent, at(40), at(40), FINALITY, [0; 16]).recovery;
    let again = first.after(&Finding::Absent, at(41), at(41), FINALITY, [0; 16]);
    assert_eq!((again.absence, again.recovery.first_negative_at), (None, Some(at(40))));
    assert_eq!(again.recovery.due_at, at(45));
    assert!(again.recovery.after(&Finding::Absent, at(45), at(45), FINALITY, [0; 16]).absence.is_some());
}

#[test]
fn what_is_inconclusive_proves_nothing_and_takes_nothing_back() {
    let first = starting().after(&Finding::Absent, at(40), at(40), FINALITY, [0; 16]).recovery;
    let broken = first.after(&timeout(), at(45), at(55), FINALITY, [0; 16]);
    assert_eq!((broken.absence, broken.recovery.first_negative_at), (None, Some(at(40))));
    assert!(broken.recovery.after(&Finding::Absent, at(60), at(60), FINALITY, [0; 16]).absence.is_some());
}

#[test]
fn a_late_report_begins_the_window_anew() {
    let first = starting().after(&Finding::Absent, at(40), at(40), FINALITY, [0; 16]).recovery;
    let later = first.written_until(at(42));
    assert_eq!((later.last_write_at, later.first_negative_at, later.due_at), (at(42), None, at(42)));
    let asked_before = later.after(&Finding::Absent, at(41), at(43), FINALITY, [0; 16]);
    assert_eq!((asked_before.absence, asked_before.is_negative), (None, false));
    assert_eq!(later.written_until(at(30)).last_write_at, at(42), "never back");
}

#[test]
fn waits_double_to_an_hour_and_end_after_a_week_or_a_hundred() {
    let (moments, absence, recovery) = play(FINALITY, |_| timeout());
    assert_eq!(absence, None);
    assert_eq!(moments[..6], [0, 2, 6, 14, 30, 62]);
    assert_eq!(moments.last().unwrap() - moments[moments.len() - 2], WAIT_SECONDS_MAX);
    assert_eq!(recovery.lookups, LOOKUPS_MAX);
    let old = Recovery { since: at(0) - TimeDelta::days(RECOVERY_DAYS_MAX), ..starting() };
    let step = old.after(&timeout(), at(0), at(0), FINALITY, [0; 16]);
    assert_eq!(step.recovery.exhausted_at, Some(at(0)));
}

#[test]
fn a_long_window_is_waited_for_however_often_it_was_looked() {
    let month = Some(TimeDelta::days(30));
    let (moments, absence, _) = play(month, |_| Finding::Absent);
    assert!(absence.is_some());
    let days = 30 * 24 * 3_600;
    assert_eq!(moments[moments.len() - 2..], [days, days + NEGATIVES_APART_SECONDS]);
    assert!(moments.len() <= LOOKUPS_MAX as usize + 3, "{}", moments.len());
}

#[test]
fn only_void_records_go_to_a_person_at_once_and_a_person_may_have_it_looked_for_again() {
    let void = Finding::VoidOnly { destination_references: vec!["7".to_owned()] };
    let exhausted = starting().after(&void, at(1), at(1), FINALITY, [0; 16]).recovery;
    assert_eq!(exhausted.exhausted_at, Some(at(1)));
    let again = exhausted.asked_for(at(9));
    assert_eq!((again.exhausted_at, again.due_at), (None, at(3)));
    assert_eq!(again.after(&void, at(9), at(9), FINALITY, [0; 16]).recovery.exhausted_at, Some(at(9)));
}

#[test]
fn a_reason_is_kept_as_a_line_that_every_store_can_hold() {
    let reason = format!("reset\0 by\n{}", "x".repeat(REASON_CHARACTERS_MAX));
    let broken = Finding::Inconclusive { class: AnswerClass::Unreachable, reason };
    let last = starting().after(&broken, at(0), at(0), FINALITY, [0; 16]).recovery.last.unwrap();
    let reason = last.reason.unwrap();
    assert!(reason.starts_with("reset  by xxx"), "{reason}");
    assert_eq!(reason.chars().count(), REASON_CHARACTERS_MAX);
}

#[test]
fn jitter_only_lengthens_and_is_bounded() {
    let plain = TimeDelta::seconds(100);
    assert_eq!(jittered(plain, [0; 16]), plain);
    assert_eq!(jittered(plain, [0xFF; 16]), TimeDelta::seconds(100 + JITTER_PERCENT_MAX));
    let half = jittered(plain, [0x80; 16]);
    assert!(plain < half && half < TimeDelta::seconds(100 + JITTER_PERCENT_MAX));
}

#[test]
fn every_answer_survives_its_name() {
    for answer in Answer::all() {
        assert_eq!(Answer::parse(answer.as_str()), Some(answer));
    }
    assert_eq!(Answer::parse("inconclusive"), None);
}
