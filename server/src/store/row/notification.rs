//! The tables of notifications.

use guard::id::MessageId;
use guard::notification::{Channel, ChannelState, Group, Kind, Message, Piece, Trouble, WayName};
use guard::refusal::StoreFault;
use rusqlite::Row;
use uuid::Uuid;

use super::operation::stake;
use super::sqlite::Columns;
use super::{FromSqlite, Place, column_number, json_text, uuid};

/// A row of `notification_channel`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ChannelRow {
    pub name: String,
    pub definition: String,
}

impl ChannelRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "name, definition";
}

impl From<&Channel> for ChannelRow {
    fn from(channel: &Channel) -> Self {
        Self { name: channel.name.clone(), definition: json_text(channel) }
    }
}

impl TryFrom<ChannelRow> for Channel {
    type Error = StoreFault;

    fn try_from(row: ChannelRow) -> Result<Self, StoreFault> {
        Place::new("notification_channel", &row.name).json("definition", &row.definition)
    }
}

/// A row of `notification_group`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct GroupRow {
    pub channel: String,
    pub kind: String,
    pub subject: String,
    pub version: i64,
    pub told_at: i64,
    pub told_until: i64,
}

impl GroupRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "channel, kind, subject, version, told_at, told_until";
}

impl From<&Group> for GroupRow {
    fn from(group: &Group) -> Self {
        Self {
            channel: group.channel.clone(),
            kind: group.kind.as_str().to_owned(),
            subject: group.subject.clone(),
            version: column_number(group.version),
            told_at: group.told_at.timestamp_millis(),
            told_until: group.told_until.timestamp_millis(),
        }
    }
}

impl TryFrom<GroupRow> for Group {
    type Error = StoreFault;

    fn try_from(row: GroupRow) -> Result<Self, StoreFault> {
        let place = Place::new("notification_group", &row.subject);
        Ok(Self {
            kind: place.some("kind", Kind::parse(&row.kind))?,
            version: place.number("version", row.version)?,
            told_at: place.moment("told_at", row.told_at)?,
            told_until: place.moment("told_until", row.told_until)?,
            channel: row.channel,
            subject: row.subject.clone(),
        })
    }
}

/// A row of `notification_message`, without its claim.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct MessageRow {
    pub id: Uuid,
    pub channel: String,
    pub recipient: Option<String>,
    pub facts: String,
    pub made_at: i64,
    pub due_at: i64,
    pub tries: i64,
}

impl MessageRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, channel, recipient, facts, made_at, due_at, tries";
}

impl From<&Message> for MessageRow {
    fn from(message: &Message) -> Self {
        Self {
            id: uuid(message.id.as_u128()),
            channel: message.channel.clone(),
            recipient: message.recipient.clone(),
            facts: json_text(&message.facts),
            made_at: message.made_at.timestamp_millis(),
            due_at: message.due_at.timestamp_millis(),
            tries: message.tries.into(),
        }
    }
}

impl TryFrom<MessageRow> for Message {
    type Error = StoreFault;

    fn try_from(row: MessageRow) -> Result<Self, StoreFault> {
        let place = Place::new("notification_message", &row.id);
        Ok(Self {
            id: MessageId::from_u128(row.id.as_u128()),
            facts: place.json("facts", &row.facts)?,
            made_at: place.moment("made_at", row.made_at)?,
            due_at: place.moment("due_at", row.due_at)?,
            tries: place.number("tries", row.tries)?,
            channel: row.channel,
            recipient: row.recipient,
        })
    }
}

/// A row of `notification_state`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ChannelStateRow {
    pub channel: String,
    pub way: String,
    pub delivered: i64,
    pub failed: i64,
    pub given_up: i64,
    pub delivered_at: Option<i64>,
    pub error_at: Option<i64>,
    pub error: Option<String>,
    pub off_at: Option<i64>,
    pub off_reason: Option<String>,
}

