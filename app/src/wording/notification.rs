//! What is said of notifications.

use guard::notification::{Delivery, Kind, WayName};

/// The id of a channel's part of the settings.
pub(crate) fn anchor(name: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    format!("channel-{}", name.chars().map(plain).collect::<String>())
}

/// How messages go, in words.
pub(crate) const fn way(way: WayName) -> &'static str {
    match way {
        WayName::Webhook => "a signed webhook",
        WayName::Mail => "mail",
    }
}

/// What is told, in words.
pub(crate) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::UnknownOverdue => "uncertain for too long",
        Kind::IncidentOpened => "incidents",
        Kind::AmendmentWaiting => "amendments that wait",
        Kind::RulesWaiting => "changes of rules that wait",
    }
}

/// What came of a test message.
pub(crate) fn delivery(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Delivered => "The test message was taken.".to_owned(),
        Delivery::Failed(reason) => format!("The test message was not taken: {reason}."),
        Delivery::Gone(reason) => format!("The channel is switched off. It {reason}."),
    }
}
