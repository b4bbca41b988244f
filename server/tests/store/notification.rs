//! Notifications: what is told once, who has a message, what is late.

use chrono::TimeDelta;
use guard::clock::Entropy as _;
use guard::id::MessageId;
use guard::notification::{About, Attempt, Facts, Fate, Group, Kind, Message, WayName};
use guard::recovery::Claim;
use guard::state::State;
use guard::store::{Replaced, Tried};
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::support::{Fresh, change, moment, now, on_both};

on_both!(
    a_group_is_told_by_one,
    a_message_is_claimed_by_one_at_a_time_until_it_is_settled,
    what_is_late_is_found_within_reach,
);

fn group(subject: &str, version: u64) -> Group {
    Group {
        channel: "operations".to_owned(),
        kind: Kind::UnknownOverdue,
        subject: subject.to_owned(),
        version,
        told_at: moment(7),
        told_until: moment(5),
    }
}

fn message(due: i64) -> Message {
    let facts =
        Facts::of(About::Incident { destination: "a".to_owned(), cause: "\u{202e}".to_owned() }, moment(0), None, &[]);
    Message {
        id: MessageId::new(moment(due), OsEntropy.bytes()),
        channel: "operations".to_owned(),
        recipient: Some("ada@example.test".to_owned()),
        facts,
        made_at: moment(due),
        due_at: moment(due),
        tries: 0,
    }
}

async fn a_group_is_told_by_one(fresh: Fresh) {
    let store = &fresh.database.store;
    assert_eq!(store.tell(&group("a", 2), &[message(1)]).await.unwrap(), Replaced::Stale, "there is none yet");
    assert_eq!(store.tell(&group("a", 1), &[message(1)]).await.unwrap(), Replaced::Replaced);
    assert_eq!(store.tell(&group("a", 1), &[message(1)]).await.unwrap(), Replaced::Stale);
    assert_eq!(store.tell(&group("b", 1), &[]).await.unwrap(), Replaced::Replaced);
    assert_eq!(store.tell(&group("a", 2), &[message(2)]).await.unwrap(), Replaced::Replaced);
    assert_eq!(store.messages_waiting().await.unwrap(), 2, "what was stale wrote no message");
    store.forget_group(&group("a", 1)).await.unwrap();
    let fresh = fresh.reopened().await;
    let store = &fresh.database.store;
    let mut told = store.told_groups().await.unwrap();
    told.sort_by(|one, other| one.subject.cmp(&other.subject));
    assert_eq!(told, [group("a", 2), group("b", 1)]);
    store.forget_group(&group("a", 2)).await.unwrap();
    assert_eq!(store.told_groups().await.unwrap(), [group("b", 1)]);
    fresh.remove().await;
}

async fn a_message_is_claimed_by_one_at_a_time_until_it_is_settled(fresh: Fresh) {
    let store = &fresh.database.store;
    let (first, second) = (message(1), message(2));
    store.tell(&group("a", 1), &[second.clone(), first.clone()]).await.unwrap();
    let claim = |by: &str, until: i64| Claim { by: by.to_owned(), until: moment(until) };
    let off = ["operations".to_owned()];
    let never = moment(-1_000);
    assert!(!store.is_message_due(&[], moment(0), never).await.unwrap());
    assert!(store.is_message_due(&[], moment(5), never).await.unwrap());
    assert!(!store.is_message_due(&off, moment(5), never).await.unwrap(), "its channel is switched off");
    assert!(store.is_message_due(&off, moment(5), moment(1)).await.unwrap(), "it is too old to be kept for that");
    let claimed = store.claim_messages(&[], moment(5), never, &claim("one", 10), 1).await.unwrap();
    assert_eq!(claimed, std::slice::from_ref(&first), "the longest due first");
    let claimed = store.claim_messages(&[], moment(5), never, &claim("other", 10), 9).await.unwrap();
    assert_eq!(claimed, std::slice::from_ref(&second));
    assert_eq!(store.claim_messages(&[], moment(6), never, &claim("third", 10), 9).await.unwrap(), []);

    let tried = |attempt| Tried { channel: "operations".to_owned(), way: WayName::Mail, at: moment(6), attempt };
    let failed = tried(Attempt::Failed("answered 500".to_owned()));
    let settle = async |id, by, fate, tried: &Tried| store.settle_message(id, by, fate, tried).await.unwrap();
    assert_eq!(settle(first.id, "other", Fate::Over, &failed).await, Replaced::Stale, "somebody else has it");
    assert_eq!(settle(first.id, "one", Fate::Again(moment(20)), &failed).await, Replaced::Replaced);
    assert_eq!(settle(second.id, "other", Fate::Over, &tried(Attempt::Delivered)).await, Replaced::Replaced);
    assert_eq!(settle(second.id, "other", Fate::Over, &tried(Attempt::Delivered)).await, Replaced::Stale);
    let state = &store.channel_states().await.unwrap()[0];
    assert_eq!((state.delivered, state.failed, state.way), (1, 1, WayName::Mail), "what was stale is not counted");
    assert!(!store.is_message_due(&[], moment(19), never).await.unwrap());
    let again = store.claim_messages(&[], moment(20), never, &claim("one", 30), 9).await.unwrap();
    assert_eq!(again, [Message { due_at: moment(20), tries: 1, ..first }]);
    // The process is gone; its claim runs out.
    assert_eq!(store.claim_messages(&[], moment(30), never, &claim("other", 40), 9).await.unwrap(), again);
    store.note_try(&tried(Attempt::SwitchedOff("answered 410".to_owned()))).await.unwrap();
    let state = &store.channel_states().await.unwrap()[0];
    assert_eq!(state.switched_off.as_ref().map(|off| off.reason.as_str()), Some("answered 410"));
    fresh.remove().await;
}

async fn what_is_late_is_found_within_reach(fresh: Fresh) {
    let since = now() - TimeDelta::minutes(30);
    for document in ["1", "2"] {
        let operation = fresh.begun(document).await;
        let unknown = State::Unknown { since, reason: "no answer".to_owned() };
        fresh.database.store.replace(change(&operation, unknown, since)).await.unwrap();
    }
    fresh.begun("3").await;
    let store = &fresh.database.store;
    let late_at = since + TimeDelta::minutes(30);
    let late = async |reach: &Reach, workflow: &str, as_of| store.overdue(reach, workflow, 30, as_of).await.unwrap();
    assert_eq!(late(&Reach::EVERYTHING, "handoff", late_at - TimeDelta::milliseconds(1)).await, []);
    let found = late(&Reach::EVERYTHING, "handoff", late_at).await;
    assert_eq!(found.len(), 2);
    let piece = &found[0];
    assert_eq!((piece.since, piece.due_at, piece.company.as_deref()), (since, late_at, Some("ACME")));
    assert_eq!(piece.money.as_ref().map(|money| money.amount.to_string()).as_deref(), Some("118.00"));
    assert_eq!(late(&Reach::EVERYTHING, "other", late_at).await, []);
    let reach = |company: &str| Reach::over([company.to_owned()], []);
    assert_eq!(late(&reach("ACME"), "handoff", late_at).await.len(), 2);
    assert_eq!(late(&reach("other"), "handoff", late_at).await, []);
    assert_eq!(store.amendments_waiting(&Reach::EVERYTHING, "handoff", late_at).await.unwrap(), []);
    fresh.remove().await;
}
