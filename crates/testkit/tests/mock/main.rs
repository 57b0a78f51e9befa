//! The mock over real sockets.

mod answers;
mod faults;
mod invoice;
mod record;
mod rig;
mod tongues;
mod uploads;
mod zeros;
