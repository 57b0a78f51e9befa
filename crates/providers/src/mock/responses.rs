//! OpenAI's Responses: one output item, a message or a function call, whole or as its sequence of events.

use bytes::Bytes;
use serde_json::{Value, json};

use super::call::Call;
use super::heard;
use super::refusal::Refusal;
use super::said::{self, Said};
use super::script::{Script, Step};
use super::turn::{Choice, Turn};
use super::words;

struct Answer<'a> {
    call: &'a Call<'a>,
    model: &'a str,
    turn: Turn,
    prompt_words: u64,
}

pub(super) fn answer(call: &Call<'_>) -> Result<Script, Refusal> {
    let model = call.model()?;
    let (words, heard) = match call.required("input")? {
        Value::String(text) => (words::count(text), text.clone()),
        Value::Array(items) => heard::hear(items),
        _ => return Err(Refusal::of("input", "`input` must be a text or a list of items")),
    };
    let prompt_words = words + call.text("instructions").map_or(0, words::count);
    let turn = Turn::take(call, heard, call.number("max_output_tokens", 0)?, choice(call))?;
    if let Turn::Text(said) = &turn {
        said::bounded(std::iter::once(said), 1, call.flag("stream"))?;
    }
    let answer = Answer { call, model, turn, prompt_words };
    Ok(if call.flag("stream") { answer.streamed() } else { answer.whole() })
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    fn name(tool: &Value) -> Option<&str> {
        tool.get("name")?.as_str()
    }
    match call.body.get("tool_choice") {
        Some(Value::String(word)) if word == "required" => {
            let first = call.body.get("tools").and_then(|tools| name(tools.get(0)?));
            Choice::Any { field: "tool_choice", first }
        }
        Some(choice) if choice.get("type").and_then(Value::as_str) == Some("function") => {
            name(choice).map_or(Choice::Free, Choice::Named)
        }
        _ => Choice::Free,
    }
}

/// Events in order, each numbered.
#[derive(Default)]
struct Events(Vec<Step>);

impl Events {
    fn push(&mut self, kind: &str, fields: Value) {
        let event = self.next(kind, fields);
        self.0.push(event.into());
    }

    /// An event that tells a piece of the answer.
    fn say(&mut self, call: &Call<'_>, kind: &str, fields: Value, piece: &str) {
        let event = self.next(kind, fields);
        self.0.push(call.say(event, piece));
    }

    fn next(&self, kind: &str, mut fields: Value) -> Bytes {
        let mut data = json!({"type": kind, "sequence_number": self.0.len()});
        if let (Some(data), Some(fields)) = (data.as_object_mut(), fields.as_object_mut()) {
            data.append(fields);
        }
        Bytes::from(format!("event: {kind}\ndata: {data}\n\n"))
    }
}

impl Answer<'_> {
    fn whole(&self) -> Script {
        Script::json(200, &self.finished()).billed(self.call.bill(self.prompt_words, self.turn.words()))
    }

    fn streamed(&self) -> Script {
        let mut events = Events::default();
        let begun = self.response("in_progress", Vec::new());
        events.push("response.created", json!({"response": begun}));
        events.push("response.in_progress", json!({"response": begun}));
        match &self.turn {
            Turn::Text(said) => self.tell(said, &mut events),
            Turn::Tool(_) => self.tell_tool_call(&mut events),
        }
        let finished = self.finished();
        let kind = if self.is_cut() { "response.incomplete" } else { "response.completed" };
        events.push(kind, json!({"response": finished}));
        Script::events(events.0).billed(self.call.bill(self.prompt_words, 0))
    }

    fn tell(&self, said: &Said, events: &mut Events) {
        let item_id = self.item_id();
        let at = json!({"item_id": item_id, "output_index": 0, "content_index": 0});
        let with = |field: &str, value: Value| {
            let mut fields = at.clone();
            fields[field] = value;
            fields
        };
        let opened =
            json!({"id": item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        events.push("response.output_item.added", json!({"output_index": 0, "item": opened}));
        events.push("response.content_part.added", with("part", text_part("")));
        for piece in said.pieces() {
            events.say(self.call, "response.output_text.delta", with("delta", json!(piece)), piece);
        }
        events.push("response.output_text.done", with("text", json!(said.text)));
        events.push("response.content_part.done", with("part", text_part(&said.text)));
        events.push("response.output_item.done", json!({"output_index": 0, "item": self.item()}));
    }

    fn tell_tool_call(&self, events: &mut Events) {
        let mut opened = self.item();
        (opened["status"], opened["arguments"]) = (json!("in_progress"), json!(""));
        let at = |field: &str| json!({"item_id": self.item_id(), "output_index": 0, field: "{}"});
        events.push("response.output_item.added", json!({"output_index": 0, "item": opened}));
        events.say(self.call, "response.function_call_arguments.delta", at("delta"), "{}");
        events.push("response.function_call_arguments.done", at("arguments"));
        events.push("response.output_item.done", json!({"output_index": 0, "item": self.item()}));
    }

    fn item(&self) -> Value {
        let (id, status) = (self.item_id(), self.status());
        match &self.turn {
            Turn::Text(said) => {
                let content = [text_part(&said.text)];
                json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            Turn::Tool(name) => {
                let call_id = self.call.id("call_mock_");
                json!({"id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                    "arguments": "{}"})
            }
        }
    }

    fn finished(&self) -> Value {
        let mut response = self.response(self.status(), vec![self.item()]);
        if self.is_cut() {
            response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        response["usage"] =
            self.call.usage(self.prompt_words, self.turn.words()).map(|usage| usage.in_responses()).into();
        response
    }

    fn response(&self, status: &str, output: Vec<Value>) -> Value {
        let asked = |field: &str, otherwise: Value| self.call.body.get(field).cloned().unwrap_or(otherwise);
        json!({
            "id": self.call.id("resp_mock_"),
            "object": "response",
            "created_at": self.call.ask.now,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "instructions": asked("instructions", Value::Null),
            "max_output_tokens": asked("max_output_tokens", Value::Null),
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": asked("previous_response_id", Value::Null),
            "store": asked("store", json!(true)),
            "temperature": asked("temperature", json!(1.0)),
            "text": {"format": {"type": "text"}},
            "tool_choice": asked("tool_choice", json!("auto")),
            "tools": asked("tools", json!([])),
            "top_p": asked("top_p", json!(1.0)),
            "truncation": "disabled",
            "usage": null,
            "metadata": asked("metadata", json!({})),
        })
    }

    fn is_cut(&self) -> bool {
        matches!(&self.turn, Turn::Text(said) if said.cut)
    }

    fn status(&self) -> &'static str {
        if self.is_cut() { "incomplete" } else { "completed" }
    }

    fn item_id(&self) -> String {
        match self.turn {
            Turn::Text(_) => self.call.id("msg_mock_"),
            Turn::Tool(_) => self.call.id("fc_mock_"),
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}
