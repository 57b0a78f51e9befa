//! Free-form metadata of a request, merged once; everybody reads the merged value.

use std::collections::BTreeMap;

use serde_json::Value;

/// Longest value kept; longer ones are cut at a character boundary.
pub const LONGEST: usize = 128;

/// `explicit` is the request's own header, `baggage` the W3C one beneath it. What is not JSON counts as nothing.
pub fn merge(explicit: Option<&str>, baggage: Option<&str>) -> BTreeMap<String, String> {
    let mut merged = BTreeMap::new();
    for (key, value) in baggage.into_iter().flat_map(pairs) {
        merged.insert(key, bounded(value));
    }
    if let Some(Ok(Value::Object(object))) = explicit.map(serde_json::from_str) {
        for (key, value) in object {
            if let Some(text) = scalar(value) {
                merged.insert(key, bounded(text));
            }
        }
    }
    merged
}

fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn bounded(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => text[..at].to_owned(),
        None => text,
    }
}

/// `k=v,k2=v2;property`, values percent-encoded.
fn pairs(baggage: &str) -> impl Iterator<Item = (String, String)> + '_ {
    baggage.split(',').filter_map(|member| {
        let (key, value) = member.split(';').next()?.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), decode(value.trim())))
    })
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |byte: u8| (byte as char).to_digit(16);
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push((hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0)) as u8);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explicit_value_wins_over_baggage() {
        let merged = merge(Some(r#"{"team":"red","n":3,"ok":true,"deep":{"x":1}}"#), Some("team=blue, user=a%20b;p=1"));
        let pairs: Vec<_> = merged.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("n", "3"), ("ok", "true"), ("team", "red"), ("user", "a b")]);
    }

    #[test]
    fn what_is_not_json_counts_as_nothing() {
        assert!(merge(Some("{no"), None).is_empty());
        assert!(merge(Some("[1]"), Some("=x,,y")).is_empty());
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let merged = merge(Some(&format!("{{\"k\":\"{}\"}}", "é".repeat(200))), None);
        assert_eq!(merged["k"].chars().count(), LONGEST);
    }
}
