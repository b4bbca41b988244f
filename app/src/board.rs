//! The metrics as HTML, made on the server: figures, drawings, tables. The browser's half neither computes nor draws any of it.
//!
//! Drawings are SVG of our own. A library for charts brings fonts, colours and inline styles of its own, which neither follow the two themes
//! nor pass the desk's Content-Security-Policy; what is drawn here is rectangles.

mod drawing;

use chrono::{Datelike as _, NaiveDate, NaiveTime, TimeDelta};
use guard::{
    board::{AgeBand, BOARD_DAYS_MAX, BOARD_YEARS, Board, BoardQuestion, Numbers, Tally, start_of_day},
    clock::Timestamp,
    money::Money,
    refusal::Refusal,
    state::StateName,
    summary::{Prevention, SettledBy, TRUTH_BOUNDS_SECONDS, TruthWithin, UNCERTAIN_COUNTED_MAX},
};
use leptos::prelude::*;

use self::drawing::{Columns, Meaning, Row, rows};
use crate::{
    components::{
        badge::Badge,
        money::{Amount, Amounts},
        plain::Plain,
        table::{Column, Table, numbers, words},
    },
    wording,
};

/// How many days back the page offers.
const DAYS_OFFERED: [u32; 3] = [7, 30, 90];

/// How many days back it looks where nothing else is asked for.
const DAYS_DEFAULT: u32 = 30;

/// What an address asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedOfBoard {
    /// The question.
    pub question: BoardQuestion,
    /// How many days back, where no days are named.
    pub days: Option<u32>,
}

/// Reads the address of the page: `days`, or `from` and `to` (whole days in UTC, both inclusive); `workflow`, `company`.
///
/// # Errors
/// A number of days or a day that is none.
pub fn board_asked_for(query: &str, now: Timestamp) -> Result<AskedOfBoard, Refusal> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    let find = |name: &str| {
        let found = pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.trim().to_owned());
        found.filter(|text| !text.is_empty())
    };
    let day = |name: &str| {
        let text = find(name);
        text.map(|text| {
            NaiveDate::parse_from_str(&text, "%Y-%m-%d")
                .ok()
                .filter(|day| BOARD_YEARS.contains(&day.year()))
                .map(|day| day.and_time(NaiveTime::MIN).and_utc())
                .ok_or_else(|| Refusal::field(name, format!("is {text:?}; a day is written 2026-03-31")))
        })
        .transpose()
    };
    let today = start_of_day(now);
    let tomorrow = today + TimeDelta::days(1);
    let (workflow, company) = (find("workflow"), find("company"));
    let (from, to) = (day("from")?, day("to")?);
    if from.is_none() && to.is_none() {
        let days = match find("days") {
            None => DAYS_DEFAULT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|days| (1..=BOARD_DAYS_MAX).contains(days))
                .ok_or_else(|| Refusal::field("days", format!("is {text:?}; 1 to {BOARD_DAYS_MAX} are possible")))?,
        };
        let from = tomorrow - TimeDelta::days(days.into());
        return Ok(AskedOfBoard {
            question: BoardQuestion { from, to: tomorrow, workflow, company },
            days: Some(days),
        });
    }
    let to = to.map_or(tomorrow, |last| last + TimeDelta::days(1));
    let from = from.unwrap_or(to - TimeDelta::days(DAYS_DEFAULT.into()));
    Ok(AskedOfBoard { question: BoardQuestion { from, to, workflow, company }, days: None })
}

/// What the page needs to know besides its numbers.
pub(crate) struct Page<'a> {
    /// The numbers.
    pub board: &'a Board,
    /// How many days back, where no days are named.
    pub days: Option<u32>,
    /// The workflows that the person may choose: name and title.
    pub workflows: Vec<(String, String)>,
}

impl Page<'_> {
    /// An address with the filters of this one.
    fn address(&self, path: &str, period: &[(&str, String)]) -> String {
        let question = &self.board.question;
        let filters = [("workflow", &question.workflow), ("company", &question.company)];
        let filters = filters.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let query: Vec<(&str, String)> = period.iter().cloned().chain(filters).collect();
        format!("{path}?{}", serde_urlencoded::to_string(query).unwrap_or_default())
    }

    /// The period as this address names it.
    fn period(&self) -> Vec<(&'static str, String)> {
        match self.days {
            Some(days) => vec![("days", days.to_string())],
            None => vec![("from", first_day(&self.board.question)), ("to", last_day(&self.board.question))],
        }
    }
}

