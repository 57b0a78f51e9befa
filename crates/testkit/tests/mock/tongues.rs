//! A chat in every provider's way of speaking, for tests that walk all of them.

use http::HeaderMap;
use serde_json::{Value, json};

use crate::rig::Mock;

pub(crate) struct Tongue {
    pub(crate) format: &'static str,
    whole: &'static str,
    streamed: &'static str,
    body: fn(model: &str, word: &str, stream: bool) -> Value,
    /// What only the end of a good stream holds.
    pub(crate) end: &'static str,
    /// What an error event holds.
    pub(crate) error: &'static str,
}

pub(crate) const TONGUES: &[Tongue] = &[
    Tongue {
        format: "openai",
        whole: "/v1/chat/completions",
        streamed: "/v1/chat/completions",
        body: |model, word, stream| json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": format!("{word} b c d")}]}),
        end: "[DONE]",
        error: "server_error",
    },
    Tongue {
        format: "anthropic",
        whole: "/v1/messages",
        streamed: "/v1/messages",
        body: |model, word, stream| {
            json!({"model": model, "stream": stream, "max_tokens": 9,
                "messages": [{"role": "user", "content": format!("{word} b c d")}]})
        },
        end: "message_stop",
        error: "event: error",
    },
    Tongue {
        format: "gemini",
        whole: "/v1beta/models/{model}:generateContent",
        streamed: "/v1beta/models/{model}:streamGenerateContent?alt=sse",
        body: |_, word, _| json!({"contents": [{"parts": [{"text": format!("{word} b c d")}]}]}),
        end: "\"STOP\"",
        error: "\"INTERNAL\"",
    },
    Tongue {
        format: "gemini",
        whole: "/v1beta/models/{model}:generateContent",
        streamed: "/v1beta/models/{model}:streamGenerateContent",
        body: |_, word, _| json!({"contents": [{"parts": [{"text": format!("{word} b c d")}]}]}),
        end: "\"STOP\"",
        error: "\"INTERNAL\"",
    },
    Tongue {
        format: "bedrock",
        whole: "/model/{model}/converse",
        streamed: "/model/{model}/converse-stream",
        body: |_, word, _| json!({"messages": [{"role": "user", "content": [{"text": format!("{word} b c d")}]}]}),
        end: "metadata",
        error: "internalServerException",
    },
    Tongue {
        format: "cohere",
        whole: "/v2/chat",
        streamed: "/v2/chat",
        body: |model, word, stream| json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": format!("{word} b c d")}]}),
        end: "[DONE]",
        error: "\"ERROR\"",
    },
];

/// A request as bytes.
pub(crate) struct Spoken {
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Tongue {
    /// Says the word and three more. Signed, so that Bedrock lets it in.
    pub(crate) fn ask(&self, mock: &Mock, model: &str, word: &str, stream: bool) -> Spoken {
        let uri = if stream { self.streamed } else { self.whole }.replace("{model}", model);
        let body = (self.body)(model, word, stream).to_string();
        let (path, query) = uri.split_once('?').map_or((uri.as_str(), None), |(path, query)| (path, Some(query)));
        let mut headers = HeaderMap::new();
        headers.insert("host", mock.host().parse().expect("a value"));
        headers.insert("x-amz-date", "20270115T080000Z".parse().expect("a value"));
        let signed = providers::mock::sign("POST", path, query, &headers, body.as_bytes());
        headers.insert("authorization", signed.parse().expect("a value"));
        Spoken { uri, headers, body }
    }
}

impl Spoken {
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Spoken {
        self.headers.insert(name, value.parse().expect("a value"));
        self
    }

    /// The bytes of HTTP/1.1. The connection is for this one call.
    pub(crate) fn wire(&self) -> String {
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            format!("{name}: {}\r\n", value.to_str().expect("text"))
        };
        let headers: String = self.headers.iter().map(header).collect();
        format!(
            "POST {} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{}",
            self.uri,
            self.body.len(),
            self.body
        )
    }
}
