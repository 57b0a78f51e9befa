//! Step 2: from the key a request presents to the caller behind it.
//!
//! A key for us may come in our own header or, where no provider's secret is meant, in `Authorization` (and in
//! `x-api-key` where the Anthropic SDK puts it). Whatever is a key of ours is taken out: it never reaches a provider.

use std::sync::Arc;

use access::{Caller, Found, NoCaller};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use protocol::endpoint::Family;
use protocol::error::{Code, Refusal};
use protocol::headers::Ask;

use crate::call::Incoming;
use crate::error::Error;
use crate::gateway::Gateway;

/// What the Python SDK sends when it was given no provider secret: a placeholder, not a credential.
const PLACEHOLDER: &[u8] = b"Bearer OPENAI_API_KEY";

/// Headers in which clients put keys.
const CREDENTIALS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

pub(crate) async fn authenticate(gateway: &Gateway, incoming: &mut Incoming) -> Result<Arc<Caller>, Error> {
    if incoming.headers.get(AUTHORIZATION).is_some_and(|value| value.as_bytes() == PLACEHOLDER) {
        incoming.headers.remove(AUTHORIZATION);
    }
    let presented = presented(gateway, incoming).ok_or_else(|| refusal(&NoCaller::Unknown))?;
    let caller = gateway.keyring.caller(&presented, gateway.world.now_ms()).await;
    let caller = caller.map_err(|no_caller| refusal(&no_caller))?;
    take_out_keys(gateway, &mut incoming.headers);
    Ok(caller)
}

fn refusal(no_caller: &NoCaller) -> Refusal {
    match no_caller {
        NoCaller::Unknown => Refusal::new(Code::InvalidKey, "Invalid API Key"),
        NoCaller::Expired => Refusal::new(Code::KeyExpired, "Gateway API Key Expired"),
        NoCaller::Stale => Refusal::new(Code::Unavailable, format!("keys cannot be checked: {no_caller}; try again")),
        NoCaller::Away(error) => {
            tracing::warn!(%error, "a key could not be fetched from the store");
            Refusal::new(Code::Unavailable, "the key cannot be checked now; try again")
        }
    }
}

/// The text presented as a key for us.
fn presented(gateway: &Gateway, incoming: &Incoming) -> Option<String> {
    if let Some(value) = incoming.asked.value(Ask::ApiKey) {
        return text(value).map(str::to_owned);
    }
    let anthropic = incoming.endpoint.family == Family::Messages;
    let names = if anthropic { &CREDENTIALS[..2] } else { &CREDENTIALS[..1] };
    // The Anthropic SDK may send both; the one that is ours counts.
    let keys = names.iter().rev().filter_map(|name| incoming.headers.get(name)).filter_map(bare);
    let mut keys = keys.collect::<Vec<_>>();
    let known = keys.iter().position(|key| gateway.keyring.look(key) != Found::Unknown);
    match (known, keys.is_empty()) {
        (_, true) => None,
        (known, false) => Some(keys.swap_remove(known.unwrap_or(0)).to_owned()),
    }
}

/// Keys may be any text, not only ASCII.
fn text(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok().map(str::trim)
}

/// The credential without its scheme.
fn bare(value: &HeaderValue) -> Option<&str> {
    let text = text(value)?;
    match text.split_at_checked("bearer ".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer ") => Some(rest.trim()),
        _ => Some(text),
    }
}

/// Removes every header whose value is a key of ours, whoever's it is.
fn take_out_keys(gateway: &Gateway, headers: &mut HeaderMap) {
    for name in &CREDENTIALS {
        let ours = headers.get(name).and_then(bare).is_some_and(|key| gateway.keyring.look(key) != Found::Unknown);
        if ours {
            headers.remove(name);
        }
    }
}
