//! The command line: one binary, one command for each thing that is done on the machine.
#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    reason = "what stands before an option is its help text, for people at a terminal"
)]

mod apply;
mod backup;
mod check;
mod copy;
mod drill;
mod evidence;
mod export;
mod sandbox;
mod seed;
mod serve;
mod table;
mod token;
mod trail;
mod user;

use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use guard::clock::Entropy;
use guard::refusal::{Refusal, StoreFault};
use guard::service::Guard;

use crate::clock::OsEntropy;
use crate::config::{ConfigFault, Configuration, ServerTable};
use crate::settings::{Settings, without_password};
use crate::store::{BackupError, Database, OpenError};

/// Commands other than `serve` log what went wrong and nothing else, unless they are asked to.
const COMMAND_LOG_DEFAULT: &str = "warn";

/// Stops automations from doing the same thing twice.
///
/// Automations ask over HTTP before they create a record in another system, and tell afterwards how it went; people settle at the
/// desk what software cannot. `onceover serve` runs all of it.
#[derive(Parser)]
#[command(
    name = "onceover",
    version,
    max_term_width = 100,
    after_help = "Start with:  onceover serve\nEvery command explains itself:  onceover serve --help",
    after_long_help = "\
Settings come from flags, then from ONCEOVER_… variables, then from the table [server] of the
configuration file.

Exit codes:
  0  done
  1  not done, or the answer is no (a file that is wrong, a trail that was altered):
     standard error says why
  2  the command line is wrong

First steps:
  onceover serve                          prints its address, and a link for the first administrator
  onceover apply workflows.toml           says what automations may do
  onceover token create --name shop       prints a token for an automation"
)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Args)]
struct Common {
    /// The database: sqlite://PATH or postgres://USER:PASSWORD@HOST/NAME [default: sqlite://./data/onceover.db]
    ///
    /// A SQLite file and its folder are made where they are missing. A PostgreSQL database must exist; several servers may share it. A
    /// password is better kept in ONCEOVER_DATABASE than on the command line, where others can see it.
    #[arg(
        long,
        global = true,
        env = "ONCEOVER_DATABASE",
        hide_env_values = true,
        value_name = "URL",
        display_order = 900
    )]
    database: Option<String>,

    /// A configuration file (TOML): settings in [server], workflows and destinations
    #[arg(
        long,
        global = true,
        env = "ONCEOVER_CONFIG",
        hide_env_values = true,
        value_name = "FILE",
        display_order = 901
    )]
    config: Option<PathBuf>,

    /// What is logged: error, warn, info, debug, trace, or directives such as info,sqlx=debug [default: info for serve, warn otherwise]
    #[arg(
        long,
        global = true,
        env = "ONCEOVER_LOG",
        hide_env_values = true,
        value_name = "FILTER",
        hide_short_help = true,
        display_order = 902
    )]
    log: Option<String>,

    /// How it is logged on standard error: text, json, or auto (text on a terminal) [default: auto]
    #[arg(
        long,
        global = true,
        env = "ONCEOVER_LOG_FORMAT",
        hide_env_values = true,
        value_name = "FORMAT",
        hide_short_help = true,
        display_order = 903
    )]
    log_format: Option<String>,
}

/// Settings of a server.
#[derive(Args)]
struct ServerFlags {
    /// Where to listen: ADDRESS:PORT, for example [::]:8080 for every network [default: 127.0.0.1:8080]
    #[arg(long, env = "ONCEOVER_LISTEN", hide_env_values = true, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// The address under which people and automations reach the server, for example https://onceover.example
    ///
    /// Links in answers start with it. With https:// (a proxy before the server ends TLS) the session cookie is for TLS alone. Left out,
    /// it is where the server listens.
    #[arg(long, env = "ONCEOVER_PUBLIC_URL", hide_env_values = true, value_name = "URL")]
    public_url: Option<String>,

    /// How many reverse proxies stand before the server: from their X-Forwarded-For it takes who called [default: 0]
    #[arg(long, env = "ONCEOVER_TRUSTED_PROXIES", hide_env_values = true, value_name = "NUMBER")]
    trusted_proxies: Option<u32>,

