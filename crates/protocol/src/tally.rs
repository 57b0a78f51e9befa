//! Reads an answer as it passes: what it used, and whether it came to its end.
//!
//! The bytes are not touched. Most events are only searched for three words; JSON is read where one is found.

use std::sync::LazyLock;

use memchr::memmem::{Finder, FinderRev};
use serde::Deserialize;

use crate::endpoint::Family;
use crate::sse;

/// Tokens as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

/// How a stream stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// More must come.
    #[default]
    Open,
    /// The answer's last word was seen; the terminal event of its format may follow.
    Finished,
    /// The terminal event was seen.
    Terminal,
    /// The provider reported an error inside the stream.
    Failed,
}

/// Formats whose streams have an end that can be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Chat,
    Messages,
    Responses,
    /// Nothing is known about its end.
    Unknown,
}

impl Format {
    pub fn of(family: Family) -> Format {
        match family {
            Family::Chat | Family::Completions => Format::Chat,
            Family::Messages => Format::Messages,
            Family::Responses => Format::Responses,
            _ => Format::Unknown,
        }
    }
}

/// What has been seen of one answer.
#[derive(Debug)]
pub struct Tally {
    format: Format,
    pub usage: Option<Usage>,
    pub end: End,
    pub events: u64,
}

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"usage\""));
static LAST_USAGE: LazyLock<FinderRev<'static>> = LazyLock::new(|| FinderRev::new(b"\"usage\""));
static FINISH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"finish_reason\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"error\""));

impl Tally {
    pub fn new(format: Format) -> Tally {
        Tally { format, usage: None, end: End::Open, events: 0 }
    }

    /// Whether the stream may end here without being called truncated.
    pub fn complete(&self) -> bool {
        self.format == Format::Unknown || self.end != End::Open
    }

    /// Takes note of one event. The answer is true for a chunk that only brings usage.
    pub fn event(&mut self, block: &[u8]) -> bool {
        self.events += 1;
        match self.format {
            Format::Unknown => false,
            Format::Chat => match sse::plain_data(block) {
                Some(data) => self.chat(data),
                None => self.chat(&sse::read(block).data),
            },
            Format::Messages | Format::Responses => {
                self.named(&sse::read(block));
                false
            }
        }
    }

    fn chat(&mut self, data: &[u8]) -> bool {
        if data == b"[DONE]" {
            self.end = End::Terminal;
            return false;
        }
        if self.end == End::Open && value_after(&FINISH, data) == Some(b'"') {
            self.end = End::Finished;
        }
        if value_after(&ERROR, data).is_some_and(|first| first == b'{' || first == b'"') && is_error(data) {
            self.end = End::Failed;
        }
        if value_after(&USAGE, data) != Some(b'{') {
            return false;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else { return false };
        self.usage = chunk.usage.map(Usage::from).or(self.usage);
        chunk.choices.is_some_and(|choices| choices.get().bytes().all(|byte| matches!(byte, b'[' | b']' | b' ')))
    }

    fn named(&mut self, event: &sse::Event) {
        let Ok(body) = serde_json::from_slice::<Named>(&event.data) else { return };
        let usage = body.usage.or(body.message.and_then(|m| m.usage)).or(body.response.and_then(|r| r.usage));
        if let Some(usage) = usage.map(Usage::from) {
            let before = self.usage.unwrap_or_default();
            self.usage = Some(Usage { input: usage.input.max(before.input), output: usage.output.max(before.output) });
        }
        match body.r#type.as_deref().unwrap_or(&event.event) {
            "message_stop" | "response.completed" | "response.incomplete" => self.end = End::Terminal,
            "error" | "response.failed" => self.end = End::Failed,
            _ => {}
        }
    }

    /// Takes note of a whole JSON answer.
    pub fn whole(&mut self, body: &[u8]) {
        if let Some(counts) = usage_near_the_end(body) {
            self.usage = Some(counts.into());
        } else if value_after(&USAGE, body) == Some(b'{')
            && let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(body)
        {
            self.usage = chunk.usage.map(Usage::from);
        }
        self.end = End::Terminal;
    }
}

