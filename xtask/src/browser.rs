//! The browser's half: the compiled WebAssembly and the script that loads it.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

/// What the browser's half is called in every file name; the same as `LEPTOS_OUTPUT_NAME`.
pub(crate) const NAME: &str = "onceover";

/// Runs wasm-bindgen over a compiled module. The result is the folder to serve: the file names that the generated script
/// imports are relative to it.
pub(crate) fn bind(compiled: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let module = fs::read(compiled).with_context(|| compiled.display().to_string())?;
    let mut output = Bindgen::new()
        .input_bytes(NAME, module)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        // The page names the module, whose default name would not be the one that is served.
        .omit_default_module_path(true)
        .generate_output()?;

    let mut files = BTreeMap::new();
    files.insert(format!("{NAME}.wasm"), output.wasm_mut().emit_wasm());
    files.insert(format!("{NAME}.js"), output.js().as_bytes().to_vec());
    for (crate_name, scripts) in output.snippets() {
        for (number, script) in scripts.iter().enumerate() {
            files.insert(format!("snippets/{crate_name}/inline{number}.js"), script.as_bytes().to_vec());
        }
    }
    for (path, script) in output.local_modules() {
        files.insert(format!("snippets/{path}"), script.as_bytes().to_vec());
    }
    Ok(files)
}
