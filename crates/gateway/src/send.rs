//! Step 15: one call to one upstream, within its time.

use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::Response;
use outbound::{Answer, Body, SendError};
use protocol::error::{Code, Refusal};
use providers::{Transport, mock};

use crate::encode::Outgoing;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::Target;
use crate::record::Trace;
use crate::understand::{collect, grew_too_large};
use crate::upload::{Progress, TooLarge};

pub(crate) async fn send(
    gateway: &Gateway,
    target: &Target,
    outgoing: Outgoing,
    trace: &mut Trace,
) -> Result<Response<Answer>, Error> {
    let limit = target.timeout.unwrap_or(gateway.limits.request_timeout);
    let progress = outgoing.progress.clone();
    let sent = pin!(async {
        match outgoing.transport {
            Transport::InProcess => Box::pin(rehearse(gateway, outgoing, trace.request_id())).await,
            Transport::Network => {
                gateway.outbound.send(outgoing.request).await.map_err(|error| failed(gateway, target, error).into())
            }
        }
    });
    match within(limit, progress.as_ref(), sent).await {
        Some(answered) => answered,
        None => {
            let message = format!("Request exceeded the timeout sent in the request: {}ms", limit.as_millis());
            Err(Refusal::new(Code::Timeout, message).of(target.provider.slug).into())
        }
    }
}

/// Waits up to `limit`, counted anew whenever the upload has moved on.
async fn within<T>(
    limit: Duration,
    progress: Option<&Progress>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let mut seen = 0;
    loop {
        match tokio::time::timeout(limit, work.as_mut()).await {
            Ok(done) => return Some(done),
            Err(_) => match progress.map(|sent| sent.load(Ordering::Relaxed)) {
                Some(sent) if sent > seen => seen = sent,
                _ => return None,
            },
        }
    }
}

/// The built-in provider: answered from a script, without a socket.
async fn rehearse(gateway: &Gateway, outgoing: Outgoing, id: &str) -> Result<Response<Answer>, Error> {
    let (head, body) = outgoing.request.into_parts();
    let body = match body {
        Body::Empty => bytes::Bytes::new(),
        Body::Full(bytes) => bytes,
        Body::Stream(stream) => collect(stream, &gateway.limits).await?,
    };
    let ask = mock::Ask {
        method: head.method.as_str(),
        path: &outgoing.tail,
        query: outgoing.query.as_deref(),
        headers: &head.headers,
        body: &body,
        id,
        now: gateway.world.now_ms() / 1000,
    };
    Ok(outbound::fake::play(mock::answer(&ask)).await)
}

fn failed(gateway: &Gateway, target: &Target, error: SendError) -> Refusal {
    let slug = target.provider.slug;
    match error {
        SendError::Refused(refusal) => {
            Refusal::new(Code::InvalidHost, "Invalid custom host").because(refusal.to_string()).of(slug)
        }
        SendError::ConnectTimeout => {
            Refusal::new(Code::ConnectTimeout, format!("{slug} error: upstream did not accept a connection in time"))
                .of(slug)
        }
        SendError::Connect { code, detail } => {
            let message = format!("{slug} error: upstream connection failed: {detail}");
            Refusal::new(Code::UpstreamFailed, message).of(slug).detail(code)
        }
        SendError::Exchange { code, detail } => {
            let message = format!("{slug} error: upstream broke off before answering: {detail}");
            Refusal::new(Code::UpstreamFailed, message).of(slug).detail(code)
        }
        SendError::Upload(error) if error.downcast_ref::<TooLarge>().is_some() => grew_too_large(gateway),
        SendError::Upload(_) => Refusal::new(Code::InvalidRequest, "the body broke off before its end"),
    }
}
