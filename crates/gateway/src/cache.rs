//! Steps 14 and 18: answers kept from earlier calls. The cache is not built; a config that asks for it is refused by
//! name, so the rule is always `Off` and every answer says `DISABLED`.

use http::HeaderValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheRule {
    Off,
}

impl CacheRule {
    /// What `cache-status` tells.
    pub fn status(self) -> HeaderValue {
        match self {
            CacheRule::Off => HeaderValue::from_static("DISABLED"),
        }
    }
}

/// Step 14. There is no rule that could find anything.
pub(crate) fn look_up(rule: CacheRule) {
    match rule {
        CacheRule::Off => {}
    }
}

/// Step 18. Likewise, nothing is kept.
pub(crate) fn keep(rule: CacheRule) {
    match rule {
        CacheRule::Off => {}
    }
}
