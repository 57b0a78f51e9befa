//! Where a call may go.

use std::sync::Arc;
use std::time::Duration;

use domain::secret::Secret;
use guardrails::Checks;
use http::{HeaderName, HeaderValue};
use protocol::patch::Edit;
use providers::Provider;

use crate::cache::CacheRule;

/// A tree whose leaves are targets. Strategies over several of them are not built; a config that asks for one is
/// refused by name.
#[derive(Debug)]
pub(crate) enum Plan {
    Single(Target),
}

/// One upstream, with all that is needed to ask it.
#[derive(Debug)]
pub struct Target {
    pub provider: &'static Provider,
    /// A base the caller chose, already checked; else the provider's own.
    pub host: Option<Arc<str>>,
    pub credential: Credential,
    pub forward: Vec<HeaderName>,
    pub overrides: Vec<Edit>,
    /// Headers of the provider's own that the config sets.
    pub options: Vec<(HeaderName, HeaderValue)>,
    pub timeout: Option<Duration>,
    pub checks: Checks,
    pub cache: CacheRule,
    /// Its place in the config, as answers tell it.
    pub path: &'static str,
}

/// How the upstream is paid.
#[derive(Debug)]
pub enum Credential {
    /// The caller's own `Authorization`, passed on as it came.
    Callers(HeaderValue),
    /// A secret given in the config.
    Given(Secret),
    Nothing,
}
