//! Light, dark, or as the system says; kept in a cookie, so that it works without script and never flashes.

use leptos::{prelude::*, server_fn::ServerFn as _};

use crate::functions::choose_theme::ChooseTheme;

/// The look that was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The name in the cookie, in the form and in the style.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::Light => "Light",
            Self::Dark => "Dark",
        }
    }
}

#[cfg(feature = "ssr")]
impl Theme {
    const COOKIE: &str = "theme";
    /// As long as browsers keep a cookie.
    const COOKIE_SECONDS: u32 = 400 * 24 * 3_600;

    /// The cookie that keeps the choice.
    pub(crate) fn cookie(self) -> String {
        let (name, value, seconds) = (Self::COOKIE, self.as_str(), Self::COOKIE_SECONDS);
        format!("{name}={value}; Path=/; Max-Age={seconds}; SameSite=Lax; HttpOnly")
    }

    /// The choice that a request brings with it.
    pub(crate) fn of_request() -> Self {
        let chosen = crate::reply::cookie(Self::COOKIE);
        Self::ALL.into_iter().find(|theme| Some(theme.as_str()) == chosen.as_deref()).unwrap_or_default()
    }
}

/// The switch. The document is rendered anew by the server, since its root carries the choice.
#[component]
pub(crate) fn ThemeSwitch() -> impl IntoView {
    let choices = Theme::ALL.map(|theme| {
        view! {
            <button type="submit" name="theme" value=theme.as_str() class=format!("theme is-{}", theme.as_str())>
                {theme.title()}
            </button>
        }
    });
    view! {
        <form method="post" action=ChooseTheme::url() class="themes">
            <fieldset>
                <legend class="hidden">"Theme"</legend>
                {choices.into_iter().collect_view()}
            </fieldset>
        </form>
    }
    .into_any()
}
