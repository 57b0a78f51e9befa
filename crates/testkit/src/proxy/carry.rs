//! One connection on its way: two pumps, each a reader and a writer with a queue between them, because a delay must not
//! keep the next piece from being read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::faults::{Cut, Faults, Mode};

const PIECE: usize = 16 * 1024;
/// Pieces that may be under way: with a delay, so much is on the wire.
const QUEUE: usize = 64;

/// Where connections lead, what becomes of them, and what became of them so far.
pub(super) struct Way {
    to: String,
    pub(super) faults: watch::Sender<Faults>,
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    /// Bytes towards the target, and bytes of its answers.
    pub(super) sent: AtomicU64,
    pub(super) answered: AtomicU64,
}

impl Way {
    pub(super) fn new(to: String, faults: Faults) -> Way {
        let [accepted, open, sent, answered] = Default::default();
        Way { to, faults: watch::Sender::new(faults), accepted, open, sent, answered }
    }
}

/// The connection shall end now, and this is how it looks to both sides.
struct Broken(Cut);

/// When it is due, and what came; nothing stands for a connection that broke.
type Piece = (Instant, Option<Vec<u8>>);

pub(super) async fn connection(way: Arc<Way>, client: TcpStream) {
    way.accepted.fetch_add(1, Ordering::Relaxed);
    way.open.fetch_add(1, Ordering::Relaxed);
    run(&way, client).await;
    way.open.fetch_sub(1, Ordering::Relaxed);
}

async fn run(way: &Way, client: TcpStream) {
    let mut faults = way.faults.subscribe();
    if moving(&mut faults).await == Mode::BlackHole {
        return swallow(client).await;
    }
    let Ok(server) = TcpStream::connect(way.to.as_str()).await else {
        return reset(&client);
    };
    // Without it small events would be joined. Where it fails, only timing suffers.
    client.set_nodelay(true).and(server.set_nodelay(true)).unwrap_or_default();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = Pump { faults: faults.clone(), passed: &way.sent, answers: false };
    let down = Pump { faults, passed: &way.answered, answers: true };
    // A pump that comes to its end closes its side only, so that the other may finish; one that breaks ends both.
    let (mut to_client, mut to_server) = (to_client, to_server);
    let both = async { tokio::try_join!(up.run(from_client, &mut to_server), down.run(from_server, &mut to_client)) };
    let ended = both.await;
    if let Err(Broken(Cut::Rst)) = ended {
        for half in [to_client, to_server] {
            reset(half.as_ref());
            // Dropped in the usual way it would say a clean end first.
            half.forget();
        }
    }
}

/// Closing sends a reset instead of an end.
fn reset(client: &TcpStream) {
    // Where the socket is dead already there is nothing to reset.
    client.set_zero_linger().unwrap_or_default();
}

async fn swallow(mut client: TcpStream) {
    let mut piece = vec![0; PIECE];
    while let Ok(1..) = client.read(&mut piece).await {}
}

/// Waits while everything stands still.
async fn moving(faults: &mut watch::Receiver<Faults>) -> Mode {
    let moving = faults.wait_for(|faults| faults.mode != Mode::Stop).await.map(|faults| faults.mode);
    // Without a sender the proxy is gone, and this task with it.
    moving.unwrap_or_default()
}

struct Pump<'a> {
    faults: watch::Receiver<Faults>,
    passed: &'a AtomicU64,
    /// This direction is the one that is slowed and cut.
    answers: bool,
}

impl Pump<'_> {
    async fn run(mut self, from: OwnedReadHalf, to: &mut OwnedWriteHalf) -> Result<(), Broken> {
        let (queue, mut pieces) = mpsc::channel(QUEUE);
        let faults = self.faults.clone();
        let (_, done) = tokio::join!(read(from, queue, faults), async {
            let done = self.write(&mut pieces, to).await;
            pieces.close();
            done
        });
        done
    }

    async fn write(&mut self, pieces: &mut mpsc::Receiver<Piece>, to: &mut OwnedWriteHalf) -> Result<(), Broken> {
        let mut passed = 0;
        loop {
            let piece = tokio::select! {
                piece = pieces.recv() => piece,
                () = self.cut_due(passed) => return Err(self.cut()),
            };
            let Some((due, piece)) = piece else {
                // The other side may have left before we say that we do.
                to.shutdown().await.unwrap_or_default();
                return Ok(());
            };
            tokio::time::sleep_until(due).await;
            let piece = piece.ok_or(Broken(Cut::Rst))?;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                if moving(&mut self.faults).await == Mode::BlackHole {
                    break;
                }
                let (size, pause) = self.portion(rest.len(), passed).ok_or_else(|| self.cut())?;
                to.write_all(&rest[..size]).await.map_err(|_| Broken(Cut::Rst))?;
                self.passed.fetch_add(size as u64, Ordering::Relaxed);
                passed += size as u64;
                rest = &rest[size..];
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    fn cut(&self) -> Broken {
        Broken(self.faults.borrow().cut)
    }

    /// How much may be written now and how long that takes; `None` when the cut is due.
    fn portion(&self, waiting: usize, passed: u64) -> Option<(usize, Duration)> {
        let faults = self.faults.borrow();
        if !self.answers {
            return Some((waiting, Duration::ZERO));
        }
        let before_cut = faults.cut_after.map_or(u64::MAX, |limit| limit.saturating_sub(passed));
        let rate = faults.bytes_per_second;
        // Fifty portions a second, so that a slow line drips.
        let drip = if rate == 0 { u64::MAX } else { (rate / 50).max(1) };
        let size = before_cut.min(drip).min(waiting as u64);
        let pause = if rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(size as f64 / rate as f64) };
        (size > 0).then_some((size as usize, pause))
    }

    /// Done when so many bytes of answers are enough.
    async fn cut_due(&mut self, passed: u64) {
        let due = |faults: &Faults| faults.mode != Mode::Stop && faults.cut_after.is_some_and(|limit| passed >= limit);
        if !self.answers || self.faults.wait_for(due).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Takes what comes and says when it is due.
async fn read(mut from: OwnedReadHalf, queue: mpsc::Sender<Piece>, faults: watch::Receiver<Faults>) {
    let mut piece = vec![0; PIECE];
    loop {
        let read = tokio::select! {
            read = from.read(&mut piece) => read,
            () = queue.closed() => return,
        };
        let came = match read {
            Ok(0) => return,
            Ok(size) => Some(piece[..size].to_vec()),
            Err(_) => None,
        };
        let (due, broke) = (Instant::now() + faults.borrow().delay, came.is_none());
        if queue.send((due, came)).await.is_err() || broke {
            return;
        }
    }
}
