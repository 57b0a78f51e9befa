//! The mock's own paths, under `/__mock`: what it received, what it would bill, and whether it is there. Calls to them are not on record.

use http::Method;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::books::Books;

/// `None` for every other path.
pub(crate) fn answer(books: &Books, head: &Parts) -> Option<(u16, Value)> {
    let path = head.uri.path().strip_prefix("/__mock/")?;
    Some(match (&head.method, path) {
        (&Method::GET, "calls") => (200, books.calls.list(word(head.uri.query()).as_deref())),
        (&Method::DELETE, "calls") => {
            books.calls.clear();
            (200, json!({"cleared": true}))
        }
        (&Method::GET, "invoice") => (200, books.invoice.tell()),
        (&Method::DELETE, "invoice") => {
            books.invoice.clear();
            (200, json!({"cleared": true}))
        }
        (&Method::GET, "health") => (200, json!({"status": "ok"})),
        _ => (404, json!({"error": {"message": format!("mock: no such path: `/__mock/{path}`")}})),
    })
}

fn word(query: Option<&str>) -> Option<String> {
    let word = query?.split('&').find_map(|pair| pair.strip_prefix("contains="))?.replace('+', " ");
    Some(percent_decode_str(&word).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_decoded() {
        assert_eq!(word(Some("a=b&contains=gr%C3%BC%C3%9Fe+dich")).as_deref(), Some("grüße dich"));
        assert_eq!(word(None), None);
    }
}
