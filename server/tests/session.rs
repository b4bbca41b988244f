//! Sign-in as browsers meet it, over real sockets, on both databases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "session/access.rs"]
mod access;
#[path = "session/board.rs"]
mod board;
#[path = "session/channel.rs"]
mod channel;
#[path = "session/events.rs"]
mod events;
#[path = "session/lists.rs"]
mod lists;
#[path = "session/lookup.rs"]
mod lookup;
#[path = "session/pack.rs"]
mod pack;
#[path = "session/reconciliation.rs"]
mod reconciliation;
#[path = "session/recovery.rs"]
mod recovery;
#[path = "session/retention.rs"]
mod retention;
#[path = "session/review.rs"]
mod review;
#[path = "support/sandbox.rs"]
mod sandbox;
#[path = "session/support.rs"]
mod support;
#[path = "session/veil.rs"]
mod veil;

use std::time::{Duration, Instant};

use app::failure::Failure;
use base64::Engine as _;
use chrono::TimeDelta;
use guard::actor::Actor;
use guard::person::Role;
use reqwest::StatusCode;
use server::session::{GateSettings, SESSION_DAYS_MAX, SESSION_IDLE_HOURS_MAX};
use support::{Log, PASSWORD, Scratch, on_each_database};

const ADA: &str = "ada@example.test";
const BOB: &str = "bob@example.test";

#[tokio::test]
async fn the_first_start_happens_once() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, other_process) = (scratch.desk().await, scratch.desk().await);
        let (link, other_link) = (desk.link().unwrap(), other_process.link().unwrap());
        assert_ne!(link, other_link, "every process has a secret of its own");

        let (mut ada, mut bob) = (desk.browser(), desk.browser());
        let (first, second) =
            tokio::join!(ada.welcome(&link, ADA, PASSWORD, PASSWORD), bob.welcome(&link, BOB, PASSWORD, PASSWORD));
        let mut led = [first.leads(), second.leads()];
        led.sort_unstable();
        assert_eq!(led, [(303, "/"), (303, "/welcome?refused=link")], "one wins");

        let people = desk.guard.people().await.unwrap();
        let [person] = people.as_slice() else { panic!("there are {people:?}") };
        assert_eq!(person.role, Role::Admin);
        let winner = if first.leads().1 == "/" { &mut ada } else { &mut bob };
        assert_eq!(winner.who().await, format!("{} admin", person.email), "signed in at once");

        assert_eq!(desk.link(), None, "the link is gone");
        for (desk, link) in [(&desk, &link), (&other_process, &other_link)] {
            let answer = desk.browser().welcome(link, "eve@example.test", PASSWORD, PASSWORD).await;
            assert_eq!(answer.leads(), (303, "/welcome?refused=link"));
        }
        assert_eq!(scratch.desk().await.link(), None, "a process that starts later makes none");
        let entries = desk.database.registry.administration_entries(0, 10).await.unwrap();
        assert_eq!(entries.iter().map(|entry| entry.actor.clone()).collect::<Vec<_>>(), [Actor::FirstStart]);
    })
    .await;
}

#[tokio::test]
async fn the_first_start_says_what_is_wrong_and_can_be_repeated() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let link = desk.link().unwrap();
        let long = "x".repeat(1_025);
        let wrong = "0".repeat(link.len());
        let mut browser = desk.browser();
        for (link_sent, email, password, again, refused) in [
            (wrong.as_str(), ADA, PASSWORD, PASSWORD, "refused=link"),
            ("", ADA, PASSWORD, PASSWORD, "refused=link"),
            (&link, ADA, PASSWORD, "correct horse batterz", "refused=differ"),
            (&link, ADA, "elevenchars", "elevenchars", "refused=short"),
            (&link, ADA, &long, &long, "refused=long"),
            (&link, "ada", PASSWORD, PASSWORD, "refused=email"),
        ] {
            let answer = browser.welcome(link_sent, email, password, again).await;
            let kept = if refused == "refused=link" {
                (String::new(), String::new())
            } else {
                (link.clone(), email.to_owned())
            };
            assert_eq!((answer.parameter("link"), answer.parameter("email")), kept, "what was typed is kept");
            assert!(answer.leads().1.starts_with(&format!("/welcome?{refused}")), "{answer:?}");
            assert_eq!(browser.cookie, None);
        }
        assert_eq!(browser.welcome(&link, ADA, PASSWORD, PASSWORD).await.leads(), (303, "/"));
    })
    .await;
}

