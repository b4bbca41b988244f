//! The recipes of docs/recipes, run as they stand there: real servers, the sandbox as destination, and the records that it holds.
//!
//! TypeScript is compiled and run by end2end/tests/recipes.test.mjs, which has the compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

#[path = "support/process.rs"]
mod process;

use process::{Ended, Machine, Serving, end};

struct World {
    machine: Machine,
    sandbox: Serving,
    server: Serving,
    token: String,
}

impl World {
    fn new() -> Self {
        let machine = Machine::new();
        let sandbox = Serving::start(machine.command(&["sandbox", "--listen", "127.0.0.1:0", "--data", "sandbox.db"]));
        let printed = machine.run(&["sandbox", "--print-config"]).ok().replace("http://127.0.0.1:9090", &sandbox.url);
        machine.apply(&printed);
        let server = machine.serve_with(&["--log", "error"]);
        let token = machine.token("recipe");
        Self { machine, sandbox, server, token }
    }

    /// A program in this world's folder, with what the recipes take from the environment.
    fn run(&self, program: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.machine.path("")).stdin(Stdio::null());
        command.envs([("ONCEOVER", &self.server.url), ("DESTINATION", &self.sandbox.url), ("TOKEN", &self.token)]);
        command.envs([("no_proxy", "127.0.0.1"), ("NO_PROXY", "127.0.0.1")]);
        end(command, "")
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.run("curl", &["--silent", "--show-error", &format!("{}{path}", self.sandbox.url)]);
        serde_json::from_str(&answer.ok()).unwrap()
    }

    fn records(&self) -> u64 {
        self.get("/sandbox/count")["live"].as_u64().unwrap()
    }

    fn rule(&self, rule: &str) {
        let url = format!("{}/sandbox/faults?{rule}", self.sandbox.url);
        self.run("curl", &["--silent", "--show-error", "--fail", "--request", "POST", &url]).ok();
    }
}

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recipes").join(name)
}

/// What stands in the fences of this language, in their order.
fn blocks(name: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(recipe(name)).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(fence)) => open = Some((fence == language, String::new())),
            (None, None) => {}
            (Some((is_wanted, block)), Some(_)) => {
                if *is_wanted {
                    blocks.push(block.clone());
                }
                open = None;
            }
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    assert!(open.is_none(), "{name}: a fence is open");
    blocks
}

/// A lost answer, then again and again until it is known: one record, and the same id from then on.
fn is_done_once(world: &World, run: impl Fn() -> Ended, is_later: impl Fn(&Ended) -> bool) {
    let before = world.records();
    world.rule("fault=cut_after&requests=1");
    let lost = run();
    assert!(is_later(&lost), "{} {}{}", lost.code, lost.stdout, lost.stderr);
    let mut known = None;
    process::eventually(process::PATIENCE, "it is known", || {
        let again = run();
        assert!(again.code == 0 || is_later(&again), "{} {}{}", again.code, again.stdout, again.stderr);
        known = (again.code == 0).then_some(again.stdout);
        known.is_some()
    });
    assert!(known.as_ref().is_some_and(|printed| printed.starts_with("task-")), "{known:?}");
    assert_eq!(run().ok(), known.unwrap());
    assert_eq!(world.records(), before + 1);
}

#[test]
fn curl_makes_one_record() {
    let world = World::new();
    let [proxied, script] = blocks("curl.md", "sh").try_into().unwrap();
    let first = world.run("sh", &["-c", &proxied]).ok();
    assert!(first.contains("\"id\":\"task-1\""), "{first}");
    assert_eq!(world.run("sh", &["-c", &proxied]).ok(), first);
    assert_eq!(world.records(), 1);

    world.machine.write("handoff.sh", script);
    let run = |order: &str| world.run("sh", &["handoff.sh", order]);
    assert_eq!(run("order-1").ok(), "task-2\n");
    assert_eq!(run("order-1").ok(), "task-2\n");
    is_done_once(&world, || run("order-2"), |ended| ended.code == 75);
    // Refused is proof: the next run may send again.
    world.rule("fault=refuse&requests=1");
    let refused = run("order-3");
    assert_eq!((refused.code, refused.stderr.as_str()), (75, "order-3: the destination answered 422\n"));
    assert_eq!(run("order-3").ok(), "task-4\n");
    assert_eq!(world.records(), 4);
}

#[test]
fn python_makes_one_record() {
    let world = World::new();
    let [proxied, library, program] = blocks("python.md", "python").try_into().unwrap();
    world.machine.write("proxied.py", proxied).write("onceover.py", library).write("handoff.py", program);
    assert_eq!(world.run("python3", &["proxied.py"]).ok(), "task-1\n");
    assert_eq!(world.run("python3", &["proxied.py"]).ok(), "task-1\n");
    assert_eq!(world.records(), 1);

    let run = |order: &str| world.run("python3", &["handoff.py", order]);
    assert_eq!(run("order-1").ok(), "task-2\n");
    assert_eq!(run("order-1").ok(), "task-2\n");
    is_done_once(&world, || run("order-2"), |ended| ended.code == 1 && ended.stderr.starts_with("later: "));
    world.rule("fault=refuse&requests=1");
    let refused = run("order-3");
    assert!(refused.code == 1 && refused.stderr.contains("Stop: the destination answered 422"), "{}", refused.stderr);
    assert_eq!(run("order-3").ok(), "task-4\n");
    assert_eq!(world.records(), 4);
}

