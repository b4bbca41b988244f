//! `POST /logout`: ends the session, here and in the database.

use axum::response::{IntoResponse, Redirect, Response};
use tower_sessions::Session;

use super::{fault, refuse};

/// Answers 303 to `/login`, also to whom was not signed in.
pub(super) async fn post(session: Session) -> Response {
    match session.flush().await {
        Ok(()) => Redirect::to("/login").into_response(),
        Err(error) => refuse(fault(&error)),
    }
}
