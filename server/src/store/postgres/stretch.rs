//! Rows within reach in the order of an index: the first of them, or a page that the index is walked through for.

use std::borrow::Cow;

use guard::queue::{Cursor, Page, PageRequest, WALKED_ROWS_MAX};
use guard::refusal::StoreFault;
use guard::token::Reach;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use super::list::push_reach;
use crate::store::along::{Along, page_by_id};

/// The first rows of a table within reach, at most so many. Where the reach names few companies, or workflows, those of each are looked
/// for by themselves.
#[derive(Clone)]
pub(super) struct FirstRows {
    pub table: &'static str,
    pub columns: &'static str,
    pub condition: Cow<'static, str>,
    pub order: &'static str,
    /// Whether there is an index that workflows are looked for by themselves in.
    pub has_workflows: bool,
    pub most: u32,
}

impl FirstRows {
    pub(super) fn push(&self, query: &mut QueryBuilder<'static, Postgres>, reach: &Reach) {
        let along = self.along(reach);
        self.push_stretches(query, &along, &along.rest, self.most, &format!(" LIMIT {}", self.most));
    }

    fn along<'r>(&self, reach: &'r Reach) -> Along<'r> {
        if self.has_workflows { Along::companies_or_workflows(reach) } else { Along::companies(reach) }
    }

    /// The rows along these stretches of which so much is true, as many of them as `bounds` says: `most` of each suffice for that.
    fn push_stretches(
        &self,
        query: &mut QueryBuilder<'static, Postgres>,
        along: &Along<'_>,
        rest: &Reach,
        most: u32,
        bounds: &str,
    ) {
        let Self { table, columns, condition, order, .. } = self;
        let stretch = format!("SELECT {columns} FROM {table} WHERE {condition}");
        match along.each {
            Some((column, names)) => {
                let names: Vec<String> = names.iter().cloned().collect();
                query.push(format!("SELECT {columns} FROM unnest(")).push_bind(names);
                query.push(format!(
                    "::text[]) AS reached (name) CROSS JOIN LATERAL ({stretch} AND {table}.{column} = reached.name"
                ));
                push_reach(query, rest, table);
                query.push(format!(" ORDER BY {order} LIMIT {most}) AS first_of"));
            }
            None => {
                query.push(stretch);
                push_reach(query, rest, table);
            }
        }
        query.push(format!(" ORDER BY {order}{bounds}"));
    }
}

/// A list in the order of ids, that stretches of an index are walked through for.
pub(super) struct Walk<'a> {
    rows: FirstRows,
    along: Along<'a>,
    direction: &'static str,
    /// What is asked of each row of `walked`: its company and its workflow,
    rest: Cow<'a, Reach>,
    /// together with this of its row in another table, where that alone tells them,
    told_by: Option<(&'static str, Cow<'static, str>)>,
    /// and what holds in a third one.
    apart: Option<String>,
}

impl<'a> Walk<'a> {
    /// Along what `rows` says, within reach.
    pub(super) fn along(rows: FirstRows, reach: &'a Reach, direction: &'static str) -> Self {
        let along = rows.along(reach);
        let rest = Cow::Owned(along.rest.clone());
        Self { rows, along, direction, rest, told_by: None, apart: None }
    }

    /// Among all that `rows` says, of which what is within reach is looked for.
    pub(super) fn among(rows: FirstRows, reach: &'a Reach, direction: &'static str) -> Self {
        let along = Along { each: None, rest: Reach::EVERYTHING };
        Self { rows, along, direction, rest: Cow::Borrowed(reach), told_by: None, apart: None }
    }

    /// Asks this of the row in another table with the same id.
    pub(super) fn told_by(self, table: &'static str, condition: Cow<'static, str>) -> Self {
        Self { told_by: Some((table, condition)), ..self }
    }

    /// Asks this of each row of `walked`, too.
    pub(super) fn asking(self, apart: Option<String>) -> Self {
        Self { apart, ..self }
    }

    fn takes_all(&self) -> bool {
        *self.rest == Reach::EVERYTHING && self.told_by.is_none() && self.apart.is_none()
    }

    /// The rows of a page, and one more, which tells whether there is a next one.
    fn page(&self, table: &str, columns: &str, limit: u32) -> QueryBuilder<'static, Postgres> {
        let limit = limit.saturating_add(1);
        let most = if self.takes_all() { limit } else { WALKED_ROWS_MAX };
        let direction = self.direction;
        let mut query = QueryBuilder::new(format!("SELECT {columns} FROM (SELECT id FROM ("));
        self.rows.push_stretches(&mut query, &self.along, &Reach::EVERYTHING, most, &format!(" LIMIT {most}"));
        query.push(") AS walked WHERE true");
        match &self.told_by {
            // As a value, it is looked up for each of these rows: joined, the whole other table may be read instead.
            Some((told_by, condition)) => {
                query.push(format!(" AND (SELECT {condition}"));
                push_reach(&mut query, &self.rest, told_by);
                query.push(format!(" FROM {told_by} WHERE {told_by}.id = walked.id)"));
            }
            None => push_reach(&mut query, &self.rest, "walked"),
        }
        if let Some(apart) = &self.apart {
            query.push(format!(" AND ({apart})"));
        }
        query.push(format!(
            " ORDER BY id {direction} LIMIT {limit}) AS found JOIN {table} ON {table}.id = found.id ORDER BY found.id {direction}"
        ));
        query
    }

    /// How far a page has looked, and what is next behind that.
    fn edge(&self) -> QueryBuilder<'static, Postgres> {
        let mut query = QueryBuilder::new("SELECT id FROM (");
        let bounds = format!(" LIMIT 2 OFFSET {}", WALKED_ROWS_MAX - 1);
        self.rows.push_stretches(&mut query, &self.along, &Reach::EVERYTHING, WALKED_ROWS_MAX + 1, &bounds);
        query.push(format!(") AS walked ORDER BY id {}", self.direction));
        query
    }
}

impl PostgresStore {
    /// Reads a page. Where it is not full and there is more than one page looks through, the next one starts there.
    pub(super) async fn walk<R, T>(
        &self,
        walk: &Walk<'_>,
        (table, columns): (&str, &str),
        page: &PageRequest,
        id: impl Fn(&T) -> u128,
    ) -> Result<Page<T>, StoreFault>
    where
        R: for<'r> FromRow<'r, PgRow>,
        T: TryFrom<R, Error = StoreFault>,
    {
        // Planned for each execution, as lists are: what fits one person does not fit another.
        let rows = self.all::<R, T>(walk.page(table, columns, page.limit).build().persistent(false)).await?;
        let mut found = page_by_id(rows, page, id);
        if found.next.is_none() && !walk.takes_all() {
            found.next = self.edge(walk.edge()).await?;
        }
        Ok(found)
    }

    /// Of the two rows at the end of what is looked through: the first one, where there is the second.
    pub(super) async fn edge(
        &self,
        mut question: QueryBuilder<'static, Postgres>,
    ) -> Result<Option<Cursor>, StoreFault> {
        let mut connection = self.connection().await?;
        let edge = question.build_query_scalar::<Uuid>().persistent(false).fetch_all(&mut *connection);
        let edge = bounded(edge).await.map_err(|trouble| trouble.fault(&""))?;
        Ok(match edge.as_slice() {
            [last, _behind, ..] => Some(Cursor::behind_id(last.as_u128())),
            [] | [_] => None,
        })
    }
}
