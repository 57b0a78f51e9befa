//! Takes the chunk that only brings usage out of a stream whose caller did not ask for it. Every other byte stays.

use bytes::{Bytes, BytesMut};

use crate::sse::{Block, Framer};
use crate::tally::Tally;

/// A partial event larger than this is no usage chunk and is not held back any longer.
const HELD_BACK: usize = 64 * 1024;

/// Holds nothing but an event whose end has not come yet.
#[derive(Debug, Default)]
pub struct Hider {
    back: BytesMut,
}

impl Hider {
    /// What is sent on of the bytes that came, if anything.
    pub fn pass(&mut self, framer: &mut Framer, tally: &mut Tally, bytes: Bytes) -> Option<Bytes> {
        // Spans of `bytes` that are sent on; the first may be preceded by what was held back.
        let (mut kept, mut from, mut hidden) = (Vec::new(), 0, false);
        framer.push(&bytes, |block, end| {
            let usage_only = matches!(block, Block::Event(event) if tally.event(event));
            hidden |= usage_only;
            kept.push((from..end, usage_only));
            from = end;
        });
        let partial = bytes.slice(from..);
        if !hidden && self.back.is_empty() && partial.is_empty() {
            return Some(bytes); // whole events, all of them wanted: as they came
        }
        let mut out = BytesMut::with_capacity(self.back.len() + bytes.len());
        for (span, usage_only) in kept {
            if !usage_only {
                out.extend_from_slice(&self.back);
                out.extend_from_slice(&bytes[span]);
            }
            self.back.clear();
        }
        self.back.extend_from_slice(&partial);
        if self.back.len() > HELD_BACK {
            out.extend_from_slice(&self.back.split());
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// The stream is over. What was held back and shall be sent, if anything.
    pub fn finish(&mut self, framer: &mut Framer, tally: &mut Tally) -> Option<Bytes> {
        let mut usage_only = false;
        framer.finish(|block| usage_only = matches!(block, Block::Event(event) if tally.event(event)));
        let rest = self.back.split().freeze();
        (!rest.is_empty() && !usage_only).then_some(rest)
    }

    /// Whether a part of an event waits here that the caller has not seen.
    pub fn holds(&self) -> bool {
        !self.back.is_empty()
    }
}
