//! What a call leaves behind. A trace is finished exactly once: at the end of an answer, on a refusal, or when the
//! caller hangs up.

use std::sync::Arc;

use access::Caller;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use protocol::endpoint::Endpoint;
use protocol::error::Refusal;
use protocol::headers::{Ask, Tell};
use protocol::tally::{Tally, Usage};
use tokio::time::Instant;

use crate::answer::{Answer, AnswerBody};
use crate::call::{Call, Incoming};
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::Target;
use crate::relay::Relay;
use crate::reply::{Reply, ReplyBody};

/// One finished call.
#[derive(Debug)]
pub struct Line {
    pub request_id: String,
    pub trace_id: HeaderValue,
    pub organisation: Option<String>,
    pub workspace: Option<String>,
    pub key_id: Option<String>,
    pub method: Method,
    pub endpoint: &'static Endpoint,
    pub provider: Option<&'static str>,
    pub model: Option<String>,
    pub status: u16,
    pub outcome: Outcome,
    pub usage: Option<Usage>,
    pub seconds: f64,
    pub seconds_to_first_byte: Option<f64>,
    pub answer_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller has the whole answer, whatever its status.
    Done,
    /// We said no.
    Refused,
    HungUp,
    /// The provider's body broke off or ended too early.
    Truncated,
    Timeout,
    /// The provider reported an error inside its stream.
    StreamError,
}

impl Outcome {
    pub const ALL: [Outcome; 6] =
        [Outcome::Done, Outcome::Refused, Outcome::HungUp, Outcome::Truncated, Outcome::Timeout, Outcome::StreamError];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::HungUp => "hung_up",
            Outcome::Truncated => "truncated",
            Outcome::Timeout => "timeout",
            Outcome::StreamError => "stream_error",
        }
    }
}

/// Whoever keeps the lines. It must not wait.
pub trait Recorder: Send + Sync {
    fn begun(&self);
    fn finished(&self, line: Line);
}

pub struct Trace {
    gateway: Arc<Gateway>,
    line: Option<Box<Line>>,
    started: Instant,
}

impl Trace {
    pub fn start(gateway: &Arc<Gateway>, incoming: &Incoming) -> Trace {
        gateway.recorder.begun();
        let mut random = [0; 26];
        gateway.world.random(&mut random);
        let (id, trace) = random.split_at(10);
        let request_id = domain::ids::uuid_v7(gateway.world.now_ms(), id.try_into().unwrap_or_default());
        let line = Line {
            request_id,
            trace_id: trace_id(gateway, &incoming.headers, trace.try_into().unwrap_or_default()),
            organisation: None,
            workspace: None,
            key_id: None,
            method: incoming.method.clone(),
            endpoint: incoming.endpoint,
            provider: None,
            model: None,
            status: 0,
            outcome: Outcome::HungUp,
            usage: None,
            seconds: 0.0,
            seconds_to_first_byte: None,
            answer_bytes: 0,
        };
        Trace { gateway: gateway.clone(), line: Some(Box::new(line)), started: Instant::now() }
    }

    pub fn request_id(&self) -> &str {
        self.line.as_ref().map_or("", |line| &line.request_id)
    }

    pub fn called_by(&mut self, caller: &Caller) {
        self.note(|line| {
            line.organisation = Some(caller.organisation.clone());
            line.workspace = caller.workspace.clone();
            line.key_id = Some(caller.key_id.clone());
        });
    }

    pub fn understood(&mut self, call: &Call) {
        self.note(|line| line.model = call.model().map(str::to_owned));
    }

    pub fn tries(&mut self, target: &Target) {
        self.note(|line| line.provider = Some(target.provider.slug));
    }

    /// Bytes of the answer went by.
    pub fn passes(&mut self, bytes: usize) {
        let waited = self.started.elapsed().as_secs_f64();
        self.note(|line| {
            line.seconds_to_first_byte.get_or_insert(waited);
            line.answer_bytes += bytes as u64;
        });
    }

