//! The built-in provider: answers in the process, without a network.

mod script;

pub use script::{Script, Step};
