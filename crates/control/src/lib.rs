//! The Admin API. Knows which operations the contract has; none is built yet.
//! Knows nothing of inference.

pub mod http;
mod operations;

pub use http::Control;
