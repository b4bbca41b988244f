//! The end of an API token.

use guard::{id::TokenId, token::Token};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Revokes a token: whoever uses it is refused from now on.
#[server(prefix = "/fn", endpoint = "revoke_token", output = Json)]
pub(crate) async fn revoke_token(id: TokenId) -> Result<Token, Failure> {
    use super::read_settings::NOTICE;
    use crate::notice::SettingsNotice;

    let visit = crate::context::Visit::current()?;
    let result = revoke(&visit, id).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(token) => (NOTICE, SettingsNotice::TokenRevoked(Box::new(token.clone())), "/settings#tokens".to_owned()),
        Err(failure) => {
            (NOTICE, SettingsNotice::RevocationRefused(Some(id), failure.clone()), "/settings#tokens".to_owned())
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn revoke(visit: &crate::context::Visit, id: TokenId) -> Result<Token, Failure> {
    let administrator = super::administrator::of(visit)?;
    let tokens = visit.guard.tokens().await?;
    let token = tokens.into_iter().find(|token| token.id == id);
    administrator.check_reach(token.as_ref().map(|token| &token.reach), "token")?;
    Ok(visit.guard.revoke_token(id, &administrator.actor()).await?)
}
