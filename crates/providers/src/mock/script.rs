//! What a scripted upstream does, step by step. A script is data: whoever holds a clock and a socket plays it.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::bill::Bill;

/// One scripted answer: a head, then steps that are the body.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub status: u16,
    /// Names are lower case. `content-length` is left to the player.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// Time that passes before the head is sent; `None` means the head never comes.
    pub head_after: Option<Duration>,
    pub steps: Vec<Step>,
    pub flow: Flow,
    /// What the provider would bill once the head is sent; `None` where no answer was made.
    pub bill: Option<Bill>,
}

/// How the body is cut into events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flow {
    /// Not at all: it is one whole.
    Whole,
    /// Server-sent events.
    Sse,
    /// The elements of one JSON array.
    Array,
    /// Messages of `application/vnd.amazon.eventstream`.
    Binary,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Send(Bytes),
    /// Sends an event of a stream that tells so many output tokens, which are billed when it is sent.
    Say {
        event: Bytes,
        tokens: u64,
    },
    Wait(Duration),
    /// Sends `count` bytes of filler, in pieces, without ever holding them all.
    Fill {
        count: u64,
    },
    /// Sends nothing more and does not end.
    Hang,
    /// Breaks the connection without ending the body.
    Cut,
    /// Breaks the connection so that the reader sees a reset (RST).
    Reset,
    /// Ends our side of the connection (FIN) without ending the body, and goes on reading.
    HalfClose,
}

impl Step {
    /// What is sent, where that is held.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Step::Send(bytes) | Step::Say { event: bytes, .. } => Some(bytes),
            Step::Wait(_) | Step::Fill { .. } | Step::Hang | Step::Cut | Step::Reset | Step::HalfClose => None,
        }
    }
}

impl From<Bytes> for Step {
    fn from(bytes: Bytes) -> Step {
        Step::Send(bytes)
    }
}

impl Script {
    pub fn new(status: u16, content_type: &str, steps: Vec<Step>) -> Script {
        let headers = vec![("content-type".into(), content_type.to_owned())];
        let flow = match content_type.split(';').next() {
            Some("text/event-stream") => Flow::Sse,
            Some("application/vnd.amazon.eventstream") => Flow::Binary,
            _ => Flow::Whole,
        };
        Script { status, headers, head_after: Some(Duration::ZERO), steps, flow, bill: None }
    }

    /// The exact length of the body where every step is known to be sent, else `None`.
    pub fn length(&self) -> Option<u64> {
        self.steps.iter().try_fold(0, |sum, step| match step {
            Step::Send(bytes) | Step::Say { event: bytes, .. } => Some(sum + bytes.len() as u64),
            Step::Fill { count } => Some(sum + count),
            Step::Wait(_) => Some(sum),
            Step::Hang | Step::Cut | Step::Reset | Step::HalfClose => None,
        })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body is a stream of events: each `Send` or `Say` is one, and no length is announced.
    pub fn is_stream(&self) -> bool {
        self.flow != Flow::Whole
    }

    pub(super) fn json(status: u16, body: &Value) -> Script {
        Script::whole(status, "application/json", body.to_string())
    }

    pub(super) fn whole(status: u16, content_type: &str, body: impl Into<Bytes>) -> Script {
        Script::new(status, content_type, vec![Step::Send(body.into())])
    }

    pub(super) fn events(events: Vec<Step>) -> Script {
        let mut script = Script::new(200, "text/event-stream", events);
        script.set("cache-control", "no-cache");
        script
    }

    pub(super) fn billed(mut self, bill: Bill) -> Script {
        self.bill = Some(bill);
        self
    }

    /// A head and nothing after it, as 204 asks for.
    pub(super) fn bare(status: u16) -> Script {
        Script { headers: Vec::new(), ..Script::new(status, "", Vec::new()) }
    }

    /// Replaces every header of this name by one.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.into(), value.into()));
    }
}
