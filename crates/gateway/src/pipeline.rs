//! The path of every inference call, in the order the contract fixes. Each step is one function; what it needs is in its
//! parameters, what it gives is its result.
//!
//! Steps 9 to 18 belong to one target and are run by `walk` for each target it tries.

use std::sync::Arc;

use crate::admit::{admit_caller, authorise};
use crate::authenticate::authenticate;
use crate::call::Incoming;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::record::Trace;
use crate::reply::{Reply, answered, refused};
use crate::resolve::resolve;
use crate::understand::{receive, understand};
use crate::walk::walk;

/// Answers one call and records it exactly once, however it ends.
pub(crate) async fn handle(gateway: &Arc<Gateway>, incoming: Box<Incoming>) -> Reply {
    let mut trace = Trace::start(gateway, &incoming);
    match run(gateway, incoming, &mut trace).await {
        Ok(answer) => answered(trace, answer),
        Err(error) => refused(trace, error),
    }
}

async fn run(
    gateway: &Gateway,
    mut incoming: Box<Incoming>,
    trace: &mut Trace,
) -> Result<crate::answer::Answer, Error> {
    receive(gateway, &incoming)?; //                                            1  size, loops
    let caller = authenticate(gateway, &mut incoming).await?; //                2  key → caller
    trace.called_by(&caller);
    admit_caller(&caller); //                                                   3  limits of key and workspace
    authorise(&caller, &incoming)?; //                                          4  scope
    let (call, wishes) = understand(gateway, incoming).await?; //               5  headers, body
    let plan = resolve(gateway, &wishes, &call)?; //                            6, 7  config, provider, host
    trace.understood(&call);
    walk(gateway, &plan, call, trace).await //                                  8  strategy; 9–18 for each target
}
