//! The operator's proxy: which calls go through it, in which form, and that it opens nothing the guard closed.

use std::net::SocketAddr;

use outbound::{Outbound, ProxySettings, Reason, SendError, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::scene::{PROMPTLY, closed_port, get, read_head, text, trusting, upstream, within};

/// Answers plain requests itself, digs tunnels to wherever it is told, and tells what it was asked.
async fn proxy() -> (SocketAddr, UnboundedReceiver<String>) {
    let (seen_by, seen) = unbounded_channel();
    let address = upstream(move |mut stream| {
        let seen_by = seen_by.clone();
        async move {
            let head = read_head(&mut stream).await;
            seen_by.send(head.clone()).unwrap();
            let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()) else {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nproxied").await.unwrap();
                return;
            };
            let Ok(mut far) = TcpStream::connect(target).await else {
                stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.unwrap();
                return;
            };
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            copy_bidirectional(&mut stream, &mut far).await.unwrap_or_default();
        }
    })
    .await;
    (address, seen)
}

fn through(proxy: &str, no_proxy: &str) -> Outbound {
    let proxy = ProxySettings {
        http: Some(proxy.to_owned()),
        https: Some(proxy.to_owned()),
        no_proxy: Some(no_proxy.to_owned()),
    };
    Outbound::new(trusting(&["127.0.0.1"]), Settings { proxy, ..Settings::default() }).unwrap()
}

#[tokio::test]
async fn plain_calls_are_written_to_the_proxy_with_the_whole_url() {
    let (address, mut seen) = proxy().await;
    let door = through(&format!("http://user:pass@{address}"), "");
    let answer = door.send(get("http://127.0.0.1:8080/v1?x=1")).await.unwrap();
    assert_eq!(text(answer.into_body()).await, "proxied");
    let head = seen.recv().await.unwrap();
    assert!(head.starts_with("GET http://127.0.0.1:8080/v1?x=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: 127.0.0.1:8080\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic dXNlcjpwYXNz\r\n"), "{head}");
}

#[tokio::test]
async fn secured_calls_go_through_a_tunnel() {
    let (hello_by, mut hello) = unbounded_channel();
    let target = upstream(move |mut stream| {
        let hello_by = hello_by.clone();
        async move {
            let mut first = [0; 1];
            stream.read_exact(&mut first).await.unwrap();
            hello_by.send(first[0]).unwrap();
        }
    })
    .await;
    let (address, mut seen) = proxy().await;
    let error = through(&format!("http://user:pass@{address}"), "").send(get(format!("https://{target}/"))).await;
    let head = seen.recv().await.unwrap();
    assert!(head.starts_with(&format!("CONNECT {target} HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{head}");
    assert_eq!(hello.recv().await, Some(0x16), "what comes out of the tunnel is a TLS handshake");
    assert!(matches!(error, Err(SendError::Connect { .. })), "the far end hung up: {error:?}");
}

#[tokio::test]
async fn hosts_of_the_exception_list_are_called_directly() {
    let direct = upstream(|mut stream| async move {
        assert!(read_head(&mut stream).await.starts_with("GET /v1 HTTP/1.1\r\n"));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ndirect").await.unwrap();
    })
    .await;
    let (address, _seen) = proxy().await;
    let door = through(&address.to_string(), "example.com, 127.0.0.0/8");
    let answer = door.send(get(format!("http://{direct}/v1"))).await.unwrap();
    assert_eq!(text(answer.into_body()).await, "direct");
}

#[tokio::test]
async fn a_proxy_opens_nothing_the_guard_closed() {
    let (address, mut seen) = proxy().await;
    let door = through(&format!("http://{address}"), "");
    for (url, reason) in [
        ("http://10.0.0.1/", Reason::PrivateAddress),
        ("http://169.254.169.254/", Reason::MetadataAddress),
        ("https://metadata.google.internal/", Reason::MetadataHost),
        ("http://127.0.0.1:22/", Reason::BlockedPort),
        ("https://a.nip.io/", Reason::RebindingHelper),
    ] {
        let error = door.send(get(url)).await.unwrap_err();
        assert!(matches!(error, SendError::Refused(refusal) if refusal.reason == reason), "{url}: {error:?}");
    }
    assert!(seen.try_recv().is_err());
}

#[tokio::test]
async fn a_proxy_that_is_down_or_unwilling_is_named() {
    let door = through(&format!("http://127.0.0.1:{}", closed_port().await), "");
    for url in ["http://127.0.0.1:8080/", "https://127.0.0.1:8080/"] {
        let error = within(PROMPTLY, door.send(get(url))).await.unwrap_err();
        assert!(
            matches!(&error, SendError::Connect { code: "ECONNREFUSED", detail } if detail.contains("proxy")),
            "{error:?}"
        );
    }
    let (address, _seen) = proxy().await;
    let nowhere = closed_port().await;
    let error = through(&format!("http://{address}"), "").send(get(format!("https://127.0.0.1:{nowhere}/"))).await;
    assert!(matches!(&error, Err(SendError::Connect { code: "EPROXY", .. })), "{error:?}");
}

#[test]
fn a_proxy_we_cannot_use_is_refused_without_repeating_its_password() {
    for value in ["socks5://u:secret@p:1080", "https://u:secret@p:443", "http://", "not a url", "/secret"] {
        let proxy = ProxySettings { https: Some(value.to_owned()), ..ProxySettings::default() };
        let error = Outbound::new(trusting(&[]), Settings { proxy, ..Settings::default() }).err().unwrap().to_string();
        assert!(error.contains("HTTPS_PROXY") && !error.contains("secret"), "{error}");
    }
}
