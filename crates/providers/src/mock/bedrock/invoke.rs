//! InvokeModel: each vendor's own shape. Which one is told by a field of the body (`SHAPES`), because the model's name is
//! free to ask for a fault.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::converse;
use super::eventstream::event;
use crate::mock::anthropic::{self, Told};
use crate::mock::call::Call;
use crate::mock::embeddings;
use crate::mock::format::Endpoint;
use crate::mock::heard;
use crate::mock::refusal::Refusal;
use crate::mock::said::{self, Said};
use crate::mock::script::{Script, Step};
use crate::mock::words;

/// The field that tells the vendor, and what its model makes of the body.
struct Shape {
    field: &'static str,
    whole: Endpoint,
    /// `None` where the model does not stream.
    streamed: Option<Endpoint>,
}

const SHAPES: &[Shape] = &[
    Shape { field: "anthropic_version", whole: message, streamed: Some(message_stream) },
    Shape { field: "textGenerationConfig", whole: titan, streamed: Some(titan_stream) },
    Shape { field: "inputText", whole: titan_embedding, streamed: None },
    Shape { field: "texts", whole: cohere_embeddings, streamed: None },
    Shape { field: "prompt", whole: llama, streamed: Some(llama_stream) },
];

pub(super) fn whole(call: &Call<'_>) -> Result<Script, Refusal> {
    (shape(call)?.whole)(call)
}

pub(super) fn streamed(call: &Call<'_>) -> Result<Script, Refusal> {
    match shape(call)?.streamed {
        Some(streamed) => streamed(call),
        None => Err(Refusal::bad("the model does not stream; use `/invoke`")),
    }
}

fn shape(call: &Call<'_>) -> Result<&'static Shape, Refusal> {
    let unknown = || {
        let fields: Vec<&str> = SHAPES.iter().map(|shape| shape.field).collect();
        Refusal::bad(format!("malformed input request: the body has none of `{}`", fields.join("`, `")))
    };
    SHAPES.iter().find(|shape| call.body.contains_key(shape.field)).ok_or_else(unknown)
}

/// `{input: {converse: …}}` or `{input: {invokeModel: {body: …}}}`, whose body is base64 of JSON with `messages`.
pub(super) fn count_tokens(call: &Call<'_>) -> Result<Script, Refusal> {
    let input = call.required("input")?;
    let packed = input.get("invokeModel").and_then(|invoke| invoke.get("body")?.as_str());
    let unpacked = packed.and_then(|body| serde_json::from_slice(&STANDARD.decode(body).ok()?).ok());
    let asked: Option<&Value> = input.get("converse").or(unpacked.as_ref());
    let Some(messages) = asked.and_then(|asked| asked.get("messages")?.as_array()) else {
        return Err(Refusal::of("input", "`input` needs `converse` or `invokeModel.body`, with `messages`"));
    };
    let (words, _) = converse::hear(messages, asked.and_then(|asked| asked.get("system")));
    Ok(Script::json(200, &json!({"inputTokens": words})))
}

fn message(call: &Call<'_>) -> Result<Script, Refusal> {
    let answer = anthropic::Answer::of(call, false)?;
    Ok(counted(call, answer.whole(), answer.prompt_words, answer.words()))
}

fn message_stream(call: &Call<'_>) -> Result<Script, Refusal> {
    let answer = anthropic::Answer::of(call, true)?;
    let mut events = answer.events();
    if let Some(Told::Frame(last)) = events.last_mut() {
        add_metrics(call, last, answer.prompt_words, answer.words());
    }
    let steps = events.into_iter().map(|told| match told {
        Told::Frame(data) => chunk(&data).into(),
        Told::Piece(data, piece) => call.say(chunk(&data), piece),
    });
    Ok(stream(steps.collect()).billed(call.bill(answer.prompt_words, 0)))
}

/// A text that goes on from the prompt: what the older models make.
fn text(call: &Call<'_>, field: &str, limit: Option<u64>, is_streamed: bool) -> Result<(u64, Said), Refusal> {
    let Some(prompt) = call.text(field) else {
        return Err(Refusal::of(field, format!("`{field}` must be a text")));
    };
    let said = said::say(call.says, prompt.to_owned(), limit);
    said::bounded(std::iter::once(&said), 1, is_streamed)?;
    Ok((words::count(prompt), said))
}

fn llama_text(call: &Call<'_>, is_streamed: bool) -> Result<(u64, Said), Refusal> {
    let limit = call.number("max_gen_len", 0)?.or(call.number("max_tokens", 0)?);
    text(call, "prompt", limit, is_streamed)
}

fn llama(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt, said) = llama_text(call, false)?;
    let mut body = json!({"generation": said.text, "stop_reason": said.finish()});
    if let Some(usage) = call.usage(prompt, said.words) {
        body["prompt_token_count"] = json!(usage.prompt);
        body["generation_token_count"] = json!(usage.completion);
    }
    let script = Script::json(200, &body).billed(call.bill(prompt, said.words));
    Ok(counted(call, script, prompt, said.words))
}

