//! The table of inference endpoints: what a path under `/v1` means, before anybody asks who serves it.
//!
//! A row's `manner` is the one thing the rest of the house needs to know: a *spoken* endpoint is one whose format we
//! understand (its JSON is looked at, its headers are chosen, its errors are put into the common shape), a *relayed*
//! one passes both ways byte for byte. The last row catches everything: generic pass-through.

/// One row: a method and path under `/v1`, and what is known about them.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Stable name used in policies, logs and metrics.
    pub id: &'static str,
    pub family: Family,
    /// `*` stands for any method.
    pub method: &'static str,
    /// Segments; `{}` matches one of them, a final `*` any rest, the empty one included.
    pub path: &'static str,
    pub body: Body,
    pub manner: Manner,
    /// Any one of these scopes lets a key call it.
    pub scopes: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    Chat,
    Completions,
    Embeddings,
    Messages,
    Responses,
    Images,
    Audio,
    Moderations,
    Rerank,
    Ocr,
    Files,
    Batches,
    FineTuning,
    Assistants,
    Threads,
    VectorStores,
    Models,
    Realtime,
    Gemini,
    PassThrough,
}

impl Family {
    pub const ALL: [Family; 20] = [
        Family::Chat,
        Family::Completions,
        Family::Embeddings,
        Family::Messages,
        Family::Responses,
        Family::Images,
        Family::Audio,
        Family::Moderations,
        Family::Rerank,
        Family::Ocr,
        Family::Files,
        Family::Batches,
        Family::FineTuning,
        Family::Assistants,
        Family::Threads,
        Family::VectorStores,
        Family::Models,
        Family::Realtime,
        Family::Gemini,
        Family::PassThrough,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Family::Chat => "chat",
            Family::Completions => "completions",
            Family::Embeddings => "embeddings",
            Family::Messages => "messages",
            Family::Responses => "responses",
            Family::Images => "images",
            Family::Audio => "audio",
            Family::Moderations => "moderations",
            Family::Rerank => "rerank",
            Family::Ocr => "ocr",
            Family::Files => "files",
            Family::Batches => "batches",
            Family::FineTuning => "fine_tuning",
            Family::Assistants => "assistants",
            Family::Threads => "threads",
            Family::VectorStores => "vector_stores",
            Family::Models => "models",
            Family::Realtime => "realtime",
            Family::Gemini => "gemini",
            Family::PassThrough => "pass_through",
        }
    }
}

/// What a request to the endpoint carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A JSON object, held whole so that it can be looked at and sent again.
    Json,
    /// `multipart/form-data`, streamed.
    Form,
    /// Anything or nothing, streamed.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Spoken,
    Relayed,
    /// Part of the contract, not built; the text names what is missing.
    NotYet(&'static str),
}

const WRITE: &[&str] = &["completions.write"];
const LIST_MODELS: &[&str] = &["completions.write", "models.list", "virtual_keys.list"];

const fn row(
    id: &'static str,
    family: Family,
    method: &'static str,
    path: &'static str,
    body: Body,
    manner: Manner,
) -> Endpoint {
    Endpoint { id, family, method, path, body, manner, scopes: WRITE }
}
const fn spoken(id: &'static str, family: Family, path: &'static str, body: Body) -> Endpoint {
    row(id, family, "POST", path, body, Manner::Spoken)
}
const fn relayed(id: &'static str, family: Family, method: &'static str, path: &'static str) -> Endpoint {
    row(id, family, method, path, Body::Any, Manner::Relayed)
}
const fn models(path: &'static str) -> Endpoint {
    Endpoint { scopes: LIST_MODELS, ..relayed("listModels", Family::Models, "GET", path) }
}

