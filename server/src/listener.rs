//! Connections: accepted within bounds, served over HTTP/1.1, and ended so that nobody who asked goes without an answer.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

/// The head of a request is there this long after the one before was answered, or the connection is closed: it bounds those who send
/// a head byte by byte, and those who keep a connection that they do not use.
pub const HEAD_SECONDS_MAX: u64 = 75;

/// A request has at most this many header fields.
const HEADER_FIELDS_MAX: usize = 100;

/// The head of a request has at most this many bytes; also how much is read at once.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// Requests that are under way when the server is told to stop are answered within this time, or broken off.
pub const DRAIN_SECONDS_MAX: u64 = 20;

/// When no connection can be accepted (the process has no more file descriptors), it is tried again after this time.
const ACCEPT_AGAIN_MILLISECONDS: u64 = 100;

/// Lets this process open as many files as the system allows it, and answers how many that are: every connection is one, and many
/// systems start with a thousand.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
    // None is without limit.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Whether every request was answered before the server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// Every one.
    All,
    /// So many connections were broken off.
    Broken(usize),
}

/// Binds the first address that `ADDRESS:PORT` stands for and that can be had.
///
/// # Errors
/// What went wrong with the last of them.
pub async fn bind(listen: &str) -> io::Result<TcpListener> {
    let mut fault = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name stands for no address");
    for address in tokio::net::lookup_host(listen).await? {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => fault = error,
        }
    }
    Err(fault)
}

/// Serves until `draining` is cancelled; then accepts nobody any more, lets those who asked have their answer, and returns. Where the
/// service fails instead of answering, the connection ends without an answer.
pub async fn serve<S>(listener: TcpListener, service: S, connections_max: usize, draining: CancellationToken) -> Drained
where
    S: Service<Request, Response = Response, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    let places = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = draining.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, peer, place)) = accepted else { break };
        let (service, draining) = (service.clone(), draining.clone());
        connections.spawn(async move {
            converse(stream, peer, service, draining).await;
            drop(place);
        });
    }
    // Whoever connects now is refused by the system, so that a balancer goes elsewhere.
    drop(listener);
    connections.close();
    match tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS_MAX), connections.wait()).await {
        Ok(()) => Drained::All,
        Err(_) => Drained::Broken(connections.len()),
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

/// The next connection, once there is a place for it: those beyond the bound wait in the system's queue.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return Some((stream, peer, place)),
            // The caller was gone before it was its turn.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted; trying again");
                tokio::time::sleep(Duration::from_millis(ACCEPT_AGAIN_MILLISECONDS)).await;
            }
        }
    }
}

/// Answers the requests of one connection, one after another.
async fn converse<S>(stream: TcpStream, peer: SocketAddr, service: S, draining: CancellationToken)
where
    S: Service<Request, Response = Response, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    // An answer is one write: waiting for more (Nagle) would only delay it.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection is gone already");
        return;
    }
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        // A router is always ready, and cloning it is counting to one more.
        service.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX))
        .max_headers(HEADER_FIELDS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = draining.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Callers hang up, and heads come too late: nothing that anybody must do something about.
        tracing::debug!(%error, "a connection ended early");
    }
}
