//! The report: the same figures for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use testkit::load::{Histogram, Outcome};

use super::children::Resident;
use crate::cli::Bench;

/// What was found for one kind of call.
pub(super) struct Measured {
    pub(super) straight: Side,
    pub(super) gateway: Side,
    /// Of the gateway, while it was busy.
    pub(super) cpu: Option<Duration>,
    pub(super) rate: f64,
}

pub(super) struct Side {
    pub(super) busy: Outcome,
    pub(super) paced: Outcome,
}

#[derive(Serialize)]
pub(super) struct Report {
    version: &'static str,
    optimised: bool,
    cores: usize,
    seconds: u64,
    connections: u16,
    /// The gateway that was measured: `own`, or its URL.
    gateway: String,
    plain: Kind,
    stream: Kind,
    memory_kb: Option<Memory>,
}

#[derive(Serialize)]
struct Kind {
    calls_per_second: Pair,
    cpu_us_per_call: Option<f64>,
    rate: f64,
    latency_ms: Percentiles,
    first_byte_ms: Percentiles,
    #[serde(skip)]
    streamed: bool,
    calls: Calls,
    errors: Errors,
}

#[derive(Serialize)]
struct Pair {
    straight: f64,
    gateway: f64,
}

#[derive(Serialize)]
struct Percentiles {
    p50: Added,
    p99: Added,
    #[serde(rename = "p99.9")]
    p999: Added,
}

#[derive(Serialize)]
struct Added {
    straight: f64,
    gateway: f64,
    added: f64,
}

/// How many were measured, as fast as possible and at the constant rate.
#[derive(Serialize)]
struct Calls {
    straight: [u64; 2],
    gateway: [u64; 2],
}

#[derive(Serialize)]
struct Errors {
    straight: BTreeMap<String, u64>,
    gateway: BTreeMap<String, u64>,
}

#[derive(Serialize)]
pub(super) struct Memory {
    before: u64,
    peak: u64,
    after: u64,
}

impl Memory {
    pub(super) fn new(before: Resident, after: Resident) -> Memory {
        Memory { before: before.now, peak: after.peak, after: after.now }
    }
}

impl Report {
    pub(super) fn new(bench: &Bench, plain: Measured, stream: Measured, memory: Option<Memory>) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            seconds: bench.seconds,
            connections: bench.connections,
            gateway: bench.url.clone().unwrap_or_else(|| "own".to_owned()),
            plain: Kind::new(&plain, false),
            stream: Kind::new(&stream, true),
            memory_kb: memory,
        }
    }

    pub(super) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub(super) fn text(&self) -> String {
        let cores = if self.cores == 1 { "1 core".to_owned() } else { format!("{} cores", self.cores) };
        let mut text = format!("\nGatehouse {}, {cores}, {} s of measuring\n", self.version, self.seconds);
        text += "Compared: a call straight to a mock provider, and the same call to the same mock through ";
        text += &match self.gateway.as_str() {
            "own" => "a gateway with\nits defaults (key check, guard, metrics, a log line for each call).".to_owned(),
            url => format!("the gateway at\n{url}."),
        };
        text += " Mock, gateway and callers share the cores.\n";
        if !self.optimised {
            text += "This is an unoptimised build: its figures say nothing about a release.\n";
        }
        self.plain.tell("Plain calls", self.connections, &mut text);
        self.stream.tell("Streams of 50 events", self.connections, &mut text);
        text += "\nMemory of the gateway\n";
        text += &match &self.memory_kb {
            Some(Memory { before, peak, after }) => {
                let mb = |kilobytes: &u64| *kilobytes as f64 / 1024.0;
                format!("  {:.1} MB before, {:.1} MB at most, {:.1} MB after\n", mb(before), mb(peak), mb(after))
            }
            None => "  not available\n".to_owned(),
        };
        text + "\n"
    }
}

impl Kind {
    fn new(measured: &Measured, streamed: bool) -> Kind {
        let Measured { straight, gateway, cpu, rate } = measured;
        let calls = |side: &Side| [side.busy.calls, side.paced.calls];
        let answered = gateway.busy.calls.max(1) as f64;
        Kind {
            calls_per_second: Pair {
                straight: rounded(straight.busy.throughput()),
                gateway: rounded(gateway.busy.throughput()),
            },
            cpu_us_per_call: cpu.map(|cpu| rounded(cpu.as_secs_f64() * 1e6 / answered)),
            rate: *rate,
            latency_ms: Percentiles::new(&straight.paced.whole, &gateway.paced.whole),
            first_byte_ms: Percentiles::new(&straight.paced.first, &gateway.paced.first),
            streamed,
            calls: Calls { straight: calls(straight), gateway: calls(gateway) },
            errors: Errors { straight: errors(straight), gateway: errors(gateway) },
        }
    }

