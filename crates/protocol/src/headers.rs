//! Header names of ours, under every prefix we answer to (D14).
//!
//! Requests may use any prefix of the list; answers carry all of them, so that clients written for either find what
//! they look for. A name is written once, in a table, without prefix.

use http::{HeaderMap, HeaderName, HeaderValue};

macro_rules! names {
    ($kind:ident: $($variant:ident = $text:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $kind { $($variant,)* }
        impl $kind {
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];
            /// The name without prefix.
            pub const fn text(self) -> &'static str {
                match self { $($kind::$variant => $text,)* }
            }
        }
    };
}

names! { Ask:
    ApiKey = "api-key",
    Provider = "provider",
    Config = "config",
    VirtualKey = "virtual-key",
    CustomHost = "custom-host",
    TraceId = "trace-id",
    SpanId = "span-id",
    ParentSpanId = "parent-span-id",
    SpanName = "span-name",
    Metadata = "metadata",
    RequestTimeout = "request-timeout",
    ForwardHeaders = "forward-headers",
    SensitiveHeaders = "sensitive-headers",
    StrictOpenAiCompliance = "strict-open-ai-compliance",
    Debug = "debug",
    Hop = "hop",
    CacheNamespace = "cache-namespace",
    CacheForceRefresh = "cache-force-refresh",
    Beta = "beta",
    NitroMode = "nitro-mode",
    FetchIntegratedModels = "fetch-integrated-models",
    Explain = "explain",
    DryRun = "dry-run",
}

names! { Tell:
    TraceId = "trace-id",
    RequestId = "request-id",
    Provider = "provider",
    LastUsedOptionIndex = "last-used-option-index",
    CacheStatus = "cache-status",
    RetryAttemptCount = "retry-attempt-count",
    GatewayException = "gateway-exception",
}

/// The prefixes we answer to; the first is ours.
#[derive(Debug)]
pub struct Prefixes {
    prefixes: Vec<String>,
    /// For each answer header, its name under every prefix.
    answers: Vec<Vec<HeaderName>>,
}

impl Prefixes {
    /// Each prefix is a header name's beginning, such as `x-gateway-`. The error names the bad one.
    pub fn new<S: AsRef<str>>(list: &[S]) -> Result<Prefixes, String> {
        let prefixes: Vec<String> = list.iter().map(|prefix| prefix.as_ref().trim().to_ascii_lowercase()).collect();
        if prefixes.is_empty() {
            return Err("the list of header prefixes is empty; give at least `x-gateway-`".into());
        }
        // Leaked once for a process: a name of static text is cloned without counting references, on every answer.
        let name = |prefix: &str, text: &str| match HeaderName::try_from(format!("{prefix}{text}")) {
            Ok(name) => Ok(HeaderName::from_static(Box::leak(name.as_str().into()))),
            Err(_) => Err(format!("`{prefix}` cannot begin a header name; use something like `x-gateway-`")),
        };
        for prefix in &prefixes {
            if prefix.len() < 3 || !prefix.ends_with('-') {
                return Err(format!("the header prefix `{prefix}` is too short or does not end in `-`"));
            }
        }
        let answers = Tell::ALL
            .iter()
            .map(|tell| prefixes.iter().map(|prefix| name(prefix, tell.text())).collect())
            .collect::<Result<_, _>>()?;
        Ok(Prefixes { prefixes, answers })
    }

    /// The name without prefix, if the header is one of ours.
    pub fn strip<'n>(&self, name: &'n str) -> Option<&'n str> {
        self.prefixes.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()))
    }

    /// Sets an answer header under every prefix.
    pub fn tell(&self, headers: &mut HeaderMap, tell: Tell, value: &HeaderValue) {
        for name in &self.answers[tell as usize] {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// Our prefix followed by a name, for messages.
    pub fn ours(&self, ask: Ask) -> String {
        format!("{}{}", self.prefixes[0], ask.text())
    }

    /// Reads all headers of ours in one pass.
    pub fn read(&self, headers: &HeaderMap) -> Asked {
        let mut asked = Asked { values: [const { None }; Ask::ALL.len()], rank: [u8::MAX; Ask::ALL.len()] };
        for (name, value) in headers {
            let name = name.as_str();
            let Some((rank, text)) = self.ranked(name) else { continue };
            if let Some(at) = Ask::ALL.iter().position(|ask| ask.text() == text)
                && rank <= asked.rank[at]
            {
                // Lines of one name are one list.
                let earlier = asked.values[at].take().filter(|_| rank == asked.rank[at]);
                asked.values[at] = Some(match earlier {
                    Some(earlier) => joined(&earlier, value),
                    None => value.clone(),
                });
                asked.rank[at] = rank;
            }
        }
        asked
    }

    fn ranked<'n>(&self, name: &'n str) -> Option<(u8, &'n str)> {
        let with_rank = |(rank, prefix): (usize, &String)| Some((rank as u8, name.strip_prefix(prefix.as_str())?));
        self.prefixes.iter().enumerate().find_map(with_rank)
    }
}

