//! Connections to PostgreSQL: their settings, their limits, and how one is made again.

use std::future::Future;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection};

use super::fault::Trouble;

/// The pool, for what is not begin or outcome: lists, histories, administration, sessions. Writers and lookups have connections of
/// their own beside it (`WRITERS` in `writer`, `LANES` in `lookup`).
const POOL_CONNECTIONS_MAX: u32 = 8;

/// A connection of the pool is awaited at most this long.
const ACQUIRE_SECONDS_MAX: u64 = 3;

/// A connection is awaited at most this long while it is made.
const CONNECT_SECONDS_MAX: u64 = 3;

/// The server ends a statement that runs longer, and with it the locks that it holds.
const STATEMENT_SECONDS_MAX: u64 = 10;

/// An answer is awaited two seconds longer than the server may take: past that, the network has lost it.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(STATEMENT_SECONDS_MAX + 2);

/// Reads the settings of a `postgres://` address.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    Ok(options.application_name("onceover").disable_statement_logging())
}

/// A connection without settings of ours.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let connecting = PgConnection::connect_with(options);
    match tokio::time::timeout(Duration::from_secs(CONNECT_SECONDS_MAX), connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// A pool over these settings; it connects when it is first used.
pub(super) fn pool(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(POOL_CONNECTIONS_MAX)
        .acquire_timeout(Duration::from_secs(ACQUIRE_SECONDS_MAX))
        .after_connect(|connection, _| Box::pin(prepare(connection)))
        .connect_lazy_with(options)
}

/// Sets what every connection of ours has.
///
/// A prepared statement of the pool is planned for each execution: a plan that is kept was made for the tables as they were then, and
/// on a fresh install they were empty, so that it went on reading whole tables. Planning costs little beside a list.
///
/// A bitmap is no way to read a list, and a whole table still less: they collect all rows of a span before they sort them, where the order
/// of an index gives the first ones at once. Without statistics the planner takes a span for small, and would. To start further processes
/// for it costs more than the list.
async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    set(
        connection,
        "SET plan_cache_mode = force_custom_plan; SET enable_bitmapscan = off; SET enable_seqscan = off; \
         SET max_parallel_workers_per_gather = 0",
    )
    .await
}

/// Sets what the connection of a [`Line`] has, over which whole batches are asked and stored.
///
/// All of them find their rows by an index, whatever the tables hold; planning a batch of writes anew costs more than storing it. So the
/// plan is made once, and cannot be one that reads a whole table, even where the tables were empty when it was made.
async fn prepare_line(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    set(
        connection,
        "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
         SET enable_hashjoin = off; SET enable_mergejoin = off",
    )
    .await
}

/// Sets how statements are planned, and what all connections of ours have beside it.
///
/// Nothing is compiled to machine code: a table that has no way but to be read whole costs ten thousand millions in the planner's eyes
/// where reading whole tables is forbidden, and would be compiled for a tenth of a second to read its one row.
async fn set(connection: &mut PgConnection, plans: &str) -> Result<(), sqlx::Error> {
    let milliseconds = STATEMENT_SECONDS_MAX * 1_000;
    connection
        .execute(
            format!(
                "{plans}; \
                 SET jit = off; \
                 SET statement_timeout = {milliseconds}; \
                 SET idle_in_transaction_session_timeout = {milliseconds}; \
                 SET default_transaction_isolation = 'read committed'"
            )
            .as_str(),
        )
        .await?;
    Ok(())
}

/// Waits for an answer, but never for ever.
pub(super) async fn bounded<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Trouble> {
    match tokio::time::timeout(ANSWER_MAX, answer).await {
        Ok(answer) => answer.map_err(|error| noted(&error)),
        Err(_) => Err(Trouble::Lost),
    }
}

/// What the error means; callers are told little, so the log says the rest.
pub(super) fn noted(error: &sqlx::Error) -> Trouble {
    let trouble = Trouble::of(error);
    if trouble != Trouble::Contended {
        tracing::warn!(%error, ?trouble, "PostgreSQL answered with an error");
    }
    trouble
}

/// A connection that one task keeps for itself, and makes again after it was lost.
pub(super) struct Line {
    options: PgConnectOptions,
    open: Option<PgConnection>,
}

impl Line {
    /// A line over these settings; it connects when it is first used.
    pub(super) const fn new(options: PgConnectOptions) -> Self {
        Self { options, open: None }
    }

    /// The connection, made now where there is none.
    ///
    /// # Errors
    /// [`Trouble`] of connecting; nothing was asked of the database then.
    pub(super) async fn connection(&mut self) -> Result<&mut PgConnection, Trouble> {
        let connection = match self.open.take() {
            Some(connection) => connection,
            None => {
                let mut connection = connect(&self.options).await.map_err(|error| noted(&error))?;
                bounded(prepare_line(&mut connection)).await?;
                connection
            }
        };
        Ok(self.open.insert(connection))
    }

    /// Gives the connection up: after an error that leaves its state in doubt.
    pub(super) fn hang_up(&mut self) {
        self.open = None;
    }

    /// Ends the connection in order.
    pub(super) async fn close(mut self) {
        if let Some(connection) = self.open.take() {
            // It is going away either way.
            let _gone = connection.close().await;
        }
    }
}
