//! The guard as a connector: the only code of the product that opens a socket to the outside.
//!
//! A hook in the resolver would not do, because an IP literal never asks it. And the check is made here, at connect time,
//! and not for every request: the pool hands a connection only to requests of the same scheme and authority, and the policy
//! does not change while an `Outbound` lives, so each pooled connection stands for a check with the same outcome.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout};
use tower_service::Service;

use super::dial::{Resolve, Socket, dial};
use super::proxy::Proxies;
use crate::failure::Failure;
use crate::guard::{Host, Policy, Reason, Scheme, Target};

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Socket>, Failure>> + Send>>;

#[derive(Clone)]
pub(crate) struct Guarded {
    pub(super) policy: Arc<Policy>,
    pub(super) dns: Arc<dyn Resolve>,
    pub(super) proxies: Arc<Proxies>,
    pub(super) timeout: Duration,
}

impl Service<Uri> for Guarded {
    type Response = TokioIo<Socket>;
    type Error = Failure;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let this = self.clone();
        Box::pin(async move { this.connect(uri).await })
    }
}

impl Guarded {
    async fn connect(&self, uri: Uri) -> Result<TokioIo<Socket>, Failure> {
        let deadline = Instant::now() + self.timeout;
        let target = self.target(&uri)?;
        match self.proxies.on_the_way_to(&uri) {
            None => {
                let addresses = self.checked_addresses(&target).await?;
                let stream = dial(&format!("{}:{}", target.host, target.port), &addresses, deadline).await?;
                Ok(TokioIo::new(Socket { stream, to_proxy: false }))
            }
            Some(proxy) => self.connect_by(proxy, &target, uri, deadline).await,
        }
    }

    fn target(&self, uri: &Uri) -> Result<Target, Failure> {
        let scheme =
            Scheme::read(uri.scheme_str().unwrap_or_default()).map_err(|reason| Failure::Refused(reason.into()))?;
        let authority = uri.authority().ok_or(Failure::Refused(Reason::NotAUrl.into()))?;
        Ok(self.policy.check_authority(scheme, authority.as_str())?)
    }

    /// Looks the host up once; one bad address refuses all of them, for the next look-up may lead there.
    async fn checked_addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Failure> {
        let name = match &target.host {
            Host::Address(address) => return Ok(vec![SocketAddr::new(*address, target.port)]),
            Host::Name(name) => name,
        };
        let mut found = self.dns.resolve(name, target.port).await.map_err(|error| Failure::lookup(name, &error))?;
        for address in &mut found {
            self.policy.check_address(address.ip(), target.trusted)?;
            // The port was checked in the URL; a resolver has no say in it.
            address.set_port(target.port);
        }
        Ok(found)
    }

    /// The proxy's own address is the operator's and not checked. The target is, as far as we can see it from here: behind a
    /// proxy names may resolve that do not resolve here. Where there is no DNS at all, look-ups hang; they get a part of the
    /// time only, so that the call is not lost with them.
    async fn connect_by(
        &self,
        proxy: Intercept,
        target: &Target,
        uri: Uri,
        deadline: Instant,
    ) -> Result<TokioIo<Socket>, Failure> {
        let looking = timeout(self.timeout / 4, self.checked_addresses(target));
        if let Ok(Err(Failure::Refused(refusal))) = looking.await {
            return Err(refusal.into());
        }
        let mut to_proxy = ToProxy { dns: self.dns.clone(), deadline, scheme: target.scheme };
        if target.scheme == Scheme::Http {
            return to_proxy.call(proxy.uri().clone()).await;
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        tunnel.call(uri).await.map_err(|error| Failure::tunnel(&error))
    }
}

/// Connects to the proxy itself.
#[derive(Clone)]
struct ToProxy {
    dns: Arc<dyn Resolve>,
    deadline: Instant,
    scheme: Scheme,
}

impl Service<Uri> for ToProxy {
    type Response = TokioIo<Socket>;
    type Error = Failure;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Connecting {
        let this = self.clone();
        Box::pin(async move {
            let host = proxy.host().unwrap_or_default().trim_matches(['[', ']']);
            let port = proxy.port_u16().unwrap_or(80);
            let addresses = match host.parse::<IpAddr>() {
                Ok(address) => vec![SocketAddr::new(address, port)],
                Err(_) => this.dns.resolve(host, port).await.map_err(|error| Failure::lookup(host, &error))?,
            };
            let stream = dial(&format!("proxy {host}:{port}"), &addresses, this.deadline).await?;
            Ok(TokioIo::new(Socket { stream, to_proxy: this.scheme == Scheme::Http }))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use super::*;
    use crate::connect::{Lookup, ProxySettings};

    /// Public at the first look-up, loopback at the second.
    struct Turning(Mutex<Vec<[u8; 4]>>);

    impl Resolve for Turning {
        fn resolve<'a>(&'a self, _: &'a str, port: u16) -> Lookup<'a> {
            let next = self.0.lock().unwrap().pop().unwrap();
            Box::pin(async move { Ok(vec![SocketAddr::from((next, port))]) })
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_to_loopback_after_the_first_look_up_is_refused() {
        let guarded = Guarded {
            policy: Arc::new(Policy::default()),
            dns: Arc::new(Turning(Mutex::new(vec![[127, 0, 0, 1], [8, 8, 8, 8]]))),
            proxies: Arc::new(Proxies::new(&ProxySettings::default()).unwrap()),
            timeout: Duration::from_secs(1),
        };
        let target = guarded.target(&Uri::from_static("http://turns.example.com:8080/")).unwrap();
        let first = guarded.checked_addresses(&target).await.unwrap();
        assert_eq!(first, [SocketAddr::from(([8, 8, 8, 8], 8080))]);
        let second = guarded.checked_addresses(&target).await.unwrap_err();
        assert!(matches!(second, Failure::Refused(refusal) if refusal.reason == Reason::LoopbackAddress));
    }
}
