//! Small writes in one piece.

use std::io::IoSlice;

/// Pieces that together are smaller than this are joined.
const SMALL: usize = 2048;

/// Room to join pieces in.
pub struct Room([u8; SMALL]);

impl Default for Room {
    fn default() -> Room {
        Room([0; SMALL])
    }
}

/// Small pieces as one, such as a head and a short body: a plain write costs the kernel less than a vectored one.
/// `None` when they are too large for that to be true.
pub fn joined<'r>(pieces: &[IoSlice<'_>], room: &'r mut Room) -> Option<&'r [u8]> {
    let mut length = 0;
    for piece in pieces {
        room.0.get_mut(length..length + piece.len())?.copy_from_slice(piece);
        length += piece.len();
    }
    Some(&room.0[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_are_joined_in_order_and_large_ones_are_not() {
        let mut room = Room::default();
        let pieces = [IoSlice::new(b"head "), IoSlice::new(b""), IoSlice::new(b"body")];
        assert_eq!(joined(&pieces, &mut room), Some(&b"head body"[..]));
        let large = vec![0; SMALL];
        assert!(joined(&[IoSlice::new(&large)], &mut room).is_some());
        assert_eq!(joined(&[IoSlice::new(&large), IoSlice::new(b"x")], &mut room), None);
    }
}