fn joined(one: &HeaderValue, other: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(&[one.as_bytes(), b", ", other.as_bytes()].concat()).unwrap_or_else(|_| one.clone())
}

/// What a request says through headers of ours. Where two prefixes differ, the earlier one in the list holds.
#[derive(Debug)]
pub struct Asked {
    values: [Option<HeaderValue>; Ask::ALL.len()],
    rank: [u8; Ask::ALL.len()],
}

impl Asked {
    pub fn value(&self, ask: Ask) -> Option<&HeaderValue> {
        self.values[ask as usize].as_ref()
    }

    /// The text of a header; `Err` when it is not UTF-8, `Ok(None)` when absent or empty.
    pub fn text(&self, ask: Ask) -> Result<Option<&str>, Ask> {
        let Some(value) = self.value(ask) else { return Ok(None) };
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| ask)?.trim();
        Ok((!text.is_empty()).then_some(text))
    }

    /// Whether the header says the literal `true`.
    pub fn is_true(&self, ask: Ask) -> bool {
        self.value(ask).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
    }
}

/// The trace a request says it belongs to: in a header of ours, or in `traceparent`.
pub fn given_trace(asked: &Asked, headers: &HeaderMap) -> Option<HeaderValue> {
    const LONGEST: usize = 512;
    if let Some(own) = asked.value(Ask::TraceId).filter(|value| !value.is_empty() && value.len() <= LONGEST) {
        return Some(own.clone());
    }
    let parent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let id = parent.and_then(|text| text.split('-').nth(1)).filter(|id| id.len() == 32)?;
    HeaderValue::from_str(id).ok()
}

/// Headers that belong to one connection and are never passed on, in either direction.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
    )
}

/// Names listed in `Connection` are hop-by-hop as well.
pub fn named_in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(http::header::CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// A list in a header: `A,B`, a JSON array, or what Python prints for one.
pub fn list(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(|item| item.trim().trim_matches(['"', '\'']).trim()).filter(|item| !item.is_empty()).collect()
}

/// Names that `forward-headers` may not carry upstream.
pub const NEVER_FORWARDED: &[&str] = &[
    "metadata-flavor",
    "x-aws-ec2-metadata-token",
    "x-google-metadata-request",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes() -> Prefixes {
        Prefixes::new(&["x-gateway-", "x-portkey-"]).unwrap()
    }

    #[test]
    fn either_prefix_is_read_and_ours_wins() {
        let mut headers = HeaderMap::new();
        headers.insert("x-portkey-provider", HeaderValue::from_static("theirs"));
        headers.insert("x-portkey-trace-id", HeaderValue::from_static("t"));
        headers.insert("x-gateway-provider", HeaderValue::from_static("ours"));
        let prefixes = prefixes();
        let asked = prefixes.read(&headers);
        assert_eq!(asked.text(Ask::Provider), Ok(Some("ours")));
        assert_eq!(asked.text(Ask::TraceId), Ok(Some("t")));
        assert_eq!(asked.text(Ask::Config), Ok(None));
    }

    #[test]
    fn answers_carry_every_prefix() {
        let mut headers = HeaderMap::new();
        prefixes().tell(&mut headers, Tell::TraceId, &HeaderValue::from_static("t"));
        assert_eq!(headers["x-gateway-trace-id"], "t");
        assert_eq!(headers["x-portkey-trace-id"], "t");
    }

    #[test]
    fn every_name_is_lower_case_and_stands_once() {
        for (at, ask) in Ask::ALL.iter().enumerate() {
            assert_eq!(ask.text(), ask.text().to_ascii_lowercase());
            assert_eq!(*ask as usize, at);
            assert!(!Ask::ALL[..at].iter().any(|earlier| earlier.text() == ask.text()), "{}", ask.text());
        }
        for (at, tell) in Tell::ALL.iter().enumerate() {
            assert_eq!(*tell as usize, at);
        }
    }

    #[test]
    fn lists_are_read_in_three_spellings() {
        for text in ["A, B", r#"["A","B"]"#, "['A', 'B']"] {
            assert_eq!(list(text), ["A", "B"], "{text}");
        }
        assert!(list(" ").is_empty());
    }

    #[test]
    fn a_prefix_that_cannot_be_one_is_refused_by_name() {
        assert!(Prefixes::new(&["x gateway-"]).unwrap_err().contains("x gateway-"));
        assert!(Prefixes::new(&["x-gateway"]).unwrap_err().contains("x-gateway"));
        assert!(Prefixes::new::<&str>(&[]).is_err());
    }
}
