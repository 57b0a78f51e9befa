//! One request out, one answer back: pooled, streamed, without redirects and without second tries.

use std::sync::Arc;
use std::time::Duration;

use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::oneshot;

use crate::body::Upload;
use crate::connect::{Connector, Proxies, ProxySettings, Resolve, SystemDns, Tls};
use crate::{Answer, Body, BoxError, Policy, Reason, SendError};

/// What a connection may hold for a reader that stalls; beyond it the upstream is made to wait.
const BUFFER: usize = 64 * 1024;
const STREAM_WINDOW: u32 = 256 * 1024;
/// Large against the window of a stream, or a few stalled readers would stop everybody on the same HTTP/2 connection.
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Settings {
    /// For look-up, every address, proxy and TLS together.
    pub connect_timeout: Duration,
    pub idle_pool_timeout: Duration,
    pub max_idle_per_host: usize,
    pub proxy: ProxySettings,
    /// Certificate authorities believed in addition to the machine's.
    pub extra_ca_pem: Option<Vec<u8>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            connect_timeout: Duration::from_secs(10),
            idle_pool_timeout: Duration::from_secs(30),
            max_idle_per_host: 256,
            proxy: ProxySettings::default(),
            extra_ca_pem: None,
        }
    }
}

/// A way out for one class of trust. The pool does not ask the guard again, so callers of different trust, and a changed
/// list of trusted hosts, need an `Outbound` of their own.
#[derive(Clone)]
pub struct Outbound {
    client: Client<Connector, Upload>,
    policy: Arc<Policy>,
    proxies: Arc<Proxies>,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbound").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Outbound {
    pub fn new(policy: Arc<Policy>, settings: Settings) -> Result<Outbound, BoxError> {
        Outbound::with_resolver(policy, settings, Arc::new(SystemDns))
    }

    /// Like `new`, with names looked up elsewhere than in the system.
    pub fn with_resolver(policy: Arc<Policy>, settings: Settings, dns: Arc<dyn Resolve>) -> Result<Outbound, BoxError> {
        let proxies = Arc::new(Proxies::new(&settings.proxy)?);
        let tls = Tls::new(settings.extra_ca_pem.as_deref())?;
        let connector = Connector::new(policy.clone(), dns, proxies.clone(), tls, settings.connect_timeout);
        Ok(Outbound { client: client(connector, &settings), policy, proxies })
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sends one request and gives the answer's head; the body is streamed. Follows no redirect. Never retries anything.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Answer>, SendError> {
        let (mut head, body) = request.into_parts();
        if head.uri.scheme().is_none() || head.uri.authority().is_none() {
            return Err(SendError::Refused(Reason::NotAUrl.into()));
        }
        // The version is agreed on with the upstream; the one our caller spoke means nothing there.
        head.version = Version::HTTP_11;
        if let Some(authorization) = self.proxies.authorization(&head.uri) {
            head.headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        let (upload, failure) = Upload::watch(body);
        let answering = self.client.request(Request::from_parts(head, upload));
        Ok(answer(answering, failure).await?.map(Answer::live))
    }
}

/// An answer counts even if the upload failed meanwhile: upstreams refuse early.
async fn answer(
    mut answering: ResponseFuture,
    failure: Option<oneshot::Receiver<BoxError>>,
) -> Result<Response<Incoming>, SendError> {
    let Some(mut failure) = failure else { return Ok(answering.await?) };
    let upload_failed = tokio::select! {
        biased;
        answered = &mut answering => {
            return answered.map_err(|error| failure.try_recv().map_or_else(|_| error.into(), SendError::Upload));
        }
        failed = &mut failure => failed,
    };
    match upload_failed {
        Ok(error) => Err(SendError::Upload(error)),
        // The upload is through, or the connection let go of it.
        Err(_) => Ok(answering.await?),
    }
}

fn client(connector: Connector, settings: &Settings) -> Client<Connector, Upload> {
    Client::builder(TokioExecutor::new())
        // Without a timer, idle connections wait for the next call to be dropped.
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(settings.idle_pool_timeout)
        .pool_max_idle_per_host(settings.max_idle_per_host)
        // Repeats only what never began: a request whose pooled connection closed before its first byte was written.
        .retry_canceled_requests(true)
        .set_host(true)
        .http1_preserve_header_case(true)
        .http1_max_buf_size(BUFFER)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .build(connector)
}
