//! Takes the chunk that only brings usage out of a stream whose caller did not ask for it. Every other byte stays.

use bytes::{Bytes, BytesMut};

use crate::body::end_of_string;
use crate::sse::{Block, Framer};
use crate::tally::Tally;

/// A partial event larger than this is no usage chunk and is not held back any longer.
const HELD_BACK: usize = 64 * 1024;

/// Holds nothing but an event whose end has not come yet.
#[derive(Debug, Default)]
pub struct Hider {
    back: BytesMut,
    /// The beginning of the event under way was sent: the rest must follow, whatever it turns out to be.
    begun: bool,
}

impl Hider {
    /// What is sent on of the bytes that came, if anything.
    pub fn pass(&mut self, framer: &mut Framer, tally: &mut Tally, bytes: Bytes) -> Option<Bytes> {
        // Spans of `bytes` that are sent on; the first may be preceded by what was held back.
        let (mut kept, mut from, mut hidden) = (Vec::new(), 0, false);
        framer.push(&bytes, |block, end| {
            let usage_only = matches!(block, Block::Event(event) if tally.event(event));
            let usage_only = !std::mem::take(&mut self.begun) && usage_only;
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
        if self.begun || self.back.len() > HELD_BACK || brings_a_choice(&self.back) {
            out.extend_from_slice(&self.back.split());
            self.begun = true;
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// The stream is over. What was held back and shall be sent, if anything.
    pub fn finish(&mut self, framer: &mut Framer, tally: &mut Tally) -> Option<Bytes> {
        let mut usage_only = false;
        framer.finish(|block| usage_only = matches!(block, Block::Event(event) if tally.event(event)));
        let usage_only = !std::mem::take(&mut self.begun) && usage_only;
        let rest = self.back.split().freeze();
        (!rest.is_empty() && !usage_only).then_some(rest)
    }

    /// Whether a part of an event waits here that the caller has not seen.
    pub fn holds(&self) -> bool {
        !self.back.is_empty()
    }
}

/// Whether the beginning of an event tells that it brings more than usage: a choice at its top level. Then the rest of
/// it need not be waited for.
fn brings_a_choice(event: &[u8]) -> bool {
    const CHOICE: &[u8] = b"\"choices\":[{";
    let Some(data) = event.strip_prefix(b"data:") else { return false };
    if data.contains(&b'\n') {
        return false;
    }
    let (mut depth, mut at) = (0, 0);
    while let Some(found) = memchr::memchr3(b'"', b'{', b'}', &data[at..]) {
        at += found;
        match data[at] {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ if depth == 1 && data[at..].starts_with(CHOICE) => return true,
            _ => match end_of_string(&data[at + 1..]) {
                Some(length) => at += length,
                None => return false,
            },
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Format;

    #[test]
    fn an_event_that_brings_a_choice_is_not_waited_for() {
        let (mut framer, mut tally, mut hider) = (Framer::new(), Tally::new(Format::Chat), Hider::default());
        let mut pass = |piece: &'static str| hider.pass(&mut framer, &mut tally, Bytes::from_static(piece.as_bytes()));
        assert_eq!(pass(r#"data: {"id":"{","choices":"#), None, "it may be usage only");
        assert_eq!(
            pass(r#"[{"delta":{"content":"he"#).unwrap(),
            r#"data: {"id":"{","choices":[{"delta":{"content":"he"#
        );
        assert_eq!(pass("l").unwrap(), "l");
        assert_eq!(pass("lo\"}}]}\n\n").unwrap(), "lo\"}}]}\n\n");
        for waits in [
            r#"data: {"x":{"choices":[{"#,
            r#"data: {"x":"\"choices\":[{"#,
            "data: {\"choices\":[",
            "event: x\ndata: {\"choices\":[{",
        ] {
            assert!(!brings_a_choice(waits.as_bytes()), "{waits}");
        }
    }

    #[test]
    fn an_event_that_was_sent_in_part_is_sent_to_its_end() {
        let large = format!("data: {{\"choices\":[{}],\"usage\":{{}}}}\n\n", " ".repeat(2 * HELD_BACK));
        let (mut framer, mut tally, mut hider) = (Framer::new(), Tally::new(Format::Chat), Hider::default());
        let mut out = Vec::new();
        for piece in large.as_bytes().chunks(HELD_BACK / 2) {
            out.extend(hider.pass(&mut framer, &mut tally, Bytes::copy_from_slice(piece)).unwrap_or_default());
        }
        assert!(out == large.as_bytes(), "{} of {} bytes came through", out.len(), large.len());
        let small = Bytes::from_static(b"data: {\"choices\":[],\"usage\":{}}\n\n");
        assert_eq!(hider.pass(&mut framer, &mut tally, small), None);
    }
}
