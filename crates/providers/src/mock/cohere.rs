//! Cohere's second version: chat, whole and as named events, embeddings and reranking.

use bytes::Bytes;
use serde_json::{Value, json};

use super::bill::Bill;
use super::call::{Call, named_event};
use super::embeddings;
use super::format::{Format, Route, admit_everyone, as_asked};
use super::heard;
use super::refusal::Refusal;
use super::said;
use super::script::{Script, Step};
use super::turn::{Choice, Finishes, Turn};
use super::words;

pub(super) const FORMAT: Format = Format {
    name: "cohere",
    bases: &["/v2"],
    routes: &[Route::json("/chat", chat), Route::json("/embed", embed), Route::json("/rerank", rerank)],
    id_header: "x-request-id",
    admit: admit_everyone,
    model_name: as_asked,
    refuse: |refusal| refusal.script_of(&json!({"message": refusal.message()})),
    // A stream that goes wrong has an end that says so.
    interrupt: |refusal, _| {
        let delta = json!({"error": refusal.message(), "finish_reason": "ERROR"});
        named_event(&json!({"type": "message-end", "delta": delta}))
    },
};

fn chat(call: &Call<'_>) -> Result<Script, Refusal> {
    call.model()?;
    let messages = call.list("messages")?;
    let (prompt_words, heard) = heard::hear(messages);
    let turn = Turn::take(call, heard, call.number("max_tokens", 0)?, choice(call))?;
    if let Turn::Text(said) = &turn {
        said::bounded(std::iter::once(said), 1, call.flag("stream"))?;
    }
    let answer = Answer { call, turn, prompt_words };
    Ok(if call.flag("stream") { answer.streamed() } else { answer.whole() })
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    if call.text("tool_choice") != Some("REQUIRED") {
        return Choice::Free;
    }
    let tools = call.body.get("tools");
    let first = tools.and_then(|tools| tools.get(0)?.get("function")?.get("name")?.as_str());
    Choice::Any { field: "tool_choice", first }
}

const FINISHES: Finishes = Finishes { end: "COMPLETE", limit: "MAX_TOKENS", tool: "TOOL_CALL" };

struct Answer<'a> {
    call: &'a Call<'a>,
    turn: Turn,
    prompt_words: u64,
}

impl Answer<'_> {
    fn whole(&self) -> Script {
        let message = match &self.turn {
            Turn::Text(said) => json!({"role": "assistant", "content": [{"type": "text", "text": said.text}]}),
            Turn::Tool(name) => json!({"role": "assistant", "tool_calls": [self.tool_call(name, "{}")]}),
        };
        let mut body = json!({"id": self.id(), "finish_reason": self.turn.finish(&FINISHES), "message": message});
        if let Some(usage) = self.usage() {
            body["usage"] = usage;
        }
        Script::json(200, &body).billed(self.call.bill(self.prompt_words, self.turn.words()))
    }

    fn streamed(&self) -> Script {
        let opened = json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
        let opened = json!({"type": "message-start", "id": self.id(), "delta": {"message": opened}});
        let mut events: Vec<Step> = vec![named_event(&opened).into()];
        let part = |kind: &str, field: &str, value: Value| {
            named_event(&json!({"type": kind, "index": 0, "delta": {"message": {field: value}}}))
        };
        let end = |kind: &str| Step::from(named_event(&json!({"type": kind, "index": 0})));
        match &self.turn {
            Turn::Text(said) => {
                events.push(part("content-start", "content", json!({"type": "text", "text": ""})).into());
                for piece in said.pieces() {
                    events.push(self.call.say(part("content-delta", "content", json!({"text": piece})), piece));
                }
                events.push(end("content-end"));
            }
            Turn::Tool(name) => {
                events.push(part("tool-call-start", "tool_calls", self.tool_call(name, "")).into());
                let arguments = json!({"function": {"arguments": "{}"}});
                events.push(self.call.say(part("tool-call-delta", "tool_calls", arguments), "{}"));
                events.push(end("tool-call-end"));
            }
        }
        let mut delta = json!({"finish_reason": self.turn.finish(&FINISHES)});
        if let Some(usage) = self.usage() {
            delta["usage"] = usage;
        }
        events.push(named_event(&json!({"type": "message-end", "id": self.id(), "delta": delta})).into());
        events.push(Bytes::from_static(b"data: [DONE]\n\n").into());
        Script::events(events).billed(self.call.bill(self.prompt_words, 0))
    }

    fn tool_call(&self, name: &str, arguments: &str) -> Value {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": self.call.id("call_mock_"), "type": "function", "function": function})
    }

    fn usage(&self) -> Option<Value> {
        self.call.usage(self.prompt_words, self.turn.words()).map(|usage| usage.in_cohere())
    }

    fn id(&self) -> String {
        self.call.id("mock-")
    }
}