fn llama_stream(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt, said) = llama_text(call, true)?;
    let part = |piece: &str, stop: Option<&str>| json!({"generation": piece, "stop_reason": stop});
    Ok(text_stream(call, prompt, &said, part))
}

fn titan_text(call: &Call<'_>, is_streamed: bool) -> Result<(u64, Said), Refusal> {
    let config = call.body.get("textGenerationConfig");
    let limit = config.and_then(|config| config.get("maxTokenCount")?.as_u64());
    text(call, "inputText", limit, is_streamed)
}

fn titan_finish(said: &Said) -> &'static str {
    if said.cut { "LENGTH" } else { "FINISH" }
}

fn titan(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt, said) = titan_text(call, false)?;
    let mut result = json!({"outputText": said.text, "completionReason": titan_finish(&said)});
    let mut body = json!({});
    if let Some(usage) = call.usage(prompt, said.words) {
        body["inputTextTokenCount"] = json!(usage.prompt);
        result["tokenCount"] = json!(usage.completion);
    }
    body["results"] = json!([result]);
    let script = Script::json(200, &body).billed(call.bill(prompt, said.words));
    Ok(counted(call, script, prompt, said.words))
}

fn titan_stream(call: &Call<'_>) -> Result<Script, Refusal> {
    let (prompt, said) = titan_text(call, true)?;
    let part = |piece: &str, stop: Option<&str>| json!({"outputText": piece, "index": 0, "completionReason": stop.map(|_| titan_finish(&said))});
    Ok(text_stream(call, prompt, &said, part))
}

/// Words, then an empty part with the finish and the counts.
fn text_stream(call: &Call<'_>, prompt: u64, said: &Said, part: impl Fn(&str, Option<&str>) -> Value) -> Script {
    let pieces = said.pieces();
    let mut steps: Vec<Step> = pieces.iter().map(|piece| call.say(chunk(&part(piece, None)), piece)).collect();
    let mut last = part("", Some(said.finish()));
    add_metrics(call, &mut last, prompt, said.words);
    steps.push(chunk(&last).into());
    stream(steps).billed(call.bill(prompt, 0))
}

fn titan_embedding(call: &Call<'_>) -> Result<Script, Refusal> {
    let Some(text) = call.text("inputText") else {
        return Err(Refusal::of("inputText", "`inputText` must be a text"));
    };
    let dimensions = embeddings::dimensions("dimensions", call.number("dimensions", 1)?, 1)?;
    let mut body = json!({"embedding": embeddings::vector(text, dimensions)});
    let words = words::count(text);
    if let Some(usage) = call.usage(words, 0) {
        body["inputTextTokenCount"] = json!(usage.prompt);
    }
    Ok(counted(call, Script::json(200, &body).billed(call.bill(words, 0)), words, 0))
}

fn cohere_embeddings(call: &Call<'_>) -> Result<Script, Refusal> {
    let texts = heard::inputs("texts", call.required("texts")?)?;
    let dimensions = embeddings::dimensions("output_dimension", call.number("output_dimension", 1)?, texts.len())?;
    let vectors: Vec<Vec<f32>> = texts.iter().map(|text| embeddings::vector(text, dimensions)).collect();
    let words = texts.iter().map(|text| words::count(text)).sum();
    let body = json!({"id": call.id("mock-"), "embeddings": vectors, "texts": texts,
        "response_type": "embeddings_floats"});
    Ok(counted(call, Script::json(200, &body).billed(call.bill(words, 0)), words, 0))
}

/// Every answer of InvokeModel tells its counts in headers, whatever its shape.
fn counted(call: &Call<'_>, mut script: Script, input: u64, output: u64) -> Script {
    if let Some(usage) = call.usage(input, output) {
        script.set("x-amzn-bedrock-input-token-count", usage.prompt.to_string());
        script.set("x-amzn-bedrock-output-token-count", usage.completion.to_string());
    }
    script
}

/// Every stream of InvokeModel tells its counts in its last event, whatever its shape.
fn add_metrics(call: &Call<'_>, last: &mut Value, input: u64, output: u64) {
    if let Some(usage) = call.usage(input, output) {
        last["amazon-bedrock-invocationMetrics"] = json!({"inputTokenCount": usage.prompt,
            "outputTokenCount": usage.completion, "invocationLatency": 1, "firstByteLatency": 1});
    }
}

fn stream(steps: Vec<Step>) -> Script {
    Script::new(200, "application/vnd.amazon.eventstream", steps)
}

fn chunk(data: &Value) -> Bytes {
    event("chunk", &json!({"bytes": STANDARD.encode(data.to_string())}))
}
