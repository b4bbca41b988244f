//! The `onceover` command.

use std::net::Ipv4Addr;

/// Where the desk is served until the command line says otherwise.
const LISTEN_PORT: u16 = 8080;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, LISTEN_PORT)).await?;
    axum::serve(listener, server::router::router()).await
}
