//! One request: what is it, and whose is it? Everything that is no inference call and no administration is answered
//! here. Every answer carries a trace id and a request id.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use control::Control;
use domain::ids::{self, World};
use domain::secret::Secret;
use gateway::{Gateway, ReplyBody};
use http::header::{ALLOW, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use protocol::error::{Code, Refusal};
use protocol::headers::{Prefixes, Tell, given_trace};
use protocol::route::{Route, decide};
use serde_json::json;

use super::cors::Cors;
use crate::config::is_local;
use crate::metrics::Metrics;

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
const METHODS_TEXT: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// How far the process is with its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// Told to stop: not ready any more; calls that still arrive are served, on connections that then close.
    Closing,
    /// Calls that arrive are refused.
    Closed,
}

/// What answers. Shared by all connections.
pub(crate) struct House {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) control: Control,
    pub(crate) world: Arc<dyn World>,
    pub(crate) prefixes: Arc<Prefixes>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) cors: Cors,
    pub(crate) service_name: String,
    pub(crate) metrics_enabled: bool,
    pub(crate) metrics_token: Option<Secret>,
    pub(crate) header_bytes: usize,
    /// Calls under way at most.
    pub(crate) calls: i64,
    pub(crate) phase: PhaseCell,
}

/// The phase, read by every request.
#[derive(Default)]
pub(crate) struct PhaseCell(AtomicU8);

impl PhaseCell {
    pub(crate) fn get(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Open,
            1 => Phase::Closing,
            _ => Phase::Closed,
        }
    }

    pub(crate) fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }
}

impl House {
    pub(crate) async fn answer(&self, peer: IpAddr, request: Request<Incoming>) -> Response<ReplyBody> {
        let origin = request.headers().get(ORIGIN).cloned();
        let (version, head_only) = (request.version(), *request.method() == Method::HEAD);
        let mut response = match self.refuse(&request) {
            Some(response) => response,
            None => self.dispatch(peer, request).await,
        };
        if head_only {
            response = without_body(response);
        }
        if origin.is_some() {
            self.cors.answer(origin.as_ref(), response.headers_mut());
        }
        if self.phase.get() != Phase::Open && version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// What no part of the house would take.
    fn refuse(&self, request: &Request<Incoming>) -> Option<Response<ReplyBody>> {
        let mut bytes = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
        let mut hosts = 0;
        for (name, value) in request.headers() {
            bytes += name.as_str().len() + value.len() + ": \r\n".len();
            hosts += usize::from(name == HOST);
        }
        let refusal = if bytes > self.header_bytes {
            let limit = self.header_bytes;
            Refusal::new(Code::HeadersTooLarge, format!("path and headers of the request have more than {limit} bytes"))
        } else if hosts == 0 && request.version() == Version::HTTP_11 {
            Refusal::new(Code::InvalidRequest, "the request has no `host` header")
        } else if hosts > 1 {
            Refusal::new(Code::InvalidRequest, "the request has more than one `host` header")
        } else if !METHODS.contains(request.method()) {
            let refusal = Refusal::new(Code::MethodNotAllowed, format!("this server takes {METHODS_TEXT}"));
            let mut response = self.other("refused", request.headers(), said(&refusal));
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(METHODS_TEXT));
            return Some(response);
        } else {
            return None;
        };
        Some(self.other("refused", request.headers(), said(&refusal)))
    }

    async fn dispatch(&self, peer: IpAddr, request: Request<Incoming>) -> Response<ReplyBody> {
        let (method, headers) = (request.method(), request.headers());
        let route = decide(method.as_str(), request.uri().path());
        let (name, answer) = match route {
            Route::Refused(why) => ("refused", said(&Refusal::new(Code::AmbiguousPath, why.to_string()))),
            _ if method == Method::OPTIONS => {
                let mut response = plain(StatusCode::NO_CONTENT, None, Bytes::new());
                self.cors.preflight(headers, response.headers_mut());
                ("preflight", response)
            }
            Route::Inference { .. } | Route::Control { .. } if self.phase.get() == Phase::Closed => {
                let refusal = Refusal::new(Code::Draining, "this gateway is shutting down; ask again, or another one");
                ("refused", later(&refusal))
            }
            Route::Inference { .. } if self.metrics.calls_in_flight() >= self.calls => {
                ("shed", busy("as many calls as are allowed are under way; try again"))
            }
            Route::Inference { endpoint, tail } => {
                let tail = tail.to_owned();
                return gateway::http::handle(&self.gateway, endpoint, tail, peer, request).await;
            }
            Route::Control { path, versioned } => {
                let response = self.control.handle(method, headers, path, versioned).await;
                ("control", response.map(ReplyBody::from))
            }
            _ if !matches!(*method, Method::GET | Method::HEAD) && route != Route::Outside => {
                let mut response = said(&Refusal::new(Code::MethodNotAllowed, "this path is only read: use GET"));
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                ("refused", response)
            }
            Route::Greeting => {
                ("greeting", plain(StatusCode::OK, Some("text/plain; charset=utf-8"), "AI Gateway says hey!".into()))
            }
            Route::Health => ("health", self.health()),
            Route::Ready => ("ready", self.ready()),
            Route::Metrics => ("metrics", self.show_metrics(peer, headers)),
            Route::Outside => ("outside", said(&Refusal::new(Code::NotFound, "Not Found"))),
        };
        self.other(name, headers, answer)
    }

