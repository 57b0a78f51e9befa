//! The real clock and the real dice. Everybody else is handed them.

use std::time::SystemTime;

use domain::ids::World;
use rand::Rng;

pub(crate) struct Real;

impl World for Real {
    fn now_ms(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "the one clock")]
        let now = SystemTime::now();
        now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }

    fn random(&self, bytes: &mut [u8]) {
        // A cryptographic generator, seeded by the system and of this thread alone.
        rand::rng().fill_bytes(bytes);
    }
}
