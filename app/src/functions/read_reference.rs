//! The reference of the API, as the server writes it from its own description.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Reads it, as HTML with the address of this server.
#[server(prefix = "/fn", endpoint = "read_reference", input = Json, output = Json)]
pub(crate) async fn read_reference() -> Result<String, Failure> {
    crate::context::Visit::current()?.person()?;
    Ok(crate::context::Developers::current().reference().to_owned())
}
