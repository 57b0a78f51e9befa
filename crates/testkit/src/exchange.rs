//! One request and its answer: read the body in passing, ask the script engine, play what it says.

use std::io;
use std::time::Duration;

use http::header::HOST;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use providers::mock::{self, Ask, Intake, Receipt, Script};

use crate::books::Books;
use crate::calls::{KEPT_BYTES, Running};
use crate::desk;
use crate::player::Playing;
use crate::wire::WireEnd;

/// A JSON body that is parsed may be this large.
const PARSED_BYTES: usize = 32 * 1024 * 1024;

/// Errors end the connection: the caller has left, or there is nobody to tell.
pub(crate) async fn answer(
    books: &Books,
    end: WireEnd,
    now: i64,
    request: Request<Incoming>,
) -> io::Result<Response<Playing>> {
    let (mut head, body) = request.into_parts();
    if let Some((status, value)) = desk::answer(books, &head) {
        return respond(json(status, value.to_string()), |script| Playing::new(script, end));
    }
    let call = books.calls.begin(&head);
    name_host(&mut head);
    let (method, path) = (head.method.as_str(), head.uri.path());
    let room = if mock::is_parsed(method, path) { PARSED_BYTES } else { KEPT_BYTES };
    let content_type = head.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let (kept, receipt) = receive(body, Intake::new(content_type), room, &call).await?;
    let script = mock::answer_received(
        &Ask { method, path, query: head.uri.query(), headers: &head.headers, body: &kept, id: call.id(), now },
        &receipt,
    );
    drop(kept);
    wait(script.head_after).await;
    if head.method == Method::HEAD {
        call.answered();
    }
    let tab = script.bill.as_ref().map(|bill| books.invoice.open(bill));
    respond(script, |script| Playing::new(script, end).on_record(call, tab))
}

/// Reads the body to its end and keeps its beginning.
async fn receive(
    mut body: Incoming,
    mut intake: Intake,
    room: usize,
    call: &Running,
) -> io::Result<(Vec<u8>, Receipt)> {
    let mut kept = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        let Some(piece) = frame.data_ref() else { continue };
        intake.take(piece);
        call.received(piece);
        kept.extend_from_slice(&piece[..piece.len().min(room - kept.len())]);
    }
    let receipt = intake.finish();
    call.hashed(&receipt.sha256);
    Ok((kept, receipt))
}

/// Without an end where the head shall never come: the caller's leaving drops us.
async fn wait(time: Option<Duration>) {
    match time {
        Some(Duration::ZERO) => {}
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// HTTP/2 has the host in the address; a signature covers it either way.
fn name_host(head: &mut Parts) {
    let authority = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = authority.filter(|_| !head.headers.contains_key(HOST)) {
        head.headers.insert(HOST, host);
    }
}

fn respond(script: Script, play: impl FnOnce(Script) -> Playing) -> io::Result<Response<Playing>> {
    let mut response = Response::builder().status(script.status);
    for (name, value) in &script.headers {
        response = response.header(name.as_ref(), value);
    }
    response.body(play(script)).map_err(io::Error::other)
}

fn json(status: u16, body: String) -> Script {
    Script::new(status, "application/json", vec![mock::Step::Send(body.into())])
}
