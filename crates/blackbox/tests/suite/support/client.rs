//! One call and its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::PATIENCE;

type Sent = UnsyncBoxBody<Bytes, std::io::Error>;

pub(crate) struct Call {
    address: String,
    method: String,
    path: String,
    headers: HeaderMap,
    body: Sent,
    mark: String,
}

impl Call {
    pub(crate) fn to(address: &str, method: &str, path: &str) -> Call {
        Call {
            address: address.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: whole(Bytes::new()),
            mark: String::new(),
        }
    }

    /// Adds a header; one of the same name stays.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Call {
        self.headers.append(header_name(name), HeaderValue::from_str(value).expect("a header value"));
        self
    }

    /// Sets a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Call {
        self.headers.insert(header_name(name), HeaderValue::from_str(value).expect("a header value"));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Call {
        self.headers.remove(name);
        self
    }

    /// A word by which the mock can be asked for this call.
    pub(crate) fn marked(mut self, mark: String) -> Call {
        self.mark = mark;
        self
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Call {
        self.body = whole(body.into());
        self
    }

    pub(crate) fn streamed(mut self, body: impl Body<Data = Bytes, Error = std::io::Error> + Send + 'static) -> Call {
        self.body = UnsyncBoxBody::new(body);
        self
    }

    pub(crate) fn json(self, body: impl ToString) -> Call {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn chat(self, model: &str, said: &str) -> Call {
        self.json(json!({"model": model, "messages": [{"role": "user", "content": said}]}))
    }

    pub(crate) fn chat_stream(self, model: &str, said: &str) -> Call {
        self.json(json!({"model": model, "stream": true, "messages": [{"role": "user", "content": said}]}))
    }

    /// The head of the answer; its body is still to come.
    pub(crate) async fn open(self) -> Response<Incoming> {
        let client: Client<HttpConnector, Sent> = Client::builder(TokioExecutor::new()).build_http();
        let uri = format!("http://{}{}", self.address, self.path);
        let mut request = Request::builder().method(&*self.method).uri(uri).body(self.body).expect("a request");
        *request.headers_mut() = self.headers;
        timeout(PATIENCE, client.request(request)).await.expect("an answer in time").expect("an answer")
    }

    pub(crate) async fn send(self) -> Answer {
        let mark = self.mark.clone();
        Answer { mark, ..Answer::read(self.open().await).await }
    }

    /// The same as bytes on the wire, for a socket of our own.
    pub(crate) fn written(&self, body: &str) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.path, self.address);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().expect("plain headers")));
        }
        format!("{text}content-length: {}\r\n\r\n{body}", body.len())
    }
}

fn header_name(name: &str) -> HeaderName {
    name.parse().expect("a header name")
}

fn whole(body: Bytes) -> Sent {
    UnsyncBoxBody::new(Full::new(body).map_err(|never| match never {}))
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) mark: String,
}

impl Answer {
    async fn read(response: Response<Incoming>) -> Answer {
        let (head, body) = response.into_parts();
        let body = timeout(PATIENCE, body.collect()).await.expect("a whole body in time").expect("a whole body");
        let (status, headers) = (head.status.as_u16(), head.headers);
        Answer { status, headers, body: body.to_bytes(), mark: String::new() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("UTF-8")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let parsed = serde_json::from_slice(&self.body);
        assert!(parsed.is_ok(), "no JSON: {} {}", self.status, String::from_utf8_lossy(&self.body));
        parsed.unwrap_or_default()
    }

    /// The value of a header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// It went well.
    #[track_caller]
    pub(crate) fn well(self) -> Answer {
        assert_eq!(self.status, 200, "{:?}: {}", self.headers, String::from_utf8_lossy(&self.body));
        self
    }

    /// The text of a chat answer.
    #[track_caller]
    pub(crate) fn said(&self) -> String {
        let body = self.json();
        let content = &body["choices"][0]["message"]["content"];
        assert!(content.is_string(), "no chat answer: {} {body}", self.status);
        content.as_str().unwrap_or_default().to_owned()
    }

    /// A refusal in the shape of the contract: status, code, and a part of its message or particulars.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str, part: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert!(self.header("content-type").starts_with("application/json"), "{:?}", self.headers);
        let body = self.json();
        check_refusal(&body, code, part);
        self.named();
        body
    }

    /// Every answer says which call it belongs to, under both prefixes.
    #[track_caller]
    pub(crate) fn named(&self) {
        for name in ["trace-id", "request-id"] {
            let ours = self.header(&format!("x-gateway-{name}"));
            assert!(!ours.is_empty(), "{name} is missing: {} {:?}", self.status, self.headers);
            assert_eq!(ours, self.header(&format!("x-portkey-{name}")), "{:?}", self.headers);
        }
    }
}

#[track_caller]
pub(crate) fn check_refusal(body: &Value, code: &str, part: &str) {
    assert_eq!(body["status"], "failure", "{body}");
    assert_eq!(body["success"], false, "{body}");
    let message = body["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{body}");
    assert_eq!(body["error"]["message"], message, "{body}");
    assert_eq!(body["error"]["code"].as_str().unwrap_or_default(), code, "{body}");
    assert!(body["error"]["type"].is_string(), "{body}");
    assert!(body["error"]["param"].is_null(), "{body}");
    assert_eq!(body["data"]["message"], message, "{body}");
    assert!(body["data"]["errorCode"].as_str().is_some_and(|code| code.starts_with("AB0")), "{body}");
    let reasons = body["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    assert!(reasons.chain([message]).any(|text| text.contains(part)), "`{part}` is not in {body}");
}

/// A large body that is made as it is read, in pieces; the last one may be shorter.
pub(crate) struct Made {
    pub(crate) left: u64,
}

pub(crate) static PIECE: [u8; 64 * 1024] = [b'g'; 64 * 1024];

impl Body for Made {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let size = self.left.min(PIECE.len() as u64);
        self.left -= size;
        Poll::Ready((size > 0).then(|| Ok(Frame::data(Bytes::from_static(&PIECE[..size as usize])))))
    }
}
