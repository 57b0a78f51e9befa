//! What is known of a body that went by: its size, its hash and, for multipart, its parts. Fed piece by piece, so that an
//! upload of any size needs the memory of a few kilobytes.

use sha2::{Digest, Sha256};

use super::multipart::{Part, Scan};

/// A body that is still coming in.
pub struct Intake {
    bytes: u64,
    hash: Sha256,
    scan: Option<Scan>,
}

/// A body that has come in.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    pub bytes: u64,
    /// Lower hex.
    pub sha256: String,
    /// Empty unless the content type is `multipart/…` with a boundary.
    pub parts: Vec<Part>,
}

impl Intake {
    pub fn new(content_type: Option<&str>) -> Intake {
        Intake { bytes: 0, hash: Sha256::new(), scan: content_type.and_then(Scan::of) }
    }

    pub fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hash.update(piece);
        if let Some(scan) = &mut self.scan {
            scan.feed(piece);
        }
    }

    pub fn finish(self) -> Receipt {
        let sha256 = hex(&self.hash.finalize());
        Receipt { bytes: self.bytes, sha256, parts: self.scan.map(Scan::finish).unwrap_or_default() }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_how_the_body_was_cut() {
        let mut intake = Intake::new(None);
        intake.take(b"a");
        intake.take(b"bc");
        let receipt = intake.finish();
        assert_eq!(receipt.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(receipt.bytes, 3);
    }
}
