//! Definitions and settings, written as a configuration file.

use guard::destination::Destination;
use guard::notification::Channel;
use guard::service::Definitions;
use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Configuration, ServerTable};

/// Keys whose tables are written on one line, as people write them.
const INLINE: [&str; 3] = ["headers", "void", "key_fields"];

/// The definitions as a file that `apply` takes back as unchanged.
///
/// # Errors
/// The serializer's; no definition that was read from TOML has one.
pub fn export(definitions: &Definitions) -> Result<String, toml_edit::ser::Error> {
    Ok(laid_out(toml_edit::ser::to_document(definitions)?).to_string())
}

/// Everything that is in force, defaults included, with secrets masked.
///
/// # Errors
/// The serializer's; no configuration that was read from TOML has one.
pub fn effective(configuration: &Configuration) -> Result<String, toml_edit::ser::Error> {
    #[derive(serde::Serialize)]
    struct Shown<'a> {
        server: &'a ServerTable,
        #[serde(flatten)]
        definitions: &'a Definitions,
    }
    let mut definitions = configuration.definitions.clone();
    definitions.destinations = definitions.destinations.into_iter().map(Destination::masked).collect();
    definitions.channels = definitions.channels.into_iter().map(Channel::masked).collect();
    let shown = Shown { server: &configuration.server, definitions: &definitions };
    Ok(laid_out(toml_edit::ser::to_document(&shown)?).to_string())
}

/// Tables under headers, lists of tables as `[[…]]`, and small tables on one line.
fn laid_out(mut document: DocumentMut) -> DocumentMut {
    lay_out(document.as_table_mut());
    document
}

fn lay_out(table: &mut Table) {
    for (name, item) in table.iter_mut() {
        if INLINE.contains(&name.get()) {
            continue;
        }
        if let Item::Value(Value::InlineTable(inline)) = item {
            *item = Item::Table(std::mem::take(inline).into_table());
        }
        let is_of_tables = |array: &toml_edit::Array| !array.is_empty() && array.iter().all(Value::is_inline_table);
        if let Item::Value(Value::Array(array)) = item
            && is_of_tables(array)
            && let Ok(tables) = std::mem::replace(item, Item::None).into_array_of_tables()
        {
            *item = Item::ArrayOfTables(tables);
        }
        match item {
            Item::Table(below) => lay_out(below),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(lay_out),
            Item::None | Item::Value(_) => {}
        }
    }
}
