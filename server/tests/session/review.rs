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

/// Sends the form of "not applied" as a browser does.
async fn not_applied(
    browser: &mut Browser,
    operation: &Operation,
    reason: &str,
    file: Option<(&str, &[u8])>,
) -> Answer {
    let id = operation.id.to_string();
    let (version, fingerprint) = (operation.version.to_string(), operation.fingerprint.to_string());
    let fields = [
        ("draft[operation]", id.as_str()),
        ("draft[version]", &version),
        ("draft[fingerprint]", &fingerprint),
        ("draft[verdict]", "not_applied"),
        ("draft[origin]", "queue"),
        ("draft[place][company]", "acme"),
        ("draft[reason]", reason),
    ];
    let part = |(name, text): &(&str, &str)| {
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let mut body = fields.iter().map(part).collect::<String>().into_bytes();
    let (name, content) = file.unwrap_or_default();
    let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
    body.extend(head.into_bytes());
    body.extend(content);
    body.extend(format!("\r\n--{BOUNDARY}--\r\n").into_bytes());
    let request = browser
        .post(&format!("/operations/{id}/decision"))
        .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"))
        .header("accept", "text/html")
        .body(body);
    browser.send(request).await
}

#[tokio::test]
async fn a_decision_brings_its_evidence_in_the_same_form() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let mut ada = signed_in(&desk, "ada", Role::Operator).await;
        let queue = format!("/unknown?company=acme&decide={id}");

        // Without evidence nothing is changed, and what was written stands in the form.
        let answer = not_applied(&mut ada, &operation, "I am sure", None).await;
        assert_eq!(answer.leads(), (303, format!("{queue}#decide").as_str()), "{answer:?}");
        let page = ada.open(&queue).await.body;
        for told in ["Nothing was changed", "Evidence is needed", "I am sure", " operation becomes "] {
            assert!(page.contains(told), "{told}: {page}");
        }
        let answer = not_applied(&mut ada, &operation, "I am sure", Some(("page.html", b"<p>"))).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert!(ada.open(&queue).await.body.contains("its name ends in none of"));

        // Who may not decide is refused, and of another company there is nothing.
        let mut fay = signed_in(&desk, "fay", Role::Finance).await;
        not_applied(&mut fay, &operation, "the bank says so", None).await;
        assert!(fay.open(&queue).await.body.contains("deciding needs the role operator or admin"));
        desk.with_person_of("oto@example.test", Role::Admin, Reach::over(["globex".to_owned()], [])).await;
        let mut oto = desk.signed_in("oto@example.test").await;
        assert_eq!(not_applied(&mut oto, &operation, "mine", None).await.status, StatusCode::NOT_FOUND);
        let mut stranger = desk.browser();
        assert!(not_applied(&mut stranger, &operation, "mine", None).await.leads().1.starts_with("/login"));
        assert_eq!(desk.guard.operation(&Reach::EVERYTHING, operation.id).await.unwrap().version, operation.version);

        let content = b"searched, 0 records".as_slice();
        let answer = not_applied(&mut ada, &operation, "the ledger has none", Some(("search.txt", content))).await;
        assert_eq!(answer.leads(), (303, "/unknown?company=acme"), "{answer:?}");
        let page = ada.open("/unknown?company=acme").await.body;
        assert!(page.contains("Not applied: the operation is Failed."), "{page}");
        let page = ada.open(&format!("/operations/{id}")).await.body;
        assert!(page.contains("the ledger has none") && page.contains("search.txt"), "{page}");
        let address = file_of(&page);
        assert_eq!(ada.open(&address).await.body.as_bytes(), content);
    })
    .await;
}

#[tokio::test]
async fn evidence_that_is_there_counts_for_the_decision() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, operation) = desk(scratch).await;
        let id = operation.id.to_string();
        let mut ada = signed_in(&desk, "ada", Role::Operator).await;
        let queue = format!("/unknown?decide={id}");
        assert!(ada.open(&queue).await.body.contains("Evidence is needed"));
        let mut fay = signed_in(&desk, "fay", Role::Finance).await;
        add(&mut fay, &id, "the bank shows none", Some(("bank.txt", b"none"))).await;
        let page = ada.open(&queue).await.body;
        assert!(page.contains("What is known already is evidence enough"), "{page}");
        assert!(
            page.contains("the bank shows none") && page.contains("bank.txt"),
            "it stands beside the forms: {page}"
        );
        let seen = desk.guard.operation(&Reach::EVERYTHING, operation.id).await.unwrap();
        not_applied(&mut ada, &seen, "see the bank", None).await;
        assert!(ada.open("/unknown").await.body.contains("Not applied: the operation is Failed."));
    })
    .await;
}

