//! A client's connection, watched: what the HTTP library refuses by itself gets a body in our shape, and a request that
//! never gets complete does not keep its connection.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use gateway::ReplyBody;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use outbound::BoxError;
use outbound::pieces::{Room, joined};
use protocol::error::{Code, Refusal};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::door::House;

/// How long what a client still sends is thrown away after we have closed our side.
const LINGER: Duration = Duration::from_secs(2);

/// Whoever holds a clone of it is an exchange under way on the connection.
#[derive(Clone, Default)]
pub(super) struct Exchanges(Arc<()>);

impl Exchanges {
    /// None besides the connection's own two holders: its service and its wire.
    fn none(&self) -> bool {
        Arc::strong_count(&self.0) <= 2
    }
}

/// An answer's body; the exchange lasts as long as it does.
pub(super) struct Sent {
    pub(super) body: ReplyBody,
    pub(super) _exchange: Exchanges,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pub(super) struct Wire<S> {
    socket: S,
    house: Arc<House>,
    exchanges: Exchanges,
    headers: Duration,
    idle: Duration,
    waiting: Waiting,
    /// Set once for each wait that is longer than the one before, and only looked at again when it fires.
    timer: Option<Pin<Box<Sleep>>>,
    /// Our words in place of the library's, not yet sent.
    instead: Option<Bytes>,
    end: End,
}

/// How far our side of the connection is with its end.
enum End {
    Open,
    Shut,
    /// The client was still sending when we shut.
    Lingering(Pin<Box<Sleep>>),
}

/// What the client owes us, and since when.
#[derive(Clone, Copy)]
enum Waiting {
    Nothing,
    /// A first byte of a next request.
    Request(Instant),
    /// The rest of its headers.
    Headers(Instant),
}

impl<S> Wire<S> {
    pub(super) fn new(
        socket: S,
        house: Arc<House>,
        exchanges: Exchanges,
        headers: Duration,
        idle: Duration,
    ) -> Wire<S> {
        let (waiting, end) = (Waiting::Nothing, End::Open);
        Wire { socket, house, exchanges, headers, idle, waiting, timer: None, instead: None, end }
    }

    /// Nobody tells us when an exchange ends: the library does not read again by itself. So we look from time to time,
    /// and an idle connection lives between one and two times its limit.
    fn look_again(&mut self, cx: &mut Context<'_>) {
        let idle = self.idle;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        while timer.as_mut().poll(cx).is_ready() {
            timer.as_mut().reset(Instant::now() + idle);
        }
    }

    /// Whether the client has let us wait too long.
    fn overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let end = match self.waiting {
            Waiting::Nothing => return false,
            Waiting::Request(since) => since + self.idle,
            Waiting::Headers(since) => since + self.headers,
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        if end < timer.deadline() {
            timer.as_mut().reset(end);
        }
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

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if !self.exchanges.none() {
            self.waiting = Waiting::Nothing;
            if polled.is_pending() {
                self.look_again(cx);
            }
            return polled;
        }
        match (polled, self.waiting) {
            (Poll::Ready(read), Waiting::Headers(_)) => Poll::Ready(read),
            (Poll::Ready(read), _) => {
                self.waiting = Waiting::Headers(Instant::now());
                Poll::Ready(read)
            }
            (Poll::Pending, waiting) => {
                if matches!(waiting, Waiting::Nothing) {
                    self.waiting = Waiting::Request(Instant::now());
                }
                if !self.overdue(cx) {
                    return Poll::Pending;
                }
                match self.waiting {
                    // As if the client had closed: nothing is lost.
                    Waiting::Request(_) | Waiting::Nothing => Poll::Ready(Ok(())),
                    Waiting::Headers(_) => Poll::Ready(Err(Error::new(
                        ErrorKind::TimedOut,
                        "the request's headers did not get complete in time",
                    ))),
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Wire<S> {
    /// Sends our words until they are through. `Ready(Ok)` then counts for the whole of the library's.
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        while let Some(bytes) = &mut self.instead {
            let written = std::task::ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            bytes.advance(written);
            if bytes.is_empty() {
                self.instead = None;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn is_librarys_own(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"HTTP/1.1 4") && self.exchanges.none() && bytes.ends_with(b"\r\n\r\n")
    }
}

impl<S: AsyncRead + Unpin> Wire<S> {
    /// A client that is refused while it sends a large body would be reset if we closed now, and most take that for the
    /// answer. So what it sends is read for a while. A client that sends nothing is not waited for.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            let read = Pin::new(&mut self.socket).poll_read(cx, &mut buffer);
            let more = !buffer.filled().is_empty();
            if more && matches!(self.end, End::Shut) {
                self.end = End::Lingering(Box::pin(tokio::time::sleep(LINGER)));
            }
            let End::Lingering(timer) = &mut self.end else { return Poll::Ready(()) };
            let over = read.is_ready() && !more;
            if over || timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            if read.is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.instead.is_none() && !self.is_librarys_own(bytes) {
            return Pin::new(&mut self.socket).poll_write(cx, bytes);
        }
        if self.instead.is_none() {
            self.instead = Some(in_our_shape(&self.house, bytes));
        }
        self.poll_instead(cx).map_ok(|()| bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        match joined(slices, &mut Room::default()) {
            Some(whole) => self.poll_write(cx, whole),
            None => Pin::new(&mut self.socket).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if matches!(self.end, End::Open) {
            std::task::ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
            self.end = End::Shut;
        }
        self.poll_linger(cx).map(Ok)
    }
}

/// The library refuses what it cannot read before any of our code sees it, with a status and nothing else.
fn in_our_shape(house: &House, bytes: &[u8]) -> Bytes {
    let status_line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let status_line = String::from_utf8_lossy(status_line);
    let refusal = match status_line.contains(" 431") {
        true => Refusal::new(Code::HeadersTooLarge, "the request has too many or too large headers"),
        false => {
            Refusal::new(Code::InvalidRequest, "the request is not valid HTTP; look at its request line and headers")
        }
    };
    written(house.refused(&refusal))
}

/// An answer as it stands on the wire, after which the connection is closed: for what no HTTP library writes.
pub(super) fn written(response: Response<ReplyBody>) -> Bytes {
    let (head, body) = response.into_parts();
    let ReplyBody::Whole(body) = body else { return Bytes::new() };
    let body = body.unwrap_or_default();
    let mut text =
        format!("HTTP/1.1 {}\r\ncontent-length: {}\r\nconnection: close\r\n", head.status, body.len()).into_bytes();
    for (name, value) in &head.headers {
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    text.extend([b"\r\n", &body[..]].concat());
    Bytes::from(text)
}
