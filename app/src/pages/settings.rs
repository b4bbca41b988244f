//! `/settings`: tokens, people, workflows, destinations, notifications.

use guard::id::TokenId;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::AsOf,
        awaited::{Body, page_of},
        banner::{Done, Refused},
        channels::ChannelCard,
        destinations::DestinationCard,
        fresh::{is_in_use, look_again},
        heading::Heading,
        people::{AddedPersonBanner, PeopleTable, PersonForm},
        plain::Plain,
        tokens::{MadeTokenBanner, TokenForm, TokenTable},
        workflows::{WorkflowCard, WorkflowsHint},
    },
    functions::{
        add_person::AddPerson,
        create_token::CreateToken,
        read_settings::{Settings, read_settings},
        revoke_token::RevokeToken,
    },
    notice::SettingsNotice,
    wording,
};

/// The acts that the settings offer.
#[derive(Clone, Copy)]
struct Acts {
    create: ServerAction<CreateToken>,
    revoke: ServerAction<RevokeToken>,
    add: ServerAction<AddPerson>,
}

impl Acts {
    /// How many acts have succeeded on this page: the settings are read again after each.
    fn succeeded(self) -> usize {
        let created = matches!(self.create.value().get(), Some(Ok(_)));
        let revoked = matches!(self.revoke.value().get(), Some(Ok(_)));
        let added = matches!(self.add.value().get(), Some(Ok(_)));
        let times = |happened: bool, version: usize| if happened { version } else { 0 };
        times(created, self.create.version().get())
            + times(revoked, self.revoke.version().get())
            + times(added, self.add.version().get())
    }

    /// What the latest act did, where this page did it.
    fn notices(self) -> impl IntoView {
        let created = self.create.value().get().and_then(Result::ok).map(|made| view! { <MadeTokenBanner made /> });
        let added = self.add.value().get().and_then(Result::ok).map(|added| view! { <AddedPersonBanner added /> });
        let revoked = self.revoke.value().get().map(|result| match result {
            Ok(token) => view! { <Revoked name=token.name /> }.into_any(),
            Err(failure) => view! { <Refused what="The token was not revoked" failure /> }.into_any(),
        });
        view! {
            {created}
            {added}
            {revoked}
        }
    }
}