#[tokio::test]
async fn the_first_start_is_over_when_the_command_line_was_first() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let link = desk.link().unwrap();
        desk.with_person(BOB, Role::Viewer).await;
        let answer = desk.browser().welcome(&link, ADA, PASSWORD, PASSWORD).await;
        assert_eq!(answer.leads(), (303, "/welcome?refused=link"));
        assert_eq!(desk.link(), None);
    })
    .await;
}

#[tokio::test]
async fn who_signs_in_comes_where_they_wanted() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Operator).await;
        let mut ada = desk.browser();
        let answer = ada.sign_in(" Ada@Example.test ", PASSWORD, "/operations?state=unknown").await;
        assert_eq!(answer.leads(), (303, "/operations?state=unknown"));
        assert_eq!(ada.who().await, "ada@example.test operator");
        assert_eq!(desk.browser().who().await, "stranger", "one browser is not another");
    })
    .await;
}

#[tokio::test]
async fn nobody_is_led_to_another_site() {
    let scratch = async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        for next in ["//evil.test", "/\\evil.test", "https://evil.test", "javascript:alert(1)", "/\t/evil.test", ""] {
            assert_eq!(desk.browser().sign_in(ADA, PASSWORD, next).await.leads(), (303, "/"), "{next:?}");
        }
        let refused = desk.browser().sign_in(ADA, "wrong", "//evil.test").await;
        assert_eq!(refused.leads(), (303, "/login?refused=credentials&email=ada%40example.test&next=%2F"));
    };
    on_each_database(scratch).await;
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_are_answered_alike() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut fastest = [Duration::MAX; 2];
        let mut answers = Vec::new();
        for _ in 0..8 {
            for (email, fastest) in [ADA, "nobody@example.test"].into_iter().zip(&mut fastest) {
                let begun = Instant::now();
                let answer = desk.browser().sign_in(email, "a wrong password", "/unknown").await;
                *fastest = begun.elapsed().min(*fastest);
                assert_eq!(answer.parameter("email"), email);
                let led = answer.location.unwrap().replace(&email.replace('@', "%40"), "…");
                let mut headers = answer.headers;
                headers.remove("date");
                headers.remove("location");
                answers.push((answer.status, led, headers, answer.body));
            }
        }
        assert_eq!(answers[0].1, "/login?refused=credentials&email=…&next=%2Funknown");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        // Without a hash for the unknown address it would be a thirtieth; a busy machine makes four of one.
        let [wrong, unknown] = fastest;
        assert!(unknown * 8 > wrong && wrong * 8 > unknown, "{wrong:?} and {unknown:?}");
    })
    .await;
}

#[tokio::test]
async fn an_account_is_not_guessed_at_for_long() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut tries = 0;
        while desk.browser().sign_in(ADA, "a wrong password", "/").await.parameter("refused") == "credentials" {
            tries += 1;
            assert!(tries < 15, "no limit");
        }
        assert!(tries >= 10, "{tries}");
        let answer = desk.browser().sign_in(ADA, PASSWORD, "/unknown").await;
        assert_eq!(
            (answer.leads().0, answer.parameter("refused").as_str()),
            (303, "rate"),
            "also with the right password"
        );
        assert_eq!(answer.parameter("next"), "/unknown");
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
        let other = desk.browser().sign_in(BOB, PASSWORD, "/").await;
        assert_eq!(other.parameter("refused"), "credentials", "others are not in the way");
    })
    .await;
}

