//! Step 16: the provider's answer, turned into ours.
//!
//! Whole JSON answers of endpoints we speak are held up to a bound, so that a body that breaks off becomes a 502 and not
//! half an answer; whatever is larger, streamed, binary or relayed passes frame by frame.

use bytes::{Bytes, BytesMut};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, SET_COOKIE, STRICT_TRANSPORT_SECURITY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use protocol::body;
use protocol::endpoint::{Body as Asked, Manner};
use protocol::error::{Code, Refusal};
use protocol::headers::{is_hop_by_hop, named_in_connection};
use protocol::tally::{Format, Tally};
use serde_json::{Map, Value, json};

use crate::encode::Expected;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::Target;

/// Whole answers up to this size are held before their first byte is passed on.
const HELD: usize = 256 * 1024;

/// An answer on its way to the caller.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: AnswerBody,
    pub tally: Tally,
    pub provider: &'static str,
    pub path: &'static str,
    pub cache_status: HeaderValue,
}

pub(crate) enum AnswerBody {
    Whole(Bytes),
    Stream(Passing),
}

/// A body that passes frame by frame.
pub struct Passing {
    /// What was read of it already.
    pub begun: Bytes,
    pub rest: outbound::Answer,
    pub format: Format,
    pub events: Events,
}

/// How the frames of a passing body are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Not at all.
    Unread,
    /// As server-sent events, beside the stream.
    Read,
    /// Likewise, and the chunk that only brings usage is taken out.
    HideUsage,
}

