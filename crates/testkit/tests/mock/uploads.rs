//! Uploads of any size: hashed and counted in passing, not held.

use bytes::Bytes;
use serde_json::json;

use crate::rig::{Mock, json, streamed, whole};
use crate::zeros::Zeros;

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
        let request = request.body(streamed(body)).expect("a request");
        let told = json(mock.send(request).await).await;
        assert!(told["bytes"] == expected || told["text"] == expected, "{told}");
    }
}

#[tokio::test]
async fn json_beyond_the_limit_is_refused_and_still_hashed() {
    let mock = Mock::start().await;
    let body = Zeros { head: Bytes::new(), left: 33 * 1024 * 1024, tail: Bytes::new() };
    let request = mock.request("POST", "/v1/chat/completions").body(streamed(body));
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