fn embed(call: &Call<'_>) -> Result<Script, Refusal> {
    call.model()?;
    call.required("input_type")?;
    let texts = heard::inputs("texts", call.required("texts")?)?;
    let dimensions = embeddings::dimensions("output_dimension", call.number("output_dimension", 1)?, texts.len())?;
    let vectors: Vec<Vec<f32>> = texts.iter().map(|text| embeddings::vector(text, dimensions)).collect();
    let asked = call.body.get("embedding_types").and_then(Value::as_array);
    let kinds = asked.map_or(vec!["float"], |kinds| kinds.iter().filter_map(Value::as_str).collect());
    let mut by_kind = json!({});
    for kind in kinds {
        by_kind[kind] = match kind {
            "float" => json!(vectors),
            "base64" => vectors.iter().map(|vector| embeddings::packed(vector)).collect(),
            _ => return Err(Refusal::of("embedding_types", "`embedding_types` may hold `float` and `base64`")),
        };
    }
    let words = texts.iter().map(|text| words::count(text)).sum();
    let units = call.usage(words, 0).map(|usage| json!({"input_tokens": usage.prompt}));
    let body = json!({"id": call.id("mock-"), "embeddings": by_kind, "texts": texts, "meta": meta(units),
        "response_type": "embeddings_by_type"});
    Ok(Script::json(200, &body).billed(call.bill(words, 0)))
}

const DOCUMENTS_IN_A_SEARCH: u64 = 100;

fn rerank(call: &Call<'_>) -> Result<Script, Refusal> {
    call.model()?;
    let Some(query) = call.required("query")?.as_str() else {
        return Err(Refusal::of("query", "`query` must be a text"));
    };
    let documents = call.list("documents")?;
    let mut scores: Vec<(usize, f64)> = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let Some(text) = document.as_str().or_else(|| document.get("text")?.as_str()) else {
            return Err(Refusal::of("documents", "`documents` must be texts or objects with `text`"));
        };
        scores.push((index, likeness(query, text)));
    }
    // Sorting keeps equals in their order.
    scores.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let count = call.number("top_n", 1)?.map_or(scores.len(), |top| top as usize);
    let results = scores.iter().take(count).map(|(index, score)| json!({"index": index, "relevance_score": score}));
    let searches = (documents.len() as u64).div_ceil(DOCUMENTS_IN_A_SEARCH);
    let units = call.usage(searches, 0).map(|usage| json!({"search_units": usage.prompt}));
    let body = json!({"id": call.id("mock-"), "results": results.collect::<Vec<_>>(), "meta": meta(units)});
    Ok(Script::json(200, &body).billed(Bill { searches, ..call.bill(0, 0) }))
}

fn meta(billed_units: Option<Value>) -> Value {
    let mut meta = json!({"api_version": {"version": "2"}});
    if let Some(units) = billed_units {
        meta["billed_units"] = units;
    }
    meta
}

/// The share of the query's words that the text has.
fn likeness(query: &str, text: &str) -> f64 {
    let words = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (asked, found) = (words(query), words(text));
    let shared = asked.iter().filter(|word| found.contains(word)).count();
    shared as f64 / asked.len().max(1) as f64
}
