//! Splices: the result is the same JSON but for the edited field, and the same text but for its values.

use fuzz::{Corpus, Failure};
use serde_json::Value;

use crate::patch::{Edit, apply, spans};

const SEEDS: &[&[u8]] = &[
    br#"{"model":"a","stream":true,"messages":[{"role":"user","content":"model"}]}"#,
    b" {\"big\":123456789012345678901234567890, \"f\":1.10e+2,\"z\":-0,\r\n\t\"dup\":1,\"dup\":2, \"esc\":\"\\u00e9\\/\", \"model\" : \"old\" }\n",
    br#"{"mod\u0065l":"b","model":null}"#,
    b" { } ",
    br#"{"a":1}"#,
    br#"{"":{"model":1},"model":{"model":[1,2,{}]}}"#,
    "{\"é\":\"日本\",\"model\":\"😀\"}".as_bytes(),
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\\"",
    "\\u0065",
    "\\ud83d\\ude00",
    "\"model\"",
    "\"model\":",
    "\"x\":1,",
    "null",
    "true",
    "1e400",
    "-0",
    "{}",
    "[]",
    " ",
    "\n",
    "\u{feff}",
    "日本",
];

const VALUES: &[&str] = &["\"new\"", "null", "{\"model\":1}", "[1, 2]", "1e400", "\"\\\"}\""];

#[test]
fn an_edit_changes_its_field_and_no_other_byte() -> Result<(), Failure> {
    fuzz::run(&Corpus { name: "splice", seeds: SEEDS, words: WORDS, longest: 1000, tries: 5000 }, |input| {
        let Ok(body) = std::str::from_utf8(input) else { return };
        let value = VALUES[input.len() % VALUES.len()];
        let edit = [Edit { field: "model".into(), value: value.into() }];
        let Ok(edited) = apply(body, &edit) else {
            let object = serde_json::from_str::<Value>(body).is_ok_and(|body| body.is_object());
            assert!(!object, "an object was refused");
            return;
        };
        let before = spans(body, &["model"]).expect("it was just edited");
        let after = spans(&edited, &["model"]).expect("an edited body can be read");
        assert!(after.iter().all(|(_, span)| &edited[span.clone()] == value), "every value is the new one: {edited}");
        if before.is_empty() {
            assert_eq!(after.len(), 1);
            without_the_new_field(body, &edited, value);
        } else {
            assert_eq!(rest(body, &before), rest(&edited, &after), "the rest");
            let back: Vec<&str> = before.iter().map(|(_, span)| &body[span.clone()]).collect();
            if let [only] = back[..] {
                let undo = [Edit { field: "model".into(), value: only.into() }];
                assert_eq!(apply(&edited, &undo).as_deref(), Ok(body), "undone");
            }
        }
        assert_eq!(apply(&edited, &edit).as_deref(), Ok(edited.as_str()), "twice is once");
        same_json_but_for_the_field(body, &edited);
    })
}

/// The text around the values.
fn rest<'b>(body: &'b str, values: &[(&str, std::ops::Range<usize>)]) -> Vec<&'b str> {
    let mut from = 0;
    let mut parts = Vec::new();
    for (_, span) in values {
        parts.push(&body[from..span.start]);
        from = span.end;
    }
    parts.push(&body[from..]);
    parts
}

fn without_the_new_field(body: &str, edited: &str, value: &str) {
    let new = format!("\"model\":{value}");
    let at = edited.find(&new).expect("the new field stands there");
    let after = &edited[at + new.len()..];
    let removed = [&edited[..at], after.strip_prefix(',').unwrap_or(after)].concat();
    assert_eq!(removed, body);
}

/// Read by somebody else. What that reader cannot take (numbers beyond a float, great depth) is left out.
fn same_json_but_for_the_field(body: &str, edited: &str) {
    let read = |text: &str| match serde_json::from_str(text) {
        Ok(Value::Object(mut fields)) => {
            fields.shift_remove("model");
            Some(fields)
        }
        _ => None,
    };
    if let (Some(before), Some(after)) = (read(body), read(edited)) {
        assert_eq!(before, after);
    }
}
