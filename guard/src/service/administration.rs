//! People, tokens and what is configured; every act is an entry in the chain of the administration.

use std::collections::{BTreeMap, BTreeSet};

use super::report::check_text;
use super::{Guard, contended, integer, text};
use crate::actor::Actor;
use crate::destination::Destination;
use crate::id::{PersonId, TokenId};
use crate::json::Json;
use crate::key::KeyPart;
use crate::notification::{CHANNELS_MAX, Channel};
use crate::person::{Person, Role, password_from};
use crate::refusal::Refusal;
use crate::store::{Act, Administered, VersionedWorkflow};
use crate::token::{Reach, Scope, TOKEN_NAME_CHARACTERS_MAX, Token, TokenSecret};
use crate::trail::{ChainHash, Entry, EntryKind, detail};
use crate::workflow::{DefinitionFault, Workflow};

/// Acts of the administration that lose the race this often are given up.
pub(super) const ADMINISTRATION_TRIES_MAX: u32 = 16;

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    /// The workflows.
    #[serde(default, rename = "workflow", skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<Workflow>,
    /// The destinations.
    #[serde(default, rename = "destination", skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<Destination>,
    /// The channels by which people are told.
    #[serde(default, rename = "notification", skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
}

/// What applying did to one workflow or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It has a new definition.
    Changed,
    /// It was taken out; what was begun in it can still be finished.
    Retired,
    /// It was so already.
    Unchanged,
}

/// What applying did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// To each workflow.
    pub workflows: BTreeMap<String, Change>,
    /// To each destination.
    pub destinations: BTreeMap<String, Change>,
    /// To each channel.
    pub channels: BTreeMap<String, Change>,
}

impl Definitions {
    /// Checks every definition, and that names are unique and known.
    ///
    /// # Errors
    /// The kind (`workflow`, `destination`, `notification`), the place in the file's list, and the fault of its key.
    pub fn validate(&self) -> Result<(), (&'static str, usize, DefinitionFault)> {
        let mut names = BTreeSet::new();
        for (index, destination) in self.destinations.iter().enumerate() {
            let unique = names.insert(destination.name.as_str());
            let checked = if unique { destination.validate() } else { Err(stands_twice(&destination.name)) };
            checked.map_err(|fault| ("destination", index, fault))?;
        }
        let mut workflows = BTreeSet::new();
        for (index, workflow) in self.workflows.iter().enumerate() {
            let unknown = workflow.destination.as_deref().filter(|name| !names.contains(name));
            let has_list =
                |name: &String| self.destinations.iter().any(|known| known.name == *name && known.list.is_some());
            let pulls_nothing = workflow.pull.is_some() && !workflow.destination.as_ref().is_some_and(has_list);
            let checked = if !workflows.insert(workflow.name.as_str()) {
                Err(stands_twice(workflow.name.as_str()))
            } else if let Some(name) = unknown {
                Err(DefinitionFault::new("destination", format!("names {name:?}, which no [[destination]] defines")))
            } else if pulls_nothing {
                let message = "needs a destination with a [destination.list]; write one, or leave [workflow.pull] out";
                Err(DefinitionFault::new("pull", message))
            } else {
                workflow.validate()
            };
            checked.map_err(|fault| ("workflow", index, fault))?;
        }
        let mut channels = BTreeSet::new();
        for (index, channel) in self.channels.iter().enumerate() {
            let unknown = channel.workflows.iter().find(|name| !workflows.contains(name.as_str()));
            let checked = if index >= CHANNELS_MAX {
                Err(DefinitionFault::new("name", format!("is one channel too many; {CHANNELS_MAX} are possible")))
            } else if !channels.insert(channel.name.as_str()) {
                Err(stands_twice(&channel.name))
            } else if let Some(name) = unknown {
                Err(DefinitionFault::new("workflows", format!("names {name:?}, which no [[workflow]] defines")))
            } else {
                channel.validate()
            };
            checked.map_err(|fault| ("notification", index, fault))?;
        }
        Ok(())
    }
}

fn stands_twice(name: &str) -> DefinitionFault {
    DefinitionFault::new("name", format!("is {name:?}, which stands here twice; give each a name of its own"))
}

