//! What a message says.

use crate::clock::Timestamp;
use crate::money::{Money, sums};

use super::COUNTED_MAX;

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// Operations have been uncertain for longer than their workflow bears.
    #[serde(rename = "unknown.overdue")]
    UnknownOverdue,
    /// Many operations became unknown for one cause.
    #[serde(rename = "incident.opened")]
    IncidentOpened,
    /// Amendments wait for approval.
    #[serde(rename = "amendment.waiting")]
    AmendmentWaiting,
    /// A change of rules waits for approval.
    #[serde(rename = "rules.waiting")]
    RulesWaiting,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::UnknownOverdue, Self::IncidentOpened, Self::AmendmentWaiting, Self::RulesWaiting];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownOverdue => "unknown.overdue",
            Self::IncidentOpened => "incident.opened",
            Self::AmendmentWaiting => "amendment.waiting",
            Self::RulesWaiting => "rules.waiting",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// What a group is about.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// What has been uncertain for longer than this.
    Overdue {
        /// The workflow's limit, in minutes.
        limit_minutes: u32,
    },
    /// One destination (the workflow, where it names none) and one cause.
    Incident {
        /// The destination.
        destination: String,
        /// The cause, with each number as `#`.
        cause: String,
    },
    /// Amendments that wait for approval.
    Amendments,
    /// A change of rules that waits for approval.
    Rules,
    /// Nothing: somebody tries whether messages arrive.
    Test,
}

/// One member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The workflow.
    pub workflow: String,
    /// The company; none for what holds for all of them.
    pub company: Option<String>,
    /// What is at stake.
    pub money: Option<Money>,
    /// Since when it is as it is.
    pub since: Timestamp,
    /// Since when it is to be told.
    pub due_at: Timestamp,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// What the group is about.
    pub about: About,
    /// When it was so.
    pub as_of: Timestamp,
    /// The workflow, where all are of one.
    pub workflow: Option<String>,
    /// The company, where all are of one.
    pub company: Option<String>,
    /// How many, up to [`COUNTED_MAX`].
    pub count: u32,
    /// How many of them were not told before.
    pub new: u32,
    /// Whether the group was told before.
    pub is_again: bool,
    /// What is at stake, a sum per currency.
    pub money: Vec<Money>,
    /// Since when the oldest is so.
    pub oldest: Option<Timestamp>,
}

impl Facts {
    /// What is told of these members; what became due by `told_until` has been told before.
    pub fn of(about: About, as_of: Timestamp, told_until: Option<Timestamp>, pieces: &[Piece]) -> Self {
        let is_new = |piece: &&Piece| told_until.is_none_or(|told| piece.due_at > told);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let first = pieces.first();
        let workflow = first.map(|first| &first.workflow);
        let company = first.and_then(|first| first.company.as_ref());
        Self {
            about,
            as_of,
            workflow: workflow.filter(|name| pieces.iter().all(|piece| piece.workflow == **name)).cloned(),
            company: company.filter(|name| pieces.iter().all(|piece| piece.company.as_ref() == Some(name))).cloned(),
            count: number(pieces.len()),
            new: number(pieces.iter().filter(is_new).count()),
            is_again: told_until.is_some(),
            money: sums(pieces.iter().filter_map(|piece| piece.money.as_ref())),
            oldest: pieces.iter().map(|piece| piece.since).min(),
        }
    }

    /// What a message says that only tries whether it arrives.
    pub const fn test(as_of: Timestamp) -> Self {
        Self {
            about: About::Test,
            as_of,
            workflow: None,
            company: None,
            count: 0,
            new: 0,
            is_again: false,
            money: Vec::new(),
            oldest: None,
        }
    }

    /// The type of the message in every interface.
    pub const fn kind(&self) -> &'static str {
        match self.about {
            About::Overdue { .. } => Kind::UnknownOverdue.as_str(),
            About::Incident { .. } => Kind::IncidentOpened.as_str(),
            About::Amendments => Kind::AmendmentWaiting.as_str(),
            About::Rules => Kind::RulesWaiting.as_str(),
            About::Test => "test",
        }
    }

    /// The page of the desk that shows it, and how that is filtered.
    pub fn page(&self) -> (&'static str, Vec<(&'static str, &str)>) {
        match self.about {
            About::Overdue { .. } | About::Incident { .. } => {
                let filter = [pair_of("workflow", &self.workflow), pair_of("company", &self.company)];
                ("/unknown", filter.into_iter().flatten().collect())
            }
            About::Amendments => ("/amendments", Vec::new()),
            About::Rules => ("/settings/rules", pair_of("workflow", &self.workflow).into_iter().collect()),
            About::Test => ("/settings", Vec::new()),
        }
    }

    /// What it says in one line: the subject of a mail.
    pub fn sentence(&self) -> String {
        let capped = if self.count >= COUNTED_MAX { " or more" } else { "" };
        let count = format!("{}{capped}", grouped(&self.count.to_string()));
        let of = self.workflow.as_ref().map(|workflow| format!(" of {workflow}")).unwrap_or_default();
        let one = self.count == 1;
        let new = if self.is_again { format!(" ({} new)", grouped(&self.new.to_string())) } else { String::new() };
        let money: Vec<String> = self.money.iter().map(in_words).collect();
        let money = if money.is_empty() { String::new() } else { format!(", {}", money.join(" and ")) };
        match &self.about {
            About::Overdue { limit_minutes } => {
                let what = if one { "operation" } else { "operations" };
                let has = if one { "has" } else { "have" };
                let risk = if money.is_empty() { "" } else { " at risk" };
                let limit = span(*limit_minutes);
                format!("{count} {what}{of} {has} been uncertain for more than {limit}{new}{money}{risk}")
            }
            About::Incident { destination, .. } => {
                let risk = if money.is_empty() { "" } else { " at risk" };
                format!("{count} operations{of} became unknown at {destination} for one cause{new}{money}{risk}")
            }
            About::Amendments => {
                let what = if one { "amendment" } else { "amendments" };
                let wait = if one { "waits" } else { "wait" };
                format!("{count} {what}{of} {wait} for approval{new}{money}")
            }
            About::Rules => format!("A change of the rules{of} waits for approval"),
            About::Test => "A test message of Onceover: it arrived".to_owned(),
        }
    }

    /// How long the oldest had been so when it was told, in seconds.
    pub fn oldest_age_seconds(&self) -> Option<i64> {
        self.oldest.map(|oldest| (self.as_of - oldest).num_seconds().max(0))
    }
}

fn pair_of<'a>(name: &'static str, value: &'a Option<String>) -> Option<(&'static str, &'a str)> {
    value.as_deref().map(|value| (name, value))
}

/// `1,180.00 EUR`, with every digit.
fn in_words(money: &Money) -> String {
    let text = money.amount.to_string();
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let rest = rest.map(|rest| format!(".{rest}")).unwrap_or_default();
    format!("{}{rest} {}", grouped(whole), money.currency)
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A limit in words: `30 minutes`, `1 hour`, `2 days`.
fn span(minutes: u32) -> String {
    const HOUR: u32 = 60;
    const DAY: u32 = 24 * HOUR;
    let (number, unit) = if minutes.is_multiple_of(DAY) {
        (minutes / DAY, "day")
    } else if minutes.is_multiple_of(HOUR) {
        (minutes / HOUR, "hour")
    } else {
        (minutes, "minute")
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
