//! A TCP proxy that plays a bad network: it delays, slows, cuts, refuses, swallows and stands still, and is told which at
//! run time. What it carries it does not read, so it stands before a provider as well as before a database.
//!
//! Refusing is real: the port is given up, and callers get "connection refused" from the kernel.

mod carry;
mod control;
mod faults;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use carry::Way;
pub use control::serve_control;
pub use faults::{Cut, Faults, Mode};

/// A running proxy can be told what to do from any number of places.
#[derive(Clone)]
pub struct Proxy {
    address: SocketAddr,
    way: Arc<Way>,
}

impl Proxy {
    /// `to` is `host:port`. The listener is taken over by `serve`, which gives it up while it refuses.
    pub fn new(listener: &TcpListener, to: impl Into<String>, faults: Faults) -> io::Result<Proxy> {
        Ok(Proxy { address: listener.local_addr()?, way: Arc::new(Way::new(to.into(), faults)) })
    }

    /// A proxy on a free port of this machine that runs until its runtime ends; for tests.
    pub async fn start(to: impl Into<String>) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Proxy::new(&listener, to, Faults::default())?;
        tokio::spawn(proxy.clone().serve(listener, std::future::pending()));
        Ok(proxy)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds at once, also for connections that are open.
    pub fn set(&self, faults: Faults) {
        self.way.faults.send_replace(faults);
    }

    pub fn faults(&self) -> Faults {
        self.way.faults.borrow().clone()
    }

    /// Faults and counts.
    pub fn tell(&self) -> Value {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        json!({
            "faults": self.faults().tell(),
            "connections": {"accepted": count(&self.way.accepted), "open": count(&self.way.open)},
            "bytes": {"sent": count(&self.way.sent), "answered": count(&self.way.answered)},
        })
    }

    /// Carries connections until `shutdown` is done, then breaks them.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()> + Send) -> io::Result<()> {
        let mut faults = self.way.faults.subscribe();
        let mut connections = JoinSet::new();
        let mut listener = Some(listener);
        tokio::pin!(shutdown);
        loop {
            let refuses = faults.borrow_and_update().mode == Mode::Refuse;
            if refuses {
                listener = None;
            } else if listener.is_none() {
                listener = Some(TcpListener::bind(self.address).await?);
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                Ok(()) = faults.changed() => {}
                Some(_) = connections.join_next() => {}
                accepted = accept(listener.as_ref()) => match accepted {
                    Ok(client) => {
                        connections.spawn(carry::connection(self.way.clone(), client));
                    }
                    // Out of file descriptors: others must end first.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
            }
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(client, _)| client),
        None => std::future::pending().await,
    }
}
