//! For whoever runs it: health, metrics, logs, and an end in good order.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::check_refusal;
use crate::support::mock::Mock;
use crate::support::raw::{Socket, answer, ask};
use crate::support::scene::Scene;
use crate::support::server::Server;
use crate::support::{PATIENCE, eventually};

#[tokio::test]
async fn health_and_readiness_are_open_to_all() {
    let server = Server::with(&[("SERVICE_NAME", "my-house")]).await;
    for path in ["/health", "/v1/health"] {
        let health = server.bare("GET", path).send().await.well().json();
        assert_eq!(health["status"], "success");
        assert_eq!(health["message"], "Server is healthy");
        assert_eq!(health["service"], "my-house");
        assert!(health["version"].as_str().is_some_and(|version| version.contains('.')), "{health}");
    }
    let ready = server.bare("GET", "/ready").send().await.well().json();
    assert_eq!(ready, json!({"ready": true, "settings_store": "ok"}));
    assert_eq!(server.bare("GET", "/").send().await.well().text(), "AI Gateway says hey!");
    assert!(server.bare("HEAD", "/health").send().await.well().body.is_empty());
}

#[tokio::test]
async fn metrics_count_calls_by_provider_endpoint_and_status() {
    let scene = Scene::with(&[]).await;
    scene.chat("echo", "one two").send().await.well();
    scene.chat("fault-429", "x").send().await;
    scene.chat("echo", "x").header("x-gateway-api-key", "wrong-wrong-wrong").send().await;
    scene.server.bare("GET", "/nothing").send().await;
    let answer = scene.server.bare("GET", "/metrics").send().await.well();
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"), "{answer:?}");
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in [
        "request_count{provider=\"openai\",endpoint=\"chatComplete\",code=\"200\",outcome=\"done\"} 1",
        "request_count{provider=\"openai\",endpoint=\"chatComplete\",code=\"429\",outcome=\"done\"} 1",
        "request_count{provider=\"none\",endpoint=\"chatComplete\",code=\"401\",outcome=\"refused\"} 1",
        "llm_token_sum{provider=\"openai\",endpoint=\"chatComplete\",kind=\"completion\"} 2",
        "gatehouse_other_requests{route=\"outside\",code=\"404\"} 1",
        "gatehouse_calls_in_flight 0",
        "gatehouse_settings_store_away 0",
    ] {
        assert!(text.lines().any(|told| told == line), "`{line}` is not in {text}");
    }
    for name in ["http_request_duration_seconds_bucket{", "llm_request_duration_milliseconds_bucket{"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[tokio::test]
async fn metrics_may_be_switched_off() {
    let server = Server::with(&[("ENABLE_PROMETHEUS", "false")]).await;
    server.bare("GET", "/metrics").send().await.refused(404, "not_found", "Not Found");
}

#[tokio::test]
async fn each_call_leaves_one_line_of_json_with_its_ids() {
    let scene = Scene::with(&[("LOG_FORMAT", "json")]).await;
    let good = scene.chat("echo", "never-in-a-log").header("x-gateway-trace-id", "trace-7").send().await.well();
    let bad = scene.chat("fault-500", "never-in-a-log").send().await;
    let id = |answer: &crate::support::client::Answer| answer.header("x-gateway-request-id").to_owned();
    let line = async |id: &str| {
        eventually("the call is in the log", Duration::from_secs(5), async || {
            let log = scene.server.process.stderr();
            let lines: Vec<Value> =
                log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
            let mut lines = lines.into_iter().filter(|line| line["request_id"] == id);
            let line = lines.next();
            assert!(lines.next().is_none(), "one line for each call: {log}");
            line
        })
        .await
    };
    let (good, bad) = (line(&id(&good)).await, line(&id(&bad)).await);
    assert_eq!((&good["status"], &good["trace_id"]), (&json!(200), &json!("trace-7")), "{good}");
    assert_eq!((&good["provider"], &good["model"]), (&json!("openai"), &json!("echo")), "{good}");
    assert_eq!((&good["endpoint"], &good["method"]), (&json!("chatComplete"), &json!("POST")), "{good}");
    assert_eq!((&good["tokens_in"], &good["tokens_out"]), (&json!(1), &json!(1)), "{good}");
    assert_eq!(good["level"], "INFO");
    for field in ["ms", "bytes", "key", "workspace", "timestamp", "message"] {
        assert!(!good[field].is_null(), "{field}: {good}");
    }
    assert_eq!(bad["status"], 500, "{bad}");
    assert!(!scene.server.process.stderr().contains("never-in-a-log"));
}

#[tokio::test]
async fn what_a_caller_sends_cannot_begin_a_line_of_the_log() {
    for format in ["text", "json"] {
        let server = Server::with(&[("LOG_FORMAT", format)]).await;
        let call = server.chat("a\nforged line\r\n\u{1b}[31mred", "x").header("x-gateway-trace-id", "t\tt");
        call.send().await.well();
        server.process.signal("TERM");
        let ran = server.process.ran().await.well();
        assert!(ran.stderr.contains("forged line"), "{format}: {}", ran.stderr);
        assert!(!ran.stderr.lines().any(|line| line.starts_with("forged")), "{format}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{format}: {:?}", ran.stderr);
    }
}

#[tokio::test]
async fn a_provider_that_was_restarted_is_reached_again() {
    let scene = Scene::with(&[]).await;
    let address = scene.mock.address.clone();
    scene.chat("echo", "before").send().await.well();
    let Scene { server, mock } = scene;
    drop(mock);
    let scene = Scene { server, mock: Mock::at(&address).await };
    for said in ["after", "and again"] {
        assert_eq!(scene.chat("echo", said).send().await.well().said(), said);
    }
}

#[tokio::test]
async fn logs_may_be_text_and_quieter() {
    let server = Server::with(&[("LOG_FORMAT", "text"), ("LOG_LEVEL", "warn")]).await;
    server.chat("echo", "x").send().await.well();
    server.process.signal("TERM");
    let ran = server.process.ran().await.well();
    assert_eq!(ran.stderr, "", "a good call is no warning");
}

#[tokio::test]
async fn told_to_stop_it_finishes_what_is_under_way_and_then_ends() {
    let scene = Scene::with(&[]).await;
    let server = scene.server;
    let mut socket = Socket::open(&server.address).await;
    let body =
        r#"{"model":"fault-slow-250","stream":true,"messages":[{"role":"user","content":"a b c d e f g h i j k l"}]}"#;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    socket.say(call.written(body)).await;
    socket.until("data: {").await;

    server.process.signal("TERM");
    let not_ready = eventually("it is not ready any more", Duration::from_secs(2), async || {
        let answer = server.bare("GET", "/ready").send().await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert_eq!((&not_ready.json()["ready"], &not_ready.json()["reason"]), (&json!(false), &json!("draining")));
    server.bare("GET", "/health").send().await.well();
    let refused = eventually("new calls are refused", Duration::from_secs(2), async || {
        let answer = server.chat("echo", "new").send().await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.refused(503, "draining", "shutting down");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("connection"), "close");
    assert_eq!(server.bare("GET", "/ready").send().await.status, 503);

    let stream = socket.rest().await;
    assert!(stream.contains("data: [DONE]"), "the stream under way is whole: {stream}");
    assert_eq!(stream.matches("chat.completion.chunk").count(), 14, "{stream}");
    let ran = server.process.ran().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("told to stop"), "{ran:?}");
}

#[tokio::test]
async fn told_to_stop_while_nothing_is_under_way_it_ends_at_once() {
    for signal in ["TERM", "INT"] {
        let server = Server::start().await;
        server.chat("echo", "x").send().await.well();
        // An idle connection holds nobody up.
        let mut idle = Socket::open(&server.address).await;
        idle.say("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await;
        answer(&mut idle).await;
        let start = std::time::Instant::now();
        server.process.signal(signal);
        let ran = server.process.ran().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_call_on_an_open_connection_just_after_the_signal_is_served() {
    let server = Server::start().await;
    let mut socket = Socket::open(&server.address).await;
    socket.say("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await;
    answer(&mut socket).await;
    server.process.signal("TERM");
    let body = r#"{"model":"echo","messages":[{"role":"user","content":"just in time"}]}"#;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    socket.say(call.written(body)).await;
    let (status, head, body) = answer(&mut socket).await;
    assert_eq!(status, 200, "{head} {body}");
    assert!(body.contains("just in time"));
    assert_eq!(server.process.ran().await.code, Some(0));
}

#[tokio::test]
async fn the_time_to_drain_is_bounded() {
    let server = Server::with(&[("DRAIN_TIMEOUT", "1")]).await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let mut socket = Socket::open(&server.address).await;
    socket.say(call.written(r#"{"model":"fault-hang","messages":[{"role":"user","content":"x"}]}"#)).await;
    eventually("the call is under way", Duration::from_secs(5), async || {
        let metrics = server.bare("GET", "/metrics").send().await.text();
        metrics.contains("gatehouse_calls_in_flight 1").then_some(())
    })
    .await;
    let start = std::time::Instant::now();
    server.process.signal("TERM");
    let ran = server.process.ran().await;
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("cut off"), "{ran:?}");
}

#[tokio::test]
async fn told_twice_it_stops_at_once_and_says_so() {
    let server = Server::start().await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let mut socket = Socket::open(&server.address).await;
    socket.say(call.written(r#"{"model":"fault-hang","messages":[{"role":"user","content":"x"}]}"#)).await;
    eventually("the call is under way", Duration::from_secs(5), async || {
        let metrics = server.bare("GET", "/metrics").send().await.text();
        metrics.contains("gatehouse_calls_in_flight 1").then_some(())
    })
    .await;
    server.process.signal("TERM");
    eventually("the first is heard", Duration::from_secs(5), async || {
        (server.bare("GET", "/ready").send().await.status == 503).then_some(())
    })
    .await;
    server.process.signal("TERM");
    let ran = server.process.ran().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("told to stop twice"), "{ran:?}");
}

#[tokio::test]
async fn a_whole_answer_under_way_is_finished_as_well() {
    let server = Server::start().await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let mut socket = Socket::open(&server.address).await;
    let body = r#"{"model":"fault-slow-1500","messages":[{"role":"user","content":"slow but whole"}]}"#;
    socket.say(call.written(body)).await;
    eventually("the call is under way", Duration::from_secs(5), async || {
        let metrics = server.bare("GET", "/metrics").send().await.text();
        metrics.contains("gatehouse_calls_in_flight 1").then_some(())
    })
    .await;
    server.process.signal("TERM");
    let (status, _, body) = answer(&mut socket).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("slow but whole"));
    assert_eq!(server.process.ran().await.code, Some(0));
}

#[tokio::test]
async fn control_paths_are_refused_while_draining_too() {
    let scene = Scene::with(&[]).await;
    let server = scene.server;
    let mut socket = Socket::open(&server.address).await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let body = r#"{"model":"fault-slow-3000","messages":[{"role":"user","content":"x"}]}"#;
    socket.say(call.written(body)).await;
    eventually("the call is under way", Duration::from_secs(5), async || {
        let metrics = server.bare("GET", "/metrics").send().await.text();
        metrics.contains("gatehouse_calls_in_flight 1").then_some(())
    })
    .await;
    server.process.signal("TERM");
    let text = format!("GET /v1/configs HTTP/1.1\r\nhost: a\r\nx-gateway-api-key: {}\r\n\r\n", server.admin_key());
    let (head, body) = eventually("it drains", Duration::from_secs(3), async || {
        let (status, head, body) = ask(&server.address, &text).await;
        (status == 503).then_some((head, body))
    })
    .await;
    assert!(head.contains("retry-after: 1"), "{head}");
    check_refusal(&serde_json::from_str(&body).unwrap(), "draining", "shutting down");
}

#[tokio::test]
async fn a_call_too_many_is_told_to_come_back_and_the_others_go_on() {
    let scene = Scene::with(&[("MAX_CONCURRENT_CALLS", "2")]).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let call = scene.openai("POST", "/v1/chat/completions").header("content-type", "application/json");
        let mut socket = Socket::open(&scene.server.address).await;
        socket.say(call.written(r#"{"model":"fault-hang","messages":[{"role":"user","content":"x"}]}"#)).await;
        scene.mock.until(call.mark(), |call| call["state"] == "running").await;
        held.push(socket);
    }
    let refused = scene.server.chat("echo", "x").send().await;
    refused.refused(503, "saturated", "calls");
    assert_eq!(refused.header("retry-after"), "1");
    refused.named();
    // Whoever looks after the process is not turned away.
    scene.server.bare("GET", "/ready").send().await.well();
    held.pop();
    eventually("there is room again", PATIENCE, async || {
        (scene.server.chat("echo", "x").send().await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_connection_too_many_is_told_to_come_back() {
    let server = Server::with(&[("MAX_CONNECTIONS", "3")]).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut socket = Socket::open(&server.address).await;
        socket.say("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
        socket.until("healthy").await;
        held.push(socket);
    }
    let mut more = Socket::open(&server.address).await;
    let said = more.until("try again").await;
    assert!(said.starts_with("HTTP/1.1 503 ") && said.contains("retry-after: 1\r\n"), "{said}");
    assert!(said.contains("x-gateway-request-id: "), "{said}");
    held.clear();
    eventually("there is room again", PATIENCE, async || {
        let mut socket = Socket::open(&server.address).await;
        socket.say("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
        socket.until("\r\n\r\n").await.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
}