fn first_day(question: &BoardQuestion) -> String {
    question.from.format("%Y-%m-%d").to_string()
}

fn last_day(question: &BoardQuestion) -> String {
    day_before(question.to)
}

fn day_before(moment: Timestamp) -> String {
    (moment - TimeDelta::days(1)).format("%Y-%m-%d").to_string()
}

/// What the page shows below its heading.
pub(crate) fn html(page: &Page<'_>) -> String {
    let board = page.board;
    let question = &board.question;
    let period = format!("{} to {}", first_day(question), last_day(question));
    let before = format!("{} to {}", question.before().format("%Y-%m-%d"), day_before(question.from));
    let is_empty = board.numbers == Numbers::default() && board.before == Numbers::default();
    let shown = if is_empty {
        view! {
            <p class="empty">
                "Nothing was counted in this period or the one before it. What automations ask is counted from their first begin on."
            </p>
        }
        .into_any()
    } else {
        full(page)
    };
    view! {
        <p class="lead">
            {period} ", in days of UTC, compared with " {before} ". As of " {wording::moment(board.as_of)} "."
        </p>
        {choices(page)}
        {figures(board)}
        {shown}
        {counting()}
    }
    .to_html()
}

fn choices(page: &Page<'_>) -> AnyView {
    let question = &page.board.question;
    let spans = DAYS_OFFERED.map(|days| {
        let address = page.address("/metrics-board", &[("days", days.to_string())]);
        let current = (page.days == Some(days)).then_some("true");
        view! {
            <li>
                <a href=address aria-current=current>{format!("{days} days")}</a>
            </li>
        }
    });
    let workflows = page.workflows.iter().map(|(name, title)| {
        let is_chosen = question.workflow.as_ref() == Some(name);
        view! { <option value=name.clone() selected=is_chosen>{title.clone()}</option> }
    });
    let known: Vec<_> =
        page.board.companies.keys().map(|name| view! { <option value=name.clone()></option> }).collect();
    let (from, to) = match page.days {
        Some(_) => (String::new(), String::new()),
        None => (first_day(question), last_day(question)),
    };
    let days = page.days.map(|days| view! { <input type="hidden" name="days" value=days.to_string() /> });
    let export = |format: &str, name: &'static str| {
        let mut period = page.period();
        period.push(("format", format.to_owned()));
        view! { <a rel="external" download="" href=page.address("/export/metrics", &period)>{name}</a> }
    };
    view! {
        <nav class="spans" aria-label="How far back">
            <ul>{spans.into_iter().collect_view()}</ul>
        </nav>
        <form class="board-choices" method="get" action="/metrics-board" autocomplete="off" aria-label="Which numbers">
            {days}
            <div class="field">
                <label for="board-from">"First day"</label>
                <input id="board-from" name="from" type="date" value=from />
            </div>
            <div class="field">
                <label for="board-to">"Last day"</label>
                <input id="board-to" name="to" type="date" value=to />
            </div>
            <div class="field">
                <label for="board-workflow">"Workflow"</label>
                <select id="board-workflow" name="workflow">
                    <option value="">"All workflows"</option>
                    {workflows.collect_view()}
                </select>
            </div>
            <div class="field">
                <label for="board-company">"Company"</label>
                <input
                    id="board-company"
                    name="company"
                    list="board-companies"
                    maxlength="200"
                    value=question.company.clone().unwrap_or_default()
                />
                <datalist id="board-companies">{known}</datalist>
            </div>
            <p class="actions">
                <button type="submit">"Show"</button>
            </p>
        </form>
        <p class="note">
            "These numbers as a file: " {export("csv", "CSV")} ", " {export("json", "JSON")} "."
        </p>
    }
    .into_any()
}

/// How a number stands to that of the period before.
fn against(now: u64, before: u64) -> String {
    match now.cmp(&before) {
        std::cmp::Ordering::Equal => format!("as many as before ({})", wording::number(before)),
        std::cmp::Ordering::Greater => {
            format!("{} more than before ({})", wording::number(now - before), wording::number(before))
        }
        std::cmp::Ordering::Less => {
            format!("{} fewer than before ({})", wording::number(before - now), wording::number(before))
        }
    }
}

