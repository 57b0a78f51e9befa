//! The mock provider over HTTP, for tests that need a real socket: the scripts of `providers::mock`, played with real timers,
//! and a record of what arrived.
//!
//! Served at `/v1/…` and without `/v1`, over HTTP/1.1 and h2c. Nothing is held that a caller can make large: uploads are
//! hashed in passing, answers are made as they are read, the record keeps the last thousand calls.
//!
//! Beside it stand a `proxy` that plays a bad network and a `load` generator that measures.

mod calls;
mod desk;
mod exchange;
pub mod load;
mod player;
pub mod proxy;
mod server;

pub use server::serve;
