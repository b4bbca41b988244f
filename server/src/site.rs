//! The built site: script, WebAssembly, style and pictures, inside the binary.
//!
//! `cargo xtask site` writes it to `target/site`. A debug build reads it from there at each request, so that neither a
//! test nor a change of the style compiles anything again; without it the desk works as plain HTML.

use app::SiteFiles;
use axum::{
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Response},
};

#[derive(rust_embed::Embed)]
#[folder = "../target/site/"]
#[allow_missing = true]
struct Site;

/// The list that the build wrote: from a file's name in the sources to its URL path.
const MANIFEST: &str = "manifest.json";

/// Where each file of the site is served; empty where no site was built.
#[must_use]
pub fn files() -> SiteFiles {
    Site::get(MANIFEST)
        .and_then(|list| serde_json::from_slice(&list.data).ok())
        .map(SiteFiles::new)
        .unwrap_or_default()
}

/// `GET /pkg/{file}`
pub async fn serve(Path(file): Path<String>) -> Response {
    match Site::get(&format!("pkg/{file}")) {
        Some(found) => found.data.into_owned().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
