//! The table of operations.

use chrono::{NaiveDate, NaiveDateTime, Timelike as _};
use guard::{clock::Timestamp, queue::Page, view::OperationView};
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use crate::{encoding::Json, failure::Failure};

/// What the address of the table says: the whole state of the page. An empty text limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Search {
    /// What was pasted: an id, an external reference, a destination's reference or a document.
    pub q: String,
    /// Only of this workflow.
    pub workflow: String,
    /// Only of this company.
    pub company: String,
    /// Only from this source system.
    pub source_system: String,
    /// Only of this document.
    pub document: String,
    /// Only of this action.
    pub action: String,
    /// Only in one of these states.
    pub states: Vec<String>,
    /// `open`: only with a conflict that waits for a person.
    pub conflicts: String,
    /// Only created at or after this moment (UTC).
    pub from: String,
    /// Only created before this moment (UTC).
    pub to: String,
    /// Only with this worker in the latest attempt.
    pub worker: String,
    /// Only with at least this amount, in whatever currency.
    pub amount_from: String,
    /// Only with at most this amount, in whatever currency.
    pub amount_to: String,
    /// `oldest`: the oldest first.
    pub order: String,
    /// Where the page starts.
    pub cursor: String,
}

impl Search {
    /// Reads the address.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        Self::read(|name| query.get(name).unwrap_or_default(), query.get_all("state").unwrap_or_default())
    }

    /// Reads what `text` finds under each name.
    pub(crate) fn read(text: impl Fn(&str) -> String, mut states: Vec<String>) -> Self {
        states.retain(|state| !state.is_empty());
        Self {
            q: text("q"),
            workflow: text("workflow"),
            company: text("company"),
            source_system: text("source_system"),
            document: text("document"),
            action: text("action"),
            states,
            conflicts: text("conflicts"),
            from: text("from"),
            to: text("to"),
            worker: text("worker"),
            amount_from: text("amount_from"),
            amount_to: text("amount_to"),
            order: text("order"),
            cursor: text("cursor"),
        }
    }

    /// What stands in an address behind the `?`, without the place of a page; empty where nothing is asked for.
    pub(crate) fn query(&self) -> String {
        self.written("")
    }

    fn written(&self, cursor: &str) -> String {
        let texts = [
            ("q", self.q.as_str()),
            ("workflow", &self.workflow),
            ("company", &self.company),
            ("source_system", &self.source_system),
            ("document", &self.document),
            ("action", &self.action),
            ("conflicts", &self.conflicts),
            ("from", &self.from),
            ("to", &self.to),
            ("worker", &self.worker),
            ("amount_from", &self.amount_from),
            ("amount_to", &self.amount_to),
            ("order", &self.order),
            ("cursor", cursor),
        ];
        let states = self.states.iter().map(|state| ("state", state.as_str()));
        let parts: Vec<_> = texts.into_iter().chain(states).filter(|(_, text)| !text.is_empty()).collect();
        serde_urlencoded::to_string(parts).unwrap_or_default()
    }

    /// The address of the page that starts at `cursor`; an empty one is the first.
    pub(crate) fn address(&self, cursor: &str) -> String {
        match self.written(cursor) {
            query if query.is_empty() => "/operations".to_owned(),
            query => format!("/operations?{query}"),
        }
    }

    /// The first page in the other order, as far as that is what is asked for.
    pub(crate) fn turned(&self) -> Self {
        let order = if self.is_oldest_first() { "" } else { "oldest" };
        Self { order: order.to_owned(), cursor: String::new(), ..self.clone() }
    }

    /// Whether the oldest come first.
    pub(crate) fn is_oldest_first(&self) -> bool {
        self.order == "oldest"
    }

    /// Whether it limits anything.
    pub(crate) fn limits(&self) -> bool {
        Self { cursor: String::new(), order: String::new(), ..self.clone() } != Self::default()
    }
}

/// One page of the table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct OperationList {
    /// When it was true.
    pub as_of: Timestamp,
    /// The rows.
    pub page: Page<OperationView>,
    /// Why the one who looks may not act on many operations; none where that is allowed.
    pub why_not_act: Option<String>,
}

/// Reads one page of the table.
#[server(prefix = "/fn", endpoint = "list_operations", input = Json, output = Json)]
pub(crate) async fn list_operations(search: Search) -> Result<OperationList, Failure> {
    use guard::queue::{PAGE_ROWS_DEFAULT, PageRequest};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let request = PageRequest { cursor: parse::cursor(&search), limit: PAGE_ROWS_DEFAULT };
    let order = parse::order(&search)?;
    let page = guard.operations(&person.reach, &parse::filter(&search)?, order, &request).await?;
    let why_not_act = crate::wording::why_not_resolve(person.role);
    Ok(OperationList { as_of: guard.now(), page: page.map(|operation| guard.view(&operation)), why_not_act })
}

/// A moment in UTC as an address or a form's field writes it: `2026-03-01`, `2026-03-01T14:00`, or RFC 3339.
fn moment(text: &str) -> Option<Timestamp> {
    let exact = text.parse::<Timestamp>().ok();
    let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let day = text.parse::<NaiveDate>().ok().and_then(|day| day.and_hms_opt(0, 0, 0));
    exact.or_else(|| local.or(day).map(|moment| moment.and_utc()))
}

