//! Counts of long ago, added up by days.
//!
//! They are the only rows that are read by the hundred thousand: the overview and the board add them up. By the hour, they grow with the
//! hours, the companies and the kinds; by the day, with a twentieth of that.

use guard::clock::Timestamp;
use sqlx::{Connection as _, PgConnection};

use crate::store::behind::{DAY_MILLISECONDS, FOLDED_SLOT, TEN_THOUSANDTHS_BOUND};

/// Processes that fold at once would do the same; this number lets one.
const LOCK: i64 = 0x6f6e_6365_666f_6c64;

/// Adds up the counts of the oldest day before `until` of which hours are told apart, in one transaction; whether there was one, and nobody
/// else is at it.
pub(super) async fn oldest_day(connection: &mut PgConnection, until: Timestamp) -> Result<bool, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let is_ours: bool =
        sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)").bind(LOCK).fetch_one(&mut *transaction).await?;
    if !is_ours {
        transaction.rollback().await?;
        return Ok(false);
    }
    let oldest = sqlx::query_scalar("SELECT hour FROM count WHERE hour < $1 AND slot > $2 ORDER BY hour LIMIT 1");
    let oldest: Option<i64> =
        oldest.bind(until.timestamp_millis()).bind(FOLDED_SLOT).fetch_optional(&mut *transaction).await?;
    let Some(hour) = oldest else {
        transaction.rollback().await?;
        return Ok(false);
    };
    let day = hour - hour.rem_euclid(DAY_MILLISECONDS);
    let sql = format!(
        "WITH taken AS (DELETE FROM count WHERE hour >= $1 AND hour < $2 AND slot > $3 RETURNING *) \
         INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
         SELECT workflow, company, counted, $1, currency, $3, sum(number)::bigint, \
                greatest(least(sum(ten_thousandths), {TEN_THOUSANDTHS_BOUND}), -{TEN_THOUSANDTHS_BOUND})::bigint \
         FROM taken GROUP BY workflow, company, counted, currency ORDER BY workflow, company, counted, currency \
         ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE \
         SET number = count.number + excluded.number, \
             ten_thousandths = greatest(least(count.ten_thousandths + excluded.ten_thousandths, {TEN_THOUSANDTHS_BOUND}), \
                                        -{TEN_THOUSANDTHS_BOUND})"
    );
    let fold = sqlx::query(&sql).bind(day).bind(day + DAY_MILLISECONDS).bind(FOLDED_SLOT);
    fold.execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}
