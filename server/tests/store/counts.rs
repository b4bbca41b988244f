//! Counts of long ago are added up by days, and say the same.

use std::collections::BTreeMap;

use chrono::{DurationRound as _, TimeDelta};
use guard::clock::Timestamp;
use guard::summary::{Count, Counted, HOURS_KEPT_DAYS, hours_kept_since};
use guard::token::Reach;

use crate::support::{Fresh, begun_as, key, now, on_both};

on_both!(
    old_counts_are_added_up_by_days_and_say_the_same,
    what_is_counted_later_in_an_old_hour_is_added_too,
    processes_that_fold_at_once_lose_and_double_nothing,
);

/// Sums by what is counted, and by the day.
fn sums(counts: &[Count]) -> BTreeMap<(Timestamp, String, Counted, String), (u64, i64)> {
    let mut sums = BTreeMap::new();
    for count in counts {
        let day = count.hour.duration_trunc(TimeDelta::days(1)).unwrap();
        let sum = sums.entry((day, count.company.clone(), count.counted, count.currency.clone())).or_insert((0, 0));
        sum.0 += count.number;
        sum.1 += count.ten_thousandths;
    }
    sums
}

async fn counts(fresh: &Fresh, from: Timestamp, to: Timestamp) -> Vec<Count> {
    fresh.database.store.counts(&Reach::EVERYTHING, from, to).await.unwrap()
}

async fn rows(fresh: &Fresh) -> i64 {
    fresh.number("SELECT count(*) FROM count").await
}

/// Begins an operation at a moment, which counts in its hour.
async fn begin(fresh: &Fresh, document: &str, at: Timestamp) {
    fresh.database.store.insert_if_absent(begun_as(key(document), at)).await.unwrap();
}

async fn fold_all(fresh: &Fresh, now: Timestamp) -> u32 {
    let mut days = 0;
    while fresh.database.fold_counts(now).await.unwrap() {
        days += 1;
    }
    days
}

async fn old_counts_are_added_up_by_days_and_say_the_same(fresh: Fresh) {
    let now = now();
    let kept_since = hours_kept_since(now);
    // Three days that are old, one of them twice an hour, and the first day that is not.
    let mut number = 0;
    for day in [-40, -3, -1, 0] {
        for hour in [0, 5, 5, 23] {
            begin(&fresh, &format!("order {number}"), kept_since + TimeDelta::hours(day * 24 + hour)).await;
            number += 1;
        }
    }
    let (from, to) = (kept_since - TimeDelta::days(50), now);
    let before = counts(&fresh, from, to).await;
    let recent = counts(&fresh, kept_since, to).await;
    assert_eq!((before.len(), recent.len()), (12, 3));

    assert_eq!(fold_all(&fresh, now).await, 3);
    let after = counts(&fresh, from, to).await;
    assert_eq!(sums(&after), sums(&before));
    assert_eq!(counts(&fresh, kept_since, to).await, recent, "its hours are told apart");
    // Writers of PostgreSQL have slots of their own for what is recent.
    let old = format!("SELECT count(*) FROM count WHERE hour < {}", kept_since.timestamp_millis());
    assert_eq!((after.len(), fresh.number(&old).await), (6, 3), "a row for each old day");
    let of_day = counts(&fresh, kept_since - TimeDelta::days(1), kept_since).await;
    assert_eq!(of_day.iter().map(|count| count.number).sum::<u64>(), 4, "a day is found between its midnights");
    assert_eq!(fold_all(&fresh, now).await, 0);
    // A day later one more is old.
    assert_eq!(fold_all(&fresh, now + TimeDelta::days(1)).await, 1);
    assert_eq!(sums(&counts(&fresh, from, to).await), sums(&before));
    fresh.remove().await;
}

async fn what_is_counted_later_in_an_old_hour_is_added_too(fresh: Fresh) {
    let now = now();
    let old = now - TimeDelta::days(HOURS_KEPT_DAYS + 10);
    begin(&fresh, "order 1", old).await;
    assert_eq!(fold_all(&fresh, now).await, 1);
    begin(&fresh, "order 2", old).await;
    begin(&fresh, "order 3", old.duration_trunc(TimeDelta::days(1)).unwrap()).await;
    let told = counts(&fresh, old - TimeDelta::days(1), now).await;
    assert_eq!(told.iter().map(|count| count.number).sum::<u64>(), 3, "what is not added up yet is told beside it");
    assert_eq!(fold_all(&fresh, now).await, 1);
    let told = counts(&fresh, old - TimeDelta::days(1), now).await;
    assert_eq!(
        told.iter().map(|count| (count.number, count.ten_thousandths)).collect::<Vec<_>>(),
        [(3, 3 * 1_180_000)]
    );
    assert_eq!(rows(&fresh).await, 1);
    fresh.remove().await;
}

async fn processes_that_fold_at_once_lose_and_double_nothing(fresh: Fresh) {
    const DAYS: i64 = 20;
    let now = now();
    let other = fresh.opened_again().await;
    let first = hours_kept_since(now) - TimeDelta::days(DAYS);
    for number in 0..DAYS * 3 {
        begin(&fresh, &format!("order {number}"), first + TimeDelta::hours(number * 8)).await;
    }
    let (from, to) = (first - TimeDelta::days(1), now);
    let before = counts(&fresh, from, to).await;
    // Two fold while a third counts in the same days.
    let folding = |database: server::store::Database| async move {
        for _ in 0..DAYS * 2 {
            database.fold_counts(now).await.unwrap();
        }
    };
    let counting = async {
        for number in 0..DAYS {
            begin(&fresh, &format!("later {number}"), first + TimeDelta::days(number)).await;
        }
    };
    tokio::join!(folding(fresh.database.clone()), folding(other.clone()), counting);
    fold_all(&fresh, now).await;
    let after = counts(&fresh, from, to).await;
    assert_eq!(before.iter().map(|count| count.number).sum::<u64>(), 3 * u64::try_from(DAYS).unwrap());
    assert_eq!(after.iter().map(|count| count.number).sum::<u64>(), 4 * u64::try_from(DAYS).unwrap());
    assert_eq!(after.len(), usize::try_from(DAYS).unwrap());
    assert_eq!(rows(&fresh).await, DAYS);
    other.close().await;
    fresh.remove().await;
}
