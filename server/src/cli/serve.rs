//! `onceover serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use guard::actor::Actor;
use guard::rules::RuleRefusal;
use guard::service::AppliedChange;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::apply::in_words;
use super::{Common, Failure, Opened, ServerFlags, print, resolve, start_log};
use crate::config::Configuration;
use crate::listener::{self, DRAIN_SECONDS_MAX, Drained};
use crate::session::{Gate, GateSettings};
use crate::settings::Settings;
use crate::state::{self, Server};
use crate::{background, calls, router};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover serve
      SQLite in ./data, on http://127.0.0.1:8080
  onceover serve --config onceover.toml
      with the settings of the file; its workflows and destinations are applied at the start
  onceover serve --listen '[::]:8080' --public-url https://onceover.example --trusted-proxies 1
      on every network, behind a proxy that ends TLS
  ONCEOVER_DATABASE=postgres://onceover:SECRET@db/onceover onceover serve
      on PostgreSQL, which several servers may share

While nobody can sign in, it prints a link with which you make the first administrator in the
browser. The link works once.

SIGTERM or SIGINT (Ctrl-C) drains: /readyz answers 503, nobody new is accepted, those who asked
are answered, then it stops with code 0. After 20 seconds what is left is broken off; a second
signal stops it at once. Nothing acknowledged is lost, not even by SIGKILL.";

/// What is left to be done after the last connection must be done within this time, in seconds.
const CLOSE_SECONDS_MAX: u64 = 10;

/// So many files are open beside connections: those of the database, above all.
const OPEN_FILES_BESIDE: u64 = 100;

/// Serves the API for automations, the desk for people and the metrics, and ends leases that are over. Tables are made or brought up
/// to date first.
#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    flags: ServerFlags,
}

impl Serve {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let configuration = common.configuration()?;
        let settings = resolve(&[self.flags.table(common), configuration.server.clone()])?;
        start_log(&settings)?;
        // From here on a signal is a wish to stop, also while the tables are being brought up to date.
        let mut stops = Stops::listen()?;
        let files = listener::raise_open_files();
        if files < u64::from(settings.connections_max) + OPEN_FILES_BESIDE {
            let connections = settings.connections_max;
            tracing::warn!(
                files,
                connections,
                "so many connections need more open files than the system allows; raise ulimit -n"
            );
        }
        // First of all, so that a port that is taken changes nothing.
        let listener = bind(&settings.listen).await?;
        let address = listener.local_addr()?;
        let public_url = settings.public_url.clone().unwrap_or_else(|| url_of(address));

        let opened = Opened::made(&settings).await?;
        let started = start(&configuration, &settings, &public_url, &opened).await;
        let (server, gate) = match started {
            Ok(started) => started,
            Err(failure) => return opened.close(Err(failure)).await,
        };
        greet(&public_url, address, gate.first_start_link())?;
        let routes = router::router(server.clone(), &gate);
        let tasks = background::start(&server, &gate);
        let served = tokio::spawn(listener::serve(
            listener,
            routes,
            usize::try_from(settings.connections_max).unwrap_or(usize::MAX),
            server.draining.clone(),
        ));
        tell_supervisor(&[sd_notify::NotifyState::Ready]);
        let version = env!("CARGO_PKG_VERSION");
        tracing::info!(%address, database = crate::settings::without_password(&settings.database), version, "serving");

