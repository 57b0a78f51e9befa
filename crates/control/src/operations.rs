//! The operations of the Admin API, as the contract names them.
//!
//! The table answers what a path under a control segment is: an operation, an operation asked for with the wrong
//! method, or nothing. Segments in braces match anything. Literal segments stand before braces in the order of search.

/// Paths under a version, with their methods.
pub(crate) const OPERATIONS: &[(&str, &[&str])] = &[
    ("/admin/organisation", &["GET", "PUT"]),
    ("/admin/users", &["GET"]),
    ("/admin/users/invites", &["GET", "POST"]),
    ("/admin/users/invites/{}", &["GET", "DELETE"]),
    ("/admin/users/invites/{}/resend", &["POST"]),
    ("/admin/users/{}", &["GET", "PUT", "DELETE"]),
    ("/admin/workspaces", &["GET", "POST"]),
    ("/admin/workspaces/{}", &["GET", "PUT", "DELETE"]),
    ("/admin/workspaces/{}/users", &["GET", "POST"]),
    ("/admin/workspaces/{}/users/{}", &["GET", "PUT", "DELETE"]),
    ("/analytics/graphs/cache/hit-rate", &["GET"]),
    ("/analytics/graphs/cache/latency", &["GET"]),
    ("/analytics/graphs/cost", &["GET"]),
    ("/analytics/graphs/errors", &["GET"]),
    ("/analytics/graphs/errors/rate", &["GET"]),
    ("/analytics/graphs/errors/stacks", &["GET"]),
    ("/analytics/graphs/errors/status-codes", &["GET"]),
    ("/analytics/graphs/feedbacks", &["GET"]),
    ("/analytics/graphs/feedbacks/ai-models", &["GET"]),
    ("/analytics/graphs/feedbacks/scores", &["GET"]),
    ("/analytics/graphs/feedbacks/weighted", &["GET"]),
    ("/analytics/graphs/latency", &["GET"]),
    ("/analytics/graphs/requests", &["GET"]),
    ("/analytics/graphs/requests/rescued", &["GET"]),
    ("/analytics/graphs/tokens", &["GET"]),
    ("/analytics/graphs/users", &["GET"]),
    ("/analytics/graphs/users/requests", &["GET"]),
    ("/analytics/groups/ai-models", &["GET"]),
    ("/analytics/groups/metadata/{}", &["GET"]),
    ("/analytics/groups/users", &["GET"]),
    ("/analytics/groups/{}", &["GET"]),
    ("/analytics/summary/cache", &["GET"]),
    ("/analytics/summary/{}", &["GET"]),
    ("/api-keys", &["GET"]),
    ("/api-keys/{}", &["GET", "PUT", "DELETE"]),
    ("/api-keys/{}/rotate", &["POST"]),
    ("/api-keys/{}/{}", &["POST"]),
    ("/audit-logs", &["GET"]),
    ("/collections", &["GET", "POST"]),
    ("/collections/{}", &["GET", "PUT", "DELETE"]),
    ("/configs", &["GET", "POST"]),
    ("/configs/explain", &["POST"]),
    ("/configs/{}", &["GET", "PUT", "DELETE"]),
    ("/configs/{}/versions", &["GET"]),
    ("/deployments", &["GET", "POST"]),
    ("/deployments/{}", &["GET", "PUT", "DELETE"]),
    ("/feedback", &["POST"]),
    ("/feedback/{}", &["PUT"]),
    ("/guardrails", &["GET", "POST"]),
    ("/guardrails/{}", &["GET", "PUT", "DELETE"]),
    ("/integrations", &["GET", "POST"]),
    ("/integrations/{}", &["GET", "PUT", "DELETE"]),
    ("/integrations/{}/models", &["GET", "PUT", "DELETE"]),
    ("/integrations/{}/workspaces", &["GET", "PUT"]),
    ("/invites/accept", &["POST"]),
    ("/labels", &["GET", "POST"]),
    ("/labels/{}", &["GET", "PUT", "DELETE"]),
    ("/logs", &["GET", "POST"]),
    ("/logs/exports", &["GET", "POST"]),
    ("/logs/exports/{}", &["GET", "PUT"]),
    ("/logs/exports/{}/cancel", &["POST"]),
    ("/logs/exports/{}/download", &["GET"]),
    ("/logs/exports/{}/start", &["POST"]),
    ("/logs/groups/{}", &["GET"]),
    ("/logs/{}", &["GET"]),
    ("/logs/{}/explain", &["GET"]),
    ("/mcp-integrations", &["GET", "POST"]),
    ("/mcp-integrations/{}", &["GET", "PUT", "DELETE"]),
    ("/mcp-integrations/{}/capabilities", &["GET", "PUT"]),
    ("/mcp-integrations/{}/metadata", &["GET"]),
    ("/mcp-integrations/{}/workspaces", &["GET", "PUT"]),
    ("/mcp-servers", &["GET", "POST"]),
    ("/mcp-servers/{}", &["GET", "PUT", "DELETE"]),
    ("/mcp-servers/{}/capabilities", &["GET", "PUT"]),
    ("/mcp-servers/{}/connections", &["GET", "DELETE"]),
    ("/mcp-servers/{}/metadata", &["GET"]),
    ("/mcp-servers/{}/test", &["POST"]),
    ("/mcp-servers/{}/user-access", &["GET", "PUT"]),
    ("/openapi.json", &["GET"]),
    ("/otel/v1/traces", &["POST"]),
    ("/plugins/{}", &["GET", "PUT"]),
    ("/policies/rate-limits", &["GET", "POST"]),
    ("/policies/rate-limits/{}", &["GET", "PUT", "DELETE"]),
    ("/policies/rate-limits/{}/entities", &["GET"]),
    ("/policies/usage-limits", &["GET", "POST"]),
    ("/policies/usage-limits/{}", &["GET", "PUT", "DELETE"]),
    ("/policies/usage-limits/{}/entities", &["GET"]),
    ("/policies/usage-limits/{}/entities/{}/reset", &["PUT"]),
    ("/prompts", &["GET", "POST"]),
    ("/prompts/partials", &["GET", "POST"]),
    ("/prompts/partials/{}", &["GET", "PUT", "DELETE"]),
    ("/prompts/partials/{}/makeDefault", &["PUT"]),
    ("/prompts/partials/{}/versions", &["GET"]),
    ("/prompts/{}", &["GET", "PUT", "DELETE"]),
    ("/prompts/{}/completions", &["POST"]),
    ("/prompts/{}/makeDefault", &["PUT"]),
    ("/prompts/{}/render", &["POST"]),
    ("/prompts/{}/versions", &["GET"]),
    ("/prompts/{}/versions/{}", &["GET", "PUT"]),
    ("/providers", &["GET", "POST"]),
    ("/providers/{}", &["GET", "PUT", "DELETE"]),
    ("/saved-filters", &["GET", "POST", "PUT", "DELETE"]),
    ("/scim/groups", &["GET"]),
    ("/scim/workspaces", &["GET", "POST"]),
    ("/scim/workspaces/{}", &["DELETE"]),
    ("/secret-references", &["GET", "POST"]),
    ("/secret-references/{}", &["GET", "PUT", "DELETE"]),
    ("/virtual-keys", &["GET", "POST"]),
    ("/virtual-keys/{}", &["GET", "PUT", "DELETE"]),
    ("/workspace-exclusions", &["GET", "PUT"]),
    ("/workspaces", &["GET", "POST"]),
    ("/workspaces/{}", &["GET", "PUT", "DELETE"]),
];

