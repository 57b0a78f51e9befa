//! Pages of other origins: who may call from a browser, and what a browser is told before it calls.

use crate::support::scene::Scene;
use crate::support::server::Server;

#[tokio::test]
async fn a_browser_is_told_before_it_calls() {
    let scene = Scene::shared().await;
    for path in ["/v1/chat/completions", "/v1/any/other", "/v1/configs"] {
        let call = scene.server.bare("OPTIONS", path).header("origin", "https://app.example");
        let call = call.header("access-control-request-method", "POST");
        let asked = "x-gateway-api-key, x-gateway-provider, content-type";
        let answer = call.header("access-control-request-headers", asked).send().await;
        assert_eq!(answer.status, 204, "{path}");
        assert!(answer.body.is_empty());
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(answer.header("access-control-allow-headers"), asked);
        let methods = answer.header("access-control-allow-methods");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] {
            assert!(methods.contains(method), "{methods}");
        }
        assert!(!answer.header("access-control-max-age").is_empty());
        answer.named();
    }
}

#[tokio::test]
async fn a_preflight_reaches_no_provider() {
    let scene = Scene::shared().await;
    let call = scene.openai("OPTIONS", "/v1/chat/completions").header("origin", "https://app.example");
    let answer = call.send().await;
    assert_eq!(answer.status, 204);
    assert!(scene.mock.calls(&answer.mark).await.is_empty());
}

#[tokio::test]
async fn answers_of_every_kind_may_be_read_by_a_page() {
    let scene = Scene::shared().await;
    let calls = [
        scene.chat("echo", "x"),
        scene.openai("POST", "/v1/chat/completions").chat_stream("echo", "x"),
        scene.chat("fault-500", "x"),
        scene.openai("GET", "/v1/any/other"),
        scene.chat("echo", "x").header("x-gateway-api-key", "wrong-wrong-wrong"),
        scene.server.bare("GET", "/health"),
        scene.server.bare("GET", "/v1/configs"),
        scene.server.bare("GET", "/nothing"),
    ];
    for call in calls {
        let answer = call.header("origin", "https://app.example").send().await;
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{answer:?}");
        assert_eq!(answer.header("access-control-expose-headers"), "*", "{answer:?}");
    }
    let quiet = scene.chat("echo", "x").send().await.well();
    assert_eq!(quiet.header("access-control-allow-origin"), "", "nobody asked");
}

#[tokio::test]
async fn only_listed_origins_are_told_where_there_is_a_list() {
    let server = Server::with(&[("CORS_ALLOWED_ORIGINS", "https://a.example, https://b.example")]).await;
    let told = async |origin: &str| {
        let answer = server.chat("echo", "x").header("origin", origin).send().await.well();
        (answer.header("access-control-allow-origin").to_owned(), answer.header("vary").to_owned())
    };
    assert_eq!(told("https://b.example").await, ("https://b.example".into(), "origin".into()));
    assert_eq!(told("https://evil.example").await.0, "");
    let preflight =
        server.bare("OPTIONS", "/v1/chat/completions").header("origin", "https://evil.example").send().await;
    assert_eq!(preflight.header("access-control-allow-methods"), "", "{preflight:?}");
    preflight.named();
}
