//! Settings are documents: what all kinds share is a column, the rest is JSON.
//!
//! Every commit is whole or not at all, carries its audit line, and raises the revision that the change feed tells.

mod audit;
mod migrations;
mod sql;

use async_trait::async_trait;
use serde_json::Value;

pub use audit::Audit;
pub use sql::{Notices, SqlSettings, Steps};

/// One document. `version` counts its changes; a `Replace` with another version than the stored one is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub kind: String,
    pub id: String,
    pub organisation: String,
    pub workspace: Option<String>,
    /// A second name that is unique within kind and organisation: a slug, a key's hash.
    pub handle: Option<String>,
    pub status: String,
    pub version: i64,
    pub doc: Value,
    pub created_at: i64,
    pub updated_at: i64,
}

impl Record {
    pub const ACTIVE: &'static str = "active";
    pub const ARCHIVED: &'static str = "archived";

    pub fn active(&self) -> bool {
        self.status == Record::ACTIVE
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Insert(Record),
    /// `version` is the one that was read; it is raised by one.
    Replace(Record),
    Delete {
        kind: String,
        id: String,
    },
}

/// One line of the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    pub revision: i64,
    pub kind: String,
    pub id: String,
    pub organisation: String,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    pub workspace: Option<&'a str>,
    pub status: Option<&'a str>,
}

#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub offset: i64,
    pub limit: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("a record of this kind with the same id or handle exists")]
    Exists,
    #[error("the record was changed by somebody else, or is gone")]
    Stale,
    #[error("the store holds a document that cannot be read: {0}")]
    Garbled(String),
    #[error("the store cannot be reached or refused: {0}")]
    Away(#[from] sqlx::Error),
    #[error("the store's tables could not be brought up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

#[async_trait]
pub trait Settings: Send + Sync {
    /// By id or handle, within an organisation.
    async fn get(&self, kind: &str, organisation: &str, id_or_handle: &str) -> Result<Option<Record>, StoreError>;
    /// By handle in any organisation: for credentials, which tell the organisation rather than being told.
    async fn find(&self, kind: &str, handle: &str) -> Result<Option<Record>, StoreError>;
    /// Newest first, with the number that match regardless of the page.
    async fn list(
        &self,
        kind: &str,
        organisation: &str,
        filter: Filter<'_>,
        page: Page,
    ) -> Result<(Vec<Record>, i64), StoreError>;
    /// Every record of a kind in all organisations, in order of id, from after `after`: for start-up.
    async fn sweep(&self, kind: &str, after: &str, limit: i64) -> Result<Vec<Record>, StoreError>;
    /// All of it with its audit line, or nothing. Gives the new revision.
    async fn commit(&self, changes: Vec<Change>, audit: Audit) -> Result<i64, StoreError>;
    /// What changed after a revision, in order.
    async fn changes(&self, after: i64, limit: i64) -> Result<Vec<Noted>, StoreError>;
    async fn revision(&self) -> Result<i64, StoreError>;
    /// The number of the first audit line whose hash does not follow from the one before, if any.
    async fn broken_audit_line(&self, organisation: &str) -> Result<Option<i64>, StoreError>;
}
