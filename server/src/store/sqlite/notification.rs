//! Notifications: groups that were told, messages on their way, how channels fare.

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::MessageId;
use guard::notification::{COUNTED_MAX, ChannelState, Fate, Group, Message, Piece};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::store::{Notifications, Replaced, Tried};
use guard::token::Reach;
use rusqlite::{Connection, params, params_from_iter};

use super::list::Values;
use super::readers::{all, one};
use super::recovery::Task;
use super::work::execute;
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::row::{ChannelStateRow, GroupRow, MessageRow, PieceRow, json_text};

/// What is due and free: `?1` now, `?2` the channels that are switched off (JSON), `?3` what is older than that is claimed all the same.
const DUE: &str = "FROM notification_message INDEXED BY notification_message_due WHERE due_at <= ?1 \
     AND (claimed_until IS NULL OR claimed_until <= ?1) \
     AND (made_at <= ?3 OR channel NOT IN (SELECT value FROM json_each(?2)))";

#[async_trait]
impl Notifications for SqliteStore {
    async fn told_groups(&self) -> Result<Vec<Group>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM notification_group", GroupRow::COLUMNS);
            all::<GroupRow, _>(connection, "notification_group", &sql, [])
        })
    }

    async fn overdue(
        &self,
        reach: &Reach,
        workflow: &str,
        limit_minutes: u32,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let mut values = Values::default();
        let workflow = values.text(workflow);
        let limit = values.integer(i64::from(limit_minutes) * 60_000);
        let as_of = values.integer(as_of.timestamp_millis());
        let mut conditions = vec![
            format!("workflow = {workflow}"),
            "state IN ('unknown', 'disputed')".to_owned(),
            format!("max(state_since + {limit}, coalesce(review.waits_until, 0)) <= {as_of}"),
        ];
        values.within(reach, &mut conditions);
        let sql = format!(
            "SELECT workflow, company, currency, ten_thousandths, state_since, \
             max(state_since + {limit}, coalesce(review.waits_until, 0)) \
             FROM operation INDEXED BY operation_at_risk_by_workflow LEFT JOIN review ON review.operation = operation.id \
             WHERE {} LIMIT {COUNTED_MAX}",
            conditions.join(" AND ")
        );
        let values = values.0;
        self.read(move |connection| all::<PieceRow, _>(connection, "operation", &sql, params_from_iter(values))).await
    }

    async fn amendments_waiting(
        &self,
        reach: &Reach,
        workflow: &str,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let mut values = Values::default();
        let workflow = values.text(workflow);
        let as_of = values.integer(as_of.timestamp_millis());
        let mut conditions = vec![
            "state = 'awaiting_approval'".to_owned(),
            format!("proposed_at <= {as_of}"),
            format!("workflow = {workflow}"),
        ];
        values.within(reach, &mut conditions);
        let sql = format!(
            "SELECT workflow, company, currency, ten_thousandths, proposed_at, proposed_at \
             FROM (SELECT operation, proposed_at FROM amendment INDEXED BY amendment_by_state WHERE {} LIMIT {COUNTED_MAX}) AS waiting \
             CROSS JOIN operation ON operation.id = waiting.operation",
            conditions.join(" AND ")
        );
        let values = values.0;
        self.read(move |connection| all::<PieceRow, _>(connection, "amendment", &sql, params_from_iter(values))).await
    }

    async fn tell(&self, group: &Group, messages: &[Message]) -> Result<Replaced, StoreFault> {
        let row = GroupRow::from(group);
        let messages: Vec<MessageRow> = messages.iter().map(MessageRow::from).collect();
        let task = Task(move |transaction: &Connection| {
            let GroupRow { channel, kind, subject, version, told_at, told_until } = &row;
            let sql = if *version == 1 {
                "INSERT INTO notification_group (channel, kind, subject, version, told_at, told_until) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING"
            } else {
                "UPDATE notification_group SET version = ?4, told_at = ?5, told_until = ?6 \
                 WHERE channel = ?1 AND kind = ?2 AND subject = ?3 AND version = ?4 - 1"
            };
            let values = params![channel, kind, subject, version, told_at, told_until];
            if execute(transaction, "notification_group", subject, sql, values)? == 0 {
                return Ok(Replaced::Stale);
            }
            for message in &messages {
                let sql = format!(
                    "INSERT INTO notification_message ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    MessageRow::COLUMNS
                );
                let values = params![
                    &message.id.as_bytes()[..],
                    message.channel,
                    message.recipient,
                    message.facts,
                    message.made_at,
                    message.due_at,
                    message.tries
                ];
                execute(transaction, "notification_message", &message.id, &sql, values)?;
            }
            Ok(Replaced::Replaced)
        });
        perform(&self.queue, task).await
    }

    async fn forget_group(&self, group: &Group) -> Result<(), StoreFault> {
        let row = GroupRow::from(group);
        let task = Task(move |transaction: &Connection| {
            let sql =
                "DELETE FROM notification_group WHERE channel = ?1 AND kind = ?2 AND subject = ?3 AND version = ?4";
            let values = params![row.channel, row.kind, row.subject, row.version];
            execute(transaction, "notification_group", &row.subject, sql, values).map(drop)
        });
        perform(&self.queue, task).await
    }

    async fn is_message_due(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
    ) -> Result<bool, StoreFault> {
        let place = params![now.timestamp_millis(), json_text(&switched_off), over.timestamp_millis()];
        self.read_here(|connection| {
            let found: Result<bool, _> = connection
                .prepare_cached(&format!("SELECT EXISTS (SELECT 1 {DUE})"))
                .and_then(|mut statement| statement.query_row(place, |row| row.get(0)));
            found.map_err(|error| fault::of(&error, "notification_message", &"?"))
        })
    }

    async fn claim_messages(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<Message>, StoreFault> {
        let (switched_off, claim) = (json_text(&switched_off), claim.clone());
        let task = Task(move |transaction: &Connection| {
            let sql = format!(
                "UPDATE notification_message SET claimed_by = ?4, claimed_until = ?5 \
                 WHERE id IN (SELECT id {DUE} ORDER BY due_at, id LIMIT ?6) RETURNING {}",
                MessageRow::COLUMNS
            );
            let place = params![
                now.timestamp_millis(),
                switched_off,
                over.timestamp_millis(),
                claim.by,
                claim.until.timestamp_millis(),
                limit
            ];
            let mut claimed: Vec<Message> = all::<MessageRow, _>(transaction, "notification_message", &sql, place)?;
            claimed.sort_by_key(|message| (message.due_at, message.id));
            Ok(claimed)
        });
        perform(&self.queue, task).await
    }

    async fn settle_message(&self, id: MessageId, by: &str, fate: Fate, tried: &Tried) -> Result<Replaced, StoreFault> {
        let (by, tried) = (by.to_owned(), tried.clone());
        let task = Task(move |transaction: &Connection| {
            let key = &id.as_u128().to_be_bytes()[..];
            let touched = match fate {
                Fate::Over => {
                    let sql = "DELETE FROM notification_message WHERE id = ?1 AND claimed_by = ?2";
                    execute(transaction, "notification_message", &id, sql, params![key, by])?
                }
                Fate::Again(at) => {
                    let sql = "UPDATE notification_message SET due_at = ?3, tries = tries + 1, claimed_by = NULL, \
                         claimed_until = NULL WHERE id = ?1 AND claimed_by = ?2";
                    let values = params![key, by, at.timestamp_millis()];
                    execute(transaction, "notification_message", &id, sql, values)?
                }
            };
            if touched == 0 {
                return Ok(Replaced::Stale);
            }
            note(transaction, &tried)?;
            Ok(Replaced::Replaced)
        });
        perform(&self.queue, task).await
    }

    async fn note_try(&self, tried: &Tried) -> Result<(), StoreFault> {
        let tried = tried.clone();
        perform(&self.queue, Task(move |transaction: &Connection| note(transaction, &tried))).await
    }

    async fn channel_states(&self) -> Result<Vec<ChannelState>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM notification_state ORDER BY channel", ChannelStateRow::COLUMNS);
            all::<ChannelStateRow, _>(connection, "notification_state", &sql, [])
        })
    }

    async fn messages_waiting(&self) -> Result<u64, StoreFault> {
        self.read_here(|connection| {
            let counted: Result<u32, _> = connection
                .prepare_cached("SELECT count(*) FROM notification_message")
                .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
            counted.map(u64::from).map_err(|error| fault::of(&error, "notification_message", &"?"))
        })
    }
}

/// Keeps how a channel fared.
fn note(transaction: &Connection, tried: &Tried) -> Result<(), StoreFault> {
    let sql = format!("SELECT {} FROM notification_state WHERE channel = ?1", ChannelStateRow::COLUMNS);
    let held = one::<ChannelStateRow, ChannelState>(transaction, "notification_state", &sql, [&tried.channel])?;
    let held = held.unwrap_or_else(|| ChannelState::fresh(tried.channel.clone(), tried.way));
    let row = ChannelStateRow::from(&ChannelState { way: tried.way, ..held }.after(&tried.attempt, tried.at));
    let sql = format!(
        "INSERT INTO notification_state ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) {}",
        ChannelStateRow::COLUMNS,
        ChannelStateRow::UPDATE
    );
    let values = params![
        row.channel,
        row.way,
        row.delivered,
        row.failed,
        row.given_up,
        row.delivered_at,
        row.error_at,
        row.error,
        row.off_at,
        row.off_reason
    ];
    execute(transaction, "notification_state", &row.channel, &sql, values).map(drop)
}
