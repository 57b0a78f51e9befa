//! The same events written in other ways that the SSE standard allows. A reader must not care.

use bytes::Bytes;

use super::script::{Flow, Step};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Framing {
    /// Lines end in `\r\n`.
    Crlf,
    /// Lines end in `\r`.
    Cr,
    /// A comment in front of each event.
    Comments,
    /// Each event in pieces of 1, 3 and 5 bytes; every character of several bytes is cut.
    Split,
}

impl Framing {
    /// Every stream can be cut into pieces; the rest is about lines.
    pub(super) fn fits(self, flow: Flow) -> bool {
        flow == Flow::Sse || (self == Framing::Split && flow != Flow::Whole)
    }

    pub(super) fn apply(self, steps: &mut Vec<Step>) {
        let framed = steps.drain(..).flat_map(|step| match step {
            Step::Send(event) => self.frame(event).into_iter().map(Step::Send).collect(),
            Step::Say { event, tokens } => self.frame_said(event, tokens),
            other => vec![other],
        });
        *steps = framed.collect();
    }

    /// The tokens are told by the last piece.
    fn frame_said(self, event: Bytes, tokens: u64) -> Vec<Step> {
        let mut pieces: Vec<Step> = self.frame(event).into_iter().map(Step::Send).collect();
        if let Some(Step::Send(event)) = pieces.pop() {
            pieces.push(Step::Say { event, tokens });
        }
        pieces
    }

    fn frame(self, event: Bytes) -> Vec<Bytes> {
        match self {
            Framing::Crlf => vec![with_line_end(&event, b"\r\n")],
            Framing::Cr => vec![with_line_end(&event, b"\r")],
            Framing::Comments => vec![Bytes::from_static(b": mock\n\n"), event],
            Framing::Split => split(event),
        }
    }
}

/// JSON holds no raw line break: every one in an event is framing.
fn with_line_end(event: &[u8], end: &[u8]) -> Bytes {
    event
        .split_inclusive(|byte| *byte == b'\n')
        .fold(Vec::new(), |mut out, line| {
            match line.strip_suffix(b"\n") {
                Some(line) => out.extend([line.strip_suffix(b"\r").unwrap_or(line), end].concat()),
                None => out.extend(line),
            }
            out
        })
        .into()
}

fn split(mut event: Bytes) -> Vec<Bytes> {
    let (mut pieces, mut sizes) = (Vec::new(), [1, 3, 5].into_iter().cycle());
    while !event.is_empty() {
        let size = sizes.next().unwrap_or(1).min(event.len());
        let inside = event[..size].iter().position(|byte| *byte >= 0xC0).map_or(size, |lead| lead + 1);
        pieces.push(event.split_to(inside));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(framing: Framing, event: &'static str) -> Vec<Bytes> {
        framing.frame(Bytes::from_static(event.as_bytes()))
    }

    #[test]
    fn line_ends_are_replaced() {
        assert_eq!(framed(Framing::Crlf, "event: a\ndata: b\n\n"), ["event: a\r\ndata: b\r\n\r\n"]);
        assert_eq!(framed(Framing::Cr, "data: b\n\n"), ["data: b\r\r"]);
    }

    #[test]
    fn comments_stand_between_events() {
        assert_eq!(framed(Framing::Comments, "data: b\n\n"), [": mock\n\n", "data: b\n\n"]);
    }

    #[test]
    fn split_cuts_inside_every_long_character_and_loses_nothing() {
        let event = "data: größe 世界 😀\n\n";
        let pieces = framed(Framing::Split, event);
        assert_eq!(pieces.concat(), event.as_bytes());
        assert!(pieces.iter().all(|piece| piece.len() <= 5));
        for character in ["ö", "ß", "世", "界", "😀"] {
            assert!(pieces.iter().all(|piece| memchr::memmem::find(piece, character.as_bytes()).is_none()));
        }
    }
}
