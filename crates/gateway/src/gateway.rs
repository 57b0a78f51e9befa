//! What the steps need from the rest of the house.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use access::Keyring;
use domain::ids::World;
use outbound::Outbound;
use parking_lot::RwLock;
use protocol::headers::Prefixes;

use crate::line::Recorder;

/// Bounds of one call.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest body of any kind.
    pub body_bytes: u64,
    /// Largest JSON body, which is held whole.
    pub json_bytes: u64,
    /// From the start of a call to the head of its answer; an upload that makes progress puts it off.
    pub request_timeout: Duration,
    /// Longest silence inside an answer.
    pub idle_timeout: Duration,
    /// Longest silence of a caller inside a body that is held.
    pub body_timeout: Duration,
}

pub struct Gateway {
    pub world: Arc<dyn World>,
    pub keyring: Arc<Keyring>,
    pub outbound: Outbound,
    pub prefixes: Arc<Prefixes>,
    pub recorder: Arc<dyn Recorder>,
    pub limits: Limits,
    /// Ask streams for their usage where the caller did not (and keep the extra chunk from them).
    pub ask_for_usage: bool,
    /// Custom hosts that were checked: the text that was sent, and the base it stands for.
    pub hosts: RwLock<HashMap<String, Arc<str>>>,
}

impl Gateway {
    /// A custom host's base, checked once for each spelling.
    pub fn checked_host(&self, text: &str) -> Result<Arc<str>, outbound::Refusal> {
        const BOUND: usize = 1024;
        if let Some(base) = self.hosts.read().get(text) {
            return Ok(base.clone());
        }
        let base: Arc<str> = self.outbound.policy().check_url(text)?.base().into();
        let mut hosts = self.hosts.write();
        if hosts.len() >= BOUND {
            hosts.clear();
        }
        hosts.insert(text.to_owned(), base.clone());
        Ok(base)
    }
}
