//! Lists within a reach: which stretches of an index hold them, and what is left to be asked of each row.

use std::collections::BTreeSet;

use guard::queue::{Cursor, Page, PageRequest};
use guard::token::Reach;

/// The page that the rows make, in the order of their ids: one row more than asked for says that there is a next one.
pub(super) fn page_by_id<T>(mut rows: Vec<T>, page: &PageRequest, id: impl Fn(&T) -> u128) -> Page<T> {
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|last| Cursor::behind_id(id(last)));
    Page { rows, next }
}

/// Where so few companies, or workflows, are named, what is of each is looked for by itself.
const NAMES_ONE_BY_ONE_MAX: usize = 64;

/// How what is within a reach is looked for.
pub(super) struct Along<'a> {
    /// By itself in a column for each of a few names: among those of all they may be rare. None: among all.
    pub each: Option<(&'static str, &'a BTreeSet<String>)>,
    /// What is left to be asked of each row.
    pub rest: Reach,
}

impl<'a> Along<'a> {
    /// Along the companies, where the reach names few of them.
    pub(super) fn companies(reach: &'a Reach) -> Self {
        match few(reach.companies.as_ref()) {
            Some(names) => {
                let rest = Reach { companies: None, workflows: reach.workflows.clone() };
                Self { each: Some(("company", names)), rest }
            }
            None => Self { each: None, rest: reach.clone() },
        }
    }

    /// Along the companies, where the reach names few of them, otherwise along its workflows.
    pub(super) fn companies_or_workflows(reach: &'a Reach) -> Self {
        match (Self::companies(reach), few(reach.workflows.as_ref())) {
            (Self { each: None, rest }, Some(names)) => {
                Self { each: Some(("workflow", names)), rest: Reach { workflows: None, ..rest } }
            }
            (along, _) => along,
        }
    }
}

fn few(names: Option<&BTreeSet<String>>) -> Option<&BTreeSet<String>> {
    names.filter(|names| (1..=NAMES_ONE_BY_ONE_MAX).contains(&names.len()))
}
