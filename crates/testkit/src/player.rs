//! Plays a script as a body. Each step is taken only when the connection asks for more, so a reader that stops makes the
//! mock stop.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use providers::mock::{Script, Step};
use tokio::time::{Sleep, sleep};

use crate::calls::Running;
use crate::invoice::Tab;
use crate::wire::WireEnd;

static FILLER: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// Breaking a connection throws away what was not yet written: this long the bytes before the break have to leave.
const BEFORE_CUT: Duration = Duration::from_millis(20);

pub(crate) struct Playing {
    steps: VecDeque<Step>,
    /// Announced to the reader; streams announce none.
    length: Option<u64>,
    wait: Option<Pin<Box<Sleep>>>,
    /// The last piece shall leave before the next is taken: otherwise pieces would be joined on their way.
    flush: bool,
    cut_due: bool,
    end: WireEnd,
    /// `None` for answers that are not on record.
    call: Option<Running>,
    /// `None` for answers that cost nothing.
    tab: Option<Tab>,
}

/// The script asked for the connection to break.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut by the script")
    }
}

impl std::error::Error for Cut {}

impl Playing {
    pub(crate) fn new(script: Script, end: WireEnd) -> Playing {
        let length = script.length().filter(|_| !script.is_stream());
        let steps = script.steps.into();
        Playing { steps, length, wait: None, flush: false, cut_due: false, end, call: None, tab: None }
    }

    pub(crate) fn on_record(mut self, call: Running, tab: Option<Tab>) -> Playing {
        (self.call, self.tab) = (Some(call), tab);
        self.note_end();
        self
    }

    fn send(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if let Some(call) = &self.call {
            call.sent(bytes.len());
        }
        self.note_end();
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    /// The last piece is the end: a reader that knows the length does not ask again.
    fn note_end(&self) {
        if let Some(call) = self.call.as_ref().filter(|_| self.steps.is_empty()) {
            call.answered();
        }
    }

    fn fill(&mut self, count: u64) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let size = count.min(FILLER.len() as u64);
        if count > size {
            self.steps.push_front(Step::Fill { count: count - size });
        }
        self.send(Bytes::from_static(&FILLER[..size as usize]))
    }
}

impl Body for Playing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if std::mem::take(&mut self.flush) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            if let Some(wait) = &mut self.wait {
                ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            match self.steps.pop_front() {
                None => {
                    self.note_end();
                    return Poll::Ready(None);
                }
                Some(Step::Send(bytes)) if bytes.is_empty() => {}
                Some(Step::Fill { count: 0 }) => {}
                Some(Step::Send(bytes)) => {
                    self.flush = true;
                    return self.send(bytes);
                }
                Some(Step::Say { event, tokens }) => {
                    if let Some(tab) = &self.tab {
                        tab.add_output(tokens);
                    }
                    self.steps.push_front(Step::Send(event));
                }
                Some(Step::Fill { count }) => return self.fill(count),
                Some(Step::Wait(time)) => self.wait = Some(Box::pin(sleep(time))),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    // Nobody wakes us: only the reader can end this, by leaving.
                    return Poll::Pending;
                }
                Some(cut @ (Step::Cut | Step::Reset | Step::HalfClose)) if !self.cut_due => {
                    self.steps.push_front(cut);
                    self.wait = Some(Box::pin(sleep(BEFORE_CUT)));
                    self.cut_due = true;
                }
                Some(Step::HalfClose) => {
                    self.end.half_close();
                    self.steps.push_front(Step::Hang);
                }
                Some(end @ (Step::Cut | Step::Reset)) => {
                    if end == Step::Reset {
                        self.end.reset();
                    }
                    self.note_end();
                    return Poll::Ready(Some(Err(Cut)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty() && self.wait.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map(SizeHint::with_exact).unwrap_or_default()
    }
}
