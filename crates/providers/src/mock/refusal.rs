//! What the mock says when it was asked wrongly, or when it was asked to fail; and OpenAI's way of saying it. The other
//! formats have theirs in their own files.

use serde_json::{Value, json};

use super::script::Script;

#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    message: String,
    param: Option<String>,
    /// The provider's own word for it, where the status does not tell.
    kind: Option<&'static str>,
}

impl Refusal {
    pub(super) fn bad(message: impl Into<String>) -> Refusal {
        Refusal::with(400, message)
    }

    /// `param` is the field or header that is wrong.
    pub(super) fn of(param: &str, message: impl Into<String>) -> Refusal {
        Refusal { param: Some(param.to_owned()), ..Refusal::with(400, message) }
    }

    pub(super) fn too_large() -> Refusal {
        Refusal::with(413, "the body is larger than the mock parses")
    }

    /// The failure that was asked for.
    pub(super) fn with_status(status: u16) -> Refusal {
        Refusal::with(status, format!("asked to answer with {status}"))
    }

    /// Whoever asks is not let in.
    pub(super) fn forbidden(kind: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { kind: Some(kind), ..Refusal::with(403, message) }
    }

    fn with(status: u16, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), param: None, kind: None }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn kind(&self) -> Option<&'static str> {
        self.kind
    }

    pub(super) fn message(&self) -> String {
        format!("mock: {}", self.message)
    }

    /// A body in another shape than OpenAI's.
    pub(super) fn script_of(&self, body: &Value) -> Script {
        let mut script = Script::json(self.status, body);
        if matches!(self.status, 429 | 503) {
            script.set("retry-after", "1");
        }
        script
    }

    /// In OpenAI's shape.
    pub(super) fn body(&self) -> Value {
        let (kind, code) = kind_and_code(self.status);
        json!({"error": {"message": self.message(), "type": kind, "param": self.param, "code": code}})
    }

    pub(super) fn script(&self) -> Script {
        self.script_of(&self.body())
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
