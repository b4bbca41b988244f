//! `POST /welcome`: the first start. Whoever holds the link makes the first administrator.

use std::time::Duration;

use axum::{
    Form,
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use guard::actor::Actor;
use guard::person::{PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN, Person, Role};
use guard::refusal::{Refusal, StoreFault};
use guard::token::Reach;
use serde::Deserialize;
use tower_sessions::Session;

use super::{
    Gate, HashFault,
    login::{BUSY, refused, too_many},
    path, refuse,
    visitor::Client,
};

/// What the form holds. No `Debug`: it would show the password.
#[derive(Deserialize)]
pub(super) struct Welcome {
    link: String,
    email: String,
    password: String,
    password_again: String,
}

/// Why nobody was made.
#[derive(Debug)]
enum Unwelcome {
    /// The link is wrong, was used, or somebody exists already.
    Link,
    /// The address is none.
    Email,
    /// The password is too short.
    Short,
    /// The password is too long.
    Long,
    /// The two passwords differ.
    Differ,
    /// Too many tries, or too many hashes at a time.
    Rate(Duration),
    /// Something failed.
    Fault(Refusal),
}

impl From<Refusal> for Unwelcome {
    fn from(refusal: Refusal) -> Self {
        Self::Fault(refusal)
    }
}

/// Answers 303 to the desk, signed in; or back to `/welcome` with the reason in `refused`: `link`, `email`, `short`, `long`,
/// `differ` or `rate`.
pub(super) async fn post(
    State(gate): State<Gate>,
    client: Client,
    session: Session,
    Form(form): Form<Welcome>,
) -> Response {
    let typed = [("link", form.link.clone()), ("email", form.email.trim().to_owned())];
    let typed = typed.each_ref().map(|(name, text)| (*name, text.as_str()));
    let again = |reason| refused("/welcome", reason, &typed);
    let person = match gate.welcome(&client, form).await {
        Ok(person) => person,
        Err(Unwelcome::Link) => {
            tracing::warn!(client = %client, "first start: not the link, or somebody exists already");
            return refused("/welcome", "link", &[]);
        }
        Err(Unwelcome::Email) => return again("email"),
        Err(Unwelcome::Short) => return again("short"),
        Err(Unwelcome::Long) => return again("long"),
        Err(Unwelcome::Differ) => return again("differ"),
        Err(Unwelcome::Rate(wait)) => return too_many("/welcome", &typed, wait),
        Err(Unwelcome::Fault(refusal)) => return refuse(refusal),
    };
    match gate.sign_in(&session, &person).await {
        Ok(()) => Redirect::to(path::HOME).into_response(),
        Err(refusal) => refuse(refusal),
    }
}

impl Gate {
    async fn welcome(&self, client: &Client, form: Welcome) -> Result<Person, Unwelcome> {
        self.inner.limits.address(client.0).map_err(Unwelcome::Rate)?;
        if !self.inner.first_start.opens(&form.link).await? {
            return Err(Unwelcome::Link);
        }
        if form.password != form.password_again {
            return Err(Unwelcome::Differ);
        }
        if form.password.chars().count() < PASSWORD_CHARACTERS_MIN {
            return Err(Unwelcome::Short);
        }
        if form.password.len() > PASSWORD_BYTES_MAX {
            return Err(Unwelcome::Long);
        }
        let hash = self.inner.passwords.make(form.password).await.map_err(|fault| match fault {
            HashFault::Busy => Unwelcome::Rate(BUSY),
            HashFault::Broken => Unwelcome::Fault(Refusal::Store(StoreFault::Unavailable)),
        })?;
        let added = self
            .inner
            .guard
            .add_person(&form.email, Role::Admin, Reach::EVERYTHING, hash, true, &Actor::FirstStart)
            .await;
        match added {
            Ok(person) => {
                self.inner.first_start.end();
                Ok(person)
            }
            // Somebody was first, in this process or another.
            Err(Refusal::Taken { .. }) => {
                self.inner.first_start.end();
                Err(Unwelcome::Link)
            }
            Err(Refusal::InvalidField { .. }) => Err(Unwelcome::Email),
            Err(refusal) => Err(Unwelcome::Fault(refusal)),
        }
    }
}
