//! Every fault on a real socket, in every format.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{Mock, read_until};
use crate::tongues::{TONGUES, Tongue};

/// Everything that comes, and how it ends.
async fn read(socket: &mut TcpStream) -> (String, Result<(), io::ErrorKind>) {
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes).await.map(drop).map_err(|error| error.kind());
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

/// What comes within the time.
async fn read_for(socket: &mut TcpStream, time: Duration) -> String {
    let mut bytes = Vec::new();
    match tokio::time::timeout(time, socket.read_to_end(&mut bytes)).await {
        Ok(_) | Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

async fn fault(mock: &Mock, tongue: &Tongue, model: &str) -> TcpStream {
    mock.write(&tongue.ask(mock, model, "word", true).wire()).await
}

#[tokio::test]
async fn a_good_stream_comes_to_its_end_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let (seen, _) = read(&mut fault(&mock, tongue, "echo").await).await;
        assert!(seen.starts_with("HTTP/1.1 200 OK") && seen.contains(tongue.end), "{} {seen}", tongue.format);
        assert!(seen.ends_with("0\r\n\r\n"), "{seen}");
    }
}

#[tokio::test]
async fn a_status_is_answered_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let (seen, _) = read(&mut fault(&mock, tongue, "fault-503").await).await;
        assert!(seen.starts_with("HTTP/1.1 503 ") && seen.contains("mock: asked to answer with 503"), "{seen}");
    }
}

#[tokio::test]
async fn a_delay_comes_before_the_head_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let asked = tongue.ask(&mock, "echo", "word", false).with("x-mock-delay-ms", "60");
        let start = Instant::now();
        read_until(&mut mock.write(&asked.wire()).await, "HTTP/1.1 200").await;
        assert!(start.elapsed() >= Duration::from_millis(60), "{}", tongue.format);
    }
}

#[tokio::test]
async fn bytes_drip_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let asked = tongue.ask(&mock, "echo", "word", false).with("x-mock-drip", "50-20");
        let start = Instant::now();
        let mut socket = mock.write(&asked.wire()).await;
        let head = read_until(&mut socket, "\r\n\r\n").await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        let length: u64 = length.parse().expect("a number");
        let mut read = head.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len() as u64);
        let mut piece = [0; 1024];
        while read < length {
            let size = socket.read(&mut piece).await.expect("bytes");
            assert!(size > 0, "the connection ended early");
            read += size as u64;
        }
        assert!(start.elapsed() >= Duration::from_millis(20) * (length / 50) as u32, "{}", tongue.format);
    }
}

#[tokio::test]
async fn a_reset_is_seen_as_a_reset_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let (seen, end) = read(&mut fault(&mock, tongue, "fault-reset-2").await).await;
        assert!(seen.starts_with("HTTP/1.1 200 OK") && !seen.contains(tongue.end), "{seen}");
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset), "{}", tongue.format);
        let asked = tongue.ask(&mock, "echo", "word", false).with("x-mock-reset", "10");
        let (_, end) = read(&mut mock.write(&asked.wire()).await).await;
        assert_eq!(end, Err(io::ErrorKind::ConnectionReset), "{}", tongue.format);
    }
}

#[tokio::test]
async fn half_a_close_ends_one_side_only_in_every_format() {
    let mock = Mock::start().await;
    for (at, tongue) in TONGUES.iter().enumerate() {
        let word = format!("half-{at}");
        let asked = tongue.ask(&mock, "fault-half-close-2", &word, true);
        let mut socket = mock.write(&asked.wire()).await;
        let (seen, end) = read(&mut socket).await;
        assert!(seen.starts_with("HTTP/1.1 200 OK") && !seen.ends_with("0\r\n\r\n"), "{seen}");
        assert_eq!(end, Ok(()), "a clean end of the connection, {}", tongue.format);
        // The mock still reads: writing is no error, and the call is not over until we leave.
        for _ in 0..3 {
            socket.write_all(b"more").await.expect("the other side reads");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(mock.calls(&word).await[0]["state"], "running", "{}", tongue.format);
        drop(socket);
        mock.until(&word, |call| call["state"] == "hung_up").await;
    }
}

#[tokio::test]
async fn a_hang_sends_what_it_should_and_no_more_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let mut never = fault(&mock, tongue, "fault-hang").await;
        let mut half = fault(&mock, tongue, "fault-hang-2").await;
        let begun = read_until(&mut half, "HTTP/1.1 200 OK").await;
        let (never, rest) = tokio::join!(
            read_for(&mut never, Duration::from_millis(80)),
            read_for(&mut half, Duration::from_millis(80))
        );
        assert_eq!(never, "", "{}", tongue.format);
        assert!(!format!("{begun}{rest}").contains(tongue.end), "{begun}{rest}");
    }
}

#[tokio::test]
async fn a_cut_comes_at_its_byte_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let asked = tongue.ask(&mock, "echo", "word", false).with("x-mock-cut", "13");
        let mut socket = mock.write(&asked.wire()).await;
        let (seen, _) = read(&mut socket).await;
        let (head, body) = seen.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"));
        // One chunk of HTTP/1.1: its size, its bytes, no end.
        assert_eq!((&body[..3], body.len()), ("D\r\n", 3 + 13 + 2), "{body}");
    }
}

#[tokio::test]
async fn garbage_comes_as_a_page_or_as_bytes_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let (page, _) = read(&mut fault(&mock, tongue, "fault-garbage").await).await;
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("<!doctype html>"), "{page}");
        let mut socket = fault(&mock, tongue, "fault-noise").await;
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).await.expect("a clean end");
        assert!(bytes.windows(64).any(|window| window.iter().all(|byte| *byte == 0xff)), "{}", tongue.format);
        assert!(bytes.ends_with(b"0\r\n\r\n"));
    }
}

#[tokio::test]
async fn usage_lies_or_is_missing_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let told = async |value: &str| {
            let asked = tongue.ask(&mock, "echo", "word", false).with("x-mock-usage", value);
            read(&mut mock.write(&asked.wire()).await).await.0
        };
        assert!(told("lie-1000").await.contains("4000"), "{}", tongue.format);
        let missing = told("missing").await;
        assert!(!missing.contains("usage") && missing.contains("word b c d"), "{missing}");
    }
}

#[tokio::test]
async fn an_error_event_comes_after_200_in_every_format() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        let (seen, _) = read(&mut fault(&mock, tongue, "fault-error-in-stream").await).await;
        assert!(seen.starts_with("HTTP/1.1 200 OK") && seen.contains(tongue.error), "{seen}");
        assert!(!seen.contains(tongue.end) && seen.ends_with("0\r\n\r\n"), "{seen}");
    }
}

#[tokio::test]
async fn a_reset_of_http2_breaks_the_whole_connection() {
    let mock = Mock::start().await;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let client = { client }.http2_only(true).build_http::<crate::rig::Sent>();
    // Bedrock, whose signature covers the host: HTTP/2 has it in the address.
    let asked = TONGUES[4].ask(&mock, "fault-reset-2", "word", true);
    let mut request = mock.request("POST", &asked.uri);
    for (name, value) in asked.headers.iter().filter(|(name, _)| *name != "host") {
        request = request.header(name, value);
    }
    let request = request.body(crate::rig::whole(asked.body)).expect("a request");
    let answer = client.request(request).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), answer.version()), (200, http::Version::HTTP_2));
    assert!(http_body_util::BodyExt::collect(answer.into_body()).await.is_err());
}
