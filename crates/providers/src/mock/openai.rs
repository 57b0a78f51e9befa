//! OpenAI's paths. Its shapes are the mock's first language: they have a file for each endpoint.

use bytes::Bytes;

use super::call;
use super::format::{Format, Route, admit_everyone, as_asked};
use super::refusal::Refusal;
use super::script::Script;
use super::{chat, completions, embeddings, media, moderations, responses, uploads};

pub(super) const FORMAT: Format = Format {
    name: "openai",
    bases: &["/v1", ""],
    routes: &[
        Route::json("/chat/completions", chat::answer),
        Route::json("/completions", completions::answer),
        Route::json("/responses", responses::answer),
        Route::json("/embeddings", embeddings::answer),
        Route::json("/moderations", moderations::answer),
        Route::json("/images/generations", media::image),
        Route::json("/audio/speech", media::speech),
        Route::form("/files", uploads::file),
        Route::form("/audio/transcriptions", uploads::transcription),
        Route::form("/audio/translations", uploads::translation),
        Route::form("/images/edits", media::edited_image),
    ],
    id_header: "x-request-id",
    admit: admit_everyone,
    model_name: as_asked,
    refuse: Refusal::script,
    interrupt,
};

/// Named where the stream's events have names.
fn interrupt(refusal: &Refusal, script: &Script) -> Bytes {
    let first = script.steps.iter().find_map(|step| step.bytes());
    let named = first.is_some_and(|event| event.starts_with(b"event: "));
    let event = call::event(&refusal.body());
    if named { Bytes::from([b"event: error\n", &event[..]].concat()) } else { event }
}