    fn health(&self) -> Response<ReplyBody> {
        let body = json!({
            "status": "success",
            "message": "Server is healthy",
            "version": env!("CARGO_PKG_VERSION"),
            "service": self.service_name,
        });
        json_answer(StatusCode::OK, &body)
    }

    fn ready(&self) -> Response<ReplyBody> {
        let away = self.metrics.store_away.get() != 0;
        let current = self.gateway.keyring.is_current(self.world.now_ms());
        let store = match (away, current) {
            (false, _) => "ok",
            (true, true) => "away; known keys go on",
            (true, false) => "away for too long; calls are refused",
        };
        match self.phase.get() {
            Phase::Open if !current => {
                let body = json!({ "ready": false, "reason": "the settings store is away", "settings_store": store });
                json_answer(StatusCode::SERVICE_UNAVAILABLE, &body)
            }
            Phase::Open => json_answer(StatusCode::OK, &json!({ "ready": true, "settings_store": store })),
            Phase::Closing | Phase::Closed => {
                let body = json!({ "ready": false, "reason": "draining", "settings_store": store });
                json_answer(StatusCode::SERVICE_UNAVAILABLE, &body)
            }
        }
    }

    /// For this machine, and for whoever has the token.
    fn show_metrics(&self, peer: IpAddr, headers: &HeaderMap) -> Response<ReplyBody> {
        if !self.metrics_enabled {
            return said(&Refusal::new(Code::NotFound, "Not Found"));
        }
        let told = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        let knows = match (&self.metrics_token, told) {
            (Some(token), Some(told)) => blake3::hash(token.expose().as_bytes()) == blake3::hash(told),
            _ => false,
        };
        if !knows && !is_local(peer) {
            let message = "metrics are for this machine, or for `Authorization: Bearer` with METRICS_TOKEN";
            return said(&Refusal::new(Code::InvalidKey, message));
        }
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        plain(StatusCode::OK, Some(kind), self.metrics.text().into())
    }

    /// For a connection that is one too many.
    pub(super) fn full(&self) -> Response<ReplyBody> {
        let response = busy("as many connections as are allowed are open; try again");
        self.other("shed", &HeaderMap::new(), response)
    }

    /// For what the HTTP library could not read: counted and named like any other.
    pub(super) fn refused(&self, refusal: &Refusal) -> Response<ReplyBody> {
        self.other("refused", &HeaderMap::new(), said(refusal))
    }

    /// An answer that is no inference: counted, and named like one.
    fn other(&self, route: &'static str, asked: &HeaderMap, mut response: Response<ReplyBody>) -> Response<ReplyBody> {
        self.metrics.other(route, response.status().as_u16());
        let id = ids::request(&*self.world);
        let fresh = || HeaderValue::from_str(&ids::fresh(&*self.world)).ok();
        let given = given_trace(&self.prefixes.read(asked), asked);
        let headers = response.headers_mut();
        if let Some(trace) = given.or_else(fresh) {
            self.prefixes.tell(headers, Tell::TraceId, &trace);
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            self.prefixes.tell(headers, Tell::RequestId, &id);
            headers.insert(HeaderName::from_static("x-request-id"), id);
        }
        response
    }
}

/// The answer to HEAD: all but the body, whose length is told. HTTP/2 would send a body that is there.
fn without_body(response: Response<ReplyBody>) -> Response<ReplyBody> {
    let (mut head, body) = response.into_parts();
    let ReplyBody::Whole(whole) = body else { return Response::from_parts(head, body) };
    if let Some(whole) = whole {
        head.headers.insert(CONTENT_LENGTH, whole.len().into());
    }
    Response::from_parts(head, ReplyBody::Whole(None))
}

fn said(refusal: &Refusal) -> Response<ReplyBody> {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_answer(status, &refusal.inference_body())
}

/// A refusal that need not last.
fn later(refusal: &Refusal) -> Response<ReplyBody> {
    let mut response = said(refusal);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn busy(message: &str) -> Response<ReplyBody> {
    later(&Refusal::new(Code::Saturated, message))
}

fn json_answer(status: StatusCode, body: &serde_json::Value) -> Response<ReplyBody> {
    plain(status, Some("application/json"), body.to_string().into())
}

fn plain(status: StatusCode, kind: Option<&'static str>, body: Bytes) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(body));
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
