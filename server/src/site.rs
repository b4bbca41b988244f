//! The built site: script, WebAssembly, style and pictures, inside the binary.
//!
//! `cargo xtask site` writes it to `target/site`. A debug build reads it from there at each request, so that neither a
//! test nor a change of the style compiles anything again; without it the desk works as plain HTML.

use std::borrow::Cow;

use app::SiteFiles;
use axum::{
    extract::Path,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use rust_embed::EmbeddedFile;

#[derive(rust_embed::Embed)]
#[folder = "../target/site/"]
#[allow_missing = true]
struct Site;

/// The list that the build wrote: from a file's name in the sources to its URL path.
const MANIFEST: &str = "manifest.json";

/// What the site in this binary was built from; none where the build put none in. That it is read here makes cargo compile
/// the release binary again when the site has changed.
pub const STAMP: Option<&str> = option_env!("ONCEOVER_SITE_STAMP");

/// A name holds the hash of its content, so what it stands for never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The codings that the build made twins for, best first, with the suffix of the twin's name.
const TWINS: [(&str, &str); 2] = [("br", "br"), ("gzip", "gz")];

/// Where each file of the site is served; empty where no site was built.
#[must_use]
pub fn files() -> SiteFiles {
    Site::get(MANIFEST).and_then(|list| serde_json::from_slice(&list.data).ok()).map(SiteFiles::new).unwrap_or_default()
}

/// `GET /pkg/{file}`: a file of the site in the best coding that the caller takes.
pub async fn serve(Path(file): Path<String>, request: HeaderMap) -> Response {
    // A debug build reads the folder, where `..` would lead out of what is served.
    if file.split('/').any(|part| part.is_empty() || part == "..") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let Some((content, coding)) = find(&file, request.get(ACCEPT_ENCODING)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{}\"", hex::encode(content.metadata.sha256_hash()));

    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, FOR_EVER);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    let known = request.get(IF_NONE_MATCH).is_some_and(|known| is_known(known, &tag));
    headers.extend(HeaderValue::try_from(tag).ok().map(|tag| (ETAG, tag)));
    if known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    let kind = mime_guess::from_path(&file).first_raw().unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let body = match content.data {
        Cow::Borrowed(embedded) => Bytes::from_static(embedded),
        Cow::Owned(read) => Bytes::from(read),
    };
    (headers, body).into_response()
}

/// The file or the twin of it that the caller takes.
fn find(file: &str, accepted: Option<&HeaderValue>) -> Option<(EmbeddedFile, Option<&'static str>)> {
    let accepted = accepted.and_then(|value| value.to_str().ok()).unwrap_or_default();
    TWINS
        .into_iter()
        .filter(|(coding, _)| accepts(accepted, coding))
        .find_map(|(coding, suffix)| Some((Site::get(&format!("pkg/{file}.{suffix}"))?, Some(coding))))
        .or_else(|| Some((Site::get(&format!("pkg/{file}"))?, None)))
}

/// Whether an `Accept-Encoding` names the coding and does not weigh it zero (RFC 9110, section 12.5.3).
fn accepts(header: &str, coding: &str) -> bool {
    header.split(',').any(|choice| {
        let mut parts = choice.split(';').map(str::trim);
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding))
            && !parts.any(|weight| {
                weight.strip_prefix("q=").is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight == 0.0))
            })
    })
}

/// Whether an `If-None-Match` names the tag or any.
fn is_known(header: &HeaderValue, tag: &str) -> bool {
    header.to_str().is_ok_and(|known| {
        known.split(',').map(|known| known.trim().trim_start_matches("W/")).any(|known| known == tag || known == "*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_taken_only_where_it_is_named_and_not_weighed_zero() {
        assert!(accepts("gzip, deflate, br, zstd", "br"));
        assert!(accepts("BR;q=0.1", "br"));
        assert!(!accepts("br;q=0, gzip", "br"));
        assert!(!accepts("br; q=0.000", "br"));
        assert!(!accepts("brotli", "br"));
        assert!(!accepts("", "gzip"));
    }

    #[test]
    fn a_tag_is_known_alone_in_a_list_weak_or_as_any() {
        for header in ["\"a\"", "\"b\", \"a\"", "W/\"a\"", "*"] {
            assert!(is_known(&HeaderValue::from_static(header), "\"a\""), "{header}");
        }
        assert!(!is_known(&HeaderValue::from_static("\"b\""), "\"a\""));
    }

    #[tokio::test]
    async fn a_file_outside_the_site_is_not_served() {
        for file in ["../manifest.json", "../../../Cargo.toml", "nothing.js", ""] {
            let answer = serve(Path(file.to_owned()), HeaderMap::new()).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{file}");
        }
    }
}
