//! Bodies: what is found without building the JSON is what building it finds.

use fuzz::{Corpus, Failure};
use serde_json::Value;

use crate::body::{BadBody, facts, is_one_object};
use crate::patch;
use crate::tally::{Format, Tally, Usage};

const SEEDS: &[&[u8]] = &[
    br#"{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":false,"x":1e0},"messages":[]}"#,
    br#"{ "messages":[{"model":"no"}], "stream" : false ,"mod\u0065l":"gpt\u002d4o"}"#,
    br#"{"model":null,"stream":null,"stream_options":null}"#,
    br#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#,
    br#"{"output":[{"usage":1}],"text":"\"usage\": {","usage":{"input_tokens":4,"output_tokens":2}}"#,
    br#"{"a":[{"b":"}\\"},{"c":"{\""}],"d":{"e":{}},"f":"\u007b"}"#,
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
    "\\\\",
    "\\\"",
    "\"model\":",
    "\"stream\":",
    "\"stream_options\":{",
    "\"include_usage\":true",
    "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}",
    "\"usage\":",
    "true",
    "false",
    "null",
    "\"x\"",
    "1e400",
    " ",
    "\n",
    "\u{feff}",
];

#[test]
fn facts_are_those_of_the_whole_json() -> Result<(), Failure> {
    fuzz::run(&Corpus { name: "body", seeds: SEEDS, words: WORDS, longest: 1500, tries: 5000 }, |input| {
        let whole = serde_json::from_slice::<Value>(input).ok().filter(Value::is_object);
        if whole.is_some() {
            assert!(is_one_object(input), "an object is one object");
            let cut = input.trim_ascii_end();
            assert!(!is_one_object(&cut[..cut.len() - 1]), "an object without its last brace is none");
        }
        let mut tally = Tally::new(Format::Chat);
        tally.whole(input);
        if let Some(whole) = &whole {
            same_usage(whole, input, tally.usage);
        }
        match facts(input) {
            Ok(facts) => {
                let body = std::str::from_utf8(input).expect("facts are found in text");
                usage_is_asked_for_once(&facts, body);
                if let Some(whole) = whole {
                    assert_eq!(facts.model.as_deref(), whole["model"].as_str());
                    assert_eq!(Some(facts.stream), whole["stream"].as_bool().or(Some(false)));
                }
            }
            Err(BadBody::Malformed(_) | BadBody::NotUtf8) => assert!(whole.is_none(), "an object is not malformed"),
            Err(bad) => assert!(bad.to_string().contains('`'), "{bad} names the field"),
        }
    })
}

fn usage_is_asked_for_once(facts: &crate::body::Facts, body: &str) {
    let Some(edit) = facts.ask_for_usage(body) else { return };
    let asked = patch::apply(body, &[edit]).expect("an edit of a good body");
    let again = super::super::body::facts(asked.as_bytes()).expect("an edited body is good");
    assert_eq!((&again.model, again.stream), (&facts.model, facts.stream));
    assert_eq!(again.ask_for_usage(&asked), None, "{asked}");
    if let Ok(read) = serde_json::from_str::<Value>(&asked) {
        assert_eq!(read["stream_options"]["include_usage"], true, "{asked}");
    }
}

/// Where the word stands once and both counts are plain, there is nothing to argue about.
fn same_usage(whole: &Value, input: &[u8], found: Option<Usage>) {
    let text = String::from_utf8_lossy(input);
    let usage = &whole["usage"];
    let (Some(input), Some(output)) = (usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64()) else {
        return;
    };
    let once = |word: &str| text.matches(word).count() == 1;
    if once("usage") && once("prompt_tokens") && once("completion_tokens") && !text.contains("put_tokens") {
        assert_eq!(found, Some(Usage { input, output }));
    }
}
