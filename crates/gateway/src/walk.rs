//! Steps 8 to 18: walks a plan to an answer, target by target.

use guardrails::Phase;

use crate::admit::admit_leaf;
use crate::answer::{Answer, decode};
use crate::call::Call;
use crate::encode::encode;
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
async fn leaf(gateway: &Gateway, target: &Target, call: Box<Call>, trace: &mut Trace) -> Result<Answer, Error> {
    trace.tries(target);
    guard(&target.checks, Phase::Before)?; //                         11  checks on the request
    let outgoing = encode(gateway, target, call)?; //                 9, 10, 12, 13  credential, parameters, headers, URL
    let _admitted = admit_leaf(target); //                            14, 14b  cache look-up, limits of the target
    let expected = outgoing.expected;
    let response = send(gateway, target, outgoing, trace).await?; //  15  the upstream call
    let answer = decode(gateway, target, expected, response).await?; //  16  the answer
    guard(&target.checks, Phase::After)?; //                          17  checks on the answer
    Ok(answer) //                                                     18  cache write
}
