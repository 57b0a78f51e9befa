//! A request as it came in, and as it is understood.

use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use outbound::BoxError;
use protocol::body::Facts;
use protocol::endpoint::Endpoint;
use protocol::headers::Asked;

/// A request's body while it still is on its way.
pub(crate) type BodyStream = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>;

/// What the door hands in: plain facts, and a body nobody has read yet.
pub struct Incoming {
    pub method: Method,
    pub endpoint: &'static Endpoint,
    /// Path after the version, raw; appended to the provider's base byte for byte.
    pub tail: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    /// What headers of ours say.
    pub asked: Asked,
    pub body: BodyStream,
    pub peer: IpAddr,
}

/// A request that is understood.
pub struct Call {
    pub method: Method,
    pub endpoint: &'static Endpoint,
    pub tail: String,
    pub query: Option<String>,
    /// The caller's headers, without any credential for us.
    pub headers: HeaderMap,
    pub body: CallBody,
    pub timeout: Option<Duration>,
}

pub enum CallBody {
    Empty,
    /// A JSON object of a format we know, as it came, and what it says.
    Json {
        bytes: Bytes,
        facts: Facts,
    },
    /// Passed on unread.
    Stream(BodyStream),
}

impl Call {
    pub fn model(&self) -> Option<&str> {
        match &self.body {
            CallBody::Json { facts, .. } => facts.model.as_deref(),
            CallBody::Empty | CallBody::Stream(_) => None,
        }
    }
}
