//! The control port: `GET`, `PUT` and `DELETE /faults`, answered in JSON, for tests in any language.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{Faults, Proxy};

/// Answers until `shutdown` is done.
pub async fn serve_control(
    listener: TcpListener,
    proxy: Proxy,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve_connection(socket, proxy.clone()));
                }
                // Out of file descriptors: others must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

async fn serve_connection(socket: TcpStream, proxy: Proxy) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (status, body) = answer(&proxy, &request);
        let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
        *response.status_mut() = status;
        async move { Ok::<_, Infallible>(response) }
    });
    let served = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await;
    // Whoever asked has left; there is nobody to tell.
    drop(served);
}

fn answer<B>(proxy: &Proxy, request: &Request<B>) -> (http::StatusCode, Value) {
    if request.uri().path() != "/faults" {
        return (http::StatusCode::NOT_FOUND, json!({"error": "there is only `/faults`"}));
    }
    let changed = match *request.method() {
        Method::GET => Ok(proxy.faults()),
        Method::DELETE => Ok(Faults::default()),
        Method::PUT | Method::POST => changed(proxy.faults(), request.uri().query().unwrap_or_default()),
        _ => Err("use GET, PUT or DELETE".to_owned()),
    };
    match changed {
        Ok(faults) => {
            if request.method() != Method::GET {
                proxy.set(faults);
            }
            (http::StatusCode::OK, proxy.tell())
        }
        Err(error) => (http::StatusCode::BAD_REQUEST, json!({"error": error})),
    }
}

fn changed(mut faults: Faults, query: &str) -> Result<Faults, String> {
    query.split('&').filter(|pair| !pair.is_empty()).try_for_each(|pair| faults.set(pair))?;
    Ok(faults)
}
