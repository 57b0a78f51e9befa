//! Ways in which an answer goes wrong. Model names and request headers both end up here; each twist turns a good script into
//! the one that was asked for.
//!
//! A chunk is one event of a stream. An answer that is not streamed has no chunks: where a twist counts them, half of its
//! bytes stand for "some".

use std::time::Duration;

use bytes::Bytes;

use super::format::Format;
use super::framing::Framing;
use super::refusal::Refusal;
use super::script::{Flow, Script, Step};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Twist {
    /// An error instead of the answer.
    Status(u16),
    /// Time before the head.
    Delay(Duration),
    /// Time between chunks; before the head of an answer that is not streamed.
    Slow(Duration),
    /// So many bytes of the body at a time, and the time between them.
    Drip(u64, Duration),
    /// So many bytes of the body come, then it ends in this way.
    EndAfterBytes(u64, Step),
    /// So many chunks come, then it ends in this way.
    EndAfterChunks(usize, Step),
    /// The head never comes.
    HangHead,
    /// Half of the body comes, then nothing.
    HangBody,
    /// HTML where JSON or events are due.
    Garbage,
    /// Bytes that mean nothing in place of the second half.
    Noise,
    /// A good head without a body.
    Empty,
    /// So many chunks, then an error with this status as an event.
    ErrorInStream(usize, u16),
    /// Everything but the last event.
    NoDone,
    /// A clean end in the middle.
    Truncate,
    RetryAfter(u64),
    Headers(Vec<(String, String)>),
    Framing(Framing),
}

impl Twist {
    /// Errors take the shape of the format.
    pub(super) fn apply(self, script: &mut Script, format: &Format) {
        match self {
            Twist::Status(status) => *script = (format.refuse)(&Refusal::with_status(status)),
            Twist::Delay(time) => script.head_after = script.head_after.map(|before| before + time),
            Twist::Slow(time) if script.is_stream() => space_out(&mut script.steps, time),
            Twist::Slow(time) => Twist::Delay(time).apply(script, format),
            Twist::Drip(size, time) => drip(&mut script.steps, size, time),
            Twist::EndAfterBytes(count, end) => end_after(script, count, end),
            Twist::EndAfterChunks(count, end) => end_after_chunks(script, count, Some(end)),
            Twist::HangHead => script.head_after = None,
            Twist::HangBody => end_after(script, half(script), Step::Hang),
            Twist::Garbage => *script = Script::whole(200, "text/html", HTML),
            Twist::Noise => make_noise(script),
            Twist::Empty => {
                script.steps.clear();
                script.bill = None;
            }
            Twist::ErrorInStream(count, status) => error_in_stream(script, format, count, status),
            Twist::NoDone if script.is_stream() => drop(script.steps.pop()),
            Twist::NoDone => {}
            // Always in front of the finish: an event can be read, but the answer cannot be taken for a whole one.
            Twist::Truncate => end_after_chunks(script, script.steps.len().saturating_sub(1) / 2, None),
            Twist::RetryAfter(seconds) => script.set("retry-after", seconds.to_string()),
            Twist::Headers(headers) => replace_headers(script, headers),
            Twist::Framing(framing) if framing.fits(script.flow) => framing.apply(&mut script.steps),
            Twist::Framing(_) => {}
        }
    }
}

const HTML: &str = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>\n";

fn space_out(steps: &mut Vec<Step>, time: Duration) {
    let spaced = steps.drain(..).flat_map(|step| [Step::Wait(time), step]).skip(1).collect();
    *steps = spaced;
}

/// More pieces than this are not made of one step: a large body drips in larger drops.
const DROPS: u64 = 100_000;

fn drip(steps: &mut Vec<Step>, size: u64, time: Duration) {
    let dripped = steps.drain(..).flat_map(|step| drops(step, size)).flat_map(|drop| match drop {
        Step::Send(_) | Step::Say { .. } | Step::Fill { .. } => vec![Step::Wait(time), drop],
        other => vec![other],
    });
    *steps = dripped.skip_while(|step| *step == Step::Wait(time)).collect();
}

/// The pieces of a step; the last one tells its tokens.
fn drops(step: Step, size: u64) -> Vec<Step> {
    let mut drops = Vec::new();
    match step {
        Step::Send(bytes) => drops.extend(pieces(bytes, size).into_iter().map(Step::Send)),
        Step::Say { event, tokens } => {
            let mut pieces = pieces(event, size);
            let last = pieces.pop().unwrap_or_default();
            drops.extend(pieces.into_iter().map(Step::Send));
            drops.push(Step::Say { event: last, tokens });
        }
        Step::Fill { mut count } => {
            let size = size.max(count / DROPS);
            while count > 0 {
                drops.push(Step::Fill { count: count.min(size) });
                count -= count.min(size);
            }
        }
        other => drops.push(other),
    }
    drops
}

fn pieces(mut bytes: Bytes, size: u64) -> Vec<Bytes> {
    let size = usize::try_from(size.max(bytes.len() as u64 / DROPS)).unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        pieces.push(bytes.split_to(size.min(bytes.len())));
    }
    pieces
}

/// No text, no JSON and no message of any protocol begins like this.
static NOISE: [u8; 64] = [0xff; 64];

fn make_noise(script: &mut Script) {
    end_after_chunks(script, script.steps.len() / 2, Some(Step::Send(Bytes::from_static(&NOISE))));
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
            Step::Say { event, tokens } => {
                // An event that breaks off in the middle tells nothing.
                *tokens = if event.len() as u64 > left { 0 } else { *tokens };
                event.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                left -= event.len() as u64;
            }
            Step::Fill { count } => {
                *count = (*count).min(left);
                left -= *count;
            }
            Step::Wait(_) | Step::Hang | Step::Cut | Step::Reset | Step::HalfClose => {}
        }
        true
    });
}

fn error_in_stream(script: &mut Script, format: &Format, count: usize, status: u16) {
    let refusal = Refusal::with_status(status);
    if !script.is_stream() {
        *script = (format.refuse)(&refusal);
        return;
    }
    let event = (format.interrupt)(&refusal, script);
    script.steps.truncate(count);
    script.steps.push(match script.flow {
        Flow::Array if script.steps.is_empty() => Bytes::from([b"[", &event[..], b"]"].concat()).into(),
        Flow::Array => Bytes::from([b",\r\n", &event[..], b"]"].concat()).into(),
        Flow::Whole | Flow::Sse | Flow::Binary => event.into(),
    });
}

fn replace_headers(script: &mut Script, headers: Vec<(String, String)>) {
    script.headers.retain(|(known, _)| headers.iter().all(|(name, _)| name != known));
    script.headers.extend(headers.into_iter().map(|(name, value)| (name.into(), value)));
}
