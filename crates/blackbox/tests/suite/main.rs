//! The gateway as its users see it: the built binary, asked over HTTP and on the command line. Nothing of ours is linked.
//!
//! `GATEHOUSE_BIN` names the binary; without it, the one built beside this test is taken.

mod budgets;
mod bytes;
mod cors;
mod families;
mod faultproxy;
mod first_start;
mod hang_up;
mod headers;
mod keys;
mod nodes;
mod offline;
mod operations;
mod refusals;
mod secrets;
mod starts;
mod streams;
mod support;
mod tls;
mod unfinished;
mod wire;
