//! The door from the outside: what it refuses, what it connects to and what comes back. Loopback only.
#![allow(clippy::unwrap_used, clippy::panic)]

mod exchange;
mod fuzz;
mod good_urls;
mod guard;
mod properties;
mod proxied;
mod rebinding;
mod refused_addresses;
mod refused_urls;
mod scene;
mod secured;
