//! The HTTP client of a destination: one request, one answer, bounded, never repeated by itself.

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use guard::destination::Destination;
use guard::lookup::AnswerClass;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Pool, Error as PoolError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

/// A connection is awaited at most this long, in seconds, and never longer than half of the destination's own time: whoever runs
/// out of it has sent nothing, which is worth knowing.
const CONNECT_SECONDS_MAX: u64 = 5;

/// A connection that waits for the next request is given up after this time, in seconds: before common servers give it up, so that
/// no request is written into a connection that is just being closed.
const IDLE_SECONDS_MAX: u64 = 4;

/// This many connections to one destination are kept for the next request.
const IDLE_CONNECTIONS_MAX: usize = 32;

/// Who asks.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("onceover/", env!("CARGO_PKG_VERSION")));

/// A client for a destination.
///
/// It follows no redirect (another address is another destination, and would get this one's secrets), goes through no proxy that a
/// variable of the environment names, and never writes a request twice: one that is taken up again had not been begun.
pub type Client = Pool<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client for a destination.
///
/// # Errors
/// Why there is none.
pub fn client(destination: &Destination) -> Result<Client, String> {
    client_within(Duration::from_secs(destination.timeout_seconds.into()))
}

/// A client whose answers are awaited for this time.
///
/// # Errors
/// Why there is none.
pub fn client_within(time: Duration) -> Result<Client, String> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(Duration::from_secs(CONNECT_SECONDS_MAX).min(time / 2)));
    let tls = HttpsConnectorBuilder::new().with_tls_config(TLS.clone()?).https_or_http().enable_http1();
    Ok(Pool::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS_MAX))
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .build(tls.wrap_connector(tcp)))
}

/// TLS with the roots of the system (or of `SSL_CERT_FILE`); with none of them every certificate is refused.
static TLS: LazyLock<Result<ClientConfig, String>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some of the system's certificates cannot be read");
    }
    roots.add_parsable_certificates(found.certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(versions.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
});

/// An answer, as far as it came.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, or why there is none.
    pub body: Result<Bytes, Failed>,
}

/// Why no answer came, or none that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What kind of failure it is.
    pub class: AnswerClass,
    /// What happened, in a sentence.
    pub reason: String,
    /// Whether it is proven that not a byte of the request was written.
    pub is_unsent: bool,
}

/// Sends a request and reads its answer, all within `time`; of the body at most `bytes_max`.
///
/// # Errors
/// Why no status came.
pub async fn send(
    client: &Client,
    mut request: Request<Full<Bytes>>,
    time: Duration,
    bytes_max: usize,
) -> Result<Answer, Failed> {
    request.headers_mut().entry(header::USER_AGENT).or_insert(USER_AGENT);
    let end = tokio::time::Instant::now() + time;
    let late = || Failed {
        class: AnswerClass::Timeout,
        reason: format!("no whole answer within {} seconds", time.as_secs()),
        is_unsent: false,
    };
    let response = match tokio::time::timeout_at(end, client.request(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unanswered(&error)),
        Err(_) => return Err(late()),
    };
    let (head, body) = response.into_parts();
    let body = tokio::time::timeout_at(end, read(body, bytes_max)).await.unwrap_or_else(|_| Err(late()));
    Ok(Answer { status: head.status, headers: head.headers, body })
}

async fn read(mut body: Incoming, bytes_max: usize) -> Result<Bytes, Failed> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let reason = format!("the connection broke within the answer: {}", innermost(&error));
            Failed { class: AnswerClass::Unreachable, reason, is_unsent: false }
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > bytes_max {
            let reason = format!("the answer has over {bytes_max} bytes");
            return Err(Failed { class: AnswerClass::TooLarge, reason, is_unsent: false });
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

fn unanswered(error: &PoolError) -> Failed {
    let is_unsent = error.is_connect();
    if let Some(wrong) = certificate_fault(error) {
        let reason = format!("its certificate is not one to trust: {wrong}");
        return Failed { class: AnswerClass::Certificate, reason, is_unsent };
    }
    let what = if is_unsent { "no connection" } else { "the connection broke" };
    let reason = format!("{what}: {}", innermost(error));
    Failed { class: AnswerClass::Unreachable, reason, is_unsent }
}

/// What is wrong with the certificate, where that is at the bottom of an error.
fn certificate_fault(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(wrong)) => return Some(wrong.to_string()),
        Some(rustls::Error::NoCertificatesPresented) => return Some("there is none".to_owned()),
        // Whatever else goes wrong in TLS says nothing of certificates.
        Some(_) | None => {}
    }
    // An IO error does not name what it carries as its source.
    if let Some(carried) = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        return certificate_fault(carried);
    }
    certificate_fault(error.source()?)
}

/// The cause at the bottom: what is above repeats it.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
