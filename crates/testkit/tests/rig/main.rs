//! The rig over real sockets: the proxy that plays a bad network.

mod proxy;