/// The usage at the top level, if it is the last key of that name in the text. Most answers end with it, and what
/// stands before need not be read.
fn usage_near_the_end(body: &[u8]) -> Option<Counts> {
    let key = LAST_USAGE.rfind(body)?;
    let after = key + LAST_USAGE.needle().len();
    let colon = after + body[after..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    if body[colon] != b':' {
        return None;
    }
    let value = colon + 1;
    let mut values = serde_json::Deserializer::from_slice(&body[value..]).into_iter::<Counts>();
    let counts = values.next()?.ok()?;
    let rest = &body[value + values.byte_offset()..];
    if rest.len() > 1024 {
        return None;
    }
    // If an object that is open in front of it is closed by it and nothing is left over, the key stood at the top level.
    let closed: Vec<u8> = [b"{\"\":0", rest].concat();
    serde_json::from_slice::<serde::de::IgnoredAny>(&closed).ok().map(|_| counts)
}

/// The first byte of the value that follows a key, at its last place in the text.
fn value_after(key: &Finder<'_>, text: &[u8]) -> Option<u8> {
    let mut found = None;
    let mut from = 0;
    while let Some(at) = key.find(&text[from..]) {
        let after = from + at + key.needle().len();
        let mut rest = text[after..].iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        if rest.next() == Some(b':')
            && let Some(first) = rest.next()
        {
            // A value that is there counts for more than a `null` elsewhere (`n` choices end one by one).
            if found.is_none_or(|earlier| earlier == b'n') {
                found = Some(first);
            }
        }
        from = after;
    }
    found
}

fn is_error(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        error: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Failed>(data).is_ok_and(|body| body.error.is_some())
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<&'a serde_json::value::RawValue>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Named {
    r#type: Option<String>,
    usage: Option<Counts>,
    message: Option<Inner>,
    response: Option<Inner>,
}

#[derive(Deserialize)]
struct Inner {
    usage: Option<Counts>,
}

/// Both spellings of the same two numbers.
#[derive(Deserialize)]
struct Counts {
    #[serde(alias = "input_tokens", default)]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens", default)]
    completion_tokens: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Usage {
        Usage { input: counts.prompt_tokens.unwrap_or(0), output: counts.completion_tokens.unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(events: &[&str]) -> (Tally, Vec<bool>) {
        let mut tally = Tally::new(Format::Chat);
        let only_usage = events.iter().map(|event| tally.event(format!("data: {event}\n\n").as_bytes())).collect();
        (tally, only_usage)
    }

    #[test]
    fn a_chat_stream_is_finished_by_its_reason_and_ended_by_done() {
        let (tally, _) = chat(&[r#"{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#]);
        assert_eq!((tally.end, tally.complete()), (End::Open, false));
        let (tally, _) = chat(&[r#"{"choices":[{"delta":{},"finish_reason": "stop"}]}"#]);
        assert_eq!((tally.end, tally.complete()), (End::Finished, true));
        let (tally, _) = chat(&["[DONE]"]);
        assert_eq!(tally.end, End::Terminal);
    }

    #[test]
    fn the_chunk_that_only_brings_usage_is_recognised() {
        let (tally, only) = chat(&[
            r#"{"choices":[{"delta":{"content":"\"usage\": {"},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#,
        ]);
        assert_eq!(tally.usage, Some(Usage { input: 3, output: 4 }));
        assert_eq!(only, [false, true]);
    }

    #[test]
    fn usage_beside_a_choice_is_read_but_the_chunk_stays() {
        let (tally, only) =
            chat(&[r#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#]);
        assert_eq!((tally.usage, only), (Some(Usage { input: 1, output: 2 }), vec![false]));
    }

    #[test]
    fn an_error_event_fails_the_stream_and_the_word_in_a_text_does_not() {
        let (tally, _) = chat(&[r#"{"error":{"message":"no"}}"#]);
        assert_eq!(tally.end, End::Failed);
        let (tally, _) = chat(&[r#"{"choices":[{"delta":{"content":"an \"error\": \"x\""},"finish_reason":null}]}"#]);
        assert_eq!(tally.end, End::Open);
    }

    #[test]
    fn named_events_bring_usage_in_parts() {
        let mut tally = Tally::new(Format::Messages);
        for block in [
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":25}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ] {
            tally.event(block.as_bytes());
        }
        assert_eq!((tally.usage, tally.end), (Some(Usage { input: 10, output: 25 }), End::Terminal));
    }

    #[test]
    fn only_usage_at_the_top_level_of_a_whole_answer_counts() {
        const TOP: &str = r#""usage": {"prompt_tokens":3,"completion_tokens":4,"details":{"usage":1}}"#;
        const INNER: &str = r#"[{"usage":{"prompt_tokens":9,"completion_tokens":9}}]"#;
        let top = Some(Usage { input: 3, output: 4 });
        for (body, usage) in [
            (format!(r#"{{"choices":[],{TOP}}}"#), top),
            (format!(r#"{{"choices":[],{TOP},"tier":"x"}} "#), top),
            (format!(r#"{{{TOP},"choices":{INNER}}}"#), top),
            (format!(r#"{{{TOP},"kind":"usage","x":{{"prompt_tokens":9}}}}"#), top),
            (format!(r#"{{{TOP},"text":"{}"}}"#, "x".repeat(2000)), top),
            (format!(r#"{{"choices":{INNER}}}"#), None),
            (format!(r#"{{"text":"{{{}}}"}}"#, TOP.replace('"', "\\\"")), None),
            (r#"{"kind":"usage","x":{"prompt_tokens":9}}"#.to_owned(), None),
            (r#"{"usage":null}"#.to_owned(), None),
        ] {
            let mut tally = Tally::new(Format::Chat);
            tally.whole(body.as_bytes());
            assert_eq!(tally.usage, usage, "{body}");
        }
    }

    #[test]
    fn whole_answers_tell_their_usage() {
        let mut tally = Tally::new(Format::Responses);
        tally.whole(br#"{"output":[],"usage":{"input_tokens":4,"output_tokens":2}}"#);
        assert_eq!(tally.usage, Some(Usage { input: 4, output: 2 }));
    }
}
