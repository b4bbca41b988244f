//! What a demonstration operation is: a function of the seed and its number.

use chrono::TimeDelta;
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::refusal::Refusal;
use guard::service::Definitions;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::Plan;

/// About so many unknown operations come together, as they do when a destination goes down.
const BURST_OPERATIONS: u64 = 40;

/// Where few are unknown there are so many blocks all the same, half of them bursts, as long as a burst has at least so many operations.
const BLOCKS_MIN: u64 = 8;
const BURST_OPERATIONS_MIN: u64 = 5;

/// Within a burst one comes so many milliseconds after the other.
const BURST_EVERY_MILLISECONDS: i64 = 1_500;

/// One operation in so many failed.
const FAILED_EVERY: u32 = 120;

/// One operation in so many is disputed.
const DISPUTED_EVERY: u32 = 2_500;

/// One operation in so many was asked for again.
const REPEATED_EVERY: u32 = 16;

/// It was asked for again at most so often.
const REPETITIONS_MAX: i32 = 4;

/// One operation in so many looks like the one before it.
const TWIN_EVERY: u64 = 400;

/// Of what is uncertain, people have looked at one in so many.
const LOOKED_AT_EVERY: u32 = 4;

/// Of what is confirmed, one in so many was unknown before, and settled by a person.
const SETTLED_EVERY: u32 = 150;

/// To one operation in so many that is confirmed another payload came, which a person has decided about.
const DECIDED_EVERY: u32 = 150;

/// Of one operation in so many that is confirmed a change was proposed.
const AMENDED_EVERY: u32 = 75;

/// What waits now (for approval, or until a day that somebody named) has done so for at most so many hours.
const WAITING_HOURS_MAX: i64 = 5 * 24;

/// Customers have numbers below this.
const CUSTOMERS: u32 = 5_000;

/// Where a payload says something else, it names another customer once in so many times, otherwise another amount.
const OTHER_CUSTOMER_EVERY: u32 = 6;

/// There are at most so many people of each role.
pub(super) const PEOPLE_MAX: usize = 3;

/// One operation in so many belongs to the company that is rare.
const RARE_EVERY: u64 = 100_000;

/// Name, destination, actions.
const WORKFLOWS: [(&str, &str, &[&str]); 4] = [
    ("accounting-handoff", "ledger", &["create", "cancel", "refund"]),
    ("crm-task", "crm", &["create", "update"]),
    ("customer-message", "mailer", &["send"]),
    ("stock-booking", "warehouse", &["book", "release"]),
];

const SOURCES: [&str; 5] = ["shop", "erp", "portal", "pos", "edi"];

/// The first ones have the most operations.
const COMPANIES: [(&str, &str); 16] = [
    ("acme-in", "INR"),
    ("acme-de", "EUR"),
    ("acme-us", "USD"),
    ("globex-uk", "GBP"),
    ("globex-fr", "EUR"),
    ("initech", "USD"),
    ("umbra-at", "EUR"),
    ("umbra-ch", "CHF"),
    ("hooli-jp", "JPY"),
    ("vehement", "USD"),
    ("massive-es", "EUR"),
    ("stark-se", "SEK"),
    ("wayne-ca", "CAD"),
    ("tyrell-au", "AUD"),
    ("cyber-br", "BRL"),
    ("soylent-pl", "PLN"),
];

const RARE_COMPANY: (&str, &str) = ("outpost-is", "ISK");

const LOST: [&str; 4] = [
    "the destination answered 503",
    "no answer within 10 seconds",
    "the connection was lost before the answer",
    "the answer could not be read",
];

const REFUSED: [&str; 3] =
    ["the destination refused it: 422, the account is closed", "400: the tax code is missing", "404: no such customer"];

/// How a demonstration operation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Confirmed {
        reference: String,
    },
    Failed {
        reason: &'static str,
    },
    Unknown {
        reason: &'static str,
        care: Care,
    },
    Disputed {
        reason: &'static str,
        reference: String,
    },
    /// It was unknown, and a person settled it.
    Settled {
        reason: &'static str,
        settled: Settled,
    },
}

/// What a person did about what is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    Nothing,
    Noted,
    Claimed,
    /// Kept it waiting for so many days.
    Kept(u32),
}

/// How a person settled what was unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Confirmed { reference: String },
    NotApplied,
    Dropped,
}

/// A change that was proposed of a confirmed operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposed {
    pub(super) content: Content,
    pub(super) end: End,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Waits,
    Approved,
    /// Approved, begun and confirmed.
    Begun,
    Rejected,
    Withdrawn,
    Expired,
}