/// The settings. `?revoke=` names the token that is asked about.
#[component]
pub(crate) fn SettingsPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.with(|query| query.get("revoke").and_then(|id| id.parse::<TokenId>().ok())));
    let acts = Acts { create: ServerAction::new(), revoke: ServerAction::new(), add: ServerAction::new() };
    let settings = Resource::new(move || acts.succeeded(), |_| read_settings());
    look_again(move || {
        if !is_in_use() {
            settings.refetch();
        }
    });
    let page = page_of(settings, move |settings| view! { <Shown settings asked acts /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(settings: Settings, asked: Memo<Option<TokenId>>, acts: Acts) -> impl IntoView {
    let Settings { as_of, person, tokens, people, workflows, destinations, channels, notice } = settings;
    let why_not_ask = wording::why_not_resolve(person.role);
    let why_not = wording::why_not_administer(person.role);
    let names = workflows
        .iter()
        .filter(|known| !known.is_retired)
        .map(|known| (known.workflow.name.as_str().to_owned(), known.workflow.title().to_owned()))
        .collect::<Vec<_>>();
    let (mut token_refused, mut person_refused, mut tried, mut channel_tried) = (None, None, None, None);
    let told = match notice {
        None => None,
        Some(SettingsNotice::TokenMade(made)) => Some(view! { <MadeTokenBanner made=*made /> }.into_any()),
        Some(SettingsNotice::TokenRevoked(token)) => Some(view! { <Revoked name=token.name /> }.into_any()),
        Some(SettingsNotice::PersonAdded(added)) => Some(view! { <AddedPersonBanner added=*added /> }.into_any()),
        Some(SettingsNotice::RevocationRefused(_, failure)) => {
            Some(view! { <Refused what="The token was not revoked" failure /> }.into_any())
        }
        Some(SettingsNotice::TokenRefused(draft, failure)) => {
            token_refused = Some((*draft, failure));
            None
        }
        Some(SettingsNotice::PersonRefused(draft, failure)) => {
            person_refused = Some((*draft, failure));
            None
        }
        Some(SettingsNotice::LookedUp(looked)) => {
            tried = Some((looked.draft.clone(), Ok(*looked)));
            None
        }
        Some(SettingsNotice::LookupRefused(draft, failure)) => {
            tried = Some((*draft, Err(failure)));
            None
        }
        Some(SettingsNotice::ChannelTried(tried)) => {
            channel_tried = Some((tried.name.clone(), Ok(*tried)));
            None
        }
        Some(SettingsNotice::ChannelNotTried(name, failure)) => {
            channel_tried = Some((name, Err(failure)));
            None
        }
    };
    let sees = why_not.is_none();
    let cards = workflows.into_iter().map(|configured| view! { <WorkflowCard configured /> }).collect::<Vec<_>>();
    let has_none = cards.is_empty();
    let destinations = destinations.into_iter().map(|destination| {
        let tried = tried.clone().filter(|(draft, _)| draft.destination == destination.name);
        view! { <DestinationCard destination tried why_not=why_not_ask.clone() /> }
    });
    let destinations = destinations.collect::<Vec<_>>();
    let has_no_destination = destinations.is_empty();
    let channels = channels.into_iter().map(|channel| {
        let tried = channel_tried.clone().filter(|(name, _)| *name == channel.name).map(|(_, tried)| tried);
        view! { <ChannelCard channel tried why_not=why_not.clone() /> }
    });
    let channels = channels.collect::<Vec<_>>();
    let has_no_channel = channels.is_empty();
    let table = move || view! { <TokenTable tokens=tokens.clone() asked=asked.get() act=acts.revoke /> };
    view! {
        {told}
        {move || acts.notices()}
        <div class="page-head">
            <Heading title="Settings">"Settings"</Heading>
            <AsOf at=as_of />
        </div>
        <nav class="spans" aria-label="On this page">
            <ul>
                <li><a rel="external" href="#tokens">"Tokens"</a></li>
                <li><a rel="external" href="#people">"People"</a></li>
                <li><a rel="external" href="#workflows">"Workflows"</a></li>
                <li><a rel="external" href="#destinations">"Destinations"</a></li>
                <li><a rel="external" href="#notifications">"Notifications"</a></li>
                <li><a href="/settings/rules">"Rules"</a></li>
                <li><a href="/periods">"Periods"</a></li>
            </ul>
        </nav>
        <section id="tokens" class="part" aria-labelledby="tokens-title">
            <h2 id="tokens-title">"Tokens"</h2>
            <p class="note">"An automation asks with a token. No token can approve, decide or configure."</p>
            <div class="columns is-form">
                <div>{if sees { table.into_any() } else { view! { <Unseen /> }.into_any() }}</div>
                <TokenForm workflows=names refused=token_refused why_not=why_not.clone() act=acts.create />
            </div>
        </section>
        <section id="people" class="part" aria-labelledby="people-title">
            <h2 id="people-title">"People"</h2>
            <div class="columns is-form">
                <div>
                    {if sees {
                        view! { <PeopleTable people me=person /> }.into_any()
                    } else {
                        view! { <Unseen /> }.into_any()
                    }}
                </div>
                <PersonForm refused=person_refused why_not act=acts.add />
            </div>
        </section>
        <section id="workflows" class="part" aria-labelledby="workflows-title">
            <h2 id="workflows-title">"Workflows"</h2>
            <p class="note">
                "What is left out of the fingerprint, the key fields and what may be amended are changed by two people at "
                <a href="/settings/rules">"Rules"</a>
                "."
            </p>
            {has_none.then(|| view! { <p class="empty">"No workflow is configured yet."</p> })}
            <div class="workflows">{cards}</div>
            <WorkflowsHint />
        </section>
        <section id="destinations" class="part" aria-labelledby="destinations-title">
            <h2 id="destinations-title">"Destinations"</h2>
            <p class="note">"Where records are created, and where they are looked for when an answer was lost. A test asks once and changes nothing."</p>
            {has_no_destination.then(|| view! { <p class="empty">"No destination is configured yet."</p> })}
            <div class="workflows">{destinations}</div>
        </section>
        <section id="notifications" class="part" aria-labelledby="notifications-title">
            <h2 id="notifications-title">"Notifications"</h2>
            <p class="note">
                "Who is told outside of the desk, once for a group: incidents, what has been uncertain for too long, what waits for approval."
            </p>
            {has_no_channel
                .then(|| {
                    view! {
                        <p class="empty">
                            "Nobody is told. A " <code>"[[notification]]"</code>
                            " in the configuration file makes a channel, by webhook or by mail."
                        </p>
                    }
                })}
            <div class="workflows">{channels}</div>
        </section>
    }
    .into_any()
}

#[component]
fn Unseen() -> impl IntoView {
    view! { <p class="empty">"Administrators see who and what there is."</p> }
}

#[component]
fn Revoked(name: String) -> impl IntoView {
    view! {
        <Done>
            <p>
                "The token "
                <strong>
                    <Plain text=name />
                </strong>
                " is revoked: whoever uses it is refused."
            </p>
        </Done>
    }
    .into_any()
}
