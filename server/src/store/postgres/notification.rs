//! Notifications: groups that were told, messages on their way, how channels fare.

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::MessageId;
use guard::notification::{COUNTED_MAX, ChannelState, Fate, Group, Message, Piece};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::store::{Notifications, Replaced, Tried};
use guard::token::Reach;
use sqlx::{Connection as _, PgConnection, QueryBuilder};
use uuid::Uuid;

use super::connection::bounded;
use super::list::push_reach;
use super::{PostgresStore, ReadError, read};
use crate::store::row::{ChannelStateRow, GroupRow, MessageRow, PieceRow, Place};

/// What is due and free: `$1` now, `$2` the channels that are switched off, `$3` what is older than that is claimed all the same.
const DUE: &str = "FROM notification_message WHERE due_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1) \
     AND (made_at <= $3 OR channel <> ALL($2))";

#[async_trait]
impl Notifications for PostgresStore {
    async fn told_groups(&self) -> Result<Vec<Group>, StoreFault> {
        let sql = format!("SELECT {} FROM notification_group", GroupRow::COLUMNS);
        self.all::<GroupRow, _>(sqlx::query(&sql)).await
    }

    async fn overdue(
        &self,
        reach: &Reach,
        workflow: &str,
        limit_minutes: u32,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let limit = i64::from(limit_minutes) * 60_000;
        let due_at = format!("greatest(state_since + {limit}, coalesce(review.waits_until, 0))");
        let mut query = QueryBuilder::new(format!(
            "SELECT workflow, company, currency, ten_thousandths, state_since AS since, {due_at} AS due_at \
             FROM operation LEFT JOIN review ON review.operation = operation.id \
             WHERE state IN ('unknown', 'disputed') AND {due_at} <= "
        ));
        query.push_bind(as_of.timestamp_millis()).push(" AND operation.workflow = ").push_bind(workflow.to_owned());
        push_reach(&mut query, reach, "operation");
        query.push(format!(" LIMIT {COUNTED_MAX}"));
        self.all::<PieceRow, _>(query.build()).await
    }

    async fn amendments_waiting(
        &self,
        reach: &Reach,
        workflow: &str,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let mut query = QueryBuilder::new(
            "SELECT amendment.workflow, amendment.company, currency, ten_thousandths, proposed_at AS since, proposed_at AS due_at \
             FROM amendment JOIN operation ON operation.id = amendment.operation \
             WHERE amendment.state = 'awaiting_approval' AND amendment.proposed_at <= ",
        );
        query.push_bind(as_of.timestamp_millis()).push(" AND amendment.workflow = ").push_bind(workflow.to_owned());
        push_reach(&mut query, reach, "amendment");
        query.push(format!(" LIMIT {COUNTED_MAX}"));
        self.all::<PieceRow, _>(query.build()).await
    }

    async fn tell(&self, group: &Group, messages: &[Message]) -> Result<Replaced, StoreFault> {
        let mut connection = self.connection().await?;
        read(tell(&mut connection, GroupRow::from(group), messages.iter().map(MessageRow::from).collect())).await
    }

    async fn forget_group(&self, group: &Group) -> Result<(), StoreFault> {
        let GroupRow { channel, kind, subject, version, .. } = GroupRow::from(group);
        let sql = "DELETE FROM notification_group WHERE channel = $1 AND kind = $2 AND subject = $3 AND version = $4";
        self.write(sqlx::query(sql).bind(channel).bind(kind).bind(subject).bind(version)).await.map(drop)
    }

    async fn is_message_due(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
    ) -> Result<bool, StoreFault> {
        let sql = format!("SELECT EXISTS (SELECT {DUE})");
        let found = sqlx::query_scalar::<_, bool>(&sql)
            .bind(now.timestamp_millis())
            .bind(switched_off.to_vec())
            .bind(over.timestamp_millis());
        let mut connection = self.connection().await?;
        bounded(found.fetch_one(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))
    }

