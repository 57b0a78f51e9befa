//! Each wall is shown a house that breaks it, and a sound one that does not.

use std::collections::BTreeMap;

use super::licences::satisfied;
use super::reach::looks_like_sql;
use super::{WALLS, Wall};
use crate::finding::Finding;
use crate::house::House;
use crate::metadata::Metadata;

const WORKSPACE: &str = "[workspace.dependencies]\nserde = \"1\"\n[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
const MEMBER: &str = "[lints]\nworkspace = true\n";
const DENY: &str = r#"
[licenses]
allow = ["MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"]
[bans]
deny = [{ crate = "ring", reason = "a second provider" }]
[[bans.features]]
crate = "serde_json"
deny = ["arbitrary_precision"]
[sources]
allow-registry = ["https://example.org/index"]
"#;

/// A house that keeps every wall; each test breaks one thing in it.
struct Plan {
    texts: BTreeMap<String, String>,
    packages: Vec<serde_json::Value>,
    members: Vec<String>,
    nodes: Vec<serde_json::Value>,
}

fn sound() -> Plan {
    let plan = Plan { texts: BTreeMap::new(), packages: vec![], members: vec![], nodes: vec![] };
    plan.file("Cargo.toml", WORKSPACE)
        .file("deny.toml", DENY)
        .file("docs/dependencies.md", "| `serde` | shapes | derives |\n")
        .file("crates/protocol/src/lib.rs", "//! Words.\npub struct Word;\n")
        .file("crates/store/src/lib.rs", "//! Keeps.\npub const ALL: &str = \"select a from b\";\n")
        .member("protocol", "[]")
        .member("store", r#"[{ "name": "protocol", "path": "p" }, { "name": "sqlx" }]"#)
}

impl Plan {
    fn file(mut self, path: &str, text: &str) -> Plan {
        self.texts.insert(path.to_owned(), text.to_owned());
        self
    }

    fn member(mut self, name: &str, dependencies: &str) -> Plan {
        let folder = if name == "xtask" { "" } else { "crates/" };
        self.texts.entry(format!("{folder}{name}/Cargo.toml")).or_insert_with(|| MEMBER.to_owned());
        self.members.push(name.to_owned());
        self.package(&format!(
            r#"{{ "id": "{name}", "name": "{name}", "version": "0.1.0", "license": "MIT", "dependencies": {dependencies} }}"#
        ))
        .node(&format!(r#"{{ "id": "{name}" }}"#))
    }

    fn package(mut self, json: &str) -> Plan {
        self.packages.push(serde_json::from_str(json).expect("the fixture is JSON"));
        self
    }

    fn node(mut self, json: &str) -> Plan {
        self.nodes.push(serde_json::from_str(json).expect("the fixture is JSON"));
        self
    }

    /// A crate of ours that uses `name` from outside; `about` is more JSON for that package.
    fn using(self, name: &str, about: &str, features: &str) -> Plan {
        let id = format!("{name} 1.0");
        self.member("server", &format!(r#"[{{ "name": "{name}" }}]"#))
            .node(&format!(r#"{{ "id": "server", "deps": [{{ "name": "{name}", "pkg": "{id}" }}] }}"#))
            .package(&format!(r#"{{ "id": "{id}", "name": "{name}", "version": "1.0", {about} }}"#))
            .node(&format!(r#"{{ "id": "{id}", "features": {features} }}"#))
    }

    fn build(self) -> House {
        let metadata = serde_json::json!({
            "packages": self.packages, "workspace_members": self.members, "resolve": { "nodes": self.nodes },
        });
        let metadata: Metadata = serde_json::from_value(metadata).expect("the fixture has cargo's form");
        House::of(self.texts, metadata).expect("the fixture parses")
    }
}

fn wall(name: &str) -> &'static Wall {
    WALLS.iter().find(|wall| wall.name == name).expect("the wall is in the table")
}

fn findings(name: &str, plan: Plan) -> Vec<Finding> {
    (wall(name).check)(&plan.build())
}

const REGISTRY: &str = r#""source": "registry+https://example.org/index", "license": "MIT""#;

/// At least one way to break each wall, and a part of what must be said about it.
fn breaches() -> Vec<(&'static str, Plan, &'static str)> {
    let lines = |count: usize| "//\n".repeat(count);
    vec![
        ("floors", sound().member("access", r#"[{ "name": "gateway", "path": "p" }]"#), "`gateway`"),
        ("floors", sound().member("gateway", r#"[{ "name": "control", "path": "p" }]"#), "`control`"),
        ("floors", sound().member("domain", r#"[{ "name": "providers", "path": "p", "kind": "dev" }]"#), "(dev)"),
        ("floors", sound().member("gateway", r#"[{ "name": "testkit", "path": "p" }]"#), "`testkit`"),
        ("floors", sound().member("testkit", r#"[{ "name": "access", "path": "p" }]"#), "`access`"),
        ("floors", sound().member("blackbox", r#"[{ "name": "protocol", "path": "p" }]"#), "`protocol`"),
        ("floors", sound().member("xtask", r#"[{ "name": "protocol", "path": "p" }]"#), "`protocol`"),
        ("floors", sound().member("domain", r#"[{ "name": "fuzz", "path": "p" }]"#), "`fuzz`"),
        ("floors", sound().member("control", r#"[{ "name": "fuzz", "path": "p", "kind": "dev" }]"#), "`fuzz`"),
        ("floors", sound().member("cellar", "[]"), "stands on no floor"),
        ("floors", sound().member("control", r#"[{ "name": "sqlx" }]"#), "one crate owns it"),
        ("pure-crates", sound().member("domain", r#"[{ "name": "tokio" }]"#), "`tokio`"),
        ("pure-crates", sound().member("domain", r#"[{ "name": "tempfile" }]"#), "`tempfile`"),
        ("pure-crates", pure("fn f() { std::fs::read(\"x\"); }"), "std::fs::read"),
        ("pure-crates", pure("use std::net::{IpAddr, TcpStream as T};"), "std::net::TcpStream"),
        ("pure-crates", pure("use std::time; fn f() { time::Instant::now(); }"), "std::time::Instant::now"),
        ("pure-crates", pure("fn f() { vec![std::env::temp_dir()]; }"), "std::env::temp_dir"),
        ("pure-crates", pure("use std::thread::*;"), "std::thread"),
        (
            "module-circles",
            pure("mod a { use crate::b::B; pub struct A; } mod b { use super::a::A; pub struct B; }"),
            "a circle",
        ),
        (
            "module-circles",
            pure("mod a { fn f() -> super::X { super::X } pub fn g() {} } pub struct X; fn f() { a::g() }"),
            "a circle",
        ),
        ("orphans", sound().file("crates/protocol/src/lost.rs", ""), "never compiled"),
        ("environment", app("use std::env; use env::var_os as v; fn f() { v(\"X\"); }"), "std::env::var_os"),
        ("environment", app("use std::env; fn f() { env::var(\"X\"); }"), "std::env::var"),
        ("environment", app("const X: &str = env!(\"HOME\");"), "env!"),
        ("environment", app("const X: Option<&str> = option_env!(\"X\");"), "option_env!"),
        ("environment", app("fn f() { println!(\"{:?}\", std::env::vars()); }"), "std::env::vars"),
        ("environment", app("#[cfg(test)] mod tests { fn f() { std::env::var(\"HOME\"); } }"), "std::env::var"),
        ("environment", app("fn f() { std::env::args(); }"), "std::env::args"),
        ("sql", app("use sqlx::Pool;"), "sqlx::Pool"),
        ("sql", app("const Q: &str = \"SELECT a,\\n b\\nFROM c\";"), "SQL statement"),
        ("sql", app("#[cfg(test)] mod tests { fn f() { run(\"delete from x\"); } }"), "SQL statement"),
        ("sql", app("fn f() { format!(\"insert into {}\", 1); }"), "SQL statement"),
        ("one-door-out", app("use hyper_util::client::legacy::Client;"), "hyper_util::client"),
        ("one-door-out", app("use tokio::net::TcpStream; fn f() { TcpStream::connect(1); }"), "TcpStream::connect"),
        ("one-door-out", app("use hyper::*;"), "hyper::*"),
        ("one-door-out", sound().file("crates/testkit/src/server.rs", "use hyper::client;"), "hyper::client"),
        ("http-edge", app("use axum::Router;"), "axum::Router"),
        ("http-edge", app("fn f(b: hyper::body::Incoming) {}"), "Incoming"),
        ("clock-and-chance", app("use std::time::SystemTime as T; fn f() { T::now(); }"), "SystemTime::now"),
        ("clock-and-chance", app("fn f() { tokio::select! { _ = wait(chrono::Utc::now()) => {} } }"), "Utc::now"),
        ("clock-and-chance", app("fn f() { std::time::UNIX_EPOCH.elapsed(); }"), "SystemTime::now"),
        ("clock-and-chance", app("use rand::random;"), "rand::random"),
        ("unsafe", sound().file("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"warn\"\n"), "forbid"),
        ("unsafe", sound().file("crates/store/Cargo.toml", "[package]\n"), "workspace = true"),
        ("names", sound().file("crates/store/src/utils.rs", ""), "says nothing"),
        ("names", sound().file("crates/store/tests/common/mod.rs", ""), "says nothing"),
        ("sizes", sound().file("crates/store/src/long.rs", &lines(601)), "601 lines"),
        ("sizes", pure(&format!("impl X {{ fn f() {{\n{}}} }}", lines(99))), "`X::f` has 101 lines"),
        ("sizes", sound().file("xtask/ratchet.txt", "file crates/gone.rs\n"), "no longer needed"),
        ("dependency-reasons", sound().file("docs/dependencies.md", ""), "`serde` has no line"),
        (
            "dependency-reasons",
            sound().file("docs/dependencies.md", "| `serde` | a | b |\n| `left` | a | b |"),
            "`left`",
        ),
        ("dependency-reasons", sound().file("docs/dependencies.md", "| `serde` | shapes | |"), "lacks a reason"),
        ("licences", sound().using("x", r#""license": "MIT AND GPL-3.0""#, "[]"), "`MIT AND GPL-3.0`"),
        ("licences", sound().using("x", r#""license": null"#, "[]"), "names no licence"),
        ("licences", sound().using("x", r#""license": "MIT OR""#, "[]"), "cannot be read"),
        ("bans", sound().using("ring", REGISTRY, "[]"), "`ring` is built"),
        ("bans", optional_ring("ring/std"), "webpki > ring"),
        ("bans", optional_ring("dep:ring"), "webpki > ring"),
        ("bans", sound().using("serde_json", REGISTRY, r#"["arbitrary_precision"]"#), "arbitrary_precision"),
        ("bans", sound().using("x", r#""source": "git+https://example.org/x""#, "[]"), "public registry"),
        ("bans", sound().using("once_cell", REGISTRY, "[]"), "OnceLock"),
        ("texts", sound().file("README.md", concat!("see /ro", "ot/x")), "path of one machine"),
        ("texts", sound().file("README.md", concat!("// TO", "DO: later")), "without an issue"),
        ("texts", sound().file("x.toml", concat!("url = \"https:/", "/artifactory.example.org/npm\"")), "registry"),
    ]
}

fn pure(code: &str) -> Plan {
    sound().file("crates/protocol/src/lib.rs", code)
}

/// `webpki` has `ring` as an option; its feature `std` is on and says `part`.
fn optional_ring(part: &str) -> Plan {
    let about = r#""license": "MIT", "dependencies": [{ "name": "ring", "optional": true }], "features""#;
    sound()
        .using("webpki", &format!(r#"{about}: {{ "std": ["{part}"] }}"#), "[]")
        .node(r#"{ "id": "webpki 1.0", "features": ["std"], "deps": [{ "name": "ring", "pkg": "ring 1.0" }] }"#)
        .package(&format!(r#"{{ "id": "ring 1.0", "name": "ring", "version": "1.0", {REGISTRY} }}"#))
        .node(r#"{ "id": "ring 1.0" }"#)
}

fn app(code: &str) -> Plan {
    sound().file("crates/control/src/lib.rs", code)
}

#[test]
fn every_wall_falls_when_it_is_broken() {
    for (name, plan, said) in breaches() {
        let found = findings(name, plan);
        assert!(found.iter().any(|finding| finding.says.contains(said)), "{name}: `{said}` is not in {found:?}");
    }
}

#[test]
fn every_wall_has_a_breach() {
    let breaches = breaches();
    for wall in WALLS {
        assert!(breaches.iter().any(|(name, ..)| *name == wall.name), "no test breaks `{}`", wall.name);
    }
}

#[test]
fn a_sound_house_stands() {
    let house = sound().build();
    for wall in WALLS {
        let found = (wall.check)(&house);
        assert!(found.is_empty(), "{}: {found:?}", wall.name);
    }
}

#[test]
fn what_is_allowed_is_not_refused() {
    let long_tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(700));
    let cases = [
        (
            "floors",
            sound().member("server", r#"[{ "name": "testkit", "path": "p" }, { "name": "store", "path": "p" }]"#),
        ),
        ("floors", sound().member("domain", r#"[{ "name": "fuzz", "path": "p", "kind": "dev" }]"#)),
        ("pure-crates", pure("use std::net::{IpAddr, SocketAddr}; use std::time::Duration;")),
        ("pure-crates", pure("#[cfg(test)] mod tests { fn f() { std::fs::read(\"golden\"); } }")),
        ("pure-crates", sound().file("crates/protocol/tests/it/main.rs", "fn f() { std::fs::read(\"golden\"); }")),
        ("pure-crates", sound().member("domain", r#"[{ "name": "proptest", "kind": "dev" }]"#)),
        ("pure-crates", pure("mod redis { pub fn f() {} } fn g() { redis::f() }")),
        ("environment", app("const V: &str = env!(\"CARGO_PKG_VERSION\");")),
        ("environment", app("#[test] fn f() { std::env::var_os(\"UPDATE\"); env!(\"CARGO_MANIFEST_DIR\"); }")),
        ("environment", sound().file("crates/server/src/config/read.rs", "fn f() { std::env::var(\"X\"); }")),
        ("sql", app("/// select a from b\nfn f() { say(\"selected from the list\"); }")),
        ("orphans", pure("#[path = \"odd/way.rs\"] mod way;").file("crates/protocol/src/odd/way.rs", "")),
        (
            "orphans",
            pure("mod a { mod b; }")
                .file("crates/protocol/src/a/b.rs", "mod c;")
                .file("crates/protocol/src/a/b/c.rs", ""),
        ),
        ("orphans", pure("#[cfg(test)] mod t;").file("crates/protocol/src/t.rs", "")),
        ("one-door-out", app("use hyper_util::rt::TokioIo;")),
        ("one-door-out", sound().file("crates/testkit/src/load/call.rs", "use hyper::client::conn::http1;")),
        ("http-edge", sound().file("crates/control/src/http.rs", "use axum::Router;")),
        ("clock-and-chance", sound().file("crates/server/src/clock.rs", "fn f() { std::time::SystemTime::now(); }")),
        ("sizes", sound().file("crates/store/src/lib.rs", &long_tests)),
        (
            "sizes",
            sound()
                .file("crates/store/src/a.rs", "#[cfg(test)] mod b;")
                .file("crates/store/src/a/b.rs", &"//\n".repeat(700)),
        ),
        ("bans", optional_ring("ring?/std")),
        (
            "texts",
            sound().file("README.md", concat!("https://example.org/wo", "rk/x and TO", "DO(#12) and /ho", "me/")),
        ),
    ];
    for (name, plan) in cases {
        let found = findings(name, plan);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_listed_exception_is_excused() {
    let plan = sound()
        .file("crates/store/src/long.rs", &"//\n".repeat(601))
        .file("xtask/ratchet.txt", "# why\nfile crates/store/src/long.rs\n");
    assert!(findings("sizes", plan).is_empty());
}

#[test]
fn a_facade_is_no_circle() {
    for code in [
        // A child that takes its sibling through the parent's re-export needs the sibling, not the parent.
        "mod a { use crate::B; pub struct A(B); } mod b { pub struct B; } pub use a::A; pub use b::B;",
        "mod a { use super::*; pub struct A(B); } mod b { pub struct B; } pub use a::*; pub use b::*;",
        "mod a { pub struct A; } mod b { use crate::a::A; pub fn f(_: A) {} } pub const ALL: fn(a::A) = b::f;",
        // A variable may be called like a module.
        "mod plan { use crate::X; pub fn f(_: X) {} } pub struct X; fn f(plan: X) -> X { plan }",
        "mod a { pub fn f() {} #[cfg(test)] mod tests { use super::*; fn g() { f(); crate::go() } } } pub fn go() { a::f() }",
        "mod a { pub(crate) struct A; } fn f(_: a::A) {}",
    ] {
        let found = findings("module-circles", pure(code));
        assert!(found.is_empty(), "{code}: {found:?}");
    }
}

#[test]
fn a_circle_is_seen_through_files_re_exports_and_macros() {
    let through_files = sound()
        .file("crates/protocol/src/lib.rs", "mod sse; mod event; pub use event::Event;")
        .file("crates/protocol/src/sse/mod.rs", "mod parser; pub fn parse() { parser::go() }")
        .file("crates/protocol/src/sse/parser.rs", "pub fn go() -> crate::Event { todo() }")
        .file("crates/protocol/src/event.rs", "pub struct Event; fn f() { vec![crate::sse::parse()]; }");
    let found = findings("module-circles", through_files);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].says.contains("crate::sse, crate::sse::parser, crate::event"), "{found:?}");
    assert!(found[0].says.contains("(crates/protocol/src/event.rs:1)"), "{found:?}");

    // The parent's own code uses what it re-exports: now it needs the child.
    let used = "mod a { use super::X; pub struct A(X); } pub use a::A; pub struct X; fn f(_: A) {}";
    assert_eq!(findings("module-circles", pure(used)).len(), 1);
}

#[test]
fn licence_expressions_are_read_as_spdx_says() {
    let allowed: Vec<String> =
        ["MIT", "ISC", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).to_vec();
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT/GPL-3.0", true),
        ("Apache-2.0 / MIT", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0 AND MIT OR ISC", true),
        ("GPL-3.0 AND (MIT OR ISC)", false),
        ("(MIT OR GPL-3.0) AND (ISC)", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("MIT WITH LLVM-exception", false),
    ] {
        assert_eq!(satisfied(expression, &allowed), Ok(met), "{expression}");
    }
    for broken in ["", "MIT OR", "(MIT", "MIT ISC", "AND MIT", "MIT)"] {
        assert!(satisfied(broken, &allowed).is_err(), "{broken}");
    }
}

#[test]
fn sql_is_told_from_prose() {
    for sql in [
        "Select a\n\tFrom b",
        "UPDATE t SET a = 1",
        "create unique index i on t(a)",
        "CREATE TABLE IF NOT EXISTS x(",
        " insert  into x",
    ] {
        assert!(looks_like_sql(sql), "{sql}");
    }
    for prose in
        ["select", "update the settings", "creates table", "selection from", "delete the key", "create a tablet"]
    {
        assert!(!looks_like_sql(prose), "{prose}");
    }
}