#[tokio::test]
async fn an_address_does_not_try_one_account_after_another() {
    on_each_database(async |scratch: &Scratch| {
        // The header is anybody's where no proxy is said to stand before the desk, and the client's own address behind one.
        for (proxies, from_elsewhere) in [(0, "rate"), (1, "credentials")] {
            let desk = scratch.desk_with(|settings| GateSettings { proxies, ..settings }).await;
            let mut browser = desk.browser();
            let mut attempt = async |number: usize, address: &str| {
                let form = [("email", format!("nobody{number}@example.test")), ("password", "wrong".to_owned())];
                let request = browser.post("/login").header("x-forwarded-for", address).form(&form);
                let answer = browser.send(request).await;
                answer.parameter("refused")
            };
            // On a slow machine a few more tries have become free meanwhile.
            let mut tries = 0;
            while attempt(tries, "203.0.113.9").await == "credentials" {
                tries += 1;
                assert!(tries < 100, "no limit");
            }
            assert!(tries >= 20, "{tries}");
            let mut elsewhere = Vec::new();
            for number in 100..110 {
                elsewhere.push(attempt(number, "198.51.100.1").await);
            }
            assert!(elsewhere.iter().any(|refused| refused == from_elsewhere), "{proxies} proxies: {elsewhere:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_cookie_is_bound_to_host_and_transport() {
    on_each_database(async |scratch: &Scratch| {
        let plain = scratch.desk().await;
        plain.with_person(ADA, Role::Viewer).await;
        let tls = scratch.desk_with(|_| GateSettings { proxies: 1, ..GateSettings::at("https://desk.test") }).await;
        let week = SESSION_DAYS_MAX * 24 * 60 * 60;
        for (desk, name, secure) in [(&plain, "onceover", ""), (&tls, "__Host-onceover", " Secure;")] {
            let mut browser = desk.browser();
            let answer = browser.sign_in(ADA, PASSWORD, "/").await;
            let set = answer.cookie.unwrap();
            let (pair, attributes) = set.split_once("; ").unwrap();
            assert_eq!(attributes, format!("HttpOnly; SameSite=Lax;{secure} Path=/; Max-Age={week}"));
            let (is_named, id) = pair.split_once('=').unwrap();
            assert_eq!((is_named, id.len()), (name, 22), "128 bits in base 64");

            // Without `Secure` a browser would ignore what takes a `__Host-` cookie away.
            let gone = browser.send(browser.post("/logout")).await.cookie.unwrap();
            assert!(gone.starts_with(&format!("{name}=;")), "{gone}");
            assert!(gone.contains("Path=/") && gone.contains("Max-Age=0"), "{gone}");
            assert_eq!(gone.contains("Secure"), desk.gate.is_secure(), "{gone}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_planted_session_is_not_taken_over() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let planted = Some("onceover=AAAAAAAAAAAAAAAAAAAAAA".to_owned());
        let (mut ada, mut eve) = (desk.browser(), desk.browser());
        (ada.cookie, eve.cookie) = (planted.clone(), planted);
        ada.sign_in(ADA, PASSWORD, "/").await;
        assert_eq!((ada.who().await.as_str(), eve.who().await.as_str()), ("ada@example.test viewer", "stranger"));

        let mut before = ada.clone();
        ada.sign_in(ADA, PASSWORD, "/").await;
        assert_ne!(ada.cookie, before.cookie, "every sign-in has an id of its own");
        assert_eq!(before.who().await, "stranger", "and ends the session before it");
        assert_eq!(ada.who().await, "ada@example.test viewer");
        assert_eq!(desk.sessions().await, 1);
    })
    .await;
}

#[tokio::test]
async fn signing_out_ends_the_session_everywhere() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        let mut copy = ada.clone();
        assert_eq!(ada.send(ada.post("/logout")).await.leads(), (303, "/login"));
        assert_eq!(ada.cookie, None);
        assert_eq!(copy.who().await, "stranger", "a copy of the cookie is of no use");
        assert_eq!(desk.sessions().await, 0);
        assert_eq!(desk.browser().open("/logout").await.leads().0, 405, "a link or a picture signs nobody out");
        let stranger = &mut desk.browser();
        assert_eq!(stranger.send(stranger.post("/logout")).await.leads(), (303, "/login"), "twice is as good as once");
    })
    .await;
}

#[tokio::test]
async fn a_request_under_way_does_not_bring_an_ended_session_back() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        let (mut copy, mut slow) = (ada.clone(), ada.clone());
        let under_way = tokio::spawn(async move { slow.send(slow.post("/probe/slow")).await.status });
        desk.waits.notified().await;
        ada.send(ada.post("/logout")).await;
        desk.proceed.notify_one();
        assert_eq!(under_way.await.unwrap(), StatusCode::OK);
        assert_eq!(copy.who().await, "stranger");
        assert_eq!(desk.sessions().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_session_ends_when_nobody_comes_and_when_it_is_old() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let (mut idle, mut busy) = (desk.signed_in(ADA).await, desk.signed_in(ADA).await);
        let mut hours = 0;
        while hours + SESSION_IDLE_HOURS_MAX <= SESSION_DAYS_MAX * 24 {
            desk.clock.advance(TimeDelta::hours(SESSION_IDLE_HOURS_MAX) - TimeDelta::minutes(1));
            assert_eq!(
                busy.who().await,
                "ada@example.test viewer",
                "after {hours} hours and nearly {SESSION_IDLE_HOURS_MAX} more"
            );
            hours += SESSION_IDLE_HOURS_MAX;
            if hours == SESSION_IDLE_HOURS_MAX {
                desk.clock.advance(TimeDelta::minutes(1));
                assert_eq!(idle.who().await, "stranger");
                assert_eq!(busy.who().await, "ada@example.test viewer");
                assert_eq!(desk.gate.delete_ended_sessions().await, Ok(1));
            }
        }
        desk.clock.advance(TimeDelta::hours(1));
        assert_eq!(busy.who().await, "stranger", "it was never idle, but it is a week old");
        assert_eq!(desk.gate.delete_ended_sessions().await, Ok(1));
        assert_eq!(desk.sessions().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_post_of_another_site_is_refused() {
    on_each_database(async |scratch: &Scratch| {
        let desk =
            scratch.desk_with(|settings| GateSettings { public_url: "http://desk.test".into(), ..settings }).await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        let own = format!("http://{}", desk.address);
        let paths = ["/login", "/logout", "/welcome", "/probe/told", "/probe", "/fn/probe", "/fn/none", "/operations"];
        for path in paths {
            for (name, value) in [
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-site", "same-site"),
                ("origin", "http://evil.test"),
                ("origin", "null"),
                ("origin", "http://127.0.0.1:1"),
            ] {
                let answer = ada.send(ada.post(path).header(name, value)).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} with {name}: {value}");
            }
        }
        assert_eq!(ada.who().await, "ada@example.test viewer", "still signed in");
        let fetched = ada.get("/probe").header("sec-fetch-site", "cross-site").header("origin", "http://evil.test");
        assert_eq!(ada.send(fetched).await.status, StatusCode::OK, "a link from elsewhere works");

        for (name, value) in
            [("sec-fetch-site", "same-origin"), ("origin", own.as_str()), ("origin", "http://desk.test")]
        {
            let answer = ada.send(ada.post("/fn/probe").header(name, value)).await;
            assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "reached"), "{name}: {value}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_stranger_is_sent_to_sign_in_and_back() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut stranger = desk.browser();
        for (path, to) in [
            ("/", "/login?next=%2F"),
            ("/probe?a=b&c=d", "/login?next=%2Fprobe%3Fa%3Db%26c%3Dd"),
            ("/no/such/page", "/login?next=%2Fno%2Fsuch%2Fpage"),
            ("//evil.test/", "/login?next=%2F"),
            ("/login/", "/login?next=%2Flogin%2F"),
        ] {
            assert_eq!(stranger.open(path).await.leads(), (303, to), "{path}");
        }

        for path in ["/fn/probe", "/fn/none"] {
            let answer = stranger.send(stranger.post(path)).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
            assert_eq!(serde_json::from_str::<Failure>(&answer.body).unwrap(), Failure::SignedOut);
        }
        // A form without WebAssembly comes back to the page that it stood on, on this desk.
        for (referer, to) in [
            (format!("http://{}/unknown?tz=UTC", desk.address), "/login?next=%2Funknown%3Ftz%3DUTC"),
            ("http://evil.test//evil.test".to_owned(), "/login?next=%2F"),
        ] {
            let form = stranger.post("/fn/probe").header("accept", "text/html,*/*").header("referer", referer);
            assert_eq!(stranger.send(form).await.leads(), (303, to));
        }
        assert_eq!((stranger.cookie, desk.sessions().await), (None, 0), "strangers leave nothing behind");
    })
    .await;
}

#[tokio::test]
async fn a_cookie_that_is_none_makes_a_stranger() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        for value in ["", "x", "AAAAAAAAAAAAAAAAAAAAAA", "////////////////////==", &"A".repeat(4_000)] {
            let mut browser = desk.browser();
            browser.cookie = Some(format!("onceover={value}"));
            assert_eq!(browser.open("/probe").await.leads(), (303, "/login?next=%2Fprobe"), "{value}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_is_told_once_and_to_its_person() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        desk.with_person(BOB, Role::Viewer).await;
        let (mut ada, mut bob) = (desk.signed_in(ADA).await, desk.signed_in(BOB).await);
        ada.send(ada.post("/probe/told").body("order 812 is confirmed")).await;
        assert_eq!(ada.who().await, "ada@example.test viewer", "another page takes nothing");
        assert_eq!(bob.open("/probe/told").await.body, "");
        assert_eq!(ada.open("/probe/told").await.body, "order 812 is confirmed");
        assert_eq!(ada.open("/probe/told").await.body, "");
        assert_eq!(ada.who().await, "ada@example.test viewer");
    })
    .await;
}

#[tokio::test]
async fn a_changed_role_and_a_removed_person_hold_at_once() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Admin).await;
        let mut ada = desk.signed_in(ADA).await;
        desk.sql("UPDATE person SET role = 'viewer' WHERE email = 'ada@example.test'").await;
        assert_eq!(ada.who().await, "ada@example.test viewer");
        desk.sql("DELETE FROM person WHERE email = 'ada@example.test'").await;
        let answer = ada.send(ada.post("/fn/probe")).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(desk.sessions().await, 0, "the session is over");
        assert_eq!(ada.cookie, None);
    })
    .await;
}

