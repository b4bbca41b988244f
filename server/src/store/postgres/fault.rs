//! What an error of PostgreSQL means for what was asked.

use guard::refusal::StoreFault;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

/// What an error means: whether anything can have been committed, and whether it is worth another try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection is gone, or did not answer in time: a statement under way may have been committed, or may yet be.
    Lost,
    /// Another transaction was in the way; nothing was committed, and the same again may succeed.
    Contended,
    /// The disk is full; nothing was committed.
    Full,
    /// The database does not do it now (too many connections, too long, no memory, no right); nothing was committed.
    Unable,
    /// What was to be stored is refused: one item's fault, and the same again is refused again. Nothing was committed.
    Refused {
        /// The table, where the server names it.
        table: String,
        /// The constraint or the column, where the server names it; else the SQLSTATE.
        column: String,
    },
}

impl Trouble {
    /// What the error means (PostgreSQL's documentation, appendix A, "Error Codes").
    pub(super) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => Self::of_database(error.as_ref()),
            sqlx::Error::ColumnDecode { index, .. } => {
                Self::Refused { table: String::new(), column: index.trim_matches('"').to_owned() }
            }
            sqlx::Error::ColumnNotFound(name) => Self::Refused { table: String::new(), column: name.clone() },
            sqlx::Error::RowNotFound
            | sqlx::Error::TypeNotFound { .. }
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::Encode(_)
            | sqlx::Error::Decode(_) => Self::Refused { table: String::new(), column: String::new() },
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Self::Unable,
            // What is left is about the connection. sqlx may add to it, and what is unknown is best taken for that.
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
            | sqlx::Error::Configuration(_)
            | sqlx::Error::InvalidArgument(_)
            | sqlx::Error::AnyDriverError(_)
            | sqlx::Error::Migrate(_)
            | sqlx::Error::InvalidSavePointStatement
            | _ => Self::Lost,
        }
    }

    fn of_database(error: &dyn DatabaseError) -> Self {
        let code = error.code().unwrap_or_default();
        match code.as_ref() {
            // serialization_failure, deadlock_detected, lock_not_available.
            "40001" | "40P01" | "55P03" => Self::Contended,
            // statement_completion_unknown.
            "40003" => Self::Lost,
            "53100" => Self::Full,
            // query_canceled: by statement_timeout, or by somebody who administers the server.
            "57014" => Self::Unable,
            // read_only_sql_transaction: the server is a standby now; another connection may find the primary.
            "25006" => Self::Lost,
            // The classes of connection exceptions and of operator intervention (shutdown, crash, cannot connect now).
            code if code.starts_with("08") || code.starts_with("57") => Self::Lost,
            // The classes of data exceptions, of violated constraints, and of limits of the server.
            code if ["22", "23", "54"].iter().any(|class| code.starts_with(class)) => {
                let postgres = error.try_downcast_ref::<PgDatabaseError>();
                let table = postgres.and_then(PgDatabaseError::table).unwrap_or_default().to_owned();
                let named = postgres.and_then(|error| error.column().or_else(|| error.constraint()));
                Self::Refused { table, column: named.unwrap_or(code).to_owned() }
            }
            // Too few resources, no right to the tables, no tables: the log says which.
            _ => Self::Unable,
        }
    }

    /// What the caller is told about the record `id`.
    pub(super) fn fault(self, id: &dyn std::fmt::Display) -> StoreFault {
        match self {
            Self::Lost | Self::Unable | Self::Contended => StoreFault::Unavailable,
            Self::Full => StoreFault::Full,
            Self::Refused { table, column } => StoreFault::Corrupt { table, column, id: id.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_the_connection_leaves_doubt() {
        assert_eq!(Trouble::of(&sqlx::Error::WorkerCrashed), Trouble::Lost);
        assert_eq!(Trouble::of(&std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()), Trouble::Lost);
        assert_eq!(Trouble::of(&sqlx::Error::PoolTimedOut), Trouble::Unable);
        let missing = Trouble::of(&sqlx::Error::ColumnNotFound("head".to_owned()));
        assert_eq!(
            missing.fault(&7),
            StoreFault::Corrupt { table: String::new(), column: "head".to_owned(), id: "7".to_owned() }
        );
    }
}
