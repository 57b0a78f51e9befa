//! Counts, for `/metrics`. Names are those of the contract where it names them, else they begin with `gatehouse_`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use gateway::{Line, Outcome, Recorder};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    provider: &'static str,
    endpoint: &'static str,
    code: u16,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TimeLabels {
    provider: &'static str,
    endpoint: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    provider: &'static str,
    endpoint: &'static str,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
    code: u16,
}

/// A sum under exactly its own name: the usual counter would add `_total`, which the contract's names do not have.
#[derive(Debug, Default)]
struct Sum(AtomicU64);

impl Sum {
    fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }
}

impl EncodeMetric for Sum {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        encoder.encode_gauge(&(self.0.load(Ordering::Relaxed) as i64))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Unknown
    }
}

impl prometheus_client::metrics::TypedMetric for Sum {
    const TYPE: MetricType = MetricType::Unknown;
}

pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    calls: Family<CallLabels, Sum>,
    seconds: Family<TimeLabels, Histogram, fn() -> Histogram>,
    milliseconds: Family<TimeLabels, Histogram, fn() -> Histogram>,
    tokens: Family<TokenLabels, Sum>,
    routes: Family<RouteLabels, Sum>,
    in_flight: Gauge<i64, AtomicI64>,
    pub(crate) connections: Gauge<i64, AtomicI64>,
    pub(crate) store_away: Gauge<i64, AtomicI64>,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let metrics = Metrics {
            registry: Mutex::default(),
            calls: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.005, 2.0, 16))),
            milliseconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(5.0, 2.0, 16))),
            tokens: Family::default(),
            routes: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            store_away: Gauge::default(),
        };
        {
            let mut registry = metrics.registry();
            registry.register("request_count", "Inference calls that have ended", metrics.calls.clone());
            registry.register(
                "http_request_duration_seconds",
                "From the start of an inference call to the last byte of its answer",
                metrics.seconds.clone(),
            );
            registry.register(
                "llm_request_duration_milliseconds",
                "From the start of an inference call to the first byte of its answer",
                metrics.milliseconds.clone(),
            );
            registry.register("llm_token_sum", "Tokens that providers told of", metrics.tokens.clone());
            registry.register(
                "gatehouse_other_requests",
                "Requests that were no inference calls",
                metrics.routes.clone(),
            );
            registry.register("gatehouse_calls_in_flight", "Inference calls under way", metrics.in_flight.clone());
            registry.register("gatehouse_connections", "Open connections", metrics.connections.clone());
            registry.register(
                "gatehouse_settings_store_away",
                "1 while the settings store cannot be read; known keys go on",
                metrics.store_away.clone(),
            );
        }
        metrics
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry()) {
            Ok(()) => text,
            Err(std::fmt::Error) => String::new(),
        }
    }

    pub(crate) fn other(&self, route: &'static str, code: u16) {
        self.routes.get_or_create(&RouteLabels { route, code }).add(1);
    }

    pub(crate) fn calls_in_flight(&self) -> i64 {
        self.in_flight.get()
    }
}

impl Recorder for Metrics {
    fn begun(&self) {
        self.in_flight.inc();
    }

    fn finished(&self, line: Line) {
        self.in_flight.dec();
        let (provider, endpoint) = (line.provider.unwrap_or("none"), line.endpoint.id);
        let labels = CallLabels { provider, endpoint, code: line.status, outcome: line.outcome.name() };
        self.calls.get_or_create(&labels).add(1);
        let labels = TimeLabels { provider, endpoint };
        self.seconds.get_or_create(&labels).observe(line.seconds);
        if let Some(first) = line.seconds_to_first_byte.filter(|_| line.provider.is_some()) {
            self.milliseconds.get_or_create(&labels).observe(first * 1000.0);
        }
        if let Some(usage) = line.usage {
            let tokens = [("prompt", usage.input), ("completion", usage.output)];
            for (kind, count) in tokens {
                self.tokens.get_or_create(&TokenLabels { provider, endpoint, kind }).add(count);
            }
        }
        write(&line);
    }
}

/// One line of the log for each call. It names keys by their id and tells nothing of what was said.
fn write(line: &Line) {
    let trace_id = line.trace_id.to_str().unwrap_or_default();
    let tokens = line.usage.map(|usage| (usage.input, usage.output));
    macro_rules! call {
        ($level:ident) => {
            tracing::$level!(
                request_id = line.request_id,
                trace_id,
                method = %line.method,
                endpoint = line.endpoint.id,
                provider = line.provider,
                model = line.model,
                status = line.status,
                outcome = line.outcome.name(),
                ms = (line.seconds * 1000.0) as u64,
                first_byte_ms = line.seconds_to_first_byte.map(|seconds| (seconds * 1000.0) as u64),
                bytes = line.answer_bytes,
                tokens_in = tokens.map(|tokens| tokens.0),
                tokens_out = tokens.map(|tokens| tokens.1),
                workspace = line.workspace,
                key = line.key_id,
                "call"
            )
        };
    }
    match line.outcome {
        Outcome::Done | Outcome::Refused | Outcome::HungUp => call!(info),
        Outcome::Truncated | Outcome::Timeout | Outcome::StreamError => call!(warn),
    }
}
