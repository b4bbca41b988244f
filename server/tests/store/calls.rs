//! The log of calls.

use chrono::TimeDelta;
use guard::call::{About, Call, CallFilter, CallRequest, StatusClass};
use guard::clock::{Entropy as _, Timestamp};
use guard::decision::DecisionName;
use guard::id::{CallId, OperationId, TokenId};
use guard::queue::{Page, PageRequest, WALKED_ROWS_MAX};
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::support::{Fresh, moment, on_both};

on_both!(
    a_call_comes_back_as_it_was_kept,
    calls_are_found_by_what_they_were_answered,
    a_page_of_calls_looks_through_so_many_and_says_how_far,
    what_is_over_the_limits_is_forgotten_from_the_oldest_on,
);

const SHOP: TokenId = TokenId::from_u128(1);
const CRM: TokenId = TokenId::from_u128(2);

fn call(at: Timestamp, token: TokenId, company: Option<&str>) -> Call {
    let about = About {
        workflow: company.map(|_| "handoff".to_owned()),
        company: company.map(ToOwned::to_owned),
        ..About::default()
    };
    Call {
        id: CallId::new(at, OsEntropy.bytes()),
        token,
        at,
        microseconds: 1_250,
        method: "POST".to_owned(),
        endpoint: "/api/v1/operations".to_owned(),
        path: "/api/v1/operations".to_owned(),
        status: 201,
        problem: None,
        detail: None,
        about,
        operation: None,
        decision: Some(DecisionName::Proceed),
        request_id: "r-1".to_owned(),
    }
}

fn refused(at: Timestamp, token: TokenId, company: Option<&str>, code: &str, status: u16) -> Call {
    let (problem, detail) = (Some(code.to_owned()), Some("it is so".to_owned()));
    Call { problem, detail, status, decision: None, ..call(at, token, company) }
}

async fn add(fresh: &Fresh, calls: &[&Call]) {
    let calls: Vec<_> = calls.iter().map(|call| ((*call).clone(), CallRequest::Empty)).collect();
    fresh.database.store.add_calls(&calls).await.unwrap();
}

async fn page(fresh: &Fresh, reach: &Reach, filter: &CallFilter) -> Page<Call> {
    fresh.database.store.calls(reach, filter, &PageRequest { cursor: None, limit: 50 }).await.unwrap()
}

