//! What cannot be done is refused in one shape, with a status, a code and a sentence, and reaches no provider.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::client::{Answer, Call, Made, check_refusal};
use crate::support::raw::{Socket, answer};
use crate::support::scene::Scene;
use crate::support::server::Server;

type Change = fn(Call) -> Call;

const CHAT: &str = r#"{"model":"echo","messages":[{"role":"user","content":"x"}]}"#;

/// A change to a good chat call, and the refusal it earns: status, code, part of the message or particulars.
const BAD_CALLS: &[(Change, u16, &str, &str)] = &[
    // who
    (
        |call| call.without("x-gateway-api-key").without("authorization"),
        401,
        "03",
        "Gateway Error: Invalid API Key. Error Code: 03",
    ),
    (
        |call| call.header("x-gateway-api-key", "nobody-knows-this-key"),
        401,
        "03",
        "Gateway Error: Invalid API Key. Error Code: 03",
    ),
    (
        |call| call.header("x-gateway-api-key", "ghk_ws_0000000000000000000000000000000000000000000000000"),
        401,
        "03",
        "Invalid API Key",
    ),
    (|call| call.header("x-gateway-api-key", ""), 401, "03", "Invalid API Key"),
    (|call| call.without("x-gateway-api-key"), 401, "03", "Invalid API Key"),
    (
        |call| call.without("x-gateway-api-key").header("authorization", "Bearer OPENAI_API_KEY"),
        401,
        "03",
        "Invalid API Key",
    ),
    // whom
    (
        |call| call.without("x-gateway-provider"),
        400,
        "no_provider",
        "Either x-gateway-config or x-gateway-provider header is required",
    ),
    (|call| call.header("x-gateway-provider", "nobody"), 400, "invalid_provider", "Invalid provider passed"),
    (|call| call.header("x-gateway-provider", "nobody"), 400, "invalid_provider", "`mock`, `openai`"),
    (|call| call.header("x-gateway-provider", "OpenAI"), 400, "invalid_provider", "Invalid provider passed"),
    (
        |call| call.without("x-gateway-provider").header("x-gateway-config", r#"{"request_timeout":5}"#),
        400,
        "no_provider",
        "Either x-gateway-provider needs to be passed. Or the x-gateway-config header should have a valid config with provider details in it.",
    ),
    // the config
    (|call| call.header("x-gateway-config", "{"), 400, "AB01", "Invalid config passed. You need to pass a valid json"),
    (
        |call| call.header("x-gateway-config", r#"{"provider":5}"#),
        400,
        "AB01",
        "path: provider, message: Expected string, received number",
    ),
    (
        |call| call.header("x-gateway-config", r#"{"provider":"openai","request_timeout":-1}"#),
        400,
        "AB01",
        "path: request_timeout",
    ),
    (|call| call.header("x-gateway-config", r#"{"options":[]}"#), 400, "AB01", "migrate to the latest version"),
    // the host
    (|call| call.header("x-gateway-custom-host", "not a url"), 400, "invalid_custom_host", "Invalid custom host"),
    (
        |call| call.header("x-gateway-custom-host", "ftp://files.example.com"),
        400,
        "invalid_custom_host",
        "only `http` and `https`",
    ),
    (
        |call| call.header("x-gateway-custom-host", "http://user:pass@api.example.com/v1"),
        400,
        "invalid_custom_host",
        "user names and passwords",
    ),
    (
        |call| call.header("x-gateway-custom-host", "http://169.254.169.254/latest"),
        400,
        "invalid_custom_host",
        "metadata",
    ),
    (
        |call| call.header("x-gateway-custom-host", "http://metadata.google.internal/v1"),
        400,
        "invalid_custom_host",
        "metadata",
    ),
    (|call| call.header("x-gateway-custom-host", "http://10.0.0.1/v1"), 400, "invalid_custom_host", "private"),
    (
        |call| call.header("x-gateway-custom-host", "http://2130706433/v1"),
        400,
        "invalid_custom_host",
        "Invalid custom host",
    ),
    (
        |call| call.header("x-gateway-custom-host", "http://0x7f.1/v1"),
        400,
        "invalid_custom_host",
        "Invalid custom host",
    ),
    (|call| call.header("x-gateway-custom-host", "http://127.0.0.1:6379/v1"), 400, "invalid_custom_host", "port"),
    (
        |call| call.header("x-gateway-custom-host", "http://127.0.0.1.nip.io/v1"),
        400,
        "invalid_custom_host",
        "Invalid custom host",
    ),
    (
        |call| call.header("x-gateway-custom-host", "http://[::ffff:169.254.169.254]/v1"),
        400,
        "invalid_custom_host",
        "metadata",
    ),
    // the body
    (|call| call.body(""), 400, "invalid_json", "JSON"),
    (|call| call.body("{"), 400, "invalid_json", "JSON"),
    (|call| call.body("{} {}"), 400, "invalid_json", "JSON"),
    (|call| call.body("[]"), 400, "invalid_json", "JSON"),
    (|call| call.body("null"), 400, "invalid_json", "JSON"),
    (|call| call.body("{'model':'echo'}"), 400, "invalid_json", "JSON"),
    (|call| call.body(r#"{"model":"echo",}"#), 400, "invalid_json", "JSON"),
    (|call| call.body(r#"{"model":"a" "b"}"#), 400, "invalid_json", "JSON"),
    (|call| call.body(r#"{"seed":01}"#), 400, "invalid_json", "JSON"),
    (|call| call.body("{\"a\":\"\u{1}\"}"), 400, "invalid_json", "JSON"),
    (|call| call.body(&b"{\"model\":\"\xff\"}"[..]), 400, "invalid_json", "UTF-8"),
    (|call| call.body("[".repeat(100_000)), 400, "invalid_json", "JSON"),
    (|call| call.body(format!("{{\"a\":{}", "[".repeat(100_000))), 400, "invalid_json", "JSON"),
    (|call| call.body(r#"{"model":5}"#), 400, "invalid_request", "`model` must be a string"),
    (|call| call.body(r#"{"model":["echo"]}"#), 400, "invalid_request", "`model` must be a string"),
    (
        |call| call.body(r#"{"model":"echo","stream":"yes"}"#),
        400,
        "invalid_request",
        "`stream` must be `true` or `false`",
    ),
    (|call| call.body(r#"{"model":"echo","stream":1}"#), 400, "invalid_request", "`stream` must be `true` or `false`"),
    (|call| call.body(r#"{"model":"a","model":"b"}"#), 400, "invalid_request", "`model` stands more than once"),
    (
        |call| call.body(r#"{"stream":true,"str\u0065am":false}"#),
        400,
        "invalid_request",
        "`stream` stands more than once",
    ),
    (|call| call.header("content-type", "text/plain"), 400, "invalid_request", "Invalid content type passed"),
    (
        |call| call.header("content-type", "application/x-www-form-urlencoded"),
        400,
        "invalid_request",
        "Invalid content type passed",
    ),
    (|call| call.header("content-encoding", "gzip"), 400, "invalid_request", "content-encoding"),
    // the way
    (|call| call.header("via", "1.1 gatehouse, 1.1 gatehouse, 1.1 gatehouse"), 508, "loop_detected", "3 times"),
    (|call| call.header("x-gateway-hop", "3"), 508, "loop_detected", "3 times"),
];

#[tokio::test]
async fn every_bad_call_is_refused_in_its_own_words_and_reaches_nobody() {
    let scene = Scene::shared().await;
    for (at, (change, status, code, part)) in BAD_CALLS.iter().enumerate() {
        let good = scene.openai("POST", "/v1/chat/completions").json(CHAT);
        let answer = change(good).send().await;
        println!("{at}: {status} {code} {part}: {}", answer.text());
        answer.refused(*status, code, part);
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{at}: {part}");
    }
    scene.openai("POST", "/v1/chat/completions").json(CHAT).send().await.well();
}

#[tokio::test]
async fn a_body_as_deep_as_json_may_be_is_no_fault_of_ours() {
    let scene = Scene::shared().await;
    let deep = format!(r#"{{"model":"echo","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let answer = scene.openai("POST", "/v1/chat/completions").json(&deep).send().await;
    assert!(answer.status < 500, "{}", answer.text());
    scene.openai("POST", "/v1/chat/completions").json(CHAT).send().await.well();
}

#[tokio::test]
async fn an_admin_key_administers_and_calls_no_model() {
    let scene = Scene::shared().await;
    for path in ["/v1/chat/completions", "/v1/any/other", "/v1/models"] {
        let call = scene.openai("POST", path).json(CHAT).header("x-gateway-api-key", &scene.server.admin_key());
        let answer = call.send().await;
        let body = answer.refused(403, "033", "an admin key cannot call models");
        assert_eq!(body["message"], "Gateway Error: Forbidden!. Error Code: 033");
        assert_eq!(body["data"]["errorCode"], "AB03");
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_in_the_contracts_words() {
    let scene = Scene::shared().await;
    let call = scene.chat("echo", "x").header("x-gateway-api-key", "wrong-wrong-wrong");
    let answer = call.header("origin", "https://app.example").send().await;
    let body = answer.refused(401, "03", "Invalid API Key");
    assert_eq!(
        body,
        json!({
            "status": "failure",
            "success": false,
            "message": "Gateway Error: Invalid API Key. Error Code: 03",
            "error": {
                "message": "Gateway Error: Invalid API Key. Error Code: 03",
                "type": "authentication_error",
                "param": null,
                "code": "03",
            },
            "data": {"message": "Gateway Error: Invalid API Key. Error Code: 03", "errorCode": "AB05"},
        })
    );
    assert_eq!(answer.header("content-type"), "application/json;charset=UTF-8");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn json_above_its_limit_is_refused_declared_or_not() {
    let scene = Scene::with(&[("MAX_JSON_PAYLOAD_SIZE_IN_MB", "1")]).await;
    let large = |size: usize| {
        let filler = "x".repeat(size - r#"{"model":"echo","messages":[{"role":"user","content":""}]}"#.len());
        json!({"model": "echo", "messages": [{"role": "user", "content": filler}]}).to_string()
    };
    let declared = scene.openai("POST", "/v1/chat/completions").json(large(1024 * 1024 + 1)).send().await;
    declared.refused(413, "payload_too_large", "Payload size exceeds the limit of 1MB");
    let chunked = scene.openai("POST", "/v1/chat/completions").header("content-type", "application/json");
    let chunked = chunked.streamed(Made { left: 1024 * 1024 + 1 }).send().await;
    chunked.refused(413, "payload_too_large", "Payload size exceeds the limit of 1MB");
    for answer in [&declared, &chunked] {
        assert!(scene.mock.calls(&answer.mark).await.is_empty());
    }
    scene.openai("POST", "/v1/chat/completions").json(large(1024 * 1024)).send().await.well();
}

#[tokio::test]
async fn a_large_body_is_refused_before_the_key_is_looked_at() {
    let server = Server::with(&[("MAX_JSON_PAYLOAD_SIZE_IN_MB", "1")]).await;
    let call = server.bare("POST", "/v1/chat/completions").json("x".repeat(2 * 1024 * 1024));
    call.send().await.refused(413, "payload_too_large", "1MB");
}

#[tokio::test]
async fn any_body_above_the_limit_for_all_is_refused_declared_or_not() {
    let scene = Scene::with(&[("MAX_BODY_BYTES", "100000")]).await;
    for path in ["/v1/any/other", "/v1/files"] {
        let declared = scene.openai("POST", path).body(vec![b'x'; 100_001]).send().await;
        declared.refused(413, "payload_too_large", "100000 bytes");
        let chunked = scene.openai("POST", path).streamed(Made { left: 100_001 }).send().await;
        chunked.refused(413, "payload_too_large", "100000 bytes");
        scene.openai("POST", "/v1/any/other").body(vec![b'x'; 100_000]).send().await.well();
    }
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_named() {
    let scene = Scene::shared().await;
    // Bound and dropped: nobody listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answer = scene.chat("echo", "x").header("x-gateway-custom-host", &format!("http://{gone}/v1")).send().await;
    let body = answer.refused(502, "ECONNREFUSED", &gone.to_string());
    assert!(body["message"].as_str().unwrap().starts_with("openai error: upstream connection failed: "), "{body}");
    assert_eq!((&body["provider"], &body["error"]["type"]), (&json!("openai"), &json!("upstream_error")));
    assert_eq!(answer.header("x-gateway-gateway-exception"), "true");
}

#[tokio::test]
async fn in_production_custom_hosts_must_be_public_or_trusted() {
    let scene = Scene::with(&[("ENVIRONMENT", "production")]).await;
    let localhost = scene.mock.base().replace("127.0.0.1", "localhost");
    for host in [scene.mock.base(), localhost] {
        let answer = scene.chat("echo", "x").header("x-gateway-custom-host", &host).send().await;
        let body = answer.refused(400, "invalid_custom_host", "TRUSTED_CUSTOM_HOSTS");
        assert_eq!(body["message"], "Invalid custom host");
        assert!(scene.mock.calls(&answer.mark).await.is_empty());
    }
    let config = json!({"provider": "openai", "custom_host": scene.mock.base()}).to_string();
    let call = scene.chat("echo", "x").without("x-gateway-custom-host").header("x-gateway-config", &config);
    call.send().await.refused(400, "invalid_custom_host", "TRUSTED_CUSTOM_HOSTS");
    assert_eq!(scene.server.chat("echo", "the built-in one works").send().await.status, 200);

    let trusting = Scene::with(&[("ENVIRONMENT", "production"), ("TRUSTED_CUSTOM_HOSTS", "127.0.0.1")]).await;
    trusting.chat("echo", "x").send().await.well();
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_a_408() {
    let scene = Scene::shared().await;
    for call in [scene.chat("fault-hang", "x"), scene.openai("GET", "/v1/slow").header("x-mock-hang", "head")] {
        let start = Instant::now();
        let answer = call.header("x-gateway-request-timeout", "200").send().await;
        let body = answer.json();
        assert_eq!(answer.status, 408, "{body}");
        assert_eq!(body["error"]["message"], "Request exceeded the timeout sent in the request: 200ms");
        assert_eq!((&body["error"]["type"], &body["error"]["param"]), (&json!("timeout_error"), &json!(null)));
        assert_eq!(body["status"], "failure");
        assert_eq!(answer.header("x-gateway-provider"), "openai");
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        scene.mock.until(&answer.mark, |call| call["state"] == "hung_up").await;
    }
    let built_in = scene.server.chat("fault-hang", "x").header("x-gateway-request-timeout", "100").send().await;
    assert_eq!(built_in.status, 408);
}

#[tokio::test]
async fn time_limits_come_from_header_config_and_settings_in_this_order() {
    let scene = Scene::with(&[("REQUEST_TIMEOUT", "150")]).await;
    let told = |answer: Answer| answer.json()["error"]["message"].to_string();
    assert!(told(scene.chat("fault-hang", "x").send().await).contains("150ms"));
    let config = json!({"provider": "openai", "custom_host": scene.mock.base(), "request_timeout": 120}).to_string();
    let by_config = || scene.chat("fault-hang", "x").header("x-gateway-config", &config);
    assert!(told(by_config().send().await).contains("120ms"));
    assert!(told(by_config().header("x-gateway-request-timeout", "90").send().await).contains("90ms"));
    for nothing in ["0", "soon", "-5"] {
        assert!(
            told(by_config().header("x-gateway-request-timeout", nothing).send().await).contains("120ms"),
            "{nothing}"
        );
    }
}

#[tokio::test]
async fn a_time_limit_does_not_end_a_stream_that_has_begun() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-slow-150", "one two three");
    let text = call.header("x-gateway-request-timeout", "300").send().await.well().text();
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
}

#[tokio::test]
async fn an_upload_outlives_the_time_limit_while_it_moves_and_not_when_it_stands_still() {
    let scene = Scene::with(&[("REQUEST_TIMEOUT", "500")]).await;
    let call = scene.openai("POST", "/v1/any/upload");
    let head = call.written("").replace("content-length: 0", "content-length: 10");
    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(&head).await;
    for _ in 0..10 {
        // Ten pieces over a second and a half.
        assert!(!socket.closes_within(Duration::from_millis(150)).await, "{}", socket.text());
        socket.say("x").await;
    }
    assert_eq!(answer(&mut socket).await.0, 200);
    assert_eq!(scene.mock.only(call.mark()).await["received"], 10);

    let mut socket = Socket::open(&scene.server.address).await;
    socket.say(&head).await;
    socket.say("xxx").await;
    let (status, _, body) = answer(&mut socket).await;
    assert_eq!(status, 408, "{body}");
}

#[tokio::test]
async fn a_body_that_stops_coming_is_a_408() {
    let server = Server::with(&[("BODY_TIMEOUT", "200")]).await;
    let mut socket = Socket::open(&server.address).await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    socket.say(call.written("").replace("content-length: 0", "content-length: 100")).await;
    socket.say("{\"model\":").await;
    let (status, _, body) = answer(&mut socket).await;
    assert_eq!(status, 408, "{body}");
    check_refusal(&serde_json::from_str(&body).unwrap(), "", "body");
}

#[tokio::test]
async fn errors_of_the_provider_keep_their_status_and_gain_its_name() {
    let scene = Scene::shared().await;
    for status in [400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 529] {
        let answer = scene.chat(&format!("fault-{status}"), "x").send().await;
        assert_eq!(answer.status, status);
        let body = answer.json();
        assert_eq!(body["error"]["message"], format!("openai error: mock: asked to answer with {status}"), "{body}");
        assert_eq!(body["provider"], "openai");
        for field in ["type", "param", "code"] {
            assert!(body["error"].get(field).is_some(), "{field}: {body}");
        }
        assert_eq!(answer.header("retry-after"), if matches!(status, 429 | 503) { "1" } else { "" });
        assert_eq!(answer.header("x-gateway-gateway-exception"), "", "the provider failed, not we");
        answer.named();
    }
}

#[tokio::test]
async fn a_call_that_leads_back_here_is_a_508() {
    let scene = Scene::shared().await;
    let server = &scene.server;
    let key = server.workspace_key();
    // The config is handed on, with a key that opens the door again: the same call for ever, were nobody counting.
    let config = json!({
        "provider": "openai",
        "api_key": key,
        "custom_host": server.base(),
        "forward_headers": ["x-gateway-config"],
    });
    for (method, path) in [("POST", "/v1/chat/completions"), ("GET", "/v1/any/other"), ("POST", "/v1/any/other")] {
        let mut call = server.call(method, path).header("x-gateway-config", &config.to_string());
        if method == "POST" {
            call = call.json(CHAT);
        }
        let answer = call.send().await;
        assert_eq!(answer.status, 508, "{method} {path}: {}", answer.text());
        assert!(answer.text().contains("3 times"), "{}", answer.text());
        answer.named();
    }
}

#[tokio::test]
async fn other_proxies_on_the_way_are_no_loop() {
    let scene = Scene::shared().await;
    let many = "1.1 proxy-a, 1.1 proxy-b, 1.0 fred, 1.1 gatehouse";
    for path in ["/v1/chat/completions", "/v1/any/other"] {
        let answer = scene.openai("POST", path).json(CHAT).header("via", many).send().await.well();
        let via = scene.mock.only(&answer.mark).await["headers"]["via"].as_str().unwrap_or_default().to_owned();
        assert_eq!(via.matches("1.1 gatehouse").count(), 2, "{path}: {via}");
    }
    let split = scene.openai("POST", "/v1/any/other").and("via", "1.1 gatehouse").and("via", "1.1 gatehouse");
    split.and("via", "1.1 gatehouse").send().await.refused(508, "loop_detected", "3 times");
}
