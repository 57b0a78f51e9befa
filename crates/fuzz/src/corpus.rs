//! What is known before anything is tried.

/// Where inputs come from.
#[derive(Debug, Clone, Copy)]
pub struct Corpus<'a> {
    /// As in `cargo xtask fuzz NAME`.
    pub name: &'a str,
    /// Interesting inputs, and those that once failed. Each is tried as it stands before anything is changed.
    pub seeds: &'a [&'a [u8]],
    /// What the grammar is made of.
    pub words: &'a [&'a str],
    /// Inputs are not made longer than this.
    pub longest: usize,
    /// Inputs that an ordinary test run makes; by the clock as many as there is time for.
    pub tries: u64,
}
