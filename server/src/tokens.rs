//! The tokens that asked lately, so that a request costs no look-up of its token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;
use guard::refusal::Refusal;
use guard::service::Guard;
use guard::token::{Token, TokenSecret};

/// A token is looked up again after this long: so soon at the latest a revoked one is refused.
pub const TOKEN_CACHED_MAX: Duration = Duration::from_secs(2);

/// At most this many tokens are remembered.
const TOKENS_CACHED_MAX: usize = 10_000;

/// What a secret starts with, and how many characters it has: anything else is refused without a look-up.
const SECRET_PREFIX: &str = "oo_";
const SECRET_CHARACTERS: usize = SECRET_PREFIX.len() + 64;

/// The tokens that asked lately, by the SHA-256 of their secret. Secrets that belong to no token are not remembered.
#[derive(Default)]
pub struct Tokens {
    known: DashMap<[u8; 32], (Arc<Token>, Instant)>,
}

impl Tokens {
    /// The token with this secret, unless it was revoked over [`TOKEN_CACHED_MAX`] ago.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn find(&self, guard: &Guard, secret: &str) -> Result<Option<Arc<Token>>, Refusal> {
        if secret.len() != SECRET_CHARACTERS || !secret.starts_with(SECRET_PREFIX) {
            return Ok(None);
        }
        let digest = TokenSecret::digest(secret);
        if let Some(known) = self.known.get(&digest)
            && known.1.elapsed() < TOKEN_CACHED_MAX
        {
            return Ok(Some(Arc::clone(&known.0)));
        }
        let Some(token) = guard.authenticate(secret).await?.map(Arc::new) else {
            self.known.remove(&digest);
            return Ok(None);
        };
        if self.known.len() >= TOKENS_CACHED_MAX {
            self.known.clear();
        }
        self.known.insert(digest, (Arc::clone(&token), Instant::now()));
        Ok(Some(token))
    }
}
