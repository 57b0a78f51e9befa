//! What keys may be allowed to do: every scope, and which kind of key may hold it.

use crate::key::Kind;

/// One resource: its verbs for each kind of key.
struct Row {
    resource: &'static str,
    admin: &'static [&'static str],
    service: &'static [&'static str],
    user: &'static [&'static str],
}

const ALL: &[&str] = &["create", "read", "update", "delete", "list"];
const ROTATED: &[&str] = &["create", "read", "update", "delete", "list", "rotate"];
const LIST: &[&str] = &["list"];
const NONE: &[&str] = &[];

const fn row(
    resource: &'static str,
    admin: &'static [&'static str],
    service: &'static [&'static str],
    user: &'static [&'static str],
) -> Row {
    Row { resource, admin, service, user }
}

const TABLE: &[Row] = &[
    //  resource                          admin key  workspace service key  workspace user key
    row("organisation_users", ALL, NONE, NONE),
    row("organisation_service_api_keys", ROTATED, NONE, NONE),
    row("organisation_settings", &["read", "update"], NONE, NONE),
    row("organisation_guardrails", ALL, NONE, NONE),
    row("organisation_exclusions", &["update", "list"], NONE, NONE),
    row("audit_logs", LIST, NONE, NONE),
    row("plugins", &["create", "update", "list"], NONE, NONE),
    row("deployments", ALL, NONE, NONE),
    row("secret_references", ALL, NONE, NONE),
    row("workspaces", ALL, &["read", "update", "list"], &["read", "update", "list"]),
    row("workspace_users", ALL, ALL, ALL),
    row("workspace_service_api_keys", ROTATED, ROTATED, &["read", "list"]),
    row("workspace_user_api_keys", ROTATED, ROTATED, &["read", "list"]),
    row(
        "prompts",
        &["create", "read", "update", "delete", "list", "publish"],
        &["create", "read", "update", "delete", "list", "publish", "render"],
        &["create", "read", "update", "delete", "list", "publish", "render"],
    ),
    row("configs", ALL, ALL, ALL),
    row(
        "guardrails",
        ALL,
        &["create", "read", "update", "delete", "list", "invoke"],
        &["create", "read", "update", "delete", "list", "invoke"],
    ),
    row("virtual_keys", WITH_COPIES, WITH_COPIES, WITH_COPIES),
    row("providers", ALL, ALL, ALL),
    row("policies", ALL, ALL, ALL),
    row("organisation_integrations", ALL, LIST, LIST),
    row("workspace_integrations", ALL, ALL, ALL),
    row("organisation_mcp_integrations", ALL, LIST, LIST),
    row("workspace_mcp_integrations", ALL, ALL, ALL),
    row("mcp_servers", ALL, ALL, ALL),
    row("organisation_agent_integrations", ALL, LIST, LIST),
    row("workspace_agent_integrations", ALL, ALL, ALL),
    row("agent_servers", ALL, ALL, ALL),
    row("analytics", &["view"], &["view"], &["view"]),
    row("logs", &["export", "list", "view"], LOGS, LOGS),
    row("completions", NONE, &["write", "read"], &["write", "read"]),
    row("models", NONE, LIST, LIST),
    row("feedbacks", NONE, &["read", "write"], &["read", "write"]),
    row("mcp", NONE, &["invoke"], &["invoke"]),
    row("agents", NONE, &["invoke"], &["invoke"]),
];

const WITH_COPIES: &[&str] = &["create", "read", "update", "delete", "list", "duplicate", "copy"];
const LOGS: &[&str] = &["export", "list", "view", "read", "write"];

/// Every scope a kind of key may hold, as `resource.verb`.
pub fn every(kind: Kind) -> Vec<String> {
    let rows = TABLE.iter().flat_map(|row| verbs(row, kind).iter().map(|verb| format!("{}.{verb}", row.resource)));
    rows.collect()
}

/// Why a scope cannot be given to a key of this kind; the sentence names the remedy.
pub fn refuse(scope: &str, kind: Kind) -> Option<String> {
    let scope = normal(scope);
    let Some((resource, verb)) = scope.split_once('.') else {
        return Some(format!("`{scope}` is not a scope; scopes look like `completions.write`"));
    };
    let Some(row) = TABLE.iter().find(|row| row.resource == resource) else {
        return Some(format!("there is no scope `{scope}`"));
    };
    if verbs(row, kind).contains(&verb) {
        return None;
    }
    let known = [row.admin, row.service, row.user].iter().any(|verbs| verbs.contains(&verb));
    Some(match known {
        true => format!("a key of kind `{}` cannot hold `{scope}`", kind.name()),
        false => format!("there is no scope `{scope}`; `{resource}` has {}", row.admin.join(", ")),
    })
}

/// `deployments:create` and `deployments.create` are one scope.
pub fn normal(scope: &str) -> String {
    scope.trim().replacen(':', ".", 1)
}

fn verbs(row: &Row, kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::OrganisationService => row.admin,
        Kind::WorkspaceService => row.service,
        Kind::WorkspaceUser => row.user,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_of_a_kind_is_one_it_may_hold() {
        for kind in Kind::ALL {
            let scopes = every(kind);
            assert!(scopes.len() > 50, "{}", kind.name());
            for scope in &scopes {
                assert_eq!(refuse(scope, kind), None);
                assert_eq!(scopes.iter().filter(|other| *other == scope).count(), 1, "{scope}");
            }
        }
    }

    #[test]
    fn admin_keys_cannot_hold_inference_scopes() {
        assert!(!every(Kind::OrganisationService).contains(&"completions.write".to_owned()));
        assert!(refuse("completions.write", Kind::OrganisationService).unwrap().contains("cannot hold"));
        assert!(every(Kind::WorkspaceService).contains(&"completions.write".to_owned()));
    }

    #[test]
    fn unknown_scopes_are_named() {
        assert!(refuse("configs.fly", Kind::WorkspaceService).unwrap().contains("configs.fly"));
        assert!(refuse("everything", Kind::WorkspaceService).unwrap().contains("everything"));
        assert_eq!(refuse("deployments:create", Kind::OrganisationService), None);
    }
}
