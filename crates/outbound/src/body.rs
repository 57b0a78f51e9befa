//! Bodies: what we send and what we get back, as streams whose end and length are known where they can be.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::BoxError;
use crate::player::Player;

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// The body of a request.
#[derive(Default)]
pub enum Body {
    #[default]
    Empty,
    Full(Bytes),
    Stream(Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Body {
        if bytes.is_empty() { Body::Empty } else { Body::Full(bytes) }
    }
}

/// What is sent is never printed.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Empty => f.write_str("Body(empty)"),
            Body::Full(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        if let Body::Stream(stream) = &mut *self {
            return stream.as_mut().poll_frame(cx);
        }
        match std::mem::take(&mut *self) {
            Body::Full(bytes) if !bytes.is_empty() => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            _ => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Full(bytes) => bytes.is_empty(),
            Body::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Stream(stream) => stream.size_hint(),
        }
    }
}

/// The body of an answer. Dropping it before its end closes the connection it came on.
pub struct Answer(Source);

enum Source {
    Live(Incoming),
    Scripted(Player),
}

impl Answer {
    pub(crate) fn live(incoming: Incoming) -> Answer {
        Answer(Source::Live(incoming))
    }

    pub(crate) fn scripted(player: Player) -> Answer {
        Answer(Source::Scripted(player))
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Source::Live(_) => "Answer(live)",
            Source::Scripted(_) => "Answer(scripted)",
        })
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        match &mut self.0 {
            Source::Live(incoming) => Pin::new(incoming).poll_frame(cx).map_err(Into::into),
            Source::Scripted(player) => Pin::new(player).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Source::Live(incoming) => incoming.is_end_stream(),
            Source::Scripted(player) => player.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::Live(incoming) => incoming.size_hint(),
            Source::Scripted(player) => player.size_hint(),
        }
    }
}

/// A request body that tells us when it fails itself.
///
/// HTTP/1 passes such an error on, HTTP/2 only resets the stream: without this a caller who hung up would look like an
/// upstream that broke off.
pub(crate) struct Upload {
    inner: Body,
    failed: Option<oneshot::Sender<BoxError>>,
}

impl Upload {
    /// Only a stream can fail; the receiver is `None` for the others.
    pub(crate) fn watch(inner: Body) -> (Upload, Option<oneshot::Receiver<BoxError>>) {
        if !matches!(inner, Body::Stream(_)) {
            return (Upload { inner, failed: None }, None);
        }
        let (failed, failure) = oneshot::channel();
        (Upload { inner, failed: Some(failed) }, Some(failure))
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        let Poll::Ready(Some(Err(error))) = polled else { return polled };
        match self.failed.take().map(|failed| failed.send(error)) {
            Some(Err(unheard)) => Poll::Ready(Some(Err(unheard))),
            _ => Poll::Ready(Some(Err("the request body failed".into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http_body::Body as _;
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_whole_body_is_one_frame_of_known_length() {
        let mut body = Body::from(Bytes::from_static(b"{}"));
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(2), false));
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "{}");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn no_bytes_are_no_body() {
        for mut body in [Body::default(), Body::from(Bytes::new()), Body::Full(Bytes::new())] {
            assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
            assert!(body.frame().await.is_none());
        }
    }

    #[test]
    fn a_body_is_printed_without_what_is_in_it() {
        assert_eq!(format!("{:?}", Body::from(Bytes::from_static(b"secret"))), "Body(6 bytes)");
    }
}
