//! Streams: events do not depend on how bytes are cut, and hiding usage takes out the usage chunk and nothing else.

use bytes::Bytes;
use fuzz::{Corpus, Failure};

use crate::hide::Hider;
use crate::sse::{Block, Event, Framer, plain_data, read};
use crate::tally::{Format, Tally};

const SEEDS: &[&[u8]] = &[
    b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
    b"data: {\"choices\":[ ],\"usage\":{\"prompt_tokens\":1}}\r\n\r\ndata: [DONE]\r\n\r\n",
    b"data: a\r\rdata: {\"choices\":[],\"usage\":{}}\r\rdata: b\r\r",
    b"\xef\xbb\xbfdata: {\"\xc3\xa9\":1}\n\n: ping\r\n\r\nevent: delta\r\ndata:x\r\ndata: y\r\n\r\ndata: cr\r\rid: 7\n\ndata: [DONE]",
    b"event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {}\n\n",
    b"data: {\"error\":{\"message\":\"no\"}}\n\n",
    b"data: {\"choices\":[],\n\ndata: \"usage\":{}}\n\n",
    b"\n\xef\xbb\xbfdata:\xc1",
];

const WORDS: &[&str] = &[
    "data:",
    "data: ",
    "event: ",
    "id: 1",
    ": ping",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\r\n\r\n",
    "\r\r",
    "\u{feff}",
    "[DONE]",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\r\n\r\n",
    "\"usage\":{}",
    "\"choices\":[]",
    "\"finish_reason\":\"stop\"",
];

#[test]
fn events_do_not_depend_on_how_bytes_are_cut() -> Result<(), Failure> {
    fuzz::run(&Corpus { name: "sse", seeds: SEEDS, words: WORDS, longest: 1000, tries: 3000 }, |input| {
        let expected = by_lines(input);
        let (usage, wanted) = expected.iter().partition::<Vec<&Event>, _>(|event| brings_only_usage(event));
        for pieces in ways_to_cut(input) {
            let sizes: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
            assert_eq!(framed(&pieces), expected, "cut into {sizes:?}");
            hiding_takes_out_usage_alone(input, &pieces, &usage, &wanted);
        }
    })
}

/// Whole, byte by byte, in twos, in sevens, and in two at a few places.
fn ways_to_cut(input: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut ways: Vec<Vec<&[u8]>> = [input.len().max(1), 1, 2, 7].map(|size| input.chunks(size).collect()).into();
    for at in [input.len() / 3, input.len() / 2, input.len().saturating_sub(1)] {
        ways.push(vec![&input[..at], &input[at..]]);
    }
    ways
}

fn framed(pieces: &[&[u8]]) -> Vec<Event> {
    let (mut framer, mut events) = (Framer::new(), Vec::new());
    let mut take = |block: Block<'_>| {
        let Block::Event(bytes) = block else { panic!("no input is as large as the window") };
        let event = read(bytes);
        if let Some(data) = plain_data(bytes) {
            assert_eq!(data, event.data, "the quick reading");
        }
        events.push(event);
    };
    for piece in pieces {
        let mut last = 0;
        framer.push(piece, |block, end| {
            assert!(last <= end && end <= piece.len(), "places go forward");
            last = end;
            take(block);
        });
    }
    framer.finish(take);
    said(events)
}

/// By the letter of the standard: lines first, then fields, and a blank line ends an event.
fn by_lines(input: &[u8]) -> Vec<Event> {
    let mut lines: Vec<Vec<u8>> = vec![vec![]];
    let mut bytes = input.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if(|next| **next == b'\n');
                lines.push(vec![]);
            }
            b'\n' => lines.push(vec![]),
            byte => lines.last_mut().expect("one at least").push(*byte),
        }
    }
    let mut blocks: Vec<Vec<Vec<u8>>> = vec![vec![]];
    for line in lines {
        match line.is_empty() {
            true => blocks.push(vec![]),
            false => blocks.last_mut().expect("one at least").push(line),
        }
    }
    said(blocks.into_iter().map(|lines| event_of(&lines)).collect())
}

fn event_of(lines: &[Vec<u8>]) -> Event {
    let (mut name, mut data) = (String::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        // The standard knows the mark at the beginning of a stream; we take it at the beginning of any event.
        let line = if at == 0 { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line };
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => data.push(value.to_vec()),
            b"event" => name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
    Event { event: name, data: data.join(&b'\n') }
}

fn said(mut events: Vec<Event>) -> Vec<Event> {
    events.retain(|event| !event.data.is_empty() || !event.event.is_empty());
    events
}

fn brings_only_usage(event: &Event) -> bool {
    Tally::new(Format::Chat).event(&written(event))
}

fn hiding_takes_out_usage_alone(input: &[u8], pieces: &[&[u8]], usage: &[&Event], wanted: &[&Event]) {
    let (mut framer, mut tally, mut hider) = (Framer::new(), Tally::new(Format::Chat), Hider::default());
    let mut out = Vec::new();
    for piece in pieces {
        let passed = hider.pass(&mut framer, &mut tally, Bytes::copy_from_slice(piece));
        out.extend_from_slice(&passed.unwrap_or_default());
    }
    out.extend_from_slice(&hider.finish(&mut framer, &mut tally).unwrap_or_default());
    assert!(!hider.holds());
    if usage.is_empty() {
        assert_eq!(out, input, "nothing was to be hidden");
        return;
    }
    assert_eq!(by_lines(&out).iter().collect::<Vec<_>>(), wanted, "hidden");
    let (removed, hidden) = (input.len() - out.len(), usage.iter().map(|event| event.data.len()).sum::<usize>());
    assert!(removed >= hidden, "{removed} bytes were taken out, the usage has {hidden}");
}

fn written(event: &Event) -> Vec<u8> {
    let lines = event.data.split(|byte| *byte == b'\n').map(|line| [b"data: ", line].concat());
    [format!("event: {}\n", event.event).into_bytes(), lines.collect::<Vec<_>>().join(&b'\n'), b"\n\n".to_vec()]
        .concat()
}
