//! The first start: whoever holds the link that was printed makes the first administrator, once.

use std::sync::{Arc, Mutex, PoisonError};

use guard::clock::Entropy;
use guard::refusal::Refusal;
use guard::service::Guard;
use subtle::ConstantTimeEq;

/// The one-time secret of the first start. It is made while nobody exists, and gone once anybody does, whichever process or command
/// added them. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct FirstStart {
    guard: Guard,
    secret: Arc<Mutex<Option<String>>>,
}

impl FirstStart {
    /// Makes the secret from 256 random bits, where nobody exists.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn open(guard: Guard, entropy: &dyn Entropy) -> Result<Self, Refusal> {
        let is_empty = guard.people().await?.is_empty();
        let secret = is_empty.then(|| hex::encode([entropy.bytes(), entropy.bytes()].as_flattened()));
        Ok(Self { guard, secret: Arc::new(Mutex::new(secret)) })
    }

    /// The link for whoever started the server; none where somebody exists. It lets its holder in: for the terminal, not for a
    /// log that is kept.
    #[must_use]
    pub fn link(&self, public_url: &str) -> Option<String> {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret.as_ref().map(|secret| format!("{}/welcome?link={secret}", public_url.trim_end_matches('/')))
    }

    /// Whether this is the secret and nobody exists yet.
    pub(crate) async fn opens(&self, presented: &str) -> Result<bool, Refusal> {
        if !self.is_secret(presented) {
            return Ok(false);
        }
        let is_empty = self.guard.people().await?.is_empty();
        if !is_empty {
            self.end();
        }
        Ok(is_empty)
    }

    /// Forgets the secret: somebody exists now.
    pub(crate) fn end(&self) {
        *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Compares in a time that does not tell how much of it was right.
    fn is_secret(&self, presented: &str) -> bool {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret.as_ref().is_some_and(|secret| secret.as_bytes().ct_eq(presented.as_bytes()).into())
    }
}