fn percent(permille: u64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

/// How many of a thousand; none of nothing.
fn share(part: u64, whole: u64) -> Option<u64> {
    (part * 1_000).checked_div(whole)
}

fn lasted(milliseconds: Option<u64>) -> String {
    let span = milliseconds.and_then(|found| i64::try_from(found).ok()).map(TimeDelta::milliseconds);
    span.map_or_else(|| "–".to_owned(), wording::duration)
}

fn figures(board: &Board) -> AnyView {
    let (numbers, before, waiting) = (&board.numbers, &board.before, &board.waiting);
    let (prevented, then) = (numbers.prevented_in_all(), before.prevented_in_all());
    let settled = numbers.settled_in_all();
    let alone = settled - numbers.settled_by(SettledBy::Person);
    let alone = share(alone, settled).map_or_else(|| "–".to_owned(), percent);
    let accuracy = numbers.accuracy_permille().map_or_else(|| "–".to_owned(), percent);
    let many = match waiting.uncertain {
        UNCERTAIN_COUNTED_MAX.. => format!("{}+", wording::number(UNCERTAIN_COUNTED_MAX.into())),
        fewer => wording::number(fewer.into()),
    };
    let oldest = match waiting.oldest_since {
        Some(since) => format!("now; the oldest for {}", wording::age(since, board.as_of)),
        None => "now; nothing is uncertain".to_owned(),
    };
    let risk = (!waiting.at_risk.is_empty()).then(|| view! { <p class="figure-note">"at risk"</p> });
    let decided = numbers.settled_by(SettledBy::Person);
    let times = [500, 950].map(|permille| lasted(numbers.truth_milliseconds(permille)));
    let then_median = lasted(before.truth_milliseconds(500));
    let [median, slow] = times;
    view! {
        <ul class="figures">
            <li class="figure is-good">
                <h2>"Duplicates prevented"</h2>
                <p class="figure-number" data-number="duplicates_prevented">{wording::number(prevented.number)}</p>
                <p class="figure-note">{against(prevented.number, then.number)}</p>
                <Amounts money=prevented.amounts() />
            </li>
            <li class="figure">
                <h2>"Repetitions held back"</h2>
                <p class="figure-number" data-number="repetitions_held">{wording::number(numbers.repetitions())}</p>
                <p class="figure-note">{against(numbers.repetitions(), before.repetitions())}</p>
                <p class="figure-note">"who waits asks often: no number of duplicates"</p>
            </li>
            <li class="figure">
                <h2>
                    <a href="/unknown">"Unknown, awaiting review"</a>
                </h2>
                <p class="figure-number" data-number="uncertain_now">{many}</p>
                <p class="figure-note">{oldest}</p>
                {risk}
                <Amounts money=waiting.at_risk.clone() />
            </li>
            <li class="figure">
                <h2>"Settled without a person"</h2>
                <p class="figure-number">{alone}</p>
                <p class="figure-note">
                    {format!("of {}, by looking or by a late report", wording::counted(settled, "that was uncertain", "that were uncertain"))}
                </p>
            </li>
            <li class="figure">
                <h2>"Time to truth"</h2>
                <p class="figure-number">{median}</p>
                <p class="figure-note">{format!("median (before: {then_median}); 95 of 100 within {slow}")}</p>
            </li>
            <li class="figure" class:is-bad=(numbers.contradicted > 0)>
                <h2>"Decisions that held"</h2>
                <p class="figure-number">{accuracy}</p>
                <p class="figure-note">
                    {format!(
                        "{} of people, {} by a later truth",
                        wording::counted(decided, "decision", "decisions"),
                        wording::counted(numbers.contradicted, "contradicted", "contradicted"),
                    )}
                </p>
            </li>
        </ul>
    }
    .into_any()
}

const fn kind_title(kind: Prevention) -> &'static str {
    match kind {
        Prevention::Replay => "Got the result again",
        Prevention::ProxyReplay => "Got it again through the proxy",
        Prevention::Superseded => "Pointed to a newer revision",
        Prevention::InProgress => "Held while it was under way",
        Prevention::Unknown => "Held while nobody knew",
    }
}

const fn by_title(by: SettledBy) -> &'static str {
    match by {
        SettledBy::Recovery => "Looking at the destination",
        SettledBy::Report => "A late report of the worker",
        SettledBy::Person => "A decision of a person",
    }
}

