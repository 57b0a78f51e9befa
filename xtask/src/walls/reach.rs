//! Walls about what may be named where: each is a list of paths and the places that may name them.

use super::floors::{PURE, impure_dependencies};
use crate::finding::Finding;
use crate::house::{House, Source};
use crate::reading::Mention;

const CONFIG: &str = "the environment is read in crates/server/src/config.rs; take the value as an argument";

/// Settings of the test suites themselves; goldens are accepted with `UPDATE=1`.
const TEST_SETTINGS: &[&str] = &["UPDATE", "BASE_URL", "GATEHOUSE_BIN", "TEST_DATABASE_URL", "TEST_REDIS_URL"];

/// Findings for every mention of one of `wanted` that `allowed` does not excuse.
fn named(house: &House, wanted: &[&str], remedy: &str, allowed: impl Fn(&Source, &Mention) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in house.product() {
        let mut last = (0, "");
        for mention in &source.reading.mentions {
            let Some(hit) = wanted.iter().find(|wanted| mention.names(wanted)) else { continue };
            if allowed(source, mention) || last == (mention.line, *hit) {
                continue;
            }
            last = (mention.line, hit);
            findings.push(Finding::new(&source.path, mention.line, format!("names `{}`; {remedy}", mention.path)));
        }
    }
    findings
}

fn in_test(source: &Source, mention: &Mention) -> bool {
    source.test || mention.test
}

pub(super) fn pure(house: &House) -> Vec<Finding> {
    let never = [
        "std::net::TcpStream",
        "std::net::TcpListener",
        "std::net::UdpSocket",
        "std::net::ToSocketAddrs",
        "std::os",
        "std::process",
        "std::thread",
        "std::time::SystemTime",
        "std::time::Instant",
        "std::io::stdin",
        "tokio",
        "rand",
        "getrandom",
        "axum",
        "hyper",
        "sqlx",
        "redis",
    ];
    let is_pure = |source: &Source| PURE.contains(&source.krate.as_str());
    let remedy = "this crate is pure: take the value as an argument, or do it on floor 3 or above";
    let mut findings = impure_dependencies(house);
    findings.extend(named(house, &never, remedy, |source, _| !is_pure(source)));
    // Goldens are files, and a test may say that they are to be accepted; `environment` knows which variable.
    let outside_tests = ["std::fs", "std::env"];
    findings
        .extend(named(house, &outside_tests, remedy, |source, mention| !is_pure(source) || in_test(source, mention)));
    findings
}

pub(super) fn environment(house: &House) -> Vec<Finding> {
    let reading = [
        "std::env::var",
        "std::env::var_os",
        "std::env::vars",
        "std::env::vars_os",
        "std::env::set_var",
        "std::env::remove_var",
        "env!",
        "option_env!",
        "std::env!",
        "std::option_env!",
        "core::env!",
        "core::option_env!",
    ];
    let mut findings = named(house, &reading, CONFIG, |source, mention| {
        let argument = mention.argument.as_deref().unwrap_or_default();
        let by_cargo = mention.path.ends_with("env!") && argument.starts_with("CARGO_");
        is_config(source)
            // Only tests depend on it, and they take their length and seed from `cargo xtask fuzz`.
            || source.krate == "fuzz"
            || source.path.starts_with("crates/blackbox/")
            || (source.krate == "testkit" && in_test(source, mention))
            || (by_cargo && (argument.starts_with("CARGO_PKG_") || in_test(source, mention)))
            || (in_test(source, mention) && TEST_SETTINGS.contains(&argument))
    });
    let arguments = ["std::env::args", "std::env::args_os"];
    let remedy = "the command line is read in crates/server/src/main.rs";
    findings.extend(named(house, &arguments, remedy, |source, _| source.path == "crates/server/src/main.rs"));
    findings
}

fn is_config(source: &Source) -> bool {
    source.path == "crates/server/src/config.rs" || source.path.starts_with("crates/server/src/config/")
}

pub(super) fn sql(house: &House) -> Vec<Finding> {
    let remedy = "only crates/store speaks to databases; use or extend its interface";
    let mut findings = named(house, &["sqlx", "redis", "clickhouse"], remedy, |source, _| source.krate == "store");
    for source in house.product().filter(|source| source.krate != "store") {
        for text in source.reading.strings.iter().filter(|text| looks_like_sql(&text.value)) {
            findings.push(Finding::new(&source.path, text.line, format!("holds an SQL statement; {remedy}")));
        }
    }
    findings
}

/// `select … from`, `insert into`, `update x set`, `delete from`, `alter`, `drop` or `create table`, in any case and spacing.
pub(super) fn looks_like_sql(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().take(200).map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let starts = |word: &str, wanted: &str| {
        word.strip_prefix(wanted).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    match words.as_slice() {
        ["select", _, rest @ ..] => rest.iter().any(|word| starts(word, "from")),
        ["insert", "into", ..] | ["delete", "from", ..] | ["alter" | "drop", "table", ..] => true,
        ["update", _, set, ..] => starts(set, "set"),
        ["create", rest @ ..] => {
            let kinds = ["unique", "temporary", "temp"];
            rest.iter().find(|word| !kinds.contains(word)).is_some_and(|w| starts(w, "table") || starts(w, "index"))
        }
        _ => false,
    }
}

pub(super) fn one_door_out(house: &House) -> Vec<Finding> {
    let wanted = [
        "hyper::client",
        "hyper_util::client",
        "hyper_rustls",
        "reqwest",
        "ureq",
        "…::TcpStream::connect",
        "…::TcpStream::connect_timeout",
        "…::TcpSocket",
        "…::lookup_host",
    ];
    let remedy = "calls leave the house through crates/outbound, where addresses are checked";
    // The rig stands outside: it plays the network and the callers, and goes where its operator says.
    let rig = ["crates/testkit/src/proxy/", "crates/testkit/src/load/"];
    named(house, &wanted, remedy, |source, mention| {
        ["outbound", "blackbox"].contains(&source.krate.as_str())
            || rig.iter().any(|folder| source.path.starts_with(folder))
            || (source.krate == "testkit" && in_test(source, mention))
    })
}

pub(super) fn http_edge(house: &House) -> Vec<Finding> {
    let wanted = ["axum", "hyper::body::Incoming", "hyper::server", "hyper_util::server"];
    let places = ["crates/gateway/src/http.rs", "crates/control/src/http.rs", "crates/server/src/listen.rs"];
    let remedy = "the HTTP server is known in gateway/src/http.rs, control/src/http.rs and server/src/listen.rs; \
                  pass plain values";
    named(house, &wanted, remedy, |source, _| {
        places.contains(&source.path.as_str())
            || source.path.starts_with("crates/server/src/listen/")
            || ["outbound", "testkit", "blackbox"].contains(&source.krate.as_str())
    })
}

pub(super) fn clock_and_chance(house: &House) -> Vec<Finding> {
    let wanted = [
        "…::SystemTime::now",
        "…::Utc::now",
        "…::Local::now",
        "…::Uuid::new_v4",
        "…::Uuid::now_v7",
        "rand",
        "getrandom",
        "fastrand",
    ];
    let remedy = "time and chance come in as arguments; only crates/server asks for them";
    named(house, &wanted, remedy, |source, _| ["server", "testkit", "blackbox"].contains(&source.krate.as_str()))
}
