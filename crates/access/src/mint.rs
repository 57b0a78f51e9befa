//! A new key's record. The key itself is seen once, by whoever asked for it.

use domain::ids::{self, World};
use domain::key::Kind;
use domain::records::{ApiKey, kinds};
use domain::secret::{Secret, mask};
use store::Record;

use crate::master::KeyHasher;

/// What a new key is for.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub kind: Kind,
    pub organisation: String,
    pub workspace: Option<String>,
    pub scopes: Vec<String>,
    pub expires_at_ms: Option<i64>,
    pub user: Option<String>,
}

impl NewKey {
    /// The record under which `key` will be known.
    pub fn record(self, world: &dyn World, hasher: &KeyHasher, key: &Secret) -> Record {
        let now = world.now_ms();
        let doc = ApiKey {
            name: self.name,
            kind: self.kind,
            scopes: self.scopes,
            masked: mask(key.expose()),
            expires_at_ms: self.expires_at_ms,
            user: self.user,
        };
        Record {
            kind: kinds::API_KEY.into(),
            id: ids::fresh(world),
            organisation: self.organisation,
            workspace: self.workspace,
            handle: Some(KeyHasher::handle(&hasher.hash(key.expose()))),
            status: Record::ACTIVE.into(),
            version: 1,
            doc: serde_json::to_value(doc).unwrap_or_default(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// A key of our own making.
pub fn fresh_key(world: &dyn World, kind: Kind) -> Secret {
    let mut random = [0; 32];
    world.random(&mut random);
    domain::key::make(kind, random)
}
