//! A provider's body on its way to the caller: every frame leaves as it came, and is looked at beside the stream.
//!
//! Nothing is held but a partial event where one might have to be taken out. A body is only asked for when the caller
//! can take it, so a slow reader slows the provider and costs no memory. When a stream in a known format breaks off, the
//! caller gets that format's own error event and never a clean end.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use outbound::BoxError;
use protocol::hide::Hider;
use protocol::sse::{Block, Framer};
use protocol::tally::{End, Format, Tally};
use serde_json::json;
use tokio::time::{Instant, Sleep};

use crate::answer::{Events, Passing};
use crate::line::Outcome;
use crate::record::Trace;

pub struct Relay {
    passing: Passing,
    framer: Framer,
    tally: Tally,
    hider: Hider,
    idle: Idle,
    state: State,
    provider: &'static str,
    trace: Option<Trace>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Passing,
    /// Nothing more is sent.
    Over,
}

impl Relay {
    pub fn new(passing: Passing, tally: Tally, idle: Duration, provider: &'static str, trace: Trace) -> Relay {
        Relay {
            passing,
            framer: Framer::new(),
            tally,
            hider: Hider::default(),
            idle: Idle::new(idle),
            state: State::Passing,
            provider,
            trace: Some(trace),
        }
    }

    /// What is sent on of the bytes that came, if anything.
    fn look_at(&mut self, bytes: Bytes) -> Option<Bytes> {
        match self.passing.events {
            Events::Unread => Some(bytes),
            Events::Read => {
                let tally = &mut self.tally;
                self.framer.push(&bytes, |block, _| {
                    if let Block::Event(event) = block {
                        tally.event(event);
                    }
                });
                Some(bytes)
            }
            Events::HideUsage => self.hider.pass(&mut self.framer, &mut self.tally, bytes),
        }
    }

    /// The provider's body is over. What is still to be sent, if anything.
    fn ended(&mut self) -> Option<Bytes> {
        let cut = self.framer.held() > 0;
        let rest = self.hider.finish(&mut self.framer, &mut self.tally);
        if self.passing.events == Events::Unread || self.tally.complete() {
            let outcome = if self.tally.end == End::Failed { Outcome::StreamError } else { Outcome::Done };
            self.finish(outcome);
            return rest;
        }
        let event = self.error_event("upstream ended its stream without finishing the answer", "upstream_error", cut);
        self.finish(Outcome::Truncated);
        Some(match rest {
            Some(rest) => [rest, event].concat().into(),
            None => event,
        })
    }

    /// The provider's body broke off, or fell silent.
    fn broke(&mut self, why: &str, kind: &str, error: BoxError) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let outcome = if kind == "timeout_error" { Outcome::Timeout } else { Outcome::Truncated };
        let told = self.passing.format != Format::Unknown && self.tally.end != End::Terminal;
        let cut = self.framer.held() > 0 && !self.hider.holds();
        let event = told.then(|| self.error_event(why, kind, cut));
        self.finish(outcome);
        match event {
            Some(event) => Poll::Ready(Some(Ok(Frame::data(event)))),
            None => Poll::Ready(Some(Err(error))),
        }
    }

    /// The error event of the stream's format. An event of which the caller has only the beginning is closed first.
    fn error_event(&self, why: &str, kind: &str, cut: bool) -> Bytes {
        let message = format!("{} error: {why}", self.provider);
        let close = if cut { "\n\n" } else { "" };
        let text = match self.passing.format {
            Format::Messages => {
                let body = json!({ "type": "error", "error": { "type": "api_error", "message": message } });
                format!("{close}event: error\ndata: {body}\n\n")
            }
            Format::Responses => {
                let error = json!({ "code": "server_error", "message": message });
                let body = json!({ "type": "response.failed", "response": { "status": "failed", "error": error } });
                format!("{close}event: response.failed\ndata: {body}\n\n")
            }
            Format::Chat | Format::Unknown => {
                let error = json!({ "message": message, "type": kind, "param": null, "code": "upstream_failed" });
                format!("{close}data: {}\n\n", json!({ "error": error, "provider": self.provider }))
            }
        };
        Bytes::from(text)
    }

    fn finish(&mut self, outcome: Outcome) {
        self.state = State::Over;
        if let Some(trace) = self.trace.take() {
            trace.finish(outcome, Some(&self.tally));
        }
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if self.state == State::Over {
                return Poll::Ready(None);
            }
            if !self.passing.begun.is_empty() {
                let begun = std::mem::take(&mut self.passing.begun);
                return Poll::Ready(Some(Ok(Frame::data(begun))));
            }
            let polled = Pin::new(&mut self.passing.rest).poll_frame(cx);
            let frame = match polled {
                Poll::Pending => {
                    if self.idle.passed(cx) {
                        let late: BoxError = "the provider fell silent".into();
                        return self.broke("upstream fell silent for too long", "timeout_error", late);
                    }
                    return Poll::Pending;
                }
                Poll::Ready(None) => {
                    return Poll::Ready(self.ended().map(|bytes| Ok(Frame::data(bytes))));
                }
                Poll::Ready(Some(Err(error))) => {
                    return self.broke("upstream broke off inside its answer", "upstream_error", error);
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            self.idle.moved();
            match frame.into_data() {
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                Ok(bytes) => {
                    if let Some(trace) = &mut self.trace {
                        trace.passes(bytes.len());
                    }
                    if let Some(out) = self.look_at(bytes) {
                        return Poll::Ready(Some(Ok(Frame::data(out))));
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.state == State::Over
            || (self.passing.events == Events::Unread
                && self.passing.begun.is_empty()
                && self.passing.rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        if self.passing.events != Events::Unread {
            return SizeHint::default();
        }
        let rest = self.passing.rest.size_hint();
        match rest.exact() {
            Some(length) => SizeHint::with_exact(length + self.passing.begun.len() as u64),
            None => SizeHint::default(),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // A body of known length is dropped after its last frame without being asked for a next one; and a caller that
        // leaves after the terminal event has had the whole answer.
        let whole = (self.passing.events == Events::Unread
            && self.passing.rest.is_end_stream()
            && self.passing.begun.is_empty())
            || self.tally.end == End::Terminal;
        self.finish(if whole { Outcome::Done } else { Outcome::HungUp });
    }
}

/// Notices when the provider has been silent for a while. It counts from the moment we began to wait, not from the last
/// frame: a caller that does not read is no silence of the provider's. The timer is set once and only looked at again
/// when it fires.
struct Idle {
    limit: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Idle {
    fn new(limit: Duration) -> Idle {
        Idle { limit, since: None, timer: None }
    }

    fn moved(&mut self) {
        self.since = None;
    }

    fn passed(&mut self, cx: &mut Context<'_>) -> bool {
        let end = *self.since.get_or_insert_with(Instant::now) + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        loop {
            if timer.as_mut().poll(cx).is_pending() {
                return false;
            }
            if Instant::now() >= end {
                return true;
            }
            timer.as_mut().reset(end);
        }
    }
}
