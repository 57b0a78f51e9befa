//! One request, understood as far as every endpoint needs it: its JSON, its model and how honest its usage shall be.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::ask::Ask;
use super::bill::{Bill, Tariff};
use super::intake::Receipt;
use super::refusal::Refusal;
use super::says::Says;
use super::script::Step;
use super::usage::{Honesty, Usage};
use super::words;

pub(super) struct Call<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) receipt: &'a Receipt,
    /// The name of the format in which it was asked.
    pub(super) format: &'static str,
    /// The model as it was asked for, in the path or the body.
    pub(super) model: Option<String>,
    /// The JSON; for a form its fields, without the files.
    pub(super) body: Map<String, Value>,
    pub(super) says: Says,
    pub(super) honesty: Honesty,
}

impl Call<'_> {
    pub(super) fn model(&self) -> Result<&str, Refusal> {
        self.model.as_deref().ok_or_else(|| Refusal::of("model", "you must provide a model"))
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

    /// A list with something in it.
    pub(super) fn list(&self, field: &str) -> Result<&[Value], Refusal> {
        match self.required(field)?.as_array() {
            Some(list) if !list.is_empty() => Ok(list),
            _ => Err(Refusal::of(field, format!("`{field}` must be a list with at least one entry"))),
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
        self.exact(prompt, completion).told(self.honesty)
    }

    /// What the answer costs, whatever it reports; a stream's completion is billed by its events.
    pub(super) fn bill(&self, prompt: u64, completion: u64) -> Bill {
        let Usage { prompt, completion } = self.exact(prompt, completion);
        let model = self.model.clone().unwrap_or_default();
        let tariff = Tariff::of(if self.says == Says::Cent { "cent" } else { "*" });
        Bill { format: self.format, model, tariff, input: prompt, output: completion, searches: 0 }
    }

    /// An event of a stream that tells a piece of the answer.
    pub(super) fn say(&self, event: Bytes, piece: &str) -> Step {
        let tokens = match self.says {
            // Its one token is billed with the head.
            Says::Cent => 0,
            Says::Echo | Says::Lorem(_) => words::count(piece),
        };
        Step::Say { event, tokens }
    }

    fn exact(&self, prompt: u64, completion: u64) -> Usage {
        match self.says {
            Says::Cent => Usage { prompt: 1, completion: 1 },
            Says::Echo | Says::Lorem(_) => Usage { prompt, completion },
        }
    }

    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.ask.id)
    }
}

/// One event without a name.
pub(super) fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

/// One event whose name is the `type` of its data.
pub(super) fn named_event(data: &Value) -> Bytes {
    let name = data["type"].as_str().unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
