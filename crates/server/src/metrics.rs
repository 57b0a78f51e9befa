//! Counts, for `/metrics`. Names are those of the contract where it names them, else they begin with `gatehouse_`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gateway::{Line, Outcome, Recorder};
use parking_lot::RwLock;
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
#[derive(Debug, Clone, Default)]
struct Sum(Arc<AtomicU64>);

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

/// What one kind of call counts up. Found once for each kind: labels are text, and slow to look up.
struct Handles {
    calls: Sum,
    seconds: Histogram,
    milliseconds: Histogram,
    prompt_tokens: Sum,
    completion_tokens: Sum,
}

/// Provider, endpoint, status and outcome; all four are from tables, so a few words tell them apart.
type Kind = (&'static str, &'static str, u16, Outcome);

pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    kinds: RwLock<HashMap<Kind, Arc<Handles>, BuildHasherDefault<Places>>>,
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
            kinds: RwLock::default(),
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

    fn handles(&self, kind: Kind) -> Arc<Handles> {
        if let Some(known) = self.kinds.read().get(&kind) {
            return known.clone();
        }
        let (provider, endpoint, code, outcome) = kind;
        let calls = CallLabels { provider, endpoint, code, outcome: outcome.name() };
        let times = TimeLabels { provider, endpoint };
        let tokens = |kind| self.tokens.get_or_create(&TokenLabels { provider, endpoint, kind }).clone();
        let handles = Arc::new(Handles {
            calls: self.calls.get_or_create(&calls).clone(),
            seconds: self.seconds.get_or_create(&times).clone(),
            milliseconds: self.milliseconds.get_or_create(&times).clone(),
            prompt_tokens: tokens("prompt"),
            completion_tokens: tokens("completion"),
        });
        self.kinds.write().insert(kind, handles.clone());
        handles
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

/// Mixes the few bytes of a kind; nobody outside chooses them.
#[derive(Default)]
struct Places(u64);

impl Hasher for Places {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

impl Recorder for Metrics {
    fn begun(&self) {
        self.in_flight.inc();
    }

    fn finished(&self, line: Line) {
        self.in_flight.dec();
        let handles = self.handles((line.provider.unwrap_or("none"), line.endpoint.id, line.status, line.outcome));
        handles.calls.add(1);
        handles.seconds.observe(line.seconds);
        if let Some(first) = line.seconds_to_first_byte.filter(|_| line.provider.is_some()) {
            handles.milliseconds.observe(first * 1000.0);
        }
        if let Some(usage) = line.usage {
            handles.prompt_tokens.add(usage.input);
            handles.completion_tokens.add(usage.output);
        }
        write(&line);
    }
}

/// One line of the log for each call. It names keys by their id and tells nothing of what was said.
fn write(line: &Line) {
    let trace_id = String::from_utf8_lossy(line.trace_id.as_bytes());
    let trace_id = &*trace_id;
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
