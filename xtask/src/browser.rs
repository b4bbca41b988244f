//! The browser's half: the compiled WebAssembly, cut into parts, and the scripts that load them.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;
use wasmparser::{Parser, Payload};

/// What the browser's half is called in every file name; the same as `LEPTOS_OUTPUT_NAME`.
pub(crate) const NAME: &str = "onceover";
/// Where the parts and their loader lie, below the folder of the main module. `app/src/shell.rs` looks for them there.
const PARTS: &str = "part";
/// The loader, as the main module imports it.
const LOADER: &str = "./part/load.js";
/// What every loader has in common. The splitter's own fetches each of a part's modules by itself: two dozen requests, and a fifth
/// more bytes.
const LOADER_HEAD: &str = include_str!("loader.js");
/// Of a module, the bytes before its first section: `\0asm` and the version.
const HEAD_BYTES: usize = 8;

/// The folder to serve.
pub(crate) struct Half {
    /// What every page loads, from a file's name to its content; the names that scripts import are relative to the folder.
    pub(crate) main: BTreeMap<String, Vec<u8>>,
    /// What one part loads more, by the name of the part (`app/src/pages.rs`).
    pub(crate) parts: BTreeMap<String, Vec<u8>>,
}

impl Half {
    /// All of it, from a file's name to its content.
    pub(crate) fn files(self) -> BTreeMap<String, Vec<u8>> {
        let parts = self.parts.into_iter().map(|(name, content)| (format!("{PARTS}/{name}.wasm"), content));
        self.main.into_iter().chain(parts).collect()
    }
}

/// Cuts a compiled module into its parts and runs wasm-bindgen over the one that is always loaded.
pub(crate) fn bind(compiled: &Path) -> Result<Half> {
    let module = fs::read(compiled).with_context(|| compiled.display().to_string())?;
    let cut = tempfile::tempdir()?;
    fs::create_dir(cut.path().join(PARTS))?;
    let main = cut.path().join("main.wasm");
    let mut options = wasm_split_cli_support::Options::new(&module);
    options.output_dir = cut.path();
    options.main_out_path = &main;
    options.link_name = LOADER;
    let split = wasm_split_cli_support::transform(options).map_err(|error| anyhow!("cutting the module: {error:?}"))?;

    let theirs = fs::read_to_string(cut.path().join(LOADER))?;
    let mut loader = format!("const CANARY = {{{}}};\n{LOADER_HEAD}", canary(&theirs));
    let mut half = Half { main: bind_main(fs::read(&main)?)?, parts: BTreeMap::new() };
    for (part, modules) in split.prefetch_map.into_iter().collect::<BTreeMap<_, _>>() {
        let mut content = Vec::new();
        let mut places = Vec::new();
        for name in modules {
            let module = without_names(&fs::read(cut.path().join(&name).with_extension("wasm"))?)?;
            places.push((name, content.len(), module.len()));
            content.extend(module);
        }
        let places = serde_json::to_string(&places)?;
        loader.push_str(&format!("export const __wasm_split_load_{part} = loader(\"{part}\", {places});\n"));
        half.parts.insert(part, content);
    }
    half.main.insert(LOADER.trim_start_matches("./").to_owned(), loader.into_bytes());
    Ok(half)
}

/// What the modules of a debug build ask for, to see that they belong together.
fn canary(loader: &str) -> String {
    let name = loader.find("__canary_").map(|start| {
        let rest = loader.get(start..).unwrap_or_default();
        rest.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').next().unwrap_or_default()
    });
    name.map(|name| format!(" {name}: ~0xdead ")).unwrap_or_default()
}

fn bind_main(module: Vec<u8>) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut output = Bindgen::new()
        .input_bytes(NAME, module)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        // The page names the module, whose default name would not be the one that is served.
        .omit_default_module_path(true)
        // The parts use what the linker exported, under the names that it had.
        .keep_lld_exports(true)
        .demangle(false)
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

/// A module without its custom sections: the names of functions, which nobody reads in a browser.
fn without_names(module: &[u8]) -> Result<Vec<u8>> {
    let mut kept = Vec::with_capacity(module.len());
    let mut end = HEAD_BYTES;
    kept.extend_from_slice(module.get(..HEAD_BYTES).unwrap_or_default());
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        let is_custom = matches!(payload, Payload::CustomSection(_));
        // Sections follow each other: what lies between the end of the last one and this one's content is its own head.
        let Some((_, range)) = payload.as_section() else { continue };
        let start = std::mem::replace(&mut end, usize::try_from(range.end)?);
        if !is_custom {
            kept.extend_from_slice(module.get(start..end).unwrap_or_default());
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_and_the_rest_stays() {
        // A function type, and a custom section on each side of it.
        let head = *b"\0asm\x01\0\0\0";
        let (custom, types) = (*b"\0\x05\x04name", *b"\x01\x04\x01\x60\0\0");
        let module = [&head[..], &custom, &types, &custom].concat();
        assert_eq!(without_names(&module).unwrap(), [&head[..], &types].concat());
        assert!(without_names(&module[..module.len() - 1]).is_err());
    }
}
