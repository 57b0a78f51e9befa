//! Requests as no good client writes them: refused in our shape, or never taken for something else.

use std::time::{Duration, Instant};

use crate::support::client::check_refusal;
use crate::support::raw::{Socket, answer, ask};
use crate::support::scene::Scene;
use crate::support::server::Server;
use crate::support::unique;

/// Every answer says which call it belongs to.
#[track_caller]
fn named(head: &str) {
    for name in ["x-gateway-trace-id: ", "x-gateway-request-id: ", "x-portkey-trace-id: ", "x-portkey-request-id: "] {
        assert!(head.contains(name), "{name} is missing in {head}");
    }
}

/// Requests that are no HTTP, and their statuses.
const GARBAGE: &[(&str, &[u8], u16)] = &[
    ("a bare carriage return in a header", b"GET /v1/x HTTP/1.1\r\nhost: a\r\nx-a: b\rc\r\n\r\n", 400),
    ("a zero byte in a header", b"GET /v1/x HTTP/1.1\r\nhost: a\r\nx-a: b\0c\r\n\r\n", 400),
    ("a space in a header name", b"GET /v1/x HTTP/1.1\r\nhost: a\r\nx a: b\r\n\r\n", 400),
    ("no colon", b"GET /v1/x HTTP/1.1\r\nhost: a\r\nnonsense\r\n\r\n", 400),
    ("no request line", b"nonsense\r\n\r\n", 400),
    ("an unknown version", b"GET /v1/x HTTP/9.9\r\nhost: a\r\n\r\n", 400),
    ("two lengths", b"POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nabcde", 400),
    ("a length that is none", b"POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n", 400),
    ("an odd transfer encoding", b"POST /v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 400),
    ("a space before the colon", b"POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length : 3\r\n\r\nabc", 400),
    ("two hosts", b"GET /v1/x HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
];

#[tokio::test]
async fn what_is_no_http_is_refused_in_our_shape() {
    let scene = Scene::shared().await;
    for (what, bytes, expected) in GARBAGE {
        let (status, head, body) = ask(&scene.server.address, bytes).await;
        assert_eq!(status, *expected, "{what}: {head}");
        assert!(head.contains("content-type: application/json"), "{what}: {head}");
        let body = serde_json::from_str(&body).unwrap();
        check_refusal(&body, "invalid_request", "");
    }
    scene.server.chat("echo", "still here").send().await.well();
}

#[tokio::test]
async fn what_is_no_http_is_answered_with_the_name_of_the_call() {
    let scene = Scene::shared().await;
    for (what, bytes, _) in GARBAGE {
        let (_, head, _) = ask(&scene.server.address, bytes).await;
        println!("{what}");
        named(&head);
    }
}

#[tokio::test]
async fn headers_above_the_limit_are_a_431_in_our_shape() {
    let server = Server::start().await;
    let long = "y".repeat(70_000);
    let many: String = (0..200).map(|n| format!("x-{n}: {}\r\n", "z".repeat(400))).collect();
    let endless = "y".repeat(300_000);
    for (what, text) in [
        ("one long header", format!("GET /v1/x HTTP/1.1\r\nhost: a\r\nx-long: {long}\r\n\r\n")),
        ("many headers", format!("GET /v1/x HTTP/1.1\r\nhost: a\r\n{many}\r\n")),
        ("a header without end", format!("GET /v1/x HTTP/1.1\r\nhost: a\r\nx-long: {endless}")),
    ] {
        let mut socket = Socket::open(&server.address).await;
        socket.say(text).await;
        let (status, head, body) = answer(&mut socket).await;
        assert_eq!(status, 431, "{what}: {head}");
        check_refusal(&serde_json::from_str(&body).unwrap(), "headers_too_large", "");
        named(&head);
    }
    let fits = server.bare("GET", "/health").header("x-long", &"y".repeat(60_000)).send().await;
    assert_eq!(fits.status, 200);
}

/// Paths that two readers could take differently.
const TRICKS: &[&str] = &[
    "/v1/../x",
    "/v1/./x",
    "/v1/x/..",
    "/v1/%2e%2e/x",
    "/v1/%2E%2E%2Fx",
    "/v1/.%2e/x",
    "/v1/%252e%252e/x",
    "/v1/x%2f..%2f..%2fadmin",
    "/v1//x",
    "//v1/x",
    "/v1/x//y",
    "/v1/x%2F%2Fy",
    "/v1\\..\\x",
    "/v1/x\\y",
    "/v1/%5c..%5cx",
    "/v1/..;a=b/x",
    "/v1/%00",
    "/v1/x%0d%0ay",
    "/v1/%zz",
    "/v1/%c0%ae%c0%ae/x",
    "/v1/chat/../configs",
    "/v1/proxy/../configs",
    "/v1/proxy//configs",
];

#[tokio::test]
async fn a_path_with_two_readings_is_refused_and_never_passed_on() {
    let scene = Scene::shared().await;
    let (key, host) = (scene.server.workspace_key(), scene.mock.base());
    for path in TRICKS {
        let mark = unique("sk-trick");
        let head = format!(
            "host: a\r\nx-gateway-api-key: {key}\r\nx-gateway-provider: openai\r\nx-gateway-custom-host: {host}\r\n\
             authorization: Bearer {mark}\r\ncontent-length: 0\r\n\r\n"
        );
        for method in ["GET", "POST"] {
            let (status, seen, body) = ask(&scene.server.address, format!("{method} {path} HTTP/1.1\r\n{head}")).await;
            assert_eq!(status, 400, "{method} {path}: {seen}");
            check_refusal(&serde_json::from_str(&body).unwrap(), "ambiguous_path", "the path");
            named(&seen);
        }
        assert!(scene.mock.calls(&mark).await.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn odd_request_targets_reach_nobody() {
    let scene = Scene::shared().await;
    let (key, host) = (scene.server.workspace_key(), scene.mock.base());
    for (line, expected) in [
        ("GET v1/x HTTP/1.1", vec![400]),
        ("GET * HTTP/1.1", vec![400, 404]),
        ("CONNECT 127.0.0.1:80 HTTP/1.1", vec![400, 405]),
        ("TRACE /v1/x HTTP/1.1", vec![405]),
        ("BREW /v1/x HTTP/1.1", vec![405]),
        ("get /v1/x HTTP/1.1", vec![405]),
    ] {
        let mark = unique("sk-target");
        let text = format!(
            "{line}\r\nhost: a\r\nx-gateway-api-key: {key}\r\nx-gateway-provider: openai\r\n\
             x-gateway-custom-host: {host}\r\nauthorization: Bearer {mark}\r\n\r\n"
        );
        let (status, head, body) = ask(&scene.server.address, text).await;
        assert!(expected.contains(&status), "{line}: {head}");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["status"], "failure", "{line}: {body}");
        assert_eq!(
            head.contains("allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            status == 405,
            "{line}: {head}"
        );
        assert!(scene.mock.calls(&mark).await.is_empty(), "{line}");
    }
}

#[tokio::test]
async fn a_second_request_hidden_in_a_body_is_not_taken_for_one() {
    let scene = Scene::shared().await;
    let (key, host, mark) = (scene.server.workspace_key(), scene.mock.base(), unique("sk-smuggled"));
    let text = format!(
        "POST /v1/any HTTP/1.1\r\nhost: a\r\nx-gateway-api-key: {key}\r\nx-gateway-provider: openai\r\n\
         x-gateway-custom-host: {host}\r\nauthorization: Bearer {mark}\r\ncontent-length: 6\r\n\
         transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/hidden HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {mark}\r\n\r\n"
    );
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(text).await;
    answer(&mut socket).await;
    let heard = scene.mock.calls(&mark).await;
    assert!(heard.iter().all(|call| call["path"] == "/v1/any" && call["bytes"] == 0), "{heard:?}");
}

#[tokio::test]
async fn headers_that_do_not_come_to_an_end_are_cut_off() {
    let server = Server::with(&[("HEADER_TIMEOUT", "400")]).await;
    let start = Instant::now();
    let mut socket = Socket::open(&server.address).await;
    socket.say("GET /health HTTP/1.1\r\nhost: a\r\nx-a: ").await;
    assert!(socket.closes_within(Duration::from_secs(5)).await, "it stays open");
    assert!(start.elapsed() > Duration::from_millis(300), "not before its time: {:?}", start.elapsed());
    server.bare("GET", "/health").send().await.well();
}

#[tokio::test]
async fn headers_that_drip_are_cut_off_as_well() {
    let server = Server::with(&[("HEADER_TIMEOUT", "400")]).await;
    let mut socket = Socket::open(&server.address).await;
    socket.say("GET /health HTTP/1.1\r\nhost: a\r\n").await;
    let start = Instant::now();
    while !socket.closes_within(Duration::from_millis(50)).await {
        assert!(start.elapsed() < Duration::from_secs(5), "a dripping client is served for ever");
        socket.drip("x").await;
    }
}

#[tokio::test]
async fn a_connection_is_used_again_and_survives_a_pause_between_requests() {
    let server = Server::with(&[("HEADER_TIMEOUT", "300")]).await;
    let mut socket = Socket::open(&server.address).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    let body = r#"{"model":"echo","messages":[{"role":"user","content":"x"}]}"#;
    let chat = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock").written(body);
    let slow = chat.replace("\"echo\"", "\"fault-slow-500\"").replace("content-length: 59", "content-length: 69");
    for (request, expected) in [(get("/health"), 200), (get("/v1/nothing"), 401), (chat, 200), (slow, 200)] {
        socket.say(&request).await;
        let (status, head, body) = answer(&mut socket).await;
        assert_eq!(status, expected, "{body}");
        assert!(!head.contains("connection: close"), "{head}");
        // Longer than headers may take: an idle connection owes none.
        assert!(!socket.closes_within(Duration::from_millis(700)).await, "closed after {request}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_time() {
    let server = Server::with(&[("KEEPALIVE_TIMEOUT", "300")]).await;
    let mut socket = Socket::open(&server.address).await;
    socket.say("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await;
    answer(&mut socket).await;
    assert!(socket.closes_within(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_connection_that_never_asks_is_closed_after_its_time() {
    let server = Server::with(&[("KEEPALIVE_TIMEOUT", "300")]).await;
    let mut socket = Socket::open(&server.address).await;
    assert!(socket.closes_within(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_client_that_writes_all_before_it_reads_learns_that_it_was_too_much() {
    let server = Server::with(&[("MAX_JSON_PAYLOAD_SIZE_IN_MB", "1")]).await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    for size in [1_100_000, 8_000_000] {
        let mut socket = Socket::open(&server.address).await;
        let text = call.written(&"x".repeat(size));
        for piece in text.as_bytes().chunks(64 * 1024) {
            socket.say(piece).await;
        }
        let (status, _, body) = answer(&mut socket).await;
        assert_eq!(status, 413, "{body}");
        assert!(socket.closes_within(Duration::from_secs(5)).await);
    }
}

#[tokio::test]
async fn requests_sent_in_one_breath_are_answered_in_order() {
    let scene = Scene::shared().await;
    let mut socket = Socket::open(&scene.server.address).await;
    let one = |trace: &str| format!("GET /health HTTP/1.1\r\nhost: a\r\nx-gateway-trace-id: {trace}\r\n\r\n");
    socket.say(format!("{}{}{}", one("first"), one("second"), one("third"))).await;
    for trace in ["first", "second", "third"] {
        let (status, head, _) = answer(&mut socket).await;
        assert_eq!(status, 200);
        assert!(head.contains(&format!("x-gateway-trace-id: {trace}\r\n")) || head.ends_with(trace), "{head}");
    }
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_gets_it() {
    let scene = Scene::shared().await;
    let body = r#"{"model":"echo","messages":[{"role":"user","content":"x"}]}"#;
    let call = scene.server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let text = call.header("expect", "100-continue").written(body);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(format!("{head}\r\n\r\n")).await;
    socket.until("HTTP/1.1 100 Continue\r\n\r\n").await;
    socket.seen.clear();
    socket.say(body).await;
    assert_eq!(answer(&mut socket).await.0, 200);
}

/// An upstream that answers every request with these bytes.
async fn upstream(answer: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut piece = [0; 4096];
                loop {
                    match tokio::io::AsyncReadExt::read(&mut socket, &mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(length) => seen.extend_from_slice(&piece[..length]),
                    }
                    if seen.ends_with(b"\r\n\r\n") {
                        seen.clear();
                        let written = tokio::io::AsyncWriteExt::write_all(&mut socket, answer.as_bytes()).await;
                        written.expect("the gateway reads");
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn refusals_of_a_provider_pass_unchanged_also_without_a_body() {
    let server = Server::start().await;
    for (answer, status, body) in [
        ("HTTP/1.1 404 Not Found\r\nX-Up: yes\r\nContent-Length: 0\r\n\r\n", 404, ""),
        ("HTTP/1.1 404 Not Found\r\nX-Up: yes\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 404, ""),
        ("HTTP/1.1 401 No\r\nX-Up: yes\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n", 401, ""),
        ("HTTP/1.1 422 No\r\nX-Up: yes\r\nContent-Length: 8\r\n\r\nno\r\n\r\n\r\n", 422, "no\r\n\r\n\r\n"),
    ] {
        let host = upstream(answer).await;
        for method in ["GET", "DELETE", "HEAD"] {
            let body = if method == "HEAD" { "" } else { body };
            if method == "HEAD" && answer.contains("no\r\n") {
                continue; // that upstream sends a body after HEAD
            }
            for _ in 0..2 {
                let call = server.call(method, "/v1/thing").header("x-gateway-provider", "openai");
                let answer = call.header("x-gateway-custom-host", &host).send().await;
                assert_eq!((answer.status, answer.text().as_str()), (status, body), "{method}");
                assert_eq!(answer.header("x-up"), "yes", "{method}");
                assert_eq!(answer.header("x-gateway-provider"), "openai", "{method}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_and_the_connection_goes_on() {
    let server = Server::start().await;
    let mut socket = Socket::open(&server.address).await;
    for (path, status) in [("/nothing", 404), ("/health", 200), ("/v1/models", 401), ("/health", 200)] {
        socket.say(format!("HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        let head = socket.until("\r\n\r\n").await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(!head.contains("content-length: 0\r\n"), "the length of the body is told: {head}");
        socket.seen.clear();
    }
}

#[tokio::test]
async fn a_provider_that_wants_to_change_the_protocol_is_refused() {
    let server = Server::start().await;
    let host = upstream("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n").await;
    let call = server.call("GET", "/v1/thing").header("x-gateway-provider", "openai");
    call.header("x-gateway-custom-host", &host).send().await.refused(502, "upstream_garbled", "protocol");
}