impl ChannelStateRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str =
        "channel, way, delivered, failed, given_up, delivered_at, error_at, error, off_at, off_reason";

    /// Makes of a channel's row what the new one says.
    pub const UPDATE: &'static str = "ON CONFLICT (channel) DO UPDATE SET way = excluded.way, delivered = excluded.delivered, \
         failed = excluded.failed, given_up = excluded.given_up, delivered_at = excluded.delivered_at, \
         error_at = excluded.error_at, error = excluded.error, off_at = excluded.off_at, off_reason = excluded.off_reason";
}

impl From<&ChannelState> for ChannelStateRow {
    fn from(state: &ChannelState) -> Self {
        let trouble = |trouble: &Option<Trouble>| {
            trouble.as_ref().map(|trouble| (trouble.at.timestamp_millis(), trouble.reason.clone())).unzip()
        };
        let (error_at, error) = trouble(&state.last_error);
        let (off_at, off_reason) = trouble(&state.switched_off);
        Self {
            channel: state.channel.clone(),
            way: state.way.as_str().to_owned(),
            delivered: column_number(state.delivered),
            failed: column_number(state.failed),
            given_up: column_number(state.given_up),
            delivered_at: state.delivered_at.map(|at| at.timestamp_millis()),
            error_at,
            error,
            off_at,
            off_reason,
        }
    }
}

impl TryFrom<ChannelStateRow> for ChannelState {
    type Error = StoreFault;

    fn try_from(row: ChannelStateRow) -> Result<Self, StoreFault> {
        let place = Place::new("notification_state", &row.channel);
        let trouble = |column: &str, at: Option<i64>, reason: Option<String>| match (at, reason) {
            (Some(at), Some(reason)) => Ok(Some(Trouble { at: place.moment(column, at)?, reason })),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err(place.corrupt(column)),
        };
        Ok(Self {
            way: place.some("way", WayName::parse(&row.way))?,
            delivered: place.number("delivered", row.delivered)?,
            failed: place.number("failed", row.failed)?,
            given_up: place.number("given_up", row.given_up)?,
            delivered_at: row.delivered_at.map(|at| place.moment("delivered_at", at)).transpose()?,
            last_error: trouble("error_at", row.error_at, row.error)?,
            switched_off: trouble("off_at", row.off_at, row.off_reason)?,
            channel: row.channel.clone(),
        })
    }
}

/// A member of a group.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are those of the operation")]
pub struct PieceRow {
    pub workflow: String,
    pub company: String,
    pub currency: Option<String>,
    pub ten_thousandths: Option<i64>,
    pub since: i64,
    pub due_at: i64,
}

impl TryFrom<PieceRow> for Piece {
    type Error = StoreFault;

    fn try_from(row: PieceRow) -> Result<Self, StoreFault> {
        let place = Place::new("operation", &row.workflow);
        Ok(Self {
            money: stake(row.currency, row.ten_thousandths),
            since: place.moment("state_since", row.since)?,
            due_at: place.moment("state_since", row.due_at)?,
            company: Some(row.company),
            workflow: row.workflow.clone(),
        })
    }
}

impl FromSqlite for ChannelRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { name: columns.take()?, definition: columns.take()? })
    }
}

impl FromSqlite for GroupRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            channel: columns.take()?,
            kind: columns.take()?,
            subject: columns.take()?,
            version: columns.take()?,
            told_at: columns.take()?,
            told_until: columns.take()?,
        })
    }
}

impl FromSqlite for MessageRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            channel: columns.take()?,
            recipient: columns.take()?,
            facts: columns.take()?,
            made_at: columns.take()?,
            due_at: columns.take()?,
            tries: columns.take()?,
        })
    }
}

impl FromSqlite for ChannelStateRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            channel: columns.take()?,
            way: columns.take()?,
            delivered: columns.take()?,
            failed: columns.take()?,
            given_up: columns.take()?,
            delivered_at: columns.take()?,
            error_at: columns.take()?,
            error: columns.take()?,
            off_at: columns.take()?,
            off_reason: columns.take()?,
        })
    }
}

impl FromSqlite for PieceRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            workflow: columns.take()?,
            company: columns.take()?,
            currency: columns.take()?,
            ten_thousandths: columns.take()?,
            since: columns.take()?,
            due_at: columns.take()?,
        })
    }
}
