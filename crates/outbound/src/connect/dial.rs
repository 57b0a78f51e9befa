//! From a name to an open socket: look up, then try the addresses one after the other.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::failure::Failure;
use crate::pieces::{Room, joined};

pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Names to addresses. Injected, so that rebinding is a test and not an anecdote.
pub trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Lookup<'a>;
}

/// The resolver of the machine, with its hosts file and search rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDns;

impl Resolve for SystemDns {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Lookup<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Connects to the first address that answers. Each gets an equal share of the time that is left, so that one dead address
/// does not use up the time of the others.
pub(super) async fn dial(whom: &str, addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Failure> {
    let mut last = Failure::broken("ENOTFOUND", format!("`{whom}` has no address"));
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / (addresses.len() - tried) as u32;
        last = match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(|error| Failure::io(whom, &error))?;
                return Ok(stream);
            }
            Ok(Err(error)) => Failure::io(whom, &error),
            Err(_) => Failure::Timeout,
        };
    }
    Err(last)
}

/// An open connection; a type of ours because the client must learn whether a proxy is at the other end.
pub(crate) struct Socket {
    pub(super) stream: TcpStream,
    /// Requests are then written with the whole URL in their first line.
    pub(super) to_proxy: bool,
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        // Without the addresses that a plain stream would add: they would be copied into every answer.
        Connected::new().proxy(self.to_proxy)
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match joined(bufs, &mut Room::default()) {
            Some(whole) => Pin::new(&mut self.stream).poll_write(cx, whole),
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
