//! Multipart read in passing: names, file names and sizes of the parts, never a file's content.
//!
//! Decisions: a field without a file name keeps the beginning of its text, because `purpose` and `model` are needed for the
//! answer. Everything kept has a bound; what goes beyond it is counted or dropped, and a broken body yields the parts found
//! so far.

use memchr::memmem;

const HEAD_LIMIT: usize = 16 * 1024;
const TEXT_LIMIT: usize = 1024;
const PARTS_LIMIT: usize = 256;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    pub name: String,
    pub filename: Option<String>,
    /// Size of the content, all of it.
    pub bytes: u64,
    /// The first kilobyte of a field; empty for files.
    pub text: String,
}

/// A scan under way.
pub(super) struct Scan {
    /// `\r\n--boundary`: what stands in front of every part and at the end.
    delimiter: Vec<u8>,
    /// Bytes not yet understood; never longer than one piece and one head.
    rest: Vec<u8>,
    state: State,
    parts: Vec<Part>,
}

enum State {
    Preamble,
    Head,
    Content { part: Part, text: Vec<u8> },
    Done,
}

impl Scan {
    /// `None` where the content type is not multipart or names no boundary.
    pub(super) fn of(content_type: &str) -> Option<Scan> {
        if !content_type.get(..10)?.eq_ignore_ascii_case("multipart/") {
            return None;
        }
        let boundary = parameter(content_type, "boundary").filter(|boundary| !boundary.is_empty())?;
        // The first delimiter may stand at the very start, without a line break: lend it one.
        let (delimiter, rest) = (format!("\r\n--{boundary}").into_bytes(), b"\r\n".to_vec());
        Some(Scan { delimiter, rest, state: State::Preamble, parts: Vec::new() })
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        while self.step() {}
    }

    pub(super) fn finish(self) -> Vec<Part> {
        self.parts
    }

    /// Understands one more thing; false when it needs more bytes.
    fn step(&mut self) -> bool {
        match &self.state {
            State::Preamble | State::Content { .. } => self.pass_delimiter(),
            State::Head => self.head(),
            State::Done => {
                self.rest.clear();
                false
            }
        }
    }

    fn pass_delimiter(&mut self) -> bool {
        let found = memmem::find(&self.rest, &self.delimiter);
        // A delimiter may have begun in the last bytes: leave them for the next piece.
        let content = found.unwrap_or(self.rest.len().saturating_sub(self.delimiter.len() - 1));
        if let State::Content { part, text } = &mut self.state {
            part.bytes += content as u64;
            if part.filename.is_none() {
                let room = TEXT_LIMIT.saturating_sub(text.len());
                text.extend_from_slice(&self.rest[..content.min(room)]);
            }
        }
        if found.is_none() {
            self.rest.drain(..content);
            return false;
        }
        self.rest.drain(..content + self.delimiter.len());
        if let State::Content { mut part, text } = std::mem::replace(&mut self.state, State::Head) {
            part.text = String::from_utf8_lossy(&text).into_owned();
            self.parts.push(part);
        }
        true
    }

    fn head(&mut self) -> bool {
        if self.rest.starts_with(b"--") || self.parts.len() >= PARTS_LIMIT {
            self.state = State::Done;
            return true;
        }
        let Some(end) = memmem::find(&self.rest, b"\r\n\r\n") else {
            if self.rest.len() > HEAD_LIMIT {
                self.state = State::Done;
            }
            return false;
        };
        let part = part_of(&String::from_utf8_lossy(&self.rest[..end]));
        self.rest.drain(..end + 4);
        self.state = State::Content { part, text: Vec::new() };
        true
    }
}

fn part_of(head: &str) -> Part {
    let disposition = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let Some(disposition) = disposition else { return Part::default() };
    Part {
        name: parameter(disposition, "name").unwrap_or_default(),
        filename: parameter(disposition, "filename"),
        ..Part::default()
    }
}

/// The value of `; name=value` or `; name="value"` with `\"` and `\\` undone.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (value, left) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = left.split_once(';')?.1;
    }
}

fn unquote(quoted: &str) -> (String, &str) {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, letter) in quoted.char_indices() {
        match letter {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return (value, &quoted[at + 1..]),
            _ => {
                value.push(letter);
                escaped = false;
            }
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "multipart/form-data; boundary=XyZ";
    const BODY: &str = concat!(
        "--XyZ\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n",
        "--XyZ\r\ncontent-disposition: form-data; filename=\"a \\\"b\\\".txt\"; name=\"file\"\r\n",
        "Content-Type: text/plain\r\n\r\none\r\n--Xy two\r\n\r\n",
        "--XyZ\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--XyZ--\r\n",
    );

    fn expected() -> Vec<Part> {
        vec![
            Part { name: "purpose".into(), filename: None, bytes: 5, text: "batch".into() },
            Part { name: "file".into(), filename: Some("a \"b\".txt".into()), bytes: 15, text: String::new() },
            Part { name: "empty".into(), ..Part::default() },
        ]
    }

    fn scan(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<Part> {
        let mut scan = Scan::of(FORM).expect("it is multipart");
        pieces.for_each(|piece| scan.feed(&piece));
        scan.finish()
    }

    #[test]
    fn parts_are_found_however_the_body_is_cut() {
        for size in [1, 2, 3, 7, 16, 64, BODY.len()] {
            assert_eq!(scan(BODY.as_bytes().chunks(size).map(<[u8]>::to_vec)), expected(), "pieces of {size}");
        }
    }

    #[test]
    fn a_file_of_many_pieces_is_counted_and_not_held() {
        let mut scan = Scan::of(FORM).expect("it is multipart");
        scan.feed(b"--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n");
        for _ in 0..1000 {
            scan.feed(&[b'-'; 1000]);
            assert!(scan.rest.len() < 1100);
        }
        scan.feed(b"\r\n--XyZ--\r\n");
        assert_eq!(scan.finish()[0].bytes, 1_000_000);
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let mut scan = Scan::of(FORM).expect("it is multipart");
        scan.feed(b"--XyZ\r\n");
        (0..100).for_each(|_| scan.feed(&[b'x'; 1000]));
        assert!(scan.rest.len() < 2000);
        assert_eq!(scan.finish(), []);
    }

    #[test]
    fn other_content_types_are_not_scanned() {
        assert!(Scan::of("application/json").is_none());
        assert!(Scan::of("multipart/form-data").is_none());
        assert!(Scan::of("multipart/form-data; charset=utf-8; boundary=\"a;b\"").is_some());
    }
}
