//! Every family of the endpoint table reaches the provider at its own path; what is the gateway's own never does.

use serde_json::json;

use crate::support::scene::Scene;

const JSON: &str =
    r#"{"model":"echo","messages":[{"role":"user","content":"x"}],"input":"x","prompt":"x","voice":"alloy"}"#;

/// Family, method and path under `/v1`.
const ROWS: &[(&str, &str, &str)] = &[
    ("chat", "POST", "/chat/completions"),
    ("completions", "POST", "/completions"),
    ("embeddings", "POST", "/embeddings"),
    ("responses", "POST", "/responses"),
    ("responses", "GET", "/responses/resp_1"),
    ("responses", "DELETE", "/responses/resp_1"),
    ("responses", "GET", "/responses/resp_1/input_items"),
    ("responses", "POST", "/responses/resp_1/cancel"),
    ("images", "POST", "/images/generations"),
    ("images", "POST", "/images/variations"),
    ("audio", "POST", "/audio/speech"),
    ("audio", "GET", "/audio/voices"),
    ("moderations", "POST", "/moderations"),
    ("rerank", "POST", "/rerank"),
    ("ocr", "POST", "/ocr"),
    ("files", "GET", "/files"),
    ("files", "GET", "/files/file-1"),
    ("files", "GET", "/files/file-1/content"),
    ("files", "DELETE", "/files/file-1"),
    ("batches", "POST", "/batches"),
    ("batches", "GET", "/batches"),
    ("batches", "GET", "/batches/batch_1"),
    ("batches", "GET", "/batches/batch_1/output"),
    ("batches", "POST", "/batches/batch_1/cancel"),
    ("fine_tuning", "POST", "/fine_tuning/jobs"),
    ("fine_tuning", "GET", "/fine_tuning/jobs"),
    ("fine_tuning", "GET", "/fine_tuning/jobs/ft_1"),
    ("fine_tuning", "POST", "/fine_tuning/jobs/ft_1/cancel"),
    ("fine_tuning", "GET", "/fine_tuning/jobs/ft_1/events"),
    ("assistants", "POST", "/assistants"),
    ("assistants", "GET", "/assistants/asst_1"),
    ("threads", "POST", "/threads"),
    ("threads", "POST", "/threads/thread_1/runs"),
    ("threads", "GET", "/threads/thread_1/messages?limit=2"),
    ("vector_stores", "POST", "/vector_stores"),
    ("vector_stores", "DELETE", "/vector_stores/vs_1/files/file-1"),
    ("models", "GET", "/models"),
    ("models", "GET", "/models/gpt-4o"),
    ("pass_through", "PUT", "/uploads/upload_1/parts"),
    ("pass_through", "PATCH", "/organization/projects/p"),
];

#[tokio::test]
async fn every_family_reaches_the_provider_at_exactly_its_path() {
    let scene = Scene::shared().await;
    for (family, method, tail) in ROWS {
        let mut call = scene.openai(method, &format!("/v1{tail}"));
        if *method == "POST" {
            call = call.json(JSON);
        }
        let answer = call.send().await.well();
        let heard = scene.mock.only(&answer.mark).await;
        let (path, query) = tail.split_once('?').map_or((*tail, None), |(path, query)| (path, Some(query)));
        assert_eq!(heard["method"], *method, "{family} {tail}");
        assert_eq!(heard["path"], format!("/v1{path}"), "{family}");
        assert_eq!(heard["query"].as_str(), query, "{family} {tail}");
        assert_eq!(heard["headers"]["authorization"], format!("Bearer {}", answer.mark), "{family} {tail}");
        assert_eq!(answer.header("x-gateway-provider"), "openai", "{family} {tail}");
        answer.named();
    }
}

#[tokio::test]
async fn the_base_of_a_custom_host_is_kept_with_its_path() {
    let scene = Scene::shared().await;
    for base in ["/v1", "/v1/", "/some/deep/base", ""] {
        let host = format!("http://{}{base}", scene.mock.address);
        let answer = scene.openai("GET", "/v1/models/x").header("x-gateway-custom-host", &host).send().await.well();
        let expected = format!("{}/models/x", base.trim_end_matches('/'));
        assert_eq!(scene.mock.only(&answer.mark).await["path"], expected, "{base}");
    }
}

#[tokio::test]
async fn a_provider_may_be_called_without_a_secret_of_its_own() {
    let scene = Scene::shared().await;
    let answer = scene.openai("GET", "/v1/only/here").without("authorization").send().await.well();
    let heard = scene.mock.only("/only/here").await;
    assert!(heard["headers"].get("authorization").is_none(), "{heard}");
    answer.named();
}

#[tokio::test]
async fn the_deprecated_spelling_is_stripped_and_passes_unread() {
    let scene = Scene::shared().await;
    let rows = [
        ("POST", "/v1/proxy/chat/completions", "/v1/chat/completions"),
        ("GET", "/v1/proxy/v1/x", "/v1/v1/x"),
        ("GET", "/v1/proxy/configs", "/v1/configs"),
        ("DELETE", "/v1/proxy/admin/users/u", "/v1/admin/users/u"),
        ("GET", "/v1/proxy/health", "/v1/health"),
    ];
    for (method, path, expected) in rows {
        let answer = scene.openai(method, path).json(JSON).send().await.well();
        let heard = scene.mock.only(&answer.mark).await;
        assert_eq!((&heard["method"], &heard["path"]), (&json!(method), &json!(expected)));
    }
}

