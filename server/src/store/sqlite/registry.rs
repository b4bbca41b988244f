//! What is configured, and who may do what.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use guard::destination::Destination;
use guard::id::{OperationId, PersonId};
use guard::notification::Channel;
use guard::person::Person;
use guard::refusal::StoreFault;
use guard::store::{Act, Administered, Catalogue, Registry, VersionedWorkflow};
use guard::summary::Count;
use guard::token::Token;
use guard::trail::{ChainHash, Entry};
use rusqlite::{Connection, params};

use super::readers::{all, one};
use super::work::{append, entries, execute};
use super::writer::{Work, perform};
use super::{SqliteStore, fault};
use crate::store::row::{ChannelRow, DestinationRow, EntryRow, PersonRow, Place, TokenRow, WorkflowRow};
use crate::trail::ChainId;

/// The sequence and hash of the administration's last entry.
pub(super) fn head(connection: &Connection) -> Result<(u64, ChainHash), StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "administration", &1);
    let (sequence, hash): (i64, Vec<u8>) = connection
        .prepare_cached("SELECT sequence, head FROM administration WHERE singleton = 1")
        .and_then(|mut statement| statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)?;
    let place = Place::new("administration", &1);
    Ok((place.number("sequence", sequence)?, ChainHash::from_bytes(place.bytes("head", &hash)?)))
}

fn epoch(connection: &Connection) -> Result<u64, StoreFault> {
    let found: i64 = connection
        .prepare_cached("SELECT epoch FROM administration WHERE singleton = 1")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| fault::of(&error, "administration", &1))?;
    Place::new("administration", &1).number("epoch", found)
}

/// Everything that is configured.
fn catalogue(connection: &Connection) -> Result<Catalogue, StoreFault> {
    let mut catalogue = Catalogue { epoch: epoch(connection)?, ..Catalogue::default() };
    let sql = format!("SELECT {} FROM workflow ORDER BY name, version", WorkflowRow::COLUMNS);
    for versioned in all::<WorkflowRow, VersionedWorkflow>(connection, "workflow", &sql, [])? {
        let name = versioned.workflow.name.as_str().to_owned();
        catalogue.volatile.insert((name.clone(), versioned.version), versioned.workflow.volatile.clone().into());
        // The newest comes last.
        catalogue.workflows.insert(name, Arc::new(versioned));
    }
    let sql = format!("SELECT {} FROM destination ORDER BY name", DestinationRow::COLUMNS);
    let destinations = all::<DestinationRow, Destination>(connection, "destination", &sql, [])?;
    catalogue.destinations =
        destinations.into_iter().map(|destination| (destination.name.clone(), destination)).collect::<BTreeMap<_, _>>();
    let sql = format!("SELECT {} FROM notification_channel ORDER BY name", ChannelRow::COLUMNS);
    let channels = all::<ChannelRow, Channel>(connection, "notification_channel", &sql, [])?;
    catalogue.channels = channels.into_iter().map(|channel| (channel.name.clone(), channel)).collect();
    Ok(catalogue)
}

/// Acts of the administration with their entries.
struct Administer {
    acts: Vec<(Act, Entry)>,
}

impl Administer {
    /// Whether the first entry follows on what is stored.
    fn follows_on(&self, head: (u64, ChainHash)) -> bool {
        let (sequence, hash) = head;
        self.acts
            .first()
            .is_none_or(|(_, entry)| entry.sequence == sequence + 1 && entry.hash_after(hash) == entry.hash)
    }

    fn do_all(&self, transaction: &Connection) -> Result<Administered, StoreFault> {
        for (act, entry) in &self.acts {
            if !do_act(transaction, act, entry)? {
                return Ok(Administered::Taken);
            }
            append(transaction, &EntryRow::of(ChainId::ADMINISTRATION, entry))?;
            execute(
                transaction,
                "administration",
                &1,
                "UPDATE administration SET sequence = ?1, head = ?2, epoch = epoch + 1 WHERE singleton = 1",
                params![entry.sequence, entry.hash.as_bytes()],
            )?;
        }
        Ok(Administered::Done)
    }
}

impl Work for Administer {
    type Answer = Administered;

    fn run(&self, transaction: &Connection) -> Result<Administered, StoreFault> {
        if !self.follows_on(head(transaction)?) {
            return Ok(Administered::Stale);
        }
        let failed = |error: rusqlite::Error| fault::of(&error, "administration", &1);
        transaction.execute_batch("SAVEPOINT acts").map_err(failed)?;
        let done = self.do_all(transaction)?;
        let end = if done == Administered::Done { "RELEASE acts" } else { "ROLLBACK TO acts; RELEASE acts" };
        transaction.execute_batch(end).map_err(failed)?;
        Ok(done)
    }

    fn counts(&self, _: &Administered) -> &[Count] {
        &[]
    }

    fn changed(&self, _: &Administered) -> Option<OperationId> {
        None
    }
}