pub(crate) async fn decode(
    gateway: &Gateway,
    target: &Target,
    expected: Expected,
    response: Response<outbound::Answer>,
) -> Result<Answer, Error> {
    let (head, body) = response.into_parts();
    let spoken = expected.endpoint.manner == Manner::Spoken;
    let slug = target.provider.slug;
    let mut tally = Tally::new(Format::of(expected.endpoint.family));
    let mut headers = passed_on(gateway, head.headers, spoken);
    let sse = is_sse(&headers);
    let encoded = headers.contains_key(CONTENT_ENCODING);
    let plan = if sse || !spoken || expected.head_only || encoded {
        Hold::No
    } else if !head.status.is_success() {
        Hold::Error
    } else if is_json(&headers) || speaks_json(expected) {
        Hold::Json
    } else {
        Hold::No
    };
    let body = match plan {
        Hold::No => AnswerBody::Stream(passing(Bytes::new(), body, expected, sse && !encoded)),
        Hold::Error | Hold::Json => match gather(body).await.map_err(|_| broke_off(slug))? {
            Gathered::Whole(bytes) if plan == Hold::Error => {
                AnswerBody::Whole(in_our_shape(slug, &mut headers, &bytes))
            }
            Gathered::Whole(bytes) => {
                is_an_answer(slug, expected, &bytes)?;
                tally.whole(&bytes);
                AnswerBody::Whole(bytes)
            }
            Gathered::Larger(begun, rest) => AnswerBody::Stream(passing(begun, rest, expected, false)),
        },
    };
    if sse {
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    // The length of what we send is known to whoever frames it; only a head without a body must be told.
    if !expected.head_only {
        headers.remove(CONTENT_LENGTH);
    }
    Ok(Answer {
        status: head.status,
        headers,
        body,
        tally,
        provider: slug,
        path: target.path,
        cache_status: target.cache.status(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    No,
    Error,
    Json,
}

fn passing(begun: Bytes, rest: outbound::Answer, expected: Expected, sse: bool) -> Passing {
    let events = match (sse, expected.hide_usage) {
        (false, _) => Events::Unread,
        (true, false) => Events::Read,
        (true, true) => Events::HideUsage,
    };
    let format = if sse { Format::of(expected.endpoint.family) } else { Format::Unknown };
    Passing { begun, rest, format, events }
}

enum Gathered {
    Whole(Bytes),
    Larger(Bytes, outbound::Answer),
}

async fn gather(mut body: outbound::Answer) -> Result<Gathered, outbound::BoxError> {
    if body.size_hint().lower() > HELD as u64 {
        return Ok(Gathered::Larger(Bytes::new(), body));
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        if rest.len().max(first.len()) > HELD && !body.is_end_stream() {
            let begun = if rest.is_empty() { first } else { rest.freeze() };
            return Ok(Gathered::Larger(begun, body));
        }
    }
    Ok(Gathered::Whole(if rest.is_empty() { first } else { rest.freeze() }))
}

fn broke_off(slug: &'static str) -> Refusal {
    Refusal::new(Code::UpstreamFailed, format!("{slug} error: upstream broke off inside its answer")).of(slug)
}

/// Speech is bytes, transcriptions may be text; every other spoken endpoint answers JSON.
fn speaks_json(expected: Expected) -> bool {
    expected.endpoint.body == Asked::Json && expected.endpoint.id != "createSpeech" && !expected.stream
}

/// A success that is empty, a web page or half of an answer is not an answer.
fn is_an_answer(slug: &'static str, expected: Expected, bytes: &[u8]) -> Result<(), Refusal> {
    if !speaks_json(expected) || body::is_one_object(bytes) {
        return Ok(());
    }
    let shown: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
    Err(Refusal::new(Code::UpstreamGarbled, format!("Invalid response received from {slug}: {shown}")).of(slug))
}

fn is_sse(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// The provider's headers that the caller may see, with room for ours.
fn passed_on(gateway: &Gateway, mut headers: HeaderMap, spoken: bool) -> HeaderMap {
    let named = named_in_connection(&headers);
    let unwanted = |name: &&HeaderName| {
        let text = name.as_str();
        gateway.prefixes.strip(text).is_some()
            || text.starts_with("access-control-")
            || **name == STRICT_TRANSPORT_SECURITY
            || (spoken && **name == SET_COOKIE)
            || is_hop_by_hop(name)
            || named.contains(name)
    };
    let unwanted: Vec<HeaderName> = headers.keys().filter(unwanted).cloned().collect();
    for name in unwanted {
        headers.remove(name);
    }
    headers.reserve(16);
    headers
}

/// The provider's no: its status is kept, its words are put where every SDK looks for them, nothing of it is lost.
fn in_our_shape(slug: &'static str, headers: &mut HeaderMap, bytes: &[u8]) -> Bytes {
    let parsed: Option<Map<String, Value>> = serde_json::from_slice(bytes).ok();
    let mut body = parsed.unwrap_or_default();
    let mut error = match body.remove("error") {
        Some(Value::Object(error)) => error,
        Some(Value::String(text)) => Map::from_iter([("message".to_owned(), Value::String(text))]),
        _ => Map::new(),
    };
    let said = match (error.get("message"), body.get("message"), body.get("detail")) {
        (Some(Value::String(text)), _, _) | (_, Some(Value::String(text)), _) | (_, _, Some(Value::String(text))) => {
            text.clone()
        }
        _ => String::from_utf8_lossy(bytes).chars().take(2000).collect(),
    };
    error.insert("message".into(), format!("{slug} error: {said}").into());
    for field in ["type", "param", "code"] {
        let known = body.get(field).cloned().unwrap_or(Value::Null);
        error.entry(field).or_insert(known);
    }
    body.insert("error".into(), Value::Object(error));
    body.insert("provider".into(), json!(slug));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Bytes::from(Value::Object(body).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(body: &str) -> Value {
        serde_json::from_slice(&in_our_shape("openai", &mut HeaderMap::new(), body.as_bytes())).unwrap()
    }

    #[test]
    fn an_error_keeps_what_it_said_and_gains_the_provider() {
        let body = shaped(r#"{"error":{"message":"no","type":"t","code":"c","inner":{"x":1}},"id":7}"#);
        assert_eq!(
            body,
            json!({"id":7,"error":{"message":"openai error: no","type":"t","code":"c","inner":{"x":1},"param":null},"provider":"openai"})
        );
    }

    #[test]
    fn errors_of_other_shapes_are_read() {
        assert_eq!(shaped(r#"{"error":"text","code":5}"#)["error"]["message"], "openai error: text");
        assert_eq!(shaped(r#"{"message":"m"}"#)["error"]["message"], "openai error: m");
        assert_eq!(shaped(r#"{"detail":"d"}"#)["error"]["message"], "openai error: d");
        assert_eq!(shaped("<html>down</html>")["error"]["message"], "openai error: <html>down</html>");
        assert_eq!(shaped("")["error"]["message"], "openai error: ");
    }
}
