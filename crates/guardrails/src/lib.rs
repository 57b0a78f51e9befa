//! The checks a call can be put through, before and after a provider is asked. Opens nothing, reads no clock.
//!
//! No check is built yet: a target's list is always empty, and a config that names a check is refused by name before
//! it comes here.

/// When a check looks at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Before,
    After,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Noted, and the call goes on.
    Warn {
        check: String,
    },
    /// The call ends here.
    Deny {
        check: String,
    },
}

/// The checks of one target, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    list: Vec<(Phase, Verdict)>,
}

impl Checks {
    /// The verdicts of a phase.
    pub fn verdicts(&self, phase: Phase) -> impl Iterator<Item = &Verdict> {
        self.list.iter().filter(move |(when, _)| *when == phase).map(|(_, verdict)| verdict)
    }
}
