//! `gatehouse bench`: what a gateway adds to a call, measured on this machine.
//!
//! Eight phases of equal length: plain calls and streams, as fast as possible and at a constant rate, straight to the mock
//! and through the gateway. Gateway and mock are processes of their own, so that the CPU time of the gateway is its alone;
//! the callers are in this one.

mod children;
mod report;

use std::io::{Write, stdout};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::json;
use testkit::load::{self, Ask, Expected, Outcome, Pace, Plan};

use crate::cli::{Bench, Common};
use crate::compose::Told;
use children::{Gateway, Mock};
use report::{Measured, Memory, Report, Side};

const PHASES: u32 = 8;
/// Callers at a constant rate may be so many at once before they wait for each other.
const AT_ONCE: usize = 512;
const TIMEOUT: Duration = Duration::from_secs(30);
/// What every call is answered with, in tokens; as many events in a stream.
const MODEL: &str = "lorem-50";

pub(crate) async fn run(bench: &Bench, common: &Common) -> Result<()> {
    if common.data.is_some() {
        bail!("`--data`: a measurement has a data folder of its own; leave it out");
    }
    let mut told = Told::new()?;
    tokio::select! {
        report = measure(bench, common) => {
            let report = report?;
            let text = if bench.json { report.json()? } else { report.text() };
            stdout().write_all(text.as_bytes()).context("the report cannot be written")
        }
        // What was started is ended on the way out.
        () = told.stop() => bail!("stopped before the end; nothing is reported"),
    }
}

async fn measure(bench: &Bench, common: &Common) -> Result<Report> {
    let mock = Mock::start()?;
    let gateway = match (&bench.url, &bench.key) {
        (Some(url), Some(key)) => Gateway::running(url, key)?,
        _ => Gateway::start(common)?,
    };
    let mut stage = Stage { bench, mock, gateway, phase: 0 };
    let before = stage.gateway.memory();
    let plain = stage.kind(Expected::Whole).await?;
    let stream = stage.kind(Expected::Stream).await?;
    let memory = before.zip(stage.gateway.memory()).map(|(before, after)| Memory::new(before, after));
    Ok(Report::new(bench, plain, stream, memory))
}

struct Stage<'a> {
    bench: &'a Bench,
    mock: Mock,
    gateway: Gateway,
    phase: u32,
}

impl Stage<'_> {
    /// The four phases of one kind of call.
    async fn kind(&mut self, answer: Expected) -> Result<Measured> {
        let connections = usize::from(self.bench.connections);
        let busy = Pace::Closed { connections };
        let rate = f64::from(self.bench.rate) * if answer == Expected::Stream { 0.1 } else { 1.0 };
        let paced = Pace::Open { rate, connections: AT_ONCE };

        let straight = Side { busy: self.straight(answer, busy).await?, paced: self.straight(answer, paced).await? };
        self.warm(self.through(answer)?, "through the gateway").await?;
        let cpu = self.gateway.cpu();
        let busy = self.phase(self.through(answer)?, busy, "through the gateway").await;
        let cpu = cpu.zip(self.gateway.cpu()).map(|(before, after)| after.saturating_sub(before));
        let paced = self.phase(self.through(answer)?, paced, "through the gateway").await;
        Ok(Measured { straight, gateway: Side { busy, paced }, cpu, rate })
    }

    async fn straight(&mut self, answer: Expected, pace: Pace) -> Result<Outcome> {
        let ask = Ask { url: self.mock.url()?, headers: json_headers(), body: body(answer), answer };
        self.warm(ask.clone(), "straight to the mock").await?;
        Ok(self.phase(ask, pace, "straight to the mock").await)
    }

    /// As a caller of OpenAI would ask, with the mock in the place of OpenAI.
    fn through(&self, answer: Expected) -> Result<Ask> {
        let mut headers = json_headers();
        let mut set = |name: &'static str, value: &str| -> Result<()> {
            let value = HeaderValue::from_str(value).with_context(|| format!("`{name}` cannot be a header"))?;
            headers.insert(HeaderName::from_static(name), value);
            Ok(())
        };
        set("x-gateway-api-key", self.gateway.key())?;
        set("x-gateway-provider", "openai")?;
        set("x-gateway-custom-host", &self.mock.base())?;
        Ok(Ask { url: self.gateway.url()?, headers, body: body(answer), answer })
    }

    fn length(&self) -> Duration {
        Duration::from_secs(self.bench.seconds) / PHASES
    }

    /// Opens what is opened once, and sees that there is something to measure.
    async fn warm(&self, ask: Ask, whereto: &str) -> Result<()> {
        let pace = Pace::Closed { connections: usize::from(self.bench.connections) };
        let time = (self.length() / 10).clamp(Duration::from_millis(20), Duration::from_millis(500));
        let outcome = load::run(Plan { ask, pace, time, timeout: TIMEOUT }).await;
        if outcome.well() > 0 {
            return Ok(());
        }
        let kinds: Vec<String> = outcome.wrong.keys().map(ToString::to_string).collect();
        let hint = if self.bench.url.is_some() {
            "; see that the key is a workspace key and that `outbound.trusted_custom_hosts` allows 127.0.0.1"
        } else {
            ""
        };
        bail!("no call {whereto} goes well ({}){hint}", kinds.join(", "))
    }

    async fn phase(&mut self, ask: Ask, pace: Pace, whereto: &str) -> Outcome {
        self.phase += 1;
        let kind = if ask.answer == Expected::Stream { "streams" } else { "plain calls" };
        let how = match pace {
            Pace::Closed { connections } => format!("as fast as {connections} connections can"),
            Pace::Open { rate, .. } => format!("{rate} a second"),
        };
        let time = self.length();
        #[expect(clippy::print_stderr, reason = "progress, apart from the report")]
        {
            eprintln!("[{}/{PHASES}] {kind} {whereto}, {how}, {:.1} s", self.phase, time.as_secs_f64());
        }
        load::run(Plan { ask, pace, time, timeout: TIMEOUT }).await
    }
}

fn json_headers() -> HeaderMap {
    let authorization = HeaderValue::from_static("Bearer sk-bench");
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json")), (AUTHORIZATION, authorization)])
}

fn body(answer: Expected) -> bytes::Bytes {
    let asked = "Say something of about fifty tokens, so that there is something to measure.";
    let stream = answer == Expected::Stream;
    let body = json!({"model": MODEL, "stream": stream, "messages": [{"role": "user", "content": asked}]});
    body.to_string().into()
}
