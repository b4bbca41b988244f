//! Saved views, and runs over what a filter said.

use chrono::TimeDelta;
use guard::clock::Entropy as _;
use guard::id::{OperationId, PersonId, RunId, ViewId};
use guard::lists::{ListPage, Run, RunAction, RunItem, RunOutcome, RunStanding, SavedView};
use guard::money::Money;
use guard::recovery::Claim;
use guard::store::Replaced;
use server::clock::OsEntropy;

use crate::support::{Fresh, moment, on_both};

on_both!(views_are_kept_by_person_page_and_name, a_run_is_worked_by_one_at_a_time_and_taken_up_again,);

const ADA: PersonId = PersonId::from_u128(1);
const BOB: PersonId = PersonId::from_u128(2);

fn view(person: PersonId, page: ListPage, name: &str, query: &str) -> SavedView {
    let id = ViewId::new(moment(0), OsEntropy.bytes());
    SavedView { id, person, page, name: name.to_owned(), query: query.to_owned(), created_at: moment(5) }
}

async fn views_are_kept_by_person_page_and_name(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = view(ADA, ListPage::Operations, "b", "state=failed");
    let second = view(ADA, ListPage::Operations, "a \u{202e}", "");
    for kept in [&first, &second, &view(ADA, ListPage::Unknown, "b", "x"), &view(BOB, ListPage::Operations, "b", "y")] {
        store.put_view(kept).await.unwrap();
    }
    assert_eq!(store.views(ADA, ListPage::Operations).await.unwrap(), [second.clone(), first.clone()]);
    let again = SavedView { query: "state=unknown".to_owned(), ..view(ADA, ListPage::Operations, "b", "") };
    store.put_view(&again).await.unwrap();
    let found = store.views(ADA, ListPage::Operations).await.unwrap();
    assert_eq!(
        (found.len(), &*found[1].query, found[1].id),
        (2, "state=unknown", first.id),
        "the same name is one view"
    );

    assert!(!store.drop_view(BOB, first.id).await.unwrap(), "another's is not there");
    assert!(store.drop_view(ADA, first.id).await.unwrap());
    assert!(!store.drop_view(ADA, first.id).await.unwrap());
    let fresh = fresh.reopened().await;
    assert_eq!(fresh.database.store.views(ADA, ListPage::Operations).await.unwrap(), [second]);
    assert_eq!(fresh.database.store.views(BOB, ListPage::Operations).await.unwrap().len(), 1);
    fresh.remove().await;
}

async fn a_run_is_worked_by_one_at_a_time_and_taken_up_again(fresh: Fresh) {
    let store = &fresh.database.store;
    let run = Run {
        id: RunId::new(moment(0), OsEntropy.bytes()),
        person: ADA,
        version: 1,
        standing: RunStanding::Proposed,
        action: RunAction::LookUp,
        page: ListPage::Operations,
        query: "state=unknown".to_owned(),
        items: 3,
        money: vec![Money { amount: "118.00".parse().unwrap(), currency: "EUR".to_owned() }],
        reason: String::new(),
        until: None,
        proposed_at: moment(0),
        begun_at: None,
        ended_at: None,
    };
    let item = |number: u32| RunItem { number, operation: OperationId::from_u128(number.into()), result: None };
    store.add_run(&run, &[item(1), item(2), item(3)]).await.unwrap();
    assert_eq!(store.run(run.id).await.unwrap().as_ref(), Some(&run));
    assert_eq!(store.run(RunId::from_u128(9)).await.unwrap(), None);
    let claim = |by: &str, until: i64| Claim { by: by.to_owned(), until: moment(until) };
    assert_eq!(store.claim_run(moment(1), &claim("one", 10)).await.unwrap(), None, "nobody has said that it shall run");

    let begun = Run { version: 2, standing: RunStanding::Running, begun_at: Some(moment(1)), ..run.clone() };
    assert_eq!(store.change_run(&begun).await.unwrap(), Replaced::Replaced);
    assert_eq!(store.change_run(&begun).await.unwrap(), Replaced::Stale, "said twice, it begins once");
    assert_eq!(store.claim_run(moment(1), &claim("one", 10)).await.unwrap(), Some(run.id));
    assert_eq!(store.claim_run(moment(2), &claim("other", 11)).await.unwrap(), None);
    assert_eq!(store.claim_run(moment(3), &claim("one", 12)).await.unwrap(), Some(run.id), "a claim is made anew");

    let settled = |number, outcome, told: &str| RunItem { result: Some((outcome, told.to_owned())), ..item(number) };
    let applied = settled(1, RunOutcome::Applied, "it is looked for now");
    store.settle_run_item(run.id, &applied).await.unwrap();
    store.settle_run_item(run.id, &settled(1, RunOutcome::Refused, "later")).await.unwrap();
    assert_eq!(store.run_items(run.id, 0, 2).await.unwrap(), [applied, item(2)], "a result stays");
    assert_eq!(store.run_items(run.id, 2, 9).await.unwrap(), [item(3)]);

    // The process is gone; its claim runs out.
    let until = moment(12) + TimeDelta::milliseconds(0);
    assert_eq!(store.claim_run(until, &claim("other", 20)).await.unwrap(), Some(run.id));
    let ended = Run { version: 3, standing: RunStanding::Ended, ended_at: Some(moment(13)), ..begun };
    assert_eq!(store.change_run(&ended).await.unwrap(), Replaced::Replaced);
    assert_eq!(store.claim_run(moment(99), &claim("one", 100)).await.unwrap(), None);
    fresh.remove().await;
}