/// Every endpoint, most particular first: the first row that fits decides.
pub const ALL: &[Endpoint] = &[
    spoken("chatComplete", Family::Chat, "/chat/completions", Body::Json),
    spoken("complete", Family::Completions, "/completions", Body::Json),
    spoken("embed", Family::Embeddings, "/embeddings", Body::Json),
    spoken("messages", Family::Messages, "/messages", Body::Json),
    spoken("messagesCountTokens", Family::Messages, "/messages/count_tokens", Body::Json),
    spoken("createModelResponse", Family::Responses, "/responses", Body::Json),
    relayed("getModelResponse", Family::Responses, "GET", "/responses/{}"),
    relayed("deleteModelResponse", Family::Responses, "DELETE", "/responses/{}"),
    relayed("listResponseInputItems", Family::Responses, "GET", "/responses/{}/input_items"),
    relayed("proxy", Family::Responses, "*", "/responses/*"),
    spoken("imageGenerate", Family::Images, "/images/generations", Body::Json),
    spoken("imageEdit", Family::Images, "/images/edits", Body::Form),
    relayed("proxy", Family::Images, "*", "/images/*"),
    spoken("createSpeech", Family::Audio, "/audio/speech", Body::Json),
    spoken("createTranscription", Family::Audio, "/audio/transcriptions", Body::Form),
    spoken("createTranslation", Family::Audio, "/audio/translations", Body::Form),
    relayed("proxy", Family::Audio, "*", "/audio/*"),
    relayed("moderate", Family::Moderations, "POST", "/moderations"),
    relayed("rerank", Family::Rerank, "POST", "/rerank"),
    relayed("ocr", Family::Ocr, "POST", "/ocr"),
    relayed("uploadFile", Family::Files, "POST", "/files"),
    relayed("listFiles", Family::Files, "GET", "/files"),
    relayed("retrieveFile", Family::Files, "GET", "/files/{}"),
    relayed("retrieveFileContent", Family::Files, "GET", "/files/{}/content"),
    relayed("deleteFile", Family::Files, "DELETE", "/files/{}"),
    relayed("proxy", Family::Files, "*", "/files/*"),
    relayed("createBatch", Family::Batches, "POST", "/batches"),
    relayed("listBatches", Family::Batches, "GET", "/batches"),
    relayed("retrieveBatch", Family::Batches, "GET", "/batches/{}"),
    relayed("getBatchOutput", Family::Batches, "GET", "/batches/{}/output"),
    relayed("cancelBatch", Family::Batches, "POST", "/batches/{}/cancel"),
    relayed("proxy", Family::Batches, "*", "/batches/*"),
    relayed("createFinetune", Family::FineTuning, "POST", "/fine_tuning/jobs"),
    relayed("listFinetunes", Family::FineTuning, "GET", "/fine_tuning/jobs"),
    relayed("retrieveFinetune", Family::FineTuning, "GET", "/fine_tuning/jobs/{}"),
    relayed("cancelFinetune", Family::FineTuning, "POST", "/fine_tuning/jobs/{}/cancel"),
    relayed("proxy", Family::FineTuning, "*", "/fine_tuning/*"),
    relayed("proxy", Family::Assistants, "*", "/assistants/*"),
    relayed("proxy", Family::Threads, "*", "/threads/*"),
    relayed("proxy", Family::VectorStores, "*", "/vector_stores/*"),
    models("/models"),
    // Names of models may have slashes of their own.
    models("/models/*"),
    row(
        "realtime",
        Family::Realtime,
        "GET",
        "/realtime",
        Body::Any,
        Manner::NotYet("realtime sessions over a websocket"),
    ),
    relayed("proxy", Family::PassThrough, "*", "/*"),
];

/// Gemini as a caller's format lives at the host root and under `/v1`; it waits for its translator.
pub const GEMINI: Endpoint = row(
    "generateContent",
    Family::Gemini,
    "POST",
    "/v1beta/models/*",
    Body::Json,
    Manner::NotYet("Gemini as a caller's format"),
);

/// The methods a call may use; anything else is a 405.
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// The row for a method and the path after `/v1` (it begins with a slash).
pub fn find(method: &str, tail: &str) -> &'static Endpoint {
    let tail = match tail.strip_suffix('/') {
        Some(trimmed) if !trimmed.is_empty() => trimmed,
        _ => tail,
    };
    // HEAD asks for what GET would answer.
    let method = if method == "HEAD" { "GET" } else { method };
    let served =
        |endpoint: &&Endpoint| (endpoint.method == "*" || endpoint.method == method) && fits(endpoint.path, tail);
    ALL.iter().find(served).unwrap_or(&ALL[ALL.len() - 1])
}

/// Whether `path` has the shape of `pattern`: `{}` is one segment, a final `*` any rest.
pub fn fits(pattern: &str, path: &str) -> bool {
    if !pattern.contains(['{', '*']) {
        return pattern == path;
    }
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        if expected == "*" {
            return true;
        }
        match segments.next() {
            Some(segment) if (expected.starts_with('{') && !segment.is_empty()) || expected == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_reached_by_its_own_path() {
        for endpoint in ALL {
            let path = endpoint.path.replace("{}", "x").replace("/*", "/some/other");
            let method = if endpoint.method == "*" { "PATCH" } else { endpoint.method };
            assert_eq!(find(method, &path), endpoint, "{method} {path}");
        }
    }

    #[test]
    fn what_no_row_names_is_passed_through() {
        for (method, path) in
            [("POST", "/some/new/thing"), ("PUT", "/chat/completions"), ("GET", "/"), ("HEAD", "/rerank")]
        {
            assert_eq!(find(method, path).family, Family::PassThrough, "{method} {path}");
        }
    }

    #[test]
    fn a_trailing_slash_does_not_change_the_endpoint() {
        assert_eq!(find("POST", "/chat/completions/").id, "chatComplete");
    }

    #[test]
    fn every_family_has_a_row() {
        for family in Family::ALL {
            assert!(ALL.iter().chain([&GEMINI]).any(|endpoint| endpoint.family == family), "{}", family.name());
        }
    }

    #[test]
    fn only_a_post_of_json_or_a_form_is_spoken() {
        for endpoint in ALL.iter().filter(|endpoint| endpoint.manner == Manner::Spoken) {
            assert_eq!(endpoint.method, "POST", "{}", endpoint.path);
            assert_ne!(endpoint.body, Body::Any, "{}", endpoint.path);
        }
    }
}
