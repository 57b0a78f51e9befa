//! Upstreams of a few lines on loopback, and a door that trusts them.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use outbound::{Answer, Body, Outbound, Policy, Settings};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const PROMPTLY: Duration = Duration::from_secs(1);

pub(crate) fn trusting(items: &[&str]) -> Arc<Policy> {
    Arc::new(Policy::new(items).unwrap())
}

pub(crate) fn door(settings: Settings) -> Outbound {
    Outbound::new(trusting(&["127.0.0.1", "localhost"]), settings).unwrap()
}

/// Serves every connection with `talk`.
pub(crate) async fn upstream<T, F>(talk: T) -> SocketAddr
where
    T: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream));
        }
    });
    address
}

/// A port on which nobody listens.
pub(crate) async fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

/// Reads until the end of a head; what follows it may be included.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut got = Vec::new();
    while !got.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        assert!(n > 0, "the head ended early");
        got.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(got).unwrap()
}

pub(crate) fn get(url: impl AsRef<str>) -> Request<Body> {
    Request::get(url.as_ref()).body(Body::Empty).unwrap()
}

pub(crate) async fn text(answer: Answer) -> String {
    let bytes: Bytes = answer.collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) async fn within<T>(limit: Duration, doing: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, doing).await.expect("in time")
}