#[tokio::test]
async fn a_session_holds_in_every_process() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, other) = (scratch.desk().await, scratch.desk().await);
        desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        ada.base = other.browser().base;
        assert_eq!(ada.who().await, "ada@example.test viewer");
        ada.send(ada.post("/logout")).await;
        assert_eq!(desk.sessions().await, 0);
    })
    .await;
}

#[tokio::test]
async fn every_answer_tells_the_browser_what_not_to_do() {
    on_each_database(async |scratch: &Scratch| {
        let plain = scratch.desk().await;
        plain.with_person(ADA, Role::Viewer).await;
        let tls = scratch.desk_with(|_| GateSettings::at("https://desk.test")).await;
        for (desk, transport) in [(&plain, ""), (&tls, "max-age=31536000")] {
            let mut ada = desk.signed_in(ADA).await;
            let refused = ada.send(ada.post("/login").header("origin", "http://evil.test")).await;
            for answer in [ada.open("/").await, ada.open("/probe").await, desk.browser().open("/").await, refused] {
                assert_eq!(answer.header("x-content-type-options"), "nosniff");
                assert_eq!(answer.header("x-frame-options"), "DENY");
                assert_eq!(answer.header("referrer-policy"), "same-origin");
                assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
                assert_eq!(answer.header("cache-control"), "no-store");
                assert!(answer.header("permissions-policy").contains("geolocation=()"));
                let policy = answer.header("content-security-policy");
                assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
                assert_eq!(answer.header("strict-transport-security"), transport);
            }
            let mut automation = desk.whole().await;
            let answer = automation.open("/api/v1/operations").await;
            assert_eq!(answer.header("content-type"), "application/problem+json");
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("strict-transport-security"), transport);
            assert_eq!(answer.header("permissions-policy"), "", "an automation is spared what is for browsers");
        }
    })
    .await;
}

