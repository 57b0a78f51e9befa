//! What is asked for and not built yet is refused by name, never ignored.

use serde_json::json;

use crate::support::scene::Scene;

/// Key of an inline config, its value, and the part of the message that names it.
const CONFIGS: &[(&str, &str)] = &[
    (r#""retry":{"attempts":3}"#, "`retry`"),
    (r#""strategy":{"mode":"fallback"}"#, "`strategy`"),
    (r#""targets":[{"provider":"openai"}]"#, "`targets`"),
    (r#""cache":{"mode":"simple"}"#, "`cache`"),
    (r#""cb_config":{"failure_threshold":1}"#, "`cb_config`"),
    (r#""input_guardrails":[{"default.contains":{}}]"#, "`input_guardrails`"),
    (r#""output_guardrails":["grd-x"]"#, "`output_guardrails`"),
    (r#""before_request_hooks":[{"id":"x"}]"#, "`before_request_hooks`"),
    (r#""after_request_hooks":[{"id":"x"}]"#, "`after_request_hooks`"),
    (r#""default_params":{"seed":1}"#, "`default_params`"),
    (r#""drop_params":["seed"]"#, "`drop_params`"),
    (r#""prompt_id":"pp-x""#, "`prompt_id`"),
    (r#""hedge":{"after_ms":5}"#, "`hedge`"),
    (r#""azure_entra_scope":"x""#, "Azure"),
    (r#""anthropic_beta":"x""#, "Anthropic"),
    (r#""aws_region":"x""#, "AWS"),
];

#[tokio::test]
async fn what_a_config_asks_for_and_is_not_built_is_refused_by_name() {
    let scene = Scene::shared().await;
    for (asked, part) in CONFIGS {
        let config = format!(r#"{{"provider":"openai","custom_host":"{}",{asked}}}"#, scene.mock.base());
        let answer = scene.chat("echo", "x").header("x-gateway-config", &config).send().await;
        answer.refused(501, "not_yet", part);
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{asked}");
    }
}

#[tokio::test]
async fn stored_configs_providers_and_keys_are_refused_by_name() {
    let scene = Scene::shared().await;
    let calls = [
        (scene.chat("echo", "x").header("x-gateway-config", "pc-stored-123"), "stored configs"),
        (scene.chat("echo", "x").header("x-gateway-provider", "@openai-prod"), "@slug"),
        (scene.chat("@openai-prod/gpt-4o", "x").without("x-gateway-provider"), "@slug"),
        (
            scene.chat("echo", "x").without("x-gateway-provider").header("x-gateway-virtual-key", "openai-abc"),
            "virtual keys",
        ),
        (
            scene
                .chat("echo", "x")
                .header("x-gateway-config", r#"{"virtual_key":"vk-1"}"#)
                .without("x-gateway-provider"),
            "virtual keys",
        ),
        (scene.chat("echo", "x").header("x-gateway-config", r#"{"provider":"@prod"}"#), "@slug"),
        (scene.openai("GET", "/v1/models").without("x-gateway-provider"), "model catalogue"),
        (scene.openai("GET", "/v1/files").without("x-gateway-provider"), "files"),
        (scene.openai("GET", "/v1/batches").without("x-gateway-provider"), "batches"),
        (scene.chat("echo", "x").header("x-gateway-nitro-mode", "true"), "x-gateway-nitro-mode"),
        (scene.chat("echo", "x").header("x-gateway-dry-run", "true"), "x-gateway-dry-run"),
        (scene.chat("echo", "x").header("x-gateway-explain", "true"), "x-gateway-explain"),
        (scene.chat("echo", "x").header("x-gateway-beta", "something-2026"), "x-gateway-beta"),
        (scene.chat("echo", "x").header("x-gateway-provider", "anthropic"), "the provider `anthropic`"),
        (scene.chat("echo", "x").header("x-gateway-provider", "cortex"), "the provider `cortex`"),
        (scene.openai("GET", "/v1/thing?model=%40prod/x").without("x-gateway-provider"), "@slug"),
    ];
    for (call, part) in calls {
        let answer = call.send().await;
        answer.refused(501, "not_yet", part);
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{part}");
    }
}

#[tokio::test]
async fn forced_fields_are_refused_where_they_cannot_be_applied() {
    let scene = Scene::shared().await;
    for path in ["/v1/audio/transcriptions", "/v1/moderations", "/v1/anything"] {
        let call = scene.openai("POST", path).header("content-type", "multipart/form-data; boundary=b");
        let call = call.header("x-gateway-config", r#"{"override_params":{"model":"other"}}"#).body("--b--\r\n");
        let answer = call.send().await;
        answer.refused(501, "not_yet", "`override_params`");
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn a_virtual_key_beside_a_provider_is_not_ignored() {
    let scene = Scene::shared().await;
    let answer = scene.chat("echo", "x").header("x-gateway-virtual-key", "openai-abc").send().await;
    answer.refused(501, "not_yet", "virtual keys");
    assert!(scene.mock.calls(&answer.mark).await.is_empty());
}

#[tokio::test]
async fn realtime_and_other_formats_are_refused_by_name() {
    let scene = Scene::shared().await;
    let realtime = scene.openai("GET", "/v1/realtime?model=gpt-4o-realtime");
    let realtime = realtime.header("upgrade", "websocket").header("connection", "upgrade");
    let answer = realtime.send().await;
    answer.refused(501, "not_yet", "realtime");
    assert!(scene.mock.calls(&answer.mark).await.is_empty());

    let messages = json!({"model": "echo", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]});
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        scene.openai("POST", path).json(&messages).send().await.refused(501, "not_yet", "messages");
    }
    for path in ["/v1beta/models/gemini-2:generateContent", "/v1/v1beta/models/gemini-2:streamGenerateContent"] {
        scene.openai("POST", path).json("{}").send().await.refused(501, "not_yet", "Gemini");
    }
}

#[tokio::test]
async fn what_is_not_built_is_refused_only_with_a_key() {
    let scene = Scene::shared().await;
    for path in ["/v1/realtime", "/v1/messages"] {
        let answer = scene.openai("POST", path).without("x-gateway-api-key").without("authorization").send().await;
        answer.refused(401, "03", "Invalid API Key");
    }
}

#[tokio::test]
async fn keys_of_a_config_that_nobody_knows_do_not_stop_the_call() {
    let scene = Scene::shared().await;
    let config =
        format!(r#"{{"provider":"openai","custom_host":"{}","from_the_future":{{"a":1}}}}"#, scene.mock.base());
    let answer = scene.chat("echo", "hello").header("x-gateway-config", &config).send().await.well();
    assert_eq!(answer.said(), "hello");
}

#[tokio::test]
async fn empty_asks_ask_for_nothing() {
    let scene = Scene::shared().await;
    let config =
        format!(r#"{{"provider":"openai","custom_host":"{}","input_guardrails":[],"cache":null}}"#, scene.mock.base());
    scene.chat("echo", "hello").header("x-gateway-config", &config).send().await.well();
}
