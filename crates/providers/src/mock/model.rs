//! Model names choose what the mock does. One table; anything that is not in it echoes, so that real model names work.
//!
//! A name that begins with `fault-` and is not in the table is refused: a test that misspells its fault must not pass.

use std::time::Duration;

use super::refusal::Refusal;
use super::says::Says;
use super::script::Step;
use super::twist::Twist;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub(super) says: Says,
    pub(super) twist: Option<Twist>,
}

struct Row {
    /// A name, or a prefix and a number in angle brackets.
    name: &'static str,
    help: &'static str,
    /// Gets the number, or 0 for a plain name; `None` when it is out of range.
    make: fn(u64) -> Option<Model>,
}

const LOREM_LIMIT: u64 = 100_000;

const ROWS: &[Row] = &[
    Row { name: "echo", help: "repeats the last user message", make: |_| says(Says::Echo) },
    Row {
        name: "lorem-<tokens>",
        help: "that many tokens of fixed text, at most 100000",
        make: |tokens| says(Says::Lorem(tokens)).filter(|_| tokens <= LOREM_LIMIT),
    },
    Row { name: "cent", help: "as echo; usage is always 1 token in, 1 token out", make: |_| says(Says::Cent) },
    Row {
        name: "fault-<status>",
        help: "an error with that status, 400 to 599; 429 and 503 with retry-after: 1",
        make: |status| twist(Twist::Status(u16::try_from(status).ok().filter(|status| (400..600).contains(status))?)),
    },
    Row {
        name: "fault-slow-<ms>",
        help: "waits that long between chunks; not streamed: before the head",
        make: |time| twist(Twist::Slow(Duration::from_millis(time))),
    },
    Row {
        name: "fault-cut-<chunks>",
        help: "breaks the connection after that many chunks; not streamed: after half of the bytes",
        make: |chunks| end_after(chunks, Step::Cut),
    },
    Row {
        name: "fault-reset-<chunks>",
        help: "resets the connection (RST) after that many chunks; not streamed: after half of the bytes",
        make: |chunks| end_after(chunks, Step::Reset),
    },
    Row {
        name: "fault-half-close-<chunks>",
        help: "ends its side of the connection (FIN) after that many chunks, and goes on reading; not streamed: after \
            half of the bytes",
        make: |chunks| end_after(chunks, Step::HalfClose),
    },
    Row {
        name: "fault-drip-<ms>",
        help: "one byte at a time, that long between them",
        make: |time| twist(Twist::Drip(1, Duration::from_millis(time))),
    },
    Row { name: "fault-hang", help: "never answers", make: |_| twist(Twist::HangHead) },
    Row {
        name: "fault-hang-<chunks>",
        help: "sends that many chunks, then nothing; not streamed: half of the bytes, then nothing",
        make: |chunks| end_after(chunks, Step::Hang),
    },
    Row { name: "fault-garbage", help: "200 with HTML", make: |_| twist(Twist::Garbage) },
    Row {
        name: "fault-noise",
        help: "half of the answer, then bytes that mean nothing",
        make: |_| twist(Twist::Noise),
    },
    Row { name: "fault-empty", help: "200 with an empty body", make: |_| twist(Twist::Empty) },
    Row {
        name: "fault-error-in-stream",
        help: "two chunks, then an error event and the end; not streamed: 500",
        make: |_| twist(Twist::ErrorInStream(2, 500)),
    },
    Row {
        name: "fault-no-done",
        help: "a stream without its last event (`[DONE]`, `response.completed`)",
        make: |_| twist(Twist::NoDone),
    },
    Row {
        name: "fault-truncate",
        help: "ends the body cleanly in the middle, without a finish",
        make: |_| twist(Twist::Truncate),
    },
];

/// Every model name with what it does, in the order of the documentation. Any other name echoes.
pub const MODELS: &[(&str, &str)] = &{
    let mut models = [("", ""); ROWS.len()];
    let mut at = 0;
    while at < ROWS.len() {
        models[at] = (ROWS[at].name, ROWS[at].help);
        at += 1;
    }
    models
};

pub(super) fn named(name: &str) -> Result<Model, Refusal> {
    match ROWS.iter().find_map(|row| number_in(row.name, name).map(|number| (row.make)(number))) {
        Some(Some(model)) => Ok(model),
        None if !name.starts_with("fault-") => Ok(Model { says: Says::Echo, twist: None }),
        _ => Err(Refusal::of("model", format!("no such fault or number: `{name}`; GET /models lists them"))),
    }
}

/// The number where `name` fits the pattern; 0 where the pattern has none.
fn number_in(pattern: &str, name: &str) -> Option<u64> {
    let Some((prefix, _)) = pattern.split_once('<') else {
        return (pattern == name).then_some(0);
    };
    let digits = name.strip_prefix(prefix)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn says(says: Says) -> Option<Model> {
    Some(Model { says, twist: None })
}

fn end_after(chunks: u64, end: Step) -> Option<Model> {
    twist(Twist::EndAfterChunks(usize::try_from(chunks).ok()?, end))
}

fn twist(twist: Twist) -> Option<Model> {
    Some(Model { says: Says::Echo, twist: Some(twist) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twist_of(name: &str) -> Option<Twist> {
        named(name).expect("the name is known").twist
    }

    #[test]
    fn every_documented_name_is_understood() {
        let expected = [
            ("echo", None),
            ("lorem-429", None),
            ("cent", None),
            ("fault-429", Some(Twist::Status(429))),
            ("fault-slow-429", Some(Twist::Slow(Duration::from_millis(429)))),
            ("fault-cut-429", Some(Twist::EndAfterChunks(429, Step::Cut))),
            ("fault-reset-429", Some(Twist::EndAfterChunks(429, Step::Reset))),
            ("fault-half-close-429", Some(Twist::EndAfterChunks(429, Step::HalfClose))),
            ("fault-drip-429", Some(Twist::Drip(1, Duration::from_millis(429)))),
            ("fault-hang", Some(Twist::HangHead)),
            ("fault-hang-429", Some(Twist::EndAfterChunks(429, Step::Hang))),
            ("fault-garbage", Some(Twist::Garbage)),
            ("fault-noise", Some(Twist::Noise)),
            ("fault-empty", Some(Twist::Empty)),
            ("fault-error-in-stream", Some(Twist::ErrorInStream(2, 500))),
            ("fault-no-done", Some(Twist::NoDone)),
            ("fault-truncate", Some(Twist::Truncate)),
        ];
        assert_eq!(expected.len(), MODELS.len());
        for ((pattern, help), (name, twist)) in MODELS.iter().zip(expected) {
            assert!(number_in(pattern, name).is_some(), "{pattern} is in the place of {name}");
            assert_eq!(twist_of(name), twist, "{name}");
            assert!(!help.is_empty());
        }
    }

    #[test]
    fn lorem_and_cent_say_other_things_than_echo() {
        assert_eq!(named("lorem-7").expect("known").says, Says::Lorem(7));
        assert_eq!(named("cent").expect("known").says, Says::Cent);
    }

    #[test]
    fn a_real_model_name_echoes() {
        assert_eq!(named("gpt-4o-mini").expect("any name"), Model { says: Says::Echo, twist: None });
        assert_eq!(named("lorem-ipsum").expect("any name"), Model { says: Says::Echo, twist: None });
    }

    #[test]
    fn a_misspelt_fault_is_refused() {
        for name in ["fault-200", "fault-600", "fault-hangs", "fault-slow-", "fault-slow-x", "fault-", "lorem-100001"] {
            assert!(named(name).is_err(), "{name}");
        }
    }
}
