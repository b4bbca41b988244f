//! The site: everything that the browser loads beside the pages, each file under a name that holds the hash of its
//! content.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::{
    browser::{self, Half},
    cargo::Workspace,
    compression, say, style,
};

/// Where the site is built, below the root of the workspace. The server's `site.rs` embeds this folder.
const FOLDER: &str = "target/site";
/// From the name of a file in the sources to its URL path.
const MANIFEST: &str = "manifest.json";
/// What the site was built from; the same input is not built again.
const STAMP: &str = "stamp";
/// How much of a hash stands in a file name: 64 bits, since nobody chooses our files to collide.
const HASH_DIGITS: usize = 16;
/// What any page may load of script and WebAssembly when it is the first, compressed. The aim is 350 KiB; the heaviest page, that of
/// an operation, needs more; this holds what is reached.
const BUDGET_BYTES: usize = 480 * 1024;

/// How the WebAssembly is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Small, for people.
    Small,
    /// Fast, for whoever changes it.
    Dev,
}

/// The hash of everything that went into a site.
pub(crate) struct Stamp(String);

impl Stamp {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Builds the site, or leaves it where nothing has changed since.
pub(crate) fn build(workspace: &Workspace, profile: Profile) -> Result<Stamp> {
    let compiled = workspace.build_browser_half(profile)?;
    let sheet = style::bundle(&workspace.root.join("style"))?;
    let public = read_tree(&workspace.root.join("public"))?;

    let stamp = stamp(&[
        ("wasm", &fs::read(&compiled)?),
        ("style", sheet.as_bytes()),
        ("public", &serde_json::to_vec(&public)?),
        // This program decides as much as its input does.
        ("xtask", &fs::read(std::env::current_exe()?)?),
    ]);
    let folder = workspace.root.join(FOLDER);
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|old| old == stamp.0) {
        say("The site is up to date");
        return Ok(stamp);
    }

    let mut site = Site::default();
    for (name, content) in public {
        site.add(&name, content);
    }
    let sheet = site.link(&sheet);
    site.add(&format!("{}.css", browser::NAME), sheet.into_bytes());
    let half = browser::bind(&compiled)?;
    let weight = weigh(&half)?;
    if profile == Profile::Small {
        ensure!(
            weight <= BUDGET_BYTES,
            "script and WebAssembly of a first page weigh {weight} bytes compressed; the budget is {BUDGET_BYTES}"
        );
    }
    site.add_folder(half.files());
    site.write(&folder, &stamp)?;
    Ok(stamp)
}

#[derive(Default)]
struct Site {
    /// From path below the folder to content.
    files: BTreeMap<String, Vec<u8>>,
    /// From name in the sources to URL path.
    paths: BTreeMap<String, String>,
}

impl Site {
    /// Adds a file whose name takes the hash of its content before the last dot.
    fn add(&mut self, name: &str, content: Vec<u8>) {
        let hash = hash(&content);
        let hashed = match name.rsplit_once('.') {
            Some((stem, suffix)) => format!("{stem}.{hash}.{suffix}"),
            None => format!("{name}.{hash}"),
        };
        self.insert(name, format!("pkg/{hashed}"), content);
    }

    /// Adds files that name each other: they keep their names, and their folder takes the hash of them all.
    fn add_folder(&mut self, files: BTreeMap<String, Vec<u8>>) {
        let parts: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        let folder = stamp(&parts).0.split_off(64 - HASH_DIGITS);
        for (name, content) in files {
            self.insert(&name, format!("pkg/{folder}/{name}"), content);
        }
    }

    fn insert(&mut self, name: &str, path: String, content: Vec<u8>) {
        self.paths.insert(name.to_owned(), format!("/{path}"));
        self.files.insert(path, content);
    }

    /// Puts the URL path of a file that was added before in the place of each `url("its name")`.
    fn link(&self, sheet: &str) -> String {
        self.paths.iter().fold(sheet.to_owned(), |sheet, (name, path)| {
            sheet.replace(&format!("url(\"{name}\")"), &format!("url(\"{path}\")"))
        })
    }