#[tokio::test]
async fn a_form_that_is_none_is_the_senders_fault() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let mut browser = desk.browser();
        let huge = [("email", ADA), ("password", &"x".repeat(20_000))];
        for path in ["/login", "/welcome"] {
            let bodies = [
                browser.post(path).body("{}"),
                browser.post(path).form(&[("email", ADA)]),
                browser.post(path).form(&huge),
            ];
            for body in bodies {
                let answer = browser.send(body).await;
                assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
            }
        }
        let long = [("email", "x".repeat(300)), ("password", "y".repeat(1_025))];
        let answer = browser.send(browser.post("/login").form(&long)).await;
        assert_eq!(answer.leads(), (303, "/login?refused=credentials&email=&next=%2F"));
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_away_is_said_so() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        desk.database.close().await;
        assert_eq!(ada.open("/probe").await.status, StatusCode::SERVICE_UNAVAILABLE);
        let function = ada.send(ada.post("/fn/probe")).await;
        assert_eq!(function.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(matches!(serde_json::from_str(&function.body), Ok(Failure::Refused(_))), "{}", function.body);
        let sign_in = desk.browser().sign_in(ADA, PASSWORD, "/").await;
        assert_eq!(sign_in.status, StatusCode::SERVICE_UNAVAILABLE);
    })
    .await;
}

