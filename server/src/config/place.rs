//! Where a key stands in the text of a configuration file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The tables and values of a text, each with its place.
pub(super) struct Tree<'a>(DeTable<'a>);

impl<'a> Tree<'a> {
    /// The tree of a text; none where it is no TOML.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        DeTable::parse(text).ok().map(|tree| Self(tree.into_inner()))
    }

    /// The dotted key of what stands exactly at this span: a key or a value. Lists at the root (`[[workflow]]`) are not numbered.
    pub(super) fn key_at(&self, span: &Range<usize>) -> Option<String> {
        deepest(&self.0, span, "")
    }

    /// Where a key of a table stands, or the nearest table around it: `("workflow", Some(1), "retention.payload_days")`.
    pub(super) fn nearest(&self, table: &str, index: Option<usize>, key: &str) -> Option<usize> {
        let (name, value) = self.0.get_key_value(table)?;
        let (mut nearest, mut here) = (name.span().start, value.get_ref());
        if let Some(index) = index {
            let item = here.as_array()?.get(index)?;
            (nearest, here) = (item.span().start, item.get_ref());
        }
        for part in key.split('.') {
            let Some((name, value)) = here.as_table().and_then(|table| table.get_key_value(part)) else { break };
            (nearest, here) = (name.span().start, value.get_ref());
        }
        Some(nearest)
    }
}

/// The deepest key at a span: the table of a list's only header has the same span as the list.
fn deepest(table: &DeTable<'_>, span: &Range<usize>, path: &str) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let path = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
        let is_root_list = !path.contains('.');
        let below = within(value, span, &path, is_root_list);
        below.or_else(|| (name.span() == *span || value.span() == *span).then_some(path))
    })
}

fn within(value: &Spanned<DeValue<'_>>, span: &Range<usize>, path: &str, is_root_list: bool) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => deepest(table, span, path),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let path = if is_root_list { path.to_owned() } else { format!("{path}[{index}]") };
            within(item, span, &path, false).or_else(|| (item.span() == *span).then_some(path))
        }),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            None
        }
    }
}
