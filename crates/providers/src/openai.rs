//! OpenAI: the common form itself. With a custom host it is any server that speaks it.

use crate::provider::{Auth, Provider, Transport};

pub(crate) const PROVIDER: Provider = Provider {
    slug: "openai",
    base_url: "https://api.openai.com/v1",
    auth: Auth::Bearer,
    transport: Transport::Network,
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
    options: &[
        ("openai-organization", "openai-organization"),
        ("openai-project", "openai-project"),
        ("openai-beta", "openai-beta"),
    ],
};
