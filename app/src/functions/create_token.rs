//! A new API token.

use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::{MadeToken, TokenDraft},
};

/// Makes a token; the secret is given once and never again.
#[server(prefix = "/fn", endpoint = "create_token", output = Json)]
pub(crate) async fn create_token(draft: TokenDraft) -> Result<MadeToken, Failure> {
    use super::read_settings::NOTICE;
    use crate::notice::SettingsNotice;

    let visit = crate::context::Visit::current()?;
    let result = make(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(made) => (NOTICE, SettingsNotice::TokenMade(Box::new(made.clone())), "/settings#tokens".to_owned()),
        Err(failure) => {
            (NOTICE, SettingsNotice::TokenRefused(Box::new(draft), failure.clone()), "/settings#tokens".to_owned())
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn make(visit: &crate::context::Visit, draft: &TokenDraft) -> Result<MadeToken, Failure> {
    use guard::{refusal::Refusal, token::Scope};

    let administrator = super::administrator::of(visit)?;
    let scope =
        |name: &String| Scope::parse(name).ok_or_else(|| Refusal::field("scopes", format!("{name:?} is no scope")));
    let scopes = draft.scopes.iter().map(scope).collect::<Result<_, _>>()?;
    let reach = administrator.grantable(&draft.companies, draft.workflows.iter().cloned())?;
    let (token, secret) = visit.guard.create_token(draft.name.trim(), scopes, reach, &administrator.actor()).await?;
    Ok(MadeToken { token, secret: secret.reveal().to_owned() })
}
