//! What reaches the mock: one request, already read, with the id and the time that its answer shall bear.

/// One request to the mock.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub method: &'a str,
    /// What follows the base URL; begins with `/`, as in `/chat/completions`.
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub headers: &'a http::HeaderMap,
    /// The whole body, or its beginning where a `Receipt` tells of the rest.
    pub body: &'a [u8],
    /// Unique; becomes part of every id in the answer.
    pub id: &'a str,
    /// Unix seconds.
    pub now: i64,
}

impl Ask<'_> {
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get(http::header::CONTENT_TYPE)?.to_str().ok()
    }
}
