//! Which headers go through, and which never do.

use axum::http::header::{self, HeaderMap, HeaderName};

/// Of one connection alone (RFC 9110, section 7.6.1), with what older clients send.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Of the caller's, what is for this server alone: its token and cookies above all, who stands before it, and what is made anew for the
/// request that goes out. The coding of the answer is not the caller's to choose, since the answer is read here.
const OURS: [HeaderName; 12] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::HOST,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::ACCEPT_ENCODING,
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
];

/// What starts so is between the caller and this server.
const OURS_PREFIXES: [&str; 2] = ["onceover-", "x-forwarded-"];

/// Of the destination's, what is about its own site and would be taken as said of this one. Its cookies are a session of the account
/// that all callers share.
const THEIRS: [HeaderName; 10] = [
    header::SET_COOKIE,
    header::CONTENT_LENGTH,
    header::CONTENT_SECURITY_POLICY,
    header::STRICT_TRANSPORT_SECURITY,
    header::ALT_SVC,
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("idempotency-replayed"),
    HeaderName::from_static("access-control-allow-origin"),
    HeaderName::from_static("access-control-allow-credentials"),
];

/// What is kept of an answer's headers for repetitions: what its body means, and where the record is.
pub const KEPT: [HeaderName; 6] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::LOCATION,
    header::LINK,
    header::ETAG,
];

/// What of the caller's headers goes to the destination.
pub fn outgoing(headers: &HeaderMap) -> HeaderMap {
    let is_ours =
        |name: &HeaderName| OURS.contains(name) || OURS_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix));
    through(headers, is_ours)
}

/// What of the destination's headers goes to the caller.
pub fn incoming(headers: &HeaderMap) -> HeaderMap {
    through(headers, |name| THEIRS.contains(name) || name.as_str().starts_with("onceover-"))
}

fn through(headers: &HeaderMap, is_held_back: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let goes = |name: &HeaderName| !HOP_BY_HOP.contains(name) && !named.contains(name) && !is_held_back(name);
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| goes(name)) {
        passed.append(name.clone(), value.clone());
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn nothing_of_this_server_goes_out() {
        let sent = headers(&[
            ("authorization", "Bearer of-the-guard"),
            ("cookie", "session=1"),
            ("host", "guard.example"),
            ("content-length", "12"),
            ("accept-encoding", "gzip"),
            ("onceover-company", "acme"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("x-request-id", "r-1"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("proxy-authorization", "Basic eA=="),
            ("content-type", "application/json"),
            ("accept", "application/json"),
            ("prefer", "return=representation"),
            ("x-tenant", "7"),
            ("x-tenant", "8"),
        ]);
        let passed = outgoing(&sent);
        assert_eq!(names(&passed), ["accept", "content-type", "prefer", "x-tenant"]);
        assert_eq!(passed.get_all("x-tenant").iter().count(), 2, "every line of it");
    }

    #[test]
    fn what_is_about_the_other_site_stays_there() {
        let answered = headers(&[
            ("set-cookie", "session=of-the-shared-account"),
            ("strict-transport-security", "max-age=1"),
            ("content-security-policy", "default-src *"),
            ("onceover-decision", "replay"),
            ("idempotency-replayed", "true"),
            ("keep-alive", "timeout=5"),
            ("content-length", "2"),
            ("content-type", "application/json"),
            ("location", "/tasks/907"),
            ("retry-after", "3"),
        ]);
        assert_eq!(names(&incoming(&answered)), ["content-type", "location", "retry-after"]);
    }
}
