//! How long answers took, as a Prometheus histogram.
//!
//! The text of `/metrics` is written here anyway, since its counters come from the store; a recorder of a library would add a task
//! that drains it and a look-up of three labels per request.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use dashmap::DashMap;

use crate::metrics::Label;

/// The upper ends of the buckets, in microseconds, with the text that Prometheus shows for them in seconds.
const BUCKETS: [(u64, &str); 14] = [
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (20_000, "0.02"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (5_000_000, "5"),
    (30_000_000, "30"),
    (60_000_000, "60"),
];

/// How long answers took, by method, route and status.
#[derive(Default)]
pub struct Latency {
    histograms: DashMap<(&'static str, Box<str>, u16), Arc<Histogram>>,
}

#[derive(Default)]
struct Histogram {
    /// One more than [`BUCKETS`]: the last one has no upper end.
    counts: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
}

impl Latency {
    /// Takes note of an answer.
    pub fn took(&self, method: &Method, route: &str, status: StatusCode, taken: Duration) {
        let key = (name(method), Box::from(route), status.as_u16());
        let known = self.histograms.get(&key).map(|known| Arc::clone(&known));
        let histogram = known.unwrap_or_else(|| Arc::clone(&self.histograms.entry(key).or_default()));
        let microseconds = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|(end, _)| *end < microseconds);
        histogram.counts[bucket].fetch_add(1, Ordering::Relaxed);
        histogram.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Appends the histogram in Prometheus's text format.
    pub fn write(&self, text: &mut String) {
        const NAME: &str = "onceover_http_request_duration_seconds";
        let _ = writeln!(text, "# HELP {NAME} How long answers took, by method, route and status.");
        let _ = writeln!(text, "# TYPE {NAME} histogram");
        let mut all: Vec<_> =
            self.histograms.iter().map(|entry| (entry.key().clone(), Arc::clone(entry.value()))).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        for ((method, route, status), histogram) in all {
            let labels = format!("method=\"{method}\",route=\"{}\",status=\"{status}\"", Label(&route));
            let mut total = 0;
            for (count, (_, end)) in histogram.counts.iter().zip(BUCKETS) {
                total += count.load(Ordering::Relaxed);
                let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{end}\"}} {total}");
            }
            total += histogram.counts[BUCKETS.len()].load(Ordering::Relaxed);
            let seconds = Duration::from_micros(histogram.microseconds.load(Ordering::Relaxed)).as_secs_f64();
            let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {total}");
            let _ = writeln!(text, "{NAME}_sum{{{labels}}} {seconds}");
            let _ = writeln!(text, "{NAME}_count{{{labels}}} {total}");
        }
    }
}

/// The method; those beyond the usual ones are counted as one, since a caller can invent as many as it likes.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up_and_end_without_a_bound() {
        let latency = Latency::default();
        for milliseconds in [0, 1, 3, 200, 90_000] {
            latency.took(&Method::POST, "/a", StatusCode::OK, Duration::from_millis(milliseconds));
        }
        let mut text = String::new();
        latency.write(&mut text);
        let line = |le: &str| text.lines().find(|line| line.contains(&format!("le=\"{le}\""))).unwrap();
        assert!(line("0.001").ends_with(" 2"), "{text}");
        assert!(line("60").ends_with(" 4"), "{text}");
        assert!(line("+Inf").ends_with(" 5"), "{text}");
        assert!(text.ends_with("_count{method=\"POST\",route=\"/a\",status=\"200\"} 5\n"), "{text}");
    }

    #[test]
    fn invented_methods_are_one_series() {
        let latency = Latency::default();
        for name in ["BREW", "WHEN"] {
            latency.took(&Method::from_bytes(name.as_bytes()).unwrap(), "/a", StatusCode::OK, Duration::ZERO);
        }
        assert_eq!(latency.histograms.len(), 1);
    }
}
