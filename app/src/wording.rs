//! The plain words of the desk: states, decisions, people, moments, money. Everything that is said twice is said here.

pub(crate) mod amendment;
pub(crate) mod look_alike;
pub(crate) mod notification;
mod period;
pub(crate) mod reconciliation;
pub(crate) mod retention;
pub(crate) mod review;
mod rules;

use chrono::TimeDelta;
use guard::{
    actor::Actor,
    clock::Timestamp,
    decision::DecisionName,
    lookup::Finding,
    money::Money,
    person::Role,
    recovery::{Answer, Recovery},
    service::{Outlook, Proof, Standing},
    state::{State, StateName},
    summary::Recovering,
    view::OperationView,
};

#[cfg(feature = "ssr")]
pub(crate) use period::period_address;
pub(crate) use period::{line_money, open_kind};
pub(crate) use rules::{correction, rule_standing, rules_address};

/// The word for a state.
pub(crate) const fn state_word(state: StateName) -> &'static str {
    match state {
        StateName::AwaitingApproval => "Awaiting approval",
        StateName::Rejected => "Rejected",
        StateName::Acquired => "Acquired",
        StateName::Sending => "Sending",
        StateName::Released => "Released",
        StateName::Failed => "Failed",
        StateName::Unknown => "Unknown",
        StateName::Confirmed => "Confirmed",
        StateName::Disputed => "Disputed",
    }
}

/// Where an operation stands, and what happens next.
pub(crate) fn standing(operation: &OperationView) -> (String, String) {
    let attempt = operation.attempt;
    let worker =
        operation.worker.as_deref().map_or_else(|| "Its worker".to_owned(), |worker| format!("Worker {worker}"));
    match &operation.state {
        State::AwaitingApproval => (
            "The amendment is proposed and waits for approval.".to_owned(),
            "Nothing is sent before it is approved.".to_owned(),
        ),
        State::Rejected { reason, dropped_at: Some(at) } => (
            format!("A person dropped it at {}, without knowing whether it was applied: {reason}", moment(*at)),
            "Nothing sends it again. A record that turns up all the same makes it disputed.".to_owned(),
        ),
        State::Rejected { reason, dropped_at: None } => {
            (format!("The amendment was rejected: {reason}"), "It stays readable, and is never sent.".to_owned())
        }
        State::Acquired { lease_expires_at } => (
            format!("{worker} owns attempt {attempt} and has not marked it as sending: nothing can have been sent."),
            format!(
                "It marks the sending, or the lease ends at {} and the operation is released to be begun again.",
                moment(*lease_expires_at)
            ),
        ),
        State::Sending { lease_expires_at, .. } => (
            format!("{worker} may be writing it at the destination right now (attempt {attempt})."),
            format!(
                "It reports how it went, or the lease ends at {} and the outcome is unknown.",
                moment(*lease_expires_at)
            ),
        ),
        State::Released { .. } if attempt == 0 => (
            "Nobody has begun it: nothing was sent.".to_owned(),
            "The first begin with this payload gets attempt 1.".to_owned(),
        ),
        State::Released { .. } => (
            format!("The lease of attempt {attempt} ended before anything could be sent."),
            format!("The next begin with the same payload gets attempt {}.", attempt + 1),
        ),
        State::Failed { reason, .. } => (
            format!("Proven not applied: {reason}"),
            format!("The next begin with the same payload gets attempt {}.", attempt + 1),
        ),
        State::Unknown { reason, .. } => (
            format!("It may have been applied: {reason}"),
            "Nothing sends it again until somebody knows: a look at the destination, a late report of the latest attempt, \
             or a person."
                .to_owned(),
        ),
        State::Confirmed { .. } => (
            "It was applied, once.".to_owned(),
            "Every repetition is answered with this result, and nothing is sent again.".to_owned(),
        ),
        State::Disputed { reason, .. } => (
            format!("Two truths contradict each other: {reason}"),
            "Nothing sends it again. Look at the destination for one record, two or none, then decide.".to_owned(),
        ),
    }
}

/// What the payload that an operation stands for is called: nobody approves the first revision.
pub(crate) const fn standing_payload(revision: u32) -> &'static str {
    if revision > 1 { "Approved payload" } else { "First payload" }
}

/// Since when the state holds, where it says so.
pub(crate) const fn since(state: &State) -> Option<Timestamp> {
    match state {
        State::Sending { since, .. }
        | State::Released { since }
        | State::Failed { since, .. }
        | State::Unknown { since, .. }
        | State::Confirmed { since, .. }
        | State::Disputed { since, .. } => Some(*since),
        State::AwaitingApproval | State::Rejected { .. } | State::Acquired { .. } => None,
    }
}

