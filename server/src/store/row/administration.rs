//! What is configured, and who may do what.

use std::collections::BTreeSet;

use guard::destination::Destination;
use guard::id::{PersonId, TokenId};
use guard::person::{Person, Role};
use guard::refusal::StoreFault;
use guard::store::VersionedWorkflow;
use guard::token::{Scope, Token};
use uuid::Uuid;

use super::{Place, json_text, reach_text, uuid};

/// A row of `workflow`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct WorkflowRow {
    pub name: String,
    pub version: i64,
    pub definition: String,
    pub is_retired: bool,
}

impl WorkflowRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "name, version, definition, is_retired";
}

impl From<&VersionedWorkflow> for WorkflowRow {
    fn from(versioned: &VersionedWorkflow) -> Self {
        let VersionedWorkflow { version, workflow, is_retired } = versioned;
        Self {
            name: workflow.name.as_str().to_owned(),
            version: (*version).into(),
            definition: json_text(workflow),
            is_retired: *is_retired,
        }
    }
}

impl TryFrom<WorkflowRow> for VersionedWorkflow {
    type Error = StoreFault;

    fn try_from(row: WorkflowRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}", row.name, row.version);
        let place = Place::new("workflow", &id);
        Ok(Self {
            version: place.number("version", row.version)?,
            workflow: place.json("definition", &row.definition)?,
            is_retired: row.is_retired,
        })
    }
}

/// A row of `destination`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct DestinationRow {
    pub name: String,
    pub definition: String,
}

impl DestinationRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "name, definition";
}

impl From<&Destination> for DestinationRow {
    fn from(destination: &Destination) -> Self {
        Self { name: destination.name.clone(), definition: json_text(destination) }
    }
}

impl TryFrom<DestinationRow> for Destination {
    type Error = StoreFault;

    fn try_from(row: DestinationRow) -> Result<Self, StoreFault> {
        Place::new("destination", &row.name).json("definition", &row.definition)
    }
}

/// A row of `person`.
#[derive(Clone, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct PersonRow {
    pub id: Uuid,
    pub email: String,
    pub role: String,
    pub reach: String,
    pub password_hash: String,
}

impl PersonRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, email, role, reach, password_hash";

    /// The row of a person with the hash of the password.
    pub fn of(person: &Person, password_hash: &str) -> Self {
        let Person { id, email, role, reach } = person;
        Self {
            id: uuid(id.as_u128()),
            email: email.clone(),
            role: role.as_str().to_owned(),
            reach: reach_text(reach),
            password_hash: password_hash.to_owned(),
        }
    }
}

impl TryFrom<PersonRow> for (Person, String) {
    type Error = StoreFault;

    fn try_from(row: PersonRow) -> Result<Self, StoreFault> {
        let place = Place::new("person", &row.id);
        let person = Person {
            id: PersonId::from_u128(row.id.as_u128()),
            role: place.some("role", Role::parse(&row.role))?,
            reach: place.json("reach", &row.reach)?,
            email: row.email,
        };
        Ok((person, row.password_hash))
    }
}

/// A row of `token`, without the digest of the secret.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct TokenRow {
    pub id: Uuid,
    pub name: String,
    pub scopes: String,
    pub reach: String,
    pub created_at: i64,
    pub created_by: String,
    pub revoked_at: Option<i64>,
}

impl TokenRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, name, scopes, reach, created_at, created_by, revoked_at";
}

impl From<&Token> for TokenRow {
    fn from(token: &Token) -> Self {
        let Token { id, name, scopes, reach, created_at, created_by, revoked_at } = token;
        Self {
            id: uuid(id.as_u128()),
            name: name.clone(),
            scopes: json_text(scopes),
            reach: reach_text(reach),
            created_at: created_at.timestamp_millis(),
            created_by: created_by.to_string(),
            revoked_at: revoked_at.map(|moment| moment.timestamp_millis()),
        }
    }
}

impl TryFrom<TokenRow> for Token {
    type Error = StoreFault;

    fn try_from(row: TokenRow) -> Result<Self, StoreFault> {
        let place = Place::new("token", &row.id);
        let scopes: BTreeSet<Scope> = place.json("scopes", &row.scopes)?;
        Ok(Self {
            id: TokenId::from_u128(row.id.as_u128()),
            scopes,
            reach: place.json("reach", &row.reach)?,
            created_at: place.moment("created_at", row.created_at)?,
            created_by: place.read("created_by", row.created_by.parse())?,
            revoked_at: row.revoked_at.map(|moment| place.moment("revoked_at", moment)).transpose()?,
            name: row.name,
        })
    }
}
