//! Ways in which an answer goes wrong. Model names and request headers both end up here; each twist turns a good script into
//! the one that was asked for.
//!
//! A chunk is one event of a stream. An answer that is not streamed has no chunks: where a twist counts them, half of its
//! bytes stand for "some".

use std::time::Duration;

use bytes::Bytes;

use super::framing::Framing;
use super::refusal::Refusal;
use super::script::{Script, Step};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Twist {
    /// An error instead of the answer.
    Status(u16),
    /// Time before the head.
    Delay(Duration),
    /// Time between chunks; before the head of an answer that is not streamed.
    Slow(Duration),
    /// The connection breaks after so many bytes of the body.
    CutBytes(u64),
    /// The connection breaks after so many chunks.
    CutChunks(usize),
    /// The head never comes.
    HangHead,
    /// Half of the body comes, then nothing.
    HangBody,
    /// So many chunks come, then nothing.
    HangChunks(usize),
    /// HTML where JSON or events are due.
    Garbage,
    /// A good head without a body.
    Empty,
    /// Two chunks, then an error as an event.
    ErrorInStream,
    /// Everything but the last event.
    NoDone,
    /// A clean end in the middle.
    Truncate,
    RetryAfter(u64),
    Headers(Vec<(String, String)>),
    Framing(Framing),
}

impl Twist {
    pub(super) fn apply(self, script: &mut Script) {
        match self {
            Twist::Status(status) => *script = Refusal::with_status(status).script(),
            Twist::Delay(time) => script.head_after = script.head_after.map(|before| before + time),
            Twist::Slow(time) if script.is_stream() => space_out(&mut script.steps, time),
            Twist::Slow(time) => Twist::Delay(time).apply(script),
            Twist::CutBytes(count) => end_after(script, count, Step::Cut),
            Twist::CutChunks(count) => end_after_chunks(script, count, Some(Step::Cut)),
            Twist::HangHead => script.head_after = None,
            Twist::HangBody => end_after(script, half(script), Step::Hang),
            Twist::HangChunks(count) => end_after_chunks(script, count, Some(Step::Hang)),
            Twist::Garbage => *script = Script::whole(200, "text/html", HTML),
            Twist::Empty => script.steps.clear(),
            Twist::ErrorInStream => error_in_stream(script),
            Twist::NoDone if script.is_stream() => drop(script.steps.pop()),
            Twist::NoDone => {}
            // Always in front of the finish: an event can be read, but the answer cannot be taken for a whole one.
            Twist::Truncate => end_after_chunks(script, script.steps.len().saturating_sub(1) / 2, None),
            Twist::RetryAfter(seconds) => script.set("retry-after", seconds.to_string()),
            Twist::Headers(headers) => replace_headers(script, headers),
            Twist::Framing(framing) if script.is_stream() => framing.apply(&mut script.steps),
            Twist::Framing(_) => {}
        }
    }
}

const HTML: &str = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>\n";

fn space_out(steps: &mut Vec<Step>, time: Duration) {
    let spaced = steps.drain(..).flat_map(|step| [Step::Wait(time), step]).skip(1).collect();
    *steps = spaced;
}

fn half(script: &Script) -> u64 {
    script.length().unwrap_or(0) / 2
}

fn end_after_chunks(script: &mut Script, count: usize, end: Option<Step>) {
    if script.is_stream() {
        script.steps.truncate(count);
    } else {
        let half = half(script);
        keep_bytes(&mut script.steps, half);
    }
    script.steps.extend(end);
}

fn end_after(script: &mut Script, count: u64, end: Step) {
    keep_bytes(&mut script.steps, count);
    script.steps.push(end);
}

/// Keeps the steps that send the first `count` bytes.
fn keep_bytes(steps: &mut Vec<Step>, count: u64) {
    let mut left = count;
    steps.retain_mut(|step| {
        if left == 0 {
            return false;
        }
        match step {
            Step::Send(bytes) => {
                bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                left -= bytes.len() as u64;
            }
            Step::Fill { count } => {
                *count = (*count).min(left);
                left -= *count;
            }
            Step::Wait(_) | Step::Hang | Step::Cut => {}
        }
        true
    });
}

fn error_in_stream(script: &mut Script) {
    let refusal = Refusal::with_status(500);
    if !script.is_stream() {
        *script = refusal.script();
        return;
    }
    let named = matches!(script.steps.first(), Some(Step::Send(event)) if event.starts_with(b"event: "));
    let name = if named { "event: error\n" } else { "" };
    script.steps.truncate(2);
    script.steps.push(Step::Send(Bytes::from(format!("{name}data: {}\n\n", refusal.body()))));
}

fn replace_headers(script: &mut Script, headers: Vec<(String, String)>) {
    script.headers.retain(|(known, _)| headers.iter().all(|(name, _)| name != known));
    script.headers.extend(headers.into_iter().map(|(name, value)| (name.into(), value)));
}
