//! Audit lines, chained by hash from the first one on: a changed, missing or moved line breaks the chain.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Who did what to which record. Written in the transaction of the change itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    pub organisation: String,
    pub at: i64,
    pub actor: String,
    pub action: String,
    pub target_kind: String,
    pub target_id: String,
    pub address: String,
    /// Particulars without secrets.
    pub detail: Value,
}

impl Audit {
    /// The hash of this line as number `seq` after a line with hash `previous`.
    ///
    /// Each part is preceded by its length, so that no two lines write the same bytes.
    pub(super) fn hash(&self, seq: i64, previous: &str, detail: &str) -> String {
        let mut hasher = Sha256::new();
        let (seq, at) = (seq.to_string(), self.at.to_string());
        for part in [
            previous,
            &self.organisation,
            &seq,
            &at,
            &self.actor,
            &self.action,
            &self.target_kind,
            &self.target_id,
            &self.address,
            detail,
        ] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let mut text = String::with_capacity(64);
        for byte in hasher.finalize() {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
        }
        text
    }
}
