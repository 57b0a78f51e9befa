//! Commands that stand around a gateway under test: a provider to call, and a bad network on the way to it.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use testkit::proxy::{Faults, Proxy, serve_control};

use crate::cli::{Faultproxy, Mock};
use crate::listen;
use crate::world::Real;

pub(crate) async fn mock(mock: &Mock) -> Result<()> {
    let socket = listen::bind(mock.listen).await?;
    let address = socket.local_addr()?;
    say(&format!("The mock provider is ready: http://{address}/v1 (calls: http://{address}/__mock/calls)"));
    testkit::serve(socket, Arc::new(Real), told_to_stop()).await?;
    Ok(())
}

pub(crate) async fn faultproxy(told: &Faultproxy) -> Result<()> {
    let mut faults = Faults::default();
    for fault in &told.fault {
        faults.set(fault).map_err(|bad| anyhow!("`--fault {fault}`: {bad}"))?;
    }
    let socket = listen::bind(told.listen).await?;
    let control = listen::bind(told.control).await?;
    let (address, to, desk) = (socket.local_addr()?, &told.to, control.local_addr()?);
    let proxy = Proxy::new(&socket, to, faults)?;
    say(&format!("The fault proxy is ready: {address} leads to {to} (faults: http://{desk}/faults)"));
    tokio::try_join!(proxy.clone().serve(socket, told_to_stop()), serve_control(control, proxy, told_to_stop()))?;
    Ok(())
}

async fn told_to_stop() {
    tokio::signal::ctrl_c().await.unwrap_or_default();
}

fn say(text: &str) {
    #[expect(clippy::print_stdout, reason = "what the command was asked for")]
    {
        println!("{text}");
    }
}
