//! Every upstream we can speak to, as rows and pure functions. Opens no socket, reads no clock, logs nothing.

pub mod mock;
mod openai;
mod provider;

pub use provider::{Auth, Provider, Transport};

/// Every provider, once.
pub const ALL: &[&Provider] = &[&openai::PROVIDER];

pub fn by_slug(slug: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.slug == slug).copied()
}