/// Why it is uncertain; empty for what is certain.
pub(crate) fn uncertainty(state: &State) -> &str {
    match state {
        State::Unknown { reason, .. } | State::Disputed { reason, .. } => reason,
        State::AwaitingApproval
        | State::Rejected { .. }
        | State::Acquired { .. }
        | State::Sending { .. }
        | State::Released { .. }
        | State::Failed { .. }
        | State::Confirmed { .. } => "",
    }
}

/// What a begin was told, as it stands in a history.
pub(crate) const fn decision_sentence(decision: DecisionName) -> &'static str {
    match decision {
        DecisionName::Proceed => "Asked, and was permitted to send",
        DecisionName::Replay => "Asked again: told to use the result that is there",
        DecisionName::Superseded => "Asked for an older revision: told to use the newer result",
        DecisionName::InProgress => "Asked while an attempt was under way: told to wait",
        DecisionName::Unknown => "Asked while the outcome is uncertain: told to wait",
        DecisionName::AwaitingApproval => "Asked before the amendment is approved: told to wait",
        DecisionName::ApprovalMissing => "Asked for a revision that nobody proposed: told to stop",
        DecisionName::PreviousRevision => "Asked before the revision before it is confirmed: told to stop",
        DecisionName::Rejected => "Asked for a rejected amendment: told to stop",
        DecisionName::Conflict => "Asked with a changed payload: told to stop",
    }
}

/// Who did it, for people.
pub(crate) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Token { name, worker: None } => format!("token {name}"),
        Actor::Token { name, worker: Some(worker) } => format!("{worker} (token {name})"),
        Actor::Person { email } => email.clone(),
        Actor::Sweeper => "Onceover, watching the lease".to_owned(),
        Actor::Recovery => "Onceover, looking at the destination".to_owned(),
        Actor::Schedule => "Onceover, by schedule".to_owned(),
        Actor::CommandLine => "the command line".to_owned(),
        Actor::FirstStart => "the first start".to_owned(),
    }
}

/// The word for a role with its article.
pub(crate) const fn role_phrase(role: Role) -> &'static str {
    match role {
        Role::Viewer => "a viewer",
        Role::Operator => "an operator",
        Role::Finance => "in finance",
        Role::Admin => "an administrator",
    }
}

/// Why this role may not decide; none where it may.
pub(crate) fn why_not_resolve(role: Role) -> Option<String> {
    (!role.may_resolve()).then(|| format!("Deciding needs the role operator or admin; you are {}.", role_phrase(role)))
}

/// Why this role may not administer; none where it may.
pub(crate) fn why_not_administer(role: Role) -> Option<String> {
    (!role.may_administer()).then(|| format!("This needs the role admin; you are {}.", role_phrase(role)))
}

/// Where a destination stands on the settings' page.
pub(crate) fn destination_anchor(name: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    format!("destination-{}", name.chars().map(plain).collect::<String>())
}

/// The word for what a look at a destination found.
pub(crate) const fn finding_word(finding: &Finding) -> &'static str {
    match finding {
        Finding::Found { .. } => "Found.",
        Finding::Differs { .. } => "Found, but different.",
        Finding::Several { .. } => "Several.",
        Finding::VoidOnly { .. } => "Only void.",
        Finding::Absent => "Nothing.",
        Finding::Inconclusive { .. } => "Inconclusive.",
    }
}

/// Why no lookup can be asked for; none where it can.
pub(crate) fn why_not_look_up(outlook: Option<&Outlook>, standing: &Standing, role: Role) -> Option<String> {
    match outlook {
        None if !standing.may_be_looked_for => Some("A lookup says nothing of a record that is taken back.".to_owned()),
        None if standing.has_lookup => why_not_resolve(role),
        None | Some(Outlook::NoLookup) => {
            Some("Its destination has no lookup; an administrator can configure one.".to_owned())
        }
        Some(Outlook::Exhausted { .. } | Outlook::Waiting { .. }) => why_not_resolve(role),
    }
}

/// How looking for an uncertain operation stands, in sentences: [`outlook`], or what a look can say of two truths.
pub(crate) fn looking(held: Option<&Outlook>, standing: &Standing, now: Timestamp) -> Vec<String> {
    match held {
        Some(held) => outlook(held, now),
        None if !standing.may_be_looked_for => {
            vec!["It takes a record back: what the destination shows is looked at by a person.".to_owned()]
        }
        None if standing.has_lookup => vec![
            "Two truths contradict each other, so it is not looked for by itself. A lookup shows what the destination holds right now, and decides nothing: a person does."
                .to_owned(),
        ],
        None => outlook(&Outlook::NoLookup, now),
    }
}

