//! The views of a page: those that everybody has and those that a person has kept, the form that keeps one, and the file.

use guard::lists::{ListPage, SavedView, VIEW_NAME_CHARACTERS_MAX};
use leptos::{form::ActionForm, prelude::*};

use super::{banner::Refused, plain::Plain};
use crate::functions::{drop_view::DropView, read_views::read_views, save_view::SaveView};

/// What everybody has, by name and query.
const fn common(page: ListPage) -> &'static [(&'static str, &'static str)] {
    match page {
        ListPage::Operations => &[
            ("Everything", ""),
            ("Sending the longest", "state=acquired&state=sending&order=oldest"),
            ("Unknown", "state=unknown"),
            ("Disputed", "state=disputed"),
            ("Open conflicts", "conflicts=open"),
            ("Failed", "state=failed"),
            ("Waiting for approval", "state=awaiting_approval"),
        ],
        ListPage::Unknown => &[
            ("Nobody on it", "claim=nobody"),
            ("Mine", "show=all&claim=mine"),
            ("Longest uncertain", "sort=longest"),
            ("Worker not heard of", "cause=lease_ended"),
            ("Disputed", "show=all&state=disputed"),
        ],
    }
}

fn address(page: ListPage, query: &str) -> String {
    match query {
        "" => format!("/{}", page.as_str()),
        query => format!("/{}?{query}", page.as_str()),
    }
}

/// The bar above a list. `query` is what the page's address asks for now.
#[component]
pub(crate) fn ViewBar(page: ListPage, #[prop(into)] query: Signal<String>) -> impl IntoView {
    let (save, forget) = (ServerAction::<SaveView>::new(), ServerAction::<DropView>::new());
    let done = move || (save.version().get(), forget.version().get());
    let views = Resource::new(done, move |_| read_views(page));
    let link = move |name: String, asked: String| {
        let is_shown = {
            let asked = asked.clone();
            move || (query.get() == asked).then_some("page")
        };
        view! {
            <a href=address(page, &asked) aria-current=is_shown>
                <Plain text=name />
            </a>
        }
    };
    let shared = common(page).iter().map(|(name, asked)| {
        view! { <li>{link((*name).to_owned(), (*asked).to_owned())}</li> }
    });
    let own = move || {
        Suspend::new(async move {
            let (views, refused) = views.await.unwrap_or_default();
            let rows = views.into_iter().map(|view| {
                let SavedView { id, name, query: asked, .. } = view;
                let told = format!("Forget the view {name}");
                view! {
                    <li class="own">
                        {link(name, asked)}
                        <ActionForm action=forget>
                            <input type="hidden" name="page" value=page.as_str() />
                            <input type="hidden" name="view" value=id.to_string() />
                            <button type="submit" class="is-quiet is-small" aria-label=told>"×"</button>
                        </ActionForm>
                    </li>
                }
            });
            view! {
                {rows.collect_view()}
                {refused.map(|failure| view! { <li><Refused what="The view was not kept" failure /></li> })}
            }
            .into_any()
        })
    };
    let inline = move || match save.value().get() {
        Some(Err(failure)) => Some(view! { <Refused what="The view was not kept" failure /> }),
        Some(Ok(())) | None => None,
    };
    view! {
        <div class="views">
            <nav aria-label="Views">
                <ul>
                    {shared.collect_view()}
                    <Transition>{own}</Transition>
                </ul>
            </nav>
            <details class="view-more">
                <summary>"Save or export"</summary>
                <div class="view-panel">
                    <ActionForm action=save>
                        <input type="hidden" name="page" value=page.as_str() />
                        <input type="hidden" name="query" value=move || query.get() prop:value=move || query.get() />
                        <label for="view-name">"Keep these filters as a view named"</label>
                        <p class="actions">
                            <input
                                id="view-name"
                                name="name"
                                required
                                maxlength=VIEW_NAME_CHARACTERS_MAX.to_string()
                                autocomplete="off"
                            />
                            <button type="submit" class="is-quiet">"Save view"</button>
                        </p>
                    </ActionForm>
                    {inline}
                    <Files list=page.as_str() query />
                </div>
            </details>
        </div>
    }
    .into_any()
}

/// The list as a file: what its page's address asks for, all pages.
#[component]
pub(crate) fn Files(
    /// The name under which the list is exported.
    list: &'static str,
    #[prop(into)] query: Signal<String>,
) -> impl IntoView {
    let file = move |format: &'static str| {
        move || match query.get() {
            asked if asked.is_empty() => format!("/export/{list}?format={format}"),
            asked => format!("/export/{list}?format={format}&{asked}"),
        }
    };
    view! {
        <p class="actions files">
            "All of it, as a file: "
            <a class="button is-quiet is-small" rel="external" href=file("csv")>"CSV"</a>
            <a class="button is-quiet is-small" rel="external" href=file("json")>"JSON"</a>
        </p>
    }
    .into_any()
}
