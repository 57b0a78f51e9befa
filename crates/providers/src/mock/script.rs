//! What a scripted upstream does, step by step. A script is data: whoever holds a clock and a socket plays it.

use std::time::Duration;

use bytes::Bytes;

/// One scripted answer: a head, then steps that are the body.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub status: u16,
    /// Names are lower case. `content-length` is left to the player.
    pub headers: Vec<(&'static str, String)>,
    /// Time that passes before the head is sent; `None` means the head never comes.
    pub head_after: Option<Duration>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Sends `count` bytes of filler, in pieces, without ever holding them all.
    Fill {
        count: u64,
    },
    /// Sends nothing more and does not end.
    Hang,
    /// Breaks the connection without ending the body.
    Cut,
}

impl Script {
    /// The exact length of the body where every step is known to be sent, else `None`.
    pub fn length(&self) -> Option<u64> {
        self.steps.iter().try_fold(0, |sum, step| match step {
            Step::Send(bytes) => Some(sum + bytes.len() as u64),
            Step::Fill { count } => Some(sum + count),
            Step::Wait(_) => Some(sum),
            Step::Hang | Step::Cut => None,
        })
    }
}
