//! Changes top-level values of a JSON object and leaves every other byte alone (D5).
//!
//! Parsing and printing again would change number forms, escapes, key order and spacing. Here only the spans of the
//! values asked for are found; edits are spliced between the untouched rest. Keys are compared decoded, so
//! `"mod\u0065l"` is `model`; of a repeated key every value is found, because readers differ on which one counts.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Where the body stops being one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {why}")]
pub struct Malformed {
    pub line: usize,
    pub column: usize,
    pub why: String,
}

/// The spans of the values of `wanted` fields, in their order in the body.
pub fn spans<'w>(body: &str, wanted: &[&'w str]) -> Result<Vec<(&'w str, Range<usize>)>, Malformed> {
    struct Spans<'a, 'w>(&'a str, &'a [&'w str]);
    impl<'de, 'w> Visitor<'de> for Spans<'de, 'w> {
        type Value = Vec<(&'w str, Range<usize>)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some(key) = map.next_key::<Key<'de>>()? {
                let Some(field) = self.1.iter().find(|field| **field == key.0) else {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                };
                let value = map.next_value::<&'de RawValue>()?.get();
                let start = value.as_ptr() as usize - self.0.as_ptr() as usize;
                found.push((*field, start..start + value.len()));
            }
            Ok(found)
        }
    }
    let mut json = serde_json::Deserializer::from_str(body);
    let found = json.deserialize_map(Spans(body, wanted)).and_then(|found| json.end().map(|()| found));
    found.map_err(|error| Malformed { line: error.line(), column: error.column(), why: plain(&error) })
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The reason without the place, which is told apart.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// A top-level field and the JSON text that becomes its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub field: String,
    pub value: String,
}

/// `body` with every value of each edited field replaced; missing fields are added in front.
pub fn apply(body: &str, edits: &[Edit]) -> Result<String, Malformed> {
    let wanted: Vec<&str> = edits.iter().map(|edit| edit.field.as_str()).collect();
    let found = spans(body, &wanted)?;
    let mut out =
        String::with_capacity(body.len() + edits.iter().map(|e| e.field.len() + e.value.len() + 4).sum::<usize>());
    let opening = body.find('{').map_or(body.len(), |at| at + 1);
    out.push_str(&body[..opening]);
    let empty = body[opening..].trim_start().starts_with('}');
    let mut first = true;
    for edit in edits.iter().filter(|edit| !found.iter().any(|(field, _)| *field == edit.field)) {
        if !first {
            out.push(',');
        }
        first = false;
        out.push_str(&serde_json::Value::from(edit.field.as_str()).to_string());
        out.push(':');
        out.push_str(&edit.value);
    }
    if !first && !empty {
        out.push(',');
    }
    let mut kept = opening;
    for (field, span) in &found {
        out.push_str(&body[kept..span.start]);
        let edit = edits.iter().rfind(|edit| edit.field == *field);
        out.push_str(edit.map_or(&body[span.clone()], |edit| edit.value.as_str()));
        kept = span.end;
    }
    out.push_str(&body[kept..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HARD: &str = " {\"big\":123456789012345678901234567890, \"f\":1.10e+2,\"z\":-0,\"huge\":1e400,\r\n\t\"dup\":1,\"dup\":2, \"esc\":\"\\u00e9\\/\\ud800\", \"model\" : \"old\" ,\"deep\":[[[{\"model\":\"inner\"}]]]}\n";

    fn set(body: &str, field: &str, value: &str) -> Result<String, Malformed> {
        apply(body, &[Edit { field: field.into(), value: value.into() }])
    }

    #[test]
    fn everything_but_the_value_is_kept() {
        assert_eq!(set(HARD, "model", "\"new\"").unwrap(), HARD.replace("\"old\"", "\"new\""));
    }

    #[test]
    fn all_of_a_repeated_key_are_changed_however_it_is_spelt() {
        let body = r#"{"model":"a","x":1,"mod\u0065l":"b"}"#;
        assert_eq!(set(body, "model", "\"c\"").unwrap(), r#"{"model":"c","x":1,"mod\u0065l":"c"}"#);
    }

    #[test]
    fn missing_fields_are_added_in_front() {
        assert_eq!(set(" { } ", "model", "1").unwrap(), " {\"model\":1 } ");
        assert_eq!(set(r#"{"a":1}"#, "model", "1").unwrap(), r#"{"model":1,"a":1}"#);
        let edits = [("x", "1"), ("a", "2"), ("y", "3")]
            .map(|(field, value)| Edit { field: field.into(), value: value.into() });
        assert_eq!(apply(r#"{"a":0,"b":9}"#, &edits).unwrap(), r#"{"x":1,"y":3,"a":2,"b":9}"#);
    }

    #[test]
    fn nesting_a_hundred_thousand_deep_is_only_scanned() {
        let body = format!("{{\"d\":{}{},\"model\":1}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(set(&body, "model", "2").unwrap().ends_with("\"model\":2}"));
    }

    #[test]
    fn what_is_not_one_object_is_refused_with_the_place() {
        for bad in ["", "[]", "{", r#"{"model":}"#, r#"{"a":1}{}"#, r#"{"a":01}"#, "{\"a\":\"\u{1}\"}", "\u{feff}{}"] {
            assert!(set(bad, "model", "1").is_err(), "{bad}");
        }
        let error = set("{\n  \"a\": 01\n}", "model", "1").unwrap_err();
        assert_eq!((error.line, error.column, error.why.as_str()), (2, 9, "invalid number"));
    }

    proptest! {
        #[test]
        fn an_edit_reads_back_and_leaves_the_rest_equal(
            keys in prop::collection::vec("[a-f]{1,2}", 0..6), field in "[a-f]{1,2}", number in any::<i64>(),
        ) {
            let body = format!("{{{}}}", keys.iter().enumerate().map(|(at, key)| format!("\"{key}\" : {at}.0")).collect::<Vec<_>>().join(" , "));
            let edited = set(&body, &field, &number.to_string()).unwrap();
            let value: serde_json::Value = serde_json::from_str(&edited).unwrap();
            prop_assert_eq!(&value[&field], &serde_json::json!(number));
            let before: serde_json::Value = serde_json::from_str(&body).unwrap();
            for key in keys.iter().filter(|key| **key != field) {
                prop_assert_eq!(&value[key], &before[key]);
            }
        }
    }
}
