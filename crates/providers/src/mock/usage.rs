//! What an answer is said to have cost: exact, unless the caller asked for a lie.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    pub(super) prompt: u64,
    pub(super) completion: u64,
}

/// How far the reported usage is from the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Honesty {
    Exact,
    Missing,
    Zero,
    Times(u64),
}

impl Usage {
    /// What is reported; `None` when nothing is.
    pub(super) fn told(self, honesty: Honesty) -> Option<Usage> {
        let factor = match honesty {
            Honesty::Exact => 1,
            Honesty::Zero => 0,
            Honesty::Times(factor) => factor,
            Honesty::Missing => return None,
        };
        Some(Usage { prompt: self.prompt.saturating_mul(factor), completion: self.completion.saturating_mul(factor) })
    }

    pub(super) fn in_chat(self) -> Value {
        json!({"prompt_tokens": self.prompt, "completion_tokens": self.completion, "total_tokens": self.total()})
    }

    pub(super) fn in_embeddings(self) -> Value {
        json!({"prompt_tokens": self.prompt, "total_tokens": self.total()})
    }

    pub(super) fn in_responses(self) -> Value {
        json!({
            "input_tokens": self.prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.total(),
        })
    }

    pub(super) fn in_messages(self) -> Value {
        json!({
            "input_tokens": self.prompt,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": self.completion,
            "service_tier": "standard",
        })
    }

    pub(super) fn in_gemini(self) -> Value {
        json!({
            "promptTokenCount": self.prompt,
            "candidatesTokenCount": self.completion,
            "totalTokenCount": self.total(),
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": self.prompt}],
        })
    }

    pub(super) fn in_converse(self) -> Value {
        json!({"inputTokens": self.prompt, "outputTokens": self.completion, "totalTokens": self.total()})
    }

    pub(super) fn in_cohere(self) -> Value {
        let tokens = json!({"input_tokens": self.prompt, "output_tokens": self.completion});
        json!({"billed_units": tokens, "tokens": tokens})
    }

    fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}
