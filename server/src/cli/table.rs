//! Tables for a terminal.

/// Columns as wide as their widest cell, two spaces apart, without spaces at the end of a line.
pub(super) fn table<const COLUMNS: usize>(header: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.fold(header[column].chars().count(), usize::max)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let line = |cells: [&str; COLUMNS]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rows = rows.iter().map(|row| line(std::array::from_fn(|column| row[column].as_str())));
    line(header) + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [["handoff".to_owned(), "added".to_owned()], ["ü".to_owned(), String::new()]];
        assert_eq!(table(["name", "change"], &rows), "name     change\nhandoff  added\nü\n");
    }
}
