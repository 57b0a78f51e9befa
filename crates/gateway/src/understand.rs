//! Steps 1, 5 and 7: how large a request is, what its headers ask for, what its body says.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VIA};
use http_body_util::BodyExt;
use protocol::body::{self, BadBody};
use protocol::endpoint::{Body, Manner};
use protocol::error::{Code, Refusal};
use protocol::headers::{Ask, Asked};
use tokio::time::timeout;

use crate::call::{BodyStream, Call, CallBody, Incoming};
use crate::error::Error;
use crate::gateway::{Gateway, Limits};
use crate::upload::TooLarge;

/// How often a call may come through this gateway: the third time is a loop.
const HOPS: usize = 3;
/// How we name ourselves in `Via`: protocol version and pseudonym, as RFC 9110 writes it.
pub(crate) const OUR_VIA: &str = "1.1 gatehouse";

/// Step 1: refuses what is too large, or has been here too often, before anything else is looked at.
pub(crate) fn receive(gateway: &Gateway, incoming: &Incoming) -> Result<(), Refusal> {
    let limit = limit(gateway, incoming);
    if declared_length(&incoming.headers).is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    if hops(incoming) >= HOPS {
        let message = format!("the call came through this gateway {HOPS} times; a custom host leads back here");
        return Err(Refusal::new(Code::LoopDetected, message));
    }
    Ok(())
}

