//! What lies outside a token's companies, workflows and scopes.

use guard::token::{Reach, Scope};

use crate::answer::Answer;
use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    a_token_of_another_company_learns_nothing,
    a_token_is_limited_to_its_workflows,
    a_token_is_limited_to_its_scopes,
    without_a_valid_token_nothing_is_answered,
    a_revoked_token_is_soon_refused,
);

/// Case C10.
async fn a_token_of_another_company_learns_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let ours = desk.worker_of("A").await;
    let theirs = desk.worker_of("B").await;
    let grant = ours.begin("INV-001", r#"{"text":"SECRET-PAYLOAD"}"#).await.expect_proceed();
    ours.confirm(&grant, "SECRET-1").await.expect_state("confirmed");

    let own = theirs.begin("INV-001", PAYLOAD).await;
    own.expect_proceed();
    let trespass = theirs.for_company("A");
    let held = trespass.begin("INV-001", PAYLOAD).await;
    let free = trespass.begin("INV-002", PAYLOAD).await;
    let same = |answer: &Answer| {
        let mut problem = answer.expect_problem(403, "forbidden");
        problem.as_object_mut().unwrap().remove("request_id");
        problem
    };
    assert_eq!(same(&held), same(&free), "the same answer whether or not the other company has the key");

    let mut seen = vec![own.text.clone(), held.text.clone()];
    let id = &grant.id;
    let nobody = "00000000-0000-7000-8000-000000000000";
    for path in ["", "/events", "/payloads/1", "/payloads/2"] {
        let foreign = theirs.get(&format!("/api/v1/operations/{id}{path}")).await;
        let missing = theirs.get(&format!("/api/v1/operations/{nobody}{path}")).await;
        foreign.expect_problem(404, "not_found");
        assert_eq!(foreign.json()["detail"], missing.json()["detail"]);
        seen.push(foreign.text);
    }
    let body = format!("{{\"lease_token\":\"{}\",\"outcome\":\"failed\",\"reason\":\"x\"}}", grant.lease_token);
    for path in ["sending", "heartbeat", "outcome"] {
        let foreign = theirs.post(&format!("/api/v1/operations/{id}/{path}"), body.clone()).await;
        foreign.expect_problem(404, "not_found");
        seen.push(foreign.text);
    }
    let batch = format!("{{\"operations\":[{}]}}", trespass.begin("INV-001", PAYLOAD).body());
    seen.push(theirs.post("/api/v1/operations/batch", batch).await.text);
    for path in
        ["/api/v1/operations", "/api/v1/operations?company=A", "/api/v1/operations?document=INV-001", "/metrics"]
    {
        let answer = theirs.get(path).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        seen.push(answer.text);
    }
    for text in &seen {
        assert!(!text.contains("SECRET") && !text.contains(id.as_str()), "{text}");
        assert!(!text.contains("company=\"A\""), "{text}");
    }
    assert_eq!(ours.read(id).await["state"], "confirmed");
    desk.close().await;
}

async fn a_token_is_limited_to_its_workflows(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let all = desk.worker("all").await;
    let reach = Reach::over([], ["volatile".to_owned()]);
    let limited = desk.worker_within("limited", reach, &Scope::ALL).await;
    let foreign = all.begin("INV-001", PAYLOAD).await.expect_proceed();
    limited.begin("INV-001", PAYLOAD).await.expect_problem(403, "forbidden");
    limited.get(&format!("/api/v1/operations/{}", foreign.id)).await.expect_problem(404, "not_found");
    limited.in_workflow("volatile").begin("INV-001", PAYLOAD).await.expect_proceed();
    let listed = limited.get("/api/v1/operations").await.json();
    assert_eq!(listed["operations"].as_array().unwrap().len(), 1);
    desk.close().await;
}

async fn a_token_is_limited_to_its_scopes(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let reader = desk.worker_within("reader", Reach::EVERYTHING, &[Scope::OperationsRead]).await;
    let writer = desk.worker_within("writer", Reach::EVERYTHING, &[Scope::OperationsWrite]).await;
    let grant = writer.begin("INV-001", PAYLOAD).await.expect_proceed();
    for path in ["", "/events", "/payloads/1"] {
        let path = format!("/api/v1/operations/{}{path}", grant.id);
        writer.get(&path).await.expect_problem(403, "forbidden");
        assert_eq!(reader.get(&path).await.status, 200);
    }
    writer.get("/api/v1/operations").await.expect_problem(403, "forbidden");
    writer.get("/metrics").await.expect_problem(403, "forbidden");
    reader.get("/metrics").await.expect_problem(403, "forbidden");
    reader.begin("INV-002", PAYLOAD).await.expect_problem(403, "forbidden");
    reader.mark_sending(&grant).await.expect_problem(403, "forbidden");
    reader.heartbeat(&grant, 5).await.expect_problem(403, "forbidden");
    reader.confirm(&grant, "x").await.expect_problem(403, "forbidden");
    desk.close().await;
}

async fn without_a_valid_token_nothing_is_answered(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let stranger = desk.stranger();
    let unauthenticated = |answer: &Answer| {
        answer.expect_problem(401, "unauthenticated");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
    };
    unauthenticated(&stranger.begin("INV-001", PAYLOAD).await);
    unauthenticated(&stranger.post("/api/v1/operations/batch", "{}").await);
    unauthenticated(&stranger.get(&format!("/api/v1/operations/{}", grant.id)).await);
    unauthenticated(&stranger.get("/api/v1/operations").await);
    unauthenticated(&stranger.get("/metrics").await);
    unauthenticated(&stranger.confirm(&grant, "x").await);
    let nearly = format!("oo_{}", "0".repeat(64));
    for header in
        ["Bearer", "Bearer ", "Basic eDp5", "Bearer oo_x", worker.secret.as_str(), &format!("Bearer {nearly}")]
    {
        let request = stranger.request(reqwest::Method::GET, "/api/v1/operations").header("authorization", header);
        unauthenticated(&Answer::of(request.send().await.unwrap()).await);
    }
    let lower = format!("bearer {}", worker.secret);
    let request = stranger.request(reqwest::Method::GET, "/api/v1/operations").header("authorization", lower);
    assert_eq!(request.send().await.unwrap().status(), 200, "the scheme's case does not count (RFC 9110)");
    desk.close().await;
}

async fn a_revoked_token_is_soon_refused(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    desk.server.guard.revoke_token(worker.id, &guard::actor::Actor::CommandLine).await.unwrap();
    let refused_by = tokio::time::Instant::now() + std::time::Duration::from_secs(4);
    while worker.get("/api/v1/operations").await.status != 401 {
        assert!(tokio::time::Instant::now() < refused_by, "still accepted");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    desk.close().await;
}
