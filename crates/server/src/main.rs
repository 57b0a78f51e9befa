//! Gatehouse: the program. `compose.rs` builds the house, `config.rs` reads the settings.

mod bench;
mod bootstrap;
mod check;
mod cli;
mod compose;
mod config;
mod data;
mod keys;
mod listen;
mod logs;
mod metrics;
mod rig;
mod screen;
mod world;

use std::io::{Write, stdout};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use cli::{Cli, Command};
use config::Config;

/// Measured: allocation took some 12,000 instructions of a call with the system's allocator, and takes half of that now.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the last word of a program that could not do what it was asked")]
            {
                eprintln!("gatehouse: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    // One core gains nothing from threads that take work from each other.
    let mut runtime = match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().context("no threads can be had")?;
    let done = match &cli.command {
        Some(Command::Mock(mock)) => runtime.block_on(rig::mock(mock)),
        Some(Command::Bench(bench)) => runtime.block_on(bench::run(bench, &cli.common)),
        Some(Command::Faultproxy(proxy)) => runtime.block_on(rig::faultproxy(proxy)),
        command => {
            let config = Config::load(&cli.flags())?;
            match command {
                Some(Command::Keys(keys)) => runtime.block_on(keys::run(&config, keys)),
                Some(Command::Migrate) => runtime.block_on(migrate(&config)),
                Some(Command::Check(_)) => runtime.block_on(check::run(&config)),
                _ => {
                    let _logs = logs::Logs::start(&config)?;
                    runtime.block_on(compose::serve(&config))
                }
            }
        }
    };
    // What is still in flight has had its time.
    runtime.shutdown_background();
    done
}

/// A server does the same when it starts; apart from it, an upgrade can be seen to work before it serves.
async fn migrate(config: &Config) -> Result<()> {
    let folder = data::DataFolder::prepare(config.data())?;
    let settings = folder.settings(config).await?;
    let store::Steps { before, after } = settings.steps();
    settings.close().await;
    let said = match after - before {
        0 => format!("The tables were up to date (step {after})."),
        _ => format!("The tables went from step {before} to step {after}."),
    };
    writeln!(stdout(), "{said}").context("the answer cannot be written")
}
