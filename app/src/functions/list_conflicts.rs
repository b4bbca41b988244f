//! The queue of conflicts.

use guard::{clock::Timestamp, conflict::ConflictGroup, id::ConflictId, summary::Waiting, view::OperationView};
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use crate::{encoding::Json, failure::Failure};

/// At most this many groups are shown; the others are found by the filters.
pub(crate) const GROUPS_MAX: u32 = 20;

/// What the address of the queue says. An empty text limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct ConflictSearch {
    /// Only of this workflow.
    pub workflow: String,
    /// Only of this company.
    pub company: String,
    /// Only such as differ in this place: `/amount`, `/lines/*/quantity`.
    pub path: String,
    /// Only of this group.
    pub group: String,
    /// `decided`: those that were decided, instead of those that are open.
    pub state: String,
    /// Where the page starts.
    pub cursor: String,
}

impl ConflictSearch {
    /// Reads the address.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        let text = |name: &str| query.get(name).unwrap_or_default();
        Self {
            workflow: text("workflow"),
            company: text("company"),
            path: text("path"),
            group: text("group"),
            state: text("state"),
            cursor: text("cursor"),
        }
    }

    /// What limits, as an address writes it behind its mark; empty where nothing does.
    pub(crate) fn query(&self) -> String {
        let texts = [
            ("workflow", &self.workflow),
            ("company", &self.company),
            ("path", &self.path),
            ("group", &self.group),
            ("state", &self.state),
        ];
        let parts: Vec<_> = texts.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        serde_urlencoded::to_string(parts).unwrap_or_default()
    }

    /// The address of a page with this filter.
    pub(crate) fn address(&self, path: &str) -> String {
        match self.query() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// Whether anything limits.
    pub(crate) fn limits(&self) -> bool {
        !self.query().is_empty()
    }

    /// Whether conflicts are shown one by one, not in groups.
    #[cfg(feature = "ssr")]
    pub(crate) fn is_flat(&self) -> bool {
        !self.path.is_empty() || !self.group.is_empty() || !self.state.is_empty() || !self.cursor.is_empty()
    }
}

/// What the query of an address of the queue asks for, and in which order `list_conflicts` reads it.
///
/// # Errors
/// A value that cannot be taken, with its name.
#[cfg(feature = "ssr")]
pub fn conflicts_asked_for(
    query: &str,
) -> Result<(guard::conflict::ConflictFilter, guard::conflict::ConflictOrder), guard::refusal::Refusal> {
    use guard::conflict::ConflictOrder;

    let read = serde_urlencoded::from_str(query);
    let search: ConflictSearch = read.map_err(|fault| guard::refusal::Refusal::field("query", fault))?;
    let filter = asked::filter(&search)?;
    let order = if filter.is_decided { ConflictOrder::Newest } else { ConflictOrder::Oldest };
    Ok((filter, order))
}

/// A conflict in the queue.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConflictRow {
    /// The conflict.
    pub id: ConflictId,
    /// The operation.
    pub operation: OperationView,
    /// The first difference: `amount 120.00 → 102.00`.
    pub headline: String,
    /// How many places differ besides.
    pub more: u32,
    /// When it came first.
    pub opened_at: Timestamp,
    /// How often it came.
    pub hits: u64,
    /// What was decided, by whom and when.
    pub decided: Option<(String, String, Timestamp)>,
}

/// Conflicts that stand together.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Block {
    /// What they have in common; none where they stand one by one.
    pub group: Option<ConflictGroup>,
    /// The first of them.
    pub rows: Vec<ConflictRow>,
}

/// The queue.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConflictQueue {
    /// When it was true.
    pub as_of: Timestamp,
    /// What waits in all.
    pub waiting: Waiting,
    /// The workflows to choose from, by name with their titles.
    pub workflows: Vec<(String, String)>,
    /// The conflicts.
    pub blocks: Vec<Block>,
    /// Where the next page starts.
    pub next: Option<String>,
}

/// Reads the queue: in groups, or one by one where the address names a place, a group, or those that were decided.
#[server(prefix = "/fn", endpoint = "list_conflicts", input = Json, output = Json)]
pub(crate) async fn list_conflicts(search: ConflictSearch) -> Result<ConflictQueue, Failure> {
    use std::collections::HashMap;

    use guard::{
        conflict::ConflictOrder,
        queue::{Cursor, PAGE_ROWS_DEFAULT, PageRequest},
    };

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let reach = &person.reach;
    let filter = asked::filter(&search)?;
    let order = if filter.is_decided { ConflictOrder::Newest } else { ConflictOrder::Oldest };
    let mut blocks = Vec::new();
    let mut next = None;
    if search.is_flat() {
        let cursor = (!search.cursor.is_empty()).then(|| Cursor::from_text(&search.cursor));
        let request = PageRequest { cursor, limit: PAGE_ROWS_DEFAULT };
        let page = guard.conflict_page(reach, &filter, order, &request).await?;
        next = page.next.map(|next| next.as_str().to_owned());
        let rows = asked::rows(guard, person, page.rows).await?;
        if !rows.is_empty() {
            blocks.push(Block { group: None, rows });
        }
    } else {
        // The rows of all groups together: each by itself takes as many questions as there are groups.
        let groups = guard.conflict_groups(reach, &filter, GROUPS_MAX).await?;
        let ids: Vec<ConflictId> = groups.iter().flat_map(|group| group.first.iter().copied()).collect();
        let found = guard.open_conflicts_by_id(reach, &ids).await?.into_values().collect();
        let mut rows: HashMap<ConflictId, ConflictRow> =
            asked::rows(guard, person, found).await?.into_iter().map(|row| (row.id, row)).collect();
        for group in groups {
            let rows = group.first.iter().filter_map(|id| rows.remove(id)).collect();
            blocks.push(Block { group: Some(group), rows });
        }
    }
    let catalogue = guard.catalogue();
    let workflows = catalogue.workflows.iter().filter(|(name, _)| reach.workflow(name));
    Ok(ConflictQueue {
        as_of: guard.now(),
        waiting: guard.waiting_above(reach).await?,
        workflows: workflows.map(|(name, known)| (name.clone(), known.workflow.title().to_owned())).collect(),
        blocks,
        next,
    })
}

