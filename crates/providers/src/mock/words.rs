//! The mock's tokens: words between white space.

pub(super) fn count(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Cuts a text before each word but the first. Joined, the pieces are the text, white space and all.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        if letter.is_whitespace() && inside {
            pieces.push(&text[start..at]);
            (start, inside) = (at, false);
        } else if !letter.is_whitespace() {
            inside = true;
        }
    }
    match pieces.last_mut() {
        // White space at the end belongs to the last word: it is no token of its own.
        Some(last) if !inside => *last = &text[start - last.len()..],
        _ if start < text.len() => pieces.push(&text[start..]),
        _ => {}
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_one_word_and_nothing_is_lost() {
        for (text, expected) in [
            ("Hello big world", vec!["Hello", " big", " world"]),
            ("  two\n\nlines \t", vec!["  two", "\n\nlines \t"]),
            ("größe 世界\u{a0}!", vec!["größe", " 世界", "\u{a0}!"]),
            ("one ", vec!["one "]),
            (" ", vec![" "]),
            ("", vec![]),
        ] {
            assert_eq!(pieces(text), expected);
            assert_eq!(pieces(text).concat(), text);
        }
    }

    #[test]
    fn a_token_is_a_word() {
        assert_eq!(count("  one two\nthree "), 3);
    }
}
