//! Inline configs: any text is read or refused by name, and no key is shown (`cargo xtask fuzz config`).

use fuzz::{Corpus, Failure};
use serde_json::Value;

use crate::config::{BadConfig, inline};

const SEEDS: &[&[u8]] = &[
    br#"{"provider":"openai","api_key":"sk-canary","custom_host":"http://h/v1","request_timeout":500,"forward_headers":["X-A"],"override_params":{"model":"m","temperature":0.10},"brand_new":1}"#,
    br#"{"strategy":{"mode":"fallback"},"targets":[{"provider":"openai"},{"virtual_key":"x"}]}"#,
    br#"{"provider":4,"request_timeout":"x","forward_headers":[1],"strict_open_ai_compliance":"no"}"#,
    br#"{"options":[]}"#,
    br#"{"cache":null,"input_guardrails":[],"name":"n","weight":0.5}"#,
];

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "\"provider\":",
    "\"api_key\":\"sk-canary\"",
    "\"override_params\":{",
    "\"forward_headers\":[",
    "\"request_timeout\":",
    "\"retry\":{\"attempts\":3}",
    "\"targets\":[",
    "\"options\":",
    "\"virtual_key\":",
    "\\u0000",
    "é",
];

#[test]
fn any_inline_config_is_read_or_refused_by_name() -> Result<(), Failure> {
    fuzz::run(&Corpus { name: "config", seeds: SEEDS, words: WORDS, longest: 1000, tries: 5000 }, |input| {
        let text = String::from_utf8_lossy(input);
        let whole = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
        let target = match inline(&text) {
            Ok(target) => target,
            Err(BadConfig::NotJson) => return assert!(whole.is_none(), "an object is a config"),
            Err(BadConfig::Legacy) => return assert!(text.contains("options")),
            Err(BadConfig::NotYet(what)) => return assert!(what.contains('`'), "{what} names the key"),
            Err(BadConfig::Invalid(faults)) => {
                assert!(!faults.is_empty());
                return assert!(faults.iter().all(|fault| fault.starts_with("path: ")), "{faults:?}");
            }
        };
        let whole = whole.expect("what was read is an object");
        let object = whole.as_object().expect("it is one");
        assert_eq!(target.provider.as_deref(), whole["provider"].as_str());
        assert_eq!(target.request_timeout_ms, whole["request_timeout"].as_u64());
        assert!(target.unknown.iter().all(|key| object.contains_key(key)));
        for (field, value) in &target.override_params {
            let read: Value = serde_json::from_str(value).expect("a forced value is JSON");
            assert_eq!(read, whole["override_params"][field]);
        }
        if let Some(key) = &target.api_key
            && key.expose().contains("canary")
        {
            let shown = format!("{:?}", target.api_key);
            assert!(!shown.contains("canary"), "{shown}");
        }
    })
}
