//! No text file names a machine of its author, a private registry, or a loose end without an issue.

use crate::finding::Finding;
use crate::house::House;

/// Taken apart so that this file does not find itself.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
const LOOSE_ENDS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];
const PRIVATE_REGISTRIES: &[&str] = &["artifactory", "jfrog", "nexus", "verdaccio", "devpi", "mirror"];
const PUBLIC_REGISTRIES: &[&str] = &["registry.npmjs.org", "registry.terraform.io", "registry-1.docker.io"];

pub(super) fn texts(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &house.texts {
        for (index, line) in text.lines().enumerate() {
            let mut refuse = |says: String| findings.push(Finding::new(path, index + 1, says));
            if let Some(found) = MACHINE_PATHS.iter().find(|wanted| names_path(line, wanted)) {
                refuse(format!("names a path of one machine, `{found}…`; make it relative or take it as a setting"));
            }
            if let Some(found) = LOOSE_ENDS.iter().find(|wanted| is_loose(line, wanted)) {
                refuse(format!("`{found}` without an issue; write `{found}(#12)` or do it"));
            }
            if let Some(host) = hosts(line).find(|host| is_private_registry(host)) {
                refuse(format!("names the package registry `{host}`; only public ones belong here"));
            }
        }
    }
    findings
}

/// The path stands at a beginning, not inside a URL or a longer path.
fn names_path(line: &str, wanted: &str) -> bool {
    line.match_indices(wanted).any(|(at, _)| {
        let starts = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && !"-_./~}>)*".contains(c));
        let goes_on = line[at + wanted.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_');
        starts && goes_on
    })
}

fn is_loose(line: &str, wanted: &str) -> bool {
    line.match_indices(wanted).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), &line[at + wanted.len()..]);
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let whole = !before.is_some_and(word) && !after.starts_with(word);
        let numbered = after.trim_start_matches(['(', ' ', ':']).strip_prefix('#');
        whole && !numbered.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c == '/' || c == ':' || c == '"' || c == '\'' || c == '`' || c.is_whitespace();
    line.split("://").skip(1).map(move |rest| rest.split(ends).next().unwrap_or_default())
}

fn is_private_registry(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or(host);
    !PUBLIC_REGISTRIES.contains(&host)
        && (host.starts_with("registry.") || PRIVATE_REGISTRIES.iter().any(|part| host.contains(part)))
}
