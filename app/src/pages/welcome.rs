//! `/welcome`: the first start, by the one-time link.

use guard::person::{PASSWORD_BYTES_MAX, PASSWORD_CHARACTERS_MIN};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::{entrance::Entrance, heading::Heading};

/// The form that makes the administrator.
#[component]
pub(crate) fn WelcomePage() -> impl IntoView {
    let query = use_query_map().get_untracked();
    let link = query.get("link").unwrap_or_default();
    let email = query.get("email").unwrap_or_default();
    let refusal = query.get("refused").map(|refused| match refused.as_str() {
        "link" => {
            "This link is not, or no longer, good: somebody is the administrator already, or the server was started \
             again and printed another."
                .to_owned()
        }
        "email" => "That is no address; it looks like name@example.com.".to_owned(),
        "short" => format!("The password has under {PASSWORD_CHARACTERS_MIN} characters."),
        "long" => format!("The password has over {PASSWORD_BYTES_MAX} bytes."),
        "rate" => "Too many tries. Wait a minute, then try again.".to_owned(),
        "differ" => "The two passwords differ.".to_owned(),
        _ => "That could not be taken. Try again.".to_owned(),
    });
    view! {
        <Entrance>
            <Heading title="Welcome">"Make the administrator"</Heading>
            <p>"You hold the one-time link of this server. Whoever fills this in manages people and tokens."</p>
            {refusal.map(|refusal| view! { <p class="banner is-refused" role="alert">{refusal}</p> })}
            <form method="post" action="/welcome">
                <input type="hidden" name="link" value=link />
                <label for="email">"Address"</label>
                <input id="email" name="email" type="email" value=email required autocomplete="username" autofocus />
                <label for="password">
                    "Password "
                    <span class="optional">{format!("at least {PASSWORD_CHARACTERS_MIN} characters")}</span>
                </label>
                <input
                    id="password"
                    name="password"
                    type="password"
                    required
                    minlength=PASSWORD_CHARACTERS_MIN
                    autocomplete="new-password"
                />
                <label for="password-again">"Password again"</label>
                <input
                    id="password-again"
                    name="password_again"
                    type="password"
                    required
                    minlength=PASSWORD_CHARACTERS_MIN
                    autocomplete="new-password"
                />
                <button type="submit">"Make the administrator"</button>
            </form>
        </Entrance>
    }
    .into_any()
}
