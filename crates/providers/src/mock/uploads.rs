//! Endpoints that take a form with a file. The answer tells what was found in it, so that a test can see that the bytes
//! arrived.

use serde_json::json;

use super::call::Call;
use super::multipart::Part;
use super::refusal::Refusal;
use super::script::Script;

pub(super) fn file(call: &Call<'_>) -> Result<Script, Refusal> {
    let file = file_part(call)?;
    Ok(Script::json(
        200,
        &json!({
            "id": call.id("file-mock-"),
            "object": "file",
            "bytes": file.bytes,
            "created_at": call.ask.now,
            "filename": file.filename,
            "purpose": call.text("purpose"),
            "status": "processed",
        }),
    ))
}

pub(super) fn transcription(call: &Call<'_>) -> Result<Script, Refusal> {
    heard(call, "transcribed")
}

pub(super) fn translation(call: &Call<'_>) -> Result<Script, Refusal> {
    heard(call, "translated")
}

fn heard(call: &Call<'_>, verb: &str) -> Result<Script, Refusal> {
    let file = file_part(call)?;
    let text = format!("{verb} {} {} bytes", file.filename.as_deref().unwrap_or_default(), file.bytes);
    Ok(match call.text("response_format") {
        Some("text") => Script::whole(200, "text/plain; charset=utf-8", format!("{text}\n")),
        _ => Script::json(200, &json!({"text": text})),
    })
}

fn file_part<'a>(call: &'a Call<'_>) -> Result<&'a Part, Refusal> {
    let file = call.receipt.parts.iter().find(|part| part.filename.is_some());
    file.ok_or_else(|| Refusal::of("file", "the form has no file"))
}
