//! What a file may be called, and how long a file and a function may grow.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::house::House;

const NAMELESS: &[&str] = &["types", "utils", "util", "common", "helpers", "helper", "misc", "manager", "managers"];
const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 100;
const RATCHET: &str = "xtask/ratchet.txt";

pub(super) fn names(house: &House) -> Vec<Finding> {
    let nameless = |source: &&crate::house::Source| {
        source.path.split('/').any(|part| NAMELESS.contains(&part.trim_end_matches(".rs")))
    };
    let says = "the name says nothing; call it after what it knows";
    house.sources.iter().filter(nameless).map(|source| Finding::new(&source.path, 1, says)).collect()
}

pub(super) fn sizes(house: &House) -> Vec<Finding> {
    let mut large = large(house);
    let mut findings = Vec::new();
    let ratchet = house.texts.get(RATCHET).map(String::as_str).unwrap_or_default();
    for (index, line) in ratchet.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if !entry.is_empty() && large.remove(entry).is_none() {
            let says = format!("`{entry}` is no longer needed here; delete the line, the list may only shrink");
            findings.push(Finding::new(RATCHET, index + 1, says));
        }
    }
    findings.extend(large.into_values());
    findings
}

/// What is too large, by the name it has in the ratchet: `file path` or `function path name`.
fn large(house: &House) -> BTreeMap<String, Finding> {
    let mut found = BTreeMap::new();
    for source in house.sources.iter().filter(|source| !source.test) {
        let lines = source.lines.saturating_sub(source.reading.test_lines);
        if lines > FILE_LINES {
            let says = format!("{lines} lines without tests, {FILE_LINES} are allowed; split it by thought");
            found.insert(format!("file {}", source.path), Finding::new(&source.path, 1, says));
        }
        for function in source.reading.functions.iter().filter(|f| !f.test && f.lines > FUNCTION_LINES) {
            let (name, lines) = (&function.name, function.lines);
            let says = format!("`{name}` has {lines} lines, {FUNCTION_LINES} are allowed; give its steps names");
            let finding = Finding::new(&source.path, function.line, says);
            found.insert(format!("function {} {name}", source.path), finding);
        }
    }
    found
}
