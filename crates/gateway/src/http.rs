//! The door of the inference path: HTTP on one side, plain facts on the other.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming as Wire;
use protocol::endpoint::Endpoint;

use crate::call::Incoming;
use crate::gateway::Gateway;
use crate::pipeline;
use crate::reply::ReplyBody;

/// Answers a request whose route was decided. `tail` is the path after the version.
pub async fn handle(
    gateway: &Arc<Gateway>,
    endpoint: &'static Endpoint,
    tail: String,
    peer: IpAddr,
    request: Request<Wire>,
) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    // Boxed, as `Call` is: every step that takes it by value would otherwise hold its own copy inside the future.
    let incoming = Box::new(Incoming {
        method: head.method,
        endpoint,
        tail,
        query: head.uri.query().map(str::to_owned),
        asked: gateway.prefixes.read(&head.headers),
        headers: head.headers,
        body: Box::pin(body.map_err(Into::into)),
        peer,
    });
    let reply = pipeline::handle(gateway, incoming).await;
    let mut response = Response::new(reply.body);
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}
