//! People, tokens, workflows and destinations.

use std::collections::BTreeMap;
use std::sync::Arc;

use guard::destination::Destination;
use guard::notification::Channel;
use guard::store::{Act, Administered, Catalogue, VersionedWorkflow};
use guard::trail::Entry;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::ReadError;
use crate::store::row::{ChannelRow, DestinationRow, EntryRow, PersonRow, Place, TokenRow, WorkflowRow, column_number};
use crate::trail::ChainId;

/// Everything that is configured, as of one moment.
pub(super) async fn catalogue(connection: &mut PgConnection) -> Result<Catalogue, ReadError> {
    // One snapshot, so that the epoch is that of what is read.
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let epoch: i64 = sqlx::query_scalar("SELECT epoch FROM administration").fetch_one(&mut *transaction).await?;
    let sql = format!("SELECT {} FROM workflow ORDER BY name, version", WorkflowRow::COLUMNS);
    let workflows: Vec<WorkflowRow> = sqlx::query_as(&sql).fetch_all(&mut *transaction).await?;
    let sql = format!("SELECT {} FROM destination", DestinationRow::COLUMNS);
    let destinations: Vec<DestinationRow> = sqlx::query_as(&sql).fetch_all(&mut *transaction).await?;
    let sql = format!("SELECT {} FROM notification_channel", ChannelRow::COLUMNS);
    let channels: Vec<ChannelRow> = sqlx::query_as(&sql).fetch_all(&mut *transaction).await?;
    transaction.commit().await?;

    let mut catalogue =
        Catalogue { epoch: Place::new("administration", &1).number("epoch", epoch)?, ..Catalogue::default() };
    for row in workflows {
        let name = row.name.clone();
        let workflow = VersionedWorkflow::try_from(row)?;
        let volatile = workflow.workflow.volatile.as_slice().into();
        catalogue.volatile.insert((name.clone(), workflow.version), volatile);
        // Ordered by version: the newest stays.
        catalogue.workflows.insert(name, Arc::new(workflow));
    }
    let destinations = destinations.into_iter().map(|row| Ok((row.name.clone(), Destination::try_from(row)?)));
    catalogue.destinations = destinations.collect::<Result<BTreeMap<_, _>, ReadError>>()?;
    let channels = channels.into_iter().map(|row| Ok((row.name.clone(), Channel::try_from(row)?)));
    catalogue.channels = channels.collect::<Result<BTreeMap<_, _>, ReadError>>()?;
    Ok(catalogue)
}

/// Does all acts or none. The row of the administration is taken first, so that one administration waits for the other.
pub(super) async fn administer(
    connection: &mut PgConnection,
    acts: &[(Act, Entry)],
) -> Result<Administered, sqlx::Error> {
    let (Some((_, first)), Some((_, last))) = (acts.first(), acts.last()) else { return Ok(Administered::Done) };
    let mut transaction = connection.begin().await?;
    let head: Option<(i64, Vec<u8>)> = sqlx::query_as("SELECT sequence, head FROM administration FOR UPDATE")
        .fetch_optional(&mut *transaction)
        .await?;
    let follows = head.is_some_and(|(sequence, head)| {
        let head = <[u8; 32]>::try_from(head).map(guard::trail::ChainHash::from_bytes);
        sequence + 1 == column_number(first.sequence) && head.is_ok_and(|head| first.hash_after(head) == first.hash)
    });
    if !follows {
        return Ok(Administered::Stale);
    }
    for (act, entry) in acts {
        match perform(&mut transaction, act, entry).await {
            Ok(true) => {}
            Ok(false) => return Ok(Administered::Taken),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => return Ok(Administered::Taken),
            Err(error) => return Err(error),
        }
        let sql = format!("INSERT INTO entry ({}) VALUES ($1, $2, $3, $4, $5, $6, $7)", EntryRow::COLUMNS);
        let EntryRow { chain, sequence, at, actor, kind, detail, hash } = EntryRow::of(ChainId::ADMINISTRATION, entry);
        let insert =
            sqlx::query(&sql).bind(chain).bind(sequence).bind(at).bind(actor).bind(kind).bind(detail).bind(hash);
        insert.execute(&mut *transaction).await?;
    }
    sqlx::query("UPDATE administration SET epoch = epoch + 1, sequence = $1, head = $2")
        .bind(column_number(last.sequence))
        .bind(last.hash.as_bytes().as_slice())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(Administered::Done)
}

