//! Memory is measured for the whole process: this test has one of its own.

use bytes::Bytes;
use serde_json::json;

#[allow(dead_code)]
#[path = "mock/rig.rs"]
mod rig;
#[path = "mock/zeros.rs"]
mod zeros;

use rig::{Mock, json, streamed};
use zeros::Zeros;

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
    let request = mock.request("PUT", "/v1/blob").body(streamed(body));
    let answer = mock.send(request.expect("a request")).await;
    assert!(peak_memory() - before < 64 * 1024, "{} kB more", peak_memory() - before);
    assert_eq!(answer.headers()["x-mock-bytes"], "200000000");
    assert_eq!(answer.headers()["x-mock-sha256"], SHA256_OF_200_MB_OF_ZEROS);
    let told = json(answer).await;
    assert_eq!((&told["sha256"], &told["bytes"]), (&json!(SHA256_OF_200_MB_OF_ZEROS), &json!(200_000_000)));
    assert_eq!(mock.calls("blob").await[0]["body"].as_str().map(str::len), Some(64 * 1024));
}

const SHA256_OF_200_MB_OF_ZEROS: &str = "d162f6594b643795442d4c7bba3a1711962b9e63717625d9f1f9696df315c86b";
