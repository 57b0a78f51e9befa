//! The one door to the outside: every HTTP call the product makes leaves through here, and only to an address that was
//! checked.
//!
//! - `guard` decides, without I/O, what may be reached.
//! - `connect` resolves, asks the guard about every address and connects to a checked one.
//! - `client` sends one request over a pooled connection; `failure` says what went wrong in a word and a sentence.
//! - `fake` plays scripted answers, so the built-in mock looks like any other upstream.

mod body;
mod client;
mod connect;
mod failure;
pub mod fake;
pub mod guard;
pub mod pieces;
mod player;

pub use body::{Answer, Body};
pub use client::{Outbound, Settings};
pub use connect::{Lookup, ProxySettings, Resolve, SystemDns};
pub use failure::SendError;
pub use guard::{BadPattern, Checked, Policy, Reason, Refusal};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
