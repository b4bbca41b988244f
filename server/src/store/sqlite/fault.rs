//! What SQLite's errors mean to the guard.

use std::fmt::Display;

use guard::refusal::StoreFault;
use rusqlite::types::ValueRef;
use rusqlite::{Error, ErrorCode, Row, ffi};
use uuid::Uuid;

use crate::store::row::FromSqlite;

/// The fault of a statement on a row of a table; what is not for callers goes to the log.
pub(super) fn of(error: &Error, table: &str, id: &dyn Display) -> StoreFault {
    let corrupt =
        |column: &str| StoreFault::Corrupt { table: table.to_owned(), column: column.to_owned(), id: id.to_string() };
    if let Error::InvalidColumnType(_, column, _) = error {
        return corrupt(column);
    }
    let Error::SqliteFailure(failure, message) = error else {
        tracing::error!(%error, table, "the database answered in a way that was not expected");
        return StoreFault::Unavailable;
    };
    let message = message.as_deref().unwrap_or_default();
    #[allow(clippy::wildcard_enum_match_arm, reason = "SQLite's enum, and all the rest means the same to callers")]
    match failure.code {
        ErrorCode::DiskFull => StoreFault::Full,
        // The memory file beside the log could not grow: the disk again.
        ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => StoreFault::Full,
        ErrorCode::ConstraintViolation => {
            tracing::error!(%error, table, %id, "a row was refused by the table");
            corrupt(message)
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            tracing::error!(%error, table, "the database file is damaged; restore a backup");
            corrupt(message)
        }
        _ => {
            tracing::error!(%error, code = failure.extended_code, table, "the database cannot be used");
            StoreFault::Unavailable
        }
    }
}

/// Reads a row; one that cannot be read is named by its first column.
pub(super) fn read<R: FromSqlite>(row: &Row<'_>, table: &'static str) -> Result<R, StoreFault> {
    R::from_sqlite(row).map_err(|error| {
        let id = row.get_ref(0).map_or_else(|_| String::from("?"), |value| name_of(value));
        if let Error::FromSqlConversionFailure(place, ..) = error {
            let column = row.as_ref().column_name(place).unwrap_or("?");
            return StoreFault::Corrupt { table: table.to_owned(), column: column.to_owned(), id };
        }
        of(&error, table, &id)
    })
}

/// A value as people find it again.
fn name_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => Uuid::from_slice(bytes).map_or_else(|_| hex::encode(bytes), |id| id.to_string()),
    }
}
