//! The whole URL space on one page.

use axum::{Router, routing::get};

use crate::{desk, site};

/// Every path that this server answers.
pub fn router() -> Router {
    Router::new().route("/pkg/{*file}", get(site::serve)).merge(desk::routes())
}