    /// Answer /metrics without a token: where only your own network reaches it [default: false]
    #[arg(
        long,
        env = "ONCEOVER_METRICS_OPEN", hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true
    )]
    metrics_open: Option<bool>,

    /// The greatest body of a request, in bytes [default: 262144]
    #[arg(long, env = "ONCEOVER_PAYLOAD_BYTES_MAX", hide_env_values = true, value_name = "BYTES")]
    payload_bytes_max: Option<usize>,

    /// The greatest body of a batch, in bytes [default: 16777216]
    #[arg(long, env = "ONCEOVER_BATCH_BYTES_MAX", hide_env_values = true, value_name = "BYTES")]
    batch_bytes_max: Option<usize>,

    /// How often one token may ask per second; whoever asks more often is answered 429 [default: 50000]
    #[arg(long, env = "ONCEOVER_REQUESTS_PER_SECOND", hide_env_values = true, value_name = "NUMBER")]
    requests_per_second: Option<u32>,

    /// How many connections are served at once; further ones wait [default: 4096]
    #[arg(long, env = "ONCEOVER_CONNECTIONS_MAX", hide_env_values = true, value_name = "NUMBER")]
    connections_max: Option<u32>,

    /// For how many days calls of the API are kept for /developers; 0: not at all [default: 7]
    #[arg(long, env = "ONCEOVER_CALL_DAYS", hide_env_values = true, value_name = "DAYS")]
    call_days: Option<u32>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API for automations and the desk for people
    #[command(after_long_help = serve::EXAMPLES)]
    Serve(serve::Serve),
    /// Say what is wrong in a configuration file, or print what is in force
    #[command(after_long_help = check::EXAMPLES)]
    Check(check::Check),
    /// Make workflows and destinations what a configuration file says
    #[command(after_long_help = apply::EXAMPLES)]
    Apply(apply::Apply),
    /// Print workflows and destinations as a configuration file
    #[command(after_long_help = export::EXAMPLES)]
    Export,
    /// Let people sign in at the desk
    #[command(subcommand)]
    User(user::User),
    /// Let automations ask
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Prove that nothing in the record of what happened was altered
    #[command(subcommand)]
    Trail(trail::Trail),
    /// Take out everything that proves what became of an operation
    #[command(after_long_help = evidence::EXAMPLES)]
    Evidence(evidence::Evidence),
    /// Copy a SQLite database, also while it is served
    #[command(after_long_help = backup::EXAMPLES)]
    Backup(backup::Backup),
    /// Move a SQLite database to PostgreSQL
    #[command(after_long_help = copy::EXAMPLES)]
    Copy(copy::Copy),
    /// Run a small system of record that fails as it is told to, to try Onceover against
    #[command(after_long_help = sandbox::EXAMPLES)]
    Sandbox(sandbox::Sandbox),
    /// Do on purpose what goes wrong by accident, and count the records that were made
    #[command(after_long_help = drill::EXAMPLES)]
    Drill(drill::Drill),
    /// Fill a database with demonstration data: operations that never happened
    #[command(after_long_help = seed::EXAMPLES)]
    Seed(seed::Seed),
}

/// Why a command ended with 1: sentences for the one who typed it.
#[derive(Debug)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

macro_rules! failure_from {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        })*
    };
}
failure_from!(Refusal, StoreFault, BackupError, ConfigFault, toml_edit::ser::Error);

impl From<io::Error> for Failure {
    /// Only standard output and input fail so; files are named where they are opened.
    fn from(error: io::Error) -> Self {
        Self(format!("standard output or input: {error}"))
    }
}

