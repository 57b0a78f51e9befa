//! Which crate of ours may depend on which, on what from outside, and under which lints.

use crate::finding::Finding;
use crate::house::House;
use crate::metadata::{Dependency, Package};

/// Arrows point to a lower floor, never along one. `gateway` and `control` share a floor and so never meet.
const FLOORS: &[(&str, u8)] = &[
    ("protocol", 1),
    ("providers", 2),
    ("guardrails", 2),
    ("domain", 2),
    ("outbound", 3),
    ("store", 3),
    ("access", 4),
    ("gateway", 5),
    ("control", 5),
    ("server", 6),
];

/// Crates that stand beside the house: the highest floor they may use, and who may use them.
const BESIDE: &[(&str, u8, &[&str])] = &[
    ("testkit", 3, &["server"]),
    ("fuzz", 0, &["protocol", "domain", "outbound", "server"]),
    ("blackbox", 0, &[]),
    ("xtask", 0, &[]),
];

/// Crates that no program of ours holds.
const IN_TESTS_ONLY: &[&str] = &["fuzz"];

pub(super) const PURE: &[&str] = &["protocol", "providers", "guardrails", "domain"];

/// What a pure crate may use from outside: nothing that opens, waits or asks the time.
const PURE_MAY_USE: &[&str] = &[
    "aho-corasick",
    "aws-lc-rs",
    "aws-sigv4",
    "aws-smithy-eventstream",
    "aws-smithy-types",
    "base64",
    "blake3",
    "bytes",
    "chrono",
    "crc32fast",
    "http",
    "indexmap",
    "ipnet",
    "itoa",
    "jsonschema",
    "jsonwebtoken",
    "memchr",
    "percent-encoding",
    "regex",
    "ryu",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "sha2",
    "subtle",
    "thiserror",
    "unicode-segmentation",
    "url",
    "zeroize",
];

const PURE_TESTS_MAY_USE: &[&str] = &["genai-prices", "insta", "proptest", "tempfile"];

/// Crates that only one of ours may depend on.
const OWNED: &[(&str, &str)] = &[
    ("sqlx", "store"),
    ("redis", "store"),
    ("clickhouse", "store"),
    ("object_store", "store"),
    ("hyper-rustls", "outbound"),
];

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(floor, _)| *floor == name).map(|(_, floor)| *floor)
}

pub(super) fn floors(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in house.metadata.members() {
        let beside = BESIDE.iter().find(|(name, ..)| *name == package.name);
        let Some(highest) = beside.map(|(_, floor, _)| floor + 1).or_else(|| floor(&package.name)) else {
            let says = format!("`{}` stands on no floor; give it one in xtask/src/walls/floors.rs", package.name);
            findings.push(Finding::new(manifest(package), 1, says));
            continue;
        };
        for dependency in &package.dependencies {
            let refused = if dependency.path.is_some() {
                let built_in = dependency.kind.as_deref() != Some("dev");
                let upward = match BESIDE.iter().find(|(name, ..)| *name == dependency.name) {
                    Some((name, _, users)) => {
                        !users.contains(&package.name.as_str()) || (built_in && IN_TESTS_ONLY.contains(name))
                    }
                    None => floor(&dependency.name).is_none_or(|below| below >= highest),
                };
                upward.then_some("arrows point to a lower floor only; move what both need further down")
            } else {
                OWNED
                    .iter()
                    .any(|(name, owner)| *name == dependency.name && *owner != package.name)
                    .then_some("one crate owns it; use that crate's interface")
            };
            if let Some(remedy) = refused {
                findings.push(found(house, package, dependency, remedy));
            }
        }
    }
    findings
}

/// Dependencies of pure crates that are not on the list; the paths they name are judged in `reach`.
pub(super) fn impure_dependencies(house: &House) -> Vec<Finding> {
    let pure = house.metadata.members().filter(|package| PURE.contains(&package.name.as_str()));
    let pairs = pure.flat_map(|package| package.dependencies.iter().map(move |dependency| (package, dependency)));
    let outside = pairs.filter(|(_, dependency)| dependency.path.is_none()).filter(|(_, dependency)| {
        let name = dependency.name.as_str();
        let in_tests = dependency.kind.as_deref() == Some("dev") && PURE_TESTS_MAY_USE.contains(&name);
        !in_tests && !PURE_MAY_USE.contains(&name)
    });
    let remedy = "a pure crate uses only what neither opens, waits nor asks the time; do this further up, \
                  or list the crate in xtask/src/walls/floors.rs with good reason";
    outside.map(|(package, dependency)| found(house, package, dependency, remedy)).collect()
}

fn found(house: &House, package: &Package, dependency: &Dependency, remedy: &str) -> Finding {
    let file = manifest(package);
    let line = house.line_of(&file, &dependency.name);
    let kind = dependency.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    Finding::new(file, line, format!("`{}` depends on `{}`{kind}; {remedy}", package.name, dependency.name))
}

fn manifest(package: &Package) -> String {
    let folder = if package.name == "xtask" { "" } else { "crates/" };
    format!("{folder}{}/Cargo.toml", package.name)
}

/// Every crate takes the workspace's lints, and these forbid unsafe code.
pub(super) fn lints(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let table = |path: &str| house.toml(path).and_then(Result::ok);
    let forbids = table("Cargo.toml").is_some_and(|manifest| {
        let rust = manifest.get("workspace").and_then(|w| w.get("lints")).and_then(|lints| lints.get("rust"));
        let level = rust.and_then(|rust| rust.get("unsafe_code"));
        let level = level.and_then(|level| level.get("level")).or(level);
        level.and_then(toml::Value::as_str) == Some("forbid")
    });
    if !forbids {
        let says =
            "the workspace does not forbid unsafe code; say `unsafe_code = \"forbid\"` in `[workspace.lints.rust]`";
        findings.push(Finding::new("Cargo.toml", house.line_of("Cargo.toml", "[workspace.lints"), says));
    }
    for package in house.metadata.members() {
        let file = manifest(package);
        let inherits = table(&file).is_some_and(|manifest| {
            manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
        });
        if !inherits {
            let line = house.line_of(&file, "[lints");
            findings.push(Finding::new(file, line, "takes other lints; say `workspace = true` under `[lints]`"));
        }
    }
    findings
}
