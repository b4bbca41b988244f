//! `onceover sandbox`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::serve::{Stops, bind, url_of};
use super::{Common, Failure, print};
use crate::clock::SystemClock;
use crate::sandbox::{self, ExistsShape, Fault, LISTEN_DEFAULT, PAGE_RECORDS_MAX, Rule, Settings, Step, Times};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover sandbox
      on http://127.0.0.1:9090, records in ./data/sandbox.db
  onceover sandbox --print-config > sandbox.toml && onceover apply sandbox.toml
      let Onceover guard it
  curl http://127.0.0.1:9090/sandbox
      every address and every fault
  curl -H 'Sandbox-Fault: cut_after' -H 'X-Reference: ref-1' -d '{\"amount\":\"12.00\"}' \\
      http://127.0.0.1:9090/tasks
      the record is written, the answer is lost
  curl -X POST 'http://127.0.0.1:9090/sandbox/faults?fault=slow_before=3000&requests=5'
      the next five are written three seconds late
  curl http://127.0.0.1:9090/sandbox/count
      how many records it really holds
  onceover sandbox --fault cut_after:0.2 --fault search/fail_before:0.5 --seed 7
      one answer in five is lost, every other search fails; the same seed, the same choices

Faults of creates and changes (with examples of their numbers):
  cut_before          the connection is cut, nothing is written
  cut_after           written, then the connection is cut: the answer is lost
  fail_before         500, nothing is written
  fail_after          written, and answered 500
  half_answer         written, and half of the answer arrives
  garbage             written, and answered with a page that is no JSON
  slow_before=2000    milliseconds until it is written
  slow_after=2000     written, and milliseconds until the answer
  refuse              422 (a search: 403), nothing is written
  too_many            429, nothing is written
  exists              \"already exists\", nothing is written
  twice               two records for one request
  void                the record is void from its start
  lag=2000            milliseconds until searches find the record
Of searches (search/… and page/…), beside those that answer or cut:
  part_of_text        a search matches parts of references too
  page_records=2      records on a page of a search

A record is durable before it is acknowledged: neither kill -9 nor a restart loses one. Faults that
were asked for over HTTP are forgotten by a restart. SIGTERM or Ctrl-C ends it; what it was asked to
write is written first.";

/// The file of the records where a folder was named.
const FILE_IN_FOLDER: &str = "sandbox.db";

/// Runs a small system of record, the \"other system\" to try Onceover against: tasks are created, searched by their external
/// reference, changed and made void over HTTP. It fails as it is told to, per request or at random, and tells how many records
/// it really holds.
#[derive(clap::Args)]
pub(super) struct Sandbox {
    /// Where to listen: ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS:PORT", default_value = LISTEN_DEFAULT)]
    listen: String,
    /// The file of the records, or a folder for it; they are made where they are missing
    #[arg(long, value_name = "FILE|FOLDER", default_value = "./data/sandbox.db")]
    data: PathBuf,
    /// Honour Idempotency-Key: a repeated key gets the first record again
    #[arg(long)]
    idempotency: bool,
    /// Refuse a second live record with the same external reference as existing already
    #[arg(long)]
    unique: bool,
    /// How "already exists" is said: object, list, text (all 409) or success (200 with an error in it)
    #[arg(long, value_name = "SHAPE", default_value = "object")]
    exists: ExistsShape,
    /// So long after its write a record is found by a search
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=sandbox::LAG_MILLISECONDS_MAX))]
    lag: u64,
    /// Records on a page of a search
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_RECORDS_MAX)))]
    page_records: u32,
    /// Searches match parts of external references too
    #[arg(long)]
    part_of_text: bool,
    /// A fault: [STEP/]NAME[=NUMBER][:PROBABILITY], see below; may be given again
    ///
    /// STEP is create, search, page (a further one), read or change; left out, it is create. Without a probability it
    /// happens to every request.
    #[arg(long = "fault", value_name = "FAULT", value_parser = wanted)]
    faults: Vec<Wanted>,
    /// The seed of what happens at random
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Print a workflow and a destination for onceover apply, and end
    #[arg(long)]
    print_config: bool,
}

/// A fault of the command line.
#[derive(Clone, Copy)]
struct Wanted {
    step: Step,
    fault: Fault,
    probability: Option<f64>,
}

fn wanted(text: &str) -> Result<Wanted, String> {
    let (step, rest) = text.split_once('/').map_or((Ok(Step::Create), text), |(step, rest)| (step.parse(), rest));
    let (fault, probability) = rest.split_once(':').map_or((rest, None), |(fault, number)| (fault, Some(number)));
    let probability = probability.map(|number| number.parse::<f64>().map_err(|error| format!("{number:?}: {error}")));
    let wanted = Wanted { step: step?, fault: fault.parse()?, probability: probability.transpose()? };
    wanted.rule(0)?;
    Ok(wanted)
}

impl Wanted {
    fn rule(self, seed: u64) -> Result<Rule, String> {
        let times = self.probability.map_or(Ok(Times::Every), |probability| Times::random(probability, seed))?;
        Ok(Rule { fault: self.fault, step: self.step, times })
    }
}

impl Sandbox {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        if self.print_config {
            return print(&sandbox::configuration(&format!("http://{}", self.listen)));
        }
        common.settle(&common.configuration()?.server)?;
        let mut stops = Stops::listen()?;
        crate::listener::raise_open_files();
        let listener = bind(&self.listen).await?;
        let address = listener.local_addr()?;
        let file = if self.data.is_dir() { self.data.join(FILE_IN_FOLDER) } else { self.data.clone() };
        let data = file.display().to_string();
        let unusable = |error: String| Failure(format!("{data}: {error}; name another file with --data"));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| unusable(error.to_string()))?;
        }
        let settings = Settings {
            honours_idempotency_keys: self.idempotency,
            is_unique: self.unique,
            exists: self.exists,
            lag_milliseconds: self.lag,
            page_records: self.page_records,
            is_part_of_text: self.part_of_text,
        };
        let opened = sandbox::Sandbox::open(&file, settings, Arc::new(SystemClock::new()));
        let opened = opened.map_err(|error| unusable(error.to_string()))?;
        for (number, wanted) in (0..).zip(&self.faults) {
            // Each fault rolls dice of its own, so that one more does not change the others.
            let added = wanted.rule(self.seed.wrapping_add(number)).and_then(|rule| opened.add_rule(rule));
            added.map_err(Failure)?;
        }
        let counts = opened.counts().await.map_err(|error| unusable(error.to_string()))?;
        let url = url_of(address);
        print(&format!(
            "The sandbox is at {url} and holds {} live and {} void records in {data}\nEvery address and fault: curl {url}/sandbox\n",
            counts.live, counts.void
        ))?;
        let draining = CancellationToken::new();
        let served = tokio::spawn({
            let draining = draining.clone();
            async move { opened.serve(listener, draining).await }
        });
        stops.next().await;
        draining.cancel();
        served.await.map_err(|error| Failure(format!("serving ended by itself: {error}")))?;
        Ok(())
    }
}
