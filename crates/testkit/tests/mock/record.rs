//! What is on record: what arrived, and who left before the end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::rig::{Mock, json, read_until, text, whole};

fn chat(model: &str, word: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": word}], "stream": true})
}

fn state(wanted: &'static str) -> impl Fn(&Value) -> bool {
    move |call| call["state"] == wanted
}

#[tokio::test]
async fn a_call_is_on_record_as_it_arrived() {
    let mock = Mock::start().await;
    let request = mock.request("POST", "/v1/anything?a=b").header("authorization", "Bearer x");
    text(mock.send(request.body(whole("abc")).expect("a request")).await).await;
    let call = mock.calls("anything").await[0].clone();
    assert_eq!(call["n"], 1);
    assert_eq!(
        (&call["method"], &call["path"], &call["query"]),
        (&json!("POST"), &json!("/v1/anything"), &json!("a=b"))
    );
    assert_eq!(call["headers"]["authorization"], "Bearer x");
    assert_eq!((&call["body"], &call["bytes"], &call["received"]), (&json!("abc"), &json!(3), &json!(3)));
    assert_eq!(call["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(call["state"], "answered");
}

#[tokio::test]
async fn the_record_can_be_searched_and_cleared() {
    let mock = Mock::start().await;
    assert_eq!(json(mock.get("/__mock/health").await).await, json!({"status": "ok"}));
    text(mock.get("/v1/one").await).await;
    text(mock.post("/v1/two", json!("needle")).await).await;
    assert_eq!(mock.calls("needle").await.len(), 1);
    text(mock.send(mock.request("DELETE", "/__mock/calls").body(whole("")).expect("a request")).await).await;
    assert_eq!(json(mock.get("/__mock/calls").await).await, json!({"calls": [], "last": 2}));
    assert_eq!(mock.get("/__mock/nothing").await.status(), 404);
}

#[tokio::test]
async fn a_caller_that_leaves_a_stream_is_noticed() {
    let mock = Mock::start().await;
    let mut socket = mock.write_post("/v1/chat/completions", "", &chat("fault-hang-2", "stream-left")).await;
    let seen = read_until(&mut socket, "stream-left").await;
    mock.until("stream-left", state("running")).await;
    assert!(seen.contains("data: "));
    drop(socket);
    let noticed = mock.until("stream-left", state("hung_up")).await;
    assert!(noticed < Duration::from_millis(100), "{noticed:?}");
}

#[tokio::test]
async fn a_caller_that_leaves_before_the_head_is_noticed() {
    let mock = Mock::start().await;
    let socket = mock.write_post("/v1/chat/completions", "", &chat("fault-hang", "head-left")).await;
    mock.until("head-left", |call| call["state"] == "running" && call["sha256"].is_string()).await;
    drop(socket);
    let noticed = mock.until("head-left", state("hung_up")).await;
    assert!(noticed < Duration::from_millis(100), "{noticed:?}");
}

#[tokio::test]
async fn a_caller_that_leaves_during_its_upload_is_noticed() {
    let mock = Mock::start().await;
    let mut socket = mock.write("PUT /v1/upload-left HTTP/1.1\r\nhost: mock\r\ncontent-length: 1000\r\n\r\n").await;
    socket.write_all(&[b'x'; 400]).await.expect("written");
    mock.until("upload-left", |call| call["received"] == 400 && call["state"] == "running").await;
    drop(socket);
    let noticed = mock.until("upload-left", state("hung_up")).await;
    assert!(noticed < Duration::from_millis(100), "{noticed:?}");
    assert_eq!(mock.calls("upload-left").await[0]["sha256"], Value::Null);
}

#[tokio::test]
async fn a_caller_that_leaves_over_http2_is_noticed() {
    let mock = Mock::start().await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let client = { client }.http2_only(true).build_http();
    let body = whole(chat("fault-hang", "h2-left").to_string());
    let call = client.request(mock.request("POST", "/v1/chat/completions").body(body).expect("a request"));
    let call = tokio::spawn(call);
    mock.until("h2-left", state("running")).await;
    call.abort();
    mock.until("h2-left", state("hung_up")).await;
}

#[tokio::test]
async fn a_reader_that_stops_makes_the_mock_stop() {
    let mock = Mock::start().await;
    let request = "GET /v1/bytes/1000000000 HTTP/1.1\r\nhost: mock\r\n\r\n";
    let mut socket = mock.write(request).await;
    read_until(&mut socket, "xxxx").await;
    let sent = async || mock.calls("bytes").await[0]["sent"].as_u64().expect("a number");
    let mut before = sent().await;
    // The sockets' buffers fill first; then nothing moves.
    let stopped = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = sent().await;
            if now == before {
                return now;
            }
            before = now;
        }
    };
    let stopped = tokio::time::timeout(Duration::from_secs(5), stopped).await.expect("it stops");
    assert!(stopped < 100_000_000, "{stopped}");
    assert_eq!(mock.calls("bytes").await[0]["state"], "running");
    drop(socket);
    let noticed = mock.until("bytes", state("hung_up")).await;
    assert!(noticed < Duration::from_millis(100), "{noticed:?}");
}
