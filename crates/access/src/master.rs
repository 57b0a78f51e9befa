//! The master key, and what is derived from it: the hash that keys are kept under, and the seal of secrets at rest.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use domain::ids::World;
use domain::secret::Secret;

/// Shorter master keys are refused.
const SHORTEST: usize = 32;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadMaster {
    #[error("the master key is shorter than {SHORTEST} characters; make one with `openssl rand -base64 32`")]
    Short,
    #[error("the master key is one character repeated; make one with `openssl rand -base64 32`")]
    Trivial,
}

/// Everything secret hangs on it. It is kept apart from the data it protects.
pub struct Master(Secret);

impl Master {
    pub fn new(text: Secret) -> Result<Master, BadMaster> {
        let bytes = text.expose().as_bytes();
        if bytes.len() < SHORTEST {
            return Err(BadMaster::Short);
        }
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return Err(BadMaster::Trivial);
        }
        Ok(Master(text))
    }

    pub fn hasher(&self) -> KeyHasher {
        KeyHasher(blake3::derive_key("gatehouse api key hash 1", self.0.expose().as_bytes()))
    }

    pub fn vault(&self) -> Vault {
        Vault(blake3::derive_key("gatehouse secrets at rest 1", self.0.expose().as_bytes()))
    }
}

impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Master([secret])")
    }
}

/// A key's hash: what is stored and looked up instead of the key.
pub type KeyHash = [u8; 32];

/// Hashes keys. A fast keyed hash is right for keys of 256 random bits: there is nothing to guess.
#[derive(Clone)]
pub struct KeyHasher([u8; 32]);

impl KeyHasher {
    pub fn hash(&self, key: &str) -> KeyHash {
        *blake3::keyed_hash(&self.0, key.as_bytes()).as_bytes()
    }

    /// How a hash is written in a record; the number in front is the version of the hashing secret.
    pub fn handle(hash: &KeyHash) -> String {
        format!("1:{}", blake3::Hash::from_bytes(*hash).to_hex())
    }

    pub fn read_handle(handle: &str) -> Option<KeyHash> {
        let hash = blake3::Hash::from_hex(handle.strip_prefix("1:")?).ok()?;
        Some(*hash.as_bytes())
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher([secret])")
    }
}

/// Seals secrets: AES-256-GCM under a versioned envelope, with the identity of the row as associated data, so that a
/// ciphertext moved to another row does not open.
pub struct Vault([u8; 32]);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a sealed value does not open: it was changed, moved, or sealed under another master key")]
pub struct VaultError;

const VERSION: u8 = 1;
const NONCE: usize = 12;

impl Vault {
    pub fn seal(&self, world: &dyn World, identity: &str, secret: &Secret) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE];
        world.random(&mut nonce);
        let mut sealed = secret.expose().as_bytes().to_vec();
        let nonce_value = Nonce::assume_unique_for_key(nonce);
        self.key()?.seal_in_place_append_tag(nonce_value, aad(identity), &mut sealed).map_err(|_| VaultError)?;
        Ok([&[VERSION][..], &nonce, &sealed].concat())
    }

    pub fn open(&self, identity: &str, envelope: &[u8]) -> Result<Secret, VaultError> {
        let [VERSION, rest @ ..] = envelope else { return Err(VaultError) };
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or(VaultError)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| VaultError)?;
        let mut sealed = sealed.to_vec();
        let opened = self.key()?.open_in_place(nonce, aad(identity), &mut sealed).map_err(|_| VaultError)?;
        String::from_utf8(opened.to_vec()).map(Secret::new).map_err(|_| VaultError)
    }

    fn key(&self) -> Result<LessSafeKey, VaultError> {
        UnboundKey::new(&AES_256_GCM, &self.0).map(LessSafeKey::new).map_err(|_| VaultError)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault([secret])")
    }
}

fn aad(identity: &str) -> Aad<Vec<u8>> {
    Aad::from([&[VERSION][..], identity.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);
    impl World for Fixed {
        fn now_ms(&self) -> i64 {
            0
        }
        fn random(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    fn master(text: &str) -> Master {
        Master::new(Secret::new(text)).unwrap()
    }

    #[test]
    fn short_and_trivial_master_keys_are_refused() {
        assert_eq!(Master::new(Secret::new("short")).unwrap_err(), BadMaster::Short);
        assert_eq!(Master::new(Secret::new("a".repeat(40))).unwrap_err(), BadMaster::Trivial);
    }

    #[test]
    fn a_sealed_secret_opens_only_in_its_own_row_and_under_its_own_master() {
        let one = master("0123456789abcdef0123456789abcdef").vault();
        let sealed = one.seal(&Fixed(7), "row/1", &Secret::new("canary")).unwrap();
        assert_eq!(one.open("row/1", &sealed).unwrap().expose(), "canary");
        assert_eq!(one.open("row/2", &sealed), Err(VaultError));
        assert_eq!(master("fedcba9876543210fedcba9876543210").vault().open("row/1", &sealed), Err(VaultError));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(one.open("row/1", &changed), Err(VaultError), "byte {at}");
        }
        for length in 0..sealed.len() {
            assert_eq!(one.open("row/1", &sealed[..length]), Err(VaultError), "length {length}");
        }
    }

    #[test]
    fn hashes_depend_on_the_master_and_handles_read_back() {
        let hasher = master("0123456789abcdef0123456789abcdef").hasher();
        let hash = hasher.hash("key");
        assert_ne!(hash, master("fedcba9876543210fedcba9876543210").hasher().hash("key"));
        assert_eq!(KeyHasher::read_handle(&KeyHasher::handle(&hash)), Some(hash));
        assert_eq!(KeyHasher::read_handle("2:00"), None);
    }
}
