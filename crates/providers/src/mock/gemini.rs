//! Gemini's generateContent, whole, as events (`alt=sse`) and as one array that grows; token counts and embeddings.

use bytes::Bytes;
use serde_json::{Value, json};

use super::call::Call;
use super::embeddings;
use super::format::{Format, Route, admit_everyone, as_asked};
use super::heard;
use super::refusal::Refusal;
use super::said;
use super::script::{Flow, Script, Step};
use super::turn::{Choice, Finishes, Turn};
use super::words;

pub(super) const FORMAT: Format = Format {
    name: "gemini",
    bases: &["/v1beta", "/v1", "/v1alpha"],
    routes: &[
        Route::json("/models/{model}:generateContent", generate),
        Route::json("/models/{model}:streamGenerateContent", stream),
        Route::json("/models/{model}:countTokens", count_tokens),
        Route::json("/models/{model}:embedContent", embed),
        Route::json("/models/{model}:batchEmbedContents", embed_batch),
    ],
    id_header: "x-request-id",
    admit: admit_everyone,
    model_name: as_asked,
    refuse: |refusal| refusal.script_of(&error(refusal)),
    interrupt: |refusal, script| match script.flow {
        Flow::Array => Bytes::from(error(refusal).to_string()),
        Flow::Whole | Flow::Sse | Flow::Binary => sse(&error(refusal)),
    },
};

const STATUSES: &[(u16, &str)] = &[
    (400, "INVALID_ARGUMENT"),
    (401, "UNAUTHENTICATED"),
    (403, "PERMISSION_DENIED"),
    (404, "NOT_FOUND"),
    (409, "ABORTED"),
    (429, "RESOURCE_EXHAUSTED"),
    (499, "CANCELLED"),
    (500, "INTERNAL"),
    (501, "UNIMPLEMENTED"),
    (503, "UNAVAILABLE"),
    (504, "DEADLINE_EXCEEDED"),
];

fn error(refusal: &Refusal) -> Value {
    let known = STATUSES.iter().find(|(status, _)| *status == refusal.status()).map(|(_, name)| *name);
    let status = known.unwrap_or(if refusal.status() < 500 { "FAILED_PRECONDITION" } else { "UNKNOWN" });
    json!({"error": {"code": refusal.status(), "message": refusal.message(), "status": status}})
}

/// Google ends its lines in `\r\n`.
fn sse(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\r\n\r\n"))
}

/// The field under its name in JSON or in the protocol buffers; Google takes both.
fn either<'a>(object: Option<&'a Value>, camel: &str, snake: &str) -> Option<&'a Value> {
    object.and_then(|object| object.get(camel).or_else(|| object.get(snake)))
}

fn generate(call: &Call<'_>) -> Result<Script, Refusal> {
    let answer = Answer::of(call, false)?;
    let words = answer.turn.words();
    let body = answer.chunk(answer.part(), words, Some(answer.turn.finish(&FINISHES)));
    Ok(Script::json(200, &body).billed(call.bill(answer.prompt_words, words)))
}

fn stream(call: &Call<'_>) -> Result<Script, Refusal> {
    let answer = Answer::of(call, true)?;
    let chunks = answer.chunks();
    let is_sse = call.ask.query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    let script = if is_sse {
        Script::events(chunks.iter().map(|(chunk, piece)| call.say(sse(chunk), piece)).collect())
    } else {
        array(call, &chunks)
    };
    Ok(script.billed(call.bill(answer.prompt_words, 0)))
}

/// The elements of an array, each sent as it is known.
fn array(call: &Call<'_>, chunks: &[(Value, &str)]) -> Script {
    let mut steps: Vec<Step> = Vec::new();
    for (chunk, piece) in chunks {
        let before = if steps.is_empty() { "[" } else { ",\r\n" };
        steps.push(call.say(Bytes::from(format!("{before}{chunk}")), piece));
    }
    steps.push(Bytes::from_static(b"]").into());
    Script { flow: Flow::Array, ..Script::new(200, "application/json", steps) }
}

fn count_tokens(call: &Call<'_>) -> Result<Script, Refusal> {
    let (words, _) = match call.body.get("generateContentRequest") {
        Some(request) => {
            hear(request.get("contents"), either(Some(request), "systemInstruction", "system_instruction"))?
        }
        None => hear(call.body.get("contents"), None)?,
    };
    let details = [json!({"modality": "TEXT", "tokenCount": words})];
    Ok(Script::json(200, &json!({"totalTokens": words, "promptTokensDetails": details})))
}

fn embed(call: &Call<'_>) -> Result<Script, Refusal> {
    let request = Value::Object(call.body.clone());
    let (embeddings, words) = embedded(&[request])?;
    Ok(Script::json(200, &json!({"embedding": embeddings[0]})).billed(call.bill(words, 0)))
}

fn embed_batch(call: &Call<'_>) -> Result<Script, Refusal> {
    let (embeddings, words) = embedded(call.list("requests")?)?;
    Ok(Script::json(200, &json!({"embeddings": embeddings})).billed(call.bill(words, 0)))
}

