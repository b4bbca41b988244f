//! Hashes of passwords: Argon2id, slow on purpose, so how many are made at a time is bounded.

use std::sync::Arc;

use app::{context::Passwords, failure::Failure};
use argon2::{
    Algorithm, Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier, Version,
    password_hash::Error as HashError,
};
use async_trait::async_trait;
use guard::clock::Entropy;
use tokio::sync::Semaphore;

/// Memory of one hash. With the two below, the first of the equally strong settings for Argon2id in the OWASP Password Storage
/// Cheat Sheet that fits a small server: 19 MiB, two passes, one lane (read 2026-11).
const HASH_KIBIBYTES: u32 = 19_456;

/// Passes over the memory.
const HASH_PASSES: u32 = 2;

/// Lanes.
const HASH_LANES: u32 = 1;

/// Hashes made at a time: 38 MiB and two cores at most.
const HASHES_AT_ONCE_MAX: usize = 2;

/// Hashes made or waited for; whoever comes on top is told to come back.
const HASHES_WAITING_MAX: usize = 32;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashFault {
    /// Too many wait already.
    #[error("{HASHES_WAITING_MAX} hashes are being made or waited for")]
    Busy,
    /// The library refused, or the task was cancelled at shut-down.
    #[error("the hash could not be made")]
    Broken,
}

/// Makes and checks hashes of passwords. Cheap to clone; all clones share the bounds.
#[derive(Clone)]
pub struct PasswordHashes {
    inner: Arc<Inner>,
}

struct Inner {
    entropy: Arc<dyn Entropy>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl PasswordHashes {
    /// A maker of hashes whose salts come from this randomness.
    pub fn new(entropy: Arc<dyn Entropy>) -> Self {
        let running = Arc::new(Semaphore::new(HASHES_AT_ONCE_MAX));
        let waiting = Arc::new(Semaphore::new(HASHES_WAITING_MAX));
        Self { inner: Arc::new(Inner { entropy, running, waiting }) }
    }

    /// The hash of a password in PHC form.
    ///
    /// # Errors
    /// [`HashFault`].
    pub async fn make(&self, password: String) -> Result<String, HashFault> {
        let salt = self.inner.entropy.bytes();
        self.slowly(move || {
            let made: PasswordHash = hasher()?.hash_password_with_salt(password.as_bytes(), &salt)?;
            Ok(made.to_string())
        })
        .await
    }

    /// Whether the password is the one that was hashed.
    ///
    /// # Errors
    /// [`HashFault`].
    pub async fn check(&self, password: String, hash: String) -> Result<bool, HashFault> {
        self.slowly(move || match hasher()?.verify_password(password.as_bytes(), &PasswordHash::new(&hash)?) {
            Ok(()) => Ok(true),
            Err(HashError::PasswordInvalid) => Ok(false),
            Err(error) => Err(error),
        })
        .await
    }

    /// Does the work on a thread where it keeps nobody waiting. The permits go with it: a caller that hangs up does not end the
    /// work, so it must not free its place either.
    async fn slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, HashError> + Send + 'static,
    ) -> Result<T, HashFault> {
        let place = Arc::clone(&self.inner.waiting).try_acquire_owned().map_err(|_| HashFault::Busy)?;
        let turn = Arc::clone(&self.inner.running).acquire_owned().await.map_err(|_| HashFault::Broken)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop((place, turn));
            done
        });
        done.await.map_err(|_| HashFault::Broken)?.map_err(|error| {
            tracing::error!(%error, "a password could not be hashed or compared");
            HashFault::Broken
        })
    }
}

#[async_trait]
impl Passwords for PasswordHashes {
    async fn hash(&self, password: String) -> Result<String, Failure> {
        self.make(password).await.map_err(|fault| {
            tracing::warn!(%fault, "no password hash");
            Failure::Internal
        })
    }
}

fn hasher() -> Result<Argon2<'static>, HashError> {
    let parameters = Params::new(HASH_KIBIBYTES, HASH_PASSES, HASH_LANES, None)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(std::sync::atomic::AtomicU8);

    impl Entropy for Counting {
        fn bytes(&self) -> [u8; 16] {
            [self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed); 16]
        }
    }

    fn hashes() -> PasswordHashes {
        PasswordHashes::new(Arc::new(Counting(0.into())))
    }

    #[tokio::test]
    async fn a_hash_knows_its_password_alone() {
        let hashes = hashes();
        let first = hashes.make("correct horse battery".into()).await.unwrap();
        let second = hashes.make("correct horse battery".into()).await.unwrap();
        assert!(first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{first}");
        assert_ne!(first, second, "every hash has a salt of its own");
        assert_eq!(hashes.check("correct horse battery".into(), first.clone()).await, Ok(true));
        assert_eq!(hashes.check("correct horse batterz".into(), first).await, Ok(false));
        assert_eq!(hashes.check("x".into(), "no hash".into()).await, Err(HashFault::Broken));
    }

    #[tokio::test]
    async fn who_comes_on_top_of_those_that_wait_is_turned_away_and_nobody_else() {
        let hashes = hashes();
        // Whoever has a place works until the test lets go, so that no place is free before all have asked.
        let (held, working) = std::sync::mpsc::channel::<()>();
        let working = Arc::new(std::sync::Mutex::new(working));
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..HASHES_WAITING_MAX + 3 {
            let (hashes, working) = (hashes.clone(), Arc::clone(&working));
            let work = move || {
                let _let_go = working.lock().map(|working| working.recv());
                Ok(())
            };
            asked.spawn(async move { hashes.slowly(work).await });
        }
        for _ in 0..3 {
            assert_eq!(asked.join_next().await.unwrap().unwrap(), Err(HashFault::Busy));
        }
        drop(held);
        while let Some(answer) = asked.join_next().await {
            assert_eq!(answer.unwrap(), Ok(()));
        }
        assert_eq!(hashes.slowly(|| Ok(7)).await, Ok(7), "every place is free again");
    }
}