    /// Writes the site beside the old one and then takes its place, so that a server which reads the folder never sees half.
    fn write(self, folder: &Path, stamp: &Stamp) -> Result<()> {
        let fresh = folder.with_extension("fresh");
        remove(&fresh)?;
        for (path, content) in &self.files {
            let path = fresh.join(path);
            for (suffix, twin) in compression::twins(content)? {
                write(&PathBuf::from(format!("{}.{suffix}", path.display())), &twin)?;
            }
            write(&path, content)?;
        }
        write(&fresh.join(MANIFEST), &serde_json::to_vec_pretty(&self.paths)?)?;
        write(&fresh.join(STAMP), stamp.0.as_bytes())?;
        remove(folder)?;
        fs::rename(&fresh, folder).with_context(|| folder.display().to_string())
    }
}

/// Says what the browser's half weighs and returns the compressed bytes of the heaviest first page: what is always loaded, and
/// the part of the page.
fn weigh(half: &Half) -> Result<usize> {
    let mut always = 0;
    for (name, content) in &half.main {
        let compressed = compression::brotli(content)?.len();
        say(&format!("{name}: {} bytes, {compressed} with brotli", content.len()));
        always += compressed;
    }
    say(&format!("Every page loads {always} bytes with brotli, and its part:"));
    let mut heaviest = always;
    for (name, content) in &half.parts {
        let compressed = compression::brotli(content)?.len();
        let first = always + compressed;
        say(&format!("{name}: {} bytes, {compressed} with brotli; {first} where it is the first page", content.len()));
        heaviest = heaviest.max(first);
    }
    Ok(heaviest)
}

/// The hash over named parts; a length before each keeps their borders.
fn stamp(parts: &[(&str, &[u8])]) -> Stamp {
    let mut hash = Sha256::new();
    for (name, content) in parts {
        for part in [name.as_bytes(), content] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
    }
    Stamp(hex::encode(hash.finalize()))
}

fn hash(content: &[u8]) -> String {
    let mut hash = hex::encode(Sha256::digest(content));
    hash.truncate(HASH_DIGITS);
    hash
}

/// Every file below a folder by its path there; nothing where there is no such folder.
fn read_tree(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            for (path, content) in read_tree(&entry.path())? {
                files.insert(format!("{name}/{path}"), content);
            }
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| path.display().to_string())
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| folder.display().to_string())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_content_and_the_style_follows_the_name() {
        let mut site = Site::default();
        site.add("fonts/plain.woff2", b"one".to_vec());
        let old = site.paths["fonts/plain.woff2"].clone();
        assert!(old.starts_with("/pkg/fonts/plain.") && old.ends_with(".woff2"), "{old}");
        assert_eq!(
            site.link("src: url(\"fonts/plain.woff2\"), url(\"other\")"),
            format!("src: url(\"{old}\"), url(\"other\")")
        );

        site.add("fonts/plain.woff2", b"two".to_vec());
        assert_ne!(site.paths["fonts/plain.woff2"], old);
    }

    #[test]
    fn files_that_name_each_other_move_together() {
        let folder = |script: &[u8]| {
            let mut site = Site::default();
            site.add_folder(BTreeMap::from([
                ("a.js".to_owned(), script.to_vec()),
                ("snippets/b.js".to_owned(), b"b".to_vec()),
            ]));
            (site.paths["a.js"].clone(), site.paths["snippets/b.js"].clone())
        };
        let (script, snippet) = folder(b"a");
        let parent = script.strip_suffix("/a.js").unwrap();
        assert_eq!(snippet, format!("{parent}/snippets/b.js"));
        assert_ne!(folder(b"changed").1, snippet);
    }

    #[test]
    fn a_site_takes_the_place_of_the_one_before_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("site");
        for content in ["first", "second"] {
            let mut site = Site::default();
            site.add("note.txt", content.into());
            site.write(&folder, &Stamp(content.to_owned())).unwrap();
            assert_eq!(fs::read_to_string(folder.join(STAMP)).unwrap(), content);
            // The note, the list and the stamp; nothing of the old site.
            assert_eq!(read_tree(root.path()).unwrap().len(), 3);
        }
    }
}
