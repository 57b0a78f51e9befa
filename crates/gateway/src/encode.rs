//! Steps 9, 10, 12 and 13: the provider's request, made of the caller's.
//!
//! A body in a format the provider speaks leaves as it came, or with only the changed top-level values spliced (D5).
//! Headers follow the endpoint's manner: a spoken one sends what is listed, a relayed one all but what is ours or
//! belongs to the connection. The provider's credential is written last and cannot be overridden.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, USER_AGENT, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use outbound::Body;
use protocol::endpoint::{Endpoint, Family, Manner};
use protocol::error::{Code, Refusal};
use protocol::headers::{is_hop_by_hop, named_in_connection};
use protocol::patch::{self, Edit};
use providers::{Auth, Transport};

use crate::call::{Call, CallBody};
use crate::error::Error;
use crate::gateway::Gateway;
use crate::plan::{Credential, Target};
use crate::understand::OUR_VIA;
use crate::upload::{Progress, Upload};

/// A request ready to be sent.
pub(crate) struct Outgoing {
    pub request: http::Request<Body>,
    /// Path and query as the provider sees them under its base, for answers made in the process.
    pub tail: String,
    pub query: Option<String>,
    pub transport: Transport,
    pub progress: Option<Progress>,
}

/// What kind of answer is on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub endpoint: &'static Endpoint,
    pub stream: bool,
    /// We asked for the usage of the stream: the caller did not, and must not see the extra chunk.
    pub hide_usage: bool,
    pub head_only: bool,
}

/// Headers of a spoken endpoint that are passed on.
const PASSED: [HeaderName; 4] = [
    http::header::CONTENT_TYPE,
    http::header::ACCEPT,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("traceparent"),
];

/// Headers of a relayed endpoint that are not passed on: about us, the connection, or whoever stood before us.
const KEPT_BACK: [HeaderName; 6] =
    [HOST, CONTENT_LENGTH, AUTHORIZATION, http::header::COOKIE, http::header::FORWARDED, http::header::EXPECT];

/// Steps 12 and 13. Formats are not translated, so the body is what the parameters made of it.
pub(crate) fn encode(gateway: &Gateway, target: &Target, call: Box<Call>) -> Result<Outgoing, Error> {
    let transport = match &target.host {
        Some(_) => Transport::Network,
        None => target.provider.transport,
    };
    let uri = uri(target, &call)?;
    let headers = headers(gateway, target, &call)?;
    let (body, progress) = match call.body {
        CallBody::Empty => (Body::Empty, None),
        CallBody::Json { bytes, .. } => (Body::Full(bytes), None),
        CallBody::Stream(stream) => {
            let (upload, progress) = Upload::new(stream, gateway.limits.body_bytes);
            (Body::Stream(Box::pin(upload)), Some(progress))
        }
    };
    let mut request = http::Request::new(body);
    *request.method_mut() = call.method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(Outgoing { request, tail: call.tail, query: call.query, transport, progress })
}

/// Base, path and query, joined as text: nothing in them is encoded again.
fn uri(target: &Target, call: &Call) -> Result<Uri, Refusal> {
    let base = target.host.as_deref().unwrap_or(target.provider.base_url);
    let query = call.query.as_deref();
    let mut text = String::with_capacity(base.len() + call.tail.len() + query.map_or(0, |query| query.len() + 1));
    text.push_str(base);
    text.push_str(&call.tail);
    if let Some(query) = query {
        text.push('?');
        text.push_str(query);
    }
    Uri::try_from(text).map_err(|_| Refusal::new(Code::InvalidRequest, "the path or query is not one a URL can have"))
}

