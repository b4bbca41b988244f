//! API tokens: who has one, making one, ending one.

use guard::{
    id::TokenId,
    token::{Reach, Scope, TOKEN_NAME_CHARACTERS_MAX, Token},
};
use leptos::{form::ActionForm, html::Form, prelude::*, server_fn::ServerFn};

use super::{
    age::Moment,
    banner::{Done, Refused},
    copy::Snippet,
    plain::Plain,
    table::{Table, words},
};
use crate::{
    failure::Failure,
    functions::{create_token::CreateToken, revoke_token::RevokeToken},
    notice::{MadeToken, TokenDraft},
};

/// A token that was just made, with its secret: this once.
#[component]
pub(crate) fn MadeTokenBanner(made: MadeToken) -> impl IntoView {
    view! {
        <Done>
            <p>
                "The token "
                <strong>
                    <Plain text=made.token.name />
                </strong>
                " is made. Copy it now: it is stored only as a hash, and is never shown again."
            </p>
            <Snippet text=made.secret what="token" />
        </Done>
    }
    .into_any()
}

/// The tokens there are, the newest first.
#[component]
pub(crate) fn TokenTable(
    tokens: Vec<Token>,
    /// The token that is asked about before it is revoked.
    asked: Option<TokenId>,
    act: ServerAction<RevokeToken>,
) -> impl IntoView {
    if tokens.is_empty() {
        return view! { <p class="empty">"There is no token yet. An automation needs one to ask."</p> }.into_any();
    }
    let rows = tokens.into_iter().map(|token| view! { <TokenRow is_asked={asked == Some(token.id)} token act /> });
    view! {
        <Table
            region="Tokens, the newest first"
            caption="API tokens, the newest first"
            columns=[words("Name"), words("Scopes"), words("Companies"), words("Workflows"), words("Status")]
            rows=rows.collect_view()
        />
    }
    .into_any()
}

#[component]
fn TokenRow(token: Token, is_asked: bool, act: ServerAction<RevokeToken>) -> impl IntoView {
    let id = token.id;
    let scopes = token.scopes.iter().map(|scope| view! { <li><code>{scope.as_str()}</code></li> }).collect_view();
    let Reach { companies, workflows } = token.reach;
    let name = token.name.clone();
    let status = match (token.revoked_at, is_asked) {
        (Some(at), _) => view! {
            <span class="none">"revoked "</span>
            <Moment at />
        }
        .into_any(),
        (None, false) => view! {
            <span class="none">"accepted "</span>
            <a class="button is-quiet is-small" href=format!("/settings?revoke={id}#token-{id}") data-noscroll="true">
                "Revoke"
                <span class="hidden">" "{token.name.clone()}</span>
            </a>
        }
        .into_any(),
        (None, true) => view! { <span class="none">"revoke?"</span> }.into_any(),
    };
    let question = (is_asked && token.revoked_at.is_none()).then(|| {
        view! {
            <tr class="confirm">
                <td colspan="5">
                    <p>
                        "Revoke "
                        <strong>
                            <Plain text=name />
                        </strong>
                        "? Whoever uses it is refused from then on. This cannot be undone."
                    </p>
                    <ActionForm action=act>
                        <input type="hidden" name="id" value=id.to_string() />
                        <p class="actions">
                            <button type="submit" class="is-danger is-small">
                                "Revoke for good"
                            </button>
                            <a class="button is-quiet is-small" href="/settings#tokens" data-noscroll="true">
                                "Keep"
                            </a>
                        </p>
                    </ActionForm>
                </td>
            </tr>
        }
    });
    view! {
        <tr id=format!("token-{id}") class:is-off=token.revoked_at.is_some() class:is-asked=question.is_some()>
            <th scope="row" data-label="Name">
                <Plain text=token.name />
                <p class="row-key">"made " <Moment at=token.created_at /></p>
            </th>
            <td data-label="Scopes">
                <ul class="words is-whole">{scopes}</ul>
            </td>
            <td data-label="Companies">
                <Names names=companies />
            </td>
            <td data-label="Workflows">
                <Names names=workflows />
            </td>
            <td data-label="Status">{status}</td>
        </tr>
        {question}
    }
    .into_any()
}

/// The names that something is limited to.
#[component]
pub(crate) fn Names(names: Option<std::collections::BTreeSet<String>>) -> impl IntoView {
    match names {
        None => view! { <span class="none">"all"</span> }.into_any(),
        Some(names) => {
            let names = names.into_iter().map(|name| view! { <li><Plain text=name /></li> });
            view! { <ul class="words">{names.collect_view()}</ul> }.into_any()
        }
    }
}