async fn a_call_comes_back_as_it_was_kept(fresh: Fresh) {
    let store = &fresh.database.store;
    let whole = Call {
        about: About {
            workflow: Some("handoff".to_owned()),
            company: Some("ACME \u{202e}".to_owned()),
            source_system: Some("shop".to_owned()),
            document: Some("1".to_owned()),
            action: Some("create".to_owned()),
            revision: Some(1_000_000),
        },
        operation: Some(OperationId::from_u128(7)),
        ..refused(moment(5), SHOP, None, "conflict", 422)
    };
    let kept = CallRequest::Kept { text: r#"{"a":1.10}"#.to_owned(), bytes: 12 };
    let bare = refused(moment(6), SHOP, None, "invalid_json", 400);
    let left = CallRequest::Left { bytes: 9 };
    store.add_calls(&[(whole.clone(), kept.clone()), (bare.clone(), left.clone())]).await.unwrap();
    let other = Call { status: 500, ..whole.clone() };
    store.add_calls(&[(other, CallRequest::Empty)]).await.unwrap();
    store.add_calls(&[]).await.unwrap();
    let fresh = fresh.reopened().await;
    let store = &fresh.database.store;
    assert_eq!(store.call(whole.id).await, Ok(Some((whole.clone(), kept))), "once kept, it stays");
    assert_eq!(store.call(bare.id).await, Ok(Some((bare.clone(), left))));
    assert_eq!(store.call(CallId::from_u128(1)).await, Ok(None));
    assert_eq!(
        page(&fresh, &Reach::EVERYTHING, &CallFilter::default()).await,
        Page { rows: vec![bare, whole], next: None }
    );
    fresh.remove().await;
}

async fn calls_are_found_by_what_they_were_answered(fresh: Fresh) {
    let done = call(moment(1), SHOP, Some("acme"));
    let replayed = Call { status: 200, decision: Some(DecisionName::Replay), ..call(moment(2), CRM, Some("acme")) };
    let stale = refused(moment(3), SHOP, Some("beta"), "stale", 409);
    let broken = refused(moment(4), SHOP, None, "internal", 500);
    add(&fresh, &[&done, &replayed, &stale, &broken]).await;
    let acme = Reach::over(["acme".to_owned()], []);
    let both = Reach::over(["acme".to_owned(), "beta".to_owned()], ["handoff".to_owned()]);
    let other = Reach::over([], ["other".to_owned()]);
    let all = CallFilter::default;
    for (reach, filter, expected) in [
        (&Reach::EVERYTHING, all(), vec![&broken, &stale, &replayed, &done]),
        (&Reach::EVERYTHING, CallFilter { token: Some(SHOP), ..all() }, vec![&broken, &stale, &done]),
        (&Reach::EVERYTHING, CallFilter { decision: Some(DecisionName::Replay), ..all() }, vec![&replayed]),
        (
            &Reach::EVERYTHING,
            CallFilter { problem: Some("stale".to_owned()), token: Some(SHOP), ..all() },
            vec![&stale],
        ),
        (&Reach::EVERYTHING, CallFilter { problem: Some("stale".to_owned()), token: Some(CRM), ..all() }, vec![]),
        (&Reach::EVERYTHING, CallFilter { class: Some(StatusClass::Successful), ..all() }, vec![&replayed, &done]),
        (&Reach::EVERYTHING, CallFilter { class: Some(StatusClass::ServerError), ..all() }, vec![&broken]),
        (
            &Reach::EVERYTHING,
            CallFilter { from: Some(moment(2)), to: Some(moment(4)), ..all() },
            vec![&stale, &replayed],
        ),
        (&acme, all(), vec![&replayed, &done]),
        (&acme, CallFilter { token: Some(CRM), from: Some(moment(2)), ..all() }, vec![&replayed]),
        (&both, all(), vec![&stale, &replayed, &done]),
        (&other, all(), vec![]),
    ] {
        let found = page(&fresh, reach, &filter).await;
        assert_eq!(found.rows, expected.into_iter().cloned().collect::<Vec<_>>(), "{filter:?}");
        assert_eq!(found.next, None);
    }
    for (reach, expected) in
        [(&Reach::EVERYTHING, vec![&broken, &stale, &replayed, &done]), (&acme, vec![&replayed, &done])]
    {
        let mut request = PageRequest { cursor: None, limit: 1 };
        let mut rows = Vec::new();
        loop {
            let page = fresh.database.store.calls(reach, &all(), &request).await.unwrap();
            rows.extend(page.rows);
            request.cursor = page.next;
            if request.cursor.is_none() {
                break;
            }
        }
        assert_eq!(rows, expected.into_iter().cloned().collect::<Vec<_>>(), "page by page");
    }
    fresh.remove().await;
}

async fn a_page_of_calls_looks_through_so_many_and_says_how_far(fresh: Fresh) {
    let fitting = refused(moment(0), SHOP, Some("acme"), "stale", 409);
    add(&fresh, &[&fitting]).await;
    let filling: Vec<_> = (1..=i64::from(WALKED_ROWS_MAX) + 100)
        .map(|milliseconds| (call(moment(milliseconds), SHOP, Some("acme")), CallRequest::Empty))
        .collect();
    for part in filling.chunks(500) {
        fresh.database.store.add_calls(part).await.unwrap();
    }
    let filter = CallFilter { problem: Some("stale".to_owned()), token: Some(SHOP), ..CallFilter::default() };
    let first = page(&fresh, &Reach::EVERYTHING, &filter).await;
    assert_eq!(first.rows, []);
    let (milliseconds, _) = first.next.clone().unwrap().read().unwrap();
    assert_eq!(milliseconds, moment(101).timestamp_millis(), "so far was looked");
    let request = PageRequest { cursor: first.next, limit: 50 };
    let second = fresh.database.store.calls(&Reach::EVERYTHING, &filter, &request).await.unwrap();
    assert_eq!(second, Page { rows: vec![fitting], next: None });
    fresh.remove().await;
}

async fn what_is_over_the_limits_is_forgotten_from_the_oldest_on(fresh: Fresh) {
    let store = &fresh.database.store;
    let own: Vec<Call> = (0..5).map(|number| call(moment(number), SHOP, Some("acme"))).collect();
    let others: Vec<Call> = (0..2).map(|number| call(moment(number), CRM, Some("acme"))).collect();
    add(&fresh, &own.iter().chain(&others).collect::<Vec<_>>()).await;
    assert_eq!(store.forget_calls_of(SHOP, 5, 100).await, Ok(0), "nothing is over it");
    assert_eq!(store.forget_calls_of(SHOP, 2, 1).await, Ok(1));
    assert_eq!(store.forget_calls_of(SHOP, 2, 100).await, Ok(2));
    let left = page(&fresh, &Reach::EVERYTHING, &CallFilter { token: Some(SHOP), ..CallFilter::default() }).await;
    assert_eq!(left.rows, [own[4].clone(), own[3].clone()], "the latest stay");
    assert_eq!(store.forget_calls_before(moment(0), 100).await, Ok(0));
    assert_eq!(store.forget_calls_before(moment(4) + TimeDelta::milliseconds(0), 100).await, Ok(3));
    let left = page(&fresh, &Reach::EVERYTHING, &CallFilter::default()).await;
    assert_eq!(left.rows, [own[4].clone()]);
    fresh.remove().await;
}
