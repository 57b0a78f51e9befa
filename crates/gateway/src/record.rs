//! What a call leaves behind. A trace is finished exactly once: at the end of an answer, on a refusal, or when the
//! caller hangs up.

use std::sync::Arc;

use access::Caller;
use domain::ids;
use http::{HeaderMap, HeaderName, HeaderValue};
use protocol::headers::{Tell, given_trace};
use protocol::tally::Tally;
use tokio::time::Instant;

use crate::call::{Call, Incoming};
use crate::gateway::Gateway;
use crate::line::{Line, Outcome};
use crate::plan::Target;

pub struct Trace {
    pub gateway: Arc<Gateway>,
    line: Option<Box<Line>>,
    started: Instant,
}

impl Trace {
    pub fn start(gateway: &Arc<Gateway>, incoming: &Incoming) -> Trace {
        gateway.recorder.begun();
        let given = given_trace(&incoming.asked, &incoming.headers);
        let fresh = || HeaderValue::from_str(&ids::fresh(&*gateway.world)).unwrap_or(HeaderValue::from_static("none"));
        let line = Line {
            request_id: ids::request(&*gateway.world),
            trace_id: given.unwrap_or_else(fresh),
            organisation: None,
            workspace: None,
            key_id: None,
            method: incoming.method.clone(),
            endpoint: incoming.endpoint,
            provider: None,
            model: None,
            status: 0,
            outcome: Outcome::HungUp,
            usage: None,
            seconds: 0.0,
            seconds_to_first_byte: None,
            answer_bytes: 0,
        };
        Trace { gateway: gateway.clone(), line: Some(Box::new(line)), started: Instant::now() }
    }

    pub fn request_id(&self) -> &str {
        self.line.as_ref().map_or("", |line| &line.request_id)
    }

    pub fn called_by(&mut self, caller: &Caller) {
        self.note(|line| {
            line.organisation = Some(caller.organisation.clone());
            line.workspace = caller.workspace.clone();
            line.key_id = Some(caller.key_id.clone());
        });
    }

    pub fn understood(&mut self, call: &Call) {
        self.note(|line| line.model = call.model().map(str::to_owned));
    }

    pub fn tries(&mut self, target: &Target) {
        self.note(|line| line.provider = Some(target.provider.slug));
    }

    /// Bytes of the answer went by.
    pub fn passes(&mut self, bytes: usize) {
        let waited = self.started.elapsed().as_secs_f64();
        self.note(|line| {
            line.seconds_to_first_byte.get_or_insert(waited);
            line.answer_bytes += bytes as u64;
        });
    }

    /// The names under which an answer can be found again.
    pub fn name_call(&self, headers: &mut HeaderMap) {
        let Some(line) = &self.line else { return };
        self.gateway.prefixes.tell(headers, Tell::TraceId, &line.trace_id);
        if let Ok(id) = HeaderValue::from_str(&line.request_id) {
            self.gateway.prefixes.tell(headers, Tell::RequestId, &id);
            headers.entry(HeaderName::from_static("x-request-id")).or_insert(id);
        }
    }

    pub fn note(&mut self, change: impl FnOnce(&mut Line)) {
        if let Some(line) = &mut self.line {
            change(line);
        }
    }

    pub fn finish(mut self, outcome: Outcome, tally: Option<&Tally>) {
        self.close(outcome, tally);
    }

    fn close(&mut self, outcome: Outcome, tally: Option<&Tally>) {
        let Some(mut line) = self.line.take() else { return };
        line.outcome = outcome;
        line.usage = tally.and_then(|tally| tally.usage);
        line.seconds = self.started.elapsed().as_secs_f64();
        self.gateway.recorder.finished(*line);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.close(Outcome::HungUp, None);
    }
}