fn full(page: &Page<'_>) -> AnyView {
    let board = page.board;
    view! {
        <div class="columns">
            {prevented_chart(board)}
            {uncertain_chart(board)}
        </div>
        <div class="columns">
            {truth_chart(&board.numbers)}
            {settled_chart(&board.numbers)}
        </div>
        <div class="columns">
            {ages_chart(board)}
            {places_chart(board)}
        </div>
        {kinds_table(board)}
        {side_by_side(page, "Workflows", "workflow", board.workflows.iter())}
        {side_by_side(page, "Companies", "company", board.companies.iter())}
        {newest(board)}
    }
    .into_any()
}

fn prevented_chart(board: &Board) -> AnyView {
    let names = Prevention::ALL.map(kind_title).to_vec();
    let of = |numbers: &Numbers| Prevention::ALL.map(|kind| numbers.prevented_as(kind).number).to_vec();
    let stretches = board.stretches.iter().map(|stretch| (stretch.start, of(&stretch.numbers))).collect();
    let columns = Columns {
        id: "prevented",
        title: "Duplicates prevented over time",
        days: board.question.stretch_days(),
        names,
        stretches,
        is_stacked: true,
        meaning: Meaning::Happened,
    };
    columns.view()
}

fn uncertain_chart(board: &Board) -> AnyView {
    let of = |numbers: &Numbers| vec![numbers.became_uncertain(), numbers.settled_in_all()];
    let stretches = board.stretches.iter().map(|stretch| (stretch.start, of(&stretch.numbers))).collect();
    let columns = Columns {
        id: "uncertain",
        title: "Uncertain outcomes over time",
        days: board.question.stretch_days(),
        names: vec!["Became uncertain", "Settled"],
        stretches,
        is_stacked: false,
        meaning: Meaning::Happened,
    };
    columns.view()
}

fn ages_chart(board: &Board) -> AnyView {
    let name = |band: AgeBand| match band {
        AgeBand::WithinHour => "For up to an hour",
        AgeBand::WithinDay => "For up to a day",
        AgeBand::WithinWeek => "For up to a week",
        AgeBand::Longer => "For longer",
    };
    let columns = Columns {
        id: "ages",
        title: "For how long outcomes were uncertain, over time",
        days: board.question.stretch_days(),
        names: AgeBand::ALL.map(name).to_vec(),
        stretches: board.stretches.iter().map(|stretch| (stretch.start, stretch.ages.to_vec())).collect(),
        is_stacked: true,
        meaning: Meaning::Stood,
    };
    columns.view()
}

fn truth_chart(numbers: &Numbers) -> AnyView {
    let name = |within: TruthWithin| match within.bound_seconds() {
        Some(bound) => format!("within {}", wording::seconds(bound)),
        None => format!("longer than {}", wording::seconds(TRUTH_BOUNDS_SECONDS.last().copied().unwrap_or_default())),
    };
    let number = |within: TruthWithin| numbers.truth.get(within.place()).copied().unwrap_or_default();
    let list = TruthWithin::all().map(|within| Row { name: name(within), number: number(within) }).collect();
    let total: u64 = numbers.truth.iter().sum();
    let told = format!(
        "{} settled: half of them within {}, 95 of 100 within {}.",
        wording::counted(total, "operation was", "operations were"),
        lasted(numbers.truth_milliseconds(500)),
        lasted(numbers.truth_milliseconds(950)),
    );
    rows("truth", "Time to truth", "Settled", &told, list)
}

fn settled_chart(numbers: &Numbers) -> AnyView {
    let list = SettledBy::ALL.map(|by| Row { name: by_title(by).to_owned(), number: numbers.settled_by(by) });
    let whole = numbers.settled_in_all();
    let shares = SettledBy::ALL.iter().filter_map(|by| {
        let share = share(numbers.settled_by(*by), whole)?;
        Some(format!("{} {}", by_title(*by).to_lowercase(), percent(share)))
    });
    let shares: Vec<String> = shares.collect();
    let told = if shares.is_empty() {
        "Nothing was settled.".to_owned()
    } else {
        format!("Of {}: {}.", wording::number(whole), shares.join(", "))
    };
    rows("settled", "Who brought the truth", "Settled", &told, list.into())
}

