//! A value that does not print itself (D12).

use std::fmt;

use zeroize::Zeroize;

/// Text that must not reach a log, an error or an answer. It is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself; the name is long so that its uses are seen in review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret)
    }
}

/// Two characters, stars, three characters: enough to recognise a key, not to use it.
pub fn mask(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() < 12 {
        return "********".into();
    }
    let head: String = characters[..2].iter().collect();
    let tail: String = characters[characters.len() - 3..].iter().collect();
    format!("{head}********{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_no_part_of_itself() {
        let secret = Secret::new("canary-value");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
    }

    #[test]
    fn masks_show_ends_of_long_texts_only() {
        assert_eq!(mask("abcdefghijklmnop"), "ab********nop");
        assert_eq!(mask("short"), "********");
    }
}
