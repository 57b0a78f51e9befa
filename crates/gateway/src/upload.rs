//! A request body on its way to the provider: bounded, and its progress can be seen.
//!
//! While an upload moves, the call's deadline is put off; when it stands still, the deadline ends it. That also ends a
//! call whose caller is gone while the provider does not read, which cannot be noticed in any other way.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use outbound::BoxError;
use tokio::time::Instant;

use crate::call::BodyStream;

#[derive(Debug)]
pub(crate) struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body is larger than the limit")
    }
}

impl std::error::Error for TooLarge {}

/// When an upload last moved, for whoever waits.
#[derive(Clone)]
pub(crate) struct Progress {
    began: Instant,
    /// Milliseconds after that.
    moved: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn last(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Ordering::Relaxed))
    }

    fn note(&self) {
        self.moved.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

pub(crate) struct Upload {
    body: BodyStream,
    left: u64,
    progress: Progress,
}

impl Upload {
    pub(crate) fn new(body: BodyStream, limit: u64) -> (Upload, Progress) {
        let progress = Progress { began: Instant::now(), moved: Arc::default() };
        (Upload { body, left: limit, progress: progress.clone() }, progress)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.body.as_mut().poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, |data| data.len() as u64);
            match self.left.checked_sub(length) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Some(Err(TooLarge.into()))),
            }
            self.progress.note();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
