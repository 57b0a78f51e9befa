//! API keys: their kinds, and how a key of ours is written.
//!
//! `ghk_<kind>_<secret><check>`: the secret is 256 random bits in base 62, the check is a CRC of everything before it.
//! A mistyped key of ours is therefore refused without asking any store, and a scanner can recognise a leaked one.
//! Keys without our prefix are welcome as well: automation may bring its own.

use crate::secret::Secret;

/// Every key of ours begins so.
pub const PREFIX: &str = "ghk_";
/// Shortest key that automation may bring.
pub const SHORTEST: usize = 16;

const CHECK: usize = 6;
const SECRET: usize = 43;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The whole organisation; administers, never calls a model.
    OrganisationService,
    WorkspaceService,
    WorkspaceUser,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::OrganisationService, Kind::WorkspaceService, Kind::WorkspaceUser];

    pub fn name(self) -> &'static str {
        match self {
            Kind::OrganisationService => "organisation-service",
            Kind::WorkspaceService => "workspace-service",
            Kind::WorkspaceUser => "workspace-user",
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Kind::OrganisationService => "o",
            Kind::WorkspaceService => "ws",
            Kind::WorkspaceUser => "wu",
        }
    }
}

/// Writes a new key.
pub fn make(kind: Kind, random: [u8; 32]) -> Secret {
    let body = format!("{PREFIX}{}_{}", kind.tag(), base62(random));
    let check = check(&body);
    Secret::new(body + &check)
}

/// How a text presents itself as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Ours, and whole.
    Ours,
    /// Begins like ours but is damaged: no look-up can find it.
    Damaged,
    /// Not of our making; it may still be known.
    Foreign,
}

pub fn shape(text: &str) -> Shape {
    if !text.starts_with(PREFIX) {
        return Shape::Foreign;
    }
    let Some(at) = text.len().checked_sub(CHECK) else { return Shape::Damaged };
    if text.is_ascii() && text[at..] == *check(&text[..at]) { Shape::Ours } else { Shape::Damaged }
}

fn check(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; CHECK];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| *digit as char).collect()
}

fn base62(mut number: [u8; 32]) -> String {
    let mut digits = [0u8; SECRET];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0u32;
        for byte in &mut number {
            let value = remainder * 256 + u32::from(*byte);
            *byte = (value / 62) as u8;
            remainder = value % 62;
        }
        *digit = DIGITS[remainder as usize];
    }
    digits.iter().map(|digit| *digit as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_is_recognised_and_a_changed_one_is_damaged() {
        let key = make(Kind::WorkspaceService, [0xab; 32]);
        let text = key.expose();
        assert!(text.starts_with("ghk_ws_"));
        assert_eq!(text.len(), "ghk_ws_".len() + SECRET + CHECK);
        assert_eq!(shape(text), Shape::Ours);
        for at in PREFIX.len()..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(shape(std::str::from_utf8(&changed).unwrap()), Shape::Damaged, "byte {at}");
        }
    }

    #[test]
    fn keys_of_others_are_foreign_and_stumps_are_damaged() {
        assert_eq!(shape("acc-space-0123456789abcdef"), Shape::Foreign);
        for stump in ["ghk_", "ghk_ws_", "ghk_é", "ghk_ws_ééééééé"] {
            assert_eq!(shape(stump), Shape::Damaged, "{stump}");
        }
    }

    #[test]
    fn different_bytes_make_different_keys() {
        let mut seen = std::collections::HashSet::new();
        for byte in 0..=255 {
            let mut random = [0; 32];
            random[31] = byte;
            assert!(seen.insert(make(Kind::WorkspaceUser, random).expose().to_owned()));
        }
    }
}
