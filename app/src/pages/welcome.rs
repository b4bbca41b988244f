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
    let refused = query.get("refused");
    if refused.as_deref() == Some("link") {
        return view! {
            <Entrance>
                <Heading title="Welcome">"This link does not work"</Heading>
                <p>"It is not, or no longer, good: somebody is the administrator already, or the server was started again and printed another."</p>
                <p>"Open the link that "<code>"onceover serve"</code>" printed last. Who has an account signs in."</p>
                <p class="actions">
                    <a class="button" rel="external" href="/login">
                        "Sign in"
                    </a>
                </p>
            </Entrance>
        }
        .into_any();
    }
    let refusal = refused.map(|refused| match refused.as_str() {
        "email" => "That is no e-mail address; it looks like name@example.com.".to_owned(),
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
                <label for="email">"E-mail address"</label>
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