/// The form for a new token.
#[component]
pub(crate) fn TokenForm(
    /// The workflows that it can be limited to: name and title.
    workflows: Vec<(String, String)>,
    /// What was refused before.
    #[prop(into)]
    refused: Option<(TokenDraft, Failure)>,
    /// Why the one who looks may not.
    why_not: Option<String>,
    act: ServerAction<CreateToken>,
) -> impl IntoView {
    let (draft, failure) = refused.unzip();
    let is_fresh = draft.is_none();
    let draft = draft.unwrap_or_default();
    let is_barred = why_not.is_some();
    let scopes = Scope::ALL.map(|scope| {
        let name = scope.as_str();
        let meaning = match scope {
            Scope::OperationsWrite => "begin, mark sending, extend, report",
            Scope::OperationsRead => "read operations, payloads, the trail",
            Scope::AmendmentsPropose => "propose amendments",
            Scope::ReconciliationWrite => "hand in what a destination holds",
            Scope::MetricsRead => "read the metrics",
        };
        let is_usual = matches!(scope, Scope::OperationsWrite | Scope::OperationsRead);
        let is_chosen = if is_fresh { is_usual } else { draft.scopes.contains(name) };
        view! {
            <label class="check">
                <input type="checkbox" name="draft[scopes][]" value=name checked=is_chosen disabled=is_barred />
                <span>
                    <code>{name}</code>
                    " "
                    <span class="optional">{meaning}</span>
                </span>
            </label>
        }
    });
    let limits = workflows.into_iter().map(|(name, title)| {
        let is_chosen = draft.workflows.contains(&name);
        view! {
            <label class="check">
                <input type="checkbox" name="draft[workflows][]" value=name checked=is_chosen disabled=is_barred />
                <span>{title}</span>
            </label>
        }
    });
    let limits = limits.collect::<Vec<_>>();
    let has_limits = !limits.is_empty();
    let form = NodeRef::<Form>::new();
    empty_after_success(act, form);
    let inline = move || act.value().get().and_then(Result::err);
    view! {
        <section class="panel" aria-labelledby="token-form-title">
            <h3 id="token-form-title">"Make a token"</h3>
            {failure.map(|failure| view! { <Refused what="No token was made" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="No token was made" failure /> })}
            <ActionForm action=act node_ref=form>
                <label for="token-name">"Name"</label>
                <input
                    id="token-name"
                    name="draft[name]"
                    value=draft.name
                    required
                    disabled=is_barred
                    maxlength=TOKEN_NAME_CHARACTERS_MAX
                    autocomplete="off"
                    placeholder="which automation, such as billing-worker"
                />
                <fieldset>
                    <legend>"Scopes"</legend>
                    {scopes.into_iter().collect_view()}
                </fieldset>
                <label for="token-companies">
                    "Companies "
                    <span class="optional">"between commas; empty: all that you reach"</span>
                </label>
                <input id="token-companies" name="draft[companies]" value=draft.companies disabled=is_barred autocomplete="off" />
                {has_limits
                    .then(|| {
                        view! {
                            <fieldset>
                                <legend>
                                    "Workflows "
                                    <span class="optional">"none chosen: all"</span>
                                </legend>
                                {limits.into_iter().collect_view()}
                            </fieldset>
                        }
                    })}
                <WhyNot button="Make the token" id="token-why-not" why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}

/// Empties a form once its act has succeeded: what was written has become something else.
pub(crate) fn empty_after_success<S>(act: ServerAction<S>, form: NodeRef<Form>)
where
    S: ServerFn<Error = Failure> + Clone + Send + Sync + 'static,
    S::Output: Clone + Send + Sync + 'static,
{
    Effect::new(move || {
        if matches!(act.value().get(), Some(Ok(_)))
            && let Some(form) = form.get_untracked()
        {
            form.reset();
        }
    });
}

/// The button that ends a form, and why it may not be used.
#[component]
pub(crate) fn WhyNot(
    button: &'static str,
    /// The id of the reason: one of its own on the page.
    #[prop(into)]
    id: String,
    why_not: Option<String>,
) -> impl IntoView {
    let is_barred = why_not.is_some();
    let described = id.clone();
    view! {
        <p class="actions">
            <button type="submit" disabled=is_barred aria-describedby=is_barred.then_some(described)>
                {button}
            </button>
            {why_not
                .map(|why| {
                    view! {
                        <span class="why-not" id=id>
                            {why}
                        </span>
                    }
                })}
        </p>
    }
    .into_any()
}
