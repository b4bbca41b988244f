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
use leptos_router::params::ParamsMap;

use crate::{
    encoding::Json,
    failure::Failure,
    look_alike::Alikes,
    notice::{ClaimNotice, DecisionNotice, HasteNotice},
};

/// A row of the queue brings at most so many look-alikes; its own page has them all.
#[cfg(feature = "ssr")]
const ALIKES_OF_ROW_MAX: usize = 5;

/// What of the queue is asked for, as its address says it; an empty text does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    /// The order.
    pub sort: String,
    /// What is shown.
    pub show: String,
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// The currency.
    pub currency: String,
    /// Unknown or disputed.
    pub state: String,
    /// Whose claim.
    pub claim: String,
    /// Why it is uncertain.
    pub cause: String,
    /// Where the page starts.
    pub cursor: String,
}

impl Asked {
    /// What an address asks for.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        let text = |name: &str| query.get(name).unwrap_or_default();
        Self {
            sort: text("sort"),
            show: text("show"),
            workflow: text("workflow"),
            company: text("company"),
            currency: text("currency"),
            state: text("state"),
            claim: text("claim"),
            cause: text("cause"),
            cursor: text("cursor"),
        }
    }

    /// The names and values that are not empty.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let Self { sort, show, workflow, company, currency, state, claim, cause, cursor } = self;
        let all: [(&'static str, &str); 9] = [
            ("sort", sort),
            ("show", show),
            ("workflow", workflow),
            ("company", company),
            ("currency", currency),
            ("state", state),
            ("claim", claim),
            ("cause", cause),
            ("cursor", cursor),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The filter as the query of an address, without the place of a page.
    pub(crate) fn query(&self) -> String {
        let pairs: Vec<_> = self.pairs().into_iter().filter(|(name, _)| *name != "cursor").collect();
        // Pairs of text can always be written.
        serde_urlencoded::to_string(pairs).unwrap_or_default()
    }

    /// The address of this, with an operation's forms open.
    pub(crate) fn address(&self, decide: &str) -> String {
        let open = (!decide.is_empty()).then_some(("decide", decide));
        let pairs: Vec<_> = self.pairs().into_iter().chain(open).collect();
        // Pairs of text can always be written.
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        let place = if decide.is_empty() { "" } else { "#decide" };
        if query.is_empty() { "/unknown".to_owned() } else { format!("/unknown?{query}{place}") }
    }
}

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
    /// The workflows with their titles.
    pub workflows: Vec<(String, String)>,
    /// The rows in their order; before them the one that the address opens, where it is on another page.
    pub page: Page<OperationView>,
    /// How recovery of each row stands, where it is unknown.
    pub outlooks: Vec<Option<Outlook>>,
    /// How people stand to each row.
    pub standings: Vec<Standing>,
    /// Which operations look like each row.
    pub alikes: Vec<Option<Alikes>>,
    /// What became of the decision before.
    pub notice: Option<DecisionNotice>,
    /// What became of a claim before.
    pub claimed: Option<ClaimNotice>,
    /// What became of the wish for a lookup before.
    pub haste: Option<HasteNotice>,
}

