//! Step 19: what goes back through the door.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use outbound::BoxError;
use protocol::error::Code;
use protocol::headers::Tell;

use crate::answer::{Answer, AnswerBody};
use crate::error::Error;
use crate::line::Outcome;
use crate::record::Trace;
use crate::relay::Relay;

pub(crate) struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: ReplyBody,
}

/// A provider's answer. The call is over when its body has gone.
pub(crate) fn answered(mut trace: Trace, answer: Answer) -> Reply {
    let Answer { status, mut headers, body, tally, provider, path, cache_status } = answer;
    trace.name_call(&mut headers);
    let prefixes = trace.gateway.prefixes.clone();
    prefixes.tell(&mut headers, Tell::Provider, &HeaderValue::from_static(provider));
    prefixes.tell(&mut headers, Tell::LastUsedOptionIndex, &HeaderValue::from_static(path));
    prefixes.tell(&mut headers, Tell::CacheStatus, &cache_status);
    prefixes.tell(&mut headers, Tell::RetryAttemptCount, &HeaderValue::from_static("0"));
    trace.note(|line| line.status = status.as_u16());
    let body = match body {
        AnswerBody::Whole(bytes) => {
            trace.passes(bytes.len());
            trace.finish(Outcome::Done, Some(&tally));
            ReplyBody::from(bytes)
        }
        AnswerBody::Stream(passing) => {
            let idle = trace.gateway.limits.idle_timeout;
            ReplyBody::Relay(Box::new(Relay::new(passing, tally, idle, provider, trace)))
        }
    };
    Reply { status, headers, body }
}

/// A refusal in the contract's shape.
pub(crate) fn refused(mut trace: Trace, error: Error) -> Reply {
    let refusal = error.refusal(trace.request_id());
    let mut headers = HeaderMap::with_capacity(16);
    trace.name_call(&mut headers);
    let prefixes = trace.gateway.prefixes.clone();
    if let Some(provider) = refusal.provider {
        prefixes.tell(&mut headers, Tell::Provider, &HeaderValue::from_static(provider));
        prefixes.tell(&mut headers, Tell::RetryAttemptCount, &HeaderValue::from_static("0"));
        prefixes.tell(&mut headers, Tell::LastUsedOptionIndex, &HeaderValue::from_static("config"));
    }
    if refusal.status() >= 500 {
        prefixes.tell(&mut headers, Tell::GatewayException, &HeaderValue::from_static("true"));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json;charset=UTF-8"));
    trace.note(|line| line.status = refusal.status());
    let outcome = if refusal.code == Code::Timeout { Outcome::Timeout } else { Outcome::Refused };
    trace.finish(outcome, None);
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply { status, headers, body: Bytes::from(refusal.inference_body().to_string()).into() }
}

/// The body of any answer of this server.
pub enum ReplyBody {
    Whole(Option<Bytes>),
    Relay(Box<Relay>),
}

impl From<Bytes> for ReplyBody {
    fn from(bytes: Bytes) -> ReplyBody {
        ReplyBody::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            ReplyBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplyBody::Relay(relay) => Pin::new(relay.as_mut()).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(bytes) => bytes.is_none(),
            ReplyBody::Relay(relay) => relay.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            ReplyBody::Relay(relay) => relay.size_hint(),
        }
    }
}
