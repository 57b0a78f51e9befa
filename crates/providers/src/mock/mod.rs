//! The built-in provider: answers in the process, without a network. `gatehouse mock` serves the same over HTTP.
//!
//! Everything is chosen by the request alone: the path chooses the shape, the model name chooses what is said or what goes
//! wrong (`MODELS`), request headers twist any answer (`HEADERS`). Tokens are words, so usage can be told by counting. Every
//! answer says what was received: `x-mock-sha256` and `x-mock-bytes` of the request's body.

mod ask;
mod call;
mod catalog;
mod chat;
mod completions;
mod embeddings;
mod framing;
mod heard;
mod intake;
mod knobs;
mod media;
mod model;
mod moderations;
mod multipart;
mod probes;
mod refusal;
mod responses;
mod said;
mod script;
#[cfg(test)]
mod tests;
mod twist;
mod uploads;
mod usage;
mod words;

use serde_json::{Map, Value};

pub use ask::Ask;
pub use intake::{Intake, Receipt};
pub use knobs::HEADERS;
pub use model::MODELS;
pub use multipart::Part;
pub use script::{Script, Step};

use crate::provider::{Auth, Provider, Transport};
use call::Call;
use knobs::Knobs;
use refusal::Refusal;

pub const PROVIDER: Provider = Provider {
    slug: "mock",
    base_url: "http://mock.invalid/v1",
    auth: Auth::Nothing,
    transport: Transport::InProcess,
    native: &[
        "chatComplete",
        "complete",
        "embed",
        "createModelResponse",
        "imageGenerate",
        "imageEdit",
        "createSpeech",
        "createTranscription",
        "createTranslation",
    ],
    stream_usage: true,
    options: &[],
};

type Endpoint = fn(&Call<'_>) -> Result<Script, Refusal>;

/// POST with a JSON body, which must be read whole.
const JSON: &[(&str, Endpoint)] = &[
    ("/chat/completions", chat::answer),
    ("/completions", completions::answer),
    ("/responses", responses::answer),
    ("/embeddings", embeddings::answer),
    ("/moderations", moderations::answer),
    ("/images/generations", media::image),
    ("/audio/speech", media::speech),
];

/// POST with a form, which is read in passing.
const FORMS: &[(&str, Endpoint)] = &[
    ("/files", uploads::file),
    ("/audio/transcriptions", uploads::transcription),
    ("/audio/translations", uploads::translation),
    ("/images/edits", media::edited_image),
];

/// The answer to a request whose body is held whole.
pub fn answer(ask: &Ask<'_>) -> Script {
    let mut intake = Intake::new(ask.content_type());
    intake.take(ask.body);
    answer_received(ask, &intake.finish())
}

/// The answer to a request whose body went by: `ask.body` may be its beginning only, except where `is_parsed` holds.
pub fn answer_received(ask: &Ask<'_>, receipt: &Receipt) -> Script {
    let mut script = match knobs::read(ask.headers) {
        Ok(knobs) => twisted(ask, receipt, knobs),
        Err(refusal) => refusal.script(),
    };
    stamp(&mut script, ask, receipt);
    script
}

/// The body of such a request is parsed and must be given whole.
pub fn is_parsed(method: &str, path: &str) -> bool {
    method == "POST" && find(JSON, path).is_some()
}

fn twisted(ask: &Ask<'_>, receipt: &Receipt, knobs: Knobs) -> Script {
    let mut script = route(ask, receipt, &knobs).unwrap_or_else(|refusal| refusal.script());
    for twist in knobs.twists {
        twist.apply(&mut script);
    }
    script
}

/// Lets the endpoint answer as the model says, then lets go wrong what the model's name asks for.
fn route(ask: &Ask<'_>, receipt: &Receipt, knobs: &Knobs) -> Result<Script, Refusal> {
    let endpoint = |table| find(table, ask.path).filter(|_| ask.method == "POST");
    let (endpoint, body) = match (endpoint(JSON), endpoint(FORMS)) {
        (Some(endpoint), _) => (endpoint, parse(ask, receipt)?),
        (None, Some(endpoint)) => (endpoint, fields(receipt)),
        (None, None) => return without_model(ask, receipt),
    };
    let model = model::named(body.get("model").and_then(Value::as_str).unwrap_or_default())?;
    let mut script = endpoint(&Call { ask, receipt, body, says: model.says, honesty: knobs.honesty })?;
    if let Some(twist) = model.twist {
        twist.apply(&mut script);
    }
    Ok(script)
}

fn without_model(ask: &Ask<'_>, receipt: &Receipt) -> Result<Script, Refusal> {
    let path = ask.path.trim_start_matches('/');
    match path.split_once('/').unwrap_or((path, "")) {
        ("models", "") if ask.method == "GET" => Ok(catalog::list()),
        ("models", id) if ask.method == "GET" => Ok(catalog::one(id)),
        ("bytes", count) if ask.method == "GET" => probes::bytes(count),
        ("status", code) => probes::status(code),
        ("empty", "") => Ok(Script::bare(204)),
        _ => Ok(probes::echo(ask, receipt)),
    }
}

/// A form's fields as if they were JSON.
fn fields(receipt: &Receipt) -> Map<String, Value> {
    let fields = receipt.parts.iter().filter(|part| part.filename.is_none());
    fields.map(|part| (part.name.clone(), part.text.clone().into())).collect()
}

fn parse(ask: &Ask<'_>, receipt: &Receipt) -> Result<Map<String, Value>, Refusal> {
    if receipt.bytes > ask.body.len() as u64 {
        return Err(Refusal::too_large());
    }
    match serde_json::from_slice(ask.body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Refusal::bad("the body must be a JSON object")),
        Err(error) => Err(Refusal::bad(format!("the body is not JSON: {error}"))),
    }
}

fn find(table: &[(&str, Endpoint)], path: &str) -> Option<Endpoint> {
    table.iter().find(|(known, _)| *known == path).map(|(_, endpoint)| *endpoint)
}

/// Says what was received. A header that the caller asked for stands.
fn stamp(script: &mut Script, ask: &Ask<'_>, receipt: &Receipt) {
    let stamps = [
        ("x-mock-sha256", receipt.sha256.clone()),
        ("x-mock-bytes", receipt.bytes.to_string()),
        ("x-request-id", format!("req_mock_{}", ask.id)),
    ];
    for (name, value) in stamps {
        if script.header(name).is_none() {
            script.set(name, value);
        }
    }
}
