//! What a JSON request body says at its top level, found without building it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr2, memchr3};

use crate::patch::{self, Edit, Malformed};

/// The facts routing needs from a body. The body itself stays as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub model: Option<String>,
    pub stream: bool,
    stream_options: Options,
}

/// What stands in `stream_options`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Options {
    #[default]
    Nothing,
    Object(Range<usize>),
    /// Not ours to mend: the provider will say what is wrong.
    Odd,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    #[error("the body is not UTF-8")]
    NotUtf8,
    #[error("the body is not one JSON object: {0}")]
    Malformed(#[from] Malformed),
    #[error("`{0}` stands more than once in the body; send it once")]
    Repeated(&'static str),
    #[error("`{0}` must be {1}")]
    WrongType(&'static str, &'static str),
}

const WANTED: [&str; 3] = ["model", "stream", "stream_options"];

/// Reads the facts. Fields that decide where a call goes may stand only once: readers differ on which one counts.
pub fn facts(body: &[u8]) -> Result<Facts, BadBody> {
    let body = std::str::from_utf8(body).map_err(|_| BadBody::NotUtf8)?;
    let mut facts = Facts::default();
    let mut seen = [false; WANTED.len()];
    for (field, span) in patch::spans(body, &WANTED)? {
        let at = WANTED.iter().position(|wanted| *wanted == field).unwrap_or_default();
        if std::mem::replace(&mut seen[at], true) {
            return Err(BadBody::Repeated(WANTED[at]));
        }
        let value = &body[span.clone()];
        match field {
            "model" if value == "null" => {}
            "model" => facts.model = Some(text(value)?.into_owned()),
            "stream" => facts.stream = flag(value)?,
            _ if value == "null" => {}
            _ if value.starts_with('{') => facts.stream_options = Options::Object(span),
            _ => facts.stream_options = Options::Odd,
        }
    }
    Ok(facts)
}

fn text(value: &str) -> Result<Cow<'_, str>, BadBody> {
    #[derive(serde::Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let text: Result<Text<'_>, _> = serde_json::from_str(value);
    text.map(|text| text.0).map_err(|_| BadBody::WrongType("model", "a string"))
}

fn flag(value: &str) -> Result<bool, BadBody> {
    match value {
        "true" => Ok(true),
        "false" | "null" => Ok(false),
        _ => Err(BadBody::WrongType("stream", "`true` or `false`")),
    }
}

impl Facts {
    /// The edit that asks a stream for its usage, or `None` when the caller asked already.
    pub fn ask_for_usage(&self, body: &str) -> Option<Edit> {
        const FIELD: &str = "include_usage";
        let options = match &self.stream_options {
            Options::Nothing => "{}",
            Options::Object(span) => &body[span.clone()],
            Options::Odd => return None,
        };
        let asked = patch::spans(options, &[FIELD]).ok()?;
        if asked.iter().any(|(_, span)| &options[span.clone()] == "true") {
            return None;
        }
        let value = patch::apply(options, &[Edit { field: FIELD.into(), value: "true".into() }]).ok()?;
        Some(Edit { field: "stream_options".into(), value })
    }
}

/// Whether a text is one object from its first brace to the one that closes it. Cheaper than reading it, and enough to
/// notice that an answer broke off: what stands inside is not judged.
pub fn is_one_object(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(found) = memchr3(b'"', b'{', b'}', &text[at..]) {
        at += found + 1;
        match text[at - 1] {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return depth == 1 && at == text.len() && text[0] == b'{',
            b'}' => depth -= 1,
            _ => match end_of_string(&text[at..]) {
                Some(end) => at += end,
                None => return false,
            },
        }
    }
    false
}

/// Where a string ends whose opening quote stands before `text`.
pub(crate) fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', &text[at..])? + 1;
        match text[at - 1] {
            b'"' => return Some(at),
            // Whatever is escaped does not end the string.
            _ => at += 1,
        }
        if at > text.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_wherever_they_stand() {
        let body = br#"{ "messages":[{"model":"no"}], "stream" : true ,"mod\u0065l":"gpt\u002d4o"}"#;
        let facts = facts(body).unwrap();
        assert_eq!((facts.model.as_deref(), facts.stream), (Some("gpt-4o"), true));
    }

    #[test]
    fn a_repeated_deciding_field_is_refused_and_any_other_is_not() {
        assert_eq!(facts(br#"{"model":"a","model":"b"}"#), Err(BadBody::Repeated("model")));
        assert_eq!(facts(br#"{"stream":true,"str\u0065am":false}"#), Err(BadBody::Repeated("stream")));
        assert!(facts(br#"{"seed":1,"seed":2}"#).is_ok());
    }

    #[test]
    fn wrong_types_name_the_field() {
        assert_eq!(facts(br#"{"model":4}"#).unwrap_err().to_string(), "`model` must be a string");
        assert_eq!(facts(br#"{"stream":"yes"}"#).unwrap_err().to_string(), "`stream` must be `true` or `false`");
        assert_eq!(facts(b"\xff{}"), Err(BadBody::NotUtf8));
    }

    #[test]
    fn usage_is_asked_for_once_and_other_options_stay() {
        let edit = |body: &str| facts(body.as_bytes()).unwrap().ask_for_usage(body);
        assert_eq!(edit(r#"{"stream":true}"#).unwrap().value, r#"{"include_usage":true}"#);
        assert_eq!(edit(r#"{"stream_options":null}"#).unwrap().value, r#"{"include_usage":true}"#);
        assert_eq!(
            edit(r#"{"stream_options":{ "x": 1e0, "include_usage":false}}"#).unwrap().value,
            r#"{ "x": 1e0, "include_usage":true}"#
        );
        assert_eq!(edit(r#"{"stream_options":{"include_usage":true}}"#), None);
    }

    #[test]
    fn an_object_is_whole_only_up_to_its_last_brace() {
        let whole = r#"{"a":[{"b":"}\\"},{"c":"{\""}],"d":{"e":{}},"f":"\u007b"}"#;
        assert!(is_one_object(whole.as_bytes()));
        assert!(is_one_object(format!(" {whole}\n").as_bytes()));
        for cut in 0..whole.len() {
            assert!(!is_one_object(&whole.as_bytes()[..cut]), "{}", &whole[..cut]);
        }
        for other in ["", "[]", "[{}]", "{} {}", "{}}", "{}x", "x{}", "<html></html>", "\"{}\"", "{\"a\\"] {
            assert!(!is_one_object(other.as_bytes()), "{other}");
        }
    }
}
