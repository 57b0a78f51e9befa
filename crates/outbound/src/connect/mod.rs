//! The way to an upstream: guard, socket, proxy, TLS, all within one time limit.

mod dial;
mod guarded;
mod proxy;
mod tls;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{DefaultServerNameResolver, HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use tower_service::Service;

pub(crate) use dial::Socket;
pub use dial::{Lookup, Resolve, SystemDns};
pub(crate) use guarded::Guarded;
pub(crate) use proxy::Proxies;
pub use proxy::ProxySettings;
pub(crate) use tls::Tls;

use crate::Policy;
use crate::failure::Failure;

pub(crate) type Stream = MaybeHttpsStream<TokioIo<Socket>>;

#[derive(Clone)]
pub(crate) struct Connector {
    guarded: Guarded,
    tls: Arc<Tls>,
    timeout: Duration,
}

impl Connector {
    pub(crate) fn new(
        policy: Arc<Policy>,
        dns: Arc<dyn Resolve>,
        proxies: Arc<Proxies>,
        tls: Tls,
        timeout: Duration,
    ) -> Connector {
        Connector { guarded: Guarded { policy, dns, proxies, timeout }, tls: Arc::new(tls), timeout }
    }

    async fn connect(mut self, uri: Uri) -> Result<Stream, Failure> {
        if uri.scheme() != Some(&http::uri::Scheme::HTTPS) {
            return self.guarded.call(uri).await.map(MaybeHttpsStream::Http);
        }
        let whom = uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let config = self.tls.config().await?;
        let mut secured =
            HttpsConnector::new(self.guarded, config, true, Arc::new(DefaultServerNameResolver::default()));
        secured.call(uri).await.map_err(|error| Failure::tls(&whom, &*error))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // Around everything, TLS too: an upstream that accepts and then says nothing is as absent as one that is down.
        let limit = self.timeout;
        let connecting = self.clone().connect(uri);
        Box::pin(async move { tokio::time::timeout(limit, connecting).await.unwrap_or(Err(Failure::Timeout)) })
    }
}
