//! The inference path. Read `pipeline.rs` first: it is the whole story, one line a step.
//! Knows nothing of administration, and opens no socket itself.

mod admit;
mod answer;
mod authenticate;
mod cache;
mod call;
mod encode;
mod error;
mod gateway;
mod guard;
pub mod http;
mod line;
mod pipeline;
mod plan;
mod record;
mod relay;
mod reply;
mod resolve;
mod send;
mod understand;
mod upload;
mod walk;

pub use gateway::{Gateway, Limits};
pub use line::{Line, Outcome, Recorder};
pub use reply::ReplyBody;
