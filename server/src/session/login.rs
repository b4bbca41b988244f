//! `POST /login`: signs in.

use std::time::Duration;

use axum::{
    Form,
    extract::State,
    http::{HeaderValue, header::RETRY_AFTER},
    response::{IntoResponse, Redirect, Response},
};
use guard::person::{EMAIL_CHARACTERS_MAX, PASSWORD_BYTES_MAX, Person};
use guard::refusal::Refusal;
use serde::Deserialize;
use tower_sessions::Session;

use super::{Gate, HashFault, path, refuse, visitor::Client};

/// How long somebody waits for whom no password can be hashed now.
pub(super) const BUSY: Duration = Duration::from_secs(2);

/// What the form holds. No `Debug`: it would show the password.
#[derive(Deserialize)]
pub(super) struct Login {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

/// Answers 303 to where the person wanted to go, or back to `/login` with the reason in `refused`: `credentials` or `rate`. An
/// unknown address and a wrong password get the same answer in the same time.
pub(super) async fn post(
    State(gate): State<Gate>,
    client: Client,
    session: Session,
    Form(Login { email, password, next }): Form<Login>,
) -> Response {
    let next = path::local(&next);
    // Typed once is enough; what is too long for an address is not carried along.
    let typed = Some(email.trim()).filter(|email| email.chars().count() <= EMAIL_CHARACTERS_MAX).unwrap_or_default();
    let again = [("email", typed), ("next", next)];
    let counted = gate.inner.limits.address(client.0).and_then(|()| gate.inner.limits.account(&email));
    if let Err(wait) = counted {
        tracing::warn!(client = %client, "sign-in: too many tries");
        return too_many("/login", &again, wait);
    }
    match gate.person_with(&email, password).await {
        Ok(Checked::Known(person)) => match gate.sign_in(&session, &person).await {
            Ok(()) => Redirect::to(next).into_response(),
            Err(refusal) => refuse(refusal),
        },
        Ok(Checked::Stranger) => {
            tracing::warn!(client = %client, "sign-in: the address or the password is wrong");
            refused("/login", "credentials", &again)
        }
        Ok(Checked::Not(HashFault::Busy)) => too_many("/login", &again, BUSY),
        Ok(Checked::Not(HashFault::Broken)) => refuse(Refusal::Store(guard::refusal::StoreFault::Unavailable)),
        Err(refusal) => refuse(refusal),
    }
}

/// What came of an address and a password.
enum Checked {
    Known(Person),
    Stranger,
    Not(HashFault),
}

impl Gate {
    /// The person with this address and password. Whether there is such an address does not change what is done.
    async fn person_with(&self, email: &str, password: String) -> Result<Checked, Refusal> {
        if email.chars().count() > EMAIL_CHARACTERS_MAX || password.len() > PASSWORD_BYTES_MAX {
            return Ok(Checked::Stranger);
        }
        let (person, hash) = self.inner.guard.person_by_email(email).await?.unzip();
        let hash = hash.unwrap_or_else(|| self.inner.decoy.clone());
        Ok(match self.inner.passwords.check(password, hash).await {
            Ok(is_right) => person.filter(|_| is_right).map_or(Checked::Stranger, Checked::Known),
            Err(fault) => Checked::Not(fault),
        })
    }
}

/// Back to the page, with the reason and what was typed already.
pub(super) fn refused(page: &str, reason: &str, typed: &[(&str, &str)]) -> Response {
    let parameters: Vec<_> = [("refused", reason)].iter().chain(typed).copied().collect();
    Redirect::to(&path::with_parameters(page, &parameters)).into_response()
}

/// Back to the page, with the reason `rate` and the time to wait.
pub(super) fn too_many(page: &str, typed: &[(&str, &str)], wait: Duration) -> Response {
    let mut answer = refused(page, "rate", typed);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    answer
}
