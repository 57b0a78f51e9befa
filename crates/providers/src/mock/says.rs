//! What there is to say, whatever the shape.

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Says {
    /// The last thing the user said.
    Echo,
    /// So many tokens of a fixed text.
    Lorem(u64),
    /// As echo, but usage is always one token in and one out.
    Cent,
}
