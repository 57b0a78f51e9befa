//! A chat in every provider's way of speaking, and what is read from the answers.

use super::*;

/// A chat in one provider's way of speaking, which says `one two three four`.
pub(super) struct Tongue {
    pub(super) format: &'static str,
    /// Path and query, `{model}` standing for the model.
    pub(super) whole: &'static str,
    pub(super) streamed: &'static str,
    /// Whether model and streaming stand in the body.
    pub(super) body: fn(model: &str, stream: bool) -> Value,
    /// Where a whole answer has its text, and where its counts of input and output.
    pub(super) text: &'static str,
    pub(super) counts: [&'static str; 2],
    /// What begins the type in an error for status 429, as JSON somewhere in its body or header.
    pub(super) limited: &'static str,
    /// What an error event after 200 holds, for status 500.
    pub(super) interrupted: &'static str,
    /// Chunks of the stream.
    pub(super) chunks: usize,
}

pub(super) const TONGUES: &[Tongue] = &[
    Tongue {
        format: "openai",
        whole: "/v1/chat/completions",
        streamed: "/v1/chat/completions",
        body: |model, stream| {
            json!({"model": model, "stream": stream, "stream_options": {"include_usage": true},
                "messages": [{"role": "user", "content": "one two three four"}]})
        },
        text: "/choices/0/message/content",
        counts: ["/usage/prompt_tokens", "/usage/completion_tokens"],
        limited: "rate_limit_error",
        interrupted: "data: {\"error\":{\"message\":\"mock: asked to answer with 500\",\"type\":\"server_error\"",
        chunks: 8,
    },
    Tongue {
        format: "anthropic",
        whole: "/v1/messages",
        streamed: "/v1/messages",
        body: |model, stream| {
            json!({"model": model, "stream": stream, "max_tokens": 100,
                "messages": [{"role": "user", "content": [{"type": "text", "text": "one two three four"}]}]})
        },
        text: "/content/0/text",
        counts: ["/usage/input_tokens", "/usage/output_tokens"],
        limited: "rate_limit_error",
        interrupted: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"",
        chunks: 10,
    },
    Tongue {
        format: "gemini",
        whole: "/v1beta/models/{model}:generateContent",
        streamed: "/v1beta/models/{model}:streamGenerateContent?alt=sse",
        body: |_, _| json!({"contents": [{"role": "user", "parts": [{"text": "one two three four"}]}]}),
        text: "/candidates/0/content/parts/0/text",
        counts: ["/usageMetadata/promptTokenCount", "/usageMetadata/candidatesTokenCount"],
        limited: "RESOURCE_EXHAUSTED",
        interrupted: "data: {\"error\":{\"code\":500,\"message\":\"mock: asked to answer with 500\",\"status\":\"INTERNAL\"}}",
        chunks: 4,
    },
    Tongue {
        format: "gemini",
        whole: "/v1beta/models/{model}:generateContent",
        streamed: "/v1beta/models/{model}:streamGenerateContent",
        body: |_, _| json!({"contents": [{"parts": [{"text": "one two three four"}]}]}),
        text: "/candidates/0/content/parts/0/text",
        counts: ["/usageMetadata/promptTokenCount", "/usageMetadata/candidatesTokenCount"],
        limited: "RESOURCE_EXHAUSTED",
        interrupted: ",\r\n{\"error\":{\"code\":500,\"message\":\"mock: asked to answer with 500\",\"status\":\"INTERNAL\"}}]",
        chunks: 5,
    },
    Tongue {
        format: "bedrock",
        whole: "/model/{model}/converse",
        streamed: "/model/{model}/converse-stream",
        body: |_, _| json!({"messages": [{"role": "user", "content": [{"text": "one two three four"}]}]}),
        text: "/output/message/content/0/text",
        counts: ["/usage/inputTokens", "/usage/outputTokens"],
        limited: "ThrottlingException",
        interrupted: "internalServerException",
        chunks: 8,
    },
    Tongue {
        format: "bedrock",
        whole: "/model/anthropic.{model}/invoke",
        streamed: "/model/anthropic.{model}/invoke-with-response-stream",
        body: |_, _| {
            json!({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100,
                "messages": [{"role": "user", "content": "one two three four"}]})
        },
        text: "/content/0/text",
        counts: ["/usage/input_tokens", "/usage/output_tokens"],
        limited: "ThrottlingException",
        interrupted: "internalServerException",
        chunks: 10,
    },
    Tongue {
        format: "cohere",
        whole: "/v2/chat",
        streamed: "/v2/chat",
        body: |model, stream| {
            json!({"model": model, "stream": stream,
                "messages": [{"role": "user", "content": "one two three four"}]})
        },
        text: "/message/content/0/text",
        counts: ["/usage/tokens/input_tokens", "/usage/tokens/output_tokens"],
        limited: "mock: asked to answer with 429",
        interrupted: "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"error\":\"mock: asked to answer with 500\"",
        chunks: 9,
    },
];

impl Tongue {
    pub(super) fn whole(&self, model: &str) -> Spoken {
        Spoken::new(&self.whole.replace("{model}", model), (self.body)(model, false))
    }

