//! Accepts connections and serves each until it ends or the mock does.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use domain::ids::World;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::books::Books;
use crate::calls::Calls;
use crate::exchange;
use crate::invoice::Invoice;
use crate::wire::Wire;

/// So many calls may wait on one h2c connection: a load test holds thousands over few sockets.
const STREAMS: u32 = 10_000;

/// Serves until `shutdown` is done, then breaks every connection: some of them hang because they were asked to.
pub async fn serve(
    listener: TcpListener,
    world: Arc<dyn World>,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let mut series = [0; 8];
    world.random(&mut series);
    let calls = Calls::new(format!("{:x}", u64::from_be_bytes(series)));
    let books = Arc::new(Books { calls, invoice: Invoice::default() });
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve_connection(socket, books.clone(), world.clone()));
                }
                // Out of file descriptors: others must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

async fn serve_connection(socket: TcpStream, books: Arc<Books>, world: Arc<dyn World>) {
    // Without this the kernel joins small events, and "chunk by chunk" would be a hope. Where it fails, only timing suffers.
    socket.set_nodelay(true).unwrap_or_default();
    let wire = Wire::new(socket);
    let end = wire.end();
    let service = service_fn(move |request| {
        let (books, end, now) = (books.clone(), end.clone(), world.now_ms() / 1000);
        async move { exchange::answer(&books, end, now, request).await }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Callers that leave in crowds are what the mock is for, not an attack.
    builder.http2().max_concurrent_streams(STREAMS).max_pending_accept_reset_streams(STREAMS as usize);
    let served = builder.serve_connection(TokioIo::new(wire), service).await;
    // A broken connection is the mock's daily bread; the record has its state.
    drop(served);
}
