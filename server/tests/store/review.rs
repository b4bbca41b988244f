//! Reviews: what people do about an uncertain operation is stored with its change, and gone with it.

use guard::event::Resolution;
use guard::review::{Claim, Deferral, Proposal, Review, ReviewChange};
use guard::store::Replaced;

use crate::support::{Fresh, change, confirmation, moment, now, on_both, uncertainty};

on_both!(a_review_is_stored_and_ended_with_its_operation, a_review_that_cannot_be_read_is_a_named_fault);

async fn a_review_is_stored_and_ended_with_its_operation(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    assert_eq!(store.reviews(&[operation.id]).await, Ok(Vec::new()));
    let replacement = uncertainty(&operation, now());
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));

    let by = "ada@example.test".to_owned();
    let review = Review {
        operation: operation.id,
        claim: Some(Claim { by: by.clone(), at: moment(1), until: moment(2) }),
        deferral: Some(Deferral { by: by.clone(), at: moment(3), until: moment(4), reason: "\u{1f570}".to_owned() }),
        proposal: Some(Proposal {
            by,
            at: moment(5),
            resolution: Resolution::Confirmed { destination_reference: "task-907".to_owned() },
            reason: "the ledger \"shows\" it".to_owned(),
            link: Some("https://tickets.example/1".to_owned()),
            version: 3,
            fingerprint: operation.fingerprint,
        }),
    };
    let put = |operation: &guard::operation::Operation, review: &Review| {
        let mut replacement = change(operation, operation.state.clone(), now());
        replacement.review = review.clone().change();
        replacement
    };
    let replacement = put(&operation, &review);
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement.clone()).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![review.clone()]));

    // What comes too late leaves it alone, and so does what does not concern it.
    let late = Review { claim: None, ..review.clone() };
    let stale = guard::store::Replacement { review: late.clone().change(), ..replacement };
    assert_eq!(store.replace(stale).await, Ok(Replaced::Stale));
    let kept = change(&operation, operation.state.clone(), now());
    let operation = kept.operation.clone();
    assert_eq!(store.replace(kept).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![review]));

    let replacement = put(&operation, &late);
    let operation = replacement.operation.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(vec![late]));
    let mut settled = confirmation(&operation);
    settled.review = ReviewChange::End;
    assert_eq!(store.replace(settled).await, Ok(Replaced::Replaced));
    assert_eq!(store.reviews(&[operation.id]).await, Ok(Vec::new()));
    fresh.remove().await;
}

async fn a_review_that_cannot_be_read_is_a_named_fault(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let sql =
        format!("INSERT INTO review (operation, proposal) VALUES ({}, 'no JSON')", fresh.id(operation.id.as_u128()));
    fresh.tamper(&sql).await.unwrap();
    let fault = fresh.database.store.reviews(&[operation.id]).await.unwrap_err();
    let told =
        format!("the store holds a row that is no legal record: table review, column proposal, id {}", operation.id);
    assert_eq!(fault.to_string(), told);
    fresh.remove().await;
}
