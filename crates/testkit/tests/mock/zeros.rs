//! A large body that is made as it is read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};

static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A head, so many zeros and a tail, made as they are read.
pub(crate) struct Zeros {
    pub(crate) head: Bytes,
    pub(crate) left: usize,
    pub(crate) tail: Bytes,
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let size = self.left.min(ZEROS.len());
        let piece = if !self.head.is_empty() {
            std::mem::take(&mut self.head)
        } else if size > 0 {
            self.left -= size;
            Bytes::from_static(&ZEROS[..size])
        } else {
            std::mem::take(&mut self.tail)
        };
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }
}
