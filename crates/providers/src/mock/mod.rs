//! The built-in provider: answers in the process, without a network. `gatehouse mock` serves the same over HTTP.
//!
//! Everything is chosen by the request alone: the path chooses the shape, the model name chooses what is said or what goes
//! wrong (`MODELS`), request headers twist any answer (`HEADERS`). Tokens are words, so usage can be told by counting. Every
//! answer says what was received: `x-mock-sha256` and `x-mock-bytes` of the request's body.

mod anthropic;
mod ask;
mod bedrock;
mod bill;
mod call;
mod catalog;
mod chat;
mod cohere;
mod completions;
mod embeddings;
mod format;
mod framing;
mod gemini;
mod heard;
mod intake;
mod knobs;
mod media;
mod model;
mod moderations;
mod multipart;
mod openai;
mod probes;
mod refusal;
mod responses;
mod said;
mod says;
mod script;
#[cfg(test)]
mod tests;
mod turn;
mod twist;
mod uploads;
mod usage;
mod words;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

pub use ask::Ask;
pub use bedrock::{ACCESS_KEY, API_KEY, SECRET_KEY, sign};
pub use bill::{Bill, TARIFFS, Tariff};
pub use intake::{Intake, Receipt};
pub use knobs::HEADERS;
pub use model::MODELS;
pub use multipart::Part;
pub use script::{Flow, Script, Step};

use crate::provider::{Auth, Provider, Transport};
use call::Call;
use format::{Format, Reads};
use knobs::Knobs;
use openai::FORMAT as OPENAI;
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

/// Every format with the paths it is served at, `{model}` standing for the model.
pub fn formats() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    FORMATS.iter().map(|format| {
        let base = format.bases.first().copied().unwrap_or_default();
        (format.name, format.routes.iter().map(|route| format!("{base}{}", route.path)).collect())
    })
}

/// Every format the mock speaks over HTTP.
static FORMATS: &[Format] = &[OPENAI, anthropic::FORMAT, gemini::FORMAT, bedrock::FORMAT, cohere::FORMAT];

/// The answer to a request whose body is held whole, in OpenAI's shapes. The path is what follows the base URL.
pub fn answer(ask: &Ask<'_>) -> Script {
    let mut intake = Intake::new(ask.content_type());
    intake.take(ask.body);
    answer_in(&OPENAI, ask, &intake.finish())
}

/// The answer in the format that the path belongs to; paths of no format are OpenAI's. The path begins at the host's root.
///
/// `ask.body` may be the beginning of a body that went by, except where `is_parsed` holds.
pub fn answer_received(ask: &Ask<'_>, receipt: &Receipt) -> Script {
    let (format, path) = format_of(ask.method, ask.path);
    answer_in(format, &Ask { path, ..*ask }, receipt)
}

/// The body of such a request is parsed and must be given whole.
pub fn is_parsed(method: &str, path: &str) -> bool {
    let (format, path) = format_of(method, path);
    method == "POST" && format.route(path).is_some_and(|(route, _)| route.reads == Reads::Json)
}

/// The format, and the path below its base.
fn format_of<'a>(method: &str, path: &'a str) -> (&'static Format, &'a str) {
    let mut formats = FORMATS.iter().filter(|_| method == "POST");
    let found = formats.find_map(|format| Some((format, format.below_base(path)?)));
    found.unwrap_or_else(|| match path.strip_prefix("/v1") {
        Some(below) if below.starts_with('/') => (&OPENAI, below),
        _ => (&OPENAI, path),
    })
}

fn answer_in(format: &'static Format, ask: &Ask<'_>, receipt: &Receipt) -> Script {
    let mut script = match knobs::read(ask.headers) {
        Ok(knobs) => twisted(format, ask, receipt, knobs),
        Err(refusal) => (format.refuse)(&refusal),
    };
    stamp(&mut script, format, ask, receipt);
    script
}

fn twisted(format: &'static Format, ask: &Ask<'_>, receipt: &Receipt, knobs: Knobs) -> Script {
    let mut script = route(format, ask, receipt, &knobs).unwrap_or_else(|refusal| (format.refuse)(&refusal));
    for twist in knobs.twists {
        twist.apply(&mut script, format);
    }
    script
}

/// Lets the endpoint answer as the model says, then lets go wrong what the model's name asks for.
fn route(format: &'static Format, ask: &Ask<'_>, receipt: &Receipt, knobs: &Knobs) -> Result<Script, Refusal> {
    let Some((route, model)) = format.route(ask.path).filter(|_| ask.method == "POST") else {
        return without_model(ask, receipt);
    };
    (format.admit)(ask, receipt)?;
    let body = match route.reads {
        Reads::Json => parse(ask, receipt)?,
        Reads::Form => fields(receipt),
    };
    let asked = match percent_decode_str(model).decode_utf8_lossy() {
        none if none.is_empty() => body.get("model").and_then(Value::as_str).map(str::to_owned),
        model => Some(model.into_owned()),
    };
    let model = model::named((format.model_name)(asked.as_deref().unwrap_or_default()))?;
    let (says, honesty) = (model.says, knobs.honesty);
    let call = Call { ask, receipt, format: format.name, model: asked, body, says, honesty };
    let mut script = (route.endpoint)(&call)?;
    if let Some(twist) = model.twist {
        twist.apply(&mut script, format);
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

/// Says what was received. A header that the caller asked for stands.
fn stamp(script: &mut Script, format: &Format, ask: &Ask<'_>, receipt: &Receipt) {
    let stamps = [
        ("x-mock-sha256", receipt.sha256.clone()),
        ("x-mock-bytes", receipt.bytes.to_string()),
        (format.id_header, format!("req_mock_{}", ask.id)),
    ];
    for (name, value) in stamps {
        if script.header(name).is_none() {
            script.set(name, value);
        }
    }
}
