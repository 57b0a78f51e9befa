//! The listener: accepts connections, hands each request to the house, and ends in good order.

pub(crate) mod cors;
pub(crate) mod door;
pub(crate) mod tls;
mod wire;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::metrics::Metrics;
use door::{House, Phase};
use wire::{Exchanges, Sent, Wire};

/// After SIGTERM, connections that are idle stay open this long, so that a call already on its way is not cut off.
const GRACE: Duration = Duration::from_millis(500);

/// What one connection may hold for a client that does not read.
const BUFFER: usize = 64 * 1024;

/// Calls at once on one HTTP/2 connection.
const STREAMS: u32 = 256;

pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) header_timeout: Duration,
    pub(crate) keepalive_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    /// Open connections at most.
    pub(crate) connections: i64,
}

pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            anyhow!(
                "port {} is in use; stop what listens there, or choose another with `--listen {}:PORT`",
                address.port(),
                address.ip()
            )
        }
        std::io::ErrorKind::PermissionDenied => {
            anyhow!("this user may not listen on {address}; choose a port above 1023 with `--listen`")
        }
        _ => anyhow!("cannot listen on {address}: {error}"),
    })
}

impl Listener {
    /// Serves until `stop` is done, and then until what is in flight has ended.
    pub(crate) async fn serve(self, house: Arc<House>, stop: impl Future<Output = ()>) {
        let listener = Arc::new(self);
        let (drain, drained) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = listener.socket.accept() => listener.clone().take(accepted, &house, &drained).await,
            }
        }
        house.phase.set(Phase::Closing);
        tracing::info!(
            calls = house.metrics.calls_in_flight(),
            "told to stop: calls in flight go on, new ones should go elsewhere"
        );
        // Only the connections that were there before are waited for; those that come now ask after our health.
        drop(drained);
        let (_late, late) = watch::channel(false);
        let mut grace = pin!(tokio::time::sleep(GRACE));
        let mut deadline = pin!(tokio::time::sleep(listener.drain_timeout));
        loop {
            tokio::select! {
                () = drain.closed() => break,
                () = &mut grace, if house.phase.get() == Phase::Closing => {
                    house.phase.set(Phase::Closed);
                    drain.send_replace(true);
                }
                () = &mut deadline => {
                    tracing::warn!(calls = house.metrics.calls_in_flight(), "the time to drain is over; what is in flight is cut off");
                    break;
                }
                accepted = listener.socket.accept() => listener.clone().take(accepted, &house, &late).await,
            }
        }
    }

    async fn take(
        self: Arc<Listener>,
        accepted: std::io::Result<(TcpStream, SocketAddr)>,
        house: &Arc<House>,
        drained: &watch::Receiver<bool>,
    ) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, mostly: others must end first.
                tracing::warn!(%error, "a connection could not be accepted; if files are too many, raise `ulimit -n`");
                tokio::time::sleep(Duration::from_millis(20)).await;
                return;
            }
        };
        let (house, drained) = (house.clone(), drained.clone());
        tokio::spawn(async move {
            let _counted = Counted::new(&house.metrics);
            // Where it fails, only timing suffers.
            socket.set_nodelay(true).unwrap_or_default();
            let peer = peer.ip().to_canonical();
            if house.metrics.connections.get() > self.connections {
                return self.turn_away(socket, &house).await;
            }
            match &self.tls {
                None => self.connection(socket, peer, &house, drained).await,
                Some(acceptor) => {
                    // A client that does not finish the handshake is not told why.
                    if let Ok(Ok(socket)) = timeout(self.header_timeout, acceptor.accept(socket)).await {
                        Box::pin(self.connection(socket, peer, &house, drained)).await;
                    }
                }
            }
        });
    }

    /// One connection too many is told so, where it can be told without a handshake.
    async fn turn_away(&self, mut socket: TcpStream, house: &House) {
        let told = async {
            if self.tls.is_none() {
                socket.write_all(&wire::written(house.full())).await?;
            }
            socket.shutdown().await
        };
        // Whoever does not take it in time has missed it.
        drop(timeout(Duration::from_secs(1), told).await);
    }

    async fn connection<S>(&self, socket: S, peer: IpAddr, house: &Arc<House>, mut drained: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let exchanges = Exchanges::default();
        let wire = Wire::new(socket, house.clone(), exchanges.clone(), self.header_timeout, self.keepalive_timeout);
        let service = service_fn(|request| {
            let (house, exchange) = (house.clone(), exchanges.clone());
            // Boxed: the connection keeps room for it as long as it lives, and most of that time is spent in the body.
            Box::pin(async move {
                let response = house.answer(peer, request).await;
                exchange.answered();
                Ok::<_, Infallible>(response.map(|body| Sent { body, _exchange: exchange }))
            })
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // Time limits are kept by the wire, which can tell an idle connection from a request that does not get complete.
        builder.http1().max_buf_size(house.header_bytes + BUFFER).header_read_timeout(None);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(house.header_bytes as u32 * 2)
            .max_concurrent_streams(STREAMS);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(wire), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told(&mut drained) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "a connection broke");
        }
    }
}

/// Done when draining is told; never, when there is nobody left who could.
async fn told(drained: &mut watch::Receiver<bool>) {
    if drained.wait_for(|drained| *drained).await.is_err() {
        std::future::pending().await
    }
}

/// An open connection, while it lives.
struct Counted(Arc<Metrics>);

impl Counted {
    fn new(metrics: &Arc<Metrics>) -> Counted {
        metrics.connections.inc();
        Counted(metrics.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}
