//! Pictures and sound: the smallest valid ones.

use serde_json::{Value, json};

use super::call::Call;
use super::refusal::Refusal;
use super::said;
use super::script::Script;
use super::words;

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

pub(super) fn image(call: &Call<'_>) -> Result<Script, Refusal> {
    let Some(prompt) = call.required("prompt")?.as_str() else {
        return Err(Refusal::of("prompt", "`prompt` must be a text"));
    };
    let n = said::choices(call)?;
    Ok(pictures(call, words::count(prompt), n))
}

/// As `image`, for a form: the picture that was sent is not looked at.
pub(super) fn edited_image(call: &Call<'_>) -> Result<Script, Refusal> {
    Ok(pictures(call, call.text("prompt").map_or(0, words::count), 1))
}

fn pictures(call: &Call<'_>, prompt: u64, n: u64) -> Script {
    let pictures: Vec<Value> = (0..n).map(|_| json!({"b64_json": PNG})).collect();
    let mut body = json!({"created": call.ask.now, "data": pictures});
    if let Some(usage) = call.usage(prompt, n) {
        body["usage"] = usage.in_responses();
    }
    Script::json(200, &body).billed(call.bill(prompt, n))
}

pub(super) fn speech(call: &Call<'_>) -> Result<Script, Refusal> {
    if !call.required("input")?.is_string() {
        return Err(Refusal::of("input", "`input` must be a text"));
    }
    Ok(Script::whole(200, "audio/wav", wav()))
}

/// A tenth of a second of a square wave: one channel, 16 bits, 8 kHz.
fn wav() -> Vec<u8> {
    let samples = (0..800).flat_map(|at: i16| (if at / 10 % 2 == 0 { 1000i16 } else { -1000 }).to_le_bytes());
    let samples: Vec<u8> = samples.collect();
    let size = samples.len() as u32;
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + size).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16u32.to_le_bytes());
    // PCM, one channel.
    wav.extend([1, 0, 1, 0]);
    wav.extend(8000u32.to_le_bytes());
    wav.extend(16000u32.to_le_bytes());
    // Two bytes a frame, 16 bits a sample.
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(size.to_le_bytes());
    wav.extend(samples);
    wav
}
