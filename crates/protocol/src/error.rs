//! Refusals: the table of error codes, and the two envelopes that show them.
//!
//! A row says status, code and type once; the message is made where the reason is known. Inference answers use the
//! `{"status":"failure",…}` shape with an OpenAI-style `error` object beside it, so that every SDK finds its words;
//! Admin API answers use `{"success":false,"data":{…}}` with an AB code.

use serde_json::{Map, Value, json};

macro_rules! codes {
    ($($name:ident $status:literal $wire:literal $kind:literal $admin:literal $says:literal;)*) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($name,)* }
        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];
            pub const fn row(self) -> &'static Row {
                match self { $(Code::$name => &Row { status: $status, wire: $wire, kind: $kind, admin: $admin, says: $says },)* }
            }
        }
    };
}

#[derive(Debug)]
pub struct Row {
    pub status: u16,
    /// `error.code` on the inference side; empty where the contract has `null`.
    pub wire: &'static str,
    /// `error.type`.
    pub kind: &'static str,
    /// `errorCode` on the administration side.
    pub admin: &'static str,
    /// What it means, for the documentation.
    pub says: &'static str,
}

codes! {
    // name            status code                    type                     admin  meaning
    InvalidRequest     400  "invalid_request"         "invalid_request_error"  "AB01" "the request cannot be understood; the message names the part";
    InvalidJson        400  "invalid_json"            "invalid_request_error"  "AB01" "the body is not one JSON object; the message names the place";
    InvalidConfig      400  "AB01"                    "invalid_request_error"  "AB01" "the config does not fit its schema; `errors` lists path and reason";
    NoProvider         400  "no_provider"             "invalid_request_error"  "AB01" "nothing in the request says which provider to call";
    InvalidProvider    400  "invalid_provider"        "invalid_request_error"  "AB01" "no provider has this name";
    InvalidHost        400  "invalid_custom_host"     "invalid_request_error"  "AB01" "the custom host may not be called; `errors` says why";
    AmbiguousPath      400  "ambiguous_path"          "invalid_request_error"  "AB01" "the path could be read in two ways";
    InvalidKey         401  "03"                      "authentication_error"   "AB05" "no key, or one that is not known here";
    IncompleteKey      401  "033"                     "authentication_error"   "AB05" "the key's record lacks its organisation";
    KeyExpired         401  "01"                      "authentication_error"   "AB05" "the key's time has passed";
    Forbidden          403  "033"                     "permission_error"       "AB03" "the key is valid but may not do this";
    NotFound           404  "not_found"               "not_found_error"        "AB08" "nothing lives at this path";
    MethodNotAllowed   405  "method_not_allowed"      "invalid_request_error"  "AB01" "the path exists, but not with this method";
    Timeout            408  ""                        "timeout_error"          "AB04" "the provider did not answer within the time given";
    TooLarge           413  "payload_too_large"       "invalid_request_error"  "AB01" "the body is larger than the limit";
    HeadersTooLarge    431  "headers_too_large"       "invalid_request_error"  "AB01" "the header block is larger than the limit";
    Internal           500  "internal_error"          "internal_error"         "AB04" "we failed; the log has the cause under the request id";
    NotYet             501  "not_yet"                 "not_yet_error"          "AB04" "part of the contract, not built yet; the message names it";
    UpstreamFailed     502  "upstream_failed"         "upstream_error"         "AB04" "the provider could not be reached or broke off";
    UpstreamGarbled    502  "upstream_garbled"        "upstream_error"         "AB04" "the provider answered something that is not an answer";
    ConnectTimeout     503  "connect_timeout"         "upstream_error"         "AB04" "the provider did not accept a connection in time";
    Draining           503  "draining"                "unavailable_error"      "AB04" "this process is shutting down; ask another one";
    Saturated          503  "saturated"               "unavailable_error"      "AB04" "as many calls or connections as are allowed are under way; try again";
    Unavailable        503  "unavailable"             "unavailable_error"      "AB04" "something we depend on is away";
    LoopDetected       508  "loop_detected"           "invalid_request_error"  "AB01" "the call came through this gateway too often";
}

