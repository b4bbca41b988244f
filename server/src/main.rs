//! The `onceover` command.

use std::net::SocketAddr;

use clap::{Parser, Subcommand};

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
    },
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Command::Serve { listen } = Arguments::parse().command;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    axum::serve(listener, server::router::router()).await
}
