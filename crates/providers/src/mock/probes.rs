//! Paths that are no API of anyone: they show what arrived, or send what is easy to check.

use serde_json::{Value, json};

use super::ask::Ask;
use super::intake::Receipt;
use super::refusal::Refusal;
use super::script::{Script, Step};

const SHOWN_LIMIT: u64 = 64 * 1024;

/// So many bytes of filler.
pub(super) fn bytes(count: &str) -> Result<Script, Refusal> {
    let Ok(count) = count.parse() else {
        return Err(Refusal::bad(format!("`/bytes/{count}` needs a number of bytes")));
    };
    Ok(Script::new(200, "application/octet-stream", vec![Step::Fill { count }]))
}

pub(super) fn status(code: &str) -> Result<Script, Refusal> {
    match code.parse() {
        Ok(code @ (204 | 205 | 304)) => Ok(Script::bare(code)),
        Ok(code @ 200..400) => Ok(Script::json(code, &json!({"object": "mock.status", "status": code}))),
        Ok(code @ 400..600) => Ok(Refusal::with_status(code).script()),
        _ => Err(Refusal::bad(format!("`/status/{code}` needs a status from 200 to 599"))),
    }
}

/// The request, told back.
pub(super) fn echo(ask: &Ask<'_>, receipt: &Receipt) -> Script {
    let mut body = json!({
        "object": "mock.echo",
        "method": ask.method,
        "path": ask.path,
        "query": ask.query,
        "content_type": ask.content_type(),
        "bytes": receipt.bytes,
        "sha256": receipt.sha256,
    });
    let is_whole = receipt.bytes == ask.body.len() as u64 && receipt.bytes < SHOWN_LIMIT;
    if let Some(shown) = is_whole.then(|| serde_json::from_slice::<Value>(ask.body).ok()).flatten() {
        body["body"] = shown;
    }
    Script::json(200, &body)
}
