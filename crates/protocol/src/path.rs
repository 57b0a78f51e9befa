//! Paths that mean one thing only.
//!
//! Two readers of one path must never disagree on where it leads: our router, the upstream's, and whatever stands
//! between. So a path is either plain or refused; nothing is ever rewritten on its way.

use percent_encoding::percent_decode_str;

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguous {
    #[error("the path has a `.` or `..` segment")]
    DotSegment,
    #[error("the path has an empty segment (`//`)")]
    EmptySegment,
    #[error("the path has a backslash")]
    Backslash,
    #[error("the path has a control character")]
    Control,
    #[error("the path has a `%` that does not begin an encoded byte, or encoded bytes that are not UTF-8")]
    BadEncoding,
    #[error("the path is encoded more than twice")]
    TooDeep,
}

/// Encodings of encodings that are looked through; more than that is nobody's honest path.
const DEPTH: usize = 3;

/// Accepts a raw (still encoded) path that every reader understands alike.
pub fn check(raw: &str) -> Result<(), Ambiguous> {
    let mut dot_or_escape = raw.contains("//");
    for byte in raw.bytes() {
        match byte {
            b'\\' => return Err(Ambiguous::Backslash),
            0..=0x20 | 0x7f => return Err(Ambiguous::Control),
            b'%' | b'.' => dot_or_escape = true,
            _ => {}
        }
    }
    if dot_or_escape { check_closely(raw) } else { Ok(()) }
}

fn check_closely(raw: &str) -> Result<(), Ambiguous> {
    let mut seen = raw.to_owned();
    for _ in 0..DEPTH {
        segments(&seen)?;
        if !seen.contains('%') {
            return Ok(());
        }
        let decoded = decode(&seen)?;
        if decoded == seen {
            return Ok(());
        }
        seen = decoded;
    }
    Err(Ambiguous::TooDeep)
}

/// The rules on decoded text: an encoded slash divides segments for some readers, so it does here.
fn segments(path: &str) -> Result<(), Ambiguous> {
    if path.contains('\\') {
        return Err(Ambiguous::Backslash);
    }
    if path.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err(Ambiguous::Control);
    }
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() && parts.peek().is_some() {
            return Err(Ambiguous::EmptySegment);
        }
        if part == "." || part == ".." {
            return Err(Ambiguous::DotSegment);
        }
        // `..;a=b` is a dot segment for servers that know path parameters.
        if part.split(';').next().is_some_and(|name| name == "." || name == "..") {
            return Err(Ambiguous::DotSegment);
        }
    }
    Ok(())
}

fn decode(path: &str) -> Result<String, Ambiguous> {
    let bytes = path.as_bytes();
    for (at, _) in path.match_indices('%') {
        let hex = |offset: usize| bytes.get(at + offset).is_some_and(u8::is_ascii_hexdigit);
        // A `%` from an earlier decoding may stand alone (`100%25` is `100%`): then there is nothing left to decode.
        if !(hex(1) && hex(2)) {
            return Err(Ambiguous::BadEncoding);
        }
    }
    percent_decode_str(path).decode_utf8().map(|text| text.into_owned()).map_err(|_| Ambiguous::BadEncoding)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_paths_are_accepted_as_they_are() {
        for path in [
            "/",
            "/v1/chat/completions",
            "/v1/files/file-abc.jsonl/content",
            "/v1/models/ft:gpt-4o:acme::x",
            "/v1/models/meta%2Fllama-3",
            "/v1/echo/a%20b",
            "/v1/x/%C3%A9",
            "/v1/thing/",
            "/v1/.well-known/x",
            "/v1/a..b/...c",
            "/v1/a;b=c",
        ] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn paths_that_two_readers_could_take_differently_are_refused() {
        for (path, why) in [
            ("/v1/../admin", Ambiguous::DotSegment),
            ("/v1/./x", Ambiguous::DotSegment),
            ("/v1/..", Ambiguous::DotSegment),
            ("..", Ambiguous::DotSegment),
            ("%2e%2e/v1", Ambiguous::DotSegment),
            ("/v1/%2e%2e/admin", Ambiguous::DotSegment),
            ("/v1/%2E./admin", Ambiguous::DotSegment),
            ("/v1/x/..%2Fadmin", Ambiguous::DotSegment),
            ("/v1/x%2F..%2F..%2Fadmin", Ambiguous::DotSegment),
            ("/v1/%252e%252e/admin", Ambiguous::DotSegment),
            ("/v1/..;a=b/admin", Ambiguous::DotSegment),
            ("//v1/x", Ambiguous::EmptySegment),
            ("/v1//x", Ambiguous::EmptySegment),
            ("/v1/x%2F%2Fy", Ambiguous::EmptySegment),
            ("/v1\\..\\admin", Ambiguous::Backslash),
            ("/v1/%5c..%5cadmin", Ambiguous::Backslash),
            ("/v1/%00", Ambiguous::Control),
            ("/v1/%0d%0aHost:x", Ambiguous::Control),
            ("/v1/a b", Ambiguous::Control),
            ("/v1/%c0%ae%c0%ae/admin", Ambiguous::BadEncoding),
            ("/v1/%zz", Ambiguous::BadEncoding),
            ("/v1/%", Ambiguous::BadEncoding),
            ("/v1/%25252525252e", Ambiguous::TooDeep),
        ] {
            assert_eq!(check(path), Err(why), "{path}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_path_never_climbs_however_often_it_is_decoded(path in "(/(\\.|%2[eEfF]|%5[cC]|%25|[a-z]|;){0,6}){1,5}") {
            if check(&path).is_ok() {
                let mut seen = path.clone();
                for _ in 0..6 {
                    prop_assert!(!seen.split(['/', '\\']).any(|part| part == ".." || part == "."), "{path} -> {seen}");
                    seen = percent_decode_str(&seen).decode_utf8_lossy().into_owned();
                }
            }
        }

        #[test]
        fn no_string_makes_it_panic(path in ".*") {
            let _checked: Result<(), Ambiguous> = check(&path);
        }
    }
}