/// Until when an operation cannot be marked as not applied; none where it can.
pub(crate) fn not_applied_from(outlook: &Outlook, now: Timestamp) -> Option<Timestamp> {
    match outlook {
        Outlook::Exhausted { proof, .. } | Outlook::Waiting { proof, .. } => match proof {
            Proof::From { at } => Some(*at).filter(|at| now < *at),
            Proof::Never | Proof::OneMore { .. } | Proof::Two | Proof::Contradicted { .. } => None,
        },
        Outlook::NoLookup => None,
    }
}

/// Why something cannot be marked as not applied yet.
pub(crate) fn why_not_before(at: Timestamp) -> String {
    format!(
        "Not before {}: until then the destination may still show the record. Open the page again then.",
        moment(at)
    )
}

/// How recovery of an operation stands, in sentences.
pub(crate) fn outlook(outlook: &Outlook, now: Timestamp) -> Vec<String> {
    match outlook {
        Outlook::NoLookup => {
            vec![
                "It cannot be looked for: its workflow names no destination that has a lookup. A person decides."
                    .to_owned(),
            ]
        }
        Outlook::Exhausted { recovery, proof } => {
            let since = recovery.exhausted_at.map(|at| format!(" for {}", age(at, now))).unwrap_or_default();
            let given_up = format!("It is no longer looked for, and has waited for a person{since}.");
            [Some(given_up), Some(looked_so_far(recovery, now)), proven_by(proof, now)].into_iter().flatten().collect()
        }
        Outlook::Waiting { recovery, proof, next_at, down } => {
            let down = down.as_ref().map(|down| {
                let since = age(down.since, now);
                format!(
                    "The destination has been down for {since} ({}): it is asked less until it answers.",
                    down.reason
                )
            });
            let next = if recovery.is_claimed(now) {
                "It is being looked for right now.".to_owned()
            } else {
                format!("It is looked for next {}.", from_now(*next_at, now))
            };
            let told = [down, Some(next), Some(looked_so_far(recovery, now)), proven_by(proof, now)];
            told.into_iter().flatten().collect()
        }
    }
}

/// How recovery of an operation stands, for a row of a list.
pub(crate) fn outlook_in_brief(outlook: &Outlook, now: Timestamp) -> String {
    match outlook {
        Outlook::NoLookup => "No lookup at its destination: a person decides".to_owned(),
        Outlook::Exhausted { recovery, .. } => {
            let since = recovery.exhausted_at.map(|at| format!(" for {}", age(at, now))).unwrap_or_default();
            format!("No longer looked for{since}: a person decides. {}", last_lookup(recovery))
        }
        Outlook::Waiting { next_at, down: Some(down), .. } => {
            format!("The destination is down ({}); asked again {}", down.reason, from_now(*next_at, now))
        }
        Outlook::Waiting { recovery, .. } if recovery.is_claimed(now) => "Being looked for right now".to_owned(),
        Outlook::Waiting { recovery, next_at, down: None, .. } => {
            format!("Looked for next {}. {}", from_now(*next_at, now), last_lookup(recovery))
        }
    }
}

/// How much is looked for; none where nothing is.
pub(crate) fn recovering(recovering: Recovering) -> Option<String> {
    let Recovering { waiting, exhausted, is_cut } = recovering;
    let told = |count: u32| number(count.into()) + if is_cut { "+" } else { "" };
    match (waiting, exhausted) {
        (0, 0) => None,
        (waiting, 0) => Some(format!("Onceover goes on looking for {} of them.", told(waiting))),
        (waiting, exhausted) => Some(format!(
            "Onceover goes on looking for {} of them, and no longer looks for {}.",
            told(waiting),
            told(exhausted)
        )),
    }
}

fn looked_so_far(recovery: &Recovery, now: Timestamp) -> String {
    match &recovery.last {
        None => "It has not been looked for yet.".to_owned(),
        Some(last) => {
            let times = counted(recovery.lookups.into(), "time", "times");
            format!("It was looked for {times}, last {} ago. {}", age(last.at, now), last_lookup(recovery))
        }
    }
}

fn last_lookup(recovery: &Recovery) -> String {
    let Some(last) = &recovery.last else { return "Not looked for yet".to_owned() };
    let reason = last.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("The last lookup showed {}{reason}", answer(last.answer))
}

/// What a lookup showed.
const fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Found => "the record",
        Answer::Differs => "a record that differs",
        Answer::Several => "several records",
        Answer::VoidOnly => "void records only",
        Answer::Absent => "no record",
        Answer::Inconclusive(_) => "nothing to go by",
    }
}

