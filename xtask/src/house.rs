//! The repository as the walls see it: every text file, every parsed source, and what cargo knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::reading::{self, Reading};

pub(crate) struct House {
    /// Every text file by its path from the root, with forward slashes.
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) metadata: Metadata,
}

/// One Rust file of ours.
pub(crate) struct Source {
    pub(crate) path: String,
    /// The folder under `crates/`, or `xtask`.
    pub(crate) krate: String,
    /// Compiled for tests only: a `tests` folder or a module behind `#[cfg(test)]`.
    pub(crate) test: bool,
    pub(crate) lines: usize,
    pub(crate) syntax: syn::File,
    pub(crate) reading: Reading,
}

/// Cargo sets the variable for `cargo xtask`; a binary started by hand works on the current folder.
pub(crate) fn root() -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(xtask) => Path::new(&xtask).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf),
        None => PathBuf::from("."),
    }
}

impl House {
    pub(crate) fn load(root: &Path) -> anyhow::Result<House> {
        let mut texts = BTreeMap::new();
        for path in files(root)? {
            let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
            if let Ok(text) = String::from_utf8(bytes)
                && !text.contains('\0')
            {
                texts.insert(path, text);
            }
        }
        let house = House::of(texts, Metadata::read(root)?)?;
        if house.sources.is_empty() || house.metadata.workspace_members.is_empty() {
            bail!("no sources found under `{}`; run this from the repository", root.display());
        }
        Ok(house)
    }

    pub(crate) fn of(texts: BTreeMap<String, String>, metadata: Metadata) -> anyhow::Result<House> {
        let mut sources = Vec::new();
        for (path, text) in &texts {
            let Some(krate) = krate_of(path) else { continue };
            let syntax = syn::parse_file(text).with_context(|| format!("{path}: does not parse"))?;
            sources.push((path.clone(), krate.to_owned(), text.lines().count(), syntax));
        }
        let tests = test_files(&sources);
        let sources = sources.into_iter().map(|(path, krate, lines, syntax)| {
            let test =
                tests.iter().any(|place| path == format!("{place}.rs") || path.starts_with(&format!("{place}/")));
            let test = test || is_test_path(&path);
            let reading = reading::read(&syntax, test);
            Source { path, krate, test, lines, syntax, reading }
        });
        Ok(House { sources: sources.collect(), texts, metadata })
    }

    /// The sources of our crates, without `xtask`.
    pub(crate) fn product(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.krate != "xtask")
    }

    /// A manifest, parsed; `None` when it is not there.
    pub(crate) fn toml(&self, path: &str) -> Option<Result<toml::Table, String>> {
        self.texts.get(path).map(|text| text.parse().map_err(|error: toml::de::Error| error.message().to_owned()))
    }

    /// The line, from 1, that first begins with `needle` in a text file; 1 when none does.
    pub(crate) fn line_of(&self, path: &str, needle: &str) -> usize {
        let text = self.texts.get(path).map(String::as_str).unwrap_or_default();
        text.lines().position(|line| line.trim_start().starts_with(needle)).map_or(1, |index| index + 1)
    }
}

fn krate_of(path: &str) -> Option<&str> {
    if !path.ends_with(".rs") {
        return None;
    }
    if path.starts_with("xtask/src/") {
        return Some("xtask");
    }
    let (krate, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    let places = ["src/", "tests/", "benches/", "examples/"];
    (inside == "build.rs" || places.iter().any(|place| inside.starts_with(place))).then_some(krate)
}

fn is_test_path(path: &str) -> bool {
    let inside = path.splitn(3, '/').nth(2).unwrap_or_default();
    ["tests/", "benches/"].iter().any(|place| inside.starts_with(place))
        || inside.ends_with("/tests.rs")
        || inside.contains("/tests/")
}

/// Files without their ending that are declared as `#[cfg(test)] mod name;`.
fn test_files(sources: &[(String, String, usize, syn::File)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, _, _, syntax) in sources {
        for item in &syntax.items {
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
                && reading::is_test_only(&module.attrs)
            {
                found.insert(format!("{}/{}", modules_folder(path), module.ident));
            }
        }
    }
    found
}

/// Where the modules that a file declares lie.
pub(crate) fn modules_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_bin = folder.ends_with("/src/bin") || folder.ends_with("/tests");
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ if in_bin => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

/// What git tracks or would track; without git, what lies there.
fn files(root: &Path) -> anyhow::Result<Vec<String>> {
    let git = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    if let Ok(output) = git
        && output.status.success()
        && !output.stdout.is_empty()
    {
        let names = String::from_utf8_lossy(&output.stdout);
        return Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    Ok(found)
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(root.join(folder)).with_context(|| format!("cannot list `{folder}`"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_dir() {
            if !["target", ".git", "node_modules"].contains(&name.as_str()) {
                walk(root, &path, found)?;
            }
        } else {
            found.push(path);
        }
    }
    Ok(())
}
