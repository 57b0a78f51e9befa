//! What the model says: the text of an answer, in tokens, cut to the caller's limit.

use serde_json::Value;

use super::call::Call;
use super::model::Says;
use super::refusal::Refusal;
use super::words;

/// Bounds of one answer over all choices, because the whole script is held at once.
const PIECES_LIMIT: u64 = 200_000;
const BYTES_LIMIT: u64 = 64 * 1024 * 1024;

const LOREM: &str = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et \
    dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo \
    consequat.";

#[derive(Debug, PartialEq)]
pub(super) struct Said {
    /// One token each; joined they are the text.
    pub(super) pieces: Vec<String>,
    pub(super) words: u64,
    /// The caller's limit ended it.
    pub(super) cut: bool,
}

impl Said {
    pub(super) fn text(&self) -> String {
        self.pieces.concat()
    }

    pub(super) fn finish(&self) -> &'static str {
        if self.cut { "length" } else { "stop" }
    }
}

pub(super) fn say(says: Says, heard: &str, limit: Option<u64>) -> Said {
    let mut pieces: Vec<String> = match says {
        Says::Lorem(count) => lorem(count),
        Says::Echo | Says::Cent => words::pieces(heard).into_iter().map(str::to_owned).collect(),
    };
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let cut = pieces.len() > limit;
    pieces.truncate(limit);
    let words = pieces.iter().map(|piece| words::count(piece)).sum();
    Said { pieces, words, cut }
}

fn lorem(count: u64) -> Vec<String> {
    let space = std::iter::once("").chain(std::iter::repeat(" "));
    LOREM
        .split_whitespace()
        .cycle()
        .zip(space)
        .map(|(word, space)| format!("{space}{word}"))
        .take(count as usize)
        .collect()
}

/// Refuses answers that would not fit into memory with comfort.
pub(super) fn bounded<'a>(said: impl Iterator<Item = &'a Said>, times: u64) -> Result<(), Refusal> {
    let (mut pieces, mut bytes) = (0, 0);
    for said in said {
        pieces += said.pieces.len() as u64;
        bytes += said.pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
    }
    if pieces.saturating_mul(times) > PIECES_LIMIT || bytes.saturating_mul(times) > BYTES_LIMIT {
        return Err(Refusal::bad("the answer would be larger than the mock makes"));
    }
    Ok(())
}

/// How many answers: `n`, or one.
pub(super) fn choices(call: &Call<'_>) -> Result<u64, Refusal> {
    match call.number("n", 1)? {
        Some(n) if n > 128 => Err(Refusal::of("n", "`n` must be at most 128")),
        n => Ok(n.unwrap_or(1)),
    }
}

/// The texts of a message's content: a string, or the text parts of a list.
pub(super) fn texts(content: Option<&Value>) -> Vec<&str> {
    match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// A conversation as the mock hears it: the words of all of it, and what the user said last.
pub(super) fn hear(messages: &[Value]) -> (u64, String) {
    let words = messages.iter().flat_map(|message| texts(message.get("content"))).map(words::count).sum();
    let last_user = messages.iter().rfind(|message| message.get("role").and_then(Value::as_str) == Some("user"));
    let heard = last_user.or(messages.last()).map(|message| texts(message.get("content")).join("\n"));
    (words, heard.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lorem_has_the_tokens_asked_for() {
        assert_eq!(say(Says::Lorem(3), "", None).text(), "Lorem ipsum dolor");
        assert_eq!(say(Says::Lorem(1000), "", None).words, 1000);
    }

    #[test]
    fn a_limit_cuts_and_says_so() {
        let said = say(Says::Echo, "one two three", Some(2));
        assert_eq!((said.text().as_str(), said.words, said.finish()), ("one two", 2, "length"));
        assert_eq!(say(Says::Echo, "one two", Some(2)).finish(), "stop");
    }

    #[test]
    fn the_last_user_message_is_heard_and_every_text_is_counted() {
        let messages = [
            json!({"role": "system", "content": "be kind"}),
            json!({"role": "user", "content": [{"type": "text", "text": "look at"}, {"type": "image_url"},
                {"type": "text", "text": "this"}]}),
            json!({"role": "assistant", "content": null}),
        ];
        assert_eq!(hear(&messages), (5, "look at\nthis".to_owned()));
    }
}
