//! The mock provider over HTTP, for tests that need a real socket: the scripts of `providers::mock`, played with real timers
//! and real resets, a record of what arrived and an invoice of what a provider would bill.
//!
//! Served in the shapes of five providers, each at its own paths (`help`), over HTTP/1.1 and h2c. Nothing is held that a
//! caller can make large: uploads are hashed in passing, answers are made as they are read, the record keeps the last
//! thousand calls.
//!
//! Beside it stand a `proxy` that plays a bad network and a `load` generator that measures.

mod books;
mod calls;
mod desk;
mod exchange;
mod help;
mod invoice;
pub mod load;
mod player;
pub mod proxy;
mod server;
mod wire;

pub use help::help;
pub use server::serve;