/// A moment of an address as a form's field takes it (UTC); empty where it is none.
pub(crate) fn field_moment(text: &str) -> String {
    let Some(moment) = moment(text) else { return String::new() };
    let is_whole_minute = moment.second() == 0 && moment.timestamp_subsec_millis() == 0;
    let format = if is_whole_minute { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S%.3f" };
    moment.format(format).to_string()
}

/// What the query of an address of the table asks for, as `list_operations` reads it.
///
/// # Errors
/// A value that cannot be taken, with its name.
#[cfg(feature = "ssr")]
pub fn asked_for(query: &str) -> Result<(guard::queue::Filter, guard::queue::Order), guard::refusal::Refusal> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    let find = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    let states = pairs.iter().filter(|(name, _)| name == "state").map(|(_, state)| state.clone()).collect();
    let search = Search::read(|name| find(name).unwrap_or_default(), states);
    Ok((parse::filter(&search)?, parse::order(&search)?))
}

#[cfg(feature = "ssr")]
pub(crate) use parse::moment as parse_moment;

#[cfg(feature = "ssr")]
mod parse {
    use guard::{
        clock::Timestamp,
        queue::{Cursor, Filter, Order, Sought},
        refusal::Refusal,
        state::StateName,
    };

    use super::Search;

    pub(super) fn cursor(search: &Search) -> Option<Cursor> {
        (!search.cursor.is_empty()).then(|| Cursor::from_text(&search.cursor))
    }

    /// What the address asks for.
    pub(super) fn filter(search: &Search) -> Result<Filter, Refusal> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let state = |name: &String| {
            StateName::parse(name).ok_or_else(|| {
                let known = StateName::ALL.map(StateName::as_str).join(", ");
                Refusal::field("state", format!("is {name:?}, which is no state; there are: {known}"))
            })
        };
        Ok(Filter {
            workflow: text(&search.workflow),
            company: text(&search.company),
            source_system: text(&search.source_system),
            document: text(&search.document),
            action: text(&search.action),
            states: search.states.iter().map(state).collect::<Result<_, _>>()?,
            with_open_conflicts: conflicts(&search.conflicts)?,
            from: moment("from", &search.from)?,
            to: moment("to", &search.to)?,
            worker: text(&search.worker),
            stake_from: stake("amount_from", &search.amount_from)?,
            stake_to: stake("amount_to", &search.amount_to)?,
            sought: text(&search.q).map(|text| Sought::of(text.trim())),
        })
    }

    /// The order that the address asks for.
    pub(super) fn order(search: &Search) -> Result<Order, Refusal> {
        match search.order.as_str() {
            "" | "newest" => Ok(Order::Newest),
            "oldest" => Ok(Order::Oldest),
            other => Err(Refusal::field("order", format!("is {other:?}; there are: newest, oldest"))),
        }
    }

    fn stake(field: &str, text: &str) -> Result<Option<i64>, Refusal> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let refusal = || Refusal::field(field, format!("{text:?} is no amount; write 1180 or 1180.50"));
        guard::money::stake_of(text.trim()).map(Some).ok_or_else(refusal)
    }

    fn conflicts(text: &str) -> Result<bool, Refusal> {
        match text {
            "" => Ok(false),
            "open" => Ok(true),
            other => Err(Refusal::field("conflicts", format!("is {other:?}; only \"open\" is possible"))),
        }
    }

    pub(crate) fn moment(field: &str, text: &str) -> Result<Option<Timestamp>, Refusal> {
        if text.is_empty() {
            return Ok(None);
        }
        let read = super::moment(text);
        let refusal = || Refusal::field(field, format!("{text:?} is no moment; write 2026-03-01T14:00, in UTC"));
        read.map(Some).ok_or_else(refusal)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn moments_are_read_as_utc() {
            let text = |text: &str| moment("from", text).unwrap().map(guard::clock::rfc3339);
            assert_eq!(text(""), None);
            assert_eq!(text("2026-03-01").as_deref(), Some("2026-03-01T00:00:00.000Z"));
            assert_eq!(text("2026-03-01T14:05").as_deref(), Some("2026-03-01T14:05:00.000Z"));
            assert_eq!(text("2026-03-01T14:05:06.5+02:00").as_deref(), Some("2026-03-01T12:05:06.500Z"));
            assert!(moment("from", "yesterday").is_err());
        }

        #[test]
        fn what_is_no_state_is_refused() {
            let search = Search { states: vec!["lost".to_owned()], ..Search::default() };
            let refused = filter(&search).unwrap_err().to_string();
            assert!(refused.starts_with(r#"state: is "lost", which is no state; there are: "#), "{refused}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_text() {
        let search = Search {
            company: "Ångström & Söhne".to_owned(),
            states: vec!["unknown".to_owned(), "disputed".to_owned()],
            ..Search::default()
        };
        let address = search.address("19-ab");
        assert_eq!(
            address,
            "/operations?company=%C3%85ngstr%C3%B6m+%26+S%C3%B6hne&cursor=19-ab&state=unknown&state=disputed"
        );
        assert_eq!(Search::default().address(""), "/operations");
        assert!(search.limits() && !Search { cursor: "x".to_owned(), ..Search::default() }.limits());
    }

    #[test]
    fn a_field_shows_every_moment_that_an_address_may_hold() {
        assert_eq!(field_moment("2026-03-01"), "2026-03-01T00:00");
        assert_eq!(field_moment("2026-03-01T14:05"), "2026-03-01T14:05");
        assert_eq!(field_moment("2026-03-01T14:05:06.5+02:00"), "2026-03-01T12:05:06.500");
        assert_eq!(field_moment("yesterday"), "");
        assert_eq!(field_moment(""), "");
    }
}
