//! What the sign-in page has to know. Not a server function: only the server, rendering that page for a stranger, asks.

use crate::failure::Failure;

/// Whether there is nobody yet who could sign in.
#[cfg(feature = "ssr")]
pub(crate) async fn is_first_start() -> Result<bool, Failure> {
    let visit = crate::context::Visit::current()?;
    Ok(visit.guard.people().await?.is_empty())
}

/// The browser has the answer of the server that rendered the page.
#[cfg(not(feature = "ssr"))]
pub(crate) async fn is_first_start() -> Result<bool, Failure> {
    Ok(false)
}
