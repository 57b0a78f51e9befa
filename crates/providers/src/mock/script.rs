//! What a scripted upstream does, step by step. A script is data: whoever holds a clock and a socket plays it.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// One scripted answer: a head, then steps that are the body.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub status: u16,
    /// Names are lower case. `content-length` is left to the player.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// Time that passes before the head is sent; `None` means the head never comes.
    pub head_after: Option<Duration>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Sends `count` bytes of filler, in pieces, without ever holding them all.
    Fill {
        count: u64,
    },
    /// Sends nothing more and does not end.
    Hang,
    /// Breaks the connection without ending the body.
    Cut,
}

impl Script {
    /// The exact length of the body where every step is known to be sent, else `None`.
    pub fn length(&self) -> Option<u64> {
        self.steps.iter().try_fold(0, |sum, step| match step {
            Step::Send(bytes) => Some(sum + bytes.len() as u64),
            Step::Fill { count } => Some(sum + count),
            Step::Wait(_) => Some(sum),
            Step::Hang | Step::Cut => None,
        })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body is a stream of events: each `Send` is one, and no length is announced.
    pub fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    pub(super) fn json(status: u16, body: &Value) -> Script {
        Script::whole(status, "application/json", body.to_string())
    }

    pub(super) fn whole(status: u16, content_type: &str, body: impl Into<Bytes>) -> Script {
        Script::with_steps(status, content_type, vec![Step::Send(body.into())])
    }

    pub(super) fn events(events: Vec<Bytes>) -> Script {
        let mut script = Script::with_steps(200, "text/event-stream", events.into_iter().map(Step::Send).collect());
        script.set("cache-control", "no-cache");
        script
    }

    pub(super) fn with_steps(status: u16, content_type: &str, steps: Vec<Step>) -> Script {
        let headers = vec![("content-type".into(), content_type.to_owned())];
        Script { status, headers, head_after: Some(Duration::ZERO), steps }
    }

    /// A head and nothing after it, as 204 asks for.
    pub(super) fn bare(status: u16) -> Script {
        Script { status, headers: Vec::new(), head_after: Some(Duration::ZERO), steps: Vec::new() }
    }

    /// Replaces every header of this name by one.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.into(), value.into()));
    }
}
