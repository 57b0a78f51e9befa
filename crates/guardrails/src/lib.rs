//! guardrails
