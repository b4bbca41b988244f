//! People settle what is uncertain, with a browser that runs no script: claims, evidence with files, decisions.

use guard::clock::Clock as _;
use guard::operation::Operation;
use guard::person::Role;
use guard::token::Reach;
use reqwest::StatusCode;

use super::recovery::{configured, unknown};
use super::support::{Answer, Browser, Desk, Scratch, on_each_database};

const BOUNDARY: &str = "a-line-that-stands-nowhere-else";

/// A desk with an operation that waits for a person.
async fn desk(scratch: &Scratch) -> (Desk, Operation) {
    let desk = scratch.desk().await;
    configured(&desk, Vec::new()).await;
    let operation = unknown(&desk, "order-812").await;
    (desk, operation)
}

async fn signed_in(desk: &Desk, name: &str, role: Role) -> Browser {
    let email = format!("{name}@example.test");
    desk.with_person(&email, role).await;
    desk.signed_in(&email).await
}

/// Sends the form of evidence as a browser does.
async fn add(browser: &mut Browser, id: &str, note: &str, file: Option<(&str, &[u8])>) -> Answer {
    let mut body =
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n{note}\r\n").into_bytes();
    let (name, content) = file.unwrap_or_default();
    body.extend(
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/html\r\n\r\n"
        )
        .into_bytes(),
    );
    body.extend(content);
    body.extend(format!("\r\n--{BOUNDARY}--\r\n").into_bytes());
    let request = browser
        .post(&format!("/operations/{id}/evidence"))
        .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"))
        .header("accept", "text/html")
        .body(body);
    browser.send(request).await
}

/// The address of the only file on a page.
fn file_of(page: &str) -> String {
    let start = page.find("/evidence/").unwrap_or_else(|| panic!("no file: {page}"));
    page[start..].split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_file_is_kept_shown_and_given_back_as_it_came() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let mut fay = signed_in(&desk, "fay", Role::Finance).await;
        let content = "date;amount\n2026-03-01;118,00 €\n".as_bytes();
        let answer = add(&mut fay, &id, "the bank shows it", Some(("Auszug März.csv", content))).await;
        assert_eq!(answer.leads(), (303, format!("/operations/{id}#evidence").as_str()));
        let page = fay.open(&format!("/operations/{id}")).await.body;
        for told in
            ["The evidence is kept.", "the bank shows it", "Auszug März.csv", "Added evidence: the bank shows it"]
        {
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(page.contains(&guard::evidence::FileHash::of(content).to_string()));

        let address = file_of(&page);
        let mut vic = signed_in(&desk, "vic", Role::Viewer).await;
        let file = vic.open(&address).await;
        assert_eq!((file.status, file.body.as_bytes()), (StatusCode::OK, content));
        assert_eq!(file.header("content-type"), "text/csv; charset=utf-8", "not what the sender said");
        assert!(
            file.header("content-disposition").starts_with("attachment; filename=\"Auszug_M_rz.csv\";"),
            "{file:?}"
        );
        assert!(file.header("content-security-policy").contains("sandbox"), "{file:?}");
        assert_eq!(file.header("x-content-type-options"), "nosniff");

        // Nothing of it for a stranger, nor for somebody of another company.
        assert!(desk.browser().open(&address).await.leads().1.starts_with("/login"));
        desk.with_person_of("oto@example.test", Role::Admin, Reach::over(["globex".to_owned()], [])).await;
        let mut oto = desk.signed_in("oto@example.test").await;
        assert_eq!(oto.open(&address).await.status, StatusCode::NOT_FOUND);
        assert_eq!(add(&mut oto, &id, "mine", None).await.status, StatusCode::NOT_FOUND);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_evidence_is_refused_and_what_was_written_stays() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let mut ada = signed_in(&desk, "ada", Role::Operator).await;
        let large = vec![b'x'; guard::evidence::FILE_BYTES_MAX + 1];
        let huge = vec![b'x'; 2 * guard::evidence::FILE_BYTES_MAX];
        for (file, told) in [
            (("page.html", b"<script>alert(1)</script>".as_slice()), "its name ends in none of"),
            (("picture.png", b"<svg onload=alert(1)>"), "its content is no image/png"),
            (("large.txt", &large), "has over 5 MiB"),
            (("huge.txt", &huge), "has over 5 MiB"),
        ] {
            let answer = add(&mut ada, &id, "written with care", Some(file)).await;
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{told}: {answer:?}");
            let page = ada.open(&format!("/operations/{id}")).await.body;
            assert!(page.contains("Nothing was kept") && page.contains(told), "{told}: {page}");
            assert!(page.contains("written with care"), "{told}");
        }
        let mut vic = signed_in(&desk, "vic", Role::Viewer).await;
        add(&mut vic, &id, "I may not", None).await;
        let page = vic.open(&format!("/operations/{id}")).await.body;
        assert!(page.contains("adding evidence needs the role operator, finance or admin"), "{page}");
        assert_eq!(desk.guard.operation(&Reach::EVERYTHING, operation.id).await.unwrap().version, operation.version);
    })
    .await;
}