/// Does one act; false when its name is taken.
fn do_act(transaction: &Connection, act: &Act, entry: &Entry) -> Result<bool, StoreFault> {
    match act {
        Act::Note => Ok(true),
        Act::PutWorkflow(versioned) => {
            let WorkflowRow { name, version, definition, is_retired } = WorkflowRow::from(&**versioned);
            execute(
                transaction,
                "workflow",
                &name,
                "INSERT INTO workflow (name, version, definition, is_retired, changed_at, changed_by) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT (name, version) DO UPDATE SET definition = excluded.definition, is_retired = excluded.is_retired",
                params![name, version, definition, is_retired, entry.at.timestamp_millis(), entry.actor.to_string()],
            )?;
            Ok(true)
        }
        Act::PutRuleProposal(proposal) => {
            super::rules::put(transaction, proposal)?;
            Ok(true)
        }
        Act::PutPeriod(period) => {
            super::period::put(transaction, period)?;
            Ok(true)
        }
        Act::PutDestination(destination) => {
            let DestinationRow { name, definition } = DestinationRow::from(&**destination);
            execute(
                transaction,
                "destination",
                &name,
                "INSERT INTO destination (name, definition) VALUES (?1, ?2) \
                 ON CONFLICT (name) DO UPDATE SET definition = excluded.definition",
                params![name, definition],
            )?;
            Ok(true)
        }
        Act::RemoveDestination(name) => {
            execute(transaction, "destination", name, "DELETE FROM destination WHERE name = ?1", [name])?;
            Ok(true)
        }
        Act::PutChannel(channel) => {
            let ChannelRow { name, definition } = ChannelRow::from(&**channel);
            execute(
                transaction,
                "notification_channel",
                &name,
                "INSERT INTO notification_channel (name, definition) VALUES (?1, ?2) \
                 ON CONFLICT (name) DO UPDATE SET definition = excluded.definition",
                params![name, definition],
            )?;
            let sql = "UPDATE notification_state SET off_at = NULL, off_reason = NULL WHERE channel = ?1";
            execute(transaction, "notification_state", &name, sql, [&name])?;
            Ok(true)
        }
        Act::RemoveChannel(name) => {
            let sql = "DELETE FROM notification_channel WHERE name = ?1";
            execute(transaction, "notification_channel", name, sql, [name])?;
            Ok(true)
        }
        Act::AddPerson { person, password_hash, only_first } => {
            let row = PersonRow::of(person, password_hash);
            let added = execute(
                transaction,
                "person",
                &row.id,
                "INSERT INTO person (id, email, role, reach, password_hash) \
                 SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT (?6 AND EXISTS (SELECT 1 FROM person)) \
                 ON CONFLICT (email) DO NOTHING",
                params![&row.id.as_bytes()[..], row.email, row.role, row.reach, row.password_hash, only_first],
            )?;
            Ok(added == 1)
        }
        Act::AddToken { token, digest } => {
            let row = TokenRow::from(token);
            let added = execute(
                transaction,
                "token",
                &row.id,
                "INSERT INTO token (id, name, digest, scopes, reach, created_at, created_by, revoked_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (name) DO NOTHING",
                params![
                    &row.id.as_bytes()[..],
                    row.name,
                    digest,
                    row.scopes,
                    row.reach,
                    row.created_at,
                    row.created_by,
                    row.revoked_at
                ],
            )?;
            Ok(added == 1)
        }
        Act::RevokeToken { id, at } => {
            execute(
                transaction,
                "token",
                id,
                // The first revocation counts.
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
                params![id.as_u128().to_be_bytes(), at.timestamp_millis()],
            )?;
            Ok(true)
        }
    }
}

#[async_trait]
impl Registry for SqliteStore {
    async fn catalogue(&self) -> Result<Catalogue, StoreFault> {
        self.read(catalogue).await
    }

    async fn epoch(&self) -> Result<u64, StoreFault> {
        self.read_here(epoch)
    }

    async fn administration_head(&self) -> Result<(u64, ChainHash), StoreFault> {
        self.read_here(head)
    }

    async fn administration_entries(&self, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        self.read(move |connection| entries(connection, ChainId::ADMINISTRATION, after, limit)).await
    }

    async fn administer(&self, acts: Vec<(Act, Entry)>) -> Result<Administered, StoreFault> {
        perform(&self.queue, Administer { acts }).await
    }

    async fn token_by_digest(&self, digest: &[u8; 32]) -> Result<Option<Token>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM token WHERE digest = ?1", TokenRow::COLUMNS);
            one::<TokenRow, _>(connection, "token", &sql, [digest])
        })
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreFault> {
        self.read(|connection| {
            let sql = format!("SELECT {} FROM token ORDER BY id DESC", TokenRow::COLUMNS);
            all::<TokenRow, _>(connection, "token", &sql, [])
        })
        .await
    }

    async fn person_by_email(&self, email: &str) -> Result<Option<(Person, String)>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM person WHERE email = ?1", PersonRow::COLUMNS);
            one::<PersonRow, _>(connection, "person", &sql, [email])
        })
    }

    async fn person(&self, id: PersonId) -> Result<Option<Person>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM person WHERE id = ?1", PersonRow::COLUMNS);
            let found = one::<PersonRow, (Person, String)>(connection, "person", &sql, [id.as_u128().to_be_bytes()])?;
            Ok(found.map(|(person, _)| person))
        })
    }

    async fn people(&self) -> Result<Vec<Person>, StoreFault> {
        self.read(|connection| {
            let sql = format!("SELECT {} FROM person ORDER BY email", PersonRow::COLUMNS);
            let found = all::<PersonRow, (Person, String)>(connection, "person", &sql, [])?;
            Ok(found.into_iter().map(|(person, _)| person).collect())
        })
        .await
    }
}
