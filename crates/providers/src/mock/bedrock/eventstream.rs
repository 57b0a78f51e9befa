//! Messages of `application/vnd.amazon.eventstream`: lengths, a checksum of them, headers, payload, a checksum of all.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

/// The tag of a header whose value is a text.
const TEXT: u8 = 7;
/// Two lengths and their checksum in front, the checksum of all at the end.
const AROUND: usize = 16;

pub(super) fn event(kind: &str, payload: &Value) -> Bytes {
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    message(&headers, payload.to_string().as_bytes())
}

pub(super) fn exception(kind: &str, says: &str) -> Bytes {
    let headers = [(":exception-type", kind), (":content-type", "application/json"), (":message-type", "exception")];
    message(&headers, json!({"message": says}).to_string().as_bytes())
}

fn message(headers: &[(&str, &str)], payload: &[u8]) -> Bytes {
    let mut head = BytesMut::new();
    for (name, value) in headers {
        head.put_u8(name.len() as u8);
        head.put(name.as_bytes());
        head.put_u8(TEXT);
        head.put_u16(value.len() as u16);
        head.put(value.as_bytes());
    }
    let mut message = BytesMut::new();
    message.put_u32((AROUND + head.len() + payload.len()) as u32);
    message.put_u32(head.len() as u32);
    message.put_u32(crc32fast::hash(&message));
    message.put(head);
    message.put(payload);
    message.put_u32(crc32fast::hash(&message));
    message.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors of AWS.
    #[test]
    fn the_empty_message_has_the_checksums_that_aws_gives() {
        assert_eq!(message(&[], b"")[..], [0, 0, 0, 16, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff]);
    }

    #[test]
    fn a_header_is_its_name_a_tag_and_its_value() {
        let event = event("chunk", &json!({}));
        assert_eq!(&event[12..32], b"\x0b:event-type\x07\x00\x05chunk");
    }
}
