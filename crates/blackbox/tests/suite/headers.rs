//! Headers: which call an answer belongs to, what reaches the provider, and what comes back from it.

use serde_json::{Value, json};

use crate::support::client::Call;
use crate::support::scene::Scene;

#[tokio::test]
async fn every_answer_names_its_call_under_both_prefixes() {
    let scene = Scene::shared().await;
    let server = &scene.server;
    let calls = [
        (200, scene.chat("echo", "x")),
        (200, scene.openai("POST", "/v1/chat/completions").chat_stream("echo", "x")),
        (200, server.chat("echo", "x")),
        (200, scene.openai("GET", "/v1/anything")),
        (200, scene.openai("HEAD", "/v1/anything")),
        (429, scene.chat("fault-429", "x")),
        (400, scene.chat("echo", "x").without("x-gateway-provider")),
        (401, scene.chat("echo", "x").header("x-gateway-api-key", "unknown-unknown")),
        (403, scene.chat("echo", "x").header("x-gateway-api-key", &server.admin_key())),
        (404, server.bare("GET", "/nothing")),
        (400, server.bare("GET", "/v1/%2e%2e/x")),
        (405, server.bare("BREW", "/v1/chat/completions")),
        (405, server.bare("POST", "/health")),
        (408, scene.chat("fault-hang", "x").header("x-gateway-request-timeout", "50")),
        (431, server.bare("GET", "/health").header("x-long", &"y".repeat(70_000))),
        (501, scene.openai("GET", "/v1/realtime")),
        (502, scene.chat("fault-garbage", "x")),
        (200, server.bare("GET", "/")),
        (200, server.bare("GET", "/health")),
        (200, server.bare("GET", "/v1/health")),
        (200, server.bare("GET", "/ready")),
        (200, server.bare("GET", "/metrics")),
        (401, server.bare("GET", "/v1/configs")),
        (501, server.call("GET", "/v1/configs")),
        (204, server.bare("OPTIONS", "/v1/chat/completions").header("origin", "https://app.example")),
    ];
    for (status, call) in calls {
        let answer = call.send().await;
        assert_eq!(answer.status, status, "{:?} {}", answer.headers, answer.text());
        answer.named();
        assert!(!answer.header("x-request-id").is_empty(), "{answer:?}");
    }
}

#[tokio::test]
async fn request_ids_are_never_given_twice() {
    let scene = Scene::shared().await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let answer = scene.server.chat("echo", "x").send().await;
        assert!(seen.insert(answer.header("x-gateway-request-id").to_owned()));
        assert!(seen.insert(answer.header("x-gateway-trace-id").to_owned()));
    }
}

