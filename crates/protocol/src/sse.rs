//! Server-sent events: where one ends and the next begins, and what it says.
//!
//! The framer never copies an event that lies whole in one piece of the stream. Lines end in LF, CRLF or CR, also when
//! a CRLF or a UTF-8 character is cut between two pieces. An event above the window is let through unread.

/// Events larger than this pass unparsed.
pub const WINDOW: usize = 16 * 1024 * 1024;

/// Splits a stream of bytes into events.
#[derive(Debug, Default)]
pub struct Framer {
    /// The beginning of an event whose end has not come yet.
    held: Vec<u8>,
    /// The line being read has no bytes so far.
    line_is_empty: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The event under way grew above the window and is only measured.
    too_large: bool,
    begun: bool,
}

/// One block up to and including its blank line, as it stood in the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Block<'b> {
    Event(&'b [u8]),
    /// It was larger than the window; its bytes are not known any more.
    TooLarge,
}

impl Framer {
    pub fn new() -> Framer {
        Framer { line_is_empty: true, ..Framer::default() }
    }

    /// Takes the next bytes and tells each event that is now complete, with the place in `bytes` just after it.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Block<'_>, usize)) {
        let mut begin = 0; // of the event under way, within `bytes`
        let mut at = 0;
        while at < bytes.len() {
            let Some(offset) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else {
                self.line_is_empty = false;
                self.after_cr = false;
                break;
            };
            let here = at + offset;
            if offset > 0 {
                self.line_is_empty = false;
                self.after_cr = false;
            }
            if bytes[here] == b'\n' && self.after_cr {
                // The second half of a CRLF; the line was counted at its CR.
                self.after_cr = false;
                if self.at_start() && begin == here {
                    begin = here + 1;
                }
                at = here + 1;
                continue;
            }
            self.after_cr = bytes[here] == b'\r';
            let mut end = here + 1;
            if self.after_cr && bytes.get(end) == Some(&b'\n') {
                self.after_cr = false;
                end += 1;
            }
            if self.line_is_empty && self.begun {
                self.emit(&bytes[begin..end], end, &mut each);
                begin = end;
            } else {
                self.begun = self.begun || !self.line_is_empty;
                self.line_is_empty = true;
                if !self.begun {
                    begin = end; // a blank line before an event is no part of it
                }
            }
            at = end;
        }
        self.hold(&bytes[begin..]);
    }

    /// The stream is over: an event without its blank line still counts.
    pub fn finish(&mut self, mut each: impl FnMut(Block<'_>)) {
        if self.too_large {
            each(Block::TooLarge);
        } else if !self.held.is_empty() {
            each(Block::Event(&self.held));
        }
        *self = Framer::new();
    }

    /// Bytes held back of an event that is not complete.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn at_start(&self) -> bool {
        self.held.is_empty() && !self.begun
    }

    fn emit(&mut self, tail: &[u8], end: usize, each: &mut impl FnMut(Block<'_>, usize)) {
        if self.too_large {
            each(Block::TooLarge, end);
        } else if self.held.is_empty() {
            each(Block::Event(tail), end);
        } else {
            self.held.extend_from_slice(tail);
            each(Block::Event(&self.held), end);
        }
        self.held.clear();
        if self.held.capacity() > 64 * 1024 {
            self.held.shrink_to(4 * 1024);
        }
        self.too_large = false;
        self.line_is_empty = true;
        self.begun = false;
    }

    fn hold(&mut self, rest: &[u8]) {
        if rest.is_empty() || self.too_large {
            return;
        }
        self.begun = true;
        if self.held.len() + rest.len() > WINDOW {
            self.too_large = true;
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(rest);
        }
    }
}

/// What an event says. `data` is empty for comments and keep-alives.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub event: String,
    pub data: Vec<u8>,
}

/// Reads the fields of one block.
pub fn read(block: &[u8]) -> Event {
    let mut event = Event::default();
    let mut data_lines = 0;
    let block = block.strip_prefix(b"\xef\xbb\xbf").unwrap_or(block);
    for line in block.split(|byte| *byte == b'\n' || *byte == b'\r') {
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if data_lines > 0 {
                    event.data.push(b'\n');
                }
                event.data.extend_from_slice(value);
                data_lines += 1;
            }
            b"event" => event.event = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
    event
}

