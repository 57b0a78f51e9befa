//! Requests and answers over a plain connection.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use outbound::{Body, BoxError, Outbound, Reason, SendError, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::sync::mpsc::unbounded_channel;

use crate::scene::{PROMPTLY, closed_port, door, get, read_head, text, trusting, upstream, within};

#[tokio::test]
async fn bytes_and_headers_go_out_and_come_back_as_they_are() {
    let (seen_by, mut seen) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let seen_by = seen_by.clone();
        async move {
            let mut got = read_head(&mut stream).await;
            while !got.ends_with("1.0e2}") {
                let mut rest = [0; 64];
                let n = stream.read(&mut rest).await.unwrap();
                got += std::str::from_utf8(&rest[..n]).unwrap();
            }
            seen_by.send(got).unwrap();
            let answer = "HTTP/1.1 201 Created\r\nx-odd: a  b\r\ncontent-length: 6\r\n\r\n{\"n\":1";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let request = Request::post(format!("http://{address}/v1/chat?x=%2F&y"))
        .header("authorization", "Bearer k")
        .header("x-forward", "  as it is".trim())
        .version(Version::HTTP_2)
        .body(Body::from(Bytes::from_static(b"{\"model\":\"x\" , \"n\":1.0e2}")))
        .unwrap();
    let answer = door(Settings::default()).send(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert_eq!(answer.headers()["x-odd"], "a  b");
    assert_eq!(answer.body().size_hint().exact(), Some(6));
    assert_eq!(text(answer.into_body()).await, "{\"n\":1");
    assert_eq!(
        seen.recv().await.unwrap(),
        format!(
            "POST /v1/chat?x=%2F&y HTTP/1.1\r\nauthorization: Bearer k\r\nx-forward: as it is\r\nhost: {address}\r\n\
             content-length: 25\r\n\r\n{{\"model\":\"x\" , \"n\":1.0e2}}"
        )
    );
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let address = upstream(move |mut stream| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                read_head(&mut stream).await;
                let head = format!("HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
            }
        })
        .await;
        let answer = door(Settings::default()).send(get(format!("http://{address}/"))).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers()["location"], "/elsewhere");
        assert!(answer.body().is_end_stream());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_closed_port_is_reported_at_once() {
    let port = closed_port().await;
    let door = door(Settings::default());
    let error = within(PROMPTLY, door.send(get(format!("http://127.0.0.1:{port}/?key=secret")))).await.unwrap_err();
    let SendError::Connect { code, detail } = &error else { panic!("{error:?}") };
    assert_eq!(*code, "ECONNREFUSED");
    assert!(detail.contains(&port.to_string()) && !error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn an_upstream_that_does_not_accept_is_given_up_in_time() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody accepts: after a few the queue is full and further calls stay unanswered.
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
        assert!(waiting.len() < 64, "the queue never fills here");
    }
    let door = door(Settings { connect_timeout: Duration::from_millis(150), ..Settings::default() });
    let error = within(PROMPTLY, door.send(get(format!("http://{address}/")))).await.unwrap_err();
    assert!(matches!(error, SendError::ConnectTimeout), "{error:?}");
}

#[tokio::test]
async fn an_upstream_that_accepts_and_never_speaks_tls_is_given_up_in_time() {
    let address = upstream(|stream| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let door = door(Settings { connect_timeout: Duration::from_millis(800), ..Settings::default() });
    let error = within(Duration::from_secs(3), door.send(get(format!("https://{address}/")))).await.unwrap_err();
    assert!(matches!(error, SendError::ConnectTimeout), "{error:?}");
}

#[tokio::test]
async fn dropping_the_answer_closes_the_connection() {
    let (closed_by, mut closed) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let closed_by = closed_by.clone();
        async move {
            read_head(&mut stream).await;
            let start = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n";
            stream.write_all(start.as_bytes()).await.unwrap();
            let n = stream.read(&mut [0; 16]).await.unwrap_or(0);
            closed_by.send(n).unwrap();
        }
    })
    .await;
    let answer = door(Settings::default()).send(get(format!("http://{address}/"))).await.unwrap();
    let mut body = answer.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "data: 1\n\n");
    assert!(!body.is_end_stream());
    drop(body);
    assert_eq!(within(PROMPTLY, closed.recv()).await, Some(0));
}

#[tokio::test]
async fn dropping_the_call_before_the_head_closes_the_connection() {
    let (told_by, mut told) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let told_by = told_by.clone();
        async move {
            read_head(&mut stream).await;
            told_by.send("asked").unwrap();
            assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
            told_by.send("closed").unwrap();
        }
    })
    .await;
    let door = door(Settings::default());
    let call = tokio::spawn(async move { door.send(get(format!("http://{address}/"))).await.map(drop) });
    assert_eq!(within(PROMPTLY, told.recv()).await, Some("asked"));
    call.abort();
    assert_eq!(within(PROMPTLY, told.recv()).await, Some("closed"));
}

#[tokio::test]
async fn a_connection_serves_the_next_call_too() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let address = upstream(move |mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            for _ in 0..3 {
                read_head(&mut stream).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            }
        }
    })
    .await;
    let door = door(Settings::default());
    for _ in 0..3 {
        let answer = door.send(get(format!("http://{address}/"))).await.unwrap();
        assert_eq!(text(answer.into_body()).await, "{}");
        tokio::task::yield_now().await;
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_pooled_connection_the_upstream_closed_costs_nothing() {
    let address = upstream(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    })
    .await;
    let door = door(Settings::default());
    for _ in 0..10 {
        let answer = door.send(get(format!("http://{address}/"))).await.unwrap();
        assert_eq!(text(answer.into_body()).await, "{}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_when_its_time_is_over() {
    let (closed_by, mut closed) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let closed_by = closed_by.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            closed_by.send(stream.read(&mut [0; 16]).await.unwrap_or(0)).unwrap();
        }
    })
    .await;
    let door = door(Settings { idle_pool_timeout: Duration::from_millis(50), ..Settings::default() });
    let answer = door.send(get(format!("http://{address}/"))).await.unwrap();
    assert_eq!(text(answer.into_body()).await, "{}");
    assert_eq!(within(PROMPTLY, closed.recv()).await, Some(0));
}

