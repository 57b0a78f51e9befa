//! Steps 11 and 17: what the checks of a target say to a call and to its answer.

use guardrails::{Checks, Phase, Verdict};
use protocol::error::Refusal;

/// Runs the checks of a phase. None is built: a verdict that is neither pass nor warning names what is missing.
pub(crate) fn guard(checks: &Checks, phase: Phase) -> Result<(), Refusal> {
    for verdict in checks.verdicts(phase) {
        if let Verdict::Deny { check } = verdict {
            return Err(Refusal::not_yet(&format!("the guardrail `{check}`")));
        }
    }
    Ok(())
}
