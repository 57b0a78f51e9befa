//! The one decision on what a request is, made once from method and path; everybody reads its result.

use crate::endpoint::{self, Endpoint};
use crate::path::{self, Ambiguous};

/// First segments under `/v1` (and `/v2`) that belong to the Admin API and are never proxied, whatever the method.
pub const CONTROL: &[&str] = &[
    "admin",
    "analytics",
    "api-keys",
    "audit-logs",
    "collections",
    "configs",
    "deployments",
    "feedback",
    "guardrails",
    "integrations",
    "invites",
    "labels",
    "logs",
    "mcp-integrations",
    "mcp-servers",
    "openapi.json",
    "otel",
    "plugins",
    "policies",
    "prompts",
    "providers",
    "saved-filters",
    "scim",
    "secret-references",
    "virtual-keys",
    "workspace-exclusions",
    "workspaces",
];

/// First segments at the host root that belong to the Admin API.
pub const CONTROL_ROOT: &[&str] = &["docs", "model-configs", "scim"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'p> {
    /// `GET /`.
    Greeting,
    Health,
    Ready,
    Metrics,
    /// An Admin API path; for paths under a version it is what follows the version.
    Control {
        path: &'p str,
        versioned: bool,
    },
    /// An inference call. `tail` is what is appended to the provider's base, byte for byte.
    Inference {
        endpoint: &'static Endpoint,
        tail: &'p str,
    },
    /// Nothing of ours lives there.
    Outside,
    Refused(Ambiguous),
}

/// Decides by the raw path: it is neither decoded nor tidied, only refused when it could be read in two ways.
pub fn decide<'p>(method: &str, path: &'p str) -> Route<'p> {
    if let Err(why) = path::check(path) {
        return Route::Refused(why);
    }
    match path {
        "/" => return Route::Greeting,
        "/health" | "/v1/health" => return Route::Health,
        "/ready" => return Route::Ready,
        "/metrics" => return Route::Metrics,
        _ => {}
    }
    let (version, tail) = split_first(path);
    match version {
        "v1" => under_v1(method, tail),
        "v2" if CONTROL.contains(&split_first(tail).0) => Route::Control { path: tail, versioned: true },
        "v1beta" if endpoint::fits(endpoint::GEMINI.path, path) => {
            Route::Inference { endpoint: &endpoint::GEMINI, tail: path }
        }
        root if CONTROL_ROOT.contains(&root) => Route::Control { path, versioned: false },
        _ => Route::Outside,
    }
}

fn under_v1<'p>(method: &str, tail: &'p str) -> Route<'p> {
    if tail.is_empty() {
        return Route::Outside;
    }
    let (first, rest) = split_first(tail);
    if CONTROL.contains(&first) {
        return Route::Control { path: tail, versioned: true };
    }
    if is_disguised(first) {
        return Route::Refused(Ambiguous::Disguised);
    }
    if first == "v1beta" && endpoint::fits(endpoint::GEMINI.path, tail) {
        return Route::Inference { endpoint: &endpoint::GEMINI, tail };
    }
    if first == "proxy" {
        // The deprecated spelling of pass-through, and the way to a provider's path that is named like one of ours.
        let tail = if rest.is_empty() { "/" } else { rest };
        return Route::Inference { endpoint: endpoint::find("*", "/*"), tail };
    }
    Route::Inference { endpoint: endpoint::find(method, tail), tail }
}

/// Whether another reader could take a segment for one that belongs to the Admin API.
fn is_disguised(segment: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_' || byte == b'.' || byte.is_ascii_digit();
    if segment.bytes().all(plain) {
        return false;
    }
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy().to_ascii_lowercase();
    let name = decoded.split(['/', ';', '?', '#', ' ']).next().unwrap_or_default();
    CONTROL.contains(&name)
}

/// The first segment, and the rest with its slash.
fn split_first(path: &str) -> (&str, &str) {
    let inner = path.strip_prefix('/').unwrap_or(path);
    match inner.find('/') {
        Some(at) => inner.split_at(at),
        None => (inner, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inference(method: &str, path: &str) -> (&'static str, String) {
        match decide(method, path) {
            Route::Inference { endpoint, tail } => (endpoint.id, tail.to_owned()),
            other => panic!("{method} {path}: {other:?}"),
        }
    }

    #[test]
    fn inference_paths_keep_their_tail() {
        assert_eq!(inference("POST", "/v1/chat/completions"), ("chatComplete", "/chat/completions".into()));
        assert_eq!(inference("GET", "/v1/echo/a%20b/"), ("proxy", "/echo/a%20b/".into()));
    }

    #[test]
    fn the_proxy_spelling_is_stripped_and_reaches_names_of_ours() {
        assert_eq!(inference("POST", "/v1/proxy/chat/completions"), ("proxy", "/chat/completions".into()));
        assert_eq!(inference("GET", "/v1/proxy/configs"), ("proxy", "/configs".into()));
    }

    #[test]
    fn control_paths_are_never_proxied_whatever_the_method() {
        for first in CONTROL {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"] {
                for path in [format!("/v1/{first}"), format!("/v1/{first}/x/y"), format!("/v2/{first}")] {
                    assert!(matches!(decide(method, &path), Route::Control { .. }), "{method} {path}");
                }
            }
        }
    }

    #[test]
    fn a_control_path_in_disguise_is_refused() {
        for first in ["%61dmin", "admi%6e", "config%73", "admin%2Fusers", "configs;x=1", "Admin", "CONFIGS", "%41dmin"]
        {
            let path = format!("/v1/{first}/users");
            assert_eq!(decide("GET", &path), Route::Refused(Ambiguous::Disguised), "{path}");
        }
        for first in ["Administration", "echo%20b", "files;v=1", "Models"] {
            assert!(matches!(decide("GET", &format!("/v1/{first}")), Route::Inference { .. }), "{first}");
        }
    }

    #[test]
    fn nothing_lives_outside_the_versions() {
        for path in ["/v3/chat/completions", "/v1", "/chat/completions", "/v2/chat/completions", "/v10/x", "/admin"] {
            assert_eq!(decide("POST", path), Route::Outside, "{path}");
        }
    }

    #[test]
    fn a_path_with_two_readings_is_refused_before_anything_else() {
        assert_eq!(decide("GET", "/v1/x/../admin/users"), Route::Refused(Ambiguous::DotSegment));
    }
}