/// An operation of which the ledger holds something else, in a place that is sensitive and in one that is not.
async fn contradicted(desk: &Desk) -> Operation {
    configured(desk, vec![super::recovery::ledger(0)]).await;
    let mut workflow = desk.guard.catalogue().workflows["handoff"].workflow.clone();
    workflow.sensitive = vec!["/iban".parse().unwrap()];
    workflow.key_fields = toml::from_str::<std::collections::BTreeMap<String, Vec<guard::workflow::KeyField>>>(
        "f = [{ payload = \"/amount\", record = \"$.amount\" }, { payload = \"/iban\", record = \"$.iban\" }]",
    )
    .unwrap()
    .remove("f")
    .unwrap();
    let definitions = guard::service::Definitions {
        workflows: vec![workflow],
        destinations: vec![super::recovery::ledger(0)],
        ..guard::service::Definitions::default()
    };
    desk.guard.apply(&definitions, &guard::actor::Actor::CommandLine).await.unwrap();
    let payload = r#"{"amount":"118.00","iban":"DE00-SENT","customer":"C-77"}"#;
    let operation = super::recovery::unknown_of(desk, "order-812", payload).await;
    let difference = |place: &str, ours: &str, theirs: &str| guard::lookup::Difference {
        payload: place.parse().unwrap(),
        record: format!("${}", place.replace('/', ".")),
        compare: guard::workflow::Comparison::default(),
        ours: Some(guard::json::Json::String(ours.to_owned())),
        theirs: Some(guard::json::Json::String(theirs.to_owned())),
    };
    let differs = guard::lookup::Finding::Differs {
        destination_reference: "task-907".to_owned(),
        differences: vec![difference("/amount", "118.00", "102.00"), difference("/iban", "DE00-SENT", "DE00-HELD")],
    };
    let looked = super::recovery::looked(differs);
    desk.guard.looked_up(operation.id, desk.guard.now(), &looked).await.unwrap();
    operation
}

#[tokio::test]
async fn both_sides_stand_beside_the_decision() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let operation = Box::pin(contradicted(&desk)).await;
        let mut ada = signed_in(&desk, "ada", Role::Operator).await;
        let list = ada.open("/unknown").await.body;
        assert!(!list.contains("C-77"), "no payload is read for the list");
        let item = format!("/unknown?decide={}", operation.id);
        let page = ada.open(&item).await.body;
        let told = [
            "What was sent",
            "C-77",
            "118.00",
            "What the destination holds",
            "task-907",
            "102.00",
            "2 key fields differ",
            guard::veil::MASK,
            // That it is another one is marked, character by character.
            "another",
            "Masked as sensitive",
        ];
        for told in told {
            assert!(page.contains(told), "{told}: {page}");
        }
        for secret in ["DE00-SENT", "DE00-HELD"] {
            assert!(!page.contains(secret), "{secret} is masked");
        }
        // A lookup can be asked for from here, of what is disputed as well; it settles nothing.
        let form = [("operation", operation.id.to_string()), ("origin", "queue".to_owned())];
        let answer = ada.send(ada.post("/fn/look_up_now").header("accept", "text/html").form(&form)).await;
        assert_eq!(answer.leads(), (302, format!("{item}#decide").as_str()), "{answer:?}");
        let page = ada.open(&item).await.body;
        assert!(page.contains("The destination was asked just now.") && page.contains("It stays disputed"), "{page}");
        assert!(page.contains("102.00"), "a look in vain does not hide what was seen");

        let answer = ada.send(ada.post("/fn/open_fields").header("accept", "text/html").form(&form)).await;
        assert_eq!(answer.leads(), (302, format!("{item}#decide").as_str()), "{answer:?}");
        let page = ada.open(&item).await.body;
        assert!(page.contains("DE00-SENT") && page.contains("DE00-HELD"), "{page}");
        let mut vic = signed_in(&desk, "vic", Role::Viewer).await;
        assert!(!vic.open(&item).await.body.contains("DE00-HELD"), "for whoever opened it alone");
    })
    .await;
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
