//! Text completions, the older form: a prompt or several, and a text for each.

use bytes::Bytes;
use serde_json::{Value, json};

use super::call::{Call, event};
use super::heard;
use super::refusal::Refusal;
use super::said::{self, Said};
use super::script::Script;
use super::words;

struct Answer<'a> {
    call: &'a Call<'a>,
    model: &'a str,
    /// One for each choice.
    said: Vec<Said>,
    prompt_words: u64,
}

pub(super) fn answer(call: &Call<'_>) -> Result<Script, Refusal> {
    let model = call.model()?;
    let prompts = heard::inputs("prompt", call.required("prompt")?)?;
    let prompt_words = prompts.iter().map(|prompt| words::count(prompt)).sum();
    let (n, limit) = (said::choices(call)?, call.number("max_tokens", 0)?);
    let once: Vec<Said> = prompts.into_iter().map(|prompt| said::say(call.says, prompt, limit)).collect();
    said::bounded(once.iter(), n, call.flag("stream"))?;
    let said = once.into_iter().flat_map(|said| std::iter::repeat_n(said, n as usize)).collect();
    let answer = Answer { call, model, said, prompt_words };
    Ok(if call.flag("stream") { answer.streamed() } else { answer.whole() })
}

impl Answer<'_> {
    fn whole(&self) -> Script {
        let choices = self.said.iter().enumerate();
        let choices = choices.map(|(index, said)| choice(index, &said.text, Some(said.finish()))).collect();
        let mut body = self.frame(choices);
        if let Some(usage) = self.usage() {
            body["usage"] = usage;
        }
        Script::json(200, &body).billed(self.call.bill(self.prompt_words, self.words()))
    }

    fn streamed(&self) -> Script {
        let pieces: Vec<Vec<&str>> = self.said.iter().map(Said::pieces).collect();
        let longest = pieces.iter().map(Vec::len).max().unwrap_or(0);
        let mut events = Vec::new();
        for at in 0..longest {
            for (index, pieces) in pieces.iter().enumerate() {
                let piece = pieces.get(at);
                events.extend(piece.map(|piece| self.call.say(self.chunk(choice(index, piece, None)), piece)));
            }
        }
        let finished = self.said.iter().enumerate().map(|(index, said)| choice(index, "", Some(said.finish())));
        events.extend(finished.map(|choice| self.chunk(choice).into()));
        if let Some(usage) = self.usage().filter(|_| self.call.wants_usage()) {
            let mut last = self.frame(Vec::new());
            last["usage"] = usage;
            events.push(event(&last).into());
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n").into());
        Script::events(events).billed(self.call.bill(self.prompt_words, 0))
    }

    fn chunk(&self, choice: Value) -> Bytes {
        let mut chunk = self.frame(vec![choice]);
        if self.call.wants_usage() {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    }

    fn frame(&self, choices: Vec<Value>) -> Value {
        json!({
            "id": self.call.id("cmpl-mock-"),
            "object": "text_completion",
            "created": self.call.ask.now,
            "model": self.model,
            "choices": choices,
        })
    }

    fn usage(&self) -> Option<Value> {
        self.call.usage(self.prompt_words, self.words()).map(|usage| usage.in_chat())
    }

    fn words(&self) -> u64 {
        self.said.iter().map(|said| said.words).sum()
    }
}

fn choice(index: usize, text: &str, finish: Option<&str>) -> Value {
    json!({"text": text, "index": index, "logprobs": null, "finish_reason": finish})
}
