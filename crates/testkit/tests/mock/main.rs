//! The mock over real sockets.

mod answers;
mod record;
mod rig;
mod uploads;
mod zeros;
