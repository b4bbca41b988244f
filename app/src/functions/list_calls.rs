//! What automations asked through the API, page by page.

use guard::{clock::Timestamp, id::CallId, id::OperationId, queue::Page};
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use crate::{encoding::Json, failure::Failure};

/// What the address of the list says. An empty text limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct CallSearch {
    /// Only of the token with this name.
    pub token: String,
    /// Only with this decision.
    pub decision: String,
    /// Only with a problem of this code.
    pub problem: String,
    /// Only with a status of this class.
    pub status: String,
    /// Only at or after this moment (UTC).
    pub from: String,
    /// Only before this moment (UTC).
    pub to: String,
    /// Where the page starts.
    pub cursor: String,
}

impl CallSearch {
    /// Reads the address.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        let text = |name: &str| query.get(name).unwrap_or_default();
        Self {
            token: text("token"),
            decision: text("decision"),
            problem: text("problem"),
            status: text("status"),
            from: text("from"),
            to: text("to"),
            cursor: text("cursor"),
        }
    }

    /// The address of the list with what it says, and the page that starts at `cursor`.
    pub(crate) fn address(&self, cursor: &str) -> String {
        let texts = [
            ("token", self.token.as_str()),
            ("decision", &self.decision),
            ("problem", &self.problem),
            ("status", &self.status),
            ("from", &self.from),
            ("to", &self.to),
            ("cursor", cursor),
        ];
        let parts: Vec<_> = texts.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let query = serde_urlencoded::to_string(&parts).unwrap_or_default();
        if parts.is_empty() { "/developers".to_owned() } else { format!("/developers?{query}") }
    }

    /// Whether it limits anything.
    pub(crate) fn limits(&self) -> bool {
        Self { cursor: String::new(), ..self.clone() } != Self::default()
    }
}

/// A call, as a row shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CallRow {
    /// Its id.
    pub id: CallId,
    /// When it came.
    pub at: Timestamp,
    /// The name of its token.
    pub token: String,
    /// Method and endpoint.
    pub call: String,
    /// The document that it was about, in words; empty where it is not known.
    pub about: String,
    /// The operation that it was about.
    pub operation: Option<OperationId>,
    /// The decision on a begin.
    pub decision: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem that it was answered with.
    pub problem: Option<String>,
    /// How long the answer took, in words.
    pub taken: String,
    /// The request's id.
    pub request_id: String,
}

/// One page of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CallList {
    /// When it was true.
    pub as_of: Timestamp,
    /// The latest first.
    pub page: Page<CallRow>,
    /// The names of the tokens to choose from.
    pub tokens: Vec<String>,
    /// For how many days calls are kept; 0: none is.
    pub days: u32,
}

/// Reads one page.
#[server(prefix = "/fn", endpoint = "list_calls", input = Json, output = Json)]
pub(crate) async fn list_calls(search: CallSearch) -> Result<CallList, Failure> {
    use guard::queue::{Cursor, PAGE_ROWS_DEFAULT, PageRequest};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let tokens = guard.calling_tokens(&person.reach).await?;
    let cursor = (!search.cursor.is_empty()).then(|| Cursor::from_text(&search.cursor));
    let request = PageRequest { cursor, limit: PAGE_ROWS_DEFAULT };
    let page = guard.calls(&person.reach, &reading::filter(&search, &tokens)?, &request).await?;
    let page = page.map(|call| reading::row(&call, &tokens));
    let tokens = tokens.into_iter().map(|token| token.name).collect();
    Ok(CallList { as_of: guard.now(), page, tokens, days: crate::context::Developers::current().call_days })
}

#[cfg(feature = "ssr")]
pub(crate) mod reading {
    use guard::{
        call::{Call, CallFilter, StatusClass},
        decision::DecisionName,
        refusal::Refusal,
        token::Token,
    };

    use super::{CallRow, CallSearch};
    use crate::functions::list_operations::parse_moment;

    /// What an address asks for.
    ///
    /// # Errors
    /// A filter that is none.
    pub(super) fn filter(search: &CallSearch, tokens: &[Token]) -> Result<CallFilter, Refusal> {
        let text = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let none = |field: &'static str, text: &str, what: &str| {
            Refusal::field(field, format!("is {text:?}, which is no {what}"))
        };
        let token = text(&search.token).map(|name| {
            let found = tokens.iter().find(|token| token.name == name).map(|token| token.id);
            found.ok_or_else(|| none("token", &name, "token that you see"))
        });
        let decision = text(&search.decision)
            .map(|name| DecisionName::parse(&name).ok_or_else(|| none("decision", &name, "decision")));
        let class = text(&search.status).map(|name| {
            StatusClass::parse(&name).ok_or_else(|| none("status", &name, "class of statuses (2xx, 3xx, 4xx, 5xx)"))
        });
        Ok(CallFilter {
            token: token.transpose()?,
            decision: decision.transpose()?,
            problem: text(&search.problem),
            class: class.transpose()?,
            from: parse_moment("from", &search.from)?,
            to: parse_moment("to", &search.to)?,
        })
    }

    /// A call as a row shows it. A token that was not made with this database's store has no name there.
    pub(crate) fn row(call: &Call, tokens: &[Token]) -> CallRow {
        let token = tokens.iter().find(|token| token.id == call.token);
        let about = [&call.about.document, &call.about.company, &call.about.workflow];
        CallRow {
            id: call.id,
            at: call.at,
            token: token.map_or_else(|| call.token.to_string(), |token| token.name.clone()),
            call: format!("{} {}", call.method, call.endpoint.trim_start_matches("/api/v1")),
            about: about.into_iter().flatten().cloned().collect::<Vec<_>>().join(" · "),
            operation: call.operation,
            decision: call.decision.map(|decision| decision.as_str().to_owned()),
            status: call.status,
            problem: call.problem.clone(),
            taken: taken(call.microseconds),
            request_id: call.request_id.clone(),
        }
    }

    /// How long an answer took, to a tenth of a millisecond.
    fn taken(microseconds: u64) -> String {
        if microseconds < 1_000_000 {
            let tenths = microseconds.div_ceil(100);
            format!("{}.{} ms", tenths / 10, tenths % 10)
        } else {
            let hundredths = microseconds / 10_000;
            format!("{}.{:02} s", hundredths / 100, hundredths % 100)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn times_are_read_at_a_glance() {
            let told = [0, 40, 1_250, 999_900, 1_000_000, 61_239_999].map(taken);
            assert_eq!(told, ["0.0 ms", "0.1 ms", "1.3 ms", "999.9 ms", "1.00 s", "61.23 s"]);
        }

        #[test]
        fn what_is_no_filter_is_named() {
            for (search, field) in [
                (CallSearch { token: "none".to_owned(), ..CallSearch::default() }, "token"),
                (CallSearch { decision: "perhaps".to_owned(), ..CallSearch::default() }, "decision"),
                (CallSearch { status: "200".to_owned(), ..CallSearch::default() }, "status"),
                (CallSearch { from: "yesterday".to_owned(), ..CallSearch::default() }, "from"),
            ] {
                let refused = filter(&search, &[]).unwrap_err();
                assert!(matches!(&refused, Refusal::InvalidField { field: named, .. } if named == field), "{refused}");
            }
        }
    }
}