    pub(super) fn streamed(&self, model: &str) -> Spoken {
        Spoken::new(&self.streamed.replace("{model}", model), (self.body)(model, true))
    }
}

/// A request to the host's root, signed as Bedrock wants it.
pub(super) struct Spoken {
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Spoken {
    pub(super) fn new(uri: &str, body: Value) -> Spoken {
        let (path, query) = uri.split_once('?').map_or((uri, None), |(path, query)| (path, Some(query.to_owned())));
        let body = body.to_string().into_bytes();
        let mut headers = HeaderMap::new();
        headers.insert("host", "mock:9".parse().expect("a value"));
        headers.insert("x-amz-date", "20270115T080000Z".parse().expect("a value"));
        let signed = sign("POST", path, query.as_deref(), &headers, &body);
        headers.insert("authorization", signed.parse().expect("a value"));
        Spoken { path: path.to_owned(), query, headers, body }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Spoken {
        self.headers.append(name, value.parse().expect("a header value"));
        self
    }

    pub(super) fn play(&self) -> Script {
        let mut intake = Intake::new(None);
        intake.take(&self.body);
        let ask = Ask {
            method: "POST",
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            body: &self.body,
            id: "7",
            now: 1_700_000_000,
        };
        assert!(is_parsed("POST", &self.path), "{}", self.path);
        answer_received(&ask, &intake.finish())
    }
}

pub(super) fn at<'a>(body: &'a Value, pointer: &str) -> &'a Value {
    body.pointer(pointer).unwrap_or(&Value::Null)
}

/// Output tokens that the steps tell.
pub(super) fn told(script: &Script) -> u64 {
    let tokens = script.steps.iter().map(|step| if let Step::Say { tokens, .. } = step { *tokens } else { 0 });
    tokens.sum()
}

/// The payloads of a binary stream, whose checksums must be right, with what their headers call them.
pub(super) fn messages(script: &Script) -> Vec<(String, Value)> {
    let mut bytes: Vec<u8> = script.steps.iter().filter_map(Step::bytes).flatten().copied().collect();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let rest = bytes.split_off(number(&bytes[..4]) as usize);
        let (headers, end) = (number(&bytes[4..8]) as usize, bytes.len() - 4);
        assert_eq!(number(&bytes[8..12]), crc32fast::hash(&bytes[..8]), "the checksum of the prelude");
        assert_eq!(number(&bytes[end..]), crc32fast::hash(&bytes[..end]), "the checksum of the message");
        // A name of some length, a tag and the value's length come before the value.
        let name = bytes[12] as usize;
        let value = &bytes[12 + 1 + name + 3..][..usize::from(bytes[12 + 1 + name + 2])];
        let payload = serde_json::from_slice(&bytes[12 + headers..end]).expect("JSON");
        messages.push((String::from_utf8_lossy(value).into_owned(), payload));
        bytes = rest;
    }
    messages
}
