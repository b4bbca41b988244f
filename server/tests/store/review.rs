//! Reviews: what people do about an uncertain operation is stored with its change, and gone with it.

use std::sync::Arc;

use guard::event::Resolution;
use guard::evidence::{Evidence, FILE_BYTES_MAX, File, FileHash, MediaType};
use guard::id::EvidenceId;
use guard::review::{Claim, Deferral, Proposal, Review, ReviewChange};
use guard::store::Replaced;

use crate::support::{Fresh, actor, change, confirmation, moment, now, on_both, uncertainty};

on_both!(
    a_review_is_stored_and_ended_with_its_operation,
    a_review_that_cannot_be_read_is_a_named_fault,
    a_file_is_kept_with_its_evidence,
);

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

async fn a_file_is_kept_with_its_evidence(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    // The largest that is taken, with bytes that are no text.
    let content: Arc<[u8]> = (0..FILE_BYTES_MAX).map(|place| u8::try_from(place % 251).unwrap()).collect();
    let evidence = Evidence {
        id: EvidenceId::new(now(), [7; 16]),
        operation: operation.id,
        at: moment(1),
        actor: actor(),
        note: String::new(),
        link: None,
        file: Some(File {
            name: "scan \u{e4}.png".to_owned(),
            media_type: MediaType::Png,
            bytes: u64::try_from(content.len()).unwrap(),
            sha256: FileHash::of(&content),
        }),
    };
    assert_eq!(store.evidence_file(evidence.id).await, Ok(None));
    let mut replacement = change(&operation, operation.state.clone(), now());
    (replacement.evidence, replacement.file) = (Some(evidence.clone()), Some(Arc::clone(&content)));
    let stale = replacement.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));
    assert_eq!(store.replace(stale).await, Ok(Replaced::Stale), "and nothing is kept twice");
    let (held, bytes) = store.evidence_file(evidence.id).await.unwrap().unwrap();
    assert_eq!(held, evidence);
    assert_eq!(FileHash::of(&bytes), FileHash::of(&content));
    assert_eq!(store.evidence(operation.id, 9).await, Ok(vec![evidence]));
    fresh.remove().await;
}
