//! One call over one connection, and whether its answer is what a caller would accept.

use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What is asked, again and again.
#[derive(Debug, Clone)]
pub struct Ask {
    /// `http://host:port/path`.
    pub url: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub answer: Expected,
}

/// What counts as an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// 200 and a body to its end.
    Whole,
    /// 200 and events up to `[DONE]`.
    Stream,
}

/// What can go wrong, told apart by what it means for the gateway under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// No connection could be had.
    Connect,
    /// The connection ended before the head of an answer.
    Send,
    Status(u16),
    /// The answer broke off.
    Broken,
    /// The stream ended without its last event, or the body was empty.
    Incomplete,
    /// It took longer than the plan allows.
    Timeout,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::Connect => f.write_str("connect"),
            Wrong::Send => f.write_str("send"),
            Wrong::Status(status) => write!(f, "status_{status}"),
            Wrong::Broken => f.write_str("broken"),
            Wrong::Incomplete => f.write_str("incomplete"),
            Wrong::Timeout => f.write_str("timeout"),
        }
    }
}

pub(super) struct Line(SendRequest<Full<Bytes>>);

/// When the first bytes of the body came.
pub(super) type First = Instant;

const LAST_EVENT: &[u8] = b"data: [DONE]";

impl Line {
    pub(super) async fn open(ask: &Ask) -> Result<Line, Wrong> {
        let host = ask.url.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, ask.url.port_u16().unwrap_or(80))).await.map_err(|_| Wrong::Connect)?;
        // Where it fails, only timing suffers.
        stream.set_nodelay(true).unwrap_or_default();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|_| Wrong::Connect)?;
        // How it ends shows in the calls on it.
        tokio::spawn(async move { connection.await.unwrap_or_default() });
        Ok(Line(sender))
    }

    /// Whether another call may be made on it.
    pub(super) fn is_open(&self) -> bool {
        !self.0.is_closed()
    }

    pub(super) async fn call(&mut self, ask: &Ask) -> Result<First, Wrong> {
        self.0.ready().await.map_err(|_| Wrong::Send)?;
        let answer = self.0.send_request(request(ask)).await.map_err(|_| Wrong::Send)?;
        let (head, mut body) = answer.into_parts();
        let (mut first, mut length, mut tail) = (None, 0, Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Wrong::Broken)?;
            let Some(piece) = frame.data_ref() else { continue };
            first.get_or_insert_with(Instant::now);
            length += piece.len();
            keep_tail(&mut tail, piece);
        }
        if head.status != http::StatusCode::OK {
            return Err(Wrong::Status(head.status.as_u16()));
        }
        let complete = match ask.answer {
            Expected::Whole => length > 0,
            Expected::Stream => tail.windows(LAST_EVENT.len()).any(|window| window == LAST_EVENT),
        };
        first.filter(|_| complete).ok_or(Wrong::Incomplete)
    }
}

fn request(ask: &Ask) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(ask.body.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = ask.url.path_and_query().map_or(Uri::from_static("/"), |path| path.clone().into());
    *request.headers_mut() = ask.headers.clone();
    if let Some(host) = ask.url.authority().and_then(|host| host.as_str().parse().ok()) {
        request.headers_mut().insert(http::header::HOST, host);
    }
    request
}

/// Enough to find the last event in, however it was cut.
fn keep_tail(tail: &mut Vec<u8>, piece: &[u8]) {
    const KEPT: usize = 64;
    tail.extend_from_slice(&piece[piece.len().saturating_sub(KEPT)..]);
    tail.drain(..tail.len().saturating_sub(KEPT));
}
