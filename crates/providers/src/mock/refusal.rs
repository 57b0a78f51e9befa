//! Errors in OpenAI's shape: what the mock says when it was asked wrongly, or when it was asked to fail.

use serde_json::{Value, json};

use super::script::Script;

#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    message: String,
    param: Option<String>,
}

impl Refusal {
    pub(super) fn bad(message: impl Into<String>) -> Refusal {
        Refusal { status: 400, message: message.into(), param: None }
    }

    /// `param` is the field or header that is wrong.
    pub(super) fn of(param: &str, message: impl Into<String>) -> Refusal {
        Refusal { status: 400, message: message.into(), param: Some(param.to_owned()) }
    }

    pub(super) fn too_large() -> Refusal {
        Refusal { status: 413, message: "the body is larger than the mock parses".into(), param: None }
    }

    /// The failure that was asked for.
    pub(super) fn with_status(status: u16) -> Refusal {
        Refusal { status, message: format!("asked to answer with {status}"), param: None }
    }

    pub(super) fn body(&self) -> Value {
        let (kind, code) = kind_and_code(self.status);
        let message = format!("mock: {}", self.message);
        json!({"error": {"message": message, "type": kind, "param": self.param, "code": code}})
    }

    pub(super) fn script(&self) -> Script {
        let mut script = Script::json(self.status, &self.body());
        if matches!(self.status, 429 | 503) {
            script.set("retry-after", "1");
        }
        script
    }
}

fn kind_and_code(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("authentication_error", Some("invalid_api_key")),
        403 => ("permission_error", Some("forbidden")),
        404 => ("not_found_error", Some("not_found")),
        413 => ("invalid_request_error", Some("request_too_large")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        503 => ("server_error", Some("overloaded")),
        500.. => ("server_error", Some("server_error")),
        _ => ("invalid_request_error", None),
    }
}
