//! Embeddings that depend on the text alone. Texts that share words lie close to each other, so that a semantic cache in
//! front of the mock has something to find; a small share of the whole text keeps different texts apart.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::call::Call;
use super::heard;
use super::refusal::Refusal;
use super::script::Script;
use super::words;

const DIMENSIONS: u64 = 8;
/// Numbers in one answer, over all inputs.
const NUMBERS_LIMIT: u64 = 1_000_000;

pub(super) fn answer(call: &Call<'_>) -> Result<Script, Refusal> {
    let model = call.model()?;
    let texts = heard::inputs("input", call.required("input")?)?;
    let dimensions = dimensions("dimensions", call.number("dimensions", 1)?, texts.len())?;
    let write = match call.text("encoding_format") {
        None | Some("float") => floats,
        Some("base64") => packed,
        Some(_) => return Err(Refusal::of("encoding_format", "`encoding_format` is `float` or `base64`")),
    };
    let entries = texts.iter().enumerate().map(
        |(index, text)| json!({"object": "embedding", "index": index, "embedding": write(&vector(text, dimensions))}),
    );
    let mut body = json!({"object": "list", "data": entries.collect::<Vec<_>>(), "model": model});
    let prompt = texts.iter().map(|text| words::count(text)).sum();
    if let Some(usage) = call.usage(prompt, 0) {
        body["usage"] = usage.in_embeddings();
    }
    Ok(Script::json(200, &body).billed(call.bill(prompt, 0)))
}

/// How many numbers each of `count` vectors has; `asked` stands in `field`.
pub(super) fn dimensions(field: &str, asked: Option<u64>, count: usize) -> Result<usize, Refusal> {
    let dimensions = asked.unwrap_or(DIMENSIONS);
    if dimensions.saturating_mul(count as u64) > NUMBERS_LIMIT {
        return Err(Refusal::of(field, "the answer would be larger than the mock makes"));
    }
    Ok(dimensions as usize)
}

fn floats(vector: &[f32]) -> Value {
    json!(vector)
}

pub(super) fn packed(vector: &[f32]) -> Value {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    json!(STANDARD.encode(bytes))
}

/// A vector of length one.
pub(super) fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimensions];
    add(&mut sum, text, 0.01);
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        add(&mut sum, &word.to_lowercase(), 1.0);
    }
    let length = sum.iter().map(|number| number * number).sum::<f64>().sqrt();
    sum.iter().map(|number| (number / length) as f32).collect()
}

/// Adds the direction that belongs to `seed`: hash after hash, four bytes a number.
fn add(sum: &mut [f64], seed: &str, weight: f64) {
    for (block, numbers) in sum.chunks_mut(8).enumerate() {
        let hash = Sha256::new().chain_update((block as u64).to_le_bytes()).chain_update(seed).finalize();
        for (number, bytes) in numbers.iter_mut().zip(hash.chunks(4)) {
            let word = bytes.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
            *number += weight * (f64::from(word) / f64::from(u32::MAX) * 2.0 - 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closeness(a: &str, b: &str) -> f32 {
        vector(a, 64).iter().zip(vector(b, 64)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_same_text_has_the_same_vector_of_length_one() {
        assert_eq!(vector("hello", 8), vector("hello", 8));
        assert!((closeness("hello there", "hello there") - 1.0).abs() < 1e-5);
        assert_ne!(vector("a b", 8), vector("b a", 8));
    }

    #[test]
    fn texts_that_share_words_lie_close() {
        let (question, same) = ("What is the capital of France?", "what is the capital of france");
        assert!(closeness(question, same) > 0.99);
        assert!(closeness(question, "Write a poem about rain") < 0.5);
    }

    #[test]
    fn the_packed_form_holds_the_same_numbers() {
        let vector = vector("hello", 3);
        let text = packed(&vector);
        let bytes = STANDARD.decode(text.as_str().expect("a text")).expect("base64");
        let numbers: Vec<f32> = bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert_eq!(numbers, vector);
    }
}
