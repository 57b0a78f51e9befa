//! The config object of a request, as far as it is built: one target without a strategy.
//!
//! What the contract knows and this build does not yet is told apart from what nobody knows: the first is a refusal
//! that names it (never silence), the second a warning, because a newer client may know more than we do.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::secret::Secret;

/// A single target.
#[derive(Debug, Default)]
pub struct Target {
    pub provider: Option<String>,
    pub api_key: Option<Secret>,
    pub custom_host: Option<String>,
    pub virtual_key: Option<String>,
    pub request_timeout_ms: Option<u64>,
    pub forward_headers: Option<Vec<String>>,
    pub strict_open_ai_compliance: Option<bool>,
    /// Body fields that are forced; each value is JSON text.
    pub override_params: Vec<(String, String)>,
    /// Options of the provider, under the names their headers have.
    pub options: Vec<(&'static str, String)>,
    /// Keys nobody knows.
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadConfig {
    NotJson,
    /// The form of an earlier generation.
    Legacy,
    /// `path: …, message: …`, one for each fault.
    Invalid(Vec<String>),
    /// Valid, but this build lacks what the named key asks for.
    NotYet(&'static str),
}

/// Keys of the contract that this build refuses by name, and what each one would do.
const NOT_YET: &[(&str, &str)] = &[
    ("strategy", "routing strategies (`strategy`)"),
    ("targets", "several targets (`targets`)"),
    ("retry", "retries (`retry`)"),
    ("cache", "the response cache (`cache`)"),
    ("cb_config", "circuit breakers (`cb_config`)"),
    ("default_params", "default parameters (`default_params`)"),
    ("drop_params", "dropped parameters (`drop_params`)"),
    ("before_request_hooks", "guardrails (`before_request_hooks`)"),
    ("after_request_hooks", "guardrails (`after_request_hooks`)"),
    ("input_guardrails", "guardrails (`input_guardrails`)"),
    ("output_guardrails", "guardrails (`output_guardrails`)"),
    ("input_mutators", "guardrails (`input_mutators`)"),
    ("output_mutators", "guardrails (`output_mutators`)"),
    ("prompt_id", "stored prompts (`prompt_id`)"),
    ("passthrough", "pass-through targets (`passthrough`)"),
    ("fetch_integrated_models", "the model catalogue (`fetch_integrated_models`)"),
    ("deployments", "deployments by alias (`deployments`)"),
    ("hedge", "hedged calls (`hedge`)"),
    ("resource_name", "options of Azure (`resource_name`)"),
    ("deployment_id", "options of Azure (`deployment_id`)"),
    ("api_version", "options of Azure (`api_version`)"),
    ("snowflake_account", "options of Cortex (`snowflake_account`)"),
    ("huggingface_base_url", "options of Hugging Face (`huggingface_base_url`)"),
    ("mistral_fim_completion", "options of Mistral (`mistral_fim_completion`)"),
];

/// Beginnings of the option keys of providers that have no row yet.
const NOT_YET_OPTIONS: &[(&str, &str)] = &[
    ("azure_", "options of Azure (`azure_…`)"),
    ("aws_", "options of AWS (`aws_…`)"),
    ("amz_", "options of AWS (`amz_…`)"),
    ("amzn_", "options of SageMaker (`amzn_…`)"),
    ("vertex_", "options of Vertex AI (`vertex_…`)"),
    ("anthropic_", "options of Anthropic (`anthropic_…`)"),
    ("workers_ai_", "options of Workers AI (`workers_ai_…`)"),
    ("fireworks_", "options of Fireworks (`fireworks_…`)"),
    ("stability_", "options of Stability (`stability_…`)"),
    ("oracle_", "options of Oracle (`oracle_…`)"),
];

/// Options whose provider is built: config key, and name of the header.
const OPTIONS: &[(&str, &str)] = &[
    ("openai_organization", "openai-organization"),
    ("openai_project", "openai-project"),
    ("openai_beta", "openai-beta"),
];

/// Reads an inline config.
pub fn inline(text: &str) -> Result<Target, BadConfig> {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return Err(BadConfig::NotJson) };
    if object.contains_key("options") {
        return Err(BadConfig::Legacy);
    }
    let mut reader = Reader { object, faults: Vec::new() };
    let target = Target {
        provider: reader.text("provider"),
        api_key: reader.text("api_key").map(Secret::new),
        custom_host: reader.text("custom_host"),
        virtual_key: reader.text("virtual_key"),
        request_timeout_ms: reader.number("request_timeout"),
        forward_headers: reader.texts("forward_headers"),
        strict_open_ai_compliance: reader.flag("strict_open_ai_compliance"),
        override_params: override_params(text),
        options: OPTIONS.iter().filter_map(|(key, name)| Some((*name, reader.text(key)?))).collect(),
        unknown: Vec::new(),
    };
    reader.object_only("override_params");
    reader.ignore(&["name", "weight"]);
    if !reader.faults.is_empty() {
        return Err(BadConfig::Invalid(reader.faults));
    }
    for (key, what) in NOT_YET {
        match reader.object.shift_remove(*key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) if items.is_empty() => {}
            Some(_) => return Err(BadConfig::NotYet(what)),
        }
    }
    let option = |key: &String| NOT_YET_OPTIONS.iter().find(|(beginning, _)| key.starts_with(beginning));
    if let Some((_, what)) = reader.object.keys().find_map(option) {
        return Err(BadConfig::NotYet(what));
    }
    Ok(Target { unknown: reader.object.into_iter().map(|(key, _)| key).collect(), ..target })
}

/// The fields of `override_params` as they are written: no digit of a number is lost. Of a repeated one the last holds.
fn override_params(text: &str) -> Vec<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Config<'a> {
        #[serde(borrow, default)]
        override_params: Option<&'a RawValue>,
    }
    let config: Option<Config<'_>> = serde_json::from_str(text).ok();
    let raw = config.and_then(|config| config.override_params).map(RawValue::get).unwrap_or("{}");
    let Ok(Value::Object(names)) = serde_json::from_str(raw) else { return Vec::new() };
    let Ok(mut fields) = serde_json::from_str::<HashMap<String, &RawValue>>(raw) else { return Vec::new() };
    names.into_iter().filter_map(|(name, _)| fields.remove(&name).map(|value| (name, value.get().to_owned()))).collect()
}