    fn tell(&self, title: &str, connections: u16, text: &mut String) {
        let how = format!("{connections} connections at full speed; latency at {} a second", self.rate);
        *text += &format!("\n{title} ({how})\n");
        let mut row = |name: &str, straight: &str, gateway: &str, added: &str| {
            let line = format!("  {name:<22}{straight:>12}{gateway:>12}{added:>12}");
            *text += line.trim_end();
            text.push('\n');
        };
        row("", "straight", "gateway", "added");
        let Pair { straight, gateway } = &self.calls_per_second;
        row("calls a second", &format!("{straight:.0}"), &format!("{gateway:.0}"), "");
        let cpu = self.cpu_us_per_call.map_or("n/a".to_owned(), |cpu| format!("{cpu:.0} µs"));
        row("CPU a call", "", &cpu, "");
        for (what, percentiles) in self.shown() {
            for (name, at) in [("p50", &percentiles.p50), ("p99", &percentiles.p99), ("p99.9", &percentiles.p999)] {
                let ms = |time: f64| format!("{time:.2} ms");
                if name != "p99.9" || self.enough_for_tails() {
                    row(&format!("{what}{name}"), &ms(at.straight), &ms(at.gateway), &format!("{:+.2} ms", at.added));
                }
            }
        }
        for (whose, errors) in [("straight", &self.errors.straight), ("gateway", &self.errors.gateway)] {
            for (kind, count) in errors {
                row(&format!("errors, {whose}: {count} × {kind}"), "", "", "");
            }
        }
        if !self.enough_for_tails() {
            row("p99.9 is left out: it needs 1000 calls; measure longer or with a higher `--rate`", "", "", "");
        }
        if self.rate > gateway * 0.7 {
            row("the rate is near what can be done here, so calls queue; choose a lower `--rate`", "", "", "");
        }
    }

    /// The first byte says something of its own for streams only.
    fn shown(&self) -> impl Iterator<Item = (&'static str, &Percentiles)> {
        let first = self.streamed.then_some(("first byte ", &self.first_byte_ms));
        first.into_iter().chain([(if self.streamed { "whole " } else { "" }, &self.latency_ms)])
    }

    fn enough_for_tails(&self) -> bool {
        self.calls.straight[1].min(self.calls.gateway[1]) >= 1000
    }
}

impl Percentiles {
    fn new(straight: &Histogram, gateway: &Histogram) -> Percentiles {
        let added = |of_hundred: f64| {
            let ms = |histogram: &Histogram| histogram.percentile(of_hundred).as_secs_f64() * 1e3;
            let (straight, gateway) = (ms(straight), ms(gateway));
            Added { straight: rounded(straight), gateway: rounded(gateway), added: rounded(gateway - straight) }
        };
        Percentiles { p50: added(50.0), p99: added(99.0), p999: added(99.9) }
    }
}

fn errors(side: &Side) -> BTreeMap<String, u64> {
    let mut errors = BTreeMap::new();
    for (wrong, count) in side.busy.wrong.iter().chain(&side.paced.wrong) {
        *errors.entry(wrong.to_string()).or_default() += count;
    }
    errors
}

/// To three places: the clock is not better than that.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use testkit::load::Wrong;

    use super::*;

    fn outcome(ms: u64) -> Outcome {
        let mut outcome = Outcome { calls: 1000, elapsed: Duration::from_secs(1), ..Outcome::default() };
        (0..1000).for_each(|_| outcome.whole.record(Duration::from_millis(ms)));
        outcome.first = outcome.whole.clone();
        outcome
    }

    fn report(wrong: bool) -> Report {
        let bench = Bench { seconds: 20, connections: 16, rate: 500, url: None, key: None, json: false };
        let measured = || {
            let side = |ms| Side { busy: outcome(ms), paced: outcome(ms) };
            let mut gateway = side(3);
            gateway.paced.wrong.extend(wrong.then_some((Wrong::Status(502), 7)));
            Measured { straight: side(1), gateway, cpu: Some(Duration::from_millis(150)), rate: 500.0 }
        };
        let memory = Memory::new(Resident { now: 20480, peak: 20480 }, Resident { now: 30720, peak: 40960 });
        Report::new(&bench, measured(), measured(), Some(memory))
    }

    #[test]
    fn the_report_says_what_was_compared_and_what_was_added() {
        let text = report(false).text();
        for part in ["straight to a mock", "+2.00 ms", "150 µs", "20.0 MB before, 40.0 MB at most, 30.0 MB after"] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        for part in ["errors", "queue", "left out"] {
            assert!(!text.contains(part), "`{part}` is in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }

    #[test]
    fn figures_that_would_mislead_are_marked() {
        let mut report = report(false);
        report.plain.calls.gateway[1] = 999;
        report.stream.rate = 900.0;
        let text = report.text();
        assert!(text.contains("p99.9 is left out") && text.contains("calls queue"), "{text}");
    }

    #[test]
    fn errors_are_never_left_out() {
        let report = report(true);
        assert!(report.text().contains("errors, gateway: 7 × status_502"), "{}", report.text());
        assert!(report.json().unwrap().contains("\"status_502\": 7"));
    }
}
