//! The mock over real sockets.

mod answers;
mod faults;
mod record;
mod rig;
mod tongues;
mod uploads;
mod zeros;
