//! The session's cookie.

use axum::{
    extract::State,
    http::{HeaderValue, header::SET_COOKIE},
    response::Response,
};

/// A browser takes a cookie of this name only by TLS, for this host alone and with the path `/`.
const SECURE_NAME: &str = "__Host-onceover";

/// Without TLS, which is for one's own machine.
const PLAIN_NAME: &str = "onceover";

/// The name of the cookie.
pub(super) const fn name(is_secure: bool) -> &'static str {
    if is_secure { SECURE_NAME } else { PLAIN_NAME }
}

/// Makes the answer that takes the cookie away secure too: tower-sessions leaves that out, and a browser ignores whatever sets a
/// `__Host-` cookie without it.
pub(super) async fn secure(State(is_secure): State<bool>, mut answer: Response) -> Response {
    if !is_secure {
        return answer;
    }
    let cookies = answer.headers_mut().iter_mut().filter(|(name, _)| *name == SET_COOKIE);
    for (_, cookie) in cookies {
        let Ok(text) = cookie.to_str() else { continue };
        let is_lacking = text.starts_with(SECURE_NAME) && !text.split(';').any(|part| part.trim() == "Secure");
        if let Some(secured) = is_lacking.then(|| HeaderValue::try_from(format!("{text}; Secure")).ok()).flatten() {
            *cookie = secured;
        }
    }
    answer
}
