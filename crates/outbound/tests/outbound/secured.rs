//! TLS: an authority of our own is believed when the operator adds it, and only then.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use outbound::{Body, Outbound, SendError, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;

use crate::exchange::GivesUp;
use crate::scene::{PROMPTLY, door, get, text, upstream, within};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    fn acceptor(&self, name: &str, alpn: &[&[u8]]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config =
            builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private).unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::from(format!("{path} {}", String::from_utf8_lossy(&body)))))
}

async fn secured_upstream(acceptor: TlsAcceptor) -> std::net::SocketAddr {
    upstream(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service_fn(echo)).await {
                drop(error);
            }
        }
    })
    .await
}

fn believing(authority: &Authority) -> Outbound {
    door(Settings { extra_ca_pem: Some(authority.pem()), ..Settings::default() })
}

fn post(url: String) -> Request<Body> {
    Request::post(url).body(Body::from(Bytes::from_static(b"hello"))).unwrap()
}

#[tokio::test]
async fn an_added_authority_is_believed_and_the_better_protocol_is_chosen() {
    let authority = Authority::new();
    let protocols: [(&[&[u8]], Version); 3] =
        [(&[b"h2", b"http/1.1"], Version::HTTP_2), (&[b"http/1.1"], Version::HTTP_11), (&[], Version::HTTP_11)];
    for (offered, version) in protocols {
        let address = secured_upstream(authority.acceptor("127.0.0.1", offered)).await;
        let answer = believing(&authority).send(post(format!("https://{address}/v1"))).await.unwrap();
        assert_eq!(answer.version(), version);
        assert_eq!(text(answer.into_body()).await, "/v1 hello");
    }
}

#[tokio::test]
async fn many_calls_at_once_share_what_they_can() {
    let authority = Authority::new();
    let address = secured_upstream(authority.acceptor("127.0.0.1", &[b"h2"])).await;
    let door = believing(&authority);
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let door = door.clone();
            tokio::spawn(async move {
                text(door.send(post(format!("https://{address}/{n}"))).await.unwrap().into_body()).await
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), format!("/{n} hello"));
    }
}

#[tokio::test]
async fn a_stranger_is_not_believed() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let address = secured_upstream(theirs.acceptor("127.0.0.1", &[])).await;
    for door in [believing(&ours), door(Settings::default())] {
        let error = door.send(get(format!("https://{address}/"))).await.unwrap_err();
        assert!(matches!(error, SendError::Connect { code: "ETLS", .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed() {
    let authority = Authority::new();
    let address = secured_upstream(authority.acceptor("other.example.com", &[])).await;
    let error = believing(&authority).send(get(format!("https://{address}/"))).await.unwrap_err();
    assert!(matches!(error, SendError::Connect { code: "ETLS", .. }), "{error:?}");
}

#[tokio::test]
async fn an_upstream_that_speaks_no_tls_is_a_tls_failure() {
    let address = upstream(|mut stream| async move {
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut rest = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await.unwrap_or(0);
    })
    .await;
    let error = door(Settings { extra_ca_pem: Some(Authority::new().pem()), ..Settings::default() })
        .send(get(format!("https://{address}/")))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::Connect { code: "ETLS", .. }), "{error:?}");
}

#[tokio::test]
async fn a_failed_upload_over_http2_is_ours_too() {
    let authority = Authority::new();
    let address = secured_upstream(authority.acceptor("127.0.0.1", &[b"h2"])).await;
    let request = Request::post(format!("https://{address}/")).body(Body::Stream(Box::pin(GivesUp(false)))).unwrap();
    let error = within(PROMPTLY, believing(&authority).send(request)).await.unwrap_err();
    assert!(matches!(&error, SendError::Upload(cause) if cause.to_string() == "the caller hung up"), "{error:?}");
}

/// An answer without end, which tells when it is dropped.
struct Endless(UnboundedSender<()>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
    }
}

#[tokio::test]
async fn dropping_an_answer_over_http2_ends_the_stream_at_the_upstream() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("127.0.0.1", &[b"h2"]);
    let (dropped_by, mut dropped) = unbounded_channel();
    let address = upstream(move |stream| {
        let (acceptor, dropped_by) = (acceptor.clone(), dropped_by.clone());
        async move {
            let stream = TokioIo::new(acceptor.accept(stream).await.unwrap());
            let endless = service_fn(move |_| {
                let answer = Response::new(Endless(dropped_by.clone()));
                async move { Ok::<_, std::convert::Infallible>(answer) }
            });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.serve_connection(stream, endless).await.unwrap_or_default();
        }
    })
    .await;
    let answer = believing(&authority).send(get(format!("https://{address}/"))).await.unwrap();
    assert!(dropped.try_recv().is_err());
    drop(answer);
    assert_eq!(within(PROMPTLY, dropped.recv()).await, Some(()));
}

#[test]
fn authorities_that_are_none_are_refused_at_the_start() {
    for pem in ["", "not pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let settings = Settings { extra_ca_pem: Some(pem.into()), ..Settings::default() };
        assert!(Outbound::new(crate::scene::trusting(&[]), settings).is_err(), "{pem}");
    }
}
