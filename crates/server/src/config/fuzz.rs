//! The settings loader: any file, variable or flag is taken or refused by name (`cargo xtask fuzz config`).

use std::path::Path;

use fuzz::{Corpus, Failure};

use super::sources::VARIABLES;
use super::{Config, Flags};

const SEEDS: &[&[u8]] = &[
    b"[server]\nlisten = \"127.0.0.1:1\"\nport = 80\n[log]\nlevel = \"error\"\nformat = \"json\"\n",
    b"[limits]\njson_mb = 3\nheader_bytes = 16384\nbody_bytes = 1\n[timeouts]\nrequest_ms = 5\n",
    b"[outbound]\ntrusted_custom_hosts = [\"a.example\", \"*.b.example\"]\nask_streams_for_usage = false\n",
    b"[secrets]\nmaster_key = \"x\"\n[bootstrap]\nadmin_key = \"a-long-enough-admin-key\"\n",
    b"PORT=70000\nLISTEN=[::1]:0\nENABLE_PROMETHEUS=perhaps\n",
    b"TRUSTED_CUSTOM_HOSTS=auto,none,10.0.0.1\nREQUEST_TIMEOUT=0\nDATABASE_URL=postgres://u:p@h/d\n",
    b"log.level=debug\nlimits.json_mb=1_000\nserver.environment=production\ncors.allowed_origins=a,b\n",
];

const WORDS: &[&str] = &[
    "[server]\n",
    "[log]\n",
    "[limits]\n",
    "[timeouts]\n",
    "[a.b]\n",
    "=",
    "\n",
    "\"",
    "'''",
    "\"\"\"",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    "#",
    "listen = ",
    "port = ",
    "-1",
    "1e9",
    "9223372036854775807",
    "true",
    "inf",
    "1979-05-27",
    "PORT=",
    "LISTEN=",
    "TLS_CERT=",
    "DRAIN_TIMEOUT=",
    "HEADER_PREFIXES=",
    "server.port=",
    "log=",
    "\u{fffd}",
    "\u{feff}",
    "é",
];

#[test]
fn any_settings_are_taken_or_refused_by_name() -> Result<(), Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fuzz::run(&Corpus { name: "config", seeds: SEEDS, words: WORDS, longest: 600, tries: 600 }, |input| {
        let text = String::from_utf8_lossy(input);
        std::fs::write(&file, input).expect("a file can be written");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        // Each is a whole start, so an input takes one of the ways in.
        let (flags, variables) = match input.len() % 4 {
            0 => (Flags { config: Some(&file), ..Flags::default() }, None),
            1 => (Flags { set: &lines, ..Flags::default() }, None),
            2 => (Flags { listen: Some(&text), data: Some(Path::new("d")), ..Flags::default() }, None),
            _ => (Flags::default(), Some(&lines)),
        };
        let given = |name: &str| variables?.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let lookup = |name: &str| match name {
            // Where these lead, files outside of this test would be read.
            "HOME" | "XDG_DATA_HOME" => Some(folder.path().join("home").display().to_string()),
            "GATEHOUSE_CONFIG" | "GATEHOUSE_DATA" => None,
            name => given(name).map(str::to_owned),
        };
        match Config::read(&flags, &lookup) {
            Ok(config) => taken(&config),
            Err(bad) => assert!(names_something(&bad.to_string()), "{bad} names nothing"),
        }
    })
}

fn taken(config: &Config) {
    assert!(config.listen().is_ok(), "accepted settings name an address");
    assert!(!config.request_timeout().is_zero() && !config.idle_timeout().is_zero());
    // What they compute must not overflow, whatever the numbers.
    let (_, _, _) = (config.json_bytes(), config.drain_timeout(), config.trusted_custom_hosts());
    assert!(config.changed.iter().all(|changed| !changed.from.is_empty()));
}

/// A setting or a file in backticks, or a variable.
fn names_something(text: &str) -> bool {
    text.matches('`').count() >= 2 || VARIABLES.iter().any(|(_, names)| names.iter().any(|name| text.contains(name)))
}
