//! The door of the Admin API: a decided route in, an answer in the contract's shape out.

use std::sync::Arc;

use access::{Caller, Keyring, NoCaller};
use bytes::Bytes;
use domain::ids::World;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use protocol::error::{Code, Refusal};
use protocol::headers::{Ask, Prefixes};

use crate::operations::{Known, OPERATIONS, ROOT, find};

pub struct Control {
    pub world: Arc<dyn World>,
    pub keyring: Arc<Keyring>,
    pub prefixes: Arc<Prefixes>,
}

impl Control {
    /// Answers a request to a control path. Authentication comes first, so that nobody learns what exists without a key.
    pub async fn handle(&self, method: &Method, headers: &HeaderMap, path: &str, versioned: bool) -> Response<Bytes> {
        let known = match versioned {
            true => match self.caller(headers).await {
                Ok(_) => find(OPERATIONS, method.as_str(), path),
                Err(refusal) => return answer(&refusal),
            },
            false => find(ROOT, method.as_str(), path),
        };
        match known {
            Known::Operation(path) => answer(&Refusal::not_yet(&format!("{method} {path}"))),
            Known::OtherMethods(methods) => {
                let message = format!("`{path}` does not take {method}; it takes {}", methods.join(", "));
                let mut response = answer(&Refusal::new(Code::MethodNotAllowed, message));
                if let Ok(allow) = HeaderValue::from_str(&methods.join(", ")) {
                    response.headers_mut().insert(ALLOW, allow);
                }
                response
            }
            Known::Nothing => answer(&Refusal::new(Code::NotFound, format!("`{path}` was not found"))),
        }
    }

    /// The key in our own header, else in `Authorization`.
    async fn caller(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Refusal> {
        let unknown = || Refusal::new(Code::InvalidKey, "Unauthorised Request");
        let asked = self.prefixes.read(headers);
        let bearer = || {
            let text = std::str::from_utf8(headers.get(AUTHORIZATION)?.as_bytes()).ok()?;
            text.strip_prefix("Bearer ").or(text.strip_prefix("bearer "))
        };
        let key = asked.value(Ask::ApiKey).and_then(|value| std::str::from_utf8(value.as_bytes()).ok()).or_else(bearer);
        let caller = self.keyring.caller(key.ok_or_else(unknown)?.trim(), self.world.now_ms()).await;
        caller.map_err(|no_caller| match no_caller {
            NoCaller::Unknown => unknown(),
            NoCaller::Expired => Refusal::new(Code::KeyExpired, "Unauthorised Request: the key has expired"),
            NoCaller::Stale => {
                Refusal::new(Code::Unavailable, format!("keys cannot be checked: {no_caller}; try again"))
            }
            NoCaller::Away(error) => {
                tracing::warn!(%error, "a key could not be fetched from the store");
                Refusal::new(Code::Unavailable, "the key cannot be checked now; try again")
            }
        })
    }
}

fn answer(refusal: &Refusal) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(refusal.admin_body().to_string()));
    *response.status_mut() = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
