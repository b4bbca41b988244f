//! What every handler has at hand.

use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use guard::call::CALL_DAYS_DEFAULT;
use guard::clock::Entropy;
use guard::id::TokenId;
use guard::refusal::StoreFault;
use guard::service::Guard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::wait::Wakes;
use crate::calls::CallLog;
use crate::destination::Destinations;
use crate::latency::Latency;
use crate::live::Live;
use crate::notification::Notifications;
use crate::store::Database;
use crate::tokens::Tokens;

/// The body of one begin, outcome or heartbeat has at most this many bytes where nothing else is set; so has an item of a batch.
pub const BODY_BYTES_MAX_DEFAULT: usize = 256 * 1024;

/// The body of a batch has at most this many bytes where nothing else is set: a thousand items of sixteen kilobytes.
pub const BATCH_BYTES_MAX_DEFAULT: usize = 16 * 1024 * 1024;

/// A token may ask this often per second where nothing else is set. It lies above what one process answers, so that it refuses
/// nothing that works; it is there to be lowered.
pub const REQUESTS_PER_SECOND_DEFAULT: NonZeroU32 = NonZeroU32::MIN.saturating_add(49_999);

/// A burst may use this many seconds of the rate at once.
const BURST_SECONDS: u32 = 2;

/// How many requests of a token may come at once at this rate per second.
pub(crate) fn burst(rate: NonZeroU32) -> NonZeroU32 {
    rate.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SECONDS - 1))
}

/// What the operator of a server decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address under which people reach the desk, without a slash at its end: links in answers start with it.
    pub public_url: String,
    /// The longest body, in bytes; also of each item of a batch.
    pub body_bytes_max: usize,
    /// The longest body of a batch, in bytes.
    pub batch_bytes_max: usize,
    /// How often one token may ask per second; an item of a batch counts as one.
    pub requests_per_second: NonZeroU32,
    /// Whether `/metrics` answers without a token.
    pub metrics_open: bool,
    /// For how many days calls of the API are kept; 0: none is.
    pub call_days: u32,
}

impl Settings {
    /// The defaults, for a desk at this address.
    pub fn at(public_url: &str) -> Self {
        Self {
            public_url: public_url.trim_end_matches('/').to_owned(),
            body_bytes_max: BODY_BYTES_MAX_DEFAULT,
            batch_bytes_max: BATCH_BYTES_MAX_DEFAULT,
            requests_per_second: REQUESTS_PER_SECOND_DEFAULT,
            metrics_open: false,
            call_days: CALL_DAYS_DEFAULT,
        }
    }
}

/// A running server. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What the clones share.
pub struct Shared {
    /// Decides.
    pub guard: Guard,
    /// Keeps.
    pub database: Database,
    /// What the operator decided.
    pub settings: Settings,
    /// Randomness for the ids of requests.
    pub entropy: Arc<dyn Entropy>,
    /// Cancelled when the server is about to stop: it is no longer ready, and nobody is kept waiting.
    pub draining: CancellationToken,
    /// What is asked and told outside.
    pub destinations: Destinations,
    /// The channels by which people are told.
    pub notifications: Notifications,
    /// What was begun through the proxy and is not over: it goes on when its caller has gone.
    pub proxied: TaskTracker,
    /// The tokens that asked lately.
    pub tokens: Tokens,
    /// How often each token asks.
    pub rates: DefaultKeyedRateLimiter<TokenId>,
    /// Who waits for an operation to settle.
    pub wakes: Arc<Wakes>,
    /// The pages that are open.
    pub live: Arc<Live>,
    /// How long answers took.
    pub latency: Latency,
    /// What was asked lately and waits to be kept.
    pub calls: CallLog,
}

impl Server {
    /// A server over this database, whose guard goes by the database's clock.
    ///
    /// # Errors
    /// The store's fault, where the catalogue cannot be read.
    pub async fn open(database: Database, entropy: Arc<dyn Entropy>, settings: Settings) -> Result<Self, StoreFault> {
        let guard = Guard::open(
            Arc::clone(&database.store),
            Arc::clone(&database.registry),
            Arc::clone(&database.clock),
            Arc::clone(&entropy),
        );
        Ok(Self::new(guard.await?, database, entropy, settings))
    }

    /// A server over these parts. It must be made inside of a tokio runtime: changes are passed on to those who wait in the
    /// background, until the last clone is gone.
    pub fn new(guard: Guard, database: Database, entropy: Arc<dyn Entropy>, settings: Settings) -> Self {
        let rate = settings.requests_per_second;
        let calls = CallLog::over(settings.call_days);
        let wakes = Wakes::over(&database.changes);
        let live = Live::over(&database.changes, Arc::clone(&database.store));
        let notifications = Notifications::new(guard.clone(), &settings.public_url);
        let shared = Shared {
            guard,
            database,
            settings,
            entropy,
            draining: CancellationToken::new(),
            destinations: Destinations::default(),
            notifications,
            proxied: TaskTracker::new(),
            tokens: Tokens::default(),
            rates: RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst(rate))),
            wakes,
            live,
            latency: Latency::default(),
            calls,
        };
        Self { shared: Arc::new(shared) }
    }

    /// From now on the server is not ready, and those who wait are answered at once.
    pub fn drain(&self) {
        self.draining.cancel();
    }
}

impl Deref for Server {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