/// Does one act; false where somebody was first.
async fn perform(connection: &mut PgConnection, act: &Act, entry: &Entry) -> Result<bool, sqlx::Error> {
    let done = match act {
        Act::Note => return Ok(true),
        Act::PutWorkflow(workflow) => {
            let WorkflowRow { name, version, definition, is_retired } = WorkflowRow::from(workflow.as_ref());
            // A workflow that is taken out keeps its version.
            sqlx::query(
                "INSERT INTO workflow (name, version, definition, is_retired, changed_at, changed_by) \
                 VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (name, version) DO UPDATE SET definition = excluded.definition, is_retired = excluded.is_retired",
            )
            .bind(name)
            .bind(version)
            .bind(definition)
            .bind(is_retired)
            .bind(entry.at.timestamp_millis())
            .bind(entry.actor.to_string())
            .execute(connection)
            .await?
        }
        Act::PutRuleProposal(proposal) => {
            super::rules::put(connection, proposal).await?;
            return Ok(true);
        }
        Act::PutPeriod(period) => {
            super::period::put(connection, period).await?;
            return Ok(true);
        }
        Act::PutDestination(destination) => {
            let DestinationRow { name, definition } = DestinationRow::from(destination.as_ref());
            sqlx::query(
                "INSERT INTO destination (name, definition) VALUES ($1, $2) \
                 ON CONFLICT (name) DO UPDATE SET definition = excluded.definition",
            )
            .bind(name)
            .bind(definition)
            .execute(connection)
            .await?
        }
        Act::RemoveDestination(name) => {
            sqlx::query("DELETE FROM destination WHERE name = $1").bind(name).execute(connection).await?;
            return Ok(true);
        }
        Act::PutChannel(channel) => {
            let ChannelRow { name, definition } = ChannelRow::from(channel.as_ref());
            let sql = "UPDATE notification_state SET off_at = NULL, off_reason = NULL WHERE channel = $1";
            sqlx::query(sql).bind(name.clone()).execute(&mut *connection).await?;
            sqlx::query(
                "INSERT INTO notification_channel (name, definition) VALUES ($1, $2) \
                 ON CONFLICT (name) DO UPDATE SET definition = excluded.definition",
            )
            .bind(name)
            .bind(definition)
            .execute(connection)
            .await?
        }
        Act::RemoveChannel(name) => {
            sqlx::query("DELETE FROM notification_channel WHERE name = $1").bind(name).execute(connection).await?;
            return Ok(true);
        }
        Act::AddPerson { person, password_hash, only_first } => {
            let PersonRow { id, email, role, reach, password_hash } = PersonRow::of(person, password_hash);
            sqlx::query(
                "INSERT INTO person (id, email, role, reach, password_hash) SELECT $1, $2, $3, $4, $5 \
                 WHERE NOT ($6 AND EXISTS (SELECT FROM person))",
            )
            .bind(id)
            .bind(email)
            .bind(role)
            .bind(reach)
            .bind(password_hash)
            .bind(*only_first)
            .execute(connection)
            .await?
        }
        Act::AddToken { token, digest } => {
            let TokenRow { id, name, scopes, reach, created_at, created_by, revoked_at } = TokenRow::from(token);
            sqlx::query(
                "INSERT INTO token (id, name, digest, scopes, reach, created_at, created_by, revoked_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(id)
            .bind(name)
            .bind(digest.as_slice())
            .bind(scopes)
            .bind(reach)
            .bind(created_at)
            .bind(created_by)
            .bind(revoked_at)
            .execute(connection)
            .await?
        }
        Act::RevokeToken { id, at } => {
            sqlx::query("UPDATE token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
                .bind(Uuid::from_u128(id.as_u128()))
                .bind(at.timestamp_millis())
                .execute(connection)
                .await?;
            return Ok(true);
        }
    };
    Ok(done.rows_affected() > 0)
}
