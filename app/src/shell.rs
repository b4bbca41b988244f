//! The document around every page.

use std::{collections::BTreeMap, sync::Arc};

use leptos::{nonce::use_nonce, prelude::*};
use leptos_meta::{Link, MetaTags};

use crate::{
    App,
    components::{theme::Theme, zone},
};

/// Where the built site's files are served: from the name that a file has in the sources (`onceover.js`) to its URL
/// path with the hash of its content (`/pkg/onceover.5f0c….js`).
///
/// Leptos's own `hash-files` is not used: it panics on every request when its list does not lie beside the binary.
#[derive(Clone, Debug, Default)]
pub struct SiteFiles(Arc<BTreeMap<String, String>>);

impl SiteFiles {
    /// Takes the list that the build wrote. An empty one gives pages without style and script, which still work.
    #[must_use]
    pub fn new(paths: BTreeMap<String, String>) -> Self {
        Self(Arc::new(paths))
    }

    /// The URL path of a file, or none where it was not built.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Names, in the head of the page in hand, the part of the browser's half that it will need, so that it is fetched with the rest.
///
/// Leptos's own list of parts is not used: it names the loader of the parts without the nonce, and the browser complains.
pub(crate) fn name_part(part: &str) {
    let path =
        use_context::<SiteFiles>().and_then(|files| files.path(&format!("part/{part}.wasm")).map(ToOwned::to_owned));
    if let Some(path) = path {
        let link =
            view! { <Link rel="preload" href=path as_="fetch" type_="application/wasm" crossorigin="anonymous" /> };
        // It goes into the head; where it stands, it is nothing.
        drop(link.to_html());
    }
}

/// The document: what every page shares, around the [`App`].
#[must_use]
pub fn shell(options: LeptosOptions, files: SiteFiles) -> impl IntoView {
    provide_context(options);
    provide_context(files.clone());
    let icon = files.path("icon.svg").map(ToOwned::to_owned);
    let style = files.path("onceover.css").map(ToOwned::to_owned);

    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=Theme::of_request().as_str() data-zone=zone::of_request()>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                {icon.map(|path| view! { <link rel="icon" type="image/svg+xml" href=path /> })}
                {style.map(|path| view! { <link rel="stylesheet" href=path /> })}
                <Hydration files />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The script that loads the browser's half, or nothing where that was not built.
#[component]
fn Hydration(files: SiteFiles) -> impl IntoView {
    let nonce = use_nonce();
    let script = files.path("onceover.js").map(ToOwned::to_owned);
    let module = files.path("onceover.wasm").map(ToOwned::to_owned);
    let loader = files.path("part/load.js").map(ToOwned::to_owned);

    script.zip(module).map(|(script, module)| {
        // The paths are ours: letters, digits, `.`, `-`, `_` and `/`, nothing that could end the string.
        let start = format!(
            "import(\"{script}\").then(half => half.default({{ module_or_path: \"{module}\" }}).then(() => half.hydrate()));"
        );
        view! {
            <link rel="modulepreload" href=script nonce=nonce.clone() />
            <link rel="modulepreload" href=loader nonce=nonce.clone() />
            <link rel="preload" href=module r#as="fetch" r#type="application/wasm" crossorigin="anonymous" />
            <script type="module" nonce=nonce>
                {start}
            </script>
        }
    })
}
