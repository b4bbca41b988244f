//! The `onceover` command.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use guard::clock::Entropy;
use server::clock::OsEntropy;
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
    let server = Server::open(database, entropy, Settings::at(&format!("http://{listen}"))).await?;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    axum::serve(listener, server::router::router(server)).await?;
    Ok(())
}
