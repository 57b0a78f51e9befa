//! An upstream that only exists as a script: it is played with timers, without a socket, and gives an answer like any
//! other.

use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use providers::mock::{Script, Step};
use tokio::time::Sleep;

use crate::{Answer, BoxError};

static FILLER: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// Answers as the script says. Where the head never comes, this never returns.
pub async fn play(script: Script) -> Response<Answer> {
    match script.head_after {
        Some(Duration::ZERO) => {}
        Some(delay) => tokio::time::sleep(delay).await,
        None => pending().await,
    }
    let mut head = Response::new(());
    // A script is our own data; a status or header that is none is a slip there and shows as a 500 or an absence.
    *head.status_mut() = StatusCode::from_u16(script.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &script.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::from_str(value)) {
            head.headers_mut().append(name, value);
        }
    }
    let length = if is_event_stream(&head) { None } else { script.length() };
    if let Some(length) = length {
        head.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    head.map(|()| Answer::scripted(Player::new(script.steps, length)))
}

/// Event streams are sent without a length even where it is known, as real upstreams do.
fn is_event_stream(head: &Response<()>) -> bool {
    let kind = head.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The body of a scripted answer.
pub(crate) struct Player {
    steps: std::vec::IntoIter<Step>,
    doing: Doing,
    /// Bytes still to come, where that is announced.
    left: Option<u64>,
}

enum Doing {
    Nothing,
    Waiting(Pin<Box<Sleep>>),
    Filling(u64),
    Hanging,
}

impl Player {
    fn new(steps: Vec<Step>, length: Option<u64>) -> Player {
        Player { steps: steps.into_iter(), doing: Doing::Nothing, left: length }
    }

    fn emit(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(left) = &mut self.left {
            *left -= bytes.len() as u64;
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn end(&mut self) {
        self.steps = Vec::new().into_iter();
        self.doing = Doing::Nothing;
    }
}

impl http_body::Body for Player {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            match &mut self.doing {
                Doing::Nothing => {}
                Doing::Hanging => return Poll::Pending,
                Doing::Waiting(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    self.doing = Doing::Nothing;
                }
                Doing::Filling(left) => {
                    let piece = (*left).min(FILLER.len() as u64);
                    *left -= piece;
                    if *left == 0 {
                        self.doing = Doing::Nothing;
                    }
                    return self.emit(Bytes::from_static(&FILLER[..piece as usize]));
                }
            }
            match self.steps.next() {
                None => return Poll::Ready(None),
                Some(Step::Send(bytes)) if bytes.is_empty() => {}
                Some(Step::Send(bytes)) => return self.emit(bytes),
                Some(Step::Wait(delay)) => self.doing = Doing::Waiting(Box::pin(tokio::time::sleep(delay))),
                Some(Step::Fill { count: 0 }) => {}
                Some(Step::Fill { count }) => self.doing = Doing::Filling(count),
                Some(Step::Hang) => self.doing = Doing::Hanging,
                Some(Step::Cut) => {
                    self.end();
                    let cut =
                        io::Error::new(io::ErrorKind::ConnectionReset, "the scripted upstream cut the connection");
                    return Poll::Ready(Some(Err(cut.into())));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.doing, Doing::Nothing) && self.steps.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests;