impl Guard {
    /// Makes workflows, destinations and channels what the definitions say: all or nothing, each change an entry. Definitions must have
    /// been validated.
    ///
    /// Rules that people approved in the browser are not overwritten: definitions say what they are, or are refused
    /// ([`crate::rules::RuleRefusal::ApprovedInBrowser`]). A proposal whose workflow is changed becomes void.
    ///
    /// # Errors
    /// A definition that does not hold or would overwrite what was approved, the store's fault.
    pub async fn apply(&self, definitions: &Definitions, actor: &Actor) -> Result<Applied, Refusal> {
        definitions.validate().map_err(|(kind, _, fault)| Refusal::field(kind, fault))?;
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            // Before the catalogue: what is applied in between moves the head on, and makes these acts stale.
            let head = self.inner.registry.administration_head().await?;
            self.refresh().await?;
            let (mut acts, applied) = self.acts_for(definitions);
            let moved = applied.workflows.iter().filter(|(_, change)| match change {
                Change::Changed | Change::Retired => true,
                Change::Added | Change::Unchanged => false,
            });
            let moved: Vec<String> = moved.map(|(name, _)| name.clone()).collect();
            acts.extend(self.rules_beside(&definitions.workflows, &moved).await?);
            if acts.is_empty() || self.administer(actor, head, acts).await? == Administered::Done {
                return Ok(applied);
            }
        }
        Err(contended())
    }

    /// What is configured, as a configuration file would say it.
    pub fn definitions(&self) -> Definitions {
        let catalogue = self.catalogue();
        let current = catalogue.workflows.values().filter(|known| !known.is_retired);
        Definitions {
            workflows: current.map(|known| known.workflow.clone()).collect(),
            destinations: catalogue.destinations.values().cloned().collect(),
            channels: catalogue.channels.values().cloned().collect(),
        }
    }

    /// The token with this secret, unless it was revoked.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Token>, Refusal> {
        let found = self.inner.registry.token_by_digest(&TokenSecret::digest(secret)).await?;
        Ok(found.filter(|token| token.revoked_at.is_none()))
    }

    /// Makes a token; the secret is given once and never again.
    ///
    /// # Errors
    /// A name that is taken or out of bounds, no scope, an unknown workflow, the store's fault.
    pub async fn create_token(
        &self,
        name: &str,
        scopes: BTreeSet<Scope>,
        reach: Reach,
        actor: &Actor,
    ) -> Result<(Token, TokenSecret), Refusal> {
        check_text("name", name)?;
        if name.chars().count() > TOKEN_NAME_CHARACTERS_MAX || name.contains('/') || name.chars().any(char::is_control)
        {
            return Err(Refusal::field(
                "name",
                format!("has over {TOKEN_NAME_CHARACTERS_MAX} characters, a \"/\" or a control character"),
            ));
        }
        if scopes.is_empty() {
            return Err(Refusal::field("scope", "is empty; a token that may do nothing is of no use"));
        }
        check_companies(&reach)?;
        self.refresh().await?;
        let known = self.workflow_names(&Reach::EVERYTHING);
        if let Some(unknown) = reach.workflows.iter().flatten().find(|name| !known.contains(name)) {
            let is_retired = self.catalogue().workflows.contains_key(unknown);
            return Err(Refusal::UnknownWorkflow { name: unknown.clone(), known, is_retired });
        }
        let secret = TokenSecret::new([self.inner.entropy.bytes(), self.inner.entropy.bytes()]);
        let at = self.now();
        let id = TokenId::new(at, self.inner.entropy.bytes());
        let token = Token {
            id,
            name: name.to_owned(),
            scopes,
            reach,
            created_at: at,
            created_by: actor.clone(),
            revoked_at: None,
        };
        let facts = detail([
            ("token", Some(text(&id.to_string()))),
            ("name", Some(text(name))),
            ("scopes", Some(texts(token.scopes.iter().map(|scope| scope.as_str())))),
            ("companies", token.reach.companies.as_ref().map(|names| texts(names.iter().map(String::as_str)))),
            ("workflows", token.reach.workflows.as_ref().map(|names| texts(names.iter().map(String::as_str)))),
        ]);
        let act = Act::AddToken { token: token.clone(), digest: TokenSecret::digest(secret.reveal()) };
        self.administer_one(actor, act, EntryKind::TokenCreated, facts, "token", name).await?;
        Ok((token, secret))
    }

    /// Revokes a token. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Result<Token, Refusal> {
        let mut token =
            self.tokens().await?.into_iter().find(|token| token.id == id).ok_or_else(|| Refusal::not_found("token"))?;
        if token.revoked_at.is_some() {
            return Ok(token);
        }
        let at = self.now();
        token.revoked_at = Some(at);
        let facts = detail([("token", Some(text(&id.to_string()))), ("name", Some(text(&token.name)))]);
        self.administer_one(actor, Act::RevokeToken { id, at }, EntryKind::TokenRevoked, facts, "token", &token.name)
            .await?;
        Ok(token)
    }

    /// Every token, newest first, revoked ones too.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn tokens(&self) -> Result<Vec<Token>, Refusal> {
        Ok(self.inner.registry.tokens().await?)
    }

    /// Adds a person. `only_first`: only while there is nobody, for the first start.
    ///
    /// # Errors
    /// An address that is none or is taken; [`Refusal::Taken`] too when somebody was first; the store's fault.
    pub async fn add_person(
        &self,
        email: &str,
        role: Role,
        reach: Reach,
        password_hash: String,
        only_first: bool,
        actor: &Actor,
    ) -> Result<Person, Refusal> {
        let email = checked_email(email)?;
        check_companies(&reach)?;
        let id = PersonId::new(self.now(), self.inner.entropy.bytes());
        let person = Person { id, email: email.clone(), role, reach };
        let facts = detail([
            ("person", Some(text(&id.to_string()))),
            ("email", Some(text(&email))),
            ("role", Some(text(role.as_str()))),
            ("companies", person.reach.companies.as_ref().map(|names| texts(names.iter().map(String::as_str)))),
        ]);
        let act = Act::AddPerson { person: person.clone(), password_hash, only_first };
        self.administer_one(actor, act, EntryKind::PersonAdded, facts, "person", &email).await?;
        Ok(person)
    }

    /// A password for somebody who is given one.
    pub fn generate_password(&self) -> String {
        password_from(self.inner.entropy.bytes())
    }

    /// The person who signs in with this address, with the hash of the password.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn person_by_email(&self, email: &str) -> Result<Option<(Person, String)>, Refusal> {
        match checked_email(email) {
            Ok(email) => Ok(self.inner.registry.person_by_email(&email).await?),
            // Nobody has an address that is none, and no store is asked for a text that it cannot hold.
            Err(_) => Ok(None),
        }
    }

    /// The person with this id.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn person(&self, id: PersonId) -> Result<Option<Person>, Refusal> {
        Ok(self.inner.registry.person(id).await?)
    }

    /// Everybody, by address.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn people(&self) -> Result<Vec<Person>, Refusal> {
        Ok(self.inner.registry.people().await?)
    }

    fn acts_for(&self, definitions: &Definitions) -> (Vec<(Act, EntryKind, Json)>, Applied) {
        let catalogue = self.catalogue();
        let mut acts = Vec::new();
        let mut applied = Applied::default();
        let named =
            |name: &str, version: Option<u32>| detail([("name", Some(text(name))), ("version", version.map(integer))]);
        for destination in &definitions.destinations {
            let held = catalogue.destinations.get(&destination.name);
            let change = match held {
                Some(held) if held == destination => Change::Unchanged,
                Some(_) => Change::Changed,
                None => Change::Added,
            };
            if change != Change::Unchanged {
                acts.push((
                    Act::PutDestination(Box::new(destination.clone())),
                    EntryKind::DestinationApplied,
                    named(&destination.name, None),
                ));
            }
            applied.destinations.insert(destination.name.clone(), change);
        }
        for workflow in &definitions.workflows {
            let name = workflow.name.as_str();
            let held = catalogue.workflows.get(name);
            let change = match held {
                Some(held) if held.workflow == *workflow && !held.is_retired => Change::Unchanged,
                Some(_) => Change::Changed,
                None => Change::Added,
            };
            if change != Change::Unchanged {
                let version = held.map_or(1, |held| held.version + 1);
                let put = VersionedWorkflow { version, workflow: workflow.clone(), is_retired: false };
                acts.push((Act::PutWorkflow(Box::new(put)), EntryKind::WorkflowApplied, named(name, Some(version))));
            }
            applied.workflows.insert(name.to_owned(), change);
        }
        for (name, held) in &catalogue.workflows {
            if !held.is_retired && !applied.workflows.contains_key(name) {
                let put = VersionedWorkflow { is_retired: true, ..(**held).clone() };
                acts.push((
                    Act::PutWorkflow(Box::new(put)),
                    EntryKind::WorkflowRemoved,
                    named(name, Some(held.version)),
                ));
                applied.workflows.insert(name.clone(), Change::Retired);
            }
        }
        for name in catalogue.destinations.keys() {
            if !applied.destinations.contains_key(name) {
                acts.push((Act::RemoveDestination(name.clone()), EntryKind::DestinationRemoved, named(name, None)));
                applied.destinations.insert(name.clone(), Change::Retired);
            }
        }
        for channel in &definitions.channels {
            let change = match catalogue.channels.get(&channel.name) {
                Some(held) if held == channel => Change::Unchanged,
                Some(_) => Change::Changed,
                None => Change::Added,
            };
            if change != Change::Unchanged {
                let put = Act::PutChannel(Box::new(channel.clone()));
                acts.push((put, EntryKind::ChannelApplied, named(&channel.name, None)));
            }
            applied.channels.insert(channel.name.clone(), change);
        }
        for name in catalogue.channels.keys() {
            if !applied.channels.contains_key(name) {
                acts.push((Act::RemoveChannel(name.clone()), EntryKind::ChannelRemoved, named(name, None)));
                applied.channels.insert(name.clone(), Change::Retired);
            }
        }
        (acts, applied)
    }

    pub(super) async fn administer_one(
        &self,
        actor: &Actor,
        act: Act,
        kind: EntryKind,
        facts: Json,
        what: &str,
        name: &str,
    ) -> Result<(), Refusal> {
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            let head = self.inner.registry.administration_head().await?;
            match self.administer(actor, head, vec![(act.clone(), kind, facts.clone())]).await? {
                Administered::Done => return Ok(()),
                Administered::Stale => {}
                Administered::Taken => return Err(Refusal::Taken { what: what.to_owned(), name: name.to_owned() }),
            }
        }
        Err(contended())
    }

    /// Does acts with their entries, chained behind the head that the caller saw; then sees the catalogue anew.
    pub(super) async fn administer(
        &self,
        actor: &Actor,
        mut head: (u64, ChainHash),
        acts: Vec<(Act, EntryKind, Json)>,
    ) -> Result<Administered, Refusal> {
        let at = self.now();
        let mut chained = Vec::with_capacity(acts.len());
        for (act, kind, facts) in acts {
            let entry = Entry::following(head, at, actor.clone(), kind, facts);
            head = (entry.sequence, entry.hash);
            chained.push((act, entry));
        }
        let done = self.inner.registry.administer(chained).await?;
        // It is done, whatever the reading says: a secret that is shown once must be shown, and the next reader tries again.
        let _ = self.refresh().await;
        Ok(done)
    }
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Json {
    Json::Array(values.map(text).collect())
}

/// Refuses a company that no operation could be of.
fn check_companies(reach: &Reach) -> Result<(), Refusal> {
    for company in reach.companies.iter().flatten() {
        KeyPart::new(company).map_err(|fault| Refusal::field("company", format!("{company:?} {fault}")))?;
    }
    Ok(())
}

fn checked_email(email: &str) -> Result<String, Refusal> {
    let email = email.trim().to_lowercase();
    if crate::person::is_address(&email) {
        Ok(email)
    } else {
        Err(Refusal::field("email", "is no address; it looks like name@example.com"))
    }
}
