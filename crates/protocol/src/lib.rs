//! The words on the wire: endpoints, paths, header names, error codes, SSE framing, JSON splicing.
//! Knows no provider, opens nothing, reads no clock.

pub mod body;
pub mod endpoint;
pub mod error;
#[cfg(test)]
mod fuzz;
pub mod headers;
pub mod hide;
pub mod patch;
pub mod path;
pub mod route;
pub mod sse;
pub mod tally;
