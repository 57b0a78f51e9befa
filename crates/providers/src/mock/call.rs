//! One request, understood as far as every endpoint needs it: its JSON, its model and how honest its usage shall be.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::ask::Ask;
use super::intake::Receipt;
use super::model::Says;
use super::refusal::Refusal;
use super::usage::{Honesty, Usage};

pub(super) struct Call<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) receipt: &'a Receipt,
    /// The JSON; for a form its fields, without the files.
    pub(super) body: Map<String, Value>,
    pub(super) says: Says,
    pub(super) honesty: Honesty,
}

impl Call<'_> {
    /// The model as it was asked for.
    pub(super) fn model(&self) -> Result<&str, Refusal> {
        match self.body.get("model") {
            Some(Value::String(model)) => Ok(model),
            _ => Err(Refusal::of("model", "you must provide a model")),
        }
    }

    pub(super) fn flag(&self, field: &str) -> bool {
        self.body.get(field).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A stream shall end with its usage.
    pub(super) fn wants_usage(&self) -> bool {
        let options = self.body.get("stream_options");
        options.and_then(|options| options.get("include_usage")?.as_bool()).unwrap_or(false)
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str()
    }

    pub(super) fn required(&self, field: &str) -> Result<&Value, Refusal> {
        match self.body.get(field) {
            None | Some(Value::Null) => Err(Refusal::of(field, format!("`{field}` is missing"))),
            Some(value) => Ok(value),
        }
    }

    /// A whole number from `least` on; null counts as absent.
    pub(super) fn number(&self, field: &str, least: u64) -> Result<Option<u64>, Refusal> {
        match self.body.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number >= least) {
                Some(number) => Ok(Some(number)),
                None => Err(Refusal::of(field, format!("`{field}` must be a whole number from {least} on"))),
            },
        }
    }

    /// What the answer reports as its usage; `None` when it reports none.
    pub(super) fn usage(&self, prompt: u64, completion: u64) -> Option<Usage> {
        let exact = match self.says {
            Says::Cent => Usage { prompt: 1, completion: 1 },
            Says::Echo | Says::Lorem(_) => Usage { prompt, completion },
        };
        exact.told(self.honesty)
    }

    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.ask.id)
    }
}

/// One event without a name.
pub(super) fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}
