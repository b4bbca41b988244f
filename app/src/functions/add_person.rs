//! Somebody new at the desk.

use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::{AddedPerson, PersonDraft},
};

/// Adds a person; a password that was made is given once and never again.
#[server(prefix = "/fn", endpoint = "add_person", output = Json)]
pub(crate) async fn add_person(draft: PersonDraft) -> Result<AddedPerson, Failure> {
    use super::read_settings::NOTICE;
    use crate::notice::SettingsNotice;

    let visit = crate::context::Visit::current()?;
    let result = add(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(added) => (NOTICE, SettingsNotice::PersonAdded(Box::new(added.clone())), "/settings#people".to_owned()),
        Err(failure) => {
            let draft = PersonDraft { password: String::new(), ..draft };
            (NOTICE, SettingsNotice::PersonRefused(Box::new(draft), failure.clone()), "/settings#people".to_owned())
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn add(visit: &crate::context::Visit, draft: &PersonDraft) -> Result<AddedPerson, Failure> {
    use guard::person::check_password;

    let administrator = super::administrator::of(visit)?;
    let reach = administrator.grantable(&draft.companies, [])?;
    let made = draft.password.is_empty().then(|| visit.guard.generate_password());
    let password = made.as_ref().unwrap_or(&draft.password);
    check_password(password)?;
    let hash = visit.passwords.hash(password.clone()).await?;
    let person = visit.guard.add_person(&draft.email, draft.role, reach, hash, false, &administrator.actor()).await?;
    Ok(AddedPerson { person, password: made })
}
