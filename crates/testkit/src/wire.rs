//! A connection that a script may break: by a reset, or by ending our side of it only.
//!
//! The writing half is shared with whoever plays scripts on the connection. When it is gone, what the server still writes
//! goes nowhere.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

pub(crate) struct Wire {
    read: OwnedReadHalf,
    end: WireEnd,
}

/// Our end of a connection.
#[derive(Clone)]
pub(crate) struct WireEnd(Arc<Mutex<Writing>>);

enum Writing {
    Open(OwnedWriteHalf),
    /// The other side has seen our end; what it sends is still read.
    Ended,
    /// The other side sees a reset once the connection is dropped, which a failing write brings about.
    Reset,
}

impl Wire {
    pub(crate) fn new(socket: TcpStream) -> Wire {
        let (read, write) = socket.into_split();
        Wire { read, end: WireEnd(Arc::new(Mutex::new(Writing::Open(write)))) }
    }

    pub(crate) fn end(&self) -> WireEnd {
        self.end.clone()
    }
}

impl WireEnd {
    /// Sends FIN now.
    pub(crate) fn half_close(&self) {
        // The half sends it when it is dropped.
        *self.0.lock() = Writing::Ended;
    }

    /// Lets the connection end in RST instead of FIN.
    pub(crate) fn reset(&self) {
        let mut writing = self.0.lock();
        if let Writing::Open(half) = std::mem::replace(&mut *writing, Writing::Reset) {
            // Where the socket is already broken, there is nothing left to reset.
            half.as_ref().set_zero_linger().unwrap_or_default();
            half.forget();
        }
    }

    fn is_ended(&self) -> bool {
        matches!(*self.0.lock(), Writing::Ended)
    }

    fn writing<T>(
        &self,
        swallowed: T,
        write: impl FnOnce(Pin<&mut OwnedWriteHalf>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut *self.0.lock() {
            Writing::Open(half) => write(Pin::new(half)),
            Writing::Ended => Poll::Ready(Ok(swallowed)),
            Writing::Reset => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.end.is_ended() {
            return Pin::new(&mut self.read).poll_read(cx, buf);
        }
        // Nobody will answer it, so it is thrown away: what matters is that the other side's end is seen.
        let mut scrap = [0; 1024];
        loop {
            let mut scrap = ReadBuf::new(&mut scrap);
            ready!(Pin::new(&mut self.read).poll_read(cx, &mut scrap))?;
            if scrap.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.end.writing(bytes.len(), |half| half.poll_write(cx, bytes))
    }

    // A chunk of HTTP/1.1 is three pieces: without this they would be copied into one.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let swallowed = pieces.iter().map(|piece| piece.len()).sum();
        self.end.writing(swallowed, |half| half.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end.writing((), |half| half.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end.writing((), |half| half.poll_shutdown(cx))
    }
}
