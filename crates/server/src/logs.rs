//! The program's own log: one line for each event, written by a thread of its own. A reader of the log that stalls
//! costs lines, which are counted, and never slows a call.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{Config, LogFormat};

/// Lines that may wait for the writing thread.
const WAITING: usize = 8192;

/// Writes out what waits when it is dropped.
pub(crate) struct Logs {
    sender: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Logs {
    /// Starts writing to standard error, which leaves standard output to what a command was asked for.
    pub(crate) fn start(config: &Config) -> Result<Logs> {
        let filter = filter(config)?;
        let terminal = stderr().is_terminal();
        let json = match config.log.format {
            LogFormat::Json => true,
            LogFormat::Text => false,
            LogFormat::Auto => !terminal,
        };
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let lines = Lines { sender: sender.clone(), lost: lost.clone() };
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || write_out(&receiver, &lost))?;
        let base = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines);
        let begun = match json {
            true => base.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init(),
            false => base.with_ansi(terminal).with_target(false).try_init(),
        };
        begun.map_err(|error| anyhow!("the log cannot be started: {error}"))?;
        Ok(Logs { sender: Some(sender), thread: Some(thread) })
    }
}

/// Which lines are written.
pub(crate) fn filter(config: &Config) -> Result<EnvFilter> {
    let level = &config.log.level;
    EnvFilter::builder().parse(format!("sqlx=warn,{level}")).map_err(|_| {
        let examples = "`error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,gateway=debug`";
        anyhow!("`log.level` is `{level}`; use {examples}")
    })
}

impl Drop for Logs {
    fn drop(&mut self) {
        // The subscriber keeps a sender for ever, so the end is told by an empty line.
        if let Some(sender) = self.sender.take()
            && sender.send(Vec::new()).is_ok()
            && let Some(thread) = self.thread.take()
        {
            thread.join().unwrap_or_default();
        }
    }
}

fn write_out(receiver: &Receiver<Vec<u8>>, lost: &AtomicU64) {
    let mut out = stderr();
    while let Ok(line) = receiver.recv() {
        if line.is_empty() {
            return;
        }
        // Nobody can be told that the log cannot be written.
        out.write_all(&line).unwrap_or_default();
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            writeln!(out, "{{\"level\":\"WARN\",\"message\":\"{missing} log lines were lost: the reader of the log is too slow\"}}")
                .unwrap_or_default();
        }
    }
}

#[derive(Clone)]
struct Lines {
    sender: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
}

/// One event on its way; it leaves when it is whole.
struct Line<'a> {
    text: Vec<u8>,
    lines: &'a Lines,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { text: Vec::with_capacity(256), lines: self }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if self.text.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(_)) = self.lines.sender.try_send(std::mem::take(&mut self.text)) {
            self.lines.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