/// Reads a page of the queue; `decide` is the operation whose forms are open, wherever in the queue it is.
#[server(prefix = "/fn", endpoint = "list_unknown", input = Json, output = Json)]
pub(crate) async fn list_unknown(asked: Asked, decide: String) -> Result<Queue, Failure> {
    use guard::queue::{Cursor, PAGE_ROWS_DEFAULT};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let (filter, sort, spot) = question(&asked)?;
    let found = guard.triage(person, &filter, sort, spot.as_ref(), PAGE_ROWS_DEFAULT).await?;
    let next = found.next.map(|spot| Cursor::from_text(&spot.to_text()));
    let mut rows = found.rows;
    if let Ok(id) = decide.parse()
        && rows.iter().all(|row| row.id != id)
        && let Ok(opened) = guard.operation(&person.reach, id).await
        && opened.state.is_uncertain()
    {
        rows.insert(0, opened);
    }
    let outlooks = guard.outlooks(&rows).await?;
    let standings = guard.standings(&rows).await?;
    let alike = guard.look_alikes(&person.reach, &rows).await?;
    let alikes = alike.into_iter().map(|found| Alikes::of(guard, found, ALIKES_OF_ROW_MAX)).collect();
    let catalogue = guard.catalogue();
    let known = catalogue.workflows.iter().filter(|(name, _)| person.reach.workflow(name));
    Ok(Queue {
        as_of: guard.now(),
        person: person.clone(),
        waiting: guard.waiting_above(&person.reach).await?,
        recovering: guard.recovering_above(&person.reach).await?,
        workflows: known.map(|(name, known)| (name.clone(), known.workflow.title().to_owned())).collect(),
        outlooks,
        standings,
        alikes,
        page: Page { rows: rows.iter().map(|operation| guard.view(operation)).collect(), next },
        notice: crate::reply::take_notice(&visit, super::resolve::NOTICE).await,
        claimed: crate::reply::take_notice(&visit, super::claim::NOTICE).await,
        haste: crate::reply::take_notice(&visit, super::look_up_now::NOTICE).await,
    })
}

/// What the query of the queue's address asks the guard; `decide` and what is not known are left aside.
///
/// # Errors
/// The field that names nothing.
#[cfg(feature = "ssr")]
pub fn asked_for(
    query: &str,
) -> Result<(guard::triage::TriageFilter, guard::triage::Sort, Option<guard::triage::Spot>), guard::refusal::Refusal> {
    // Pairs of text can always be read.
    question(&serde_urlencoded::from_str(query).unwrap_or_default())
}

/// What an address asks the guard.
#[cfg(feature = "ssr")]
fn question(
    asked: &Asked,
) -> Result<(guard::triage::TriageFilter, guard::triage::Sort, Option<guard::triage::Spot>), guard::refusal::Refusal> {
    use guard::{
        refusal::Refusal,
        state::StateName,
        triage::{Cause, ClaimedBy, Show, Sort, Spot, TriageFilter},
    };

    let wrong = |field: &str, words: &str| Refusal::field(field, format!("is none of: {words}"));
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let sort = match asked.sort.as_str() {
        "" => Sort::default(),
        name => Sort::ALL
            .into_iter()
            .find(|sort| sort.as_str() == name)
            .ok_or_else(|| wrong("sort", "at_risk, longest, latest"))?,
    };
    let show = match asked.show.as_str() {
        "" => Show::default(),
        name => {
            let known = Show::ALL.into_iter().find(|show| show.as_str() == name);
            known.ok_or_else(|| wrong("show", "now, needs_me, waiting, all"))?
        }
    };
    let state = match asked.state.as_str() {
        "" => None,
        "unknown" => Some(StateName::Unknown),
        "disputed" => Some(StateName::Disputed),
        _ => return Err(wrong("state", "unknown, disputed")),
    };
    let claim = match asked.claim.as_str() {
        "" => None,
        "mine" => Some(ClaimedBy::Me),
        "nobody" => Some(ClaimedBy::Nobody),
        _ => return Err(wrong("claim", "mine, nobody")),
    };
    let cause = match asked.cause.as_str() {
        "" => None,
        "lease_ended" => Some(Cause::LeaseEnded),
        "reported" => Some(Cause::Reported),
        "disputed" => Some(Cause::Disputed),
        _ => return Err(wrong("cause", "lease_ended, reported, disputed")),
    };
    let spot = match asked.cursor.as_str() {
        "" => None,
        cursor => Some(
            Spot::parse(cursor)
                .ok_or_else(|| Refusal::field("cursor", "is no place in this queue; start from its first page"))?,
        ),
    };
    let (workflow, company, currency) = (text(&asked.workflow), text(&asked.company), text(&asked.currency));
    Ok((TriageFilter { workflow, company, currency, state, claim, cause, show }, sort, spot))
}
