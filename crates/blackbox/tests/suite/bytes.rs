//! What is sent arrives as it was sent: bodies, paths, queries and methods, byte for byte.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::client::{Made, PIECE};
use crate::support::process::optimised;
use crate::support::scene::Scene;
use crate::support::{hex, sha256};

/// Valid JSON that a careless gateway would change.
const ODD: &[(&str, &str)] = &[
    (
        "a number beyond every float",
        r#"{"model":"echo","messages":[{"role":"user","content":"x"}],"seed":123456789012345678901234567890}"#,
    ),
    (
        "a float with a long tail",
        r#"{"model":"echo","messages":[{"role":"user","content":"x"}],"temperature":0.30000000000000004,"top_p":1.0e+0}"#,
    ),
    (
        "escapes that need not be",
        r#"{"model":"\u0065cho","messages":[{"role":"user","content":"\u00e9\ud83d\ude00\/"}]}"#,
    ),
    ("half of a pair", r#"{"model":"echo","messages":[{"role":"user","content":"x"}],"user":"\ud800"}"#),
    ("an unknown key twice", r#"{"model":"echo","x":1,"messages":[{"role":"user","content":"x"}],"x":2}"#),
    ("keys in an odd order", r#"{"z":1,"messages":[{"content":"x","role":"user"}],"a":{"z":1,"a":2},"model":"echo"}"#),
    (
        "odd white space",
        "\r\n\t { \"model\" :\t\"echo\" ,\n\n\"messages\":[ {\"role\" : \"user\",\"content\":\"x\"} ]\r\n}\n \n",
    ),
    ("letters of four bytes", r#"{"model":"echo","messages":[{"role":"user","content":"größe 世界 😀"}]}"#),
    ("an empty key", r#"{"":null,"model":"echo","messages":[{"role":"user","content":"x"}]}"#),
    ("minus zero", r#"{"model":"echo","messages":[{"role":"user","content":"x"}],"presence_penalty":-0}"#),
];

#[tokio::test]
async fn odd_json_reaches_the_provider_byte_for_byte() {
    let scene = Scene::shared().await;
    for (what, body) in ODD {
        let answer = scene.openai("POST", "/v1/chat/completions").json(*body).send().await;
        let call = scene.mock.only(&answer.mark).await;
        assert_eq!(call["body"], *body, "{what}");
        assert_eq!(call["sha256"], sha256(body.as_bytes()), "{what}");
        assert_eq!(
            answer.header("x-mock-sha256"),
            sha256(body.as_bytes()),
            "{what}: the answer's headers pass as well"
        );
    }
}

#[tokio::test]
async fn only_the_asked_field_of_a_stream_is_added_to_odd_json() {
    let scene = Scene::shared().await;
    let body = "{ \"z\": 1.50e+0, \"messages\" : [{\"role\":\"user\",\"content\":\"\\u0078\"}],\"stream\":true , \"model\":\"echo\"}";
    let answer = scene.openai("POST", "/v1/chat/completions").json(body).send().await;
    let heard = scene.mock.only(&answer.mark).await["body"].as_str().unwrap().to_owned();
    let added = "\"stream_options\":{\"include_usage\":true}";
    assert_eq!(heard.matches(added).count(), 1, "{heard}");
    let kept = heard.replace(&format!(",{added}"), "").replace(&format!("{added},"), "");
    assert_eq!(kept, body);
}

#[tokio::test]
async fn only_the_fields_a_config_forces_are_changed() {
    let scene = Scene::shared().await;
    let forced = json!({"model": "lorem-3", "seed": 7});
    let config = json!({"provider": "openai", "custom_host": scene.mock.base(), "override_params": forced}).to_string();
    let body = "{ \"model\" : \"echo\", \"z\":1.50e+0,\"messages\":[{\"role\":\"user\",\"content\":\"\\u0078\"}] }";
    let call = scene.openai("POST", "/v1/chat/completions").json(body).header("x-gateway-config", &config);
    let answer = call.send().await.well();
    assert_eq!(answer.said(), "Lorem ipsum dolor");
    let heard = scene.mock.only(&answer.mark).await["body"].as_str().unwrap().to_owned();
    assert!(heard.contains("\"seed\":7"), "{heard}");
    let kept = heard.replace(",\"seed\":7", "").replace("\"seed\":7,", "").replace("lorem-3", "echo");
    assert_eq!(kept, body);
}

#[tokio::test]
async fn the_answer_comes_back_byte_for_byte() {
    let scene = Scene::shared().await;
    let body = json!({"model": "echo", "messages": [{"role": "user", "content": "größe 世界"}]});
    let through = scene.openai("POST", "/v1/chat/completions").json(&body).send().await.well();
    let text = through.text();
    assert!(text.starts_with("{\"id\":\"chatcmpl-mock-"), "as the mock writes it, in its order: {text}");
    assert!(text.contains("größe 世界"), "{text}");
    assert!(text.contains("\"system_fingerprint\":\"fp_mock\""), "fields nobody here knows stay: {text}");
}

#[tokio::test]
async fn other_paths_pass_with_every_method_query_and_encoding() {
    let scene = Scene::shared().await;
    let paths = [
        ("/v1/echo/a%20b?x=%2F&y", "/v1/echo/a%20b", Some("x=%2F&y")),
        ("/v1/some/new/thing", "/v1/some/new/thing", None),
        ("/v1/thing/?", "/v1/thing/", Some("")),
        ("/v1/models/meta%2Fllama-3?a=b&a=c&=&%20", "/v1/models/meta%2Fllama-3", Some("a=b&a=c&=&%20")),
        ("/v1/tuned/ft:gpt-4o:acme::x;v=1,2@3!*'()", "/v1/tuned/ft:gpt-4o:acme::x;v=1,2@3!*'()", None),
        ("/v1/%C3%A9?q=%F0%9F%98%80+%2B", "/v1/%C3%A9", Some("q=%F0%9F%98%80+%2B")),
        ("/v1/proxy/configs/x?y=1", "/v1/configs/x", Some("y=1")),
    ];
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] {
        for (path, expected, query) in paths {
            let answer = scene.openai(method, path).send().await.well();
            let call = scene.mock.only(&answer.mark).await;
            assert_eq!(call["method"], method, "{path}");
            assert_eq!(call["path"], expected, "{method}");
            assert_eq!(call["query"].as_str(), query, "{method} {path}");
            assert_eq!(call["bytes"], 0, "{method} {path}");
            assert_eq!(answer.body.is_empty(), method == "HEAD", "{method} {path}");
            answer.named();
        }
    }
}

#[tokio::test]
async fn bodies_of_any_type_pass_on_other_paths_with_every_method_that_has_one() {
    let scene = Scene::shared().await;
    let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for kind in ["application/octet-stream", "application/x-ndjson", "image/png", "text/plain; charset=latin-1"] {
            let call = scene.openai(method, "/v1/any/thing").header("content-type", kind).body(binary.clone());
            let answer = call.send().await.well();
            let call = scene.mock.only(&answer.mark).await;
            assert_eq!((&call["method"], &call["sha256"]), (&json!(method), &json!(sha256(&binary))), "{kind}");
            assert_eq!(call["headers"]["content-type"], kind, "{method}");
            assert_eq!(answer.json()["sha256"], sha256(&binary));
        }
    }
}

#[tokio::test]
async fn json_on_other_paths_is_not_looked_at() {
    let scene = Scene::shared().await;
    for body in ["{\"model\":5,\"model\":6", "[1,2,3]", "null", "\u{feff}{}"] {
        let answer = scene.openai("POST", "/v1/some/new/thing").json(body).send().await.well();
        assert_eq!(scene.mock.only(&answer.mark).await["sha256"], sha256(body.as_bytes()), "{body}");
    }
}

fn form(boundary: &str, file: &[u8]) -> Vec<u8> {
    let mut form = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"größe.bin\"\r\nContent-Type: audio/x-odd\r\n\r\n"
    )
    .into_bytes();
    form.extend_from_slice(file);
    form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    form
}

#[tokio::test]
async fn forms_pass_with_their_boundary_on_every_endpoint_that_takes_one() {
    let scene = Scene::shared().await;
    let file: Vec<u8> = (0..=255).rev().cycle().take(10_000).collect();
    for path in ["/v1/files", "/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/other"] {
        let boundary = "----=_odd'boundary+1";
        let form = form(boundary, &file);
        let kind = format!("multipart/form-data; boundary=\"{boundary}\"");
        let call = scene.openai("POST", path).header("content-type", &kind).body(form.clone());
        let answer = call.send().await.well();
        let call = scene.mock.only(&answer.mark).await;
        assert_eq!(call["path"], path);
        assert_eq!(call["sha256"], sha256(&form), "{path}");
        assert_eq!(call["headers"]["content-type"], kind, "{path}");
    }
}

#[tokio::test]
async fn a_large_upload_streams_through_without_being_held() {
    const SIZE: u64 = 64 * 1024 * 1024;
    let scene = Scene::with(&[]).await;
    scene.openai("POST", "/v1/any").body("warm").send().await.well();
    let before = scene.server.process.memory("VmRSS");
    let answer = scene.openai("PUT", "/v1/any/upload").streamed(Made { left: SIZE }).send().await.well();
    let peak = scene.server.process.memory("VmHWM");
    let mut hasher = Sha256::new();
    (0..SIZE / PIECE.len() as u64).for_each(|_| hasher.update(PIECE));
    let call = scene.mock.only(&answer.mark).await;
    assert_eq!((&call["bytes"], &call["sha256"]), (&json!(SIZE), &json!(hex(&hasher.finalize()))));
    let grown = peak.saturating_sub(before);
    println!("64 MiB went through; the peak rose by {} KiB (optimised: {})", grown / 1024, optimised());
    assert!(grown < 16 * 1024 * 1024, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn an_upload_to_the_file_endpoint_is_not_bound_by_the_limit_for_json() {
    let scene = Scene::with(&[("MAX_JSON_PAYLOAD_SIZE_IN_MB", "1")]).await;
    let file = vec![b'f'; 3 * 1024 * 1024];
    let form = form("b", &file);
    let call = scene.openai("POST", "/v1/files").header("content-type", "multipart/form-data; boundary=b");
    let answer = call.body(form.clone()).send().await.well();
    assert_eq!(answer.json()["bytes"], file.len());
    assert_eq!(scene.mock.only(&answer.mark).await["sha256"], sha256(&form));
}

#[tokio::test]
async fn a_large_answer_of_bytes_comes_whole() {
    let scene = Scene::shared().await;
    let answer = scene.openai("GET", "/v1/bytes/5000000").send().await.well();
    assert_eq!(answer.body.len(), 5_000_000);
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("content-length"), "5000000");
}

#[tokio::test]
async fn a_head_tells_the_length_of_what_it_leaves_out() {
    let scene = Scene::shared().await;
    let answer = scene.openai("HEAD", "/v1/any/other").send().await.well();
    assert!(answer.body.is_empty());
    let told: usize = answer.header("content-length").parse().unwrap();
    assert!(told > 100, "{answer:?}");
}

#[tokio::test]
async fn many_calls_at_once_do_not_mix() {
    let scene = Scene::shared().await;
    let mut calls = Vec::new();
    for n in 0..60 {
        let said = format!("this is call number {n} and no other");
        let call = scene.openai("POST", "/v1/chat/completions");
        let call = if n % 2 == 0 { call.chat("echo", &said) } else { call.chat_stream("echo", &said) };
        calls.push((n, said, tokio::spawn(call.send())));
    }
    for (n, said, call) in calls {
        let answer = call.await.unwrap().well();
        let heard = if n % 2 == 0 {
            answer.said()
        } else {
            let text = answer.text();
            let deltas = text.lines().filter_map(|line| line.strip_prefix("data: {")).filter_map(|rest| {
                let chunk: serde_json::Value = serde_json::from_str(&format!("{{{rest}")).ok()?;
                chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
            });
            deltas.collect()
        };
        assert_eq!(heard, said);
    }
}

#[tokio::test]
async fn every_status_of_another_path_passes_as_it_is() {
    let scene = Scene::shared().await;
    for status in [201, 202, 204, 206, 301, 304, 400, 401, 404, 409, 418, 429, 500, 503, 529, 599] {
        let answer = scene.openai("GET", &format!("/v1/status/{status}")).send().await;
        assert_eq!(answer.status, status);
        answer.named();
        let text = answer.text();
        assert!(!text.contains("\"provider\""), "a relayed error is not rewritten: {text}");
        assert_eq!(text.is_empty(), matches!(status, 204 | 304), "{status} {text}");
    }
}

#[tokio::test]
async fn forced_numbers_keep_every_digit_and_options_of_a_config_become_headers() {
    let scene = Scene::shared().await;
    let config = format!(
        r#"{{"provider":"openai","custom_host":"{}","openai_organization":"org-1","override_params":{{"temperature":0.10,"seed":123456789012345678901234567890,"f":1.0E+2}}}}"#,
        scene.mock.base()
    );
    let answer = scene.chat("echo", "x").header("x-gateway-config", &config).send().await.well();
    let call = scene.mock.only(&answer.mark).await;
    let body = call["body"].to_string();
    for part in ["0.10", "123456789012345678901234567890", "1.0E+2"] {
        assert!(body.contains(part), "`{part}`: {body}");
    }
    assert_eq!(call["headers"]["openai-organization"], "org-1", "{call}");
}

#[tokio::test]
async fn a_small_upload_does_not_double_the_time_limit() {
    let scene = Scene::shared().await;
    let call = scene.openai("POST", "/v1/anything").header("x-mock-hang", "head").body("a few bytes");
    let begun = std::time::Instant::now();
    let answer = call.header("x-gateway-request-timeout", "1000").send().await;
    assert_eq!(answer.status, 408, "{}", answer.text());
    let waited = begun.elapsed();
    assert!(waited.as_millis() < 1800, "{waited:?}");
}
