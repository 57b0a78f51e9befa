//! The documents behind an organisation, a workspace, a user and an API key, as they are kept.

use serde::{Deserialize, Serialize};

use crate::key::Kind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Organisation {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    pub name: String,
    pub is_default: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub first_name: String,
    pub last_name: String,
    pub email: Option<String>,
    pub role: OrganisationRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrganisationRole {
    Owner,
    Admin,
    Member,
}

/// An API key without its secret: that is only known as a keyed hash, which is the record's handle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiKey {
    pub name: String,
    pub kind: Kind,
    pub scopes: Vec<String>,
    /// What a list shows of the key.
    pub masked: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    /// The user a `workspace-user` key belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl ApiKey {
    pub fn expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|end| end <= now_ms)
    }

    pub fn holds(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }
}

/// Names of the kinds of documents.
pub mod kinds {
    pub const ORGANISATION: &str = "organisation";
    pub const WORKSPACE: &str = "workspace";
    pub const USER: &str = "user";
    pub const API_KEY: &str = "api_key";
    /// A sealed word that tells whether the master key fits the data.
    pub const SEAL: &str = "seal";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_expires_at_its_moment_and_not_before() {
        let key = ApiKey {
            name: "n".into(),
            kind: Kind::WorkspaceService,
            scopes: vec!["completions.write".into()],
            masked: "gh********abc".into(),
            expires_at_ms: Some(1000),
            user: None,
        };
        assert!(!key.expired(999));
        assert!(key.expired(1000));
        assert!(key.holds("completions.write") && !key.holds("completions.read"));
    }
}
