//! Where things are kept: drawers with small interfaces. The only crate that speaks SQL.
//! Knows what a record is, not what it means.

pub mod settings;

pub use settings::{Audit, Change, Filter, Noted, Notices, Page, Record, Settings, SqlSettings, Steps, StoreError};
