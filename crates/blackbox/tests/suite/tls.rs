//! TLS on the listener, with a certificate made for the test; and both versions of HTTP.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::process::run;
use crate::support::server::Server;

struct Certificate {
    cert: String,
    key: String,
    der: rustls::pki_types::CertificateDer<'static>,
}

fn certificate() -> Certificate {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    Certificate { cert: made.cert.pem(), key: made.signing_key.serialize_pem(), der: made.cert.der().clone() }
}

async fn connect(server: &Server, certificate: &Certificate, protocol: &str) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let socket = TcpStream::connect(&server.address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await.expect("the certificate is believed");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()), "the protocol is agreed on");
    stream
}

fn chat(server: &Server, uri: &str) -> Request<Full<Bytes>> {
    let body = r#"{"model":"echo","messages":[{"role":"user","content":"over TLS"}]}"#;
    let request = Request::builder().method("POST").uri(uri).header("host", "localhost");
    let request = request.header("x-gateway-api-key", server.workspace_key()).header("x-gateway-provider", "mock");
    request.header("content-type", "application/json").body(Full::new(Bytes::from(body))).expect("a request")
}

#[tokio::test]
async fn both_versions_of_http_are_served_over_tls() {
    let certificate = certificate();
    let server = Server::with(&[("TLS_CERT", &certificate.cert), ("TLS_KEY", &certificate.key)]).await;
    assert!(server.base().starts_with("https://"), "{}", server.base());
    assert!(server.process.stdout().contains("curl -s -k https://"), "{}", server.process.stdout());

    let stream = TokioIo::new(connect(&server, &certificate, "http/1.1").await);
    let (mut one, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let answer = one.send_request(chat(&server, "/v1/chat/completions")).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("over TLS"));

    let stream = TokioIo::new(connect(&server, &certificate, "h2").await);
    let (mut two, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let answer = two.send_request(chat(&server, "https://localhost/v1/chat/completions")).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("x-gateway-trace-id"));
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("over TLS"));
}

#[tokio::test]
async fn certificate_and_key_may_be_files() {
    let certificate = certificate();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("cert.pem"), &certificate.cert).unwrap();
    std::fs::write(path("key.pem"), &certificate.key).unwrap();
    let server = Server::with(&[("TLS_CERT_PATH", &path("cert.pem")), ("TLS_KEY_PATH", &path("key.pem"))]).await;
    let stream = TokioIo::new(connect(&server, &certificate, "http/1.1").await);
    let (mut one, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(one.send_request(chat(&server, "/v1/chat/completions")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn plain_http_on_a_tls_port_gets_no_answer() {
    let certificate = certificate();
    let server = Server::with(&[("TLS_CERT", &certificate.cert), ("TLS_KEY", &certificate.key)]).await;
    let mut socket = crate::support::raw::Socket::open(&server.address).await;
    socket.say("GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(!socket.rest().await.contains("HTTP/1.1 200"));
}

#[tokio::test]
async fn http_2_without_tls_is_served_when_the_client_knows() {
    let server = Server::start().await;
    let stream = TokioIo::new(TcpStream::connect(&server.address).await.unwrap());
    let (mut two, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}/v1/chat/completions", server.address);
    let many = (0..20).map(|_| two.send_request(chat(&server, &uri)));
    for answer in many.collect::<Vec<_>>() {
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("over TLS"));
    }
    let mut large = chat(&server, &uri);
    large.headers_mut().insert("x-long", "y".repeat(70_000).parse().unwrap());
    let answer = two.send_request(large).await.unwrap();
    assert_eq!(answer.status(), 431);
}

#[tokio::test]
async fn half_of_a_pair_and_a_pair_that_does_not_fit_are_refused_at_start() {
    let (one, other) = (certificate(), certificate());
    let own = tempfile::tempdir().unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", own.path().to_str().unwrap()];
    for (settings, part) in [
        (vec![("TLS_CERT", one.cert.as_str())], "`server.tls_key` is not"),
        (vec![("TLS_KEY", one.key.as_str())], "`server.tls_cert` is not"),
        (vec![("TLS_CERT", &*one.cert), ("TLS_KEY", &*other.key)], "does not belong"),
        (vec![("TLS_CERT", "/proc/nope.pem"), ("TLS_KEY", &*one.key)], "/proc/nope.pem"),
        (vec![("TLS_CERT", "-----BEGIN NOTHING-----\n"), ("TLS_KEY", &*one.key)], "`server.tls_cert`"),
    ] {
        let ran = run(&arguments, &settings).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(part) && !ran.stderr.contains("panicked"), "{part}: {ran:?}");
        assert!(!ran.stderr.contains("PRIVATE KEY"), "{ran:?}");
    }
}
