//! A test message by a channel, to see whether messages arrive.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::ChannelTried};

/// Sends a test message, and tells what came of it.
#[server(prefix = "/fn", endpoint = "test_channel", output = Json)]
pub(crate) async fn test_channel(name: String) -> Result<ChannelTried, Failure> {
    use super::read_settings::NOTICE;
    use crate::{notice::SettingsNotice, wording};

    let visit = crate::context::Visit::current()?;
    let page = format!("/settings#{}", wording::notification::anchor(&name));
    let result = test(&visit, &name).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(tried) => (NOTICE, SettingsNotice::ChannelTried(Box::new(tried.clone())), page),
        Err(failure) => (NOTICE, SettingsNotice::ChannelNotTried(name, failure.clone()), page),
    })
    .await
}

#[cfg(feature = "ssr")]
async fn test(visit: &crate::context::Visit, name: &str) -> Result<ChannelTried, Failure> {
    let administrator = super::administrator::of(visit)?;
    let catalogue = visit.guard.catalogue();
    let channel = catalogue.channels.get(name);
    administrator.check_reach(channel.map(guard::notification::Channel::reach).as_ref(), "channel")?;
    let channel = channel.ok_or_else(|| guard::refusal::Refusal::not_found("channel"))?;
    let delivery = visit.messengers.test(channel, visit.guard.message_id()).await;
    visit.guard.channel_tested(&administrator.actor(), channel, &delivery).await?;
    Ok(ChannelTried { name: name.to_owned(), delivery })
}
