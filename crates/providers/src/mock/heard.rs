//! What the model hears: the texts in a request.

use serde_json::Value;

use super::refusal::Refusal;
use super::words;

/// The texts of a message's content: a string, or the text parts of a list.
pub(super) fn texts(content: Option<&Value>) -> Vec<&str> {
    match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts.iter().flat_map(part).collect(),
        _ => Vec::new(),
    }
}

/// The text of a part, or the texts of the tool's result that it holds, as Anthropic or Bedrock writes one.
fn part(part: &Value) -> Vec<&str> {
    match part.get("text") {
        Some(text) => text.as_str().into_iter().collect(),
        None => texts(part.get("toolResult").unwrap_or(part).get("content")),
    }
}

/// A conversation as the mock hears it: the words of all of it, and what the user said last.
pub(super) fn hear(messages: &[Value]) -> (u64, String) {
    hear_in("content", messages)
}

/// As `hear`, where a message's texts stand in another field. Without a role it is the user's.
pub(super) fn hear_in(field: &str, messages: &[Value]) -> (u64, String) {
    let words = messages.iter().flat_map(|message| texts(message.get(field))).map(words::count).sum();
    let is_users = |message: &&Value| message.get("role").is_none_or(|role| role == "user");
    let heard = messages.iter().rfind(is_users).or(messages.last());
    (words, heard.map(|message| texts(message.get(field)).join("\n")).unwrap_or_default())
}

/// Texts out of a string, a list of strings, a list of tokens or a list of such lists. A token's text is its number.
pub(super) fn inputs(field: &str, value: &Value) -> Result<Vec<String>, Refusal> {
    let bad = || Refusal::of(field, format!("`{field}` must be a text, texts, tokens or lists of tokens"));
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(list) if list.is_empty() => Err(bad()),
        Value::Array(list) if list.iter().all(Value::is_u64) => Ok(vec![tokens(list)]),
        Value::Array(list) => list
            .iter()
            .map(|item| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Array(list) if list.iter().all(Value::is_u64) => Ok(tokens(list)),
                _ => Err(bad()),
            })
            .collect(),
        _ => Err(bad()),
    }
}

fn tokens(list: &[Value]) -> String {
    list.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_user_message_is_heard_and_every_text_is_counted() {
        let messages = [
            json!({"role": "system", "content": "be kind"}),
            json!({"role": "user", "content": [{"type": "text", "text": "look at"}, {"type": "image_url"},
                {"type": "text", "text": "this"}]}),
            json!({"role": "assistant", "content": null}),
        ];
        assert_eq!(hear(&messages), (5, "look at\nthis".to_owned()));
    }
}
