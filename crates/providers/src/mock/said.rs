//! What the model says: the text of an answer, cut to the caller's limit.

use super::call::Call;
use super::refusal::Refusal;
use super::says::Says;
use super::words;

/// Bounds of one answer over all choices, because the whole script is held at once.
const EVENTS_LIMIT: u64 = 200_000;
const BYTES_LIMIT: u64 = 64 * 1024 * 1024;

const LOREM: &str = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et \
    dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo \
    consequat.";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) words: u64,
    /// The caller's limit ended it.
    pub(super) cut: bool,
}

impl Said {
    /// One token each; joined they are the text.
    pub(super) fn pieces(&self) -> Vec<&str> {
        words::pieces(&self.text)
    }

    pub(super) fn finish(&self) -> &'static str {
        if self.cut { "length" } else { "stop" }
    }
}

pub(super) fn say(says: Says, heard: String, limit: Option<u64>) -> Said {
    let mut text = match says {
        Says::Lorem(count) => lorem(count),
        Says::Echo | Says::Cent => heard,
    };
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let pieces = words::pieces(&text);
    let cut = pieces.len() > limit;
    let length = pieces.iter().take(limit).map(|piece| piece.len()).sum();
    text.truncate(length);
    Said { words: words::count(&text), text, cut }
}

fn lorem(count: u64) -> String {
    LOREM.split_whitespace().cycle().take(count as usize).collect::<Vec<_>>().join(" ")
}

/// Refuses answers that would not fit into memory with comfort.
pub(super) fn bounded<'a>(said: impl Iterator<Item = &'a Said>, times: u64, is_streamed: bool) -> Result<(), Refusal> {
    let (words, bytes) = said.fold((0, 0), |(words, bytes), said| (words + said.words, bytes + said.text.len() as u64));
    let events = if is_streamed { words } else { 0 };
    if events.saturating_mul(times) > EVENTS_LIMIT || bytes.saturating_mul(times) > BYTES_LIMIT {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(heard: &str, limit: Option<u64>) -> Said {
        say(Says::Echo, heard.to_owned(), limit)
    }

    #[test]
    fn lorem_has_the_tokens_asked_for() {
        assert_eq!(say(Says::Lorem(3), String::new(), None).text, "Lorem ipsum dolor");
        assert_eq!(say(Says::Lorem(1000), String::new(), None).words, 1000);
    }

    #[test]
    fn a_limit_cuts_and_says_so() {
        let said = echo("one two three", Some(2));
        assert_eq!((said.text.as_str(), said.words, said.finish()), ("one two", 2, "length"));
        assert_eq!(echo("one two", Some(2)).finish(), "stop");
        assert_eq!(echo("one two", Some(0)).text, "");
    }
}
