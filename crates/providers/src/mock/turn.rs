//! What a model does when its turn comes: it says something, or it calls a tool.

use super::call::Call;
use super::refusal::Refusal;
use super::said::{self, Said};

pub(super) enum Turn {
    Text(Said),
    /// The function that is called, with no arguments.
    Tool(String),
}

/// Which tool a request insists on.
pub(super) enum Choice<'a> {
    Free,
    /// Any, says `field`; the mock takes the first.
    Any {
        field: &'static str,
        first: Option<&'a str>,
    },
    Named(&'a str),
}

impl Turn {
    pub(super) fn take(
        call: &Call<'_>,
        heard: String,
        limit: Option<u64>,
        choice: Choice<'_>,
    ) -> Result<Turn, Refusal> {
        match choice {
            Choice::Named(name) | Choice::Any { first: Some(name), .. } => Ok(Turn::Tool(name.to_owned())),
            Choice::Any { field, first: None } => {
                Err(Refusal::of(field, format!("`{field}` insists on a tool but `tools` names no function")))
            }
            Choice::Free => Ok(Turn::Text(said::say(call.says, heard, limit))),
        }
    }

    /// The arguments of a tool call, `{}`, are one word.
    pub(super) fn words(&self) -> u64 {
        match self {
            Turn::Text(said) => said.words,
            Turn::Tool(_) => 1,
        }
    }

    /// The provider's word for why the turn ended.
    pub(super) fn finish(&self, finishes: &Finishes) -> &'static str {
        match self {
            Turn::Text(said) if said.cut => finishes.limit,
            Turn::Text(_) => finishes.end,
            Turn::Tool(_) => finishes.tool,
        }
    }
}

pub(super) struct Finishes {
    pub(super) end: &'static str,
    pub(super) limit: &'static str,
    pub(super) tool: &'static str,
}