impl End {
    /// Most were decided.
    const OFTEN: [Self; 10] = [
        Self::Begun,
        Self::Begun,
        Self::Begun,
        Self::Begun,
        Self::Waits,
        Self::Waits,
        Self::Approved,
        Self::Rejected,
        Self::Withdrawn,
        Self::Expired,
    ];
}

/// What a payload says that another one may say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// In hundredths.
    pub(super) amount: String,
    customer: u32,
}

/// One demonstration operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    workflow: &'static str,
    company: (&'static str, &'static str),
    source: &'static str,
    action: &'static str,
    document: String,
    lines: u32,
    pub(super) worker: String,
    pub(super) content: Content,
    /// Where in the time of all it lies, in millionths.
    pub(super) millionths: i32,
    /// How much later than that.
    pub(super) later: TimeDelta,
    /// How long sending took.
    pub(super) takes: TimeDelta,
    pub(super) fate: Fate,
    pub(super) repetitions: i32,
    /// Another payload that came under the same key, and waits for a person.
    pub(super) conflicting: Option<Content>,
    /// Another one, which a person has decided about.
    pub(super) decided: Option<Content>,
    /// A change that was proposed.
    pub(super) proposed: Option<Proposed>,
    /// Which of the people of the demonstration had to do with it.
    pub(super) person: usize,
    /// For how long it has waited, where it waits for somebody now.
    pub(super) waits_for: TimeDelta,
}

