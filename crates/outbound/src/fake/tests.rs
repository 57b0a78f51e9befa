#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use providers::mock::Step;
use tokio::time::timeout;

use super::*;

fn script(content_type: &str, steps: Vec<Step>) -> Script {
    Script::new(200, content_type, steps)
}

const SHORT: Duration = Duration::from_millis(30);

#[tokio::test]
async fn a_known_length_is_announced_and_counted_down() {
    let steps = vec![Step::Send(Bytes::from_static(b"{}")), Step::Fill { count: 100_000 }];
    let answer = play(script("application/json", steps)).await;
    assert_eq!(answer.headers()[CONTENT_LENGTH], "100002");
    let mut body = answer.into_body();
    assert_eq!(body.size_hint().exact(), Some(100_002));
    let mut sizes = Vec::new();
    while let Some(frame) = body.frame().await {
        sizes.push(frame.unwrap().into_data().unwrap().len());
    }
    assert_eq!(sizes, [2, 65_536, 34_464]);
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
}

#[tokio::test]
async fn an_event_stream_has_no_length_and_one_frame_per_send() {
    let steps = vec![
        Step::Send(Bytes::from_static(b"data: 1\n\n")),
        Step::Wait(SHORT),
        Step::Send(Bytes::from_static(b"data: 2\n\n")),
    ];
    let answer = play(script("text/event-stream; charset=utf-8", steps)).await;
    assert!(!answer.headers().contains_key(CONTENT_LENGTH));
    let mut body = answer.into_body();
    assert_eq!(body.size_hint().exact(), None);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: 1\n\n");
    assert!(!body.is_end_stream());
    let before = tokio::time::Instant::now();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: 2\n\n");
    assert!(before.elapsed() >= SHORT);
    assert!(body.is_end_stream() && body.frame().await.is_none());
}

#[tokio::test]
async fn an_empty_script_is_an_empty_answer() {
    let answer = play(script("application/json", vec![])).await;
    assert_eq!(answer.headers()[CONTENT_LENGTH], "0");
    assert!(answer.body().is_end_stream());
}

#[tokio::test]
async fn a_cut_is_an_error_and_then_the_end() {
    let steps = vec![Step::Send(Bytes::from_static(b"half")), Step::Cut, Step::Send(Bytes::from_static(b"never"))];
    let answer = play(script("application/json", steps)).await;
    assert!(!answer.headers().contains_key(CONTENT_LENGTH));
    let mut body = answer.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    assert!(body.frame().await.unwrap().is_err());
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_hang_neither_sends_nor_ends() {
    let mut body = play(script("application/json", vec![Step::Hang])).await.into_body();
    assert!(!body.is_end_stream());
    assert!(timeout(SHORT, body.frame()).await.is_err());
    assert!(timeout(SHORT, body.frame()).await.is_err());
}

#[tokio::test]
async fn a_head_that_never_comes_never_comes() {
    let never = Script { head_after: None, ..script("application/json", vec![]) };
    assert!(timeout(SHORT, play(never)).await.is_err());
    let late = Script { head_after: Some(SHORT), ..script("application/json", vec![]) };
    let before = tokio::time::Instant::now();
    assert_eq!(play(late).await.status(), 200);
    assert!(before.elapsed() >= SHORT);
}
