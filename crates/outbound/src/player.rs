//! The body of a scripted answer: the steps of a script, one after another, with timers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use providers::mock::Step;
use tokio::time::Sleep;

use crate::BoxError;

static FILLER: [u8; 64 * 1024] = [b'x'; 64 * 1024];

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
    pub(crate) fn new(steps: Vec<Step>, length: Option<u64>) -> Player {
        Player { steps: steps.into_iter(), doing: Doing::Nothing, left: length }
    }

    fn emit(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(left) = &mut self.left {
            *left -= bytes.len() as u64;
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn fail(&mut self, kind: io::ErrorKind) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.steps = Vec::new().into_iter();
        self.doing = Doing::Nothing;
        Poll::Ready(Some(Err(io::Error::new(kind, "the scripted upstream cut the connection").into())))
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
                Some(Step::Send(bytes) | Step::Say { event: bytes, .. }) if bytes.is_empty() => {}
                Some(Step::Send(bytes) | Step::Say { event: bytes, .. }) => return self.emit(bytes),
                Some(Step::Wait(delay)) => self.doing = Doing::Waiting(Box::pin(tokio::time::sleep(delay))),
                Some(Step::Fill { count: 0 }) => {}
                Some(Step::Fill { count }) => self.doing = Doing::Filling(count),
                Some(Step::Hang) => self.doing = Doing::Hanging,
                Some(Step::Cut | Step::Reset) => return self.fail(io::ErrorKind::ConnectionReset),
                Some(Step::HalfClose) => return self.fail(io::ErrorKind::UnexpectedEof),
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