/// How many of `wanted`, spread evenly over `all`, come before this one.
fn before(number: u64, wanted: u64, all: u64) -> u64 {
    let share = u128::from(number) * u128::from(wanted) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Whether this one is among `wanted` that are spread evenly over `all`.
fn is_chosen(number: u64, wanted: u64, all: u64) -> bool {
    before(number + 1, wanted, all) > before(number, wanted, all)
}

/// Whether it is unknown; in a burst, with the burst's number and its place in it.
enum Uncertain {
    No,
    Alone,
    InBurst { burst: u64, place: u64 },
}

impl Uncertain {
    /// The operations are cut into blocks with equally many unknown ones: in every other block they come at once, at its start; in
    /// the others here and there.
    fn of(plan: &Plan, number: u64) -> Self {
        let blocks = (plan.unknown / BURST_OPERATIONS).max(BLOCKS_MIN.min(plan.unknown / BURST_OPERATIONS_MIN)).max(1);
        let block = before(number, blocks, plan.operations);
        // Rounding may put the edge one off, either way.
        let start_of = |block: u64| {
            let start = u128::from(block) * u128::from(plan.operations);
            u64::try_from(start.div_ceil(u128::from(blocks))).unwrap_or(u64::MAX)
        };
        let (start, end) = (start_of(block), start_of(block + 1));
        let wanted = (block + 1) * plan.unknown / blocks - block * plan.unknown / blocks;
        let (place, length) = (number - start, end - start);
        if block.is_multiple_of(2) {
            if place < wanted { Self::InBurst { burst: block, place } } else { Self::No }
        } else if is_chosen(place, wanted, length) {
            Self::Alone
        } else {
            Self::No
        }
    }
}

impl Recipe {
    pub(super) fn of(plan: &Plan, number: u64) -> Self {
        let random = |number: u64| StdRng::seed_from_u64(plan.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut own = random(number);
        let uncertain = Uncertain::of(plan, number);
        // A burst is one destination's, so that it has one workflow and one cause.
        let mut cause = match uncertain {
            Uncertain::InBurst { burst, .. } => random(u64::MAX - burst),
            Uncertain::No | Uncertain::Alone => random(number.wrapping_add(1 << 40)),
        };
        let (workflow, _, actions) = WORKFLOWS[cause.random_range(0..WORKFLOWS.len())];
        let lost = LOST[cause.random_range(0..LOST.len())];
        let company = if number % RARE_EVERY == RARE_EVERY / 2 {
            RARE_COMPANY
        } else {
            COMPANIES[own.random_range(0..COMPANIES.len()).min(own.random_range(0..COMPANIES.len()))]
        };
        let source = SOURCES[own.random_range(0..SOURCES.len())];
        let reference = format!("{workflow}-{}-{number}", plan.seed);
        let refused = REFUSED[own.random_range(0..REFUSED.len())];
        let fate = match uncertain {
            Uncertain::Alone | Uncertain::InBurst { .. } => Fate::Unknown { reason: lost, care: Care::Nothing },
            Uncertain::No if own.random_ratio(1, DISPUTED_EVERY) => Fate::Disputed { reason: refused, reference },
            Uncertain::No if own.random_ratio(1, FAILED_EVERY) => Fate::Failed { reason: refused },
            Uncertain::No => Fate::Confirmed { reference },
        };
        let later = match uncertain {
            // The place of the burst's start, and so much later.
            Uncertain::InBurst { place, .. } => i64::try_from(place).unwrap_or(0) * BURST_EVERY_MILLISECONDS,
            Uncertain::No | Uncertain::Alone => 0,
        };
        let placed = match uncertain {
            Uncertain::InBurst { place, .. } => number - place,
            Uncertain::No | Uncertain::Alone => number,
        };
        let cents: u32 = own.random_range(100..=250_000);
        let amount = |cents: u32| format!("{}.{:02}", cents / 100, cents % 100);
        let has_conflict = is_chosen(number, plan.conflicts, plan.operations);
        // A burst stays one destination's, and another content another one.
        let is_twin = number % TWIN_EVERY == 1 && !matches!(uncertain, Uncertain::InBurst { .. }) && !has_conflict;
        let mut recipe = Self {
            workflow,
            company,
            source,
            action: actions[own.random_range(0..actions.len())],
            document: format!("{source}-{}-{number:07}", plan.seed),
            content: Content { amount: amount(cents), customer: own.random_range(1..CUSTOMERS) },
            lines: own.random_range(1..=4),
            worker: format!("{source}-worker-{}", own.random_range(1..=4)),
            millionths: i32::try_from(before(placed, 1_000_000, plan.operations)).unwrap_or(0),
            later: TimeDelta::milliseconds(later),
            takes: TimeDelta::milliseconds(own.random_range(80..4_000)),
            fate,
            repetitions: if own.random_ratio(1, REPEATED_EVERY) { own.random_range(1..=REPETITIONS_MAX) } else { 0 },
            conflicting: None,
            decided: None,
            proposed: None,
            person: own.random_range(0..PEOPLE_MAX),
            waits_for: TimeDelta::hours(own.random_range(0..WAITING_HOURS_MAX)),
        };
        // A failed one would be sent once more.
        if matches!(recipe.fate, Fate::Failed { .. }) {
            recipe.repetitions = 0;
        }
        let other = |own: &mut StdRng| {
            let Content { customer, .. } = recipe.content;
            if own.random_ratio(1, OTHER_CUSTOMER_EVERY) {
                Content { amount: amount(cents), customer: customer % CUSTOMERS + 1 }
            } else {
                Content { amount: amount(cents + own.random_range(1..5_000)), customer }
            }
        };
        if has_conflict {
            recipe.conflicting = Some(other(&mut own));
        } else if is_twin {
            return recipe.twin_of(Self::of(plan, number - 1));
        } else if matches!(recipe.fate, Fate::Confirmed { .. }) && own.random_ratio(1, DECIDED_EVERY) {
            recipe.decided = Some(other(&mut own));
        } else if matches!(recipe.fate, Fate::Confirmed { .. }) && own.random_ratio(1, AMENDED_EVERY) {
            recipe.proposed =
                Some(Proposed { content: other(&mut own), end: End::OFTEN[own.random_range(0..End::OFTEN.len())] });
        }
        recipe.cared_for(&mut own, lost)
    }

    /// With what people did about its outcome.
    fn cared_for(self, own: &mut StdRng, lost: &'static str) -> Self {
        let is_settled = self.proposed.is_none() && self.decided.is_none();
        let fate = match self.fate {
            Fate::Unknown { reason, .. } => {
                let days = own.random_range(1..=30);
                let cares = [Care::Noted, Care::Noted, Care::Claimed, Care::Kept(days)];
                let is_looked_at = own.random_ratio(1, LOOKED_AT_EVERY);
                let care = if is_looked_at { cares[own.random_range(0..cares.len())] } else { Care::Nothing };
                Fate::Unknown { reason, care }
            }
            Fate::Confirmed { reference } if is_settled && own.random_ratio(1, SETTLED_EVERY) => {
                let settled = match own.random_range(0..10) {
                    0 => Settled::Dropped,
                    1..4 => Settled::NotApplied,
                    _ => Settled::Confirmed { reference },
                };
                Fate::Settled { reason: lost, settled }
            }
            fate @ (Fate::Confirmed { .. } | Fate::Failed { .. } | Fate::Disputed { .. } | Fate::Settled { .. }) => {
                fate
            }
        };
        Self { fate, ..self }
    }

    /// The same business case under a number of its own.
    fn twin_of(self, first: Self) -> Self {
        let Self { workflow, company, action, content, .. } = first;
        Self { workflow, company, action, content, ..self }
    }

    /// What identifies it.
    pub(super) fn key(&self) -> Result<OperationKey, Refusal> {
        let part = |field: &str, text: &str| KeyPart::new(text).map_err(|fault| Refusal::field(field, fault));
        Ok(OperationKey {
            workflow: part("workflow", self.workflow)?,
            company: part("company", self.company.0)?,
            source_system: part("source_system", self.source)?,
            document: part("document", &self.document)?,
            action: part("action", self.action)?,
            revision: 1,
        })
    }

    /// The number of its document.
    pub(super) fn document(&self) -> &str {
        &self.document
    }

    /// Its payload, with this content.
    pub(super) fn payload(&self, content: &Content) -> Result<Payload, Refusal> {
        let Content { amount, customer } = content;
        let lines: Vec<String> = (1..=self.lines)
            .map(|line| format!(r#"{{"sku":"A-{}","quantity":{line}}}"#, self.content.customer + line))
            .collect();
        let text = format!(
            r#"{{"customer":"C-{customer}","currency":"{}","amount":"{amount}","document":"{}","lines":[{}]}}"#,
            self.company.1,
            self.document,
            lines.join(",")
        );
        Payload::parse(text.as_bytes()).map_err(|fault| Refusal::field("payload", fault))
    }
}

/// The workflows and destinations of the demonstration. The destinations have no lookup: nobody is asked about what never happened.
pub(super) fn definitions() -> Result<Definitions, Refusal> {
    let mut text = String::new();
    for (name, destination, actions) in WORKFLOWS {
        let title = name.replace('-', " ");
        let actions = actions.iter().map(|action| format!("{action:?}")).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(
            "[[workflow]]\nname = {name:?}\ntitle = \"Demonstration: {title}\"\n\
             description = \"{{action}} the {title} for {{document}} in {{company}}\"\n\
             actions = [{actions}]\ndestination = {destination:?}\namount = \"/amount\"\ncurrency = \"/currency\"\n\
             look_alikes = {{ counterparty = \"/customer\" }}\n\
             amendment = {{ amendable = [\"/amount\", \"/customer\"], before_reconciliation = \"replace\", \
             after_reconciliation = \"reverse_and_repost\" }}\n\
             [[destination]]\nname = {destination:?}\nbase_url = \"http://{destination}.invalid\"\n",
        ));
    }
    toml::from_str(&text).map_err(|fault| Refusal::field("workflow", fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_as_many_are_uncertain_and_in_conflict_as_are_asked_for() {
        for (operations, unknown, conflicts) in [
            (1, 1, 1),
            (10, 0, 10),
            (997, 331, 7),
            (1_000, 1_000, 0),
            (5_003, 97, 5_003),
            (5_000, 40, 25),
            (10_000, 200, 100),
        ] {
            let plan = Plan { operations, unknown, conflicts, seed: 7, adds: false };
            let recipes: Vec<_> = (0..operations).map(|number| Recipe::of(&plan, number)).collect();
            let is_unknown = |recipe: &&Recipe| matches!(recipe.fate, Fate::Unknown { .. });
            let in_conflict = |recipe: &&Recipe| recipe.conflicting.is_some();
            assert_eq!(recipes.iter().filter(is_unknown).count() as u64, unknown, "{plan:?}");
            assert_eq!(recipes.iter().filter(in_conflict).count() as u64, conflicts, "{plan:?}");
            assert!(recipes.iter().all(|recipe| recipe.millionths < 1_000_000));
        }
    }

    #[test]
    fn some_look_like_the_one_before_them() {
        let plan = Plan { operations: 10_000, unknown: 200, conflicts: 50, seed: 7, adds: false };
        let twins = (1..10_000).filter(|number| {
            let (one, other) = (Recipe::of(&plan, number - 1), Recipe::of(&plan, *number));
            let look = |recipe: &Recipe| (recipe.workflow, recipe.company, recipe.content.clone());
            look(&one) == look(&other) && one.document != other.document
        });
        let number = twins.count();
        assert!((15..=25).contains(&number), "{number}");
    }

    #[test]
    fn the_same_seed_makes_the_same_operations() {
        let plan = Plan { operations: 100, unknown: 10, conflicts: 5, seed: 7, adds: false };
        let all = |seed| (0..100).map(|number| Recipe::of(&Plan { seed, ..plan }, number)).collect::<Vec<_>>();
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
    }
}
