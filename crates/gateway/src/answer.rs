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
use protocol::patch::{self, Edit};
use protocol::tally::{Format, Tally};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::encode::Expected;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::Target;
use crate::send::Deadline;

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
    deadline: Deadline,
) -> Result<Answer, Error> {
    let (head, body) = response.into_parts();
    let spoken = expected.endpoint.manner == Manner::Spoken;
    let slug = target.provider.slug;
    let mut tally = Tally::new(Format::of(expected.endpoint.family));
    let mut headers = passed_on(gateway, head.headers, spoken);
    let sse = is_sse(&headers);
    let encoded = headers.contains_key(CONTENT_ENCODING);
    if head.status.is_informational() {
        return Err(Refusal::new(
            Code::UpstreamGarbled,
            format!("{slug} error: upstream wanted to change the protocol"),
        )
        .of(slug)
        .into());
    }
    let no_body = expected.head_only || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let plan = if no_body {
        Hold::Nothing
    } else if sse || !spoken || encoded {
        Hold::No
    } else if !head.status.is_success() {
        Hold::Error
    } else if is_json(&headers) || speaks_json(expected) {
        Hold::Json
    } else {
        Hold::No
    };
    let body = match plan {
        Hold::Nothing => AnswerBody::Whole(Bytes::new()),
        Hold::No => AnswerBody::Stream(passing(Bytes::new(), body, expected, sse && !encoded)),
        Hold::Error | Hold::Json => match in_time(gather(body), &deadline, slug).await? {
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
    /// There is no body.
    Nothing,
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

/// A body that is held must be there when its call must be through.
async fn in_time(
    gathering: impl Future<Output = Result<Gathered, outbound::BoxError>>,
    deadline: &Deadline,
    slug: &'static str,
) -> Result<Gathered, Refusal> {
    match tokio::time::timeout_at(deadline.at(), gathering).await {
        Ok(gathered) => gathered.map_err(|_| broke_off(slug)),
        Err(_) => Err(deadline.passed(slug)),
    }
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
    has_type(headers, b"text/event-stream")
}

fn is_json(headers: &HeaderMap) -> bool {
    has_type(headers, b"application/json")
}

fn has_type(headers: &HeaderMap, wanted: &[u8]) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().get(..wanted.len()));
    given.is_some_and(|given| given.eq_ignore_ascii_case(wanted))
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

/// The provider's no: its status is kept, its words are put where every SDK looks for them, and every other byte of it
/// stays as it is.
fn in_our_shape(slug: &'static str, headers: &mut HeaderMap, bytes: &[u8]) -> Bytes {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let text = String::from_utf8_lossy(bytes);
    let told: Told<'_> = serde_json::from_str(&text).unwrap_or_default();
    let inner = told.error.map(RawValue::get).unwrap_or_default();
    let within: Told<'_> = serde_json::from_str(inner).unwrap_or_default();
    let as_text = |raw: Option<&RawValue>| serde_json::from_str::<String>(raw?.get()).ok();
    let said = as_text(within.message).or_else(|| as_text(told.error)).or_else(|| as_text(told.message));
    let said = said.or_else(|| as_text(told.detail)).unwrap_or_else(|| text.chars().take(2000).collect());

    let edit = |field: &str, value: String| Edit { field: field.into(), value };
    let mut inside = vec![edit("message", Value::from(format!("{slug} error: {said}")).to_string())];
    for (field, own, outer) in
        [("type", within.kind, told.kind), ("param", within.param, told.param), ("code", within.code, told.code)]
    {
        if own.is_none() {
            inside.push(edit(field, outer.map_or("null", RawValue::get).to_owned()));
        }
    }
    let error = patch::apply(if inner.starts_with('{') { inner } else { "{}" }, &inside).unwrap_or_default();
    let around = [edit("error", error), edit("provider", Value::from(slug).to_string())];
    let whole = patch::apply(&text, &around).or_else(|_| patch::apply("{}", &around));
    Bytes::from(whole.unwrap_or_default())
}

/// Where providers put their words.
#[derive(Default, Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    param: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn numbers_in_an_error_keep_every_digit() {
        let body = in_our_shape(
            "openai",
            &mut HeaderMap::new(),
            br#"{"error":{"message":"m","code":12345678901234567890123,"x":1.10}}"#,
        );
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("\"code\":12345678901234567890123") && body.contains("1.10"), "{body}");
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
