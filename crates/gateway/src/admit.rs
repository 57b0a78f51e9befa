//! Whether a caller may make this call at all (steps 3 and 4), and whether a target may be asked (step 14b).

use access::Caller;
use domain::key::Kind;
use protocol::error::{Code, Refusal};

use crate::call::Incoming;
use crate::plan::Target;

/// Proof that the limits of key and workspace were looked at. Budgets and rate limits will be held by it until the call
/// is settled; no limit can be set yet, so there is nothing to hold.
#[derive(Debug)]
pub(crate) struct Admitted;

/// Step 3.
pub(crate) fn admit_caller(_caller: &Caller) -> Admitted {
    Admitted
}

/// Step 14b: budgets, allow-lists and policies of the target. None can be set yet.
pub(crate) fn admit_leaf(_target: &Target) -> Admitted {
    Admitted
}

/// Step 4: admin keys administer, they never call a model; any other key needs the endpoint's scope.
pub(crate) fn authorise(caller: &Caller, incoming: &Incoming) -> Result<(), Refusal> {
    let refused = || Refusal::new(Code::Forbidden, "Forbidden!");
    if caller.key.kind == Kind::OrganisationService {
        return Err(refused().because("an admin key cannot call models; use a workspace key"));
    }
    if !caller.may(incoming.endpoint.scopes) {
        let scopes = incoming.endpoint.scopes.join("` or `");
        return Err(refused().because(format!("this key lacks the scope `{scopes}`")));
    }
    Ok(())
}