/// One embedding for each request, and the words of all of them.
fn embedded(requests: &[Value]) -> Result<(Vec<Value>, u64), Refusal> {
    let (mut embeddings, mut words) = (Vec::new(), 0);
    for request in requests {
        let Some(parts) = request.get("content").and_then(|content| content.get("parts")) else {
            return Err(Refusal::of("content", "`content` is missing or has no `parts`"));
        };
        let text = heard::texts(Some(parts)).join("\n");
        let asked = either(Some(request), "outputDimensionality", "output_dimensionality");
        let asked = asked.and_then(Value::as_u64).filter(|asked| *asked > 0);
        let dimensions = embeddings::dimensions("outputDimensionality", asked, requests.len())?;
        words += words::count(&text);
        embeddings.push(json!({"values": embeddings::vector(&text, dimensions)}));
    }
    Ok((embeddings, words))
}

fn hear(contents: Option<&Value>, system: Option<&Value>) -> Result<(u64, String), Refusal> {
    let contents = match contents.and_then(Value::as_array) {
        Some(contents) if !contents.is_empty() => contents,
        _ => return Err(Refusal::of("contents", "`contents` must be a list with at least one content")),
    };
    let (words, heard) = heard::hear_in("parts", contents);
    let system = heard::texts(system.and_then(|system| system.get("parts")));
    Ok((words + system.into_iter().map(words::count).sum::<u64>(), heard))
}

fn choice<'a>(call: &'a Call<'_>) -> Choice<'a> {
    let config = call.body.get("toolConfig").or_else(|| call.body.get("tool_config"));
    let config = either(config, "functionCallingConfig", "function_calling_config");
    if config.and_then(|config| config.get("mode")?.as_str()) != Some("ANY") {
        return Choice::Free;
    }
    let allowed = either(config, "allowedFunctionNames", "allowed_function_names");
    if let Some(name) = allowed.and_then(|names| names.get(0)?.as_str()) {
        return Choice::Named(name);
    }
    let tools = call.body.get("tools").and_then(Value::as_array);
    let first = tools.into_iter().flatten().find_map(|tool| {
        either(Some(tool), "functionDeclarations", "function_declarations")?.get(0)?.get("name")?.as_str()
    });
    Choice::Any { field: "toolConfig", first }
}

/// A call of a function ends like any other turn.
const FINISHES: Finishes = Finishes { end: "STOP", limit: "MAX_TOKENS", tool: "STOP" };

struct Answer<'a> {
    call: &'a Call<'a>,
    model: &'a str,
    turn: Turn,
    prompt_words: u64,
}

impl<'a> Answer<'a> {
    fn of(call: &'a Call<'a>, is_streamed: bool) -> Result<Answer<'a>, Refusal> {
        let system = call.body.get("systemInstruction").or_else(|| call.body.get("system_instruction"));
        let (prompt_words, heard) = hear(call.body.get("contents"), system)?;
        let config = call.body.get("generationConfig").or_else(|| call.body.get("generation_config"));
        let limit = either(config, "maxOutputTokens", "max_output_tokens").and_then(Value::as_u64);
        let turn = Turn::take(call, heard, limit, choice(call))?;
        if let Turn::Text(said) = &turn {
            said::bounded(std::iter::once(said), 1, is_streamed)?;
        }
        Ok(Answer { call, model: call.model()?, turn, prompt_words })
    }

    /// Each word with its chunk; the last one brings the finish.
    fn chunks(&self) -> Vec<(Value, &str)> {
        let pieces = match &self.turn {
            Turn::Text(said) => said.pieces(),
            Turn::Tool(_) => vec!["{}"],
        };
        let pieces = if pieces.is_empty() { vec![""] } else { pieces };
        let mut told = 0;
        let chunk = |(at, piece): (usize, &&'_ str)| {
            told += words::count(piece);
            let finish = (at + 1 == pieces.len()).then(|| self.turn.finish(&FINISHES));
            let part = match &self.turn {
                Turn::Text(_) => json!({"text": piece}),
                Turn::Tool(_) => self.part(),
            };
            self.chunk(part, told, finish)
        };
        let chunks: Vec<Value> = pieces.iter().enumerate().map(chunk).collect();
        chunks.into_iter().zip(pieces).collect()
    }

    /// A whole answer is a single chunk.
    fn chunk(&self, part: Value, told: u64, finish: Option<&str>) -> Value {
        let mut candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let mut chunk = json!({"candidates": [candidate]});
        if let Some(usage) = self.call.usage(self.prompt_words, told) {
            chunk["usageMetadata"] = usage.in_gemini();
        }
        chunk["modelVersion"] = json!(self.model);
        chunk["responseId"] = json!(self.call.id("mock-"));
        chunk
    }

    fn part(&self) -> Value {
        match &self.turn {
            Turn::Text(said) => json!({"text": said.text}),
            Turn::Tool(name) => json!({"functionCall": {"name": name, "args": {}}}),
        }
    }
}
