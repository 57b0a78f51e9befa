//! Uploads of any size: hashed and counted in passing, not held.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use serde_json::json;

use crate::rig::{Mock, json, streamed, whole};

static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A head, so many zeros and a tail, made as they are read.
struct Zeros {
    head: Bytes,
    left: usize,
    tail: Bytes,
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.left.min(ZEROS.len());
        let piece = if !self.head.is_empty() {
            std::mem::take(&mut self.head)
        } else if size > 0 {
            self.left -= size;
            Bytes::from_static(&ZEROS[..size])
        } else {
            std::mem::take(&mut self.tail)
        };
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }
}

/// The most memory this process ever held, in kilobytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[tokio::test]
async fn two_hundred_megabytes_are_hashed_with_flat_memory() {
    let mock = Mock::start().await;
    let body = Zeros { head: Bytes::new(), left: 200_000_000, tail: Bytes::new() };
    let before = peak_memory();
    let request = mock.request("PUT", "/v1/blob").body(streamed(body.map_err(|never| match never {})));
    let answer = mock.send(request.expect("a request")).await;
    assert!(peak_memory() - before < 64 * 1024, "{} kB more", peak_memory() - before);
    assert_eq!(answer.headers()["x-mock-bytes"], "200000000");
    assert_eq!(answer.headers()["x-mock-sha256"], SHA256_OF_200_MB_OF_ZEROS);
    let told = json(answer).await;
    assert_eq!((&told["sha256"], &told["bytes"]), (&json!(SHA256_OF_200_MB_OF_ZEROS), &json!(200_000_000)));
    assert_eq!(mock.calls("blob").await[0]["body"].as_str().map(str::len), Some(64 * 1024));
}

const SHA256_OF_200_MB_OF_ZEROS: &str = "d162f6594b643795442d4c7bba3a1711962b9e63717625d9f1f9696df315c86b";

#[tokio::test]
async fn the_file_in_a_form_is_found_and_counted() {
    let mock = Mock::start().await;
    let head = concat!(
        "--B\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"big.bin\"\r\n\r\n"
    );
    for (path, expected) in [
        ("/v1/files", json!(3_000_000)),
        ("/v1/audio/transcriptions", json!("transcribed big.bin 3000000 bytes")),
        ("/v1/audio/translations", json!("translated big.bin 3000000 bytes")),
    ] {
        let body = Zeros { head: Bytes::from_static(head.as_bytes()), left: 3_000_000, tail: "\r\n--B--\r\n".into() };
        let request = mock.request("POST", path).header("content-type", "multipart/form-data; boundary=B");
        let request = request.body(streamed(body.map_err(|never| match never {}))).expect("a request");
        let told = json(mock.send(request).await).await;
        assert!(told["bytes"] == expected || told["text"] == expected, "{told}");
    }
}

#[tokio::test]
async fn json_beyond_the_limit_is_refused_and_still_hashed() {
    let mock = Mock::start().await;
    let body = Zeros { head: Bytes::new(), left: 33 * 1024 * 1024, tail: Bytes::new() };
    let request = mock.request("POST", "/v1/chat/completions").body(streamed(body.map_err(|never| match never {})));
    let answer = mock.send(request.expect("a request")).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-mock-bytes"]),
        (413, &"34603008".parse().expect("text"))
    );
}

#[tokio::test]
async fn json_above_the_recorded_part_is_parsed() {
    let mock = Mock::start().await;
    let word = "w".repeat(1_000_000);
    let asked = json!({"model": "echo", "messages": [{"role": "user", "content": word}]});
    let request = mock.request("POST", "/v1/chat/completions").body(whole(asked.to_string())).expect("a request");
    assert_eq!(json(mock.send(request).await).await["choices"][0]["message"]["content"], word);
}