fn limit(gateway: &Gateway, incoming: &Incoming) -> u64 {
    match incoming.endpoint.body {
        Body::Json => gateway.limits.json_bytes,
        Body::Form | Body::Any => gateway.limits.body_bytes,
    }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(limit: u64) -> Refusal {
    let size = if limit >= 1024 * 1024 { format!("{}MB", limit / (1024 * 1024)) } else { format!("{limit} bytes") };
    Refusal::new(Code::TooLarge, format!("Payload size exceeds the limit of {size}"))
}

fn hops(incoming: &Incoming) -> usize {
    let told = incoming.asked.text(Ask::Hop).ok().flatten().and_then(|text| text.parse().ok());
    let vias = incoming.headers.get_all(VIA).into_iter().filter_map(|value| value.to_str().ok());
    let ours = vias.flat_map(|value| value.split(',')).filter(|via| via.trim() == OUR_VIA);
    ours.count().max(told.unwrap_or(0))
}

/// What the headers of a request ask for, beyond the call itself.
#[derive(Debug)]
pub(crate) struct Wishes {
    pub provider: Option<String>,
    pub config: Option<String>,
    pub virtual_key: Option<String>,
    pub custom_host: Option<String>,
    pub forward_headers: Option<Vec<String>>,
}

/// Headers that ask for what is not built by saying anything at all.
const NOT_YET_AT_ALL: &[(Ask, &str)] = &[(Ask::Beta, "beta features")];

/// Headers that ask for what is not built, and what that is. Only those that would change the answer are here.
const NOT_YET: &[(Ask, &str)] = &[
    (Ask::NitroMode, "nitro mode"),
    (Ask::FetchIntegratedModels, "the model catalogue"),
    (Ask::DryRun, "dry runs"),
    (Ask::Explain, "explained calls"),
];

/// Steps 5 and 7.
pub(crate) async fn understand(gateway: &Gateway, incoming: Box<Incoming>) -> Result<(Box<Call>, Wishes), Error> {
    let Incoming { method, endpoint, tail, query, headers, asked, body, .. } = *incoming;
    if let Manner::NotYet(what) = endpoint.manner {
        return Err(Refusal::not_yet(what).into());
    }
    for (ask, what) in NOT_YET {
        if asked.is_true(*ask) {
            return Err(Refusal::not_yet(&format!("{what} (`{}`)", gateway.prefixes.ours(*ask))).into());
        }
    }
    for (ask, what) in NOT_YET_AT_ALL {
        if asked.value(*ask).is_some_and(|value| !value.is_empty()) {
            return Err(Refusal::not_yet(&format!("{what} (`{}`)", gateway.prefixes.ours(*ask))).into());
        }
    }
    let text = |ask: Ask| {
        let not_text = |ask: Ask| {
            let message = format!("the header `{}` is not UTF-8", gateway.prefixes.ours(ask));
            Refusal::new(Code::InvalidRequest, message)
        };
        asked.text(ask).map(|text| text.map(str::to_owned)).map_err(not_text)
    };
    let wishes = Wishes {
        provider: text(Ask::Provider)?,
        config: text(Ask::Config)?,
        virtual_key: text(Ask::VirtualKey)?,
        custom_host: text(Ask::CustomHost)?,
        forward_headers: text(Ask::ForwardHeaders)?
            .map(|names| protocol::headers::list(&names).into_iter().map(str::to_owned).collect()),
    };
    let timeout = asked_timeout(&asked);
    let body = match endpoint.body {
        _ if body.is_end_stream() && endpoint.body != Body::Json => CallBody::Empty,
        Body::Json => {
            media_type(&headers, |kind| kind == "application/json" || kind.ends_with("+json"))?;
            json(&gateway.limits, &headers, body).await?
        }
        Body::Form => {
            media_type(&headers, |kind| kind == "multipart/form-data" || kind.starts_with("audio/"))?;
            CallBody::Stream(body)
        }
        Body::Any => CallBody::Stream(body),
    };
    Ok((Box::new(Call { method, endpoint, tail, query, headers, body, timeout }), wishes))
}

/// Zero and what is not a number are as good as no limit.
fn asked_timeout(asked: &Asked) -> Option<Duration> {
    let milliseconds: u64 = asked.text(Ask::RequestTimeout).ok().flatten()?.parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

fn media_type(headers: &HeaderMap, fits: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if fits(&kind) {
        return Ok(());
    }
    let refusal = Refusal::new(Code::InvalidRequest, "Invalid content type passed");
    Err(refusal.because(format!("this endpoint does not take `{kind}`")))
}

async fn json(limits: &Limits, headers: &HeaderMap, body: BodyStream) -> Result<CallBody, Error> {
    if headers.get(CONTENT_ENCODING).is_some_and(|value| value != "identity") {
        let message = "a compressed JSON body cannot be looked at; send it without `content-encoding`";
        return Err(Refusal::new(Code::InvalidRequest, message).into());
    }
    let bytes = collect(body, limits).await?;
    let facts = body::facts(&bytes).map_err(bad_body)?;
    Ok(CallBody::Json { bytes, facts })
}

fn bad_body(bad: BadBody) -> Refusal {
    let code = match bad {
        BadBody::NotUtf8 | BadBody::Malformed(_) => Code::InvalidJson,
        BadBody::Repeated(_) | BadBody::WrongType(..) => Code::InvalidRequest,
    };
    Refusal::new(code, bad.to_string())
}

/// Reads a body whole. One that came in one piece is not copied.
pub(crate) async fn collect(mut body: BodyStream, limits: &Limits) -> Result<Bytes, Error> {
    let limit = limits.json_bytes;
    let mut whole = Gathered::Nothing;
    let stalled = |_| Refusal::new(Code::Timeout, "the body of the request did not go on in time");
    while let Some(frame) = timeout(limits.body_timeout, body.frame()).await.map_err(stalled)? {
        let frame = frame.map_err(|error| match error.downcast_ref::<TooLarge>() {
            Some(_) => too_large(limit),
            None => Refusal::new(Code::InvalidRequest, "the body broke off before its end"),
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if (whole.len() + data.len()) as u64 > limit {
            return Err(too_large(limit).into());
        }
        whole = match whole {
            Gathered::Nothing => Gathered::One(data),
            Gathered::One(first) => {
                let expected = body.size_hint().lower().min(limit) as usize;
                let mut many = BytesMut::with_capacity(first.len() + data.len() + expected);
                many.extend_from_slice(&first);
                many.extend_from_slice(&data);
                Gathered::Many(many)
            }
            Gathered::Many(mut many) => {
                many.extend_from_slice(&data);
                Gathered::Many(many)
            }
        };
    }
    Ok(match whole {
        Gathered::Nothing => Bytes::new(),
        Gathered::One(only) => only,
        Gathered::Many(many) => many.freeze(),
    })
}

/// What has been read of a body.
enum Gathered {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl Gathered {
    fn len(&self) -> usize {
        match self {
            Gathered::Nothing => 0,
            Gathered::One(only) => only.len(),
            Gathered::Many(many) => many.len(),
        }
    }
}

/// The refusal for an upload that grew too large on its way.
pub(crate) fn grew_too_large(gateway: &Gateway) -> Refusal {
    too_large(gateway.limits.body_bytes)
}
