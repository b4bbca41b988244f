//! The table `call`.

use guard::call::{About, Call, CallRequest};
use guard::decision::DecisionName;
use guard::id::{CallId, OperationId, TokenId};
use guard::refusal::StoreFault;
use rusqlite::Row;
use uuid::Uuid;

use super::sqlite::Columns;
use super::{FromSqlite, Place, column_number, uuid};

/// A row of `call`, without its request.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct CallRow {
    pub id: Uuid,
    pub token: Uuid,
    pub at: i64,
    pub microseconds: i64,
    pub method: String,
    pub endpoint: String,
    pub path: String,
    pub status: i64,
    pub problem: Option<String>,
    pub detail: Option<String>,
    pub workflow: Option<String>,
    pub company: Option<String>,
    pub source_system: Option<String>,
    pub document: Option<String>,
    pub action: Option<String>,
    pub revision: Option<i64>,
    pub operation: Option<Uuid>,
    pub decision: Option<String>,
    pub request_id: String,
}

impl CallRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, token, at, microseconds, method, endpoint, path, status, problem, detail, workflow, \
         company, source_system, document, action, revision, operation, decision, request_id";
}

impl From<&Call> for CallRow {
    fn from(call: &Call) -> Self {
        let About { workflow, company, source_system, document, action, revision } = call.about.clone();
        Self {
            id: uuid(call.id.as_u128()),
            token: uuid(call.token.as_u128()),
            at: call.at.timestamp_millis(),
            microseconds: column_number(call.microseconds),
            method: call.method.clone(),
            endpoint: call.endpoint.clone(),
            path: call.path.clone(),
            status: call.status.into(),
            problem: call.problem.clone(),
            detail: call.detail.clone(),
            workflow,
            company,
            source_system,
            document,
            action,
            revision: revision.map(i64::from),
            operation: call.operation.map(|operation| uuid(operation.as_u128())),
            decision: call.decision.map(|decision| decision.as_str().to_owned()),
            request_id: call.request_id.clone(),
        }
    }
}

impl TryFrom<CallRow> for Call {
    type Error = StoreFault;

    fn try_from(row: CallRow) -> Result<Self, StoreFault> {
        let place = Place::new("call", &row.id);
        let decision = row.decision.map(|name| place.some("decision", DecisionName::parse(&name))).transpose()?;
        Ok(Self {
            id: CallId::from_u128(row.id.as_u128()),
            token: TokenId::from_u128(row.token.as_u128()),
            at: place.moment("at", row.at)?,
            microseconds: place.number("microseconds", row.microseconds)?,
            method: row.method,
            endpoint: row.endpoint,
            path: row.path,
            status: place.number("status", row.status)?,
            problem: row.problem,
            detail: row.detail,
            about: About {
                workflow: row.workflow,
                company: row.company,
                source_system: row.source_system,
                document: row.document,
                action: row.action,
                revision: row.revision.map(|revision| place.number("revision", revision)).transpose()?,
            },
            operation: row.operation.map(|operation| OperationId::from_u128(operation.as_u128())),
            decision,
            request_id: row.request_id,
        })
    }
}

impl FromSqlite for CallRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            token: columns.id()?,
            at: columns.take()?,
            microseconds: columns.take()?,
            method: columns.take()?,
            endpoint: columns.take()?,
            path: columns.take()?,
            status: columns.take()?,
            problem: columns.take()?,
            detail: columns.take()?,
            workflow: columns.take()?,
            company: columns.take()?,
            source_system: columns.take()?,
            document: columns.take()?,
            action: columns.take()?,
            revision: columns.take()?,
            operation: columns.id_or_none()?,
            decision: columns.take()?,
            request_id: columns.take()?,
        })
    }
}

/// What `call` holds of a request: a text, or how long it was.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct CallRequestRow {
    pub id: Uuid,
    pub request: Option<String>,
    pub request_bytes: i64,
}

impl CallRequestRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, request, request_bytes";

    /// The row of a call's request.
    pub fn of(call: &Call, request: &CallRequest) -> Self {
        let (request, bytes) = match request {
            CallRequest::Empty => (None, 0),
            CallRequest::Kept { text, bytes } => (Some(text.clone()), *bytes),
            CallRequest::Left { bytes } => (None, *bytes),
        };
        Self { id: uuid(call.id.as_u128()), request, request_bytes: column_number(bytes) }
    }
}

impl TryFrom<CallRequestRow> for CallRequest {
    type Error = StoreFault;

    fn try_from(row: CallRequestRow) -> Result<Self, StoreFault> {
        let bytes = Place::new("call", &row.id).number("request_bytes", row.request_bytes)?;
        Ok(match (row.request, bytes) {
            (Some(text), bytes) => Self::Kept { text, bytes },
            (None, 0) => Self::Empty,
            (None, bytes) => Self::Left { bytes },
        })
    }
}

impl FromSqlite for CallRequestRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { id: columns.id()?, request: columns.take()?, request_bytes: columns.take()? })
    }
}
