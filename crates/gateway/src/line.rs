//! What is known of a call when it is over, and who is told.

use http::{HeaderValue, Method};
use protocol::endpoint::Endpoint;
use protocol::tally::Usage;

/// One finished call.
#[derive(Debug)]
pub struct Line {
    pub request_id: String,
    pub trace_id: HeaderValue,
    pub organisation: Option<String>,
    pub workspace: Option<String>,
    pub key_id: Option<String>,
    pub method: Method,
    pub endpoint: &'static Endpoint,
    pub provider: Option<&'static str>,
    pub model: Option<String>,
    pub status: u16,
    pub outcome: Outcome,
    pub usage: Option<Usage>,
    pub seconds: f64,
    pub seconds_to_first_byte: Option<f64>,
    pub answer_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The caller has the whole answer, whatever its status.
    Done,
    /// We said no.
    Refused,
    HungUp,
    /// The provider's body broke off or ended too early.
    Truncated,
    Timeout,
    /// The provider reported an error inside its stream.
    StreamError,
}

impl Outcome {
    pub const ALL: [Outcome; 6] =
        [Outcome::Done, Outcome::Refused, Outcome::HungUp, Outcome::Truncated, Outcome::Timeout, Outcome::StreamError];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::HungUp => "hung_up",
            Outcome::Truncated => "truncated",
            Outcome::Timeout => "timeout",
            Outcome::StreamError => "stream_error",
        }
    }
}

/// Whoever keeps the lines. It must not wait.
pub trait Recorder: Send + Sync {
    fn begun(&self);
    fn finished(&self, line: Line);
}