    /// Step 19 and, when the body has gone, step 20.
    pub fn follow(mut self, answer: Answer) -> Reply {
        let Answer { status, mut headers, body, tally, provider, path, cache_status } = answer;
        let gateway = self.gateway.clone();
        self.name_call(&mut headers);
        let tell =
            |headers: &mut HeaderMap, tell: Tell, value: &HeaderValue| gateway.prefixes.tell(headers, tell, value);
        tell(&mut headers, Tell::Provider, &HeaderValue::from_static(provider));
        tell(&mut headers, Tell::LastUsedOptionIndex, &HeaderValue::from_static(path));
        tell(&mut headers, Tell::CacheStatus, &cache_status);
        tell(&mut headers, Tell::RetryAttemptCount, &HeaderValue::from_static("0"));
        self.note(|line| line.status = status.as_u16());
        let body = match body {
            AnswerBody::Whole(bytes) => {
                self.passes(bytes.len());
                self.finish(Outcome::Done, Some(&tally));
                ReplyBody::from(bytes)
            }
            AnswerBody::Stream(passing) => {
                let idle = gateway.limits.idle_timeout;
                ReplyBody::Relay(Box::new(Relay::new(passing, tally, idle, provider, self)))
            }
        };
        Reply { status, headers, body }
    }

    /// A refusal in the contract's shape.
    pub fn refuse(mut self, error: Error) -> Reply {
        let refusal = error.refusal(self.request_id());
        let mut headers = HeaderMap::with_capacity(16);
        self.name_call(&mut headers);
        let gateway = self.gateway.clone();
        if let Some(provider) = refusal.provider {
            gateway.prefixes.tell(&mut headers, Tell::Provider, &HeaderValue::from_static(provider));
            gateway.prefixes.tell(&mut headers, Tell::RetryAttemptCount, &HeaderValue::from_static("0"));
            gateway.prefixes.tell(&mut headers, Tell::LastUsedOptionIndex, &HeaderValue::from_static("config"));
        }
        if refusal.status() >= 500 {
            gateway.prefixes.tell(&mut headers, Tell::GatewayException, &HeaderValue::from_static("true"));
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json;charset=UTF-8"));
        self.note(|line| line.status = refusal.status());
        let outcome = if refusal.code == protocol::error::Code::Timeout { Outcome::Timeout } else { Outcome::Refused };
        let reply = refused(&refusal, headers);
        self.finish(outcome, None);
        reply
    }

    fn name_call(&self, headers: &mut HeaderMap) {
        let Some(line) = &self.line else { return };
        self.gateway.prefixes.tell(headers, Tell::TraceId, &line.trace_id);
        if let Ok(id) = HeaderValue::from_str(&line.request_id) {
            self.gateway.prefixes.tell(headers, Tell::RequestId, &id);
            headers.entry(HeaderName::from_static("x-request-id")).or_insert(id);
        }
    }

    fn note(&mut self, change: impl FnOnce(&mut Line)) {
        if let Some(line) = &mut self.line {
            change(line);
        }
    }

    pub fn finish(mut self, outcome: Outcome, tally: Option<&Tally>) {
        self.close(outcome, tally);
    }

    fn close(&mut self, outcome: Outcome, tally: Option<&Tally>) {
        let Some(mut line) = self.line.take() else { return };
        line.outcome = outcome;
        line.usage = tally.and_then(|tally| tally.usage);
        line.seconds = self.started.elapsed().as_secs_f64();
        self.gateway.recorder.finished(*line);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.close(Outcome::HungUp, None);
    }
}

fn refused(refusal: &Refusal, headers: HeaderMap) -> Reply {
    let body = Bytes::from(refusal.inference_body().to_string());
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply { status, headers, body: body.into() }
}

/// The caller's trace id, the one in `traceparent`, or a new one.
fn trace_id(gateway: &Gateway, headers: &HeaderMap, random: [u8; 16]) -> HeaderValue {
    const LONGEST: usize = 512;
    let own = gateway.prefixes.read(headers).value(Ask::TraceId).cloned();
    if let Some(own) = own.filter(|value| !value.is_empty() && value.len() <= LONGEST) {
        return own;
    }
    let parent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let parent = parent.and_then(|text| text.split('-').nth(1)).filter(|id| id.len() == 32);
    match parent.and_then(|id| HeaderValue::from_str(id).ok()) {
        Some(id) => id,
        None => HeaderValue::from_str(&domain::ids::uuid_v4(random)).unwrap_or(HeaderValue::from_static("none")),
    }
}
