//! `onceover drill`.

use std::path::PathBuf;
use std::sync::Arc;

use guard::actor::Actor;
use guard::destination::Destination;
use guard::id::PersonId;
use guard::key::KeyPart;

use guard::person::{Person, Role};
use guard::service::Definitions;
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::table::table;
use super::{Common, Failure, Opened, print, serve, tell};
use crate::clock::{OsEntropy, SystemClock};
use crate::config::Configuration;
use crate::drill::{self, CONTENT_DEFAULT, Content, GuardAccess, Report};
use crate::sandbox::{self, Sandbox};
use crate::settings::Settings;
use crate::{background, listener, router};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover drill
      against the built-in sandbox: what happens to orders when things go wrong
  onceover drill --without-guard
      the same without Onceover: workers that try again when in doubt
  onceover drill --workflow accounting-handoff
      with the rules of a workflow of yours, still against the sandbox
  onceover drill --destination ledger --payload order.json
      against a destination of yours. It really makes records there, about twenty: use a test account.
  onceover drill --json

The drill starts a guard of its own over a temporary database, so that nothing of it appears in
yours; workflow and destination are read from --database. Workers ask that guard over HTTP, as
your automations do. Then the records that the destination holds are counted: in the sandbox
itself, at your destination by its lookup.

The built-in sandbox is called sandbox here, whatever --database has under that name. It is not
asked to compare a workflow's key fields, since its records are the payloads as they were sent.
There an order is changed, too: the change is proposed over the API, two people of the drill
approve it, and the record is changed in place, whatever the workflow lets people amend. A
destination of yours needs [destination.create] with a place for the external reference, and
[destination.lookup]. It cannot be told to fail: there it is the drill's worker that loses the
request or the answer.

Columns:
  Allowed     how often a worker was allowed to send (without a guard: how often one sent)
  Records     how many records the destination holds afterwards
  Should be   how many it should hold

Exit codes:
  0  no effect was doubled, lost or overwritten (a row may say that a person has to decide)
  1  an effect was doubled, lost or overwritten, or the records could not be counted; with
     --without-guard that is what you should see";

/// A drill's own sandbox has an answer ready within this time, in seconds.
const SANDBOX_TIMEOUT_SECONDS: u32 = 5;

/// No request to it has an effect later than so many seconds after it was given up: its slowest fault takes less.
const SANDBOX_FINALITY_SECONDS: u32 = 4;

/// A drill takes about so many seconds beside the finality window.
const TYPICAL_SECONDS: u32 = 10;

/// The name of the built-in sandbox.
const SANDBOX: &str = "sandbox";

/// The workflow where none is named.
const WORKFLOW_DEFAULT: &str = "drill";

/// The people of a drill: what changes an order needs two.
const APPROVERS: [&str; 2] = ["first@drill.invalid", "second@drill.invalid"];

/// The greatest file of a payload, in bytes: what one begin takes.
const PAYLOAD_BYTES_MAX: u64 = 256 * 1024;

/// So many connections does a drill's own guard serve at once.
const CONNECTIONS_MAX: usize = 256;

/// Does on purpose what goes wrong by accident (orders submitted twice, workers that die, lost answers, slow destinations, queues
/// that deliver again), and counts the records that the destination really holds.
#[derive(clap::Args)]
pub(super) struct Drill {
    /// A workflow of --database whose rules are drilled [default: a plain one, or the only one of the destination]
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<String>,
    /// The built-in sandbox, or a destination of --database: its test account
    #[arg(long, value_name = "sandbox|NAME", default_value = SANDBOX)]
    destination: String,
    /// Leave the guard out: workers try again when in doubt
    #[arg(long)]
    without_guard: bool,
    /// A file with the JSON object that is sent; {{document}} and {{company}} in it stand for the order's
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a drill's own processes keep while it runs.
struct Running {
    draining: CancellationToken,
    served: tokio::task::JoinHandle<listener::Drained>,
}

impl Running {
    async fn stop(self) {
        self.draining.cancel();
        // However it ended: what matters was counted before.
        let _ended = self.served.await;
    }
}

impl Drill {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let settings = common.settle(&common.configuration()?.server)?;
        let content = self.content()?;
        let (workflow, destination) = self.definitions(&settings).await?;
        let folder = TempDir::with_prefix("onceover-drill-")
            .map_err(|error| Failure(format!("a temporary folder cannot be made: {error}")))?;
        let (destination, sandbox) = match destination {
            Some(destination) => (destination, None),
            None => {
                let (destination, sandbox, running) = start_sandbox(&folder).await?;
                (destination, Some((sandbox, running)))
            }
        };
        if let Some(obstacle) = drill::Drill::obstacle(&destination) {
            return Err(Failure(obstacle));
        }
        let (sandbox, sandbox_running) = sandbox.unzip();
        if sandbox.is_none() {
            let (name, url) = (&destination.name, &destination.base_url);
            tell(&format!("This makes records at {name} ({url}). It should be a test account."))?;
        }
        if !self.without_guard {
            // What is not known at once is looked up, and not finding it is proof only after a while.
            let seconds = TYPICAL_SECONDS + destination.finality_seconds.unwrap_or(0);
            let mishaps = drill::Scenario::ALL.len();
            tell(&format!("Playing {mishaps} mishaps side by side; that takes about {seconds} seconds."))?;
        }
        let report = self.drilled(workflow, destination, sandbox, content, &folder, &settings).await;
        if let Some(running) = sandbox_running {
            running.stop().await;
        }
        let report = report?;
        if self.json {
            print(&format!("{:#}\n", report.json()))?;
        } else {
            print(&told(&report))?;
        }
        match report.failures() {
            0 => Ok(()),
            failures => {
                let played = report.played();
                let without = if report.is_guarded { "" } else { "without Onceover, " };
                Err(Failure(format!("{without}{failures} of {played} mishaps ended with wrong records")))
            }
        }
    }

