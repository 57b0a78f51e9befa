//! Streams are relayed as they come, and end as they ended.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support::raw::Socket;
use crate::support::scene::Scene;
use crate::support::server::Server;

/// The data of each event.
fn events(text: &str) -> Vec<String> {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    blocks.flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("data: "))).map(str::to_owned).collect()
}

fn error_in(text: &str) -> Value {
    let last = events(text).pop().expect("there is an event");
    serde_json::from_str(&last).expect("the last event is JSON")
}

#[tokio::test]
async fn the_first_event_arrives_before_the_last_is_made() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-slow-300", "one two three");
    let mark = call.mark().to_owned();
    let start = Instant::now();
    let mut body = call.open().await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let waited = start.elapsed();
    assert!(String::from_utf8_lossy(&first).starts_with("data: {"), "{first:?}");
    assert_eq!(scene.mock.only(&mark).await["state"], "running", "the rest is not made yet");
    let rest = body.collect().await.unwrap().to_bytes();
    assert!(rest.ends_with(b"data: [DONE]\n\n"));
    assert!(start.elapsed() > waited + Duration::from_millis(900), "events came one by one");
}

#[tokio::test]
async fn events_of_the_built_in_provider_arrive_one_by_one_as_well() {
    let server = Server::start().await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let mut body = call.chat_stream("fault-slow-150", "one two three").open().await.into_body();
    let mut times = Vec::new();
    while let Some(frame) = body.frame().await {
        frame.unwrap();
        times.push(Instant::now());
    }
    assert!(times.len() >= 5, "{} frames", times.len());
    assert!(times[times.len() - 1] - times[0] > Duration::from_millis(450));
}

#[tokio::test]
async fn usage_is_asked_for_and_kept_from_a_caller_who_did_not_ask() {
    let scene = Scene::shared().await;
    let answer = scene.openai("POST", "/v1/chat/completions").chat_stream("lorem-4", "a b").send().await.well();
    let heard: Value = serde_json::from_str(scene.mock.only(&answer.mark).await["body"].as_str().unwrap()).unwrap();
    assert_eq!(heard["stream_options"], json!({"include_usage": true}));
    let events = events(&answer.text());
    assert_eq!(events.len(), 1 + 4 + 1 + 1, "opening, tokens, finish, [DONE]: {events:?}");
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    for event in &events[..events.len() - 1] {
        let chunk: Value = serde_json::from_str(event).unwrap();
        assert_ne!(chunk["choices"], json!([]), "{event}");
        assert!(chunk["usage"].is_null(), "{event}");
    }
}

#[tokio::test]
async fn usage_is_shown_to_a_caller_who_asked() {
    let scene = Scene::shared().await;
    let body = r#"{"model":"lorem-4","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"a b"}]}"#;
    let answer = scene.openai("POST", "/v1/chat/completions").json(body).send().await.well();
    assert_eq!(scene.mock.only(&answer.mark).await["body"], body, "nothing was added");
    let events = events(&answer.text());
    let usage: Value = serde_json::from_str(&events[events.len() - 2]).unwrap();
    assert_eq!((&usage["choices"], &usage["usage"]["completion_tokens"]), (&json!([]), &json!(4)));
}

#[tokio::test]
async fn usage_is_not_asked_for_when_told_not_to() {
    let scene = Scene::with(&[("ASK_STREAMS_FOR_USAGE", "false")]).await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("lorem-4", "a b");
    let answer = call.send().await.well();
    let heard = scene.mock.only(&answer.mark).await;
    assert!(!heard["body"].as_str().unwrap().contains("stream_options"), "{heard}");
}

