//! What the mock would bill: a line for each format and model, from the prices of `providers::mock::TARIFFS`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use providers::mock::{Bill, Tariff};
use serde_json::{Value, json};

/// Callers choose the names of models: beyond these bounds they share one line.
const LINES: usize = 10_000;
const NAME_BYTES: usize = 256;
const OTHERS: &str = "(others)";

#[derive(Default)]
pub(crate) struct Invoice {
    lines: Mutex<BTreeMap<(&'static str, String), Arc<Line>>>,
}

#[derive(Default)]
struct Line {
    calls: AtomicU64,
    input: AtomicU64,
    output: AtomicU64,
    searches: AtomicU64,
    /// In nano-dollars.
    cost: AtomicU64,
}

/// Where a stream puts what it tells. After the invoice is cleared, nobody reads it any more.
pub(crate) struct Tab {
    line: Arc<Line>,
    tariff: &'static Tariff,
}

impl Invoice {
    /// Writes down what is known at the head of an answer.
    pub(crate) fn open(&self, bill: &Bill) -> Tab {
        let (line, tariff) = (self.line(bill), bill.tariff);
        let tokens = bill.input * tariff.input_token + bill.output * tariff.output_token;
        for (sum, count) in [
            (&line.calls, 1),
            (&line.input, bill.input),
            (&line.output, bill.output),
            (&line.searches, bill.searches),
            (&line.cost, tariff.call + tokens + bill.searches * tariff.search),
        ] {
            sum.fetch_add(count, Ordering::Relaxed);
        }
        Tab { line, tariff }
    }

    fn line(&self, bill: &Bill) -> Arc<Line> {
        let mut lines = self.lines.lock();
        let key = (bill.format, bill.model.clone());
        let fits = bill.model.len() <= NAME_BYTES && (lines.len() < LINES || lines.contains_key(&key));
        let key = if fits { key } else { (bill.format, OTHERS.to_owned()) };
        lines.entry(key).or_default().clone()
    }

    pub(crate) fn clear(&self) {
        self.lines.lock().clear();
    }

    pub(crate) fn tell(&self) -> Value {
        let mut total = [0; 5];
        let mut told = Vec::new();
        for ((format, model), line) in self.lines.lock().iter() {
            let sums = line.sums();
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
            let mut line = tell(sums);
            (line["format"], line["model"]) = (json!(format), json!(model));
            told.push(line);
        }
        json!({"lines": told, "total": tell(total)})
    }
}

impl Line {
    /// Calls, input, output, searches and what they cost.
    fn sums(&self) -> [u64; 5] {
        let sums = [&self.calls, &self.input, &self.output, &self.searches, &self.cost];
        sums.map(|sum| sum.load(Ordering::Relaxed))
    }
}

fn tell([calls, input, output, searches, cost]: [u64; 5]) -> Value {
    json!({"calls": calls, "input_tokens": input, "output_tokens": output, "search_units": searches,
        "cost_nano_usd": cost})
}

impl Tab {
    pub(crate) fn add_output(&self, tokens: u64) {
        self.line.output.fetch_add(tokens, Ordering::Relaxed);
        self.line.cost.fetch_add(tokens * self.tariff.output_token, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use providers::mock::TARIFFS;

    use super::*;

    fn bill(model: &str) -> Bill {
        let tariff = &TARIFFS[if model == "cent" { 0 } else { 1 }];
        Bill { format: "openai", model: model.to_owned(), tariff, input: 3, output: 2, searches: 0 }
    }

    #[test]
    fn a_line_sums_its_calls_and_costs_what_the_tariff_says() {
        let invoice = Invoice::default();
        invoice.open(&bill("echo")).add_output(5);
        invoice.open(&bill("echo"));
        invoice.open(&bill("cent"));
        let told = invoice.tell();
        assert_eq!(
            told["lines"][1],
            json!({"calls": 2, "input_tokens": 6, "output_tokens": 9, "search_units": 0, "cost_nano_usd": 24_000,
                "format": "openai", "model": "echo"})
        );
        assert_eq!(told["lines"][0]["cost_nano_usd"], 10_000_000);
        assert_eq!(told["total"]["cost_nano_usd"], 10_024_000);
    }

    #[test]
    fn what_is_told_after_the_invoice_was_cleared_is_not_on_the_next() {
        let invoice = Invoice::default();
        let tab = invoice.open(&bill("echo"));
        invoice.clear();
        tab.add_output(5);
        assert_eq!(invoice.tell()["lines"], json!([]));
    }

    #[test]
    fn endless_names_share_one_line() {
        let invoice = Invoice::default();
        (0..LINES + 5).for_each(|n| drop(invoice.open(&bill(&n.to_string()))));
        invoice.open(&bill(&"x".repeat(NAME_BYTES + 1)));
        let told = invoice.tell();
        assert_eq!(told["lines"].as_array().map(Vec::len), Some(LINES + 1));
        assert_eq!((&told["lines"][0]["model"], &told["lines"][0]["calls"]), (&json!(OTHERS), &json!(6)));
    }
}
