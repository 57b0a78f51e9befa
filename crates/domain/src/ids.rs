//! Ids made from what the caller brings: a time and random bytes.

use std::fmt::Write;

/// The sources of what a pure program cannot have. One implementation lives in the server; tests bring their own.
pub trait World: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn now_ms(&self) -> i64;
    /// Fills with bytes nobody can guess.
    fn random(&self, bytes: &mut [u8]);
}

/// A UUID of version 7: sorts by time, and 74 bits of it are random.
pub fn uuid_v7(now_ms: i64, random: [u8; 10]) -> String {
    let mut bytes = [0u8; 16];
    bytes[..6].copy_from_slice(&(now_ms as u64).to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&random);
    bytes[6] = (bytes[6] & 0x0f) | 0x70;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    hyphenated(&bytes)
}

/// A UUID of version 4.
pub fn uuid_v4(mut random: [u8; 16]) -> String {
    random[6] = (random[6] & 0x0f) | 0x40;
    random[8] = (random[8] & 0x3f) | 0x80;
    hyphenated(&random)
}

fn hyphenated(bytes: &[u8; 16]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let mut place = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            place += 1;
        }
        text[place] = HEX[usize::from(byte >> 4)];
        text[place + 1] = HEX[usize::from(byte & 15)];
        place += 2;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A fresh id for a request: they sort by time.
pub fn request(world: &dyn World) -> String {
    let mut random = [0; 10];
    world.random(&mut random);
    uuid_v7(world.now_ms(), random)
}

/// A fresh version 4 id.
pub fn fresh(world: &dyn World) -> String {
    let mut random = [0; 16];
    world.random(&mut random);
    uuid_v4(random)
}

/// A slug made of a name, as the contract makes them: prefix, the name's beginning, six hex digits.
pub fn slug(prefix: &str, name: &str, length: usize, random: [u8; 3]) -> String {
    let mut stem = String::new();
    for character in name.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            stem.push(character);
        } else if !stem.ends_with('-') && !stem.is_empty() {
            stem.push('-');
        }
    }
    stem.truncate(length);
    let mut slug = format!("{prefix}{}", stem.trim_end_matches('-'));
    for (at, byte) in random.iter().enumerate() {
        let dash = if at == 0 { "-" } else { "" };
        write!(slug, "{dash}{byte:02x}").expect("writing to a string does not fail");
    }
    slug
}

/// `2026-05-03T17:08:55.000Z`.
pub fn rfc3339(ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(ms) {
        Some(time) => time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        None => format!("{ms} ms"),
    }
}

/// Milliseconds of an RFC 3339 time with offset, or of a plain date.
pub fn parse_time(text: &str) -> Option<i64> {
    if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_millis());
    }
    let date = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_carry_version_and_variant() {
        assert_eq!(uuid_v7(0x0123_4567_89ab, [0xff; 10]), "01234567-89ab-7fff-bfff-ffffffffffff");
        assert_eq!(uuid_v4([0; 16]), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn slugs_follow_the_contract() {
        assert_eq!(slug("ws-", "Shared Team Workspace", 6, [0xe2, 0xa8, 0x5b]), "ws-shared-e2a85b");
        assert_eq!(slug("ws-", "Test A!", 6, [1, 2, 3]), "ws-test-a-010203");
    }

    #[test]
    fn times_read_back_as_written() {
        assert_eq!(rfc3339(1_777_828_135_000), "2026-05-03T17:08:55.000Z");
        assert_eq!(parse_time("2026-05-03T17:08:55.000Z"), Some(1_777_828_135_000));
        assert_eq!(parse_time("1970-01-02"), Some(86_400_000));
        assert_eq!(parse_time("tomorrow"), None);
    }
}