/// Paths of the Admin API: method, path, and what is answered to a key (status, part of the message).
const CONTROL: &[(&str, &str, u16, &str)] = &[
    ("GET", "/v1/configs", 501, "GET /configs"),
    ("POST", "/v1/configs", 501, "POST /configs"),
    ("GET", "/v1/configs/pc-x", 501, "GET /configs/{}"),
    ("DELETE", "/v1/configs", 405, "GET, POST"),
    ("GET", "/v1/configs/a/b/c/d", 404, "not found"),
    ("GET", "/v1/admin/users", 501, "GET /admin/users"),
    ("PATCH", "/v1/admin/users/u", 405, "does not take PATCH"),
    ("POST", "/v1/admin/anything/else", 404, "not found"),
    ("GET", "/v1/api-keys", 501, "GET /api-keys"),
    ("POST", "/v1/api-keys/workspace/service", 501, "POST /api-keys"),
    ("GET", "/v1/analytics/graphs/cost", 501, "GET /analytics/graphs/cost"),
    ("GET", "/v1/audit-logs", 501, "GET /audit-logs"),
    ("GET", "/v1/collections", 501, "GET /collections"),
    ("GET", "/v1/deployments", 501, "GET /deployments"),
    ("POST", "/v1/feedback", 501, "POST /feedback"),
    ("GET", "/v1/guardrails", 501, "GET /guardrails"),
    ("GET", "/v1/integrations", 501, "GET /integrations"),
    ("POST", "/v1/invites/accept", 501, "POST /invites/accept"),
    ("GET", "/v1/labels", 501, "GET /labels"),
    ("POST", "/v1/logs", 501, "POST /logs"),
    ("GET", "/v1/logs/x/explain", 501, "GET /logs/{}/explain"),
    ("GET", "/v1/mcp-integrations", 501, "GET /mcp-integrations"),
    ("GET", "/v1/mcp-servers", 501, "GET /mcp-servers"),
    ("GET", "/v1/openapi.json", 501, "GET /openapi.json"),
    ("POST", "/v1/otel/v1/traces", 501, "POST /otel/v1/traces"),
    ("GET", "/v1/policies/rate-limits", 501, "GET /policies/rate-limits"),
    ("POST", "/v1/prompts/p/completions", 501, "POST /prompts/{}/completions"),
    ("GET", "/v1/providers", 501, "GET /providers"),
    ("GET", "/v1/scim/groups", 501, "GET /scim/groups"),
    ("GET", "/v1/secret-references", 501, "GET /secret-references"),
    ("GET", "/v1/virtual-keys", 501, "GET /virtual-keys"),
    ("GET", "/v1/workspace-exclusions", 501, "GET /workspace-exclusions"),
    ("GET", "/v1/workspaces", 501, "GET /workspaces"),
    ("GET", "/v2/configs", 501, "GET /configs"),
];

#[tokio::test]
async fn paths_of_the_gateway_itself_are_never_passed_on() {
    let scene = Scene::shared().await;
    for (method, path, status, part) in CONTROL {
        let bare = scene.openai(method, path).without("x-gateway-api-key");
        for (call, who) in [(bare.without("authorization"), "nobody"), (wrong(&scene, method, path), "a stranger")] {
            let answer = call.send().await;
            assert_eq!(answer.status, 401, "{who} {method} {path}: {}", answer.text());
            let body = answer.json();
            assert_eq!((&body["success"], &body["data"]["errorCode"]), (&json!(false), &json!("AB05")), "{body}");
            answer.named();
        }
        for key in [scene.server.workspace_key(), scene.server.admin_key()] {
            let answer = scene.openai(method, path).header("x-gateway-api-key", &key).send().await;
            assert_eq!(answer.status, *status, "{method} {path}: {}", answer.text());
            let body = answer.json();
            assert_eq!(body["success"], false);
            assert!(
                body["data"]["message"].as_str().is_some_and(|said| said.contains(part)),
                "{method} {path}: {body}"
            );
            assert!(body["data"]["errorCode"].as_str().is_some_and(|code| code.starts_with("AB0")), "{body}");
            assert_eq!(answer.header("allow").is_empty(), *status != 405, "{method} {path}");
            answer.named();
            assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{method} {path} was passed on");
        }
    }
}

fn wrong(scene: &Scene, method: &str, path: &str) -> crate::support::client::Call {
    scene.openai(method, path).without("authorization").header("x-gateway-api-key", "a-key-nobody-has-made")
}

#[tokio::test]
async fn the_key_of_the_admin_api_may_come_as_a_bearer_token() {
    let scene = Scene::shared().await;
    let key = scene.server.admin_key();
    let call = scene.server.bare("GET", "/v1/admin/users").header("authorization", &format!("Bearer {key}"));
    assert_eq!(call.send().await.status, 501);
}

#[tokio::test]
async fn outside_of_the_versions_there_is_nothing() {
    let scene = Scene::shared().await;
    for path in ["/v1", "/v2/chat/completions", "/v3/chat/completions", "/chat/completions", "/admin", "/favicon.ico"] {
        let answer = scene.openai("POST", path).json(JSON).send().await;
        let body = answer.refused(404, "not_found", "Not Found");
        assert_eq!((&body["message"], &body["ok"]), (&json!("Not Found"), &json!(false)), "{path}");
        assert!(scene.mock.calls(&answer.mark).await.is_empty(), "{path}");
    }
}
