//! Step 15: one call to one upstream, within its time.

use std::pin::{Pin, pin};
use std::time::Duration;

use http::Response;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use outbound::{Answer, Body, BoxError, SendError};
use protocol::error::{Code, Refusal};
use providers::{Transport, mock};
use tokio::time::Instant;

use crate::encode::Outgoing;
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::Target;
use crate::record::Trace;
use crate::understand::grew_too_large;
use crate::upload::{Progress, TooLarge};

/// Gives the answer's head, and when a body that is held must be there.
pub(crate) async fn send(
    gateway: &Gateway,
    target: &Target,
    outgoing: Outgoing,
    trace: &mut Trace,
) -> Result<(Response<Answer>, Deadline), Error> {
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
    let deadline = Deadline { limit, started: Instant::now(), progress };
    match within(&deadline, sent).await {
        Some(answered) => Ok((answered?, deadline)),
        None => Err(deadline.passed(target.provider.slug).into()),
    }
}

/// When a call must be through: so long after it began, or after its upload last moved.
pub(crate) struct Deadline {
    limit: Duration,
    started: Instant,
    progress: Option<Progress>,
}

impl Deadline {
    pub(crate) fn at(&self) -> Instant {
        let moved = self.progress.as_ref().map_or(self.started, Progress::last);
        moved.max(self.started) + self.limit
    }

    pub(crate) fn passed(&self, provider: &'static str) -> Refusal {
        let message = format!("Request exceeded the timeout sent in the request: {}ms", self.limit.as_millis());
        Refusal::new(Code::Timeout, message).of(provider)
    }
}

/// Waits up to the deadline, which moves while an upload does.
async fn within<T>(deadline: &Deadline, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    loop {
        let end = deadline.at();
        match tokio::time::timeout_at(end, work.as_mut()).await {
            Ok(done) => return Some(done),
            Err(_) if deadline.at() > end => {}
            Err(_) => return None,
        }
    }
}

/// The built-in provider: answered from a script, without a socket. A body of any size goes by; what is parsed is kept.
async fn rehearse(gateway: &Gateway, outgoing: Outgoing, id: &str) -> Result<Response<Answer>, Error> {
    let (head, body) = outgoing.request.into_parts();
    let parsed = mock::is_parsed(head.method.as_str(), &outgoing.tail);
    let room = if parsed { gateway.limits.json_bytes as usize } else { 0 };
    let mut intake = mock::Intake::new(head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()));
    let mut kept = Vec::new();
    let mut take = |piece: &[u8]| {
        intake.take(piece);
        kept.extend_from_slice(&piece[..piece.len().min(room - kept.len())]);
    };
    match body {
        Body::Empty => {}
        Body::Full(bytes) => take(&bytes),
        Body::Stream(mut stream) => {
            while let Some(frame) = stream.frame().await {
                let broke = |error: BoxError| match error.downcast_ref::<TooLarge>() {
                    Some(_) => grew_too_large(gateway),
                    None => Refusal::new(Code::InvalidRequest, "the body broke off before its end"),
                };
                if let Some(piece) = frame.map_err(broke)?.data_ref() {
                    take(piece);
                }
            }
        }
    }
    let ask = mock::Ask {
        method: head.method.as_str(),
        path: &outgoing.tail,
        query: outgoing.query.as_deref(),
        headers: &head.headers,
        body: &kept,
        id,
        now: gateway.world.now_ms() / 1000,
    };
    Ok(outbound::fake::play(mock::answer_received(&ask, &intake.finish())).await)
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
