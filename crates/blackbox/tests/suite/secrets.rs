//! Canaries: secrets are given in every place that takes one, good and bad calls are made, and none is ever seen again.

use std::path::Path;

use serde_json::json;

use crate::support::client::{Answer, Call};
use crate::support::raw::ask;
use crate::support::scene::Scene;

const CANARIES: &[(&str, &str)] = &[
    ("MASTER_KEY", "canary-master-key-0123456789-0123456789-xyz"),
    ("BOOTSTRAP_ADMIN_KEY", "canary-admin-key-0123456789"),
    ("BOOTSTRAP_WORKSPACE_KEY", "canary-workspace-key-0123456789"),
    ("METRICS_TOKEN", "canary-metrics-token-0123456789"),
    ("HTTP_PROXY", "http://canary-user:canary-proxy-password@127.0.0.1:9"),
    ("HTTPS_PROXY", "http://canary-user:canary-proxy-password@127.0.0.1:9"),
    ("NO_PROXY", "127.0.0.1"),
];

const ADMIN: &str = "canary-admin-key-0123456789";
const WORKSPACE: &str = "canary-workspace-key-0123456789";

/// Good and bad calls, each with secrets wherever one can stand.
fn calls(scene: &Scene) -> Vec<Call> {
    let server = &scene.server;
    let with = |call: Call| {
        call.header("x-gateway-api-key", WORKSPACE).header("authorization", "Bearer sk-canary-provider-secret-1234")
    };
    let openai = |path: &str| {
        let call = with(scene.server.bare("POST", path)).header("x-gateway-provider", "openai");
        call.header("x-gateway-custom-host", &scene.mock.base())
    };
    let config =
        json!({"provider": "openai", "api_key": "sk-canary-config-secret-1234", "custom_host": scene.mock.base()});
    let broken = json!({"provider": 5, "api_key": "sk-canary-config-secret-1234"});
    vec![
        openai("/v1/chat/completions").chat("echo", "x"),
        openai("/v1/chat/completions").chat_stream("echo", "x"),
        openai("/v1/chat/completions").chat("fault-500", "x"),
        openai("/v1/chat/completions").chat("fault-cut-1", "x"),
        openai("/v1/chat/completions").chat_stream("fault-cut-1", "x"),
        openai("/v1/chat/completions").chat("fault-hang", "x").header("x-gateway-request-timeout", "50"),
        openai("/v1/chat/completions").body("{"),
        openai("/v1/status/404"),
        openai("/v1/any/empty").body(""),
        with(server.bare("POST", "/v1/chat/completions"))
            .chat("echo", "x")
            .header("x-gateway-config", &config.to_string()),
        with(server.bare("POST", "/v1/chat/completions"))
            .chat("echo", "x")
            .header("x-gateway-config", &broken.to_string()),
        with(server.bare("POST", "/v1/chat/completions"))
            .chat("echo", "x")
            .header("x-gateway-config", "{\"api_key\":\"sk-canary-config-secret-1234\""),
        with(server.bare("POST", "/v1/chat/completions"))
            .chat("echo", "x")
            .header("x-gateway-virtual-key", "canary-virtual-key-1234"),
        // Through a proxy that is not there, and to a host that is not there.
        with(server.bare("POST", "/v1/chat/completions")).chat("echo", "x").header("x-gateway-provider", "openai"),
        openai("/v1/chat/completions")
            .chat("echo", "x")
            .header("x-gateway-custom-host", "http://canary-user:canary-url-password@127.0.0.1:1/v1"),
        openai("/v1/chat/completions").chat("echo", "x").header("x-gateway-custom-host", "http://127.0.0.1:1/v1"),
        // Keys that are nobody's.
        server.bare("POST", "/v1/chat/completions").header("x-gateway-api-key", "canary-wrong-key-0123456789"),
        server.bare("POST", "/v1/chat/completions").header("authorization", "Bearer canary-wrong-key-0123456789"),
        server.bare("GET", "/v1/configs").header("x-gateway-api-key", "canary-wrong-key-0123456789"),
        server.bare("GET", "/v1/configs").header("x-gateway-api-key", ADMIN),
        server.bare("POST", "/v1/chat/completions").header("x-gateway-api-key", ADMIN),
        server.bare("GET", "/metrics").header("authorization", "Bearer canary-metrics-token-0123456789"),
        server.bare("GET", "/nothing").header("x-gateway-api-key", WORKSPACE),
        server.bare("GET", "/health").header("x-gateway-api-key", WORKSPACE),
    ]
}

fn shown(answer: &Answer) -> String {
    format!("{:?}\n{}", answer.headers, String::from_utf8_lossy(&answer.body))
}

/// The names of files under the folder that hold the word, besides those that are there to keep a key.
fn holding(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("first-keys") {
                found.extend(holding(&path, word));
            }
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

async fn play(level: &str) {
    let settings = [CANARIES, &[("LOG_LEVEL", level)]].concat();
    let scene = Scene::with(&settings).await;
    let (mut good, mut bad) = (0, 0);
    for call in calls(&scene) {
        let answer = call.send().await;
        if answer.status == 200 {
            good += 1
        } else {
            bad += 1
        };
        assert!(!shown(&answer).contains("canary"), "{}", shown(&answer));
    }
    assert!(good >= 6 && bad >= 12, "{good} good, {bad} bad");
    let raw = format!("GET /v1/x HTTP/1.1\r\nhost: a\r\nx-gateway-api-key: {WORKSPACE}\r\nbad header\r\n\r\n");
    let (_, head, body) = ask(&scene.server.address, raw).await;
    assert!(!head.contains("canary") && !body.contains("canary"), "{head}{body}");
    let metrics = scene.server.bare("GET", "/metrics").send().await.well().text();
    assert!(!metrics.contains("canary"), "{metrics}");
    let made = scene.server.run(&["keys", "create", "--name", "made"]).await.well().stdout.trim().to_owned();
    for command in [&["keys", "list", "--all"][..], &["--listen", "127.0.0.1:0", "check"]] {
        let ran = scene.server.run(command).await.well();
        assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"), "{ran:?}");
        assert!(!ran.stdout.contains(&made), "{ran:?}");
    }
    for word in ["canary", &made] {
        assert_eq!(holding(scene.server.folder(), word), Vec::<String>::new(), "`{word}` is kept in clear");
    }
    let server = scene.server;
    server.process.signal("TERM");
    let ran = server.process.ran().await.well();
    assert!(ran.stderr.contains("chatComplete"), "the calls were logged: {}", ran.stderr);
    for said in [&ran.stdout, &ran.stderr] {
        let line = said.lines().find(|line| line.contains("canary") || line.contains(&made));
        assert!(line.is_none(), "{line:?}");
    }
}

#[tokio::test]
async fn no_secret_is_ever_seen_again() {
    play("info").await;
}

#[tokio::test]
async fn no_secret_is_seen_in_the_most_talkative_log() {
    play("trace").await;
}