#[tokio::test]
async fn no_secret_is_logged() {
    let log = Log::default();
    // For the whole process: what the other tests log has no secret in it either.
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::TRACE);
    tracing::subscriber::set_global_default(subscriber.with_writer(log.clone()).finish()).unwrap();
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let link = desk.link().unwrap();
        let mut ada = desk.whole().await;
        ada.open(&format!("/welcome?link={link}")).await;
        ada.welcome(&link, ADA, PASSWORD, "correct horse batterz").await;
        ada.welcome(&link, ADA, PASSWORD, PASSWORD).await;
        let first = ada.cookie.clone().unwrap();
        ada.sign_in(ADA, "a wrong password", "/").await;
        ada.sign_in(ADA, PASSWORD, "/").await;
        let second = ada.cookie.clone().unwrap();
        ada.open("/").await;
        ada.send(ada.post("/logout")).await;
        ada.cookie = Some(second.clone());
        ada.open("/").await;

        let person = desk.guard.person_by_email(ADA).await.unwrap().unwrap().0;
        let log = log.text();
        assert!(log.contains(&format!("signed in person={}", person.id)));
        assert!(log.contains("the address or the password is wrong client=127.0.0.1"));
        let [first, second] = [first, second].map(|cookie| cookie.split_once('=').unwrap().1.to_owned());
        for secret in [&link, PASSWORD, "correct horse batterz", "a wrong password", &first, &second, "$argon2"] {
            let line = log.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret:?} is in the log");
        }
    })
    .await;
}

#[tokio::test]
async fn the_database_lets_nobody_in_who_reads_it() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let person = desk.with_person(ADA, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        ada.send(ada.post("/probe/told").body("the secret of a token")).await;
        let id = ada.cookie.clone().unwrap().split_once('=').unwrap().1.to_owned();
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(&id).unwrap();
        let rows = desk.session_rows().await;
        assert_eq!(rows.len(), 1);
        for kept in rows.into_iter().flat_map(|(digest, data)| [digest, data]) {
            for secret in [id.as_bytes(), &bytes, person.id.to_string().as_bytes(), b"secret of a token"] {
                assert!(!kept.windows(secret.len()).any(|window| window == secret), "{kept:?}");
            }
        }
        // A row that somebody altered lets nobody in either.
        desk.sql("UPDATE session SET data = (SELECT digest FROM session)").await;
        assert_eq!(ada.who().await, "stranger");
    })
    .await;
}

#[tokio::test]
async fn a_link_puts_no_words_into_the_desks_mouth() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Admin).await;
        let mut ada = desk.signed_in(ADA).await;
        let refusals = [
            r#"{"refused":{"forbidden":{"reason":"CALL 555"}}}"#,
            r#"{"refused":{"refusal":"forbidden","reason":"CALL 555"}}"#,
        ];
        for told in refusals.map(|refusal| base64::engine::general_purpose::URL_SAFE.encode(refusal)) {
            for name in ["__err", "%5F_err"] {
                for path in ["add_person", "create_token", "revoke_token"] {
                    let page = ada.open(&format!("/settings?__path=%2Ffn%2F{path}&{name}={told}")).await;
                    assert_eq!(page.status.as_u16(), 200);
                    assert!(page.body.contains("People") && !page.body.contains("CALL 555"), "{path}: {}", page.body);
                }
            }
        }
        let page = ada.open("/operations?__path=x&document=812&__err=y").await;
        assert!(page.body.contains(r#"value="812""#), "what else the address says is kept: {}", page.body);
    })
    .await;
}