/// The data of a block with a single `data` line, without copying it; `None` when it must be read with `read`.
pub fn plain_data(block: &[u8]) -> Option<&[u8]> {
    let rest = block.strip_prefix(b"data:")?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    rest[end..].iter().all(|byte| matches!(byte, b'\n' | b'\r')).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut framer, mut out) = (Framer::new(), Vec::new());
        for piece in pieces {
            framer.push(piece, |block, _| match block {
                Block::Event(bytes) => out.push(read(bytes)),
                Block::TooLarge => out.push(Event { event: "too large".into(), data: vec![] }),
            });
        }
        framer.finish(|block| {
            if let Block::Event(bytes) = block {
                out.push(read(bytes));
            }
        });
        out.retain(|event| !event.data.is_empty() || !event.event.is_empty());
        out
    }

    const STREAM: &str = "\u{feff}data: {\"é\":\"日本\"}\n\n: ping\r\n\r\nevent: delta\r\ndata:x\r\ndata: y\r\n\r\ndata: cr\r\rid: 7\n\ndata: [DONE]";

    fn expected() -> Vec<Event> {
        [("", "{\"é\":\"日本\"}"), ("delta", "x\ny"), ("", "cr"), ("", "[DONE]")]
            .map(|(event, data)| Event { event: event.into(), data: data.into() })
            .into()
    }

    #[test]
    fn every_framing_is_read() {
        assert_eq!(events(&[STREAM.as_bytes()]), expected());
    }

    #[test]
    fn a_stream_cut_at_every_byte_gives_the_same_events() {
        let bytes = STREAM.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(events(&[&bytes[..cut], &bytes[cut..]]), expected(), "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(events(&single), expected());
    }

    #[test]
    fn places_told_add_up_to_whole_events() {
        let mut framer = Framer::new();
        let mut ends = Vec::new();
        let bytes = b"data: 1\n\ndata: 2\r\n\r\ndata: 3";
        framer.push(bytes, |_, end| ends.push(end));
        assert_eq!(ends, [9, 20]);
        assert_eq!(framer.held(), 7);
    }

    #[test]
    fn blank_lines_before_an_event_are_no_part_of_it() {
        for pieces in [&["\n\r\n\u{feff}data: x\n\n"][..], &["\n", "\r", "\n", "\u{feff}data: x\n\n"]] {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            assert_eq!(events(&pieces), [Event { event: String::new(), data: b"x".to_vec() }]);
        }
    }

    #[test]
    fn an_event_above_the_window_is_passed_over_and_the_next_is_read() {
        let mut framer = Framer::new();
        let mut seen = Vec::new();
        let piece = vec![b'x'; 1024 * 1024];
        framer.push(b"data: ", |_, _| {});
        for _ in 0..17 {
            framer.push(&piece, |_, _| {});
            assert!(framer.held() <= WINDOW);
        }
        framer.push(b"\n\ndata: small\n\n", |block, _| {
            seen.push(match block {
                Block::Event(bytes) => read(bytes).data,
                Block::TooLarge => b"large".to_vec(),
            })
        });
        assert_eq!(seen, [b"large".to_vec(), b"small".to_vec()]);
    }

    #[test]
    fn plain_data_is_what_reading_gives() {
        for block in ["data: {}\n\n", "data:{}\r\n\r\n", "data: a", "data: \n\n"] {
            assert_eq!(plain_data(block.as_bytes()).unwrap(), read(block.as_bytes()).data, "{block:?}");
        }
        assert_eq!(plain_data(b"data: a\ndata: b\n\n"), None);
        assert_eq!(plain_data(b"event: x\ndata: b\n\n"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anywhere_give_what_they_give_whole(
            parts in prop::collection::vec("(data|event|id|:)?:? ?[a-zé:]{0,3}(\n|\r\n|\r){0,3}", 0..12), cuts in prop::collection::vec(0usize..80, 0..6),
        ) {
            let text = parts.concat();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(events(&pieces), events(&[bytes]));
        }
    }
}