    fn content(&self) -> Result<Content, Failure> {
        let Some(path) = &self.payload else {
            return Content::new(CONTENT_DEFAULT).map_err(|fault| Failure(fault.to_string()));
        };
        let name = path.display();
        let size = std::fs::metadata(path).map(|metadata| metadata.len());
        if size.is_ok_and(|size| size > PAYLOAD_BYTES_MAX) {
            return Err(Failure(format!("{name}: has over {PAYLOAD_BYTES_MAX} bytes; that is no payload")));
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure(format!("{name}: cannot be read: {error}")))?;
        Content::new(&text).map_err(|fault| Failure(format!("{name}: {fault}")))
    }

    /// The workflow, and the destination where it is one of the user's own.
    async fn definitions(&self, settings: &Settings) -> Result<(Workflow, Option<Destination>), Failure> {
        let is_sandbox = self.destination == SANDBOX;
        let plain = || KeyPart::new(WORKFLOW_DEFAULT).map(Workflow::named).map_err(|fault| Failure(fault.to_string()));
        if is_sandbox && self.workflow.is_none() {
            return Ok((plain()?, None));
        }
        let opened = Opened::existing(settings).await?;
        let Definitions { workflows, destinations, .. } = opened.guard.definitions();
        opened.close(Ok(())).await?;
        let listed = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let destination = if is_sandbox {
            None
        } else {
            let names = destinations.iter().map(|destination| destination.name.clone()).collect();
            let found = destinations.into_iter().find(|destination| destination.name == self.destination);
            let missing = || {
                format!(
                    "there is no destination {:?}; there are: {SANDBOX} (built in), {}",
                    self.destination,
                    listed(names)
                )
            };
            Some(found.ok_or_else(|| Failure(missing()))?)
        };
        let workflow = match &self.workflow {
            Some(name) => {
                let names = workflows.iter().map(|workflow| workflow.name.to_string()).collect();
                let found = workflows.into_iter().find(|workflow| workflow.name.as_str() == name);
                found.ok_or_else(|| Failure(format!("there is no workflow {name:?}; there are: {}", listed(names))))?
            }
            None => {
                let mut of_it: Vec<Workflow> = workflows
                    .into_iter()
                    .filter(|workflow| workflow.destination.as_ref() == Some(&self.destination))
                    .collect();
                match (of_it.pop(), of_it.is_empty()) {
                    (None, _) => plain()?,
                    (Some(only), true) => only,
                    (Some(last), false) => {
                        let names = of_it.iter().chain([&last]).map(|workflow| workflow.name.to_string()).collect();
                        let message =
                            format!("several workflows create there; name one with --workflow: {}", listed(names));
                        return Err(Failure(message));
                    }
                }
            }
        };
        Ok((workflow, destination))
    }

    async fn drilled(
        &self,
        mut workflow: Workflow,
        destination: Destination,
        sandbox: Option<Sandbox>,
        content: Content,
        folder: &TempDir,
        settings: &Settings,
    ) -> Result<Report, Failure> {
        workflow.destination = Some(destination.name.clone());
        if sandbox.is_some() {
            // They say where things stand in the records of another destination.
            workflow.key_fields = Vec::new();
            workflow.amendment = drill::amendment_rules().map_err(Failure)?;
        }
        let run = hex::encode(&guard::clock::Entropy::bytes(&OsEntropy)[..4]);
        if self.without_guard {
            let drill = drill::Drill { guard: None, workflow, destination, sandbox, content, run };
            return drill.run().await.map_err(Failure);
        }
        let definitions = Definitions {
            workflows: vec![workflow.clone()],
            destinations: vec![destination.clone()],
            ..Definitions::default()
        };
        let url = format!("sqlite://{}", folder.path().join("onceover.db").display());
        let opened = Opened::made(&Settings { database: url, ..settings.clone() }).await?;
        let report = async {
            let (access, running, tasks) = start_guard(&opened, definitions, settings).await?;
            let drill = drill::Drill { guard: Some(access), workflow, destination, sandbox, content, run };
            let report = drill.run().await.map_err(Failure);
            running.stop().await;
            tasks.wait().await;
            report
        };
        let report = report.await;
        opened.close(report).await
    }
}

