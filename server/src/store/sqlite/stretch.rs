//! Rows within reach in the order of an index: the first of them, or a page that the index is walked through for.

use guard::queue::{Cursor, Page, PageRequest, WALKED_ROWS_MAX};
use guard::refusal::StoreFault;
use guard::token::Reach;
use rusqlite::{Connection, params_from_iter};

use super::fault;
use super::list::{Question, Values};
use super::readers::all;
use crate::store::along::{Along, page_by_id};
use crate::store::row::FromSqlite;

/// The first rows of a table within reach, at most so many. Where the reach names few companies, or workflows, those of each are looked
/// for by themselves.
#[derive(Clone, Copy)]
pub(super) struct FirstRows<'a> {
    pub table: &'a str,
    pub columns: &'a str,
    pub condition: &'a str,
    pub order: &'a str,
    pub index: &'a str,
    pub index_by_company: &'a str,
    /// None: workflows are not looked for by themselves.
    pub index_by_workflow: Option<&'a str>,
    pub most: u32,
}

impl FirstRows<'_> {
    pub(super) fn sql(&self, values: &mut Values, reach: &Reach) -> String {
        let along = self.along(reach);
        let limit = values.integer(self.most.into());
        format!("{} LIMIT {limit}", self.stretches(values, &along, &along.rest))
    }

    fn along<'r>(&self, reach: &'r Reach) -> Along<'r> {
        if self.index_by_workflow.is_some() { Along::companies_or_workflows(reach) } else { Along::companies(reach) }
    }

    /// All rows along these stretches of which so much is true. They are merged as they come from their index: nothing is sorted, and no
    /// more is read than is taken.
    fn stretches(&self, values: &mut Values, along: &Along<'_>, rest: &Reach) -> String {
        let Self { table, columns, condition, order, index, index_by_company, index_by_workflow, .. } = *self;
        let mut apart = vec![condition.to_owned()];
        values.within(rest, &mut apart);
        let apart = apart.join(" AND ");
        let stretch =
            |index: &str, one: &str| format!("SELECT {columns} FROM {table} INDEXED BY {index} WHERE {one}{apart}");
        let stretches: Vec<String> = match along.each {
            Some((column, names)) => {
                let index = if column == "company" { index_by_company } else { index_by_workflow.unwrap_or(index) };
                names.iter().map(|name| stretch(index, &format!("{column} = {} AND ", values.text(name)))).collect()
            }
            None => vec![stretch(index, "")],
        };
        format!("{} ORDER BY {order}", stretches.join(" UNION ALL "))
    }
}

/// A list in the order of ids, that stretches of an index are walked through for.
pub(super) struct Walk {
    values: Values,
    /// The rows that are walked through: their ids, and what is asked of them.
    stretches: String,
    /// What is asked of each row of `walked`.
    apart: Vec<String>,
    is_ascending: bool,
}

impl Walk {
    /// Along what `rows` says, within reach; its values are those that its condition names.
    pub(super) fn along(mut values: Values, rows: &FirstRows<'_>, reach: &Reach, is_ascending: bool) -> Self {
        let along = rows.along(reach);
        let stretches = rows.stretches(&mut values, &along, &Reach::EVERYTHING);
        let mut walk = Self::of(values, stretches, is_ascending);
        walk.ask(|values, apart| values.within(&along.rest, apart));
        walk
    }

    /// Along the rows of this statement, which says their order.
    pub(super) fn of(values: Values, stretches: String, is_ascending: bool) -> Self {
        Self { values, stretches, apart: Vec::new(), is_ascending }
    }

    /// Asks more of each row of `walked`.
    pub(super) fn ask(&mut self, more: impl FnOnce(&mut Values, &mut Vec<String>)) {
        more(&mut self.values, &mut self.apart);
    }

    /// The rows of a page, and one more, which tells whether there is a next one.
    pub(super) fn page(&self, table: &str, columns: &str, limit: u32) -> Question {
        let mut values = self.values.clone();
        let limit = limit.saturating_add(1);
        let (most, apart) = match self.apart.join(" AND ") {
            apart if apart.is_empty() => (limit, apart),
            apart => (WALKED_ROWS_MAX, format!(" WHERE {apart}")),
        };
        let (stretches, direction) = (&self.stretches, if self.is_ascending { "ASC" } else { "DESC" });
        let (most, limit) = (values.integer(most.into()), values.integer(limit.into()));
        let found =
            format!("SELECT id FROM ({stretches} LIMIT {most}) AS walked{apart} ORDER BY id {direction} LIMIT {limit}");
        let sql = format!(
            "SELECT {columns} FROM ({found}) AS found CROSS JOIN {table} ON {table}.id = found.id ORDER BY found.id {direction}"
        );
        Question { sql, values: values.0 }
    }

    /// Reads a page. Where it is not full and there is more than one page looks through, the next one starts there.
    pub(super) fn read<R, T>(
        &self,
        connection: &Connection,
        (table, columns): (&'static str, &str),
        page: &PageRequest,
        id: impl Fn(&T) -> u128,
    ) -> Result<Page<T>, StoreFault>
    where
        R: FromSqlite,
        T: TryFrom<R, Error = StoreFault>,
    {
        let Question { sql, values } = self.page(table, columns, page.limit);
        let rows = all::<R, T>(connection, table, &sql, params_from_iter(values))?;
        let mut found = page_by_id(rows, page, id);
        if found.next.is_none() && !self.apart.is_empty() {
            found.next = self.edge(connection, table)?;
        }
        Ok(found)
    }

    /// How far a page has looked, where there is more behind.
    fn edge(&self, connection: &Connection, table: &'static str) -> Result<Option<Cursor>, StoreFault> {
        let sql = format!("{} LIMIT 2 OFFSET {}", self.stretches, WALKED_ROWS_MAX - 1);
        let mut statement = connection.prepare_cached(&sql).map_err(|error| fault::of(&error, table, &"?"))?;
        // Values that are asked for apart are numbered behind those of the stretches, or not named here.
        let named = statement.parameter_count();
        edge_of(&mut statement, self.values.0.iter().take(named), table)
    }
}

/// Of the two rows at the end of what is looked through: the first one, where there is the second.
pub(super) fn edge_of<'v>(
    statement: &mut rusqlite::Statement<'_>,
    values: impl IntoIterator<Item = &'v rusqlite::types::Value>,
    table: &'static str,
) -> Result<Option<Cursor>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, table, &"?");
    let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
    let id: [u8; 16] = row.get(0).map_err(failed)?;
    let has_more = rows.next().map_err(failed)?.is_some();
    Ok(has_more.then(|| Cursor::behind_id(u128::from_be_bytes(id))))
}
