//! The evidence pack, taken out at the desk and checked by the program that it brings along.

use std::path::Path;
use std::process::Command;

use chrono::TimeDelta;
use guard::activity::ActivityFilter;
use guard::person::Role;
use guard::token::Reach;
use guard::trail::EntryKind;
use reqwest::StatusCode;
use serde_json::Value;
use server::trail::{SEAL_DELAY_SECONDS, seal};

use super::support::{Desk, Scratch, on_each_database};
use super::veil::{APPROVED, RECEIVED, with_a_sensitive_conflict};

/// Whether the documented program finds that a pack fits, and what it says.
pub fn verified(pack: &str, kept: Option<&str>) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pack");
    std::fs::write(&file, pack).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evidence/verify.py");
    let output = Command::new("python3").arg(program).arg(&file).args(kept).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.success(), told)
}

async fn taken_out(desk: &Desk) -> usize {
    let page = guard::queue::PageRequest { cursor: None, limit: 100 };
    let filter = ActivityFilter { kind: Some(EntryKind::EvidencePacked), ..ActivityFilter::default() };
    desk.guard.activities(&Reach::EVERYTHING, &filter, &page).await.unwrap().rows.len()
}

#[tokio::test]
async fn a_pack_tells_everything_and_proves_it_without_onceover() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, id, conflict) = with_a_sensitive_conflict(scratch).await;
        desk.with_person("ada@example.test", Role::Operator).await;
        let mut ada = desk.whole().await;
        ada.sign_in("ada@example.test", super::support::PASSWORD, "/").await;
        let address = |format: &str| format!("/operations/{id}/evidence-pack?format={format}");

        let early = ada.open(&address("json")).await;
        assert_eq!(early.status, StatusCode::OK, "{early:?}");
        let body: Value = serde_json::from_str(&early.body).unwrap();
        assert_eq!(body["chain"]["seal"], Value::Null, "nothing is sealed yet");
        assert_eq!(taken_out(&desk).await, 1, "the trail tells that it was taken out");

        let moved = desk.guard.now() + TimeDelta::seconds(SEAL_DELAY_SECONDS + 1);
        seal(desk.database.ledger.as_ref(), moved).await.unwrap();
        let page = ada.open(&address("html")).await.body;
        for told in [
            "<title>Evidence: create order-812 in acme</title>",
            "Attempt 1 was permitted",
            "Another payload came",
            "Nobody has decided",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        for secret in [APPROVED, RECEIVED] {
            assert!(!page.contains(secret), "masked");
        }
        let json = ada.open(&address("json")).await.body;
        let body: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(body["operation"]["id"], id.to_string());
        assert_eq!(body["conflicts"][0]["id"], conflict.to_string());
        assert_eq!(body["versions"].as_array().unwrap().len(), 2, "what stands and what came");
        assert_eq!(body["chain"]["entries"].as_array().unwrap().len(), 2);
        let kept = body["chain"]["seal"]["hash"].as_str().unwrap();

        for pack in [&json, &page] {
            let (fits, told) = verified(pack, Some(kept));
            assert!(fits && told.contains("Everything fits: 2 entries, 2 payloads"), "{told}");
            assert!(told.contains("dropped or masked"), "what is masked cannot be recomputed, and it says so: {told}");
        }
        let zeros = "0".repeat(64);
        assert!(!verified(&json, Some(&zeros)).0, "another seal than the one that was kept");
        let altered = [
            json.replace(r#""kind":"begun""#, r#""kind":"released""#),
            json.replace(r#"\"attempt\":1"#, r#"\"attempt\":2"#),
            json.replacen(r#""sequence":2"#, r#""sequence":3"#, 1),
            json.replace(&body["chain"]["entries"][0]["hash"].as_str().unwrap()[..8], "00000000"),
        ];
        for pack in altered {
            assert_ne!(pack, json);
            let (fits, told) = verified(&pack, None);
            assert!(!fits && told.contains("ALTERED"), "{told}");
        }

        let form = [("operation", id.to_string())];
        ada.send(ada.post("/fn/open_fields").header("accept", "text/html").form(&form)).await;
        let opened = ada.open(&address("json")).await.body;
        assert!(opened.contains(APPROVED) && opened.contains(RECEIVED), "whoever opened it takes it out open");
        let (fits, told) = verified(&opened, Some(kept));
        assert!(fits && !told.contains("masked"), "{told}");
        assert!(!verified(&opened.replace("DE00-RECEIVED", "DE00-ANOTHER!"), None).0);
    })
    .await;
}

#[tokio::test]
async fn a_pack_is_taken_out_by_those_alone_who_may_see_the_operation() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, id, _) = with_a_sensitive_conflict(scratch).await;
        let elsewhere = Reach::over(["other".to_owned()], []);
        desk.with_person_of("eve@example.test", Role::Admin, elsewhere).await;
        desk.with_person("ada@example.test", Role::Viewer).await;
        let path = format!("/operations/{id}/evidence-pack?format=json");
        let mut eve = desk.whole().await;
        assert_ne!(eve.open(&path).await.status, StatusCode::OK, "nobody is signed in");
        eve.sign_in("eve@example.test", super::support::PASSWORD, "/").await;
        assert_eq!(eve.open(&path).await.status, StatusCode::NOT_FOUND);
        let mut ada = desk.whole().await;
        ada.sign_in("ada@example.test", super::support::PASSWORD, "/").await;
        assert_eq!(ada.open(&path).await.status, StatusCode::OK, "a viewer reads");
        assert_eq!(ada.open(&path.replace("json", "pdf")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(taken_out(&desk).await, 1);
    })
    .await;
}
