//! The rules of the house: keys, scopes, roles, configs, metadata. Pure: time, ids and randomness are arguments.

pub mod config;
#[cfg(test)]
mod fuzz;
pub mod ids;
pub mod key;
pub mod metadata;
pub mod records;
pub mod scope;
pub mod secret;
