//! The words of look-alikes.

use crate::look_alike::Alikes;

use super::counted;

/// What it means, on an operation's page.
pub(crate) fn explained(alikes: &Alikes) -> String {
    format!(
        "Same company, amount and counterparty, about another document, begun at most {} before or after. It may be the same case under another number, or equal by right: nothing is blocked.",
        days(alikes)
    )
}

/// What it means for whoever decides.
pub(crate) fn to_decide(alikes: &Alikes) -> String {
    let number = counted(alikes.number() as u64, "other operation looks", "other operations look");
    format!(
        "{number} like this one: same company, amount and counterparty, at most {} apart. Where it is the same case under another number, it may be done already.",
        days(alikes)
    )
}

/// How many, for a row of a list.
pub(crate) fn in_brief(alikes: &Alikes) -> String {
    let number = counted(alikes.number() as u64, "other", "others");
    if alikes.has_more { format!("Looks like {number} or more") } else { format!("Looks like {number}") }
}

/// What is not listed; none where everything is.
pub(crate) fn more(alikes: &Alikes) -> Option<String> {
    match (alikes.left_out, alikes.has_more) {
        (0, false) => None,
        (0, true) => Some("The nearest ones; there may be more, further away in time.".to_owned()),
        (left_out, false) => Some(format!("And {left_out} more, on its own page.")),
        (left_out, true) => {
            Some(format!("And {left_out} more on its own page; there may be others, further away in time."))
        }
    }
}

fn days(alikes: &Alikes) -> String {
    counted(alikes.days.into(), "day", "days")
}