/// Takes keys out of an object and notes those of the wrong type.
struct Reader {
    object: Map<String, Value>,
    faults: Vec<String>,
}

impl Reader {
    fn take<T>(&mut self, key: &str, expected: &str, read: impl FnOnce(Value) -> Result<T, Value>) -> Option<T> {
        match self.object.shift_remove(key)? {
            Value::Null => None,
            value => match read(value) {
                Ok(value) => Some(value),
                Err(value) => {
                    self.faults.push(format!("path: {key}, message: Expected {expected}, received {}", kind(&value)));
                    None
                }
            },
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, "string", |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        self.take(key, "boolean", |value| value.as_bool().ok_or(value))
    }

    fn number(&mut self, key: &str) -> Option<u64> {
        self.take(key, "a whole number above zero", |value| value.as_u64().filter(|number| *number > 0).ok_or(value))
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        self.take(key, "array of strings", |value| {
            let items =
                value.as_array().map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
            items.flatten().ok_or(value)
        })
    }

    /// Read elsewhere; here only its type is judged.
    fn object_only(&mut self, key: &str) {
        self.take(key, "object", |value| if value.is_object() { Ok(()) } else { Err(value) });
    }

    fn ignore(&mut self, keys: &[&str]) {
        for key in keys {
            self.object.shift_remove(*key);
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_target_is_read() {
        let target = inline(
            r#"{"provider":"openai","api_key":"sk-canary","custom_host":"http://h/v1","request_timeout":500,
                "forward_headers":["X-A"],"override_params":{"model":"m","temperature":0.10},"brand_new":1}"#,
        )
        .unwrap();
        assert_eq!(target.provider.as_deref(), Some("openai"));
        assert_eq!(target.request_timeout_ms, Some(500));
        assert_eq!(target.override_params[0], ("model".into(), "\"m\"".into()));
        assert_eq!(target.unknown, ["brand_new"]);
        assert!(!format!("{target:?}").contains("canary"));
    }

    #[test]
    fn wrong_types_are_all_named_with_their_path() {
        let Err(BadConfig::Invalid(faults)) = inline(r#"{"provider":4,"request_timeout":"x","forward_headers":[1]}"#)
        else {
            panic!("accepted")
        };
        assert_eq!(faults[0], "path: provider, message: Expected string, received number");
        assert_eq!(faults.len(), 3);
    }

    #[test]
    fn whatever_is_not_built_is_refused_by_name() {
        for (key, what) in NOT_YET {
            let text = format!("{{\"provider\":\"openai\",\"{key}\":{{\"x\":1}}}}");
            assert_eq!(inline(&text).unwrap_err(), BadConfig::NotYet(what), "{key}");
            assert!(inline(&format!("{{\"{key}\":null}}")).is_ok());
        }
    }

    #[test]
    fn what_is_no_config_is_told_apart() {
        assert_eq!(inline("{nope").unwrap_err(), BadConfig::NotJson);
        assert_eq!(inline("[1]").unwrap_err(), BadConfig::NotJson);
        assert_eq!(inline(r#"{"options":[]}"#).unwrap_err(), BadConfig::Legacy);
    }
}
