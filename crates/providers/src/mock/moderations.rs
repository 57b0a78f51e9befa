//! Moderations: a text is flagged in a category when it contains the category's name.

use serde_json::{Map, Value, json};

use super::call::Call;
use super::heard;
use super::refusal::Refusal;
use super::script::Script;

const CATEGORIES: &[&str] = &["harassment", "hate", "illicit", "self-harm", "sexual", "violence"];

pub(super) fn answer(call: &Call<'_>) -> Result<Script, Refusal> {
    let results: Vec<Value> = match call.required("input")? {
        Value::String(text) => vec![judge(text)],
        Value::Array(list) if list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).map(judge).collect()
        }
        // Parts of one message: text and images.
        list @ Value::Array(_) => vec![judge(&heard::texts(Some(list)).join("\n"))],
        _ => return Err(Refusal::of("input", "`input` must be a text, texts or parts")),
    };
    let model = call.text("model").unwrap_or("omni-moderation-latest");
    Ok(Script::json(200, &json!({"id": call.id("modr-mock-"), "model": model, "results": results})))
}

fn judge(text: &str) -> Value {
    let text = text.to_lowercase();
    let (mut categories, mut scores) = (Map::new(), Map::new());
    for category in CATEGORIES {
        let found = text.contains(category);
        categories.insert((*category).to_owned(), found.into());
        scores.insert((*category).to_owned(), if found { 0.99 } else { 0.01 }.into());
    }
    let flagged = categories.values().any(|found| found == true);
    json!({"flagged": flagged, "categories": categories, "category_scores": scores})
}
