//! The queue of what is uncertain.

use guard::{
    clock::Timestamp,
    person::Person,
    queue::Page,
    service::{Outlook, Standing},
    summary::{Recovering, Waiting},
    view::OperationView,
};
use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::{ClaimNotice, DecisionNotice},
};

/// One page of the queue.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Queue {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// What waits in all.
    pub waiting: Waiting,
    /// What of it is looked for.
    pub recovering: Recovering,
    /// The rows, the longest uncertain first.
    pub page: Page<OperationView>,
    /// How recovery of each row stands, where it is unknown.
    pub outlooks: Vec<Option<Outlook>>,
    /// How people stand to each row.
    pub standings: Vec<Standing>,
    /// What became of the decision before.
    pub notice: Option<DecisionNotice>,
    /// What became of a claim before.
    pub claimed: Option<ClaimNotice>,
}

/// Reads the page of the queue that starts at `cursor`; an empty one is the first.
#[server(prefix = "/fn", endpoint = "list_unknown", input = Json, output = Json)]
pub(crate) async fn list_unknown(cursor: String) -> Result<Queue, Failure> {
    use guard::queue::{Cursor, Filter, Order, PAGE_ROWS_DEFAULT, PageRequest};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let cursor = (!cursor.is_empty()).then(|| Cursor::from_text(&cursor));
    let request = PageRequest { cursor, limit: PAGE_ROWS_DEFAULT };
    let page = guard.operations(&person.reach, &Filter::default(), Order::LongestUncertain, &request).await?;
    let outlooks = guard.outlooks(&page.rows).await?;
    let standings = guard.standings(&page.rows).await?;
    Ok(Queue {
        as_of: guard.now(),
        person: person.clone(),
        waiting: guard.waiting(&person.reach).await?,
        recovering: guard.recovering(&person.reach).await?,
        outlooks,
        standings,
        page: page.map(|operation| guard.view(&operation)),
        notice: crate::reply::take_notice(&visit, super::resolve::NOTICE).await,
        claimed: crate::reply::take_notice(&visit, super::claim::NOTICE).await,
    })
}
