//! Paths: what is accepted means the same to every reader, however often it decodes.

use fuzz::{Corpus, Failure};
use percent_encoding::percent_decode_str;

use crate::path::check;

const SEEDS: &[&[u8]] = &[
    b"/v1/chat/completions",
    b"/v1/files/file-abc.jsonl/content",
    b"/v1/models/meta%2Fllama-3",
    b"/v1/x/..%2Fadmin",
    b"/v1/%252e%252e/admin",
    b"/v1/..;a=b/admin",
    b"/v1/a..b/...c",
    b"/v1/%5c..%5cadmin",
    b"/v1/%c0%ae%c0%ae/admin",
    b"/v1/x/%C3%A9",
    b"/v1//x",
    b"%2e",
];

const WORDS: &[&str] = &[
    "/",
    "//",
    ".",
    "..",
    "/../",
    "/./",
    "%2e",
    "%2E",
    "%2f",
    "%2F",
    "%5c",
    "%25",
    "%252e",
    "%00",
    "%0a",
    "%20",
    "%09",
    ";",
    "\\",
    "%",
    "%zz",
    "admin",
    "v1",
    "é",
    "．",
    "%ef%bc%8e",
    "%3b",
    "%3f",
    "%23",
    "*",
    "+",
];

#[test]
fn an_accepted_path_has_one_reading() -> Result<(), Failure> {
    fuzz::run(&Corpus { name: "path", seeds: SEEDS, words: WORDS, longest: 300, tries: 5000 }, |input| {
        let path = String::from_utf8_lossy(input);
        if check(&path).is_err() {
            return;
        }
        let mut seen = path.clone().into_owned();
        for round in 0..5 {
            leads_nowhere_else(&seen, round);
            seen = percent_decode_str(&seen).decode_utf8_lossy().into_owned();
        }
        read_by_another(&path);
    })
}

fn leads_nowhere_else(path: &str, round: usize) {
    let segments: Vec<&str> = path.split(['/', '\\']).collect();
    for segment in &segments {
        let name = segment.split(';').next().unwrap_or_default();
        assert!(name != "." && name != "..", "after {round} decodings it climbs: {path}");
    }
    assert!(!path.contains("//") && !path.contains('\\'), "after {round} decodings segments differ: {path}");
    assert!(!path.bytes().any(|byte| byte < 0x20 || byte == 0x7f), "after {round} decodings: {path:?}");
}

/// A browser's reader drops and folds what it may; of an accepted path it changes nothing.
fn read_by_another(path: &str) {
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return;
    }
    let url = url::Url::parse(&format!("http://host{path}")).expect("an accepted path can stand in a URL");
    assert_eq!(url.host_str(), Some("host"));
    assert_eq!(decoded(url.path()), decoded(path));
}

fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}
