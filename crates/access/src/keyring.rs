//! Finds callers by their key without asking the store on the hot path (D4).
//!
//! Two things are held. A fingerprint of every valid key, 8 bytes each, so that an unknown key is refused without a
//! look-up. And the callers of keys in use, up to a bound; a known key that is not among them waits once for the store.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::key::{self, Shape};
use domain::records::kinds;
use parking_lot::RwLock;
use store::{Record, Settings, StoreError};

use crate::caller::Caller;
use crate::master::{KeyHash, KeyHasher};

/// What is known about a presented key, without waiting.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    Caller(Arc<Caller>),
    /// Valid, but its caller must be fetched.
    Cold(KeyHash),
    Unknown,
}

/// Why a presented key gives no caller.
#[derive(Debug, thiserror::Error)]
pub enum NoCaller {
    #[error("the key is not known")]
    Unknown,
    #[error("the key has expired")]
    Expired,
    /// It may be valid, but the store cannot be asked.
    #[error("the key cannot be checked now: {0}")]
    Away(#[from] StoreError),
    /// What is known is too old to be believed.
    #[error("the settings store has been away for too long")]
    Stale,
}

pub struct Keyring {
    settings: Arc<dyn Settings>,
    hasher: KeyHasher,
    bounds: Bounds,
    held: RwLock<Held>,
    /// The last revision whose changes are in here.
    revision: AtomicI64,
    /// When the store last said so, in ms.
    confirmed_at: AtomicI64,
}

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Callers that are held at most.
    pub callers: usize,
    /// How long what is known stays good while the store is away.
    pub stale_ms: i64,
}

#[derive(Default)]
struct Held {
    fingerprints: HashSet<u64, BuildHasherDefault<Already>>,
    callers: HashMap<KeyHash, Arc<Caller>, BuildHasherDefault<Already>>,
}

/// The keys of these maps are hashes already; their first bytes will do.
#[derive(Default)]
struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
    fn write_usize(&mut self, _length: usize) {}
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

