//! The style: one sheet out of the many in `style/`.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

/// The sheet that imports all others, in the order in which they apply.
const MAIN: &str = "main.css";

/// Puts every `@import "name.css";` line of `main.css` in its place. A sheet that nothing imports is an error: somebody wrote
/// it to be seen.
pub(crate) fn bundle(folder: &Path) -> Result<String> {
    let mut imported = BTreeSet::from([MAIN.to_owned()]);
    let mut sheet = String::new();

    for line in read(folder, MAIN)?.lines() {
        match import(line) {
            Some(name) => {
                ensure!(imported.insert(name.to_owned()), "{MAIN} imports {name} twice");
                let part = read(folder, name)?;
                ensure!(!part.lines().any(|line| import(line).is_some()), "{name}: only {MAIN} may import");
                sheet.push_str(&part);
            }
            None => sheet.push_str(line),
        }
        sheet.push('\n');
    }

    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".css") && !imported.contains(&name) {
            bail!("style/{name} is not imported by style/{MAIN}");
        }
    }
    Ok(sheet)
}

fn import(line: &str) -> Option<&str> {
    line.trim().strip_prefix("@import \"")?.strip_suffix("\";")
}

fn read(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(sheets: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in sheets {
            fs::write(folder.path().join(name), content).unwrap();
        }
        folder
    }

    #[test]
    fn sheets_take_the_place_of_their_imports_in_order() {
        let folder = folder(&[
            ("main.css", "/* all */\n@import \"b.css\";\n@import \"a.css\";\n"),
            ("a.css", "a{}"),
            ("b.css", "b{}"),
        ]);
        assert_eq!(bundle(folder.path()).unwrap(), "/* all */\nb{}\na{}\n");
    }

    #[test]
    fn a_sheet_that_is_forgotten_doubled_missing_or_nested_is_named() {
        for (sheets, complaint) in [
            (vec![("main.css", ""), ("a.css", "")], "style/a.css is not imported"),
            (vec![("main.css", "@import \"a.css\";\n@import \"a.css\";"), ("a.css", "")], "imports a.css twice"),
            (vec![("main.css", "@import \"a.css\";")], "a.css"),
            (vec![("main.css", "@import \"a.css\";"), ("a.css", "@import \"main.css\";")], "a.css: only main.css"),
        ] {
            let error = bundle(folder(&sheets).path()).unwrap_err();
            assert!(format!("{error:#}").contains(complaint), "{error:#}");
        }
    }
}
