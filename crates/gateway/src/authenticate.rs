//! Step 2: from the key a request presents to the caller behind it.
//!
//! A key for us may come in our own header or, where no provider's secret is meant, in `Authorization` (and in
//! `x-api-key` where the Anthropic SDK puts it). Whatever is a key of ours is taken out: it never reaches a provider.

use std::sync::Arc;

use access::{Caller, Found};
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
    let now = gateway.world.now_ms();
    if !gateway.keyring.is_current(now) {
        let message = "keys cannot be checked: the settings store has been away for too long; try again";
        return Err(Refusal::new(Code::Unavailable, message).into());
    }
    let presented = presented(gateway, incoming);
    let caller = match presented.as_deref().map(|key| gateway.keyring.look(key)) {
        Some(Found::Caller(caller)) => caller,
        Some(Found::Cold(hash)) => match gateway.keyring.fetch(&hash).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return Err(unknown().into()),
            Err(error) => {
                tracing::warn!(%error, "a key could not be fetched from the store");
                let message = "the key cannot be checked now; try again";
                return Err(Refusal::new(Code::Unavailable, message).into());
            }
        },
        Some(Found::Unknown) | None => return Err(unknown().into()),
    };
    if caller.key.expired(now) {
        return Err(Refusal::new(Code::KeyExpired, "Gateway API Key Expired").into());
    }
    take_out_keys(gateway, &mut incoming.headers);
    Ok(caller)
}

fn unknown() -> Refusal {
    Refusal::new(Code::InvalidKey, "Invalid API Key")
}

/// The text presented as a key for us.
fn presented(gateway: &Gateway, incoming: &Incoming) -> Option<String> {
    if let Some(value) = incoming.asked.value(Ask::ApiKey) {
        return value.to_str().ok().map(|text| text.trim().to_owned());
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

/// The credential without its scheme.
fn bare(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?.trim();
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
