//! Pages that look again by themselves, and say since when their picture is.

use guard::{clock::Timestamp, queue::Page, view::OperationView};
use leptos::prelude::*;

use super::{age::AsOf, live::Live};
use crate::wording;

/// What a hand or a keyboard may be at: nothing moves under it.
#[cfg(feature = "hydrate")]
const AT_HAND: &str =
    "main :is(a, button):hover, main :is(a, button, input, select, textarea, summary):focus, #decide:focus";

/// How often a page looks at what changes without that anything tells of it, in milliseconds.
#[cfg(feature = "hydrate")]
const LOOK_OFTEN_MS: u64 = 5_000;

/// Looks again whenever something may have changed, as long as the page that asks stands and is seen. Without script, nothing looks.
pub(crate) fn look_again(look: impl Fn() + 'static) {
    if let Some(live) = use_context::<Live>() {
        live.on_news(look);
    }
}

/// Looks again every few seconds, as long as the page that asks stands, is seen and is not paused: for what changes without that anything
/// tells of it.
pub(crate) fn look_often(look: impl Fn() + 'static) {
    #[cfg(feature = "hydrate")]
    if let Some(live) = use_context::<Live>() {
        let every = std::time::Duration::from_millis(LOOK_OFTEN_MS);
        let look = move || {
            if live.is_followed() {
                look();
            }
        };
        if let Ok(handle) = set_interval_with_handle(look, every) {
            on_cleanup(move || handle.clear());
        }
    }
    #[cfg(not(feature = "hydrate"))]
    drop(look);
}

/// Where something is written or chosen.
#[cfg(feature = "hydrate")]
const WRITTEN: &str = "main :is(input, textarea)";

/// Whether somebody is at something on the page, or has written something that is not sent yet.
pub(crate) fn is_in_use() -> bool {
    #[cfg(feature = "hydrate")]
    let is_in_use = document().query_selector(AT_HAND).is_ok_and(|found| found.is_some()) || has_draft();
    #[cfg(not(feature = "hydrate"))]
    let is_in_use = false;
    is_in_use
}

#[cfg(feature = "hydrate")]
fn has_draft() -> bool {
    use wasm_bindgen::JsCast as _;
    use web_sys::{HtmlInputElement, HtmlTextAreaElement};

    let Ok(fields) = document().query_selector_all(WRITTEN) else { return false };
    (0..fields.length()).filter_map(|index| fields.get(index)).any(|field| {
        if let Some(text) = field.dyn_ref::<HtmlTextAreaElement>() {
            return text.default_value().is_ok_and(|default| default != text.value());
        }
        field.dyn_ref::<HtmlInputElement>().is_some_and(|input| match input.type_().as_str() {
            "checkbox" | "radio" => input.checked() != input.default_checked(),
            _ => input.value() != input.default_value(),
        })
    })
}

/// What a later look at a list has that the page does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    new: usize,
    changed: usize,
    gone: usize,
}

impl News {
    /// Compares the rows that are shown with those that were seen later.
    pub(crate) fn between(shown: &[OperationView], seen: &Page<OperationView>) -> Self {
        let find = |rows: &[OperationView], wanted: &OperationView| rows.iter().position(|row| row.id == wanted.id);
        let mut news = Self::default();
        for row in &seen.rows {
            match find(shown, row).and_then(|index| shown.get(index)) {
                None => news.new += 1,
                Some(known) => news.changed += usize::from(known != row),
            }
        }
        // Behind a full page there are more: what is missing may only have been pushed there.
        if seen.next.is_none() {
            news.gone = shown.iter().filter(|row| find(&seen.rows, row).is_none()).count();
        }
        news
    }

    /// Whether rows came or went, so that others would move.
    pub(crate) const fn moves(self) -> bool {
        self.new > 0 || self.gone > 0
    }

    /// In a few words; none where nothing is new.
    fn words(self) -> Option<String> {
        let parts = [(self.new, "new"), (self.changed, "changed"), (self.gone, "gone")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, word)| format!("{} {word}", wording::number(*count as u64))).collect::<Vec<_>>();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// When the picture was true, and what came since, to be shown once somebody wants it.
#[component]
pub(crate) fn Freshness(
    /// When the page was read.
    as_of: Timestamp,
    /// The rows that it shows.
    shown: Vec<OperationView>,
    /// What was seen later, and when.
    #[prop(into)]
    seen: Signal<Option<(Timestamp, Page<OperationView>)>>,
    /// Shows it.
    show: Callback<()>,
) -> impl IntoView {
    let news = Memo::new(move |_| {
        seen.with(|seen| match seen {
            Some((at, page)) if *at > as_of => (*at, News::between(&shown, page)),
            Some(_) | None => (as_of, News::default()),
        })
    });
    let held = move || {
        let (at, news) = news.get();
        // What is shown is as old as it was, as long as something newer waits.
        let at = if news == News::default() { at } else { as_of };
        view! { <AsOf at /> }
    };
    let waiting = move || {
        let words = news.get().1.words()?;
        Some(view! {
            <button type="button" class="is-quiet is-small" on:click=move |_| show.run(())>
                {words}
                ": show"
            </button>
        })
    };
    view! {
        <div class="fresh">
            <div role="status">{waiting}</div>
            {held}
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(document: &str) -> OperationView {
        serde_json::from_value(serde_json::json!({
            "id": format!("0192f0c1-2345-7890-abcd-0123456789{document}"),
            "key": {
                "workflow": "handoff", "company": "acme", "source_system": "shop", "document": document, "action": "create",
                "revision": 1
            },
            "sentence": "hand it over", "state": "awaiting_approval", "version": 1,
            "fingerprint": format!("sha256:{}", "0".repeat(64)), "policy_version": 1, "attempt": 0, "external_reference": document,
            "duplicates_prevented": 0, "open_conflicts": 0,
            "created_at": "2026-03-01T00:00:00Z", "updated_at": "2026-03-01T00:00:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn news_are_what_came_changed_and_went() {
        let shown = [row("aa"), row("bb"), row("cc")];
        let mut changed = row("bb");
        changed.version = 2;
        let seen = Page { rows: vec![row("dd"), row("aa"), changed], next: None };
        let news = News::between(&shown, &seen);
        assert_eq!(news.words().as_deref(), Some("1 new, 1 changed, 1 gone"));
        assert!(news.moves());
        assert_eq!(News::between(&shown, &Page { rows: shown.to_vec(), next: None }), News::default());
    }
}
