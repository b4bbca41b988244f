//! What people did, page by page.

use guard::{activity::TrailState, clock::Timestamp, id::OperationId, queue::Page};
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use crate::{encoding::Json, failure::Failure};

/// What the address of the list says. An empty text limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct ActivitySearch {
    /// Only of this person.
    pub person: String,
    /// Only entries of this kind.
    pub kind: String,
    /// Only about this operation.
    pub operation: String,
    /// Only at or after this moment (UTC).
    pub from: String,
    /// Only before this moment (UTC).
    pub to: String,
    /// Where the page starts.
    pub cursor: String,
}

impl ActivitySearch {
    /// Reads the address.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        let text = |name: &str| query.get(name).unwrap_or_default();
        Self {
            person: text("person"),
            kind: text("kind"),
            operation: text("operation"),
            from: text("from"),
            to: text("to"),
            cursor: text("cursor"),
        }
    }

    /// What it says, for an address below `path`, with the page that starts at `cursor`.
    pub(crate) fn address(&self, path: &str, cursor: &str) -> String {
        let texts = [
            ("person", self.person.as_str()),
            ("kind", &self.kind),
            ("operation", &self.operation),
            ("from", &self.from),
            ("to", &self.to),
            ("cursor", cursor),
        ];
        let parts: Vec<_> = texts.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let query = serde_urlencoded::to_string(parts).unwrap_or_default();
        let separator = match (query.is_empty(), path.contains('?')) {
            (true, _) => "",
            (false, true) => "&",
            (false, false) => "?",
        };
        format!("{path}{separator}{query}")
    }

    /// Whether it limits anything.
    pub(crate) fn limits(&self) -> bool {
        Self { cursor: String::new(), ..self.clone() } != Self::default()
    }
}

/// One thing that a person did, in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Deed {
    /// When.
    pub at: Timestamp,
    /// Who, by the address under which they sign in.
    pub who: String,
    /// The kind of the entry, as filters name it.
    pub kind: String,
    /// What was done.
    pub what: String,
    /// The operation that it concerns, with its plain sentence.
    pub operation: Option<(OperationId, String)>,
}

/// One page of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ActivityList {
    /// When it was true.
    pub as_of: Timestamp,
    /// The latest first.
    pub page: Page<Deed>,
    /// How far the trail is known to be whole.
    pub trail: TrailState,
}

/// Reads one page.
#[server(prefix = "/fn", endpoint = "list_activity", input = Json, output = Json)]
pub(crate) async fn list_activity(search: ActivitySearch) -> Result<ActivityList, Failure> {
    use guard::queue::{Cursor, PAGE_ROWS_DEFAULT, PageRequest};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let cursor = (!search.cursor.is_empty()).then(|| Cursor::from_text(&search.cursor));
    let request = PageRequest { cursor, limit: PAGE_ROWS_DEFAULT };
    let page = guard.activities(&person.reach, &filter(&search)?, &request).await?;
    let ids: Vec<_> = page.rows.iter().filter_map(|activity| activity.operation).collect();
    let operations = guard.operations_by_id(&person.reach, &ids).await?;
    let mut rows = Vec::with_capacity(page.rows.len());
    for activity in page.rows {
        let operation = match activity.operation {
            Some(id) => {
                let operation =
                    operations.get(&id).ok_or_else(|| guard::refusal::Refusal::not_found("operation of an entry"))?;
                Some((id, guard.view(operation).sentence))
            }
            None => None,
        };
        rows.push(Deed {
            at: activity.entry.at,
            who: crate::wording::actor(&activity.entry.actor),
            kind: activity.entry.kind.as_str().to_owned(),
            what: crate::components::timeline::sentence(&activity.entry),
            operation,
        });
    }
    Ok(ActivityList { as_of: guard.now(), page: Page { rows, next: page.next }, trail: guard.trail_state().await? })
}

/// What an address asks for.
///
/// # Errors
/// A filter that is none.
#[cfg(feature = "ssr")]
fn filter(search: &ActivitySearch) -> Result<guard::activity::ActivityFilter, guard::refusal::Refusal> {
    use guard::{activity::ActivityFilter, refusal::Refusal, trail::EntryKind};

    use super::list_operations::parse_moment;

    let text = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let kind = text(&search.kind).map(|kind| {
        EntryKind::parse(&kind).ok_or_else(|| Refusal::field("kind", format!("is {kind:?}, which is no kind of entry")))
    });
    let operation = text(&search.operation).map(|id| {
        id.parse().map_err(|_| Refusal::field("operation", format!("is {id:?}, which is no id of an operation")))
    });
    Ok(ActivityFilter {
        person: text(&search.person).map(|person| person.to_lowercase()),
        kind: kind.transpose()?,
        operation: operation.transpose()?,
        from: parse_moment("from", &search.from)?,
        to: parse_moment("to", &search.to)?,
    })
}

/// What the query of an address asks for.
///
/// # Errors
/// A filter that is none.
#[cfg(feature = "ssr")]
pub fn asked_for(query: &str) -> Result<guard::activity::ActivityFilter, guard::refusal::Refusal> {
    // Reading pairs of text never fails; what it does not know, it leaves out.
    filter(&serde_urlencoded::from_str(query).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_limits_and_nothing_else() {
        let search = ActivitySearch { person: "ada@example.test".to_owned(), ..ActivitySearch::default() };
        assert_eq!(search.address("/activity", "1-2"), "/activity?person=ada%40example.test&cursor=1-2");
        assert_eq!(ActivitySearch::default().address("/activity", ""), "/activity");
        assert_eq!(
            search.address("/export/activity?format=csv", ""),
            "/export/activity?format=csv&person=ada%40example.test"
        );
        assert!(search.limits() && !ActivitySearch { cursor: "1".to_owned(), ..ActivitySearch::default() }.limits());
    }
}
