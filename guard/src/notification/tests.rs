use chrono::TimeZone as _;

use super::*;
use crate::money::Money;

fn at(seconds: i64) -> Timestamp {
    chrono::Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap()
}

fn piece(company: &str, amount: &str, seconds: i64) -> Piece {
    Piece {
        workflow: "accounting-handoff".to_owned(),
        company: Some(company.to_owned()),
        money: Some(Money { amount: amount.parse().unwrap(), currency: "EUR".to_owned() }),
        since: at(seconds),
        due_at: at(seconds + 1_800),
    }
}

#[test]
fn a_message_says_what_and_how_much_in_one_line() {
    let overdue = || About::Overdue { limit_minutes: 30 };
    let pieces: Vec<Piece> =
        (0..7).map(|number| piece("acme", if number == 0 { "1000.00" } else { "30.00" }, number)).collect();
    let facts = Facts::of(overdue(), at(9_000), None, &pieces);
    assert_eq!(
        facts.sentence(),
        "7 operations of accounting-handoff have been uncertain for more than 30 minutes, 1,180.00 EUR at risk"
    );
    assert_eq!((facts.company.as_deref(), facts.new, facts.oldest), (Some("acme"), 7, Some(at(0))));
    assert_eq!(facts.page(), ("/unknown", vec![("workflow", "accounting-handoff"), ("company", "acme")]));
    let again = Facts::of(overdue(), at(9_000), Some(at(1_804)), &pieces);
    assert_eq!((again.new, again.count), (2, 7));
    assert!(again.sentence().contains("30 minutes (2 new), 1,180.00 EUR at risk"), "{}", again.sentence());

    let two = [piece("acme", "-0.50", 0), piece("other", "2", 0)];
    let mixed = Facts::of(About::Amendments, at(9_000), None, &two);
    assert_eq!(mixed.sentence(), "2 amendments of accounting-handoff wait for approval, 2.50 EUR");
    assert_eq!(mixed.company, None, "of none alone");
    let one = Facts::of(About::Overdue { limit_minutes: 2_880 }, at(9_000), None, &two[..1]);
    assert_eq!(
        one.sentence(),
        "1 operation of accounting-handoff has been uncertain for more than 2 days, 0.50 EUR at risk"
    );
}

#[test]
fn a_message_is_tried_at_growing_intervals_and_then_given_up() {
    let mut message = Message {
        id: MessageId::from_u128(1),
        channel: "operations".to_owned(),
        recipient: None,
        facts: Facts::test(at(0)),
        made_at: at(0),
        due_at: at(0),
        tries: 0,
    };
    let (mut now, mut waits) = (at(0), Vec::new());
    while let Some(again) = message.again_at(now, [0; 16]) {
        waits.push((again - now).num_seconds());
        (now, message.tries) = (again, message.tries + 1);
    }
    assert_eq!(waits[..10], [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600]);
    assert!(waits[10..].iter().all(|wait| *wait == TRY_WAIT_SECONDS_MAX));
    let span = (now - message.made_at).num_seconds();
    assert!((TRY_HOURS_MAX - 1..=TRY_HOURS_MAX).contains(&(span / 3_600)), "{span}");
    let jittered = Message { tries: 0, ..message }.again_at(at(0), [0xFF; 16]).unwrap();
    assert!(jittered > at(10) && jittered <= at(12), "{jittered}");
}

#[test]
fn a_channel_fares_as_its_last_try_did() {
    let fresh = ChannelState::fresh("operations".to_owned(), WayName::Mail);
    let failed = fresh.clone().after(&Attempt::Failed("no connection".to_owned()), at(1));
    assert!(!fresh.is_failing() && failed.is_failing());
    let well = failed.clone().after(&Attempt::Delivered, at(2));
    assert_eq!((well.is_failing(), well.delivered, well.failed), (false, 1, 1));
    assert_eq!(well.last_error, failed.last_error, "what went wrong last stays readable");
    let off =
        well.after(&Attempt::SwitchedOff("410".to_owned()), at(3)).after(&Attempt::Failed("late".to_owned()), at(4));
    assert_eq!(off.switched_off.as_ref().map(|off| off.at), Some(at(3)));
    assert!(off.is_failing());
    let on = off.after(&Attempt::Delivered, at(5));
    assert_eq!((on.switched_off.is_some(), on.is_failing()), (false, false));
}
