//! The mock from outside: literal requests, literal outcomes.

use std::time::Duration;

use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

mod endpoints;
mod faults;
mod formats;
mod shapes;
mod tongues;

/// A request with good defaults.
struct Scene {
    method: &'static str,
    path: &'static str,
    headers: HeaderMap,
    body: Vec<u8>,
}

fn post(path: &'static str, body: Value) -> Scene {
    Scene { method: "POST", path, headers: HeaderMap::new(), body: body.to_string().into_bytes() }
}

fn get(path: &'static str) -> Scene {
    Scene { method: "GET", path, headers: HeaderMap::new(), body: Vec::new() }
}

/// Asks for a chat completion that says `one two three four`.
fn chat(model: &str) -> Scene {
    post("/chat/completions", json!({"model": model, "messages": [{"role": "user", "content": "one two three four"}]}))
}

fn streamed_chat(model: &str) -> Scene {
    let messages = json!([{"role": "user", "content": "one two three four"}]);
    post("/chat/completions", json!({"model": model, "messages": messages, "stream": true}))
}

impl Scene {
    fn with(mut self, name: &'static str, value: &str) -> Scene {
        self.headers.append(name, value.parse().expect("a header value"));
        self
    }

    fn play(&self) -> Script {
        answer(&Ask {
            method: self.method,
            path: self.path,
            query: None,
            headers: &self.headers,
            body: &self.body,
            id: "7",
            now: 1_700_000_000,
        })
    }
}

fn sent(script: &Script) -> Vec<String> {
    script.steps.iter().filter_map(Step::bytes).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
}

fn body(script: &Script) -> Value {
    serde_json::from_str(&sent(script).concat()).expect("the body is JSON")
}

/// The JSON of each event, without `[DONE]`.
fn events(script: &Script) -> Vec<Value> {
    let sent = sent(script).concat();
    let data = sent.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).expect("an event is JSON")).collect()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
