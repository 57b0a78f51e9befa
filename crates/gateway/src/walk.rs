//! Steps 8 to 18: walks a plan to an answer, target by target.

use guardrails::Phase;

use crate::admit::admit_leaf;
use crate::answer::{Answer, decode};
use crate::cache::{keep, look_up};
use crate::call::Call;
use crate::encode::{encode, parameters};
use crate::error::Error;
use crate::gateway::Gateway;
use crate::guard::guard;
use crate::plan::{Plan, Target};
use crate::record::Trace;
use crate::send::send;

/// Step 8: the strategy decides which targets are tried, and in which order.
pub(crate) async fn walk(gateway: &Gateway, plan: &Plan, call: Box<Call>, trace: &mut Trace) -> Result<Answer, Error> {
    match plan {
        Plan::Single(target) => leaf(gateway, target, call, trace).await,
    }
}

/// One target, from the caller's request to the provider's answer.
async fn leaf(gateway: &Gateway, target: &Target, mut call: Box<Call>, trace: &mut Trace) -> Result<Answer, Error> {
    trace.tries(target);
    let expected = parameters(gateway, target, &mut call)?; //          9, 10  what is asked of this target
    guard(&target.checks, Phase::Before)?; //                           11  checks on the request
    let outgoing = encode(gateway, target, call)?; //                   12, 13  URL, headers, credential
    look_up(target.cache); //                                           14  an earlier answer
    let _admitted = admit_leaf(target); //                              14b  limits of the target
    let (response, deadline) = send(gateway, target, outgoing, trace).await?; //  15  the upstream call
    let answer = decode(gateway, target, expected, response, deadline).await?; // 16  the answer
    guard(&target.checks, Phase::After)?; //                            17  checks on the answer
    keep(target.cache); //                                              18  for later calls
    Ok(answer)
}
