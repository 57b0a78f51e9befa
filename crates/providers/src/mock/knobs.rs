//! Request headers that twist any answer, whatever the model. One table, in the order in which the twists are applied:
//! what replaces the answer, then what shortens it by chunks, then what slows, rewrites or cuts the bytes that are left.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::framing::Framing;
use super::refusal::Refusal;
use super::script::Step;
use super::twist::Twist;
use super::usage::Honesty;

/// What the request's headers ask for.
#[derive(Debug, PartialEq)]
pub(super) struct Knobs {
    pub(super) honesty: Honesty,
    /// In the order of application.
    pub(super) twists: Vec<Twist>,
}

struct Row {
    name: &'static str,
    help: &'static str,
    /// Every value of the header; `None` when one is bad.
    read: fn(&[&str]) -> Option<Asked>,
}

enum Asked {
    Honesty(Honesty),
    Twist(Twist),
}

const ROWS: &[Row] = &[
    Row { name: "x-mock-usage", help: "missing | zero | lie-<factor>: what usage reports", read: usage },
    Row {
        name: "x-mock-status",
        help: "<status>: an error with that status, 400 to 599, instead of the answer",
        read: |values| Some(Asked::Twist(Twist::Status(status(one(values)?)?))),
    },
    Row {
        name: "x-mock-garbage",
        help: "html | bytes: a page in place of the answer, or bytes that mean nothing in place of its second half",
        read: |values| match one(values)? {
            "html" => Some(Asked::Twist(Twist::Garbage)),
            "bytes" => Some(Asked::Twist(Twist::Noise)),
            _ => None,
        },
    },
    Row {
        name: "x-mock-error-in-stream",
        help: "<chunks> | <chunks>-<status>: that many chunks, then an error event and the end; not streamed: that status",
        read: error_in_stream,
    },
    Row {
        name: "x-mock-cut-chunks",
        help: "<chunks>: breaks the connection after that many chunks; not streamed: after half of the bytes",
        read: |values| Some(Asked::Twist(Twist::EndAfterChunks(usize::try_from(number(values)?).ok()?, Step::Cut))),
    },
    Row {
        name: "x-mock-hang",
        help: "head | body: never answers, or sends half of the body and then nothing",
        read: |values| match one(values)? {
            "head" => Some(Asked::Twist(Twist::HangHead)),
            "body" => Some(Asked::Twist(Twist::HangBody)),
            _ => None,
        },
    },
    Row {
        name: "x-mock-slow-ms",
        help: "<ms>: waits that long between chunks; not streamed: before the head",
        read: |values| Some(Asked::Twist(Twist::Slow(millis(values)?))),
    },
    Row {
        name: "x-mock-framing",
        help: "crlf | cr | comments | split: writes the events of a stream in another way",
        read: framing,
    },
    Row {
        name: "x-mock-cut",
        help: "<bytes>: breaks the connection after that many bytes of the body",
        read: |values| Some(Asked::Twist(Twist::EndAfterBytes(number(values)?, Step::Cut))),
    },
    Row {
        name: "x-mock-reset",
        help: "<bytes>: resets the connection (RST) after that many bytes of the body",
        read: |values| Some(Asked::Twist(Twist::EndAfterBytes(number(values)?, Step::Reset))),
    },
    Row {
        name: "x-mock-half-close",
        help: "<bytes>: ends its side of the connection (FIN) after that many bytes of the body, and goes on reading",
        read: |values| Some(Asked::Twist(Twist::EndAfterBytes(number(values)?, Step::HalfClose))),
    },
    Row {
        name: "x-mock-drip",
        help: "<bytes>-<ms>: that many bytes at a time, that long between them",
        read: |values| {
            let (size, time) = one(values)?.split_once('-')?;
            let size = size.parse().ok().filter(|size| *size > 0)?;
            Some(Asked::Twist(Twist::Drip(size, Duration::from_millis(time.parse().ok()?))))
        },
    },
    Row {
        name: "x-mock-delay-ms",
        help: "<ms>: waits that long before the head",
        read: |values| Some(Asked::Twist(Twist::Delay(millis(values)?))),
    },
    Row {
        name: "x-mock-retry-after",
        help: "<seconds>: sets retry-after",
        read: |values| Some(Asked::Twist(Twist::RetryAfter(number(values)?))),
    },
    Row {
        name: "x-mock-header",
        help: "<name>=<value>: sets a header of the answer; may be repeated",
        read: |values| {
            values.iter().map(|value| header(value)).collect::<Option<_>>().map(Twist::Headers).map(Asked::Twist)
        },
    },
];

/// Every request header with what it does.
pub const HEADERS: &[(&str, &str)] = &{
    let mut headers = [("", ""); ROWS.len()];
    let mut at = 0;
    while at < ROWS.len() {
        headers[at] = (ROWS[at].name, ROWS[at].help);
        at += 1;
    }
    headers
};

pub(super) fn read(headers: &HeaderMap) -> Result<Knobs, Refusal> {
    let unknown = headers
        .keys()
        .find(|name| name.as_str().starts_with("x-mock-") && ROWS.iter().all(|row| row.name != name.as_str()));
    if let Some(name) = unknown {
        return Err(Refusal::of(name.as_str(), format!("no such header: `{name}`")));
    }
    let mut knobs = Knobs { honesty: Honesty::Exact, twists: Vec::new() };
    for row in ROWS.iter().filter(|row| headers.contains_key(row.name)) {
        let values: Option<Vec<&str>> =
            headers.get_all(row.name).iter().map(|value| value.to_str().ok().map(str::trim)).collect();
        match values.and_then(|values| (row.read)(&values)) {
            Some(Asked::Honesty(honesty)) => knobs.honesty = honesty,
            Some(Asked::Twist(twist)) => knobs.twists.push(twist),
            None => return Err(Refusal::of(row.name, format!("bad value of `{}`; it takes {}", row.name, row.help))),
        }
    }
    Ok(knobs)
}

