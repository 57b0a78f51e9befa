//! What the tests share: processes of the built binary, a client, raw sockets, and patience.

pub(crate) mod client;
pub(crate) mod line;
pub(crate) mod mock;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod scene;
pub(crate) mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// Long enough for a loaded machine; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Looks again and again until there is something to see. The only place that waits.
pub(crate) async fn eventually<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A word that no other call has.
pub(crate) fn unique(beginning: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{beginning}-{}-{}-", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