/// A request as a recipe shows it.
struct Shown {
    method: Method,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Shown {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        let (method, url) = lines.next().unwrap().split_once(' ').unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        Self {
            method: method.parse().unwrap(),
            url: url.to_owned(),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }

    /// Sends it with what stands for something in its place.
    async fn send(&self, world: &World, replaced: &[(&str, &str)]) -> (StatusCode, Value) {
        let fill = |text: &str| {
            let places = [
                ("https://onceover.example", world.server.url.as_str()),
                ("https://ledger.example", &world.sandbox.url),
                ("Bearer TOKEN", &format!("Bearer {}", world.token)),
            ];
            let all = places.iter().chain(replaced);
            all.fold(text.to_owned(), |text, (place, value)| text.replace(place, value))
        };
        let client = Client::builder().no_proxy().build().unwrap();
        let mut request = client.request(self.method.clone(), fill(&self.url)).body(fill(&self.body));
        for (name, value) in &self.headers {
            request = request.header(name, fill(value));
        }
        let answer = request.send().await.unwrap();
        (answer.status(), serde_json::from_str(&answer.text().await.unwrap()).unwrap())
    }
}

/// The requests of a low-code tool: through the proxy; begin, create, tell that it is there, or that nobody knows.
async fn low_code(world: &World, name: &str) {
    let shown: Vec<_> = blocks(name, "http").iter().map(|block| Shown::parse(block)).collect();
    let [proxied, begin, create, confirmed, unknown] = shown.try_into().ok().unwrap();
    let (status, first) = proxied.send(world, &[]).await;
    assert_eq!(status, StatusCode::CREATED, "{first}");
    assert_eq!(proxied.send(world, &[]).await, (status, first));

    for (document, report, state) in [("order-813", &confirmed, "confirmed"), ("order-814", &unknown, "unknown")] {
        let (status, grant) = begin.send(world, &[("order-813", document)]).await;
        assert_eq!((status, grant["next"].as_str()), (StatusCode::CREATED, Some("send")), "{name}: {grant}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let reference = text(&grant["external_reference"]);
        let (status, task) = create.send(world, &[("EXTERNAL_REFERENCE", &reference)]).await;
        assert_eq!(status, StatusCode::CREATED, "{name}: {task}");
        let places = [
            ("OPERATION", text(&grant["operation"]["id"])),
            ("LEASE_TOKEN", text(&grant["lease"]["token"])),
            ("TASK", text(&task["id"])),
        ];
        let places: Vec<_> = places.iter().map(|(place, value)| (*place, value.as_str())).collect();
        let (status, told) = report.send(world, &places).await;
        assert_eq!((status, told["state"].as_str()), (StatusCode::OK, Some(state)), "{name}: {told}");
    }
    let known = std::time::Instant::now() + process::PATIENCE;
    loop {
        let (_, again) = begin.send(world, &[("order-813", "order-814")]).await;
        match again["next"].as_str() {
            Some("use_result") => break,
            Some("wait") => assert!(std::time::Instant::now() < known, "{name}: it is never known"),
            _ => panic!("{name}: {again}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn low_code_tools_make_one_record_for_each_order() {
    for name in ["n8n.md", "make.md", "zapier.md"] {
        let world = tokio::task::block_in_place(World::new);
        low_code(&world, name).await;
        assert_eq!(tokio::task::block_in_place(|| world.records()), 3, "{name}");
    }
}

/// What n8n would send for the workflow that is to be imported, its expressions replaced by what they stand for.
#[tokio::test(flavor = "multi_thread")]
async fn the_workflow_for_n8n_sends_what_the_recipe_shows() {
    let [workflow] = blocks("n8n.md", "json").try_into().unwrap();
    let workflow: Value = serde_json::from_str(&workflow).unwrap();
    let [proxied, ..] = blocks("n8n.md", "http").try_into().map(|blocks: [String; 5]| blocks).unwrap();
    let proxied = Shown::parse(&proxied);
    let nodes = workflow["nodes"].as_array().unwrap();
    let node = nodes.iter().find(|node| node["type"] == "n8n-nodes-base.httpRequest").unwrap();
    let trigger = workflow["connections"].as_object().unwrap().iter().next().unwrap();
    assert!(nodes.iter().any(|node| node["name"] == *trigger.0));
    assert_eq!(trigger.1["main"][0][0]["node"], node["name"]);
    let parameters = &node["parameters"];
    let value = |value: &Value| match value.as_str().unwrap() {
        "={{ $json.body.order }}" => "order-812".to_owned(),
        "={{ JSON.stringify($json.body.task) }}" => proxied.body.clone(),
        plain => {
            assert!(!plain.starts_with('='), "{plain} is not known here");
            plain.to_owned()
        }
    };
    let set = parameters["headerParameters"]["parameters"].as_array().unwrap();
    let mut headers: Vec<_> = set.iter().map(|set| (value(&set["name"]), value(&set["value"]))).collect();
    // The credential, and what n8n adds to a JSON body.
    headers.push(("Authorization".to_owned(), "Bearer TOKEN".to_owned()));
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    let sent = Shown {
        method: value(&parameters["method"]).parse().unwrap(),
        url: value(&parameters["url"]),
        headers,
        body: value(&parameters["jsonBody"]),
    };
    let world = tokio::task::block_in_place(World::new);
    let first = sent.send(&world, &[]).await;
    assert_eq!(first.0, StatusCode::CREATED, "{}", first.1);
    assert_eq!(proxied.send(&world, &[]).await, first, "it is the same order");
    assert_eq!(tokio::task::block_in_place(|| world.records()), 1);
}
