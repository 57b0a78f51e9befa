//! Who is asking, and may they: from a key to a caller. Also the master key and what is derived from it.
//! Knows nothing of HTTP.

mod caller;
mod keyring;
mod master;
mod mint;

pub use caller::Caller;
pub use keyring::{Bounds, Found, Keyring, NoCaller};
pub use master::{BadMaster, KeyHash, KeyHasher, Master, Vault, VaultError};
pub use mint::{NewKey, fresh_key};
