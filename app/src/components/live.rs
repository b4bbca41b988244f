//! News of what changes: one stream for the page that is open, and looking again where there is none.

use leptos::prelude::*;

/// How often a page looks again while no stream tells it what changes, in milliseconds.
#[cfg(feature = "hydrate")]
const LOOK_AGAIN_MS: u64 = 10_000;

/// With a stream, a page looks by itself after so many times of that: news may be lost, and some things change without any.
#[cfg(feature = "hydrate")]
const LOOKS_LEFT_OUT: u32 = 5;

/// What the open page hears. Provided by the frame; all of it stands still without script.
#[derive(Clone, Copy)]
pub(crate) struct Live {
    /// How often there was something to look at.
    told: RwSignal<u32>,
    /// Whether news come by themselves.
    is_streaming: RwSignal<bool>,
    /// Whether somebody wants the page to stand still.
    is_paused: RwSignal<bool>,
}

impl Live {
    /// Listens for as long as the frame stands, the page is seen, and nobody has paused it.
    pub(crate) fn listen(path: Memo<String>) -> Self {
        let live = Self { told: RwSignal::new(0), is_streaming: RwSignal::new(false), is_paused: RwSignal::new(false) };
        #[cfg(feature = "hydrate")]
        browser::listen(live, path);
        #[cfg(not(feature = "hydrate"))]
        let _ = path;
        live
    }

    /// Calls `look` whenever there may be something new.
    pub(crate) fn on_news(self, look: impl Fn() + 'static) {
        Effect::new(move |before: Option<u32>| {
            let told = self.told.get();
            if before.is_some_and(|before| before != told) {
                look();
            }
            told
        });
    }

    /// Whether the page is seen and keeps itself up to date.
    #[cfg(feature = "hydrate")]
    pub(crate) fn is_followed(self) -> bool {
        !self.is_paused.get_untracked() && !document().hidden()
    }

    #[cfg(feature = "hydrate")]
    fn tell(self) {
        self.told.update(|told| *told = told.wrapping_add(1));
    }
}

/// Says whether the page keeps itself up to date, and lets it stand still.
#[component]
pub(crate) fn LiveSwitch(live: Live) -> impl IntoView {
    let state = move || match (live.is_paused.get(), live.is_streaming.get()) {
        (true, _) => "Paused",
        (false, true) => "Live",
        (false, false) => "Every 10 s",
    };
    view! {
        <p class="live">
            <span class="live-state" class:is-live=move || live.is_streaming.get()>
                {state}
            </span>
            <button
                type="button"
                class="is-quiet is-small"
                on:click=move |_| live.is_paused.update(|is_paused| *is_paused = !*is_paused)
            >
                {move || if live.is_paused.get() { "Resume" } else { "Pause" }}
                <span class="hidden">" live updates"</span>
            </button>
        </p>
    }
    .into_any()
}

#[cfg(feature = "hydrate")]
mod browser {
    use std::time::Duration;

    use leptos::prelude::*;
    use wasm_bindgen::{JsCast as _, closure::Closure};
    use web_sys::EventSource;

    use super::{LOOK_AGAIN_MS, LOOKS_LEFT_OUT, Live};

    /// An open stream, with what it calls; closed when it is dropped.
    struct Stream {
        source: EventSource,
        _calls: [Closure<dyn FnMut()>; 3],
    }

    impl Stream {
        /// A stream from this address; none where the browser knows no such thing.
        fn open(address: &str, live: Live) -> Option<Self> {
            let source = EventSource::new(address).ok()?;
            let opened = Closure::new(move || live.is_streaming.set(true));
            let told = Closure::new(move || live.tell());
            let failed = Closure::new(move || live.is_streaming.set(false));
            source.set_onopen(Some(opened.as_ref().unchecked_ref()));
            source.set_onerror(Some(failed.as_ref().unchecked_ref()));
            source.add_event_listener_with_callback("change", told.as_ref().unchecked_ref()).ok()?;
            Some(Self { source, _calls: [opened, told, failed] })
        }

        /// Whether the browser has given it up.
        fn is_over(&self) -> bool {
            self.source.ready_state() == EventSource::CLOSED
        }
    }

    impl Drop for Stream {
        fn drop(&mut self) {
            self.source.close();
        }
    }

    /// What to listen to on the page with this path: on that of an operation, to the operation alone.
    fn address(path: &str) -> String {
        match path.strip_prefix("/operations/").map(|rest| rest.split('/').next().unwrap_or_default()) {
            Some(operation) => format!("/desk/events?operation={operation}"),
            None => "/desk/events".to_owned(),
        }
    }

    pub(super) fn listen(live: Live, path: Memo<String>) {
        let is_seen = RwSignal::new(!document().hidden());
        let handle = window_event_listener_untyped("visibilitychange", move |_| is_seen.set(!document().hidden()));
        on_cleanup(move || handle.remove());

        let stream = StoredValue::new_local(None::<Stream>);
        let address = Memo::new(move |_| path.with(|path| address(path)));
        let wanted = Memo::new(move |_| (is_seen.get() && !live.is_paused.get()).then(|| address.get()));
        let open = move |address: Option<String>| {
            // The old one first: a browser holds few connections.
            stream.set_value(None);
            live.is_streaming.set(false);
            stream.set_value(address.and_then(|address| Stream::open(&address, live)));
        };
        Effect::new(move |before: Option<Option<String>>| {
            let wanted = wanted.get();
            open(wanted.clone());
            // Seen again, or resumed: what came meanwhile is looked at.
            if before == Some(None) && wanted.is_some() {
                live.tell();
            }
            wanted
        });

        let left_out = StoredValue::new(0_u32);
        let look = move || {
            let Some(address) = wanted.get_untracked() else { return };
            if live.is_streaming.get_untracked() && left_out.get_value() < LOOKS_LEFT_OUT {
                left_out.update_value(|times| *times += 1);
                return;
            }
            left_out.set_value(0);
            live.tell();
            if stream.with_value(|stream| stream.as_ref().is_none_or(Stream::is_over)) {
                open(Some(address));
            }
        };
        if let Ok(handle) = set_interval_with_handle(look, Duration::from_millis(LOOK_AGAIN_MS)) {
            on_cleanup(move || handle.clear());
        }
    }
}