#[cfg(feature = "ssr")]
pub(crate) mod asked {
    use guard::{
        conflict::{Conflict, ConflictFilter},
        diff::{Change, ChangeKind},
        json::Json,
        person::Person,
        refusal::Refusal,
        service::Guard,
    };

    use super::{ConflictRow, ConflictSearch};
    use crate::failure::Failure;

    /// A value in a headline shows this many characters.
    const VALUE_CHARACTERS_MAX: usize = 40;

    /// What the address asks for.
    pub(crate) fn filter(search: &ConflictSearch) -> Result<ConflictFilter, Refusal> {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let is_decided = match search.state.as_str() {
            "" | "open" => false,
            "decided" => true,
            other => {
                return Err(Refusal::field("state", format!("is {other:?}; \"open\" or \"decided\" are possible")));
            }
        };
        let group = text(&search.group).map(|group| {
            group
                .parse()
                .map_err(|_| Refusal::field("group", format!("{group:?} names no group; open it from the queue")))
        });
        Ok(ConflictFilter {
            workflow: text(&search.workflow),
            company: text(&search.company),
            place: text(&search.path),
            group: group.transpose()?,
            is_decided,
        })
    }

    /// The rows of these conflicts, each with its operation, as the person may see them.
    pub(crate) async fn rows(
        guard: &Guard,
        person: &Person,
        conflicts: Vec<Conflict>,
    ) -> Result<Vec<ConflictRow>, Failure> {
        let ids: Vec<_> = conflicts.iter().map(|conflict| conflict.operation).collect();
        let operations = guard.operations_by_id(&person.reach, &ids).await?;
        let mut rows = Vec::with_capacity(conflicts.len());
        for mut conflict in conflicts {
            let operation =
                operations.get(&conflict.operation).ok_or_else(|| Refusal::not_found("operation of a conflict"))?;
            guard.veil(person, operation).await?.cover(&mut conflict.changes);
            let decided = conflict.decision();
            let first = conflict.changes.first();
            let named = conflict.places.listed.first().map(|place| place.trim_start_matches('/').to_owned());
            rows.push(ConflictRow {
                id: conflict.id,
                operation: guard.view(operation),
                headline: first.map(headline).or(named).unwrap_or_else(|| "the payload".to_owned()),
                more: conflict.changes_total.saturating_sub(1),
                opened_at: conflict.opened_at,
                hits: conflict.hits,
                decided: decided.map(|decision| (decision.outcome.sentence(), decision.by.clone(), decision.at)),
            });
        }
        Ok(rows)
    }

    /// A change in a few words: `amount 120.00 → 102.00`.
    pub(crate) fn headline(change: &Change) -> String {
        let place = change.path.to_string();
        let place = place.trim_start_matches('/');
        let value = |value: &Option<Json>| value.as_ref().map(short).unwrap_or_default();
        match change.kind {
            ChangeKind::Changed => format!("{place} {} → {}", value(&change.approved), value(&change.received)),
            ChangeKind::Added => format!("{place} + {}", value(&change.received)),
            ChangeKind::Removed => format!("{place} \u{2212} {}", value(&change.approved)),
        }
    }

    fn short(value: &Json) -> String {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.to_string(),
        };
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() <= VALUE_CHARACTERS_MAX {
            return text;
        }
        let start: String = text.chars().take(VALUE_CHARACTERS_MAX).collect();
        format!("{start}…")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_headline_says_what_differs() {
            let change = |kind, approved: Option<&str>, received: Option<&str>| {
                let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
                headline(&Change {
                    path: "/lines/0/amount".parse().unwrap(),
                    kind,
                    approved: approved.map(json),
                    received: received.map(json),
                })
            };
            assert_eq!(change(ChangeKind::Changed, Some(r#""120.00""#), Some("102")), "lines/0/amount 120.00 → 102");
            assert_eq!(change(ChangeKind::Added, None, Some(r#"{"a":1}"#)), r#"lines/0/amount + {"a":1}"#);
            let long = format!("\"{}\"", "x".repeat(100));
            assert_eq!(change(ChangeKind::Removed, Some(&long), None).chars().count(), 58);
        }
    }
}
