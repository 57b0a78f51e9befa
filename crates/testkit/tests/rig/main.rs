//! The rig over real sockets: the proxy that plays a bad network, and the load generator.

mod load;
#[allow(dead_code)]
#[path = "../mock/rig.rs"]
mod mock;
mod proxy;
