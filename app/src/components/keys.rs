//! Keys: what a hand can do without the mouse. Pages take part by attributes alone.
//!
//! `data-key="e"` on a link, a button or a choice: the key clicks it, in the row that has the focus where there is one, otherwise the
//! first on the page. The keys of outcomes decide nothing: they make a choice, or lead into the form that has the attribute. `data-go="o"`
//! on a link of the navigation: `g`, then the letter. Rows of tables that have a link, and whatever has `data-row`, are walked with `j`
//! and `k`. What is disabled is not clicked.

use leptos::{html, prelude::*};

/// Keys that belong together, what they do, and what must be on the page for them to do it (a selector).
struct Keys {
    keys: &'static [&'static str],
    does: &'static str,
    needs: &'static str,
}

const fn keys(keys: &'static [&'static str], does: &'static str, needs: &'static str) -> Keys {
    Keys { keys, does, needs }
}

/// What is walked with `j` and `k`.
const ROWS: &str = "main tbody tr:has(a[href]), main [data-row]";

/// Where a search is written.
const SEARCH: &str = "main [data-key='/'], main form[role=search] input:not([type=hidden])";

/// Every key, as the list shows it.
const TABLE: [Keys; 20] = [
    keys(&["?"], "Show the keys of this page", "body"),
    keys(&["/"], "Search", SEARCH),
    keys(&["j"], "To the next row", ROWS),
    keys(&["k"], "To the row before", ROWS),
    keys(&["Enter"], "Open the row", ROWS),
    keys(&["x"], "Select the row", "main tbody tr input[type=checkbox], main [data-row] input[type=checkbox]"),
    keys(&["e"], "Claim", "main [data-key=e]"),
    keys(&["l"], "Look up now", "main [data-key=l]"),
    keys(&["1", "2", "3", "4"], "Choose an outcome", "main [data-key='1']"),
    keys(&["["], "The one before in the queue", "main [data-key='[']"),
    keys(&["]"], "The next one in the queue", "main [data-key=']']"),
    keys(&["g", "h"], "Go to the overview", "[data-go=h]"),
    keys(&["g", "o"], "Go to the operations", "[data-go=o]"),
    keys(&["g", "u"], "Go to what is unknown", "[data-go=u]"),
    keys(&["g", "c"], "Go to the conflicts", "[data-go=c]"),
    keys(&["g", "a"], "Go to the amendments", "[data-go=a]"),
    keys(&["g", "m"], "Go to the metrics", "[data-go=m]"),
    keys(&["g", "y"], "Go to the activity", "[data-go=y]"),
    keys(&["g", "d"], "Go to the developers' pages", "[data-go=d]"),
    keys(&["g", "s"], "Go to the settings", "[data-go=s]"),
];

/// The keys of the desk: listens while the frame stands, and lists them.
#[component]
pub(crate) fn KeyList() -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let is_open = RwSignal::new(false);
    let is_on = RwSignal::new(true);
    let open = move || {
        if let Some(dialog) = dialog.get_untracked() {
            is_open.set(true);
            // It stands open already where it refuses.
            let _ = dialog.show_modal();
        }
    };
    #[cfg(feature = "hydrate")]
    browser::listen(is_on, open);
    let choose = move |event: leptos::ev::Event| {
        is_on.set(event_target_checked(&event));
        #[cfg(feature = "hydrate")]
        browser::keep(is_on.get_untracked());
    };
    let list = move || {
        is_open.get().then(|| {
            view! {
                <h2 id="keys-title">"Keys of this page"</h2>
                <dl>{TABLE.iter().filter(|keys| is_there(keys.needs)).map(row).collect_view()}</dl>
                <label class="keys-switch">
                    <input type="checkbox" prop:checked=move || is_on.get() on:change=choose />
                    "Keys without Ctrl or Alt"
                </label>
                <form method="dialog">
                    <button type="submit">"Close"</button>
                </form>
            }
        })
    };
    view! {
        <button type="button" class="keys-open is-quiet is-small" on:click=move |_| open()>
            "Keys"
        </button>
        <dialog class="keys" aria-labelledby="keys-title" node_ref=dialog on:close=move |_| is_open.set(false)>
            {list}
        </dialog>
    }
    .into_any()
}

fn row(keys: &Keys) -> impl IntoView + use<> {
    let pressed = keys.keys.iter().map(|key| view! { <kbd>{*key}</kbd> " " }).collect_view();
    view! {
        <div>
            <dt>{pressed}</dt>
            <dd>{keys.does}</dd>
        </div>
    }
}