fn one<'a>(values: &[&'a str]) -> Option<&'a str> {
    match values {
        [value] => Some(value),
        _ => None,
    }
}

fn number(values: &[&str]) -> Option<u64> {
    one(values)?.parse().ok()
}

fn millis(values: &[&str]) -> Option<Duration> {
    number(values).map(Duration::from_millis)
}

fn status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|status| (400..600).contains(status))
}

fn error_in_stream(values: &[&str]) -> Option<Asked> {
    let (chunks, code) = one(values)?.split_once('-').unwrap_or((one(values)?, "500"));
    Some(Asked::Twist(Twist::ErrorInStream(chunks.parse().ok()?, status(code)?)))
}

fn usage(values: &[&str]) -> Option<Asked> {
    Some(Asked::Honesty(match one(values)? {
        "missing" => Honesty::Missing,
        "zero" => Honesty::Zero,
        other => Honesty::Times(other.strip_prefix("lie-")?.parse().ok()?),
    }))
}

fn framing(values: &[&str]) -> Option<Asked> {
    let framing = match one(values)? {
        "crlf" => Framing::Crlf,
        "cr" => Framing::Cr,
        "comments" => Framing::Comments,
        "split" => Framing::Split,
        _ => return None,
    };
    Some(Asked::Twist(Twist::Framing(framing)))
}

/// Headers that frame the message are the player's: a false one would break the connection instead of the answer.
fn header(value: &str) -> Option<(String, String)> {
    let (name, value) = value.split_once('=')?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
    HeaderValue::from_str(value).ok()?;
    let framing = ["content-length", "transfer-encoding", "connection", "upgrade", "trailer", "te"];
    (!framing.contains(&name.as_str())).then(|| (name.as_str().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> Result<Knobs, Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        read(&headers)
    }

    #[test]
    fn every_documented_header_is_understood() {
        let ms = Duration::from_millis;
        let header = ("server".to_owned(), "a=b".to_owned());
        let expected = [
            ("x-mock-usage", "lie-10", None),
            ("x-mock-status", "503", Some(Twist::Status(503))),
            ("x-mock-garbage", "bytes", Some(Twist::Noise)),
            ("x-mock-error-in-stream", "0-529", Some(Twist::ErrorInStream(0, 529))),
            ("x-mock-cut-chunks", "3", Some(Twist::EndAfterChunks(3, Step::Cut))),
            ("x-mock-hang", "body", Some(Twist::HangBody)),
            ("x-mock-slow-ms", "5", Some(Twist::Slow(ms(5)))),
            ("x-mock-framing", "split", Some(Twist::Framing(Framing::Split))),
            ("x-mock-cut", "100", Some(Twist::EndAfterBytes(100, Step::Cut))),
            ("x-mock-reset", "100", Some(Twist::EndAfterBytes(100, Step::Reset))),
            ("x-mock-half-close", "100", Some(Twist::EndAfterBytes(100, Step::HalfClose))),
            ("x-mock-drip", "2-10", Some(Twist::Drip(2, ms(10)))),
            ("x-mock-delay-ms", "50", Some(Twist::Delay(ms(50)))),
            ("x-mock-retry-after", "7", Some(Twist::RetryAfter(7))),
            ("x-mock-header", "server=a=b", Some(Twist::Headers(vec![header]))),
        ];
        assert_eq!(expected.len(), HEADERS.len());
        for ((documented, help), (name, value, twist)) in HEADERS.iter().zip(expected) {
            assert_eq!(*documented, name);
            assert_eq!(asked(&[(name, value)]).expect(name).twists, Vec::from_iter(twist), "{name}");
            assert!(!help.is_empty());
        }
    }

    #[test]
    fn usage_may_lie() {
        for (value, honesty) in [("missing", Honesty::Missing), ("zero", Honesty::Zero), ("lie-10", Honesty::Times(10))]
        {
            assert_eq!(asked(&[("x-mock-usage", value)]).expect(value).honesty, honesty);
        }
    }

    #[test]
    fn a_bad_value_is_refused_by_the_name_of_its_header() {
        for (name, value) in [
            ("x-mock-status", "200"),
            ("x-mock-status", "abc"),
            ("x-mock-delay-ms", "-1"),
            ("x-mock-hang", "tail"),
            ("x-mock-usage", "lie-"),
            ("x-mock-framing", ""),
            ("x-mock-drip", "0-10"),
            ("x-mock-drip", "5"),
            ("x-mock-error-in-stream", "2-200"),
            ("x-mock-header", "no value"),
            ("x-mock-header", "content-length=3"),
            ("x-mock-nonsense", "1"),
        ] {
            let body = asked(&[(name, value)]).expect_err(value).body();
            assert_eq!(body["error"]["param"], name);
            assert!(body["error"]["message"].as_str().expect("a message").contains(name));
        }
        assert!(asked(&[("x-mock-cut", "1"), ("x-mock-cut", "2")]).is_err());
    }

    #[test]
    fn a_header_may_be_repeated() {
        let knobs =
            asked(&[("x-mock-header", "set-cookie=a"), ("x-mock-header", "set-cookie=b")]).expect("both are good");
        let cookie = |value: &str| ("set-cookie".to_owned(), value.to_owned());
        assert_eq!(knobs.twists, [Twist::Headers(vec![cookie("a"), cookie("b")])]);
    }
}
