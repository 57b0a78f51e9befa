//! A caller that leaves, and a caller that stops reading, are felt by the provider at once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::support::raw::Socket;
use crate::support::scene::Scene;
use crate::support::{eventually, unique};

/// The promise is one second; a loaded machine gets three.
const SLACK: Duration = Duration::from_secs(3);

const HANG: &str = r#"{"model":"fault-hang","messages":[{"role":"user","content":"x"}]}"#;
const SLOW: &str = r#"{"model":"fault-slow-200","stream":true,"messages":[{"role":"user","content":"a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r s t u v w x y z"}]}"#;

#[tokio::test]
async fn leaving_before_the_head_cancels_the_upstream_call() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").header("content-type", "application/json");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(call.written(HANG)).await;
    scene.mock.until(call.mark(), |call| call["state"] == "running").await;
    drop(socket);
    let left = Instant::now();
    scene.mock.until(call.mark(), |call| call["state"] == "hung_up").await;
    assert!(left.elapsed() < SLACK, "after {:?}", left.elapsed());
}

#[tokio::test]
async fn leaving_in_the_middle_of_a_stream_cancels_the_upstream_call() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").header("content-type", "application/json");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(call.written(SLOW)).await;
    socket.until("data: {").await;
    assert_eq!(scene.mock.only(call.mark()).await["state"], "running");
    drop(socket);
    let left = Instant::now();
    scene.mock.until(call.mark(), |call| call["state"] == "hung_up").await;
    assert!(left.elapsed() < SLACK, "after {:?}", left.elapsed());
}

#[tokio::test]
async fn leaving_in_the_middle_of_an_upload_cancels_the_upstream_call() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/any/upload");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(call.written("").replace("content-length: 0", "content-length: 1000000")).await;
    socket.say(vec![b'x'; 100_000]).await;
    scene.mock.until(call.mark(), |call| call["received"].as_u64() == Some(100_000)).await;
    drop(socket);
    let left = Instant::now();
    scene.mock.until(call.mark(), |call| call["state"] == "hung_up").await;
    assert!(left.elapsed() < SLACK, "after {:?}", left.elapsed());
}

#[tokio::test]
async fn leaving_one_call_of_an_http_2_connection_cancels_that_one() {
    let scene = Scene::shared().await;
    let stream = TokioIo::new(TcpStream::connect(&scene.server.address).await.unwrap());
    let (mut two, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let mut ask = |mark: &str| {
        let uri = format!("http://{}/v1/chat/completions", scene.server.address);
        let request = Request::builder().method("POST").uri(uri).header("authorization", format!("Bearer {mark}"));
        let request = request.header("x-gateway-api-key", scene.server.workspace_key());
        let request = request.header("x-gateway-provider", "openai").header("x-gateway-custom-host", scene.mock.base());
        two.send_request(request.body(Full::new(Bytes::from(SLOW))).unwrap())
    };
    let (left, kept) = (unique("sk-left"), unique("sk-kept"));
    let (leaving, staying) = (ask(&left), ask(&kept));
    let mut leaving = leaving.await.unwrap().into_body();
    let mut staying = staying.await.unwrap().into_body();
    leaving.frame().await.unwrap().unwrap();
    drop(leaving);
    let start = Instant::now();
    scene.mock.until(&left, |call| call["state"] == "hung_up").await;
    assert!(start.elapsed() < SLACK, "after {:?}", start.elapsed());
    staying.frame().await.unwrap().unwrap();
    assert_eq!(scene.mock.only(&kept).await["state"], "running");
}

#[tokio::test]
async fn a_call_that_was_left_is_recorded_as_such() {
    let scene = Scene::with(&[]).await;
    let call = scene.openai("POST", "/v1/chat/completions").header("content-type", "application/json");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(call.written(HANG)).await;
    scene.mock.until(call.mark(), |call| call["state"] == "running").await;
    drop(socket);
    eventually("the log tells of it", SLACK, async || {
        scene.server.process.stderr().contains("\"outcome\":\"hung_up\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_reader_that_stops_stalls_the_provider_and_costs_no_memory() {
    let scene = Scene::with(&[]).await;
    // What is allocated once and kept is not what this test is about.
    scene.openai("GET", "/v1/bytes/20000000").send().await.well();
    let before = scene.server.process.memory("VmRSS");

    let call = scene.openai("GET", "/v1/bytes/1000000000");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(call.written("")).await;
    socket.until("\r\n\r\n").await;
    // From here on nothing is read any more.
    let mut last = (0, Instant::now());
    let sent = eventually("the mock stands still for two seconds", Duration::from_secs(30), async || {
        let sent = scene.mock.only(call.mark()).await["sent"].as_u64()?;
        if sent != last.0 {
            last = (sent, Instant::now());
        }
        (last.1.elapsed() > Duration::from_secs(2)).then_some(sent)
    })
    .await;
    assert!(sent < 100_000_000, "{sent} bytes had left the provider");
    // An allocator gives back what it does not need only when it is asked for something else.
    let grown = eventually("memory is back to within 1 MB", Duration::from_secs(20), async || {
        scene.server.bare("GET", "/health").send().await.well();
        let grown = scene.server.process.memory("VmRSS").saturating_sub(before);
        (grown < 1024 * 1024).then_some(grown)
    })
    .await;
    println!("stalled after {sent} of 1000000000 bytes; memory rose by {} KiB", grown / 1024);
    assert_eq!(scene.mock.only(call.mark()).await["state"], "running");

    drop(socket);
    scene.mock.until(call.mark(), |call| call["state"] == "hung_up").await;
}