#[tokio::test]
async fn who_is_on_it_is_shown_and_two_decide_once() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let (mut ada, mut ben) =
            (signed_in(&desk, "ada", Role::Operator).await, signed_in(&desk, "ben", Role::Operator).await);
        let claim = [("operation", id.as_str()), ("give_back", "false"), ("origin", "queue")];
        let answer = ada.send(ada.post("/fn/claim").header("accept", "text/html").form(&claim)).await;
        assert!(answer.leads().1.starts_with("/unknown?decide="), "{answer:?}");
        let queue = ben.open("/unknown").await.body;
        assert!(
            queue.contains("ada@example.test, for 14 min") || queue.contains("ada@example.test, for 15 min"),
            "{queue}"
        );
        let page = ben.open(&format!("/operations/{id}")).await.body;
        assert!(page.contains("ada@example.test is on it until") && page.contains("Take over"), "{page}");

        // Both saw the same page; the claim makes it stale for nobody.
        let version = operation.version.to_string();
        let fingerprint = operation.fingerprint.to_string();
        let decide = |verdict: &'static str| {
            vec![
                ("draft[operation]", id.clone()),
                ("draft[version]", version.clone()),
                ("draft[fingerprint]", fingerprint.clone()),
                ("draft[verdict]", verdict.to_owned()),
                ("draft[destination_reference]", "task-907".to_owned()),
                ("draft[reason]", "seen in the ledger".to_owned()),
                ("draft[link]", "https://tickets.example/1".to_owned()),
            ]
        };
        let post = |browser: &Browser, verdict| {
            browser.post("/fn/resolve").header("accept", "text/html").form(&decide(verdict))
        };
        ben.send(post(&ben, "confirmed")).await;
        assert!(ben.open(&format!("/operations/{id}")).await.body.contains("became"));
        ada.send(post(&ada, "not_applied")).await;
        let told = ada.open(&format!("/operations/{id}")).await.body;
        assert!(told.contains("Nothing was changed") && told.contains("ben@example.test"), "{told}");
        assert!(told.contains("seen in the ledger"), "what was written is not lost");
    })
    .await;
}

#[tokio::test]
async fn what_is_kept_waiting_is_shown_as_waiting() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let mut ada = signed_in(&desk, "ada", Role::Operator).await;
        let until = (desk.clock.now() + chrono::TimeDelta::hours(3)).format("%Y-%m-%dT%H:%M").to_string();
        let form = [
            ("draft[operation]", id.clone()),
            ("draft[version]", operation.version.to_string()),
            ("draft[fingerprint]", operation.fingerprint.to_string()),
            ("draft[verdict]", "keep_waiting".to_owned()),
            ("draft[until]", until),
            ("draft[reason]", "the bank posts at ten".to_owned()),
        ];
        ada.send(ada.post("/fn/resolve").header("accept", "text/html").form(&form)).await;
        let page = ada.open(&format!("/operations/{id}")).await.body;
        assert!(page.contains("It is kept waiting until") && page.contains("the bank posts at ten"), "{page}");
    })
    .await;
}