#[tokio::test]
async fn a_trace_id_that_was_sent_comes_back() {
    let scene = Scene::shared().await;
    let server = &scene.server;
    for name in ["x-gateway-trace-id", "x-portkey-trace-id"] {
        let calls: [Call; 5] = [
            scene.chat("echo", "x"),
            scene.chat("echo", "x").without("x-gateway-provider"),
            server.bare("GET", "/health"),
            server.bare("GET", "/nothing"),
            server.call("GET", "/v1/configs"),
        ];
        for call in calls {
            let answer = call.header(name, "my trace/1").send().await;
            assert_eq!(answer.header("x-gateway-trace-id"), "my trace/1", "{answer:?}");
            assert_eq!(answer.header("x-portkey-trace-id"), "my trace/1", "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_traceparent_gives_the_trace_id_unless_one_was_sent() {
    let scene = Scene::shared().await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let answer = scene.chat("echo", "x").header("traceparent", parent).send().await.well();
    assert_eq!(answer.header("x-gateway-trace-id"), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(scene.mock.only(&answer.mark).await["headers"]["traceparent"], parent);
    let both = scene.chat("echo", "x").header("traceparent", parent).header("x-gateway-trace-id", "mine").send().await;
    assert_eq!(both.header("x-gateway-trace-id"), "mine");
}

#[tokio::test]
async fn the_answer_tells_who_answered_and_how() {
    let scene = Scene::shared().await;
    for (call, provider) in [(scene.chat("echo", "x"), "openai"), (scene.server.chat("echo", "x"), "mock")] {
        let answer = call.send().await.well();
        for prefix in ["x-gateway-", "x-portkey-"] {
            let told = |name: &str| answer.header(&format!("{prefix}{name}"));
            assert_eq!(told("provider"), provider);
            assert_eq!(told("last-used-option-index"), "config");
            assert_eq!(told("cache-status"), "DISABLED");
            assert_eq!(told("retry-attempt-count"), "0");
            assert_eq!(told("gateway-exception"), "");
        }
    }
}

#[tokio::test]
async fn either_prefix_asks_and_ours_is_believed_first() {
    let scene = Scene::shared().await;
    let theirs = |call: Call| {
        let key = scene.server.workspace_key();
        let call = call.without("x-gateway-api-key").without("x-gateway-provider").without("x-gateway-custom-host");
        call.header("x-portkey-api-key", &key)
            .header("x-portkey-provider", "openai")
            .header("x-portkey-custom-host", &scene.mock.base())
    };
    assert_eq!(theirs(scene.chat("echo", "theirs")).send().await.well().said(), "theirs");
    let both = theirs(scene.chat("echo", "ours")).header("x-gateway-provider", "nobody").send().await;
    both.refused(400, "invalid_provider", "nobody");
}

#[tokio::test]
async fn other_prefixes_may_be_chosen() {
    let scene = Scene::with(&[("HEADER_PREFIXES", "x-house-")]).await;
    let key = scene.server.workspace_key();
    let call = scene.server.bare("POST", "/v1/chat/completions").chat("echo", "hello");
    let answer = call.header("x-house-api-key", &key).header("x-house-provider", "mock").send().await.well();
    assert!(!answer.header("x-house-trace-id").is_empty());
    assert_eq!(answer.header("x-gateway-trace-id"), "");
    scene.chat("echo", "x").without("authorization").send().await;
    let old = scene.server.chat("echo", "x").send().await;
    assert_eq!(old.status, 401, "the old prefix is nobody's: {}", old.text());
}

fn names(call: &Value) -> Vec<&str> {
    call["headers"].as_object().expect("headers").keys().map(String::as_str).collect()
}

/// Headers that are about us or about the connection, and one value to find them by.
const OURS: &[(&str, &str)] = &[
    ("x-gateway-metadata", r#"{"a":"secret-of-ours"}"#),
    ("x-gateway-trace-id", "secret-of-ours"),
    ("x-gateway-anything-new", "secret-of-ours"),
    ("x-portkey-trace-id", "secret-of-ours"),
    ("x-portkey-anything-new", "secret-of-ours"),
    ("x-forwarded-for", "secret-of-ours"),
    ("x-forwarded-host", "secret-of-ours"),
    ("forwarded", "for=secret-of-ours"),
    ("cookie", "session=secret-of-ours"),
    ("connection", "x-named-there"),
    ("x-named-there", "secret-of-ours"),
    ("keep-alive", "timeout=5, secret-of-ours"),
    ("te", "trailers"),
    ("proxy-authorization", "Basic secret-of-ours"),
    ("proxy-connection", "secret-of-ours"),
];

#[tokio::test]
async fn headers_of_ours_and_of_the_connection_never_reach_the_provider() {
    let scene = Scene::shared().await;
    let key = scene.server.workspace_key();
    for (method, path) in [("POST", "/v1/chat/completions"), ("POST", "/v1/any/other"), ("GET", "/v1/any/other")] {
        let mut call = scene.openai(method, path);
        if method == "POST" {
            call = call.chat("echo", "x");
        }
        for (name, value) in OURS {
            call = call.header(name, value);
        }
        let answer = call.send().await.well();
        let heard = scene.mock.only(&answer.mark).await;
        let text = heard["headers"].to_string();
        assert!(!text.contains("secret-of-ours"), "{path}: {text}");
        assert!(!text.contains(&key), "{path}: {text}");
        for name in names(&heard) {
            let ours = name.starts_with("x-gateway-") || name.starts_with("x-portkey-");
            assert!(!ours && !["te", "keep-alive", "cookie", "proxy-connection"].contains(&name), "{path}: {name}");
        }
        assert_eq!(heard["headers"]["host"], scene.mock.address, "{path}");
    }
}

#[tokio::test]
async fn the_gateway_key_reaches_no_provider_whichever_header_it_came_in() {
    let scene = Scene::shared().await;
    let key = scene.server.workspace_key();
    let bearer = format!("Bearer {key}");
    for (n, path) in ["/v1/chat/completions", "/v1/any/keyless"].into_iter().enumerate() {
        for (m, headers) in [
            vec![("authorization", bearer.as_str())],
            vec![("x-gateway-api-key", key.as_str()), ("authorization", bearer.as_str())],
            vec![("x-gateway-api-key", key.as_str()), ("x-api-key", key.as_str()), ("api-key", key.as_str())],
            vec![("x-gateway-api-key", key.as_str()), ("x-goog-api-key", key.as_str())],
        ]
        .into_iter()
        .enumerate()
        {
            let said = format!("keyless-{n}-{m}");
            let mut call = scene.openai("POST", path).without("authorization").without("x-gateway-api-key");
            for (name, value) in headers {
                call = call.header(name, value);
            }
            call.chat("echo", &said).send().await.well();
            let heard = scene.mock.only(&said).await;
            assert!(!heard.to_string().contains(&key), "{path}: {heard}");
            assert!(heard["headers"].get("authorization").is_none(), "{path}: {heard}");
        }
    }
}

#[tokio::test]
async fn the_callers_provider_secret_is_passed_on_as_it_came() {
    let scene = Scene::shared().await;
    for path in ["/v1/chat/completions", "/v1/any/other"] {
        let answer = scene.openai("POST", path).chat("echo", "x").send().await.well();
        let heard = scene.mock.only(&answer.mark).await;
        assert_eq!(heard["headers"]["authorization"], format!("Bearer {}", answer.mark));
    }
}

#[tokio::test]
async fn the_secret_of_a_config_wins_over_the_callers() {
    let scene = Scene::shared().await;
    let config = json!({"provider": "openai", "api_key": "sk-of-the-config", "custom_host": scene.mock.base()});
    let call = scene.chat("echo", "paid-by-config").header("x-gateway-config", &config.to_string());
    call.send().await.well();
    let heard = scene.mock.only("paid-by-config").await;
    assert_eq!(heard["headers"]["authorization"], "Bearer sk-of-the-config");
}

#[tokio::test]
async fn known_endpoints_pass_only_what_belongs_to_the_call() {
    let scene = Scene::shared().await;
    let answer = scene
        .chat("echo", "x")
        .header("idempotency-key", "idem-1")
        .header("accept", "application/json")
        .header("x-gateway-openai-organization", "org-1")
        .header("openai-project", "proj-1")
        .header("x-private", "not for the provider")
        .header("user-agent", "a client")
        .header("accept-encoding", "br")
        .send()
        .await
        .well();
    let heard = scene.mock.only(&answer.mark).await;
    let headers = &heard["headers"];
    assert_eq!(headers["idempotency-key"], "idem-1");
    assert_eq!(headers["accept"], "application/json");
    assert_eq!(headers["openai-organization"], "org-1");
    assert_eq!(headers["openai-project"], "proj-1");
    assert_eq!(headers["content-type"], "application/json");
    assert!(headers["user-agent"].as_str().is_some_and(|agent| agent.starts_with("gatehouse/")), "{headers}");
    for name in ["x-private", "accept-encoding"] {
        assert!(headers.get(name).is_none(), "{name}: {headers}");
    }
}

#[tokio::test]
async fn other_paths_pass_the_callers_headers_with_all_their_values() {
    let scene = Scene::shared().await;
    let answer = scene
        .openai("GET", "/v1/any/other")
        .header("idempotency-key", "idem-1")
        .header("anthropic-version", "2023-06-01")
        .and("x-private", "one")
        .and("x-private", "two")
        .header("user-agent", "a client")
        .send()
        .await
        .well();
    let headers = scene.mock.only(&answer.mark).await["headers"].clone();
    for (name, value) in [
        ("idempotency-key", "idem-1"),
        ("anthropic-version", "2023-06-01"),
        ("x-private", "one, two"),
        ("user-agent", "a client"),
    ] {
        assert_eq!(headers[name], value, "{headers}");
    }
}

#[tokio::test]
async fn named_headers_are_forwarded_in_three_spellings() {
    let scene = Scene::shared().await;
    for list in ["x-one, X-Two", r#"["x-one","x-two"]"#, "['x-one', 'x-two']"] {
        let call = scene.chat("echo", "x").header("x-one", "1").header("x-two", "2").header("x-three", "3");
        let answer = call.header("x-gateway-forward-headers", list).send().await.well();
        let headers = scene.mock.only(&answer.mark).await["headers"].clone();
        assert_eq!((&headers["x-one"], &headers["x-two"]), (&json!("1"), &json!("2")), "{list}");
        assert!(headers.get("x-three").is_none(), "{list}");
        assert!(headers.get("x-gateway-forward-headers").is_none(), "{list}");
    }
}

#[tokio::test]
async fn a_config_may_name_headers_to_forward_and_the_request_replaces_them() {
    let scene = Scene::shared().await;
    let config =
        json!({"provider": "openai", "custom_host": scene.mock.base(), "forward_headers": ["x-one"]}).to_string();
    let call = || scene.chat("echo", "x").header("x-one", "1").header("x-two", "2").header("x-gateway-config", &config);
    let answer = call().send().await.well();
    assert_eq!(scene.mock.only(&answer.mark).await["headers"]["x-one"], "1");
    let answer = call().header("x-gateway-forward-headers", "x-two").send().await.well();
    let headers = scene.mock.only(&answer.mark).await["headers"].clone();
    assert_eq!((&headers["x-two"], headers.get("x-one")), (&json!("2"), None));
}

#[tokio::test]
async fn headers_that_may_not_be_forwarded_are_refused_by_name() {
    let scene = Scene::shared().await;
    for name in [
        "metadata-flavor",
        "x-aws-ec2-metadata-token",
        "x-google-metadata-request",
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "x-gateway-api-key",
        "x-gateway-forward-headers",
        "X-Portkey-Api-Key",
    ] {
        let answer = scene.chat("echo", "x").header("x-gateway-forward-headers", name).send().await;
        let text = format!("forward_headers must not contain the '{}' header", name.to_lowercase());
        answer.refused(400, "invalid_request", &text);
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn the_providers_headers_come_back_but_not_those_of_its_connection() {
    let scene = Scene::shared().await;
    let given = [
        "x-ratelimit-remaining-requests=42",
        "openai-processing-ms=7",
        "retry-after=9",
        "x-request-id=req-of-the-provider",
        "set-cookie=session=1",
        "x-gateway-provider=somebody-else",
        "x-portkey-trace-id=forged",
        "access-control-allow-origin=https://evil.example",
        "strict-transport-security=max-age=1",
        "keep-alive=timeout=5",
        "proxy-authenticate=Basic",
    ];
    for path in ["/v1/chat/completions", "/v1/any/other"] {
        let mut call =
            scene.openai("POST", path).chat("echo", "x").header("x-gateway-forward-headers", "x-mock-header");
        for header in given {
            call = call.and("x-mock-header", header);
        }
        let answer = call.send().await.well();
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), "42", "{path}");
        assert_eq!(answer.header("openai-processing-ms"), "7", "{path}");
        assert_eq!(answer.header("retry-after"), "9", "{path}");
        assert_eq!(answer.header("x-request-id"), "req-of-the-provider", "{path}");
        assert_eq!(answer.header("x-gateway-provider"), "openai", "{path}");
        for name in ["access-control-allow-origin", "strict-transport-security", "keep-alive", "proxy-authenticate"] {
            assert_eq!(answer.header(name), "", "{path}: {name}");
        }
        assert!(!answer.header("x-portkey-trace-id").contains("forged"), "{path}");
        let cookie = if path == "/v1/any/other" { "session=1" } else { "" };
        assert_eq!(answer.header("set-cookie"), cookie, "{path}");
        answer.named();
    }
}

#[tokio::test]
async fn repeated_headers_of_the_provider_stay_repeated() {
    let scene = Scene::shared().await;
    let call = scene.openai("GET", "/v1/any/other").and("x-mock-header", "x-two=a").and("x-mock-header", "x-two=b");
    let answer = call.send().await.well();
    let values: Vec<_> = answer.headers.get_all("x-two").iter().collect();
    assert_eq!(values, ["a", "b"]);
}
