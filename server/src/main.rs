//! The `onceover` command.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use guard::clock::Entropy;
use server::clock::OsEntropy;
use server::session::{Gate, GateSettings};
use server::state::{Server, Settings};
use server::store::Database;

#[derive(Parser)]
#[command(name = "onceover", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the desk
    Serve {
        /// Where to listen
        #[arg(long, env = "ONCEOVER_LISTEN", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// Where everything is kept
        #[arg(long, env = "ONCEOVER_DATABASE", default_value = "sqlite://data/onceover.db")]
        database: String,
    },
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Command::Serve { listen, database } = Arguments::parse().command;
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let database = Database::open(&database, Arc::clone(&entropy)).await?;
    let public_url = format!("http://{listen}");
    let server = Server::open(database, Arc::clone(&entropy), Settings::at(&public_url)).await?;
    let gate = Gate::open(server.guard.clone(), &server.database, entropy, GateSettings::at(&public_url)).await?;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    axum::serve(listener, server::router::router(server, &gate).into_make_service_with_connect_info::<SocketAddr>())
        .await?;
    Ok(())
}