/// Runs the command that the arguments of this process name.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // `--help` and `--version` end up here too, with code 0.
        Err(answer) => answer.exit(),
    };
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure(format!("no threads can be started: {error}")))
        .and_then(|runtime| runtime.block_on(arguments.run()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody is left to be told when standard error is closed.
            let _told = writeln!(io::stderr(), "onceover: {failure}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    async fn run(self) -> Result<(), Failure> {
        let common = self.common;
        match self.command {
            Command::Serve(serve) => serve.run(&common).await,
            Command::Check(check) => check.run(&common),
            Command::Apply(apply) => apply.run(&common).await,
            Command::Export => export::run(&common).await,
            Command::User(user) => user.run(&common).await,
            Command::Token(token) => token.run(&common).await,
            Command::Trail(trail) => trail.run(&common).await,
            Command::Evidence(evidence) => evidence.run(&common).await,
            Command::Backup(backup) => backup.run(&common).await,
            Command::Copy(copy) => copy.run(&common).await,
            Command::Sandbox(sandbox) => sandbox.run(&common).await,
            Command::Drill(drill) => drill.run(&common).await,
            Command::Seed(seed) => seed.run(&common).await,
        }
    }
}

impl Common {
    /// The configuration file that was named; nothing where none was.
    fn configuration(&self) -> Result<Configuration, Failure> {
        Ok(match &self.config {
            Some(path) => Configuration::read(path)?,
            None => Configuration::default(),
        })
    }

    /// What flags and environment say.
    fn table(&self) -> ServerTable {
        ServerTable {
            database: self.database.clone(),
            log: self.log.clone(),
            log_format: self.log_format.clone(),
            ..ServerTable::default()
        }
    }

    /// The settings of a command that is no server, given its file; its log is started.
    fn settle(&self, file: &ServerTable) -> Result<Settings, Failure> {
        let mut said = [self.table(), file.clone()];
        // What a server logs is not what somebody at a prompt wants to read.
        said[1].log = None;
        let quiet = ServerTable { log: Some(COMMAND_LOG_DEFAULT.to_owned()), ..ServerTable::default() };
        let [flags, file] = said;
        let settings = resolve(&[flags, file, quiet])?;
        start_log(&settings)?;
        Ok(settings)
    }
}

impl ServerFlags {
    /// What flags and environment say.
    fn table(&self, common: &Common) -> ServerTable {
        ServerTable {
            listen: self.listen.clone(),
            public_url: self.public_url.clone(),
            trusted_proxies: self.trusted_proxies,
            metrics_open: self.metrics_open,
            payload_bytes_max: self.payload_bytes_max,
            batch_bytes_max: self.batch_bytes_max,
            requests_per_second: self.requests_per_second,
            connections_max: self.connections_max,
            call_days: self.call_days,
            ..common.table()
        }
    }
}

fn resolve(said: &[ServerTable]) -> Result<Settings, Failure> {
    Settings::resolve(said).map_err(|(key, message)| {
        let flag = key.replace('_', "-");
        Failure(format!("--{flag} (or ONCEOVER_{}, or {key} in [server]): {message}", key.to_uppercase()))
    })
}

fn start_log(settings: &Settings) -> Result<(), Failure> {
    crate::log::start(&settings.log, settings.log_format).map_err(|error| Failure(error.to_string()))
}

/// A database that a command works on, with the guard over it.
struct Opened {
    database: Database,
    guard: Guard,
    entropy: Arc<dyn Entropy>,
}

impl Opened {
    /// Opens the database, made and brought up to date where necessary.
    async fn made(settings: &Settings) -> Result<Self, Failure> {
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let database = Database::open(&settings.database, Arc::clone(&entropy)).await;
        let database = database.map_err(|error| not_opened(&settings.database, &error))?;
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::clone(&entropy)).await?;
        Ok(Self { database, guard, entropy })
    }

    /// Opens a database that must be there: a mistyped path must not look like an empty one.
    async fn existing(settings: &Settings) -> Result<Self, Failure> {
        if let Some(path) = settings.database.strip_prefix("sqlite://")
            && !std::path::Path::new(path).exists()
        {
            let message = format!(
                "there is no database {path}; name the right one with --database, or make it with onceover serve"
            );
            return Err(Failure(message));
        }
        Self::made(settings).await
    }

    /// Writes what waits, closes, and passes on what came of the command.
    async fn close<T>(self, done: Result<T, Failure>) -> Result<T, Failure> {
        self.database.close().await;
        done
    }
}

/// Names the database that cannot be opened, and what there is to do about it.
fn not_opened(database: &str, error: &OpenError) -> Failure {
    let mend = match error {
        OpenError::Connect(_) if database.starts_with("sqlite://") => "; name another file with --database",
        OpenError::Connect(_) => "; see that it runs, and that user, password and name in --database are right",
        OpenError::Folder { .. } => "; name a file in another folder with --database",
        OpenError::UnknownScheme { .. } | OpenError::Newer { .. } | OpenError::Migrate(_) | OpenError::Fault(_) => "",
    };
    Failure(format!("{}: {error}{mend}", without_password(database)))
}

/// Prints on standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    Ok(output.flush()?)
}

/// Tells something beside the result, on standard error.
fn tell(sentence: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stderr(), "{sentence}")?)
}