/// What lookups in vain prove.
fn proven_by(proof: &Proof, now: Timestamp) -> Option<String> {
    match proof {
        Proof::Never => Some(
            "That it is not found is never proof: the destination's profile has no finality_seconds. A person decides."
                .to_owned(),
        ),
        Proof::From { at } => Some(format!(
            "Until {} (in {}) that it is not found proves nothing: the record may not show yet.",
            moment(*at),
            duration(*at - now)
        )),
        Proof::OneMore { .. } => Some(
            "It was not found once since its finality window; once more is proof that it was not applied.".to_owned(),
        ),
        Proof::Contradicted { at } => Some(format!(
            "That it is not found proves nothing: at {} the destination answered that there is such a record already. It contradicts itself, so a person decides.",
            moment(*at)
        )),
        Proof::Two => Some("Not found twice from now on is proof that it was not applied.".to_owned()),
    }
}

/// A moment to come with how far away it is: `in 3 min (at …)`; `now` where it has come.
fn from_now(at: Timestamp, now: Timestamp) -> String {
    if at <= now { "now".to_owned() } else { format!("in {} (at {})", duration(at - now), moment(at)) }
}

/// A moment to the second, with its zone.
pub(crate) fn moment(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A moment with its milliseconds, with its zone.
pub(crate) fn exact_moment(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string()
}

/// How long ago, in the two largest units that say something: `4 d 2 h`, `3 min`.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    duration(now - since)
}

/// [`duration`] of a number of seconds, as profiles and rules name spans.
pub(crate) fn seconds(seconds: u32) -> String {
    duration(TimeDelta::seconds(seconds.into()))
}

/// A span in its two largest units that say something.
pub(crate) fn duration(span: TimeDelta) -> String {
    let seconds = span.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {small_unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

/// A whole number with its thousands set apart.
pub(crate) fn number(value: u64) -> String {
    grouped(&value.to_string())
}

/// An amount with all its digits, its thousands set apart, then its currency.
pub(crate) fn money(money: &Money) -> String {
    let amount = money.amount.to_string();
    let (sign, digits) = amount.strip_prefix('-').map_or(("", amount.as_str()), |digits| ("\u{2212}", digits));
    let whole = match digits.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(digits),
    };
    format!("{sign}{whole} {}", money.currency)
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 change`, `2 changes`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// As [`counted`], of what was counted up to `most` and no further: `1,000+ changes`.
pub(crate) fn counted_to(most: u32, count: u32, one: &str, many: &str) -> String {
    counted_or_more(count.min(most).into(), count >= most, one, many)
}

/// Why a page of a list is short and has a next one all the same.
pub(crate) fn rare(of: &str) -> String {
    format!("What you ask for is rare, and a page looks through a bounded number of {of}: there may be more behind.")
}

/// As [`counted`], of what may be more: `518+ changes`.
pub(crate) fn counted_or_more(count: u64, may_be_more: bool, one: &str, many: &str) -> String {
    if may_be_more { format!("{}+ {many}", number(count)) } else { counted(count, one, many) }
}

/// What a character is that nobody sees or that turns text around; none for an ordinary one.
pub(crate) const fn invisible(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{00A0}' => "no-break space",
        '\u{00AD}' => "soft hyphen",
        '\u{034F}' => "combining grapheme joiner",
        '\u{061C}' => "Arabic letter mark",
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => "Hangul filler",
        '\u{180E}' => "Mongolian vowel separator",
        '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => "unusual space",
        '\u{200B}' => "zero width space",
        '\u{200C}' => "zero width non-joiner",
        '\u{200D}' => "zero width joiner",
        '\u{200E}' | '\u{200F}' => "direction mark",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => "direction override",
        '\u{2060}'..='\u{2064}' | '\u{206A}'..='\u{206F}' => "invisible mark",
        '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}' => "invisible mark",
        '\u{FEFF}' => "zero width no-break space",
        '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{7F}'..='\u{9F}' => "control character",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    #[test]
    fn an_age_has_its_two_largest_units() {
        let now = chrono::Utc.timestamp_opt(1_000_000, 0).unwrap();
        let text = |seconds| age(now - TimeDelta::seconds(seconds), now);
        assert_eq!(
            [0, 59, 60, 3_600, 11_100, 86_400, 356_400].map(text),
            ["0 s", "59 s", "1 min", "1 h", "3 h 5 min", "1 d", "4 d 3 h"]
        );
        assert_eq!(text(-5), "0 s", "two clocks that differ show no negative age");
    }

    #[test]
    fn money_keeps_every_digit() {
        let text = |amount: &str| money(&Money { amount: amount.parse().unwrap(), currency: "INR".to_owned() });
        assert_eq!(text("1180.00"), "1,180.00 INR");
        assert_eq!(text("-1234567.891"), "\u{2212}1,234,567.891 INR");
        assert_eq!(text("12"), "12 INR");
    }
}
