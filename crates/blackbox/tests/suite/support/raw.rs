//! Bytes on a socket, for what a well-behaved client would not send.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::PATIENCE;

pub(crate) struct Socket {
    stream: TcpStream,
    /// All that came so far.
    pub(crate) seen: Vec<u8>,
}

impl Socket {
    pub(crate) async fn open(address: &str) -> Socket {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a live socket");
        Socket { stream, seen: Vec::new() }
    }

    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("the bytes leave");
    }

    /// Says more where the other side may have left.
    pub(crate) async fn drip(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.unwrap_or_default();
    }

    /// Reads until the text was seen.
    pub(crate) async fn until(&mut self, word: &str) -> String {
        let mut piece = vec![0; 16 * 1024];
        while !self.text().contains(word) {
            let size =
                timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("more in time").expect("a live socket");
            assert!(size > 0, "the connection ended before `{word}`: {}", self.text());
            self.seen.extend_from_slice(&piece[..size]);
        }
        self.text()
    }

    /// Reads to the end of the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut piece = vec![0; 16 * 1024];
        // A reset ends it as well; what came before counts.
        while let Ok(size @ 1..) = timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("an end in time") {
            self.seen.extend_from_slice(&piece[..size]);
        }
        self.text()
    }

    /// Whether the other side closes within this time.
    pub(crate) async fn closes_within(&mut self, limit: Duration) -> bool {
        let mut piece = vec![0; 16 * 1024];
        let ended = timeout(limit, async {
            while let Ok(size @ 1..) = self.stream.read(&mut piece).await {
                self.seen.extend_from_slice(&piece[..size]);
            }
        });
        ended.await.is_ok()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}

/// Sends these bytes and gives the status and body of what comes back.
pub(crate) async fn ask(address: &str, bytes: impl AsRef<[u8]>) -> (u16, String, String) {
    let mut socket = Socket::open(address).await;
    socket.say(bytes).await;
    answer(&mut socket).await
}

/// One answer with a known length: status, head and body.
pub(crate) async fn answer(socket: &mut Socket) -> (u16, String, String) {
    let seen = socket.until("\r\n\r\n").await;
    let (head, _) = seen.split_once("\r\n\r\n").expect("just seen");
    let head = head.to_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head.len() + 4 + length.unwrap_or(0);
    let mut piece = vec![0; 16 * 1024];
    while socket.seen.len() < whole {
        let size =
            timeout(PATIENCE, socket.stream.read(&mut piece)).await.expect("more in time").expect("a live socket");
        assert!(size > 0, "the body is whole");
        socket.seen.extend_from_slice(&piece[..size]);
    }
    let rest = socket.seen.split_off(whole);
    let body = String::from_utf8_lossy(&std::mem::replace(&mut socket.seen, rest)[head.len() + 4..]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
    (status, head, body)
}