/// Steps 9 and 10, with the one addition made without being asked: a stream is asked for its usage (rulings 12). The
/// credential and the host were found with the plan.
pub(crate) fn parameters(gateway: &Gateway, target: &Target, call: &mut Call) -> Result<Expected, Error> {
    let head_only = call.method == http::Method::HEAD;
    let mut expected = Expected { endpoint: call.endpoint, stream: false, hide_usage: false, head_only };
    let CallBody::Json { bytes, facts } = &mut call.body else { return Ok(expected) };
    let overridden = |field: &str| target.overrides.iter().rfind(|edit| edit.field == field);
    expected.stream = overridden("stream").map_or(facts.stream, |edit| edit.value == "true");
    let counted = matches!(expected.endpoint.family, Family::Chat | Family::Completions);
    let wanted = expected.stream && counted && gateway.ask_for_usage && target.provider.stream_usage;
    let ask = wanted && overridden("stream_options").is_none();
    if target.overrides.is_empty() && !ask {
        return Ok(expected);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Error::Fault(format!("a checked body: {error}")))?;
    let usage = if ask { facts.ask_for_usage(text) } else { None };
    expected.hide_usage = usage.is_some();
    let edits: Vec<Edit> = target.overrides.iter().cloned().chain(usage).collect();
    if !edits.is_empty() {
        let spliced = patch::apply(text, &edits).map_err(|error| Error::Fault(format!("a checked body: {error}")))?;
        *bytes = Bytes::from(spliced);
    }
    Ok(expected)
}

fn headers(gateway: &Gateway, target: &Target, call: &Call) -> Result<HeaderMap, Refusal> {
    let mut headers = match call.endpoint.manner {
        Manner::Spoken => spoken(gateway, target, &call.headers),
        Manner::Relayed | Manner::NotYet(_) => relayed(gateway, &call.headers),
    };
    for name in &target.forward {
        headers.remove(name);
        for value in call.headers.get_all(name) {
            headers.append(name.clone(), value.clone());
        }
    }
    if target.host.is_some() {
        // Only a host of the caller's choosing can lead back to us.
        headers.append(VIA, HeaderValue::from_static(OUR_VIA));
        for value in call.headers.get_all(VIA).into_iter().filter(|_| call.endpoint.manner == Manner::Spoken) {
            headers.append(VIA, value.clone());
        }
    }
    match (&target.credential, target.provider.auth) {
        (Credential::Nothing, _) | (_, Auth::Nothing) => {}
        (Credential::Callers(value), Auth::Bearer) => {
            headers.insert(AUTHORIZATION, value.clone());
        }
        (Credential::Given(secret), Auth::Bearer) => {
            let value = HeaderValue::try_from(format!("Bearer {}", secret.expose()));
            let mut value =
                value.map_err(|_| Refusal::new(Code::InvalidConfig, "`api_key` cannot be sent in a header"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
    }
    Ok(headers)
}

fn spoken(gateway: &Gateway, target: &Target, client: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    for name in &PASSED {
        if let Some(value) = client.get(name) {
            headers.insert(name.clone(), value.clone());
        }
    }
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("gatehouse/", env!("CARGO_PKG_VERSION"))));
    if target.provider.options.is_empty() {
        return headers;
    }
    for (name, value) in &target.options {
        headers.insert(name.clone(), value.clone());
    }
    for (name, value) in client {
        let plain = gateway.prefixes.strip(name.as_str()).unwrap_or(name.as_str());
        if let Some((_, upstream)) = target.provider.options.iter().find(|(ours, _)| *ours == plain) {
            headers.entry(HeaderName::from_static(upstream)).or_insert_with(|| value.clone());
        }
    }
    headers
}

fn relayed(gateway: &Gateway, client: &HeaderMap) -> HeaderMap {
    let named = named_in_connection(client);
    let mut headers = HeaderMap::with_capacity(client.len());
    for (name, value) in client {
        let text = name.as_str();
        let ours = gateway.prefixes.strip(text).is_some() || text.starts_with("x-forwarded-");
        if !ours && !is_hop_by_hop(name) && !KEPT_BACK.contains(name) && !named.contains(name) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}
