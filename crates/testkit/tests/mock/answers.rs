//! What comes out: whole answers, streams chunk by chunk, and broken ones.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::rig::{Mock, json, read_to_end, text, whole};

fn chat(model: &str, stream: bool) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "grüße an die Welt"}], "stream": stream})
}

#[tokio::test]
async fn the_same_is_served_with_and_without_the_version() {
    let mock = Mock::start().await;
    for path in ["/v1/chat/completions", "/chat/completions"] {
        let answer = mock.post(path, chat("echo", false)).await;
        assert!(answer.headers()["content-length"] != "0");
        assert!(answer.headers()["x-request-id"].to_str().expect("text").starts_with("req_mock_"));
        assert_eq!(json(answer).await["choices"][0]["message"]["content"], "grüße an die Welt");
    }
}

#[tokio::test]
async fn a_stream_arrives_chunk_by_chunk() {
    let mock = Mock::start().await;
    let start = Instant::now();
    let answer = mock.post("/v1/chat/completions", chat("fault-slow-30", true)).await;
    assert!(answer.headers().get("content-length").is_none());
    let mut body = answer.into_body();
    let mut times = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.expect("a frame").into_data().expect("data");
        assert!(data.starts_with(b"data: ") && data.ends_with(b"\n\n"));
        times.push(start.elapsed());
    }
    // Role, four words, finish, done.
    assert_eq!(times.len(), 7);
    assert!(times[0] < Duration::from_millis(150), "the first came after {:?}", times[0]);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] > Duration::from_millis(15)), "{times:?}");
}

#[tokio::test]
async fn split_events_arrive_in_pieces() {
    let mock = Mock::start().await;
    let request = mock.request("POST", "/v1/chat/completions").header("x-mock-framing", "split");
    let request = request.body(whole(chat("echo", true).to_string())).expect("a request");
    let mut body = mock.send(request).await.into_body();
    let (mut pieces, mut bytes) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        pieces += 1;
        bytes.extend(frame.expect("a frame").into_data().expect("data"));
    }
    assert!(pieces > 100, "{pieces}");
    assert!(String::from_utf8(bytes).expect("UTF-8").contains("\"grüße\""));
}

#[tokio::test]
async fn a_cut_stream_ends_without_its_end() {
    let mock = Mock::start().await;
    let socket = mock.write_post("/v1/chat/completions", "", &chat("fault-cut-3", true)).await;
    let seen = read_to_end(socket).await;
    assert_eq!(seen.matches("data: ").count(), 3, "{seen}");
    assert!(!seen.ends_with("0\r\n\r\n"), "no last chunk of HTTP/1.1");

    let answer = mock.post("/v1/chat/completions", chat("fault-cut-3", true)).await;
    assert!(answer.into_body().collect().await.is_err());
}

#[tokio::test]
async fn a_cut_comes_after_the_bytes_it_names() {
    let mock = Mock::start().await;
    for (path, count) in [("/v1/bytes/1000", 0), ("/v1/bytes/1000", 300), ("/v1/bytes/9000000", 3_000_000)] {
        let socket = mock.write(&format!("GET {path} HTTP/1.1\r\nhost: mock\r\nx-mock-cut: {count}\r\n\r\n")).await;
        let seen = read_to_end(socket).await;
        let (head, body) = seen.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"));
        assert_eq!(body.matches('x').count(), count);
    }
}

#[tokio::test]
async fn a_truncated_stream_ends_cleanly() {
    let mock = Mock::start().await;
    let seen = text(mock.post("/v1/chat/completions", chat("fault-truncate", true)).await).await;
    assert!(!seen.contains("[DONE]") && !seen.contains("\"stop\""));
}

#[tokio::test]
async fn a_delay_comes_before_the_head() {
    let mock = Mock::start().await;
    let start = Instant::now();
    assert_eq!(mock.post("/v1/chat/completions", chat("fault-slow-80", false)).await.status(), 200);
    assert!(start.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn a_head_request_is_answered_without_a_body() {
    let mock = Mock::start().await;
    let request = mock.request("HEAD", "/v1/anything").body(whole("")).expect("a request");
    assert_eq!(text(mock.send(request).await).await, "");
    assert_eq!(mock.calls("anything").await[0]["state"], "answered");
}

#[tokio::test]
async fn http2_without_tls_is_spoken() {
    let mock = Mock::start().await;
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let request = mock.request("POST", "/v1/chat/completions").body(whole(chat("echo", true).to_string()));
    let answer = client.request(request.expect("a request")).await.expect("an answer");
    assert_eq!(answer.version(), http::Version::HTTP_2);
    assert!(text(answer).await.ends_with("data: [DONE]\n\n"));

    let request = mock.request("POST", "/v1/chat/completions").body(whole(chat("fault-cut-2", true).to_string()));
    let answer = client.request(request.expect("a request")).await.expect("an answer");
    assert!(answer.into_body().collect().await.is_err());
}

#[tokio::test]
async fn shutdown_ends_the_server_although_a_call_hangs() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(testkit::serve(listener, std::sync::Arc::new(crate::rig::Noon), async {
        stopped.await.unwrap_or_default();
    }));
    let mut socket = tokio::net::TcpStream::connect(address).await.expect("a connection");
    let hang = "GET /v1/x HTTP/1.1\r\nhost: mock\r\nx-mock-hang: head\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut socket, hang.as_bytes()).await.expect("written");
    stop.send(()).expect("the server listens");
    served.await.expect("no panic").expect("no error");
    assert_eq!(read_to_end(socket).await, "");
}