fn is_there(selector: &str) -> bool {
    document().query_selector(selector).is_ok_and(|found| found.is_some())
}

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;
    use web_sys::{Element, HtmlElement, KeyboardEvent};

    use super::{ROWS, SEARCH};

    /// After `g` the next key says where to go, for this long in milliseconds.
    const GO_MS: f64 = 1_500.0;
    /// Under this name the browser remembers that single keys are turned off.
    const KEPT: &str = "onceover-keys";
    const OFF: &str = "off";

    /// Where the keys are written down for the next page, and not only for this one.
    pub(super) fn keep(is_on: bool) {
        // A browser that keeps nothing forgets it.
        let Ok(Some(storage)) = window().local_storage() else { return };
        let _ = if is_on { storage.remove_item(KEPT) } else { storage.set_item(KEPT, OFF) };
    }

    pub(super) fn listen(is_on: RwSignal<bool>, open: impl Fn() + 'static) {
        Effect::new(move || {
            let kept =
                window().local_storage().ok().flatten().and_then(|storage| storage.get_item(KEPT).ok().flatten());
            is_on.set(kept.as_deref() != Some(OFF));
        });
        let going_since = StoredValue::new(None::<f64>);
        let handle = window_event_listener(leptos::ev::keydown, move |event: KeyboardEvent| {
            if !is_on.get_untracked() || !is_meant(&event) {
                return;
            }
            let key = event.key();
            let is_going = going_since.get_value().is_some_and(|since| event.time_stamp() - since < GO_MS);
            going_since.set_value(None);
            let is_done = match key.as_str() {
                _ if is_going => click(find(&format!("[data-go='{}']", plain(&key)))),
                "g" => {
                    going_since.set_value(Some(event.time_stamp()));
                    true
                }
                "?" => {
                    open();
                    true
                }
                "/" => focus(find(SEARCH)),
                "j" => walk(1),
                "k" => walk(-1),
                "x" => click(row().and_then(|row| row.query_selector("input[type=checkbox]").ok().flatten())),
                "e" | "l" | "[" | "]" => click(keyed(&key)),
                "1" | "2" | "3" | "4" => choose(keyed(&key)),
                _ => false,
            };
            if is_done {
                event.prevent_default();
            }
        });
        on_cleanup(move || handle.remove());
    }

    /// Whether a key is pressed by itself, and not to write something or inside of a dialog.
    fn is_meant(event: &KeyboardEvent) -> bool {
        const WRITES: &str =
            "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog[open] *";
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let is_alone = !(event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing());
        let is_elsewhere = event.default_prevented()
            || target.is_some_and(|target| target.closest(WRITES).is_ok_and(|found| found.is_some()))
            || find("dialog[open]").is_some();
        is_alone && !is_elsewhere
    }

    /// A key that may stand in a selector.
    fn plain(key: &str) -> &str {
        if key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_lowercase()) { key } else { "" }
    }

    fn find(selector: &str) -> Option<Element> {
        document().query_selector(selector).ok().flatten()
    }

    /// The row that has the focus.
    fn row() -> Option<Element> {
        document().active_element()?.closest(ROWS).ok().flatten()
    }

    /// What a key is for: in the row that has the focus, otherwise the first on the page.
    fn keyed(key: &str) -> Option<Element> {
        let selector = format!("[data-key='{key}']");
        let near = row().and_then(|row| row.query_selector(&selector).ok().flatten());
        near.or_else(|| find(&format!("main {selector}")))
    }

    /// Chooses an outcome, and decides nothing: a choice is made, of a form the first field has the focus.
    fn choose(element: Option<Element>) -> bool {
        const FIELDS: &str = ":is(input:not([type=hidden]), textarea, button):not(:disabled)";
        let Some(element) = element else { return false };
        let is_choice = element.matches(FIELDS).unwrap_or(false);
        if !is_choice {
            return focus(element.query_selector(FIELDS).ok().flatten());
        }
        click(Some(element.clone())) && focus(Some(element))
    }

    fn click(element: Option<Element>) -> bool {
        let usable = element.filter(|element| !element.matches(":disabled, [aria-disabled=true]").unwrap_or(true));
        let Some(element) = usable.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return false };
        element.click();
        true
    }

    fn focus(element: Option<Element>) -> bool {
        element
            .and_then(|element| element.dyn_into::<HtmlElement>().ok())
            .is_some_and(|element| element.focus().is_ok())
    }

    /// Sets the focus on the link of the row that is so many rows further on.
    fn walk(by: i32) -> bool {
        let Ok(rows) = document().query_selector_all(ROWS) else { return false };
        let rows =
            (0..rows.length()).filter_map(|index| rows.get(index)?.dyn_into::<Element>().ok()).collect::<Vec<_>>();
        let at = row().and_then(|row| rows.iter().position(|other| *other == row));
        let next = match (at, by) {
            (Some(at), 1) => at + 1,
            (Some(at), _) => at.wrapping_sub(1),
            (None, _) => 0,
        };
        let link = rows.get(next).and_then(|row| row.query_selector("th a[href], a[href]").ok().flatten());
        focus(link)
    }
}