        let signal = stops.next().await;
        tracing::info!(signal, "draining: those who asked are answered, nobody new is accepted");
        tell_supervisor(&[sd_notify::NotifyState::Stopping]);
        tokio::spawn(async move {
            let signal = stops.next().await;
            tracing::warn!(signal, "stopping at once");
            process::exit(1);
        });
        server.drain();
        match served.await {
            Ok(Drained::All) => {}
            Ok(Drained::Broken(connections)) => {
                tracing::warn!(connections, seconds = DRAIN_SECONDS_MAX, "connections were broken off");
            }
            Err(error) => tracing::error!(%error, "serving ended by itself"),
        }
        let close = async {
            server.proxied.close();
            server.proxied.wait().await;
            tasks.wait().await;
            calls::write(&server).await;
            opened.database.close().await;
        };
        if tokio::time::timeout(Duration::from_secs(CLOSE_SECONDS_MAX), close).await.is_err() {
            tracing::warn!(
                seconds = CLOSE_SECONDS_MAX,
                "the database did not close in time; nothing acknowledged is lost"
            );
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Brings into force what the file says, and makes what answers.
pub(super) async fn start(
    configuration: &Configuration,
    settings: &Settings,
    public_url: &str,
    opened: &Opened,
) -> Result<(Server, Gate), Failure> {
    let definitions = &configuration.definitions;
    // A file that holds settings alone leaves alone what was applied by hand.
    let names_some =
        !definitions.workflows.is_empty() || !definitions.destinations.is_empty() || !definitions.channels.is_empty();
    if names_some {
        let (definitions, approved) = opened.guard.keeping_approved(definitions).await?;
        for kept in approved {
            let place = if let RuleRefusal::ApprovedInBrowser { workflow, key, .. } = &kept {
                configuration.fault_of_workflow(workflow, key, kept.to_string()).to_string()
            } else {
                kept.to_string()
            };
            tracing::warn!("what was approved in the browser stays in force; the configuration file {place}");
        }
        let applied = opened.guard.apply(&definitions, &Actor::CommandLine).await?;
        let kinds = [
            ("workflow", &applied.workflows),
            ("destination", &applied.destinations),
            ("notification", &applied.channels),
        ];
        for (kind, changes) in kinds {
            for (name, change) in changes.iter().filter(|(_, change)| **change != AppliedChange::Unchanged) {
                tracing::info!(kind, name, change = in_words(*change), "applied the configuration file");
            }
        }
    }
    let gate_settings = GateSettings {
        is_secure: public_url.starts_with("https://"),
        public_url: public_url.to_owned(),
        proxies: usize::try_from(settings.trusted_proxies).unwrap_or(usize::MAX),
    };
    let entropy = || Arc::clone(&opened.entropy);
    let gate = Gate::open(opened.guard.clone(), &opened.database, entropy(), gate_settings).await;
    let gate = gate.map_err(|error| Failure(error.to_string()))?;
    let server_settings = state::Settings {
        public_url: public_url.to_owned(),
        body_bytes_max: settings.payload_bytes_max,
        batch_bytes_max: settings.batch_bytes_max,
        requests_per_second: settings.requests_per_second,
        metrics_open: settings.metrics_open,
        call_days: settings.call_days,
    };
    let server = Server::new(opened.guard.clone(), opened.database.clone(), entropy(), server_settings);
    if let Err(faults) = server.destinations.prepare(&opened.guard.catalogue()) {
        return Err(Failure(faults.join("\n")));
    }
    if let Err(faults) = server.notifications.prepare(&opened.guard.catalogue()) {
        return Err(Failure(faults.join("\n")));
    }
    Ok((server, gate))
}

pub(super) async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    listener::bind(listen).await.map_err(|error| {
        let kind = error.kind();
        let mend = if kind == std::io::ErrorKind::AddrInUse {
            "another program listens there; stop it, or choose another port with --listen"
        } else if kind == std::io::ErrorKind::PermissionDenied {
            "ports below 1024 need a privilege; choose another one with --listen"
        } else {
            "choose another address with --listen"
        };
        Failure(format!("cannot listen on {listen}: {error}; {mend}"))
    })
}

/// Where a browser on this machine reaches the server.
pub(super) fn url_of(address: SocketAddr) -> String {
    let reachable = if address.ip().is_unspecified() {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port())
    } else {
        address
    };
    format!("http://{reachable}")
}

/// Says on standard output where the server is, and how the first person gets in.
fn greet(public_url: &str, address: SocketAddr, first_start: Option<String>) -> Result<(), Failure> {
    let mut text = format!("Onceover is at {public_url}");
    if public_url != url_of(address) {
        text.push_str(&format!(" and listens on {address}"));
    }
    text.push('\n');
    if let Some(link) = first_start {
        text.push_str("Nobody can sign in yet. Make the first administrator here; the link works once:\n");
        text.push_str(&format!("  {link}\n"));
    }
    print(&text)
}

/// Tells systemd, where it started this and wants to know.
fn tell_supervisor(states: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the supervisor at NOTIFY_SOCKET cannot be told");
    }
}

/// The signals that ask to stop.
pub(super) struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure(format!("signals cannot be caught: {error}")));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
