//! blackbox