/// Paths at the host root; these are asked without a key.
pub(crate) const ROOT: &[(&str, &[&str])] = &[
    ("/docs", &["GET"]),
    ("/model-configs/general/{}", &["GET"]),
    ("/model-configs/general/{}/{}", &["GET"]),
    ("/model-configs/pricing/{}", &["GET"]),
    ("/model-configs/pricing/{}/{}", &["GET"]),
    ("/scim/v2/*", &["GET", "POST", "PUT", "PATCH", "DELETE"]),
];

/// What the table says of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Operation(&'static str),
    /// The path is there; these are its methods.
    OtherMethods(Vec<&'static str>),
    Nothing,
}

pub(crate) fn find(table: &'static [(&str, &[&str])], method: &str, path: &str) -> Known {
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut others = Vec::new();
    for (pattern, methods) in table.iter().filter(|(pattern, _)| protocol::endpoint::fits(pattern, path)) {
        if methods.contains(&method) {
            return Known::Operation(pattern);
        }
        others.extend(methods.iter().copied().filter(|method| !others.contains(method)).collect::<Vec<_>>());
    }
    if others.is_empty() { Known::Nothing } else { Known::OtherMethods(others) }
}

#[cfg(test)]
mod tests {
    use protocol::route::{CONTROL, CONTROL_ROOT};

    use super::*;

    fn first(path: &str) -> &str {
        path.split('/').nth(1).unwrap_or_default()
    }

    #[test]
    fn every_control_segment_has_an_operation_and_every_operation_a_segment() {
        for segment in CONTROL {
            assert!(OPERATIONS.iter().any(|(path, _)| first(path) == *segment), "{segment}");
        }
        for (path, methods) in OPERATIONS {
            assert!(CONTROL.contains(&first(path)), "{path}");
            assert!(!methods.is_empty(), "{path}");
        }
        for segment in CONTROL_ROOT {
            assert!(ROOT.iter().any(|(path, _)| first(path) == *segment), "{segment}");
        }
    }

    #[test]
    fn paths_stand_once() {
        for (at, (path, _)) in OPERATIONS.iter().enumerate() {
            assert!(!OPERATIONS[..at].iter().any(|(earlier, _)| earlier == path), "{path}");
        }
    }

    #[test]
    fn a_path_is_an_operation_or_has_other_methods_or_is_nothing() {
        assert_eq!(find(OPERATIONS, "POST", "/configs"), Known::Operation("/configs"));
        assert_eq!(find(OPERATIONS, "GET", "/configs/pc-x/"), Known::Operation("/configs/{}"));
        assert_eq!(find(OPERATIONS, "DELETE", "/configs"), Known::OtherMethods(vec!["GET", "POST"]));
        assert_eq!(find(OPERATIONS, "GET", "/configs/a/b/c"), Known::Nothing);
    }
}
