//! A load generator that does not flatter.
//!
//! In the closed loop each connection asks again when it was answered: it finds how much can be done. In the open loop a
//! call is due every so often, whatever became of the last ones, and its time runs from when it was **due**: when the
//! target stands still, every call that would have come meanwhile is counted as late, not only the one that was caught in
//! it. Generators that wait for an answer before they ask again leave those out ("coordinated omission").

mod call;
mod histogram;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

pub use call::{Ask, Expected, Wrong};
pub use histogram::Histogram;

use call::{First, Line};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So many connections, each asking again when it was answered.
    Closed { connections: usize },
    /// So many calls a second, on as many connections as that takes, but not more than given.
    Open { rate: f64, connections: usize },
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub ask: Ask,
    pub pace: Pace,
    /// Calls begin within this time; those under way are awaited.
    pub time: Duration,
    /// A call that takes longer has failed.
    pub timeout: Duration,
}

/// What came of it. Times are those of calls that went well, and of calls that timed out: leaving these out would make a
/// target look better for being worse.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub calls: u64,
    /// To the end of the answer.
    pub whole: Histogram,
    /// To the first bytes of its body.
    pub first: Histogram,
    pub wrong: BTreeMap<Wrong, u64>,
    pub elapsed: Duration,
}

impl Outcome {
    pub fn well(&self) -> u64 {
        self.calls - self.wrong.values().sum::<u64>()
    }

    /// Answers a second.
    pub fn throughput(&self) -> f64 {
        self.well() as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn add(&mut self, other: &Outcome) {
        self.calls += other.calls;
        self.whole.add(&other.whole);
        self.first.add(&other.first);
        other.wrong.iter().for_each(|(wrong, count)| *self.wrong.entry(*wrong).or_default() += count);
    }

    fn record(&mut self, since: Instant, ended: Result<First, Wrong>) {
        self.calls += 1;
        match ended {
            Ok(first) => {
                self.first.record(first - since);
                self.whole.record(since.elapsed());
            }
            Err(wrong) => {
                *self.wrong.entry(wrong).or_default() += 1;
                if wrong == Wrong::Timeout {
                    self.whole.record(since.elapsed());
                }
            }
        }
    }
}

/// Runs a plan to its end.
pub async fn run(plan: Plan) -> Outcome {
    let start = Instant::now();
    let plan = Arc::new(plan);
    let mut outcome = match plan.pace {
        Pace::Closed { connections } => closed(&plan, connections, start).await,
        Pace::Open { rate, connections } => open(&plan, rate, connections, start).await,
    };
    outcome.elapsed = start.elapsed();
    outcome
}

async fn closed(plan: &Arc<Plan>, connections: usize, start: Instant) -> Outcome {
    let mut workers = JoinSet::new();
    for _ in 0..connections.max(1) {
        let plan = plan.clone();
        workers.spawn(async move {
            let (mut outcome, mut line) = (Outcome::default(), None);
            while start.elapsed() < plan.time {
                let since = Instant::now();
                let ended = ask(&plan, &mut line).await;
                outcome.record(since, ended);
                if matches!(ended, Err(Wrong::Connect)) {
                    // A target that is away shall not be asked a million times.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            outcome
        });
    }
    let mut outcome = Outcome::default();
    while let Some(worker) = workers.join_next().await {
        outcome.add(&worker.unwrap_or_default());
    }
    outcome
}

async fn open(plan: &Arc<Plan>, rate: f64, connections: usize, start: Instant) -> Outcome {
    let outcome = Arc::new(Mutex::new(Outcome::default()));
    let free: Arc<Mutex<Vec<Line>>> = Arc::default();
    let room = Arc::new(Semaphore::new(connections.max(1)));
    let mut calls = JoinSet::new();
    let mut due = dues(rate, plan.time, start);
    while let Some(due) = due.recv().await {
        let (plan, outcome, free, room) = (plan.clone(), outcome.clone(), free.clone(), room.clone());
        calls.spawn(async move {
            // Waiting for a connection is time that the caller spends, too. The semaphore is never closed.
            let _room = room.acquire().await;
            let mut line = free.lock().pop();
            let ended = ask(&plan, &mut line).await;
            outcome.lock().record(due, ended);
            free.lock().extend(line);
        });
        while calls.try_join_next().is_some() {}
    }
    while calls.join_next().await.is_some() {}
    std::mem::take(&mut *outcome.lock())
}

/// Tells when each call is due. A thread of its own: the runtime's timer counts in milliseconds.
fn dues(rate: f64, time: Duration, start: Instant) -> mpsc::UnboundedReceiver<Instant> {
    let (tell, told) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for n in 0u32.. {
            let after = Duration::from_secs_f64(f64::from(n) / rate.max(0.001));
            let due = start + after;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if after >= time || tell.send(due).is_err() {
                return;
            }
        }
    });
    told
}

/// One call, on the connection that is there or on a new one. A connection that failed is not kept.
async fn ask(plan: &Plan, line: &mut Option<Line>) -> Result<First, Wrong> {
    let ended = tokio::time::timeout(plan.timeout, async {
        let mut open = match line.take().filter(Line::is_open) {
            Some(open) => open,
            None => Line::open(&plan.ask).await?,
        };
        let ended = open.call(&plan.ask).await;
        *line = Some(open);
        ended
    });
    let ended = ended.await.unwrap_or(Err(Wrong::Timeout));
    // After a whole answer, even a refusal, the connection is good for another.
    if !matches!(ended, Ok(_) | Err(Wrong::Status(_) | Wrong::Incomplete)) {
        *line = None;
    }
    ended
}