fn fingerprint(hash: &KeyHash) -> u64 {
    hash.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

const SWEEP: i64 = 1000;

impl Keyring {
    /// Learns every valid key.
    pub async fn load(
        settings: Arc<dyn Settings>,
        hasher: KeyHasher,
        bounds: Bounds,
        now_ms: i64,
    ) -> Result<Keyring, StoreError> {
        let (revision, confirmed_at) = (AtomicI64::new(0), AtomicI64::new(now_ms));
        let keyring = Keyring { settings, hasher, bounds, held: RwLock::default(), revision, confirmed_at };
        keyring.reload().await?;
        Ok(keyring)
    }

    /// Whether what is known may still be believed: the store confirmed it not too long ago.
    pub fn is_current(&self, now_ms: i64) -> bool {
        now_ms - self.confirmed_at.load(Ordering::Relaxed) <= self.bounds.stale_ms
    }

    /// Whoever presents a key, now.
    pub async fn caller(&self, text: &str, now_ms: i64) -> Result<Arc<Caller>, NoCaller> {
        if !self.is_current(now_ms) {
            return Err(NoCaller::Stale);
        }
        let caller = match self.look(text) {
            Found::Caller(caller) => caller,
            Found::Cold(hash) => self.fetch(&hash).await?.ok_or(NoCaller::Unknown)?,
            Found::Unknown => return Err(NoCaller::Unknown),
        };
        if caller.key.expired(now_ms) { Err(NoCaller::Expired) } else { Ok(caller) }
    }

    /// Looks a presented key up. A damaged key of our own making is not even hashed.
    pub fn look(&self, text: &str) -> Found {
        if key::shape(text) == Shape::Damaged {
            return Found::Unknown;
        }
        let hash = self.hasher.hash(text);
        let held = self.held.read();
        match held.callers.get(&hash) {
            Some(caller) => Found::Caller(caller.clone()),
            None if held.fingerprints.contains(&fingerprint(&hash)) => Found::Cold(hash),
            None => Found::Unknown,
        }
    }

    /// Brings a cold caller in from the store.
    async fn fetch(&self, hash: &KeyHash) -> Result<Option<Arc<Caller>>, StoreError> {
        let record = self.settings.find(kinds::API_KEY, &KeyHasher::handle(hash)).await?;
        Ok(record.and_then(|record| self.learn(&record)))
    }

    /// Takes in what the change feed tells. Called again and again; a commit in this process calls it at once.
    pub async fn refresh(&self, now_ms: i64) -> Result<(), StoreError> {
        self.take_in().await?;
        self.confirmed_at.fetch_max(now_ms, Ordering::Relaxed);
        Ok(())
    }

    async fn take_in(&self) -> Result<(), StoreError> {
        loop {
            let after = self.revision.load(Ordering::Acquire);
            let noted = self.settings.changes(after, SWEEP).await?;
            let Some(last) = noted.last().map(|note| note.revision) else { return Ok(()) };
            if noted.len() as i64 == SWEEP {
                // Far behind, and the page may have cut a revision in two.
                return self.reload().await;
            }
            for note in noted.iter().filter(|note| note.kind == kinds::API_KEY) {
                match self.settings.get(kinds::API_KEY, &note.organisation, &note.id).await? {
                    Some(record) => drop(self.learn(&record)),
                    // A deleted record tells no hash any more.
                    None => return self.reload().await,
                }
            }
            self.revision.fetch_max(last, Ordering::AcqRel);
        }
    }

    async fn reload(&self) -> Result<(), StoreError> {
        // Read first: what is committed during the sweep is told again by the feed.
        let revision = self.settings.revision().await?;
        let mut fresh = Held::default();
        let mut after = String::new();
        loop {
            let page = self.settings.sweep(kinds::API_KEY, &after, SWEEP).await?;
            for record in &page {
                admit(&mut fresh, record, self.bounds.callers);
            }
            match page.last() {
                Some(last) if page.len() as i64 == SWEEP => after = last.id.clone(),
                _ => break,
            }
        }
        *self.held.write() = fresh;
        self.revision.store(revision, Ordering::Release);
        Ok(())
    }

    fn learn(&self, record: &Record) -> Option<Arc<Caller>> {
        admit(&mut self.held.write(), record, self.bounds.callers)
    }
}

/// Puts a record's key in, or takes it out when it is no longer valid.
fn admit(held: &mut Held, record: &Record, bound: usize) -> Option<Arc<Caller>> {
    let hash = KeyHasher::read_handle(record.handle.as_deref()?)?;
    let caller = Caller::from_record(record).filter(|_| record.active());
    let Some(caller) = caller else {
        held.fingerprints.remove(&fingerprint(&hash));
        held.callers.remove(&hash);
        return None;
    };
    held.fingerprints.insert(fingerprint(&hash));
    if held.callers.len() >= bound && !held.callers.contains_key(&hash) {
        // Any of them: hashes lie at random, and only valid keys ever get in.
        if let Some(other) = held.callers.keys().next().copied() {
            held.callers.remove(&other);
        }
    }
    let caller = Arc::new(caller);
    held.callers.insert(hash, caller.clone());
    Some(caller)
}

#[cfg(test)]
mod tests {
    use domain::key::Kind;
    use domain::records::ApiKey;
    use domain::secret::Secret;
    use store::{Audit, Change, SqlSettings};

    use super::*;
    use crate::master::Master;

    fn hasher() -> KeyHasher {
        Master::new(Secret::new("0123456789abcdef0123456789abcdef")).unwrap().hasher()
    }

    fn record(id: &str, text: &str) -> Record {
        let key = ApiKey {
            name: id.into(),
            kind: Kind::WorkspaceService,
            scopes: vec!["completions.write".into()],
            masked: String::new(),
            expires_at_ms: None,
            user: None,
        };
        Record {
            kind: kinds::API_KEY.into(),
            id: id.into(),
            organisation: "o".into(),
            workspace: Some("w".into()),
            handle: Some(KeyHasher::handle(&hasher().hash(text))),
            status: Record::ACTIVE.into(),
            version: 1,
            doc: serde_json::to_value(key).unwrap(),
            created_at: 0,
            updated_at: 0,
        }
    }

    fn audit() -> Audit {
        Audit {
            organisation: "o".into(),
            at: 0,
            actor: "t".into(),
            action: "t".into(),
            target_kind: "t".into(),
            target_id: "t".into(),
            address: String::new(),
            detail: serde_json::Value::Null,
        }
    }

    async fn store(folder: &tempfile::TempDir) -> Arc<SqlSettings> {
        Arc::new(SqlSettings::open_file(&folder.path().join("s.db")).await.unwrap())
    }

    #[tokio::test]
    async fn keys_made_and_revoked_elsewhere_are_noticed_by_refresh() {
        let folder = tempfile::tempdir().unwrap();
        let settings = store(&folder).await;
        let ring = Keyring::load(settings.clone(), hasher(), Bounds { callers: 10, stale_ms: 1000 }, 0).await.unwrap();
        assert_eq!(ring.look("a-key-of-their-own"), Found::Unknown);

        let mut one = record("k1", "a-key-of-their-own");
        settings.commit(vec![Change::Insert(one.clone())], audit()).await.unwrap();
        ring.refresh(1).await.unwrap();
        assert!(matches!(ring.look("a-key-of-their-own"), Found::Caller(caller) if caller.key_id == "k1"));

        one.status = Record::ARCHIVED.into();
        settings.commit(vec![Change::Replace(one)], audit()).await.unwrap();
        ring.refresh(1).await.unwrap();
        assert_eq!(ring.look("a-key-of-their-own"), Found::Unknown);
    }

    #[tokio::test]
    async fn a_deleted_record_ends_its_key_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let settings = store(&folder).await;
        settings.commit(vec![Change::Insert(record("k1", "first-key"))], audit()).await.unwrap();
        let ring = Keyring::load(settings.clone(), hasher(), Bounds { callers: 10, stale_ms: 1000 }, 0).await.unwrap();
        assert!(matches!(ring.look("first-key"), Found::Caller(_)));
        let delete = Change::Delete { kind: kinds::API_KEY.into(), id: "k1".into() };
        settings.commit(vec![delete], audit()).await.unwrap();
        ring.refresh(1).await.unwrap();
        assert_eq!(ring.look("first-key"), Found::Unknown);
    }

    #[tokio::test]
    async fn more_keys_than_the_bound_are_all_found_some_of_them_cold() {
        let folder = tempfile::tempdir().unwrap();
        let settings = store(&folder).await;
        let inserts = (0..20).map(|at| Change::Insert(record(&format!("k{at}"), &format!("key-number-{at}"))));
        settings.commit(inserts.collect(), audit()).await.unwrap();
        let ring = Keyring::load(settings, hasher(), Bounds { callers: 5, stale_ms: 1000 }, 0).await.unwrap();
        for at in 0..20 {
            let caller = match ring.look(&format!("key-number-{at}")) {
                Found::Caller(caller) => caller,
                Found::Cold(hash) => ring.fetch(&hash).await.unwrap().unwrap(),
                Found::Unknown => panic!("key {at} is unknown"),
            };
            assert_eq!(caller.key_id, format!("k{at}"));
            assert!(ring.held.read().callers.len() <= 5);
        }
    }

    #[tokio::test]
    async fn what_is_known_is_believed_for_a_time_without_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let settings = store(&folder).await;
        let ring = Keyring::load(settings.clone(), hasher(), Bounds { callers: 5, stale_ms: 1000 }, 0).await.unwrap();
        assert!(ring.is_current(1000) && !ring.is_current(1001));
        ring.refresh(500).await.unwrap();
        assert!(ring.is_current(1500) && !ring.is_current(1501));
        assert!(matches!(ring.caller("whatever-it-is", 1501).await, Err(NoCaller::Stale)));
        assert!(matches!(ring.caller("whatever-it-is", 1500).await, Err(NoCaller::Unknown)));
        settings.close().await;
        assert!(ring.refresh(1400).await.is_err());
        assert!(!ring.is_current(1501), "a failed look confirms nothing");
    }

    #[tokio::test]
    async fn a_damaged_key_of_ours_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let ring =
            Keyring::load(store(&folder).await, hasher(), Bounds { callers: 5, stale_ms: 1000 }, 0).await.unwrap();
        assert_eq!(ring.look("ghk_ws_damaged"), Found::Unknown);
    }
}
