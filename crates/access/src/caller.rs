//! A caller: the key that was presented, and where it belongs.

use domain::records::ApiKey;
use store::Record;

/// Whoever presented a known key. It is made from the stored record and from nothing the request says.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    pub key_id: String,
    pub organisation: String,
    pub workspace: Option<String>,
    pub key: ApiKey,
}

impl Caller {
    /// `None` for a record that does not say what a key must say.
    pub fn from_record(record: &Record) -> Option<Caller> {
        let key: ApiKey = serde_json::from_value(record.doc.clone()).ok()?;
        if record.organisation.is_empty() {
            return None;
        }
        Some(Caller {
            key_id: record.id.clone(),
            organisation: record.organisation.clone(),
            workspace: record.workspace.clone(),
            key,
        })
    }

    /// Whether the key holds any of these scopes.
    pub fn may(&self, any_of: &[&str]) -> bool {
        any_of.iter().any(|scope| self.key.holds(scope))
    }
}