#[tokio::test]
async fn usage_that_was_hidden_is_counted_all_the_same() {
    let scene = Scene::with(&[]).await;
    scene.openai("POST", "/v1/chat/completions").chat_stream("lorem-41", "a b c").send().await.well();
    let metrics = scene.server.bare("GET", "/metrics").send().await.well().text();
    let line = |kind: &str| {
        let start = format!("llm_token_sum{{provider=\"openai\",endpoint=\"chatComplete\",kind=\"{kind}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    };
    assert_eq!(line("completion").as_deref(), Some("41"), "{metrics}");
    assert_eq!(line("prompt").as_deref(), Some("3"), "{metrics}");
}

#[tokio::test]
async fn every_framing_that_the_standard_allows_passes_and_its_usage_is_hidden() {
    let scene = Scene::shared().await;
    let plain = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n").replace(": mock\n\n", "");
    for framing in ["crlf", "cr", "comments", "split"] {
        let call = scene.openai("POST", "/v1/chat/completions").chat_stream("echo", "größe 世界 😀");
        let call = call.header("x-mock-framing", framing).header("x-gateway-forward-headers", "x-mock-framing");
        let text = call.send().await.well().text();
        assert!(plain(&text).ends_with("data: [DONE]\n\n"), "{framing}: {text}");
        let said: String = events(&plain(&text))
            .iter()
            .filter_map(|event| {
                let chunk: Value = serde_json::from_str(event).ok()?;
                assert_ne!(chunk["choices"], json!([]), "{framing}: usage is hidden");
                chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
            })
            .collect();
        assert_eq!(said, "größe 世界 😀", "{framing}");
    }
}

#[tokio::test]
async fn a_cut_stream_ends_with_an_error_event_and_without_done() {
    let scene = Scene::shared().await;
    for model in ["fault-cut-2", "fault-truncate"] {
        let answer =
            scene.openai("POST", "/v1/chat/completions").chat_stream(model, "one two three").send().await.well();
        let text = answer.text();
        assert!(text.starts_with("data: {\"id\":\"chatcmpl-mock-"), "{model}: {text}");
        assert!(!text.contains("[DONE]"), "{model}: {text}");
        let last = error_in(&text);
        assert!(
            last["error"]["message"].as_str().is_some_and(|said| said.starts_with("openai error: ")),
            "{model}: {text}"
        );
        assert_eq!(last["error"]["type"], "upstream_error", "{model}");
        assert!(last["error"]["param"].is_null() && last["error"]["code"].is_string(), "{model}: {last}");
        assert_eq!(last["provider"], "openai", "{model}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_inside_an_event_ends_with_an_event_of_its_own() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("echo", "one two three");
    let call = call.header("x-mock-cut", "100").header("x-gateway-forward-headers", "x-mock-cut");
    let text = call.send().await.well().text();
    assert!(!text.contains("[DONE]"), "{text}");
    assert_eq!(error_in(&text)["error"]["type"], "upstream_error", "{text}");
}

#[tokio::test]
async fn a_cut_stream_of_responses_ends_as_that_format_ends() {
    let scene = Scene::shared().await;
    let body = json!({"model": "fault-cut-2", "stream": true, "input": "one two three"});
    let text = scene.openai("POST", "/v1/responses").json(body).send().await.well().text();
    assert!(text.contains("event: response.failed\ndata: "), "{text}");
    assert!(!text.contains("response.completed"), "{text}");
    let last = error_in(&text);
    assert_eq!(last["response"]["status"], "failed", "{last}");
    assert!(
        last["response"]["error"]["message"].as_str().is_some_and(|said| said.starts_with("openai error: ")),
        "{last}"
    );
}

#[tokio::test]
async fn a_cut_stream_of_the_built_in_provider_ends_the_same_way() {
    let server = Server::start().await;
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let text = call.chat_stream("fault-cut-2", "one two three").send().await.well().text();
    assert!(!text.contains("[DONE]"), "{text}");
    assert_eq!(error_in(&text)["provider"], "mock", "{text}");
}

#[tokio::test]
async fn an_error_inside_a_stream_passes_as_it_came() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-error-in-stream", "one two three");
    let text = call.send().await.well().text();
    let last = error_in(&text);
    assert_eq!(last["error"]["message"], "mock: asked to answer with 500", "{text}");
    assert_eq!(text.matches("\"error\"").count(), 1, "it is told once: {text}");
    assert!(!text.contains("[DONE]"), "{text}");
}

#[tokio::test]
async fn a_finished_stream_without_done_is_not_called_broken() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-no-done", "one two three");
    let text = call.send().await.well().text();
    assert!(!text.contains("\"error\""), "{text}");
    assert!(text.contains("\"finish_reason\":\"stop\""), "{text}");
}

#[tokio::test]
async fn a_stream_that_falls_silent_ends_with_a_timeout() {
    let scene = Scene::with(&[("STREAM_IDLE_TIMEOUT", "300")]).await;
    let call = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-hang-2", "one two three");
    let answer = call.send().await.well();
    let last = error_in(&answer.text());
    assert_eq!(last["error"]["type"], "timeout_error", "{last}");
    scene.mock.until(&answer.mark, |call| call["state"] == "hung_up").await;
}

#[tokio::test]
async fn a_cut_whole_answer_is_a_502_and_never_half_an_answer() {
    let scene = Scene::shared().await;
    let answer = scene.chat("fault-cut-1", "one two three").send().await;
    answer.refused(502, "upstream_failed", "openai error: upstream broke off");
    assert_eq!(answer.json()["provider"], "openai");
    assert_eq!(answer.header("x-gateway-provider"), "openai");
}

#[tokio::test]
async fn half_of_an_answer_with_a_clean_end_is_a_502() {
    let scene = Scene::shared().await;
    let answer = scene.chat("fault-truncate", "one two three").send().await;
    answer.refused(502, "upstream_garbled", "Invalid response received from openai");
}

#[tokio::test]
async fn an_answer_too_large_to_be_held_comes_whole_or_visibly_broken() {
    let scene = Scene::shared().await;
    let whole = scene.chat("lorem-100000", "x").send().await.well();
    assert_eq!(whole.said().split(' ').count(), 100_000);
    assert_eq!(whole.json()["usage"]["completion_tokens"], 100_000);

    let body = r#"{"model":"lorem-100000","messages":[{"role":"user","content":"x"}]}"#;
    let chat = scene.openai("POST", "/v1/chat/completions").header("x-gateway-forward-headers", "x-mock-cut");
    let file = scene.openai("GET", "/v1/bytes/600000");
    for (call, body) in [(chat, body), (file, "")] {
        let call = call.header("x-mock-cut", "400000");
        let mut socket = Socket::open(&scene.server.address).await;
        socket.say(call.written(body)).await;
        let seen = socket.rest().await;
        assert!(seen.starts_with("HTTP/1.1 200 OK"), "{}", &seen[..200]);
        assert!(seen.len() > 300_000, "{} bytes came", seen.len());
        assert!(!seen.ends_with("0\r\n\r\n"), "it must not look whole");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_answer_is_a_502() {
    let scene = Scene::shared().await;
    for (model, part) in
        [("fault-garbage", "<!doctype html>"), ("fault-empty", "Invalid response received from openai")]
    {
        let answer = scene.chat(model, "one two three").send().await;
        answer.refused(502, "upstream_garbled", part);
        assert_eq!(answer.json()["provider"], "openai", "{model}");
    }
}

#[tokio::test]
async fn streams_say_that_they_are_not_to_be_held() {
    let scene = Scene::shared().await;
    let answer = scene.openai("POST", "/v1/chat/completions").chat_stream("echo", "x").send().await.well();
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    assert_eq!(answer.header("cache-control"), "no-cache");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert_eq!(answer.header("content-length"), "");
    answer.named();
}

#[tokio::test]
async fn a_refusal_of_a_stream_is_json_with_its_own_status() {
    let scene = Scene::shared().await;
    let answer = scene.openai("POST", "/v1/chat/completions").chat_stream("fault-429", "x").send().await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), "1");
    let body = answer.json();
    assert_eq!(body["error"]["message"], "openai error: mock: asked to answer with 429");
    assert_eq!((&body["error"]["type"], &body["provider"]), (&json!("rate_limit_error"), &json!("openai")));
}

/// Answers one call with these bytes and a clean end of the connection.
async fn says_and_ends(answer: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let host = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a call");
        let mut piece = [0; 16 * 1024];
        tokio::io::AsyncReadExt::read(&mut socket, &mut piece).await.expect("a request");
        tokio::io::AsyncWriteExt::write_all(&mut socket, answer.as_bytes()).await.expect("it is read");
    });
    host
}

#[tokio::test]
async fn a_stream_that_ends_inside_an_event_still_ends_with_a_whole_error_event() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                          data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"cho";
    let scene = Scene::shared().await;
    for include_usage in [true, false] {
        let asked = json!({"model": "x", "stream": true, "stream_options": {"include_usage": include_usage},
            "messages": [{"role": "user", "content": "x"}]});
        let call = scene.openai("POST", "/v1/chat/completions").json(&asked);
        let text = call.header("x-gateway-custom-host", &says_and_ends(ANSWER).await).send().await.well().text();
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.starts_with("data: {\"error\":"), "the last event is glued to what came before: {text}");
    }
}
