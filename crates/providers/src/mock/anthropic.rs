//! Anthropic's Messages, whole and as named events, with text or one tool call. Bedrock's InvokeModel speaks it too.

use serde_json::{Value, json};

use super::call::{Call, named_event};
use super::format::{Format, Route, admit_everyone, as_asked};
use super::heard;
use super::refusal::Refusal;
use super::said;
use super::script::{Script, Step};
use super::turn::{Choice, Finishes, Turn};
use super::words;

pub(super) const FORMAT: Format = Format {
    name: "anthropic",
    bases: &["/v1", ""],
    routes: &[Route::json("/messages", messages), Route::json("/messages/count_tokens", count_tokens)],
    id_header: "request-id",
    admit: admit_everyone,
    model_name: as_asked,
    refuse: |refusal| refusal.script_of(&error(refusal)),
    interrupt: |refusal, _| named_event(&error(refusal)),
};

const KINDS: &[(u16, &str)] = &[
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

fn error(refusal: &Refusal) -> Value {
    let known = KINDS.iter().find(|(status, _)| *status == refusal.status()).map(|(_, kind)| *kind);
    let kind = known.unwrap_or(if refusal.status() < 500 { "invalid_request_error" } else { "api_error" });
    json!({"type": "error", "error": {"type": kind, "message": refusal.message()}})
}

fn messages(call: &Call<'_>) -> Result<Script, Refusal> {
    let streamed = call.flag("stream");
    let answer = Answer::of(call, streamed)?;
    Ok(if streamed { answer.streamed() } else { answer.whole() })
}

fn count_tokens(call: &Call<'_>) -> Result<Script, Refusal> {
    call.model()?;
    let (words, _) = hear(call)?;
    Ok(Script::json(200, &json!({"input_tokens": words})))
}

fn hear(call: &Call<'_>) -> Result<(u64, String), Refusal> {
    let messages = call.list("messages")?;
    let (words, heard) = heard::hear(messages);
    let system = heard::texts(call.body.get("system")).into_iter().map(words::count).sum::<u64>();
    Ok((words + system, heard))
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    let choice = call.body.get("tool_choice");
    let text = |field: &str| choice.and_then(|choice| choice.get(field)?.as_str());
    match (text("type"), text("name")) {
        (Some("tool"), Some(name)) => Choice::Named(name),
        (Some("any"), _) => {
            let first = call.body.get("tools").and_then(|tools| tools.get(0)?.get("name")?.as_str());
            Choice::Any { field: "tool_choice", first }
        }
        _ => Choice::Free,
    }
}

const FINISHES: Finishes = Finishes { end: "end_turn", limit: "max_tokens", tool: "tool_use" };

/// One message of the assistant.
pub(super) struct Answer<'a> {
    call: &'a Call<'a>,
    model: &'a str,
    turn: Turn,
    pub(super) prompt_words: u64,
}

impl<'a> Answer<'a> {
    pub(super) fn of(call: &'a Call<'a>, is_streamed: bool) -> Result<Answer<'a>, Refusal> {
        let model = call.model()?;
        call.required("max_tokens")?;
        let (prompt_words, heard) = hear(call)?;
        let turn = Turn::take(call, heard, call.number("max_tokens", 1)?, choice(call))?;
        if let Turn::Text(said) = &turn {
            said::bounded(std::iter::once(said), 1, is_streamed)?;
        }
        Ok(Answer { call, model, turn, prompt_words })
    }

    pub(super) fn whole(&self) -> Script {
        let mut message = self.message(vec![self.block()], Some(self.finish()));
        if let Some(usage) = self.call.usage(self.prompt_words, self.turn.words()) {
            message["usage"] = usage.in_messages();
        }
        Script::json(200, &message).billed(self.call.bill(self.prompt_words, self.turn.words()))
    }

    fn streamed(&self) -> Script {
        let events = self.events().into_iter().map(|told| match told {
            Told::Frame(data) => named_event(&data).into(),
            Told::Piece(data, piece) => self.call.say(named_event(&data), piece),
        });
        Script::events(events.collect::<Vec<Step>>()).billed(self.call.bill(self.prompt_words, 0))
    }

    /// The data of all events of the stream, in order.
    pub(super) fn events(&self) -> Vec<Told<'_>> {
        let mut begun = self.message(Vec::new(), None);
        let usage = self.call.usage(self.prompt_words, self.turn.words());
        if let Some(mut usage) = usage {
            // A stream begins with the first token; how many come is told at its end.
            usage.completion = usage.completion.min(1);
            begun["usage"] = usage.in_messages();
        }
        let mut opened = self.block();
        match &self.turn {
            Turn::Text(_) => opened["text"] = json!(""),
            Turn::Tool(_) => opened["input"] = json!({}),
        }
        let mut finished = json!({"type": "message_delta",
            "delta": {"stop_reason": self.finish(), "stop_sequence": null}});
        if let Some(usage) = usage {
            finished["usage"] = json!({"output_tokens": usage.completion});
        }
        let mut events = vec![
            Told::Frame(json!({"type": "message_start", "message": begun})),
            Told::Frame(json!({"type": "content_block_start", "index": 0, "content_block": opened})),
            Told::Frame(json!({"type": "ping"})),
        ];
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
        match &self.turn {
            Turn::Text(said) => events.extend(
                said.pieces()
                    .into_iter()
                    .map(|piece| Told::Piece(delta(json!({"type": "text_delta", "text": piece})), piece)),
            ),
            Turn::Tool(_) => {
                events.push(Told::Piece(delta(json!({"type": "input_json_delta", "partial_json": "{}"})), "{}"));
            }
        }
        events.push(Told::Frame(json!({"type": "content_block_stop", "index": 0})));
        events.push(Told::Frame(finished));
        events.push(Told::Frame(json!({"type": "message_stop"})));
        events
    }

    fn message(&self, content: Vec<Value>, stop_reason: Option<&str>) -> Value {
        json!({
            "id": self.call.id("msg_mock_"),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
        })
    }

    fn block(&self) -> Value {
        match &self.turn {
            Turn::Text(said) => json!({"type": "text", "text": said.text}),
            Turn::Tool(name) => {
                json!({"type": "tool_use", "id": self.call.id("toolu_mock_"), "name": name, "input": {}})
            }
        }
    }

    fn finish(&self) -> &'static str {
        self.turn.finish(&FINISHES)
    }

    pub(super) fn words(&self) -> u64 {
        self.turn.words()
    }
}

/// An event of a stream: its data and, where it tells one, its piece of the answer.
pub(super) enum Told<'a> {
    Frame(Value),
    Piece(Value, &'a str),
}