#[test]
fn a_door_is_made_quickly_and_without_a_runtime() {
    let before = std::time::Instant::now();
    let door = door(Settings::default());
    assert!(before.elapsed() < Duration::from_millis(100), "{:?}", before.elapsed());
    assert!(door.policy().is_trusted("127.0.0.1"));
}

#[tokio::test]
async fn a_reader_that_stalls_makes_the_upstream_wait() {
    let written = Arc::new(AtomicUsize::new(0));
    let counted = written.clone();
    let address = upstream(move |mut stream| {
        let counted = counted.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").await.unwrap();
            while let Ok(n) = stream.write(&[b'x'; 65_536]).await {
                counted.fetch_add(n, Ordering::SeqCst);
            }
        }
    })
    .await;
    let answer = door(Settings::default()).send(get(format!("http://{address}/"))).await.unwrap();
    let mut before = usize::MAX;
    while before != written.load(Ordering::SeqCst) {
        before = written.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(before < 32 << 20, "{before} bytes were taken, more than the system's own buffers hold");
    drop(answer);
}

#[tokio::test]
async fn a_streamed_upload_arrives_while_it_is_sent() {
    let (seen_by, mut seen) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let seen_by = seen_by.clone();
        async move {
            let mut got = read_head(&mut stream).await;
            while !got.contains("first") {
                let mut piece = [0; 64];
                let n = stream.read(&mut piece).await.unwrap();
                got += std::str::from_utf8(&piece[..n]).unwrap();
            }
            seen_by.send(got).unwrap();
            stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
        }
    })
    .await;
    let request = Request::post(format!("http://{address}/")).body(Body::Stream(Box::pin(Stalls(false)))).unwrap();
    let answer = within(PROMPTLY, door(Settings::default()).send(request)).await.unwrap();
    assert!(seen.recv().await.unwrap().contains("transfer-encoding: chunked"));
    assert_eq!(answer.status(), 413, "an early answer is given although the upload is not through");
}

/// One piece, then nothing more, and no end.
struct Stalls(bool);

impl http_body::Body for Stalls {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"first")))))
    }
}

#[tokio::test]
async fn an_upstream_that_hangs_up_before_the_head_broke_the_exchange() {
    let address = upstream(|mut stream| async move {
        read_head(&mut stream).await;
    })
    .await;
    let error = door(Settings::default()).send(get(format!("http://{address}/"))).await.unwrap_err();
    assert!(matches!(error, SendError::Exchange { code: "ECONNRESET", .. }), "{error:?}");
}

#[tokio::test]
async fn an_upstream_that_does_not_speak_http_broke_the_exchange() {
    let address = upstream(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"-ERR unknown command\r\n\r\n").await.unwrap();
    })
    .await;
    let error = door(Settings::default()).send(get(format!("http://{address}/"))).await.unwrap_err();
    assert!(matches!(error, SendError::Exchange { code: "EPROTO", .. }), "{error:?}");
}

/// One piece, then the caller is gone.
pub(crate) struct GivesUp(pub(crate) bool);

impl http_body::Body for GivesUp {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(Some(Err("the caller hung up".into())));
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"half")))))
    }
}

#[tokio::test]
async fn a_failed_upload_is_ours_and_not_the_upstreams() {
    let address = upstream(|mut stream| async move {
        read_head(&mut stream).await;
        let mut rest = Vec::new();
        let _ignored = stream.read_to_end(&mut rest).await;
    })
    .await;
    let request = Request::post(format!("http://{address}/")).body(Body::Stream(Box::pin(GivesUp(false)))).unwrap();
    let error = within(PROMPTLY, door(Settings::default()).send(request)).await.unwrap_err();
    let SendError::Upload(cause) = error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), "the caller hung up");
}

#[tokio::test]
async fn nobody_walks_around_the_guard_by_calling_send() {
    let door = Outbound::new(trusting(&["127.0.0.1"]), Settings::default()).unwrap();
    for (url, reason) in [
        ("http://localhost:8080/", Reason::BlockedSuffix),
        ("http://[::1]:8080/", Reason::LoopbackAddress),
        ("http://2130706433:8080/", Reason::NoncanonicalAddress),
        ("http://0x7f.1:8080/", Reason::NoncanonicalAddress),
        ("http://127.0.0.1:22/", Reason::BlockedPort),
        ("http://127.0.0.1:6379/", Reason::BlockedPort),
        ("http://169.254.169.254/latest", Reason::MetadataAddress),
        ("http://user:secret@127.0.0.1:8080/", Reason::Userinfo),
        ("https://10.0.0.1/", Reason::PrivateAddress),
        ("https://a.nip.io/", Reason::RebindingHelper),
        ("ftp://example.com/", Reason::BadScheme),
        ("/v1/models", Reason::NotAUrl),
    ] {
        let error = within(PROMPTLY, door.send(get(url))).await.unwrap_err();
        let SendError::Refused(refusal) = &error else { panic!("{url}: {error:?}") };
        assert_eq!(refusal.reason, reason, "{url}");
        assert!(!error.to_string().contains("secret"));
    }
}
