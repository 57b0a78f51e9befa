//! The list of models: each documented name, with 16 where it takes a number, 429 where that is a status.

use serde_json::{Value, json};

use super::model::MODELS;
use super::script::Script;

pub(super) fn list() -> Script {
    let models: Vec<Value> = MODELS.iter().map(|(pattern, _)| entry(&example(pattern))).collect();
    Script::json(200, &json!({"object": "list", "data": models}))
}

/// Any name is a model: the mock has an answer for all of them.
pub(super) fn one(id: &str) -> Script {
    Script::json(200, &entry(id))
}

fn example(pattern: &str) -> String {
    match pattern.split_once('<') {
        Some((prefix, "status>")) => format!("{prefix}429"),
        Some((prefix, _)) => format!("{prefix}16"),
        None => pattern.to_owned(),
    }
}

fn entry(id: &str) -> Value {
    // The first second of 2025: a model does not change between two calls.
    json!({"id": id, "object": "model", "created": 1_735_689_600, "owned_by": "mock"})
}
