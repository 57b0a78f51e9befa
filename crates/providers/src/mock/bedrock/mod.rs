//! Amazon Bedrock: Converse and InvokeModel, for callers that sign, whole and as binary event streams.

mod converse;
mod eventstream;
mod invoke;
mod sigv4;

use serde_json::json;

use super::ask::Ask;
use super::format::{Format, Route};
use super::intake::Receipt;
use super::refusal::Refusal;
use super::script::Script;

pub use sigv4::{ACCESS_KEY, API_KEY, SECRET_KEY, sign};

pub(super) const FORMAT: Format = Format {
    name: "bedrock",
    bases: &[""],
    routes: &[
        Route::json("/model/{model}/converse", converse::whole),
        Route::json("/model/{model}/converse-stream", converse::streamed),
        Route::json("/model/{model}/invoke", invoke::whole),
        Route::json("/model/{model}/invoke-with-response-stream", invoke::streamed),
        Route::json("/model/{model}/count-tokens", invoke::count_tokens),
    ],
    id_header: "x-amzn-requestid",
    admit,
    model_name,
    refuse,
    interrupt: |refusal, _| eventstream::exception(&in_stream(exception(refusal)), &refusal.message()),
};

/// Callers with an API key do not sign.
fn admit(ask: &Ask<'_>, receipt: &Receipt) -> Result<(), Refusal> {
    let authorization = ask.headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match authorization.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(API_KEY) => Ok(()),
        Some(_) => Err(Refusal::forbidden("AccessDeniedException", format!("the API key is not `{API_KEY}`"))),
        None => sigv4::verify(ask, receipt),
    }
}

/// What follows the vendor, the region and the rest of an ARN, so that `anthropic.fault-429` is a fault.
fn model_name(model: &str) -> &str {
    model.rsplit(['.', '/']).next().unwrap_or(model)
}

const EXCEPTIONS: &[(u16, &str)] = &[
    (400, "ValidationException"),
    (401, "UnrecognizedClientException"),
    (403, "AccessDeniedException"),
    (404, "ResourceNotFoundException"),
    (408, "ModelTimeoutException"),
    (424, "ModelErrorException"),
    (429, "ThrottlingException"),
    (500, "InternalServerException"),
    (503, "ServiceUnavailableException"),
];

fn exception(refusal: &Refusal) -> &'static str {
    let known = EXCEPTIONS.iter().find(|(status, _)| *status == refusal.status()).map(|(_, name)| *name);
    let otherwise = if refusal.status() < 500 { "ValidationException" } else { "InternalServerException" };
    refusal.kind().or(known).unwrap_or(otherwise)
}

/// In a stream the same names begin with a small letter, and a model that breaks off has a name of its own.
fn in_stream(exception: &str) -> String {
    let exception = if exception == "ModelErrorException" { "ModelStreamErrorException" } else { exception };
    exception
        .chars()
        .enumerate()
        .map(|(at, letter)| if at == 0 { letter.to_ascii_lowercase() } else { letter })
        .collect()
}

fn refuse(refusal: &Refusal) -> Script {
    let mut script = refusal.script_of(&json!({"message": refusal.message()}));
    script.set("x-amzn-errortype", exception(refusal));
    script
}
