//! `/login`: who are you.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{awaited::Part, entrance::Entrance, heading::Heading},
    functions::read_entrance::is_first_start,
};

/// The sign-in form; while there is nobody, how to become the first.
#[component]
pub(crate) fn LoginPage() -> impl IntoView {
    let query = use_query_map().get_untracked();
    let next = query.get("next").unwrap_or_default();
    let email = query.get("email").unwrap_or_default();
    let refusal = query.get("refused").map(|refused| match refused.as_str() {
        "rate" => "Too many tries. Wait a minute, then try again.",
        _ => "E-mail address and password do not go together.",
    });
    let first_start = Resource::new(|| (), |()| is_first_start());
    let nobody = move || {
        Suspend::new(async move {
            let first = first_start.await.unwrap_or(false).then(|| {
                view! {
                    <p class="entrance-hint">
                        "There is nobody yet. Open the one-time link that "<code>"onceover serve"</code>
                        " printed when it started; it makes you the administrator."
                    </p>
                }
            });
            first.into_any()
        })
    };
    view! {
        <Entrance>
            <Heading title="Sign in">"Sign in"</Heading>
            <Part part=nobody />
            {refusal.map(|refusal| view! { <p class="banner is-refused" role="alert">{refusal}</p> })}
            <form method="post" action="/login">
                <input type="hidden" name="next" value=next />
                <label for="email">"E-mail address"</label>
                <input id="email" name="email" type="email" value=email required autocomplete="username" autofocus />
                <label for="password">"Password"</label>
                <input id="password" name="password" type="password" required autocomplete="current-password" />
                <button type="submit">"Sign in"</button>
            </form>
        </Entrance>
    }
    .into_any()
}