fn places_chart(board: &Board) -> AnyView {
    let list = board.places.iter().map(|(place, number)| Row { name: place.clone(), number: *number }).collect();
    let told = match board.places.first() {
        None => "No conflict was opened.".to_owned(),
        Some((place, number)) => format!(
            "{} opened; {} differ in {place}.",
            wording::counted(board.conflicts_seen, "conflict was", "conflicts were"),
            wording::number(*number),
        ),
    };
    rows("places", "Conflicts by changed field", "Conflicts", &told, list)
}

/// A section that holds one table. Its heading and its region have different names: each landmark is told apart by its own.
struct Part {
    id: String,
    title: String,
    region: String,
    caption: String,
}

impl Part {
    /// With these columns and rows.
    fn view(self, columns: Vec<Column>, rows: impl IntoView + 'static) -> AnyView {
        let Self { id, title, region, caption } = self;
        view! {
            <section aria-labelledby=id>
                <h2 id=id.clone()>{title}</h2>
                <Table region caption columns rows />
            </section>
        }
        .into_any()
    }
}

fn cells(tally: &Tally) -> AnyView {
    let money = tally.amounts();
    let money = if money.is_empty() {
        view! { <Amount money=None /> }.into_any()
    } else {
        view! { <Amounts money /> }.into_any()
    };
    view! {
        <td class="number" data-label="Duplicates prevented">{wording::number(tally.number)}</td>
        <td class="number" data-label="Money kept from doubling">{money}</td>
    }
    .into_any()
}

fn kinds_table(board: &Board) -> AnyView {
    let lines = Prevention::ALL.map(|kind| {
        let (tally, then) = (board.numbers.prevented_as(kind), board.before.prevented_as(kind));
        let held = board.numbers.held.get(&kind).copied().unwrap_or_default();
        view! {
            <tr data-kind=kind.as_str()>
                <th scope="row" data-label="Kind">{kind_title(kind)}</th>
                {cells(&tally)}
                <td class="number" data-label="Before">{wording::number(then.number)}</td>
                <td class="number" data-label="Repetitions held back">{wording::number(held)}</td>
            </tr>
        }
    });
    let columns = ["Duplicates prevented", "Money kept from doubling", "Before", "Repetitions held back"].map(numbers);
    Part {
        id: "kinds-title".to_owned(),
        title: "Duplicates prevented by kind".to_owned(),
        region: "By kind, as a table".to_owned(),
        caption: "Duplicates prevented by kind".to_owned(),
    }
    .view(std::iter::once(words("The first repetition")).chain(columns).collect(), lines.into_iter().collect_view())
}

fn side_by_side<'a>(
    page: &Page<'_>,
    title: &'static str,
    of: &'static str,
    all: impl Iterator<Item = (&'a String, &'a (Numbers, Numbers))>,
) -> AnyView {
    let id = format!("by-{of}-title");
    let lines = all.map(|(name, (numbers, before))| {
        let mut query = page.period();
        query.push((of, name.clone()));
        let address = serde_urlencoded::to_string(query).unwrap_or_default();
        let (prevented, then) = (numbers.prevented_in_all(), before.prevented_in_all());
        view! {
            <tr>
                <th scope="row" data-label=title>
                    <a href=format!("/metrics-board?{address}")>
                        <Plain text=name.clone() />
                    </a>
                </th>
                {cells(&prevented)}
                <td class="number" data-label="Before">{wording::number(then.number)}</td>
                <td class="number" data-label="Repetitions held back">{wording::number(numbers.repetitions())}</td>
                <td class="number" data-label="Became uncertain">{wording::number(numbers.became_uncertain())}</td>
                <td class="number" data-label="Settled">{wording::number(numbers.settled_in_all())}</td>
                <td class="number" data-label="Time to truth, median">{lasted(numbers.truth_milliseconds(500))}</td>
            </tr>
        }
    });
    let lines = lines.collect_view();
    let columns = [
        "Duplicates prevented",
        "Money kept from doubling",
        "Before",
        "Repetitions held back",
        "Became uncertain",
        "Settled",
        "Time to truth, median",
    ];
    let columns = std::iter::once(words(title)).chain(columns.map(numbers)).collect();
    let title = format!("{title} side by side");
    Part { id, region: format!("{title}, as a table"), caption: title.clone(), title }.view(columns, lines)
}

