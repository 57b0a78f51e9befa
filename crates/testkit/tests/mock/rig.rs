//! A mock on a port of its own, and two ways to talk to it: a client, and bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::ids::World;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) type Sent = UnsyncBoxBody<Bytes, std::io::Error>;

/// Always the same second; chance counts up.
pub(crate) struct Noon;

impl World for Noon {
    fn now_ms(&self) -> i64 {
        1_800_000_000_000
    }

    fn random(&self, bytes: &mut [u8]) {
        static NEXT: AtomicU8 = AtomicU8::new(1);
        bytes.fill(NEXT.fetch_add(1, Ordering::Relaxed));
    }
}

pub(crate) struct Mock {
    address: SocketAddr,
    client: Client<HttpConnector, Sent>,
}

impl Mock {
    pub(crate) async fn start() -> Mock {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(testkit::serve(listener, Arc::new(Noon), std::future::pending()));
        Mock { address, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// `host:port`.
    #[allow(dead_code, reason = "not every test program that takes this file in needs it")]
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn send(&self, request: Request<Sent>) -> Response<Incoming> {
        self.client.request(request).await.expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response<Incoming> {
        self.send(self.request("POST", path).body(whole(body.to_string())).expect("a request")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response<Incoming> {
        self.send(self.request("GET", path).body(whole("")).expect("a request")).await
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("http://{}{path}", self.address))
    }

    /// The calls on record that contain the word.
    pub(crate) async fn calls(&self, word: &str) -> Vec<Value> {
        let list = json(self.get(&format!("/__mock/calls?contains={word}")).await).await;
        list["calls"].as_array().expect("a list").clone()
    }

    /// Looks at the one call that contains the word until the claim holds, for at most a second.
    pub(crate) async fn until(&self, word: &str, claim: impl Fn(&Value) -> bool) -> Duration {
        let start = Instant::now();
        loop {
            let calls = self.calls(word).await;
            if calls.iter().any(&claim) {
                return start.elapsed();
            }
            assert!(start.elapsed() < Duration::from_secs(1), "it did not come to this: {calls:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// A connection of our own, on which the request has been written.
    pub(crate) async fn write(&self, request: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).await.expect("a connection");
        socket.write_all(request.as_bytes()).await.expect("the request is written");
        socket
    }

    pub(crate) async fn write_post(&self, path: &str, headers: &str, body: &Value) -> TcpStream {
        let body = body.to_string();
        let length = body.len();
        self.write(&format!("POST {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {length}\r\n{headers}\r\n{body}"))
            .await
    }
}

pub(crate) fn whole(body: impl Into<Bytes>) -> Sent {
    streamed(Full::new(body.into()).map_err(|never| match never {}))
}

pub(crate) fn streamed(body: impl Body<Data = Bytes, Error = std::io::Error> + Send + 'static) -> Sent {
    UnsyncBoxBody::new(body)
}

pub(crate) async fn text(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(bytes.into()).expect("UTF-8")
}

pub(crate) async fn json(response: Response<Incoming>) -> Value {
    serde_json::from_str(&text(response).await).expect("JSON")
}

/// Everything up to the end of the connection.
pub(crate) async fn read_to_end(mut socket: TcpStream) -> String {
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes).await {
        Ok(_) | Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Reads until the word was seen.
pub(crate) async fn read_until(socket: &mut TcpStream, word: &str) -> String {
    let mut seen = String::new();
    let mut piece = [0; 1024];
    while !seen.contains(word) {
        let size = socket.read(&mut piece).await.expect("more bytes");
        assert!(size > 0, "the connection ended after {seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..size]));
    }
    seen
}