/// One refusal, ready to be shown. It never holds a secret.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    /// Particulars, `path: …, message: …` or a plain sentence each.
    pub errors: Vec<String>,
    /// The provider that was being called, where there was one.
    pub provider: Option<&'static str>,
    /// Replaces the row's `error.code` (an operating system's name for a failed connection, say).
    pub detail: Option<&'static str>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), errors: Vec::new(), provider: None, detail: None }
    }

    pub fn because(mut self, reason: impl Into<String>) -> Refusal {
        self.errors.push(reason.into());
        self
    }

    pub fn of(mut self, provider: &'static str) -> Refusal {
        self.provider = Some(provider);
        self
    }

    pub fn detail(mut self, detail: &'static str) -> Refusal {
        self.detail = Some(detail);
        self
    }

    /// For something the contract has and this build has not.
    pub fn not_yet(what: &str) -> Refusal {
        Refusal::new(Code::NotYet, format!("{what}: not built yet"))
    }

    pub fn status(&self) -> u16 {
        self.code.row().status
    }

    /// Authentication refusals have a sentence of their own shape (data plane contract 2.1).
    fn shown(&self) -> String {
        match self.code {
            Code::InvalidKey | Code::IncompleteKey | Code::KeyExpired | Code::Forbidden => {
                format!("Gateway Error: {}. Error Code: {}", self.message, self.code.row().wire)
            }
            _ => self.message.clone(),
        }
    }

    fn wire(&self) -> Option<&'static str> {
        self.detail.or(Some(self.code.row().wire)).filter(|code| !code.is_empty())
    }

    /// The body of an inference answer.
    pub fn inference_body(&self) -> Value {
        let row = self.code.row();
        let message = self.shown();
        let mut body = Map::new();
        body.insert("status".into(), "failure".into());
        body.insert("success".into(), false.into());
        body.insert("message".into(), message.clone().into());
        body.insert(
            "error".into(),
            json!({ "message": message, "type": row.kind, "param": null, "code": self.wire() }),
        );
        if !self.errors.is_empty() {
            body.insert("errors".into(), self.errors.clone().into());
        }
        body.insert("data".into(), json!({ "message": message, "errorCode": row.admin }));
        if self.code == Code::NotFound {
            body.insert("ok".into(), false.into());
        }
        if let Some(provider) = self.provider {
            body.insert("provider".into(), provider.into());
        }
        Value::Object(body)
    }

    /// The body of an Admin API answer.
    pub fn admin_body(&self) -> Value {
        let row = self.code.row();
        json!({
            "success": false,
            "data": { "message": self.message, "errorCode": row.admin },
            "error": { "message": self.message, "code": row.admin, "type": row.kind, "param": null },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_shows_its_status_and_message_in_both_shapes() {
        for code in Code::ALL {
            let row = code.row();
            assert!((400..600).contains(&row.status), "{code:?}");
            assert!(row.admin.starts_with("AB0"), "{code:?}");
            assert!(!row.says.is_empty());
            let refusal = Refusal::new(*code, "why");
            let body = refusal.inference_body();
            assert_eq!(body["status"], "failure");
            assert_eq!(body["error"]["code"].as_str().unwrap_or_default(), row.wire);
            assert_eq!(body["error"]["type"], row.kind);
            assert_eq!(body["error"]["message"], body["message"]);
            assert_eq!(refusal.admin_body()["data"]["errorCode"], row.admin);
        }
    }

    #[test]
    fn the_documentation_lists_every_code() {
        let documented = include_str!("../../../docs/errors.md");
        for code in Code::ALL {
            let row = code.row();
            let wire = if row.wire.is_empty() { "null" } else { row.wire };
            let line = format!("| {} | `{wire}` | {} | {} |", row.status, row.admin, row.says);
            assert!(documented.contains(&line), "docs/errors.md lacks: {line}");
        }
    }

    #[test]
    fn an_unknown_key_reads_as_the_contract_says() {
        let body = Refusal::new(Code::InvalidKey, "Invalid API Key").inference_body();
        assert_eq!(body["message"], "Gateway Error: Invalid API Key. Error Code: 03");
        assert_eq!(body["error"]["code"], "03");
    }

    #[test]
    fn particulars_and_provider_appear_only_when_known() {
        let plain = Refusal::new(Code::InvalidHost, "Invalid custom host");
        assert!(plain.inference_body().get("errors").is_none());
        let full = plain.because("loopback").of("openai").inference_body();
        assert_eq!(full["errors"][0], "loopback");
        assert_eq!(full["provider"], "openai");
    }
}