fn newest(board: &Board) -> AnyView {
    if board.newest.is_empty() {
        return view! {
            <section class="panel" aria-labelledby="newest-title">
                <h2 id="newest-title">"Prevented last"</h2>
                <p class="empty">"No duplicate was prevented in this period."</p>
            </section>
        }
        .into_any();
    }
    let lines = board.newest.iter().map(|(prevented, original)| {
        let money: Option<Money> = original.money.clone();
        let state = original.state.name();
        // Counted when it was confirmed; where a later truth contradicts that, it is said.
        let moved = (state != StateName::Confirmed).then(|| view! { " " <Badge state=state /> });
        view! {
            <tr>
                <th scope="row" data-label="Confirmed original">
                    <a class="row-link" href=format!("/operations/{}", original.id)>
                        <Plain text=original.sentence.clone() />
                    </a>
                    {moved}
                </th>
                <td data-label="The first repetition">{kind_title(prevented.kind)}</td>
                <td data-label="Came">{wording::moment(prevented.asked_at)}</td>
                <td data-label="Certain">{wording::moment(prevented.certain_at)}</td>
                <td class="number" data-label="Amount">
                    <Amount money />
                </td>
            </tr>
        }
    });
    let lines = lines.collect_view();
    let columns = ["Confirmed original", "The first repetition", "Came", "Certain"].map(words);
    Part {
        id: "newest-title".to_owned(),
        title: "Prevented last".to_owned(),
        region: "What was prevented last".to_owned(),
        caption: "The duplicates that were prevented last, each with the original that it would have doubled"
            .to_owned(),
    }
    .view(columns.into_iter().chain([numbers("Amount")]).collect(), lines)
}

fn counting() -> AnyView {
    view! {
        <details class="counting">
            <summary>"How this is counted"</summary>
            <p>
                "A duplicate was prevented when an operation is confirmed, and at least one more begin for it came that would have made the same record again. Each operation counts once, with its amount once, in the kind of the first repetition: a worker that waits and asks again and again is one intention, and what a third or tenth copy would have cost is not claimed. So the sum can never be above what was confirmed."
            </p>
            <p>
                "A repetition that was held while an attempt was under way or uncertain counts on the day on which that attempt is confirmed. Where the attempt is proven not applied, the repetition was the one that could be sent: it prevented nothing and is not counted. What a later truth contradicts stays counted and shows its state in the list."
            </p>
            <p>
                "For how long outcomes were uncertain is looked at every ten minutes; of each day (UTC) the last look stays. A day on which no server ran shows none."
            </p>
            <p>
                "Time to truth runs from the moment an operation last became unknown or disputed to the moment it was settled, in the bounds of the drawing; a median lies between two bounds as if all of them were spread evenly. A decision of a person did not hold when the operation became disputed after it."
            </p>
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn now() -> Timestamp {
        chrono::Utc.with_ymd_and_hms(2026, 3, 10, 14, 30, 0).unwrap()
    }

    fn asked(query: &str) -> (String, String, Option<u32>) {
        let asked = board_asked_for(query, now()).unwrap();
        (first_day(&asked.question), last_day(&asked.question), asked.days)
    }

    #[test]
    fn an_address_says_whole_days() {
        let days = |from: &str, to: &str, days| (from.to_owned(), to.to_owned(), days);
        assert_eq!(asked(""), days("2026-02-09", "2026-03-10", Some(30)));
        assert_eq!(asked("days=7&from=&to="), days("2026-03-04", "2026-03-10", Some(7)));
        assert_eq!(asked("days=7&from=2026-03-01&to=2026-03-05"), days("2026-03-01", "2026-03-05", None));
        assert_eq!(asked("from=2026-03-01"), days("2026-03-01", "2026-03-10", None));
        assert_eq!(asked("to=2026-03-05"), days("2026-02-04", "2026-03-05", None));
        for wrong in ["days=0", "days=367", "days=x", "from=yesterday", "to=2026-02-30", "from=1000-01-01"] {
            assert!(board_asked_for(wrong, now()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_stands_beside_the_one_before() {
        assert_eq!(
            [against(3, 3), against(1_200, 200), against(0, 2)],
            ["as many as before (3)", "1,000 more than before (200)", "2 fewer than before (2)"]
        );
    }
}