/// Starts the sandbox of this drill, and the destination that it is.
async fn start_sandbox(folder: &TempDir) -> Result<(Destination, Sandbox, Running), Failure> {
    let file = folder.path().join("sandbox.db");
    let sandbox = Sandbox::open(&file, sandbox::Settings::default(), Arc::new(SystemClock::new()));
    let sandbox = sandbox.map_err(|error| Failure(error.to_string()))?;
    let listener = listener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let described = Configuration::parse("the sandbox's configuration", &sandbox::configuration(&url))?;
    let destination = described.definitions.destinations.into_iter().next();
    let mut destination = destination.ok_or_else(|| Failure("the sandbox has no destination".to_owned()))?;
    destination.timeout_seconds = SANDBOX_TIMEOUT_SECONDS;
    destination.finality_seconds = Some(SANDBOX_FINALITY_SECONDS);
    let draining = CancellationToken::new();
    let served = tokio::spawn({
        let (sandbox, draining) = (sandbox.clone(), draining.clone());
        async move { sandbox.serve(listener, draining).await }
    });
    Ok((destination, sandbox, Running { draining, served }))
}

/// Starts the guard of this drill, with a token for its workers.
async fn start_guard(
    opened: &Opened,
    definitions: Definitions,
    settings: &Settings,
) -> Result<(GuardAccess, Running, tokio_util::task::TaskTracker), Failure> {
    let listener = listener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut configuration = Configuration::default();
    configuration.definitions = definitions;
    let (server, gate) = serve::start(&configuration, settings, &url, opened).await?;
    let scopes = [Scope::OperationsWrite, Scope::AmendmentsPropose].into();
    let everything = Reach::over(Vec::new(), Vec::new());
    let (_, secret) = opened.guard.create_token("drill", scopes, everything, &Actor::CommandLine).await?;
    let tasks = background::start(&server, &gate);
    let routes = router::router(server.clone(), &gate);
    let draining = server.draining.clone();
    let served = tokio::spawn(listener::serve(listener, routes, CONNECTIONS_MAX, draining.clone()));
    // They exist for this drill only, and sign in nowhere: what they approve goes to the guard itself.
    let people = APPROVERS.map(|email| Person {
        id: PersonId::new(opened.guard.now(), guard::clock::Entropy::bytes(&OsEntropy)),
        email: email.to_owned(),
        role: Role::Finance,
        reach: Reach::EVERYTHING,
    });
    let (guard, token) = (server.guard.clone(), secret.reveal().to_owned());
    Ok((GuardAccess { url, token, guard, people: people.into() }, Running { draining, served }, tasks))
}

/// The report for people who know nothing of Onceover.
fn told(report: &Report) -> String {
    let place = match report.destination.as_str() {
        SANDBOX => "the sandbox (a practice system that comes with Onceover; none of your data is touched)".to_owned(),
        name => name.to_owned(),
    };
    let (how, sent) = if report.is_guarded {
        (
            "WITH Onceover: each worker (the program that makes a record) asks it before it sends.\n\
             LET THROUGH is how often a worker was allowed to send.",
            "LET THROUGH",
        )
    } else {
        (
            "WITHOUT Onceover: a worker (the program that makes a record) that is in doubt sends again.\n\
             SENT is how often workers sent.",
            "SENT",
        )
    };
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| {
            let is_played = row.verdict != drill::Verdict::Skipped;
            let number = |number: u64| if is_played { number.to_string() } else { "-".to_owned() };
            [
                row.scenario.title().to_owned(),
                number(row.permissions),
                row.records.map_or_else(|| "-".to_owned(), |records| records.to_string()),
                number(row.expected),
                row.verdict_in_words(),
            ]
        })
        .collect();
    let mut text = format!(
        "Onceover keeps automations from doing the same thing twice.\n\
         This drill plays what goes wrong with them at {place},\n\
         and then counts the records that were really made.\n\n\
         {how}\n\n{}",
        table(["WHAT HAPPENS", sent, "RECORDS MADE", "RIGHT NUMBER", "VERDICT"], &rows)
    );
    let sentences: Vec<_> = report
        .rows
        .iter()
        .filter_map(|row| row.sentence.as_ref().map(|sentence| format!("  {}: {sentence}\n", row.scenario.title())))
        .collect();
    if !sentences.is_empty() {
        text.push_str(&format!("\n{}", sentences.concat()));
    }
    let (failures, played) = (report.failures(), report.played());
    text.push_str(&match (failures, report.is_guarded) {
        (0, _) => format!("\n{played} mishaps played: nothing was doubled, lost or overwritten.\n"),
        (_, true) => format!("\n{played} mishaps played, {failures} went wrong.\n"),
        (_, false) => format!(
            "\n{played} mishaps played, {failures} went wrong. That was to be expected: nobody remembered what was done.\n\
             To see the same with Onceover, run: onceover drill\n"
        ),
    });
    text
}
