//! Crates, features and sources that must not be in the build.

use crate::finding::Finding;
use crate::house::House;

pub(super) const DENY: &str = "deny.toml";

/// Others may bring them; we do not ask for them ourselves.
const NOT_BY_US: &[(&str, &str)] = &[
    ("lazy_static", "`std::sync::LazyLock` does it"),
    ("once_cell", "`std::sync::OnceLock` and `LazyLock` do it"),
    ("fancy-regex", "it backtracks; `regex` is linear"),
    ("diesel", "the SQL is ours to read"),
    ("sea-orm", "the SQL is ours to read"),
    ("dotenvy", "settings come from the file and the environment as they are"),
];

pub(super) fn bans(house: &House) -> Vec<Finding> {
    let deny = match house.toml(DENY) {
        Some(Ok(deny)) => deny,
        _ => return vec![Finding::new(DENY, 1, "is missing or cannot be read; the bans stand there")],
    };
    let bans = deny.get("bans");
    let rows = |key: &str| bans.and_then(|bans| bans.get(key)).and_then(toml::Value::as_array).into_iter().flatten();
    let text = |row: &toml::Value, key: &str| row.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let banned: Vec<(String, String)> = rows("deny").map(|row| (text(row, "crate"), text(row, "reason"))).collect();
    let features: Vec<(String, Vec<String>)> =
        rows("features").map(|row| (text(row, "crate"), strings(row.get("deny")))).collect();
    let registries = strings(deny.get("sources").and_then(|sources| sources.get("allow-registry")));

    let mut findings = Vec::new();
    let lock = |name: &str| ("Cargo.lock", house.line_of("Cargo.lock", &format!("name = \"{name}\"")));
    for built in house.metadata.built() {
        let package = built.package;
        let way = built.way.join(" > ");
        let mut refuse = |says: String| {
            let (file, line) = lock(&package.name);
            findings.push(Finding::new(file, line, format!("{says} (needed by {way})")));
        };
        for (name, reason) in banned.iter().filter(|(name, _)| *name == package.name) {
            refuse(format!("`{name}` is built but banned: {reason}; switch off the feature that brings it"));
        }
        for (_, denied) in features.iter().filter(|(name, _)| *name == package.name) {
            for feature in built.features.iter().filter(|feature| denied.contains(feature)) {
                refuse(format!(
                    "`{}/{feature}` is on but banned; find who asks for it with `cargo tree -e features`",
                    package.name
                ));
            }
        }
        if let Some(source) = &package.source
            && !registries.iter().any(|registry| is_from(source, registry))
        {
            refuse(format!("`{}` comes from `{source}`; only the public registry is allowed", package.name));
        }
    }
    for package in house.metadata.members() {
        for dependency in &package.dependencies {
            if let Some((name, instead)) = NOT_BY_US.iter().find(|(name, _)| *name == dependency.name) {
                let folder = if package.name == "xtask" { "" } else { "crates/" };
                let file = format!("{folder}{}/Cargo.toml", package.name);
                let line = house.line_of(&file, name);
                findings.push(Finding::new(file, line, format!("asks for `{name}`; {instead}")));
            }
        }
    }
    findings
}

fn is_from(source: &str, registry: &str) -> bool {
    source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+")) == Some(registry)
}

pub(super) fn strings(value: Option<&toml::Value>) -> Vec<String> {
    let rows = value.and_then(toml::Value::as_array).into_iter().flatten();
    rows.filter_map(toml::Value::as_str).map(str::to_owned).collect()
}
