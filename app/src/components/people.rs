//! Who signs in at the desk.

use guard::person::{EMAIL_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN, Person, Role};
use leptos::{form::ActionForm, html::Form, prelude::*};

use super::{
    banner::{Done, Refused},
    copy::Snippet,
    plain::Plain,
    table::{Table, words},
    tokens::{Names, WhyNot, empty_after_success},
};
use crate::{
    failure::Failure,
    functions::add_person::AddPerson,
    notice::{AddedPerson, PersonDraft},
};

/// A person that was just added, with the password that was made: this once.
#[component]
pub(crate) fn AddedPersonBanner(added: AddedPerson) -> impl IntoView {
    let password = added.password.map(|password| {
        view! {
            <p>"Give them this password on a safe way. It is never shown again."</p>
            <Snippet text=password what="password" />
        }
    });
    view! {
        <Done>
            <p>
                "The person "
                <strong>
                    <Plain text=added.person.email />
                </strong>
                " can sign in, with the role "
                {added.person.role.as_str()}
                "."
            </p>
            {password}
        </Done>
    }
    .into_any()
}

/// Everybody, by address.
#[component]
pub(crate) fn PeopleTable(people: Vec<Person>, me: Person) -> impl IntoView {
    let rows = people.into_iter().map(|person| {
        let is_me = person.id == me.id;
        view! {
            <tr>
                <th scope="row" data-label="E-mail address">
                    <Plain text=person.email />
                    {is_me.then(|| view! { <span class="optional">" you"</span> })}
                </th>
                <td data-label="Role">{person.role.as_str()}</td>
                <td data-label="Companies">
                    <Names names=person.reach.companies />
                </td>
            </tr>
        }
    });
    view! {
        <Table
            region="People who can sign in"
            caption="People who can sign in, by address"
            columns=[words("E-mail address"), words("Role"), words("Companies")]
            rows=rows.collect_view()
        />
    }
    .into_any()
}

/// What a role may do, in a few words.
const fn meaning(role: Role) -> &'static str {
    match role {
        Role::Viewer => "looks",
        Role::Operator => "decides what is uncertain",
        Role::Finance => "sets rules, approves amendments, signs periods",
        Role::Admin => "manages people and tokens, and decides",
    }
}

/// The form for somebody new.
#[component]
pub(crate) fn PersonForm(
    /// What was refused before.
    #[prop(into)]
    refused: Option<(PersonDraft, Failure)>,
    /// Why the one who looks may not.
    why_not: Option<String>,
    act: ServerAction<AddPerson>,
) -> impl IntoView {
    let (draft, failure) = refused.unzip();
    let chosen = draft.as_ref().map_or(Role::Operator, |draft| draft.role);
    let (email, companies) = draft.map(|draft| (draft.email, draft.companies)).unwrap_or_default();
    let is_barred = why_not.is_some();
    let roles = Role::ALL.map(|role| {
        view! {
            <option value=role.as_str() selected={role == chosen}>
                {format!("{}: {}", role.as_str(), meaning(role))}
            </option>
        }
    });
    let form = NodeRef::<Form>::new();
    empty_after_success(act, form);
    let inline = move || act.value().get().and_then(Result::err);
    view! {
        <section class="panel" aria-labelledby="person-form-title">
            <h3 id="person-form-title">"Add a person"</h3>
            {failure.map(|failure| view! { <Refused what="Nobody was added" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="Nobody was added" failure /> })}
            <ActionForm action=act node_ref=form>
                <label for="person-email">"E-mail address"</label>
                <input
                    id="person-email"
                    name="draft[email]"
                    type="email"
                    value=email
                    required
                    disabled=is_barred
                    maxlength=EMAIL_CHARACTERS_MAX
                    autocomplete="off"
                />
                <label for="person-role">"Role"</label>
                <select id="person-role" name="draft[role]" disabled=is_barred>
                    {roles.into_iter().collect_view()}
                </select>
                <label for="person-companies">
                    "Companies "
                    <span class="optional">"between commas; empty: all that you reach"</span>
                </label>
                <input id="person-companies" name="draft[companies]" value=companies disabled=is_barred autocomplete="off" />
                <label for="person-password">
                    "Password "
                    <span class="optional">"empty: one is made"</span>
                </label>
                <input
                    id="person-password"
                    name="draft[password]"
                    type="password"
                    minlength=PASSWORD_CHARACTERS_MIN
                    disabled=is_barred
                    autocomplete="new-password"
                />
                <WhyNot button="Add the person" id="person-why-not" why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}
