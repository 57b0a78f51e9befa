//! Each external dependency has its line in docs/dependencies.md, and each line its dependency.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::house::House;

const REASONS: &str = "docs/dependencies.md";

pub(super) fn reasons(house: &House) -> Vec<Finding> {
    let manifest = match house.toml("Cargo.toml") {
        Some(Ok(manifest)) => manifest,
        Some(Err(error)) => return vec![Finding::new("Cargo.toml", 1, format!("cannot be read: {error}"))],
        None => return vec![Finding::new("Cargo.toml", 1, "is missing")],
    };
    let declared = manifest.get("workspace").and_then(|w| w.get("dependencies")).and_then(toml::Value::as_table);
    let external = |value: &toml::Value| value.get("path").is_none();
    let mut findings = Vec::new();
    let mut explained = explained(house, &mut findings);
    for (name, _) in declared.into_iter().flatten().filter(|(_, value)| external(value)) {
        if explained.remove(name.as_str()).is_none() {
            let line = house.line_of("Cargo.toml", &format!("{name} ="));
            let says =
                format!("`{name}` has no line in {REASONS}; say what it is for and why it is not written by hand");
            findings.push(Finding::new("Cargo.toml", line, says));
        }
    }
    for (name, line) in explained {
        findings.push(Finding::new(
            REASONS,
            line,
            format!("`{name}` is no dependency of the workspace; delete the line"),
        ));
    }
    findings
}

/// Rows of the form ``| `name` | what for | why not by hand |``.
fn explained(house: &House, findings: &mut Vec<Finding>) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let text = house.texts.get(REASONS).map(String::as_str).unwrap_or_default();
    for (index, line) in text.lines().enumerate() {
        let mut cells = line.trim().trim_matches('|').split('|').map(str::trim);
        let Some(name) = cells.next().and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else { continue };
        if cells.filter(|cell| !cell.is_empty()).count() < 2 {
            let says = format!("`{name}` lacks a reason; say what it is for and why it is not written by hand");
            findings.push(Finding::new(REASONS, index + 1, says));
        }
        if found.insert(name.to_owned(), index + 1).is_some() {
            findings.push(Finding::new(REASONS, index + 1, format!("`{name}` stands here twice; keep one line")));
        }
    }
    found
}
