//! Chat completions, whole and streamed, with text or one tool call.

use bytes::Bytes;
use serde_json::{Value, json};

use super::call::{Call, event};
use super::heard;
use super::refusal::Refusal;
use super::said;
use super::script::{Script, Step};
use super::turn::{Choice, Finishes, Turn};

struct Answer<'a> {
    call: &'a Call<'a>,
    model: &'a str,
    /// What every choice of the answer holds.
    turn: Turn,
    n: u64,
    prompt_words: u64,
}

pub(super) fn answer(call: &Call<'_>) -> Result<Script, Refusal> {
    let model = call.model()?;
    let messages = match call.required("messages")?.as_array() {
        Some(messages) if !messages.is_empty() => messages,
        _ => return Err(Refusal::of("messages", "`messages` must be a list with at least one message")),
    };
    let (prompt_words, heard) = heard::hear(messages);
    let n = said::choices(call)?;
    let turn = Turn::take(call, heard, limit(call)?, choice(call))?;
    if let Turn::Text(said) = &turn {
        said::bounded(std::iter::once(said), n, call.flag("stream"))?;
    }
    let answer = Answer { call, model, turn, n, prompt_words };
    Ok(if call.flag("stream") { answer.streamed() } else { answer.whole() })
}

fn limit(call: &Call<'_>) -> Result<Option<u64>, Refusal> {
    Ok(call.number("max_completion_tokens", 0)?.or(call.number("max_tokens", 0)?))
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    let choice = call.body.get("tool_choice");
    let named = choice.and_then(|choice| choice.get("function")?.get("name")?.as_str());
    match (named, choice.and_then(Value::as_str)) {
        (Some(name), _) => Choice::Named(name),
        (None, Some("required")) => {
            let tools = call.body.get("tools");
            let first = tools.and_then(|tools| tools.get(0)?.get("function")?.get("name")?.as_str());
            Choice::Any { field: "tool_choice", first }
        }
        _ => Choice::Free,
    }
}

const FINISHES: Finishes = Finishes { end: "stop", limit: "length", tool: "tool_calls" };

impl Answer<'_> {
    fn whole(&self) -> Script {
        let choices: Vec<Value> = (0..self.n)
            .map(|index| {
                let (message, finish) = (self.message(index), self.finish());
                json!({"index": index, "message": message, "logprobs": null, "finish_reason": finish})
            })
            .collect();
        let mut body = self.frame("chat.completion", choices);
        if let Some(usage) = self.usage() {
            body["usage"] = usage;
        }
        Script::json(200, &body).billed(self.call.bill(self.prompt_words, self.turn.words() * self.n))
    }

    fn message(&self, index: u64) -> Value {
        match &self.turn {
            Turn::Text(said) => json!({"role": "assistant", "content": said.text, "refusal": null}),
            Turn::Tool(name) => {
                let function = json!({"name": name, "arguments": "{}"});
                let tool_call = json!({"id": self.tool_call_id(index), "type": "function", "function": function});
                json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [tool_call]})
            }
        }
    }

    fn streamed(&self) -> Script {
        let mut events: Vec<Step> =
            (0..self.n).map(|index| self.chunk(index, self.opening(index), None).into()).collect();
        match &self.turn {
            Turn::Text(said) => {
                for piece in said.pieces() {
                    let chunk = |index| self.chunk(index, json!({"content": piece}), None);
                    events.extend((0..self.n).map(|index| self.call.say(chunk(index), piece)));
                }
            }
            Turn::Tool(_) => {
                let delta = json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]});
                let chunk = |index| self.chunk(index, delta.clone(), None);
                events.extend((0..self.n).map(|index| self.call.say(chunk(index), "{}")));
            }
        }
        events.extend((0..self.n).map(|index| self.chunk(index, json!({}), Some(self.finish())).into()));
        if let Some(usage) = self.usage().filter(|_| self.call.wants_usage()) {
            let mut last = self.frame("chat.completion.chunk", Vec::new());
            last["usage"] = usage;
            events.push(event(&last).into());
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n").into());
        Script::events(events).billed(self.call.bill(self.prompt_words, 0))
    }

    /// The first delta of a choice.
    fn opening(&self, index: u64) -> Value {
        match &self.turn {
            Turn::Text(_) => json!({"role": "assistant", "content": "", "refusal": null}),
            Turn::Tool(name) => {
                let id = self.tool_call_id(index);
                let function = json!({"name": name, "arguments": ""});
                let tool_call = json!({"index": 0, "id": id, "type": "function", "function": function});
                json!({"role": "assistant", "content": null, "tool_calls": [tool_call]})
            }
        }
    }

    fn chunk(&self, index: u64, delta: Value, finish: Option<&str>) -> Bytes {
        let choice = json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": finish});
        let mut chunk = self.frame("chat.completion.chunk", vec![choice]);
        if self.call.wants_usage() {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    }

    fn frame(&self, object: &str, choices: Vec<Value>) -> Value {
        json!({
            "id": self.call.id("chatcmpl-mock-"),
            "object": object,
            "created": self.call.ask.now,
            "model": self.model,
            "system_fingerprint": "fp_mock",
            "choices": choices,
        })
    }

    fn tool_call_id(&self, index: u64) -> String {
        format!("{}_{index}", self.call.id("call_mock_"))
    }

    fn finish(&self) -> &'static str {
        self.turn.finish(&FINISHES)
    }

    fn usage(&self) -> Option<Value> {
        self.call.usage(self.prompt_words, self.turn.words() * self.n).map(|usage| usage.in_chat())
    }
}
