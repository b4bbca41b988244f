//! The time zone in which moments are shown. The server writes UTC; the browser writes them again, by `Intl`, once it has taken over.

use guard::clock::Timestamp;
use leptos::{prelude::*, server_fn::ServerFn as _};

use crate::{functions::choose_zone::ChooseZone, wording};

/// The zone of whoever looks, as the form and the address name it.
pub(crate) const BROWSER: &str = "browser";
/// Coordinated universal time, which is shown where nothing is chosen.
pub(crate) const UTC: &str = "UTC";
/// The name of the choice in an address and in the cookie.
pub(crate) const PARAMETER: &str = "tz";

/// Zones that the form offers; any other can be written.
const OFFERED: [&str; 16] = [
    UTC,
    BROWSER,
    "Europe/London",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Madrid",
    "Europe/Warsaw",
    "Africa/Johannesburg",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
    "America/New_York",
    "America/Chicago",
    "America/Los_Angeles",
    "America/Sao_Paulo",
];

/// The zone in which moments are shown; the server's until the browser has taken over.
#[derive(Clone, Copy)]
pub(crate) struct Zone(RwSignal<Option<String>>);

impl Zone {
    /// What is chosen, by the address or by the cookie. `query` is the address's.
    pub(crate) fn provide(query: Memo<leptos_router::params::ParamsMap>) {
        let zone = Self(RwSignal::new(None));
        provide_context(zone);
        // Effects run in the browser alone, and after the page was taken over as the server wrote it.
        Effect::new(move || {
            let asked = query.with(|query| query.get(PARAMETER));
            let root = document().document_element();
            let kept = root.and_then(|root| root.get_attribute("data-zone"));
            zone.0.set(asked.or(kept).filter(|name| name != UTC));
        });
    }

    /// A moment to the second, with its zone.
    fn moment(self, at: Timestamp) -> String {
        self.0.with(|zone| zone.as_deref().and_then(|zone| in_zone(at, zone))).unwrap_or_else(|| wording::moment(at))
    }
}

/// A moment to the second in the zone that is chosen, with the zone; UTC where there is no choice, or no such zone.
pub(crate) fn moment(at: Timestamp) -> String {
    use_context::<Zone>().map_or_else(|| wording::moment(at), |zone| zone.moment(at))
}

/// The same without the day.
pub(crate) fn time_of_day(at: Timestamp) -> String {
    let moment = moment(at);
    moment.split_once(' ').map(|(_, time)| time.to_owned()).unwrap_or(moment)
}

#[cfg(feature = "hydrate")]
fn in_zone(at: Timestamp, zone: &str) -> Option<String> {
    use js_sys::{Array, Function, Intl::DateTimeFormat, Object, Reflect};
    use wasm_bindgen::{JsCast as _, JsValue};

    let options = Object::new();
    let settings = [
        ("year", "numeric"),
        ("month", "2-digit"),
        ("day", "2-digit"),
        ("hour", "2-digit"),
        ("minute", "2-digit"),
        ("second", "2-digit"),
        ("timeZoneName", "short"),
    ];
    let named = (zone != BROWSER).then_some(("timeZone", zone));
    for (name, value) in settings.into_iter().chain(named) {
        Reflect::set(&options, &name.into(), &value.into()).ok()?;
    }
    // Not by its constructor: of a zone that does not exist it would throw through this program. Sweden writes days as ISO 8601 does.
    let intl = Reflect::get(&js_sys::global(), &"Intl".into()).ok()?;
    let class = Reflect::get(&intl, &"DateTimeFormat".into()).ok()?.dyn_into::<Function>().ok()?;
    let made = Reflect::construct(&class, &Array::of2(&"sv-SE".into(), &options)).ok()?;
    let format = made.unchecked_into::<DateTimeFormat>().format();
    // Milliseconds since 1970 are exact in a double until far beyond the year 9999.
    #[allow(clippy::cast_precision_loss, reason = "milliseconds are far below 2^53")]
    let milliseconds = JsValue::from_f64(at.timestamp_millis() as f64);
    format.call1(&JsValue::UNDEFINED, &milliseconds).ok()?.as_string()
}

#[cfg(not(feature = "hydrate"))]
fn in_zone(_: Timestamp, _: &str) -> Option<String> {
    None
}

/// The choice. It is kept by a cookie; `?tz=` in an address goes before it.
#[component]
pub(crate) fn ZoneChoice(
    /// The zone that the cookie names.
    zone: String,
) -> impl IntoView {
    let offered = OFFERED.map(|zone| view! { <option value=zone></option> });
    view! {
        <form method="post" action=ChooseZone::url() class="zone">
            <label for="zone">"Time zone"</label>
            <input id="zone" name="zone" list="zones" value=zone maxlength="64" spellcheck="false" autocomplete="off" required />
            <datalist id="zones">{offered.into_iter().collect_view()}</datalist>
            <button type="submit" class="is-quiet is-small">
                "Set"
                <span class="hidden">" the time zone"</span>
            </button>
        </form>
    }
    .into_any()
}

#[cfg(feature = "ssr")]
pub(crate) use server::{cookie, of_request};

#[cfg(feature = "ssr")]
mod server {
    use super::{PARAMETER, UTC};

    /// As long as browsers keep a cookie.
    const COOKIE_SECONDS: u32 = 400 * 24 * 3_600;
    /// No zone's name is longer.
    const NAME_CHARACTERS_MAX: usize = 64;

    /// The cookie that keeps the choice; none where the text could be no zone's name.
    pub(crate) fn cookie(zone: &str) -> Option<String> {
        is_name(zone).then(|| format!("{PARAMETER}={zone}; Path=/; Max-Age={COOKIE_SECONDS}; SameSite=Lax; HttpOnly"))
    }

    /// The choice that a request brings with it.
    pub(crate) fn of_request() -> String {
        crate::reply::cookie(PARAMETER).filter(|zone| is_name(zone)).unwrap_or_else(|| UTC.to_owned())
    }

    /// As the names of the IANA time zone database are written; which of them there are, the browser knows.
    fn is_name(zone: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
        (1..=NAME_CHARACTERS_MAX).contains(&zone.len()) && zone.bytes().all(is_plain)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_what_may_be_a_zone_is_kept() {
            for zone in ["UTC", "browser", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"] {
                assert!(cookie(zone).is_some_and(|cookie| cookie.starts_with(&format!("tz={zone};"))), "{zone}");
            }
            for zone in ["", "a b", "x;Domain=evil", "é", &"a".repeat(NAME_CHARACTERS_MAX + 1)] {
                assert_eq!(cookie(zone), None, "{zone}");
            }
        }
    }
}
