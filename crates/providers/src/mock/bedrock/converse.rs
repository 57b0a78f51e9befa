//! Converse: one shape for all models of Bedrock.

use bytes::Bytes;
use serde_json::{Value, json};

use super::eventstream::event;
use crate::mock::call::Call;
use crate::mock::heard;
use crate::mock::refusal::Refusal;
use crate::mock::said;
use crate::mock::script::{Script, Step};
use crate::mock::turn::{Choice, Finishes, Turn};
use crate::mock::words;

pub(super) fn whole(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt_words, turn) = converse(call, false)?;
    let content = match &turn {
        Turn::Text(said) => json!({"text": said.text}),
        Turn::Tool(name) => json!({"toolUse": {"toolUseId": tool_use_id(call), "name": name, "input": {}}}),
    };
    let message = json!({"role": "assistant", "content": [content]});
    let mut body = json!({"output": {"message": message}, "stopReason": turn.finish(&FINISHES)});
    if let Some(usage) = call.usage(prompt_words, turn.words()) {
        body["usage"] = usage.in_converse();
    }
    body["metrics"] = json!({"latencyMs": 1});
    Ok(Script::json(200, &body).billed(call.bill(prompt_words, turn.words())))
}

pub(super) fn streamed(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt_words, turn) = converse(call, true)?;
    let mut steps: Vec<Step> = vec![event("messageStart", &json!({"role": "assistant"})).into()];
    match &turn {
        Turn::Text(said) => {
            steps.extend(said.pieces().into_iter().map(|piece| call.say(delta(json!({"text": piece})), piece)));
        }
        Turn::Tool(name) => {
            let start = json!({"toolUse": {"toolUseId": tool_use_id(call), "name": name}});
            steps.push(event("contentBlockStart", &json!({"contentBlockIndex": 0, "start": start})).into());
            steps.push(call.say(delta(json!({"toolUse": {"input": "{}"}})), "{}"));
        }
    }
    steps.push(event("contentBlockStop", &json!({"contentBlockIndex": 0})).into());
    steps.push(event("messageStop", &json!({"stopReason": turn.finish(&FINISHES)})).into());
    let mut metadata = json!({"metrics": {"latencyMs": 1}});
    if let Some(usage) = call.usage(prompt_words, turn.words()) {
        metadata["usage"] = usage.in_converse();
    }
    steps.push(event("metadata", &metadata).into());
    Ok(Script::new(200, "application/vnd.amazon.eventstream", steps).billed(call.bill(prompt_words, 0)))
}

fn delta(delta: Value) -> Bytes {
    event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": delta}))
}

const FINISHES: Finishes = Finishes { end: "end_turn", limit: "max_tokens", tool: "tool_use" };

/// The words of the whole conversation, and the turn that follows it.
fn converse(call: &Call<'_>, is_streamed: bool) -> Result<(u64, Turn), Refusal> {
    let (prompt_words, heard) = hear(call.list("messages")?, call.body.get("system"));
    let limit = call.body.get("inferenceConfig").and_then(|config| config.get("maxTokens")?.as_u64());
    let turn = Turn::take(call, heard, limit, choice(call))?;
    if let Turn::Text(said) = &turn {
        said::bounded(std::iter::once(said), 1, is_streamed)?;
    }
    Ok((prompt_words, turn))
}

/// The words of all of it, and what the user said last.
pub(super) fn hear(messages: &[Value], system: Option<&Value>) -> (u64, String) {
    let (words, heard) = heard::hear(messages);
    (words + heard::texts(system).into_iter().map(words::count).sum::<u64>(), heard)
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    let config = call.body.get("toolConfig");
    let choice = config.and_then(|config| config.get("toolChoice"));
    if let Some(name) = choice.and_then(|choice| choice.get("tool")?.get("name")?.as_str()) {
        return Choice::Named(name);
    }
    if choice.and_then(|choice| choice.get("any")).is_none() {
        return Choice::Free;
    }
    let tools = config.and_then(|config| config.get("tools")?.as_array());
    let first = tools.into_iter().flatten().find_map(|tool| tool.get("toolSpec")?.get("name")?.as_str());
    Choice::Any { field: "toolConfig", first }
}

fn tool_use_id(call: &Call<'_>) -> String {
    call.id("tooluse_mock_")
}
