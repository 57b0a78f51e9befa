//! An upstream that only exists as a script: it is played with timers, without a socket, and gives an answer like any
//! other.

use std::future::pending;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use providers::mock::Script;

use crate::body::Answer;
use crate::player::Player;

/// Answers as the script says. Where the head never comes, this never returns.
pub async fn play(script: Script) -> Response<Answer> {
    match script.head_after {
        Some(Duration::ZERO) => {}
        Some(delay) => tokio::time::sleep(delay).await,
        None => pending().await,
    }
    let mut head = Response::new(());
    // A script is our own data; a status or header that is none is a slip there and shows as a 500 or an absence.
    *head.status_mut() = StatusCode::from_u16(script.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &script.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_ref()), HeaderValue::from_str(value)) {
            head.headers_mut().append(name, value);
        }
    }
    // Event streams are sent without a length even where it is known, as real upstreams do.
    let length = if script.is_stream() { None } else { script.length() };
    if let Some(length) = length {
        head.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    head.map(|()| Answer::scripted(Player::new(script.steps, length)))
}

#[cfg(test)]
mod tests;