    async fn claim_messages(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<Message>, StoreFault> {
        let sql = format!(
            "UPDATE notification_message SET claimed_by = $4, claimed_until = $5 \
             WHERE id IN (SELECT id {DUE} ORDER BY due_at, id LIMIT $6 FOR UPDATE SKIP LOCKED) RETURNING {}",
            MessageRow::COLUMNS
        );
        let claimed = sqlx::query(&sql)
            .bind(now.timestamp_millis())
            .bind(switched_off.to_vec())
            .bind(over.timestamp_millis())
            .bind(claim.by.clone())
            .bind(claim.until.timestamp_millis())
            .bind(i64::from(limit));
        let mut claimed: Vec<Message> = self.all::<MessageRow, _>(claimed).await?;
        claimed.sort_by_key(|message| (message.due_at, message.id));
        Ok(claimed)
    }

    async fn settle_message(&self, id: MessageId, by: &str, fate: Fate, tried: &Tried) -> Result<Replaced, StoreFault> {
        let mut connection = self.connection().await?;
        read(async {
            let mut transaction = connection.begin().await?;
            let id = Uuid::from_u128(id.as_u128());
            let touched = match fate {
                Fate::Over => sqlx::query("DELETE FROM notification_message WHERE id = $1 AND claimed_by = $2")
                    .bind(id)
                    .bind(by)
                    .execute(&mut *transaction),
                Fate::Again(at) => sqlx::query(
                    "UPDATE notification_message SET due_at = $3, tries = tries + 1, claimed_by = NULL, \
                     claimed_until = NULL WHERE id = $1 AND claimed_by = $2",
                )
                .bind(id)
                .bind(by)
                .bind(at.timestamp_millis())
                .execute(&mut *transaction),
            };
            if touched.await?.rows_affected() == 0 {
                return Ok(Replaced::Stale);
            }
            note(&mut transaction, tried).await?;
            transaction.commit().await?;
            Ok(Replaced::Replaced)
        })
        .await
    }

    async fn note_try(&self, tried: &Tried) -> Result<(), StoreFault> {
        let mut connection = self.connection().await?;
        read(async {
            let mut transaction = connection.begin().await?;
            note(&mut transaction, tried).await?;
            transaction.commit().await?;
            Ok(())
        })
        .await
    }

    async fn channel_states(&self) -> Result<Vec<ChannelState>, StoreFault> {
        let sql = format!("SELECT {} FROM notification_state ORDER BY channel COLLATE \"C\"", ChannelStateRow::COLUMNS);
        self.all::<ChannelStateRow, _>(sqlx::query(&sql)).await
    }

    async fn messages_waiting(&self) -> Result<u64, StoreFault> {
        let mut connection = self.connection().await?;
        let counted = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM notification_message");
        let counted = bounded(counted.fetch_one(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))?;
        Place::new("notification_message", &"counts").number("id", counted)
    }
}

async fn tell(
    connection: &mut PgConnection,
    group: GroupRow,
    messages: Vec<MessageRow>,
) -> Result<Replaced, ReadError> {
    let mut transaction = connection.begin().await?;
    let sql = if group.version == 1 {
        "INSERT INTO notification_group (channel, kind, subject, version, told_at, told_until) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING"
    } else {
        "UPDATE notification_group SET version = $4, told_at = $5, told_until = $6 \
         WHERE channel = $1 AND kind = $2 AND subject = $3 AND version = $4 - 1"
    };
    let told = sqlx::query(sql)
        .bind(group.channel)
        .bind(group.kind)
        .bind(group.subject)
        .bind(group.version)
        .bind(group.told_at)
        .bind(group.told_until)
        .execute(&mut *transaction);
    if told.await?.rows_affected() == 0 {
        return Ok(Replaced::Stale);
    }
    for message in messages {
        let columns = MessageRow::COLUMNS;
        let sql = format!("INSERT INTO notification_message ({columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)");
        sqlx::query(&sql)
            .bind(message.id)
            .bind(message.channel)
            .bind(message.recipient)
            .bind(message.facts)
            .bind(message.made_at)
            .bind(message.due_at)
            .bind(message.tries)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(Replaced::Replaced)
}

/// Keeps how a channel fared. Its row is locked first, so that no two tries are counted as one.
async fn note(connection: &mut PgConnection, tried: &Tried) -> Result<(), ReadError> {
    let fresh = ChannelState::fresh(tried.channel.clone(), tried.way);
    put(connection, ChannelStateRow::from(&fresh), "ON CONFLICT DO NOTHING").await?;
    let sql = format!("SELECT {} FROM notification_state WHERE channel = $1 FOR UPDATE", ChannelStateRow::COLUMNS);
    let held = sqlx::query_as::<_, ChannelStateRow>(&sql).bind(&tried.channel).fetch_one(&mut *connection).await?;
    let held = ChannelState { way: tried.way, ..ChannelState::try_from(held)? };
    let after = held.after(&tried.attempt, tried.at);
    put(connection, ChannelStateRow::from(&after), ChannelStateRow::UPDATE).await
}

async fn put(connection: &mut PgConnection, row: ChannelStateRow, otherwise: &str) -> Result<(), ReadError> {
    let columns = ChannelStateRow::COLUMNS;
    let sql = format!(
        "INSERT INTO notification_state ({columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) {otherwise}"
    );
    sqlx::query(&sql)
        .bind(row.channel)
        .bind(row.way)
        .bind(row.delivered)
        .bind(row.failed)
        .bind(row.given_up)
        .bind(row.delivered_at)
        .bind(row.error_at)
        .bind(row.error)
        .bind(row.off_at)
        .bind(row.off_reason)
        .execute(connection)
        .await?;
    Ok(())
}
