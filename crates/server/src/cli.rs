//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Flags;

/// An open AI gateway with its own control plane, in one binary.
///
/// Without a command it serves: on 127.0.0.1:8787, with its data in your data home, and with a built-in provider
/// (`mock`) that needs neither key nor network. The first start makes an admin key and a workspace key, keeps them in
/// `first-keys` in the data folder, and prints a `curl` command to try.
#[derive(Debug, Parser)]
#[command(name = "gatehouse", version, max_term_width = 100, subcommand_value_name = "COMMAND", after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Address and port to serve on [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  gatehouse                                     serve with the defaults
  gatehouse serve --listen 0.0.0.0:8787         serve for other machines, too
  gatehouse keys create --name ci --expires 90d make a workspace key
  gatehouse check                               would it start? with which settings?
  gatehouse bench                               what does it add to a call on this machine?
  gatehouse mock --listen 127.0.0.1:9999        play a provider, for tests

Call it like the provider itself, with a key and the provider's name in headers:
  curl http://127.0.0.1:8787/v1/chat/completions -H 'x-gateway-api-key: KEY' \\
    -H 'x-gateway-provider: openai' -H 'Authorization: Bearer PROVIDER_KEY' \\
    -H 'content-type: application/json' -d '{\"model\":\"gpt-4o\",\"messages\":[…]}'

Settings: defaults < file < environment < flags. `config.default.toml` lists all of them.";

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Folder in which everything is kept; made where missing [default: `gatehouse` in your data home]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Settings file [default: gatehouse.toml in the data folder, if it is there]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// One setting, for instance `--set log.level=debug`; may be given again
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve (what happens without a command)
    Serve(Serve),
    /// Play a provider over HTTP: the shapes of five, exact usage, faults on demand, an invoice
    #[command(after_help = testkit::help())]
    Mock(Mock),
    /// Play a bad network before any TCP service: delays, cuts, refusals, silence
    #[command(after_help = FAULTPROXY)]
    Faultproxy(Faultproxy),
    /// Measure what a gateway adds to a call on this machine, in about 20 seconds
    #[command(after_help = BENCH)]
    Bench(Bench),
    /// Make, list and revoke API keys; a running server notices within two seconds
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Bring the tables of the database up to date, and say from where to where
    Migrate,
    /// Say whether a server would start with these settings, and which are not the defaults
    Check(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address and port to serve on [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Mock {
    /// Address and port to serve on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9999")]
    pub(crate) listen: SocketAddr,
}

#[derive(Debug, Args)]
pub(crate) struct Faultproxy {
    /// Address and port to take connections on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9998")]
    pub(crate) listen: SocketAddr,
    /// Where they lead, as host:port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9999")]
    pub(crate) to: String,
    /// Where faults are set over HTTP while it runs
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9997")]
    pub(crate) control: SocketAddr,
    /// A fault to begin with, for instance `--fault delay_ms=100`; may be given again
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) fault: Vec<String>,
}

const FAULTPROXY: &str = "\
Faults:
  mode=pass|stop|refuse|blackhole   stop: all stands still and nothing is lost; refuse: nobody listens;
                                    blackhole: bytes are taken and nothing comes back
  delay_ms=N                        every byte arrives so much later, both ways
  bytes_per_second=N                for the answers of each connection; 0 is no limit
  cut_after=N|never                 cut a connection after so many bytes of answers; 0 cuts all at once
  cut=rst|fin                       by a reset or by a clean end

While it runs (what is not named stays as it is; DELETE heals everything):
  curl -X PUT 'http://127.0.0.1:9997/faults?mode=stop'
  curl -X PUT 'http://127.0.0.1:9997/faults?mode=pass&cut_after=2000&cut=fin'
  curl -X DELETE http://127.0.0.1:9997/faults
  curl http://127.0.0.1:9997/faults        faults and counts";

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Time to measure, all phases together
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Connections that ask as fast as they are answered, for throughput and CPU
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) connections: u16,
    /// Calls a second for latency; streams are begun at a tenth of it
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
    /// Measure a gateway that runs already, for instance http://127.0.0.1:8787, instead of one of our own
    #[arg(long, value_name = "URL", requires = "key")]
    pub(crate) url: Option<String>,
    /// A workspace key of that gateway
    #[arg(long, value_name = "KEY", requires = "url")]
    pub(crate) key: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH: &str = "\
It starts a mock provider and a gateway with a data folder of its own, asks the mock first straight and then
through the gateway, and reports the difference. Everything stays on this machine and is cleaned up.

How it measures:
  throughput, CPU   every connection asks again as soon as it is answered
  latency           calls are due at a constant rate, and their time runs from when they were due: if the gateway
                    stands still for a moment, every call of that moment counts as late
  added             the percentile through the gateway minus the same percentile straight to the mock

How to read it: provider, gateway and callers share this machine's cores, so throughput is lower than with machines
of their own, and tails (p99.9) need a quiet machine and a longer run. CPU per call is the figure that carries over.

Examples:
  gatehouse bench                                          about 20 seconds
  gatehouse bench --seconds 120 --rate 2000                quieter tails, more load
  gatehouse bench --set outbound.ask_streams_for_usage=false    with another setting
  gatehouse bench --json > before.json                     to compare with later";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and print it, once
    Create(CreateKey),
    /// List keys, never their text
    List(ListKeys),
    /// End a key
    Revoke(RevokeKey),
}

#[derive(Debug, Args)]
pub(crate) struct CreateKey {
    /// What it is for
    #[arg(long, default_value = "Made on the command line")]
    pub(crate) name: String,
    /// Workspace keys call models, admin keys administer, user keys act as the owner
    #[arg(long, value_enum, default_value_t = KeyKind::Workspace)]
    pub(crate) kind: KeyKind,
    /// What it may do, for instance completions.write,models.list [default: all its kind may hold]
    #[arg(long, value_delimiter = ',')]
    pub(crate) scopes: Vec<String>,
    /// When it ends: 90d, 12h, 2027-01-31, 2027-01-31T12:00:00Z [default: never]
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<String>,
    /// Id or slug of its workspace [default: the first workspace]
    #[arg(long)]
    pub(crate) workspace: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyKind {
    Admin,
    Workspace,
    User,
}

#[derive(Debug, Args)]
pub(crate) struct ListKeys {
    /// Also those that were revoked
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeKey {
    /// Its id or name (`gatehouse keys list`)
    pub(crate) key: String,
}

impl Cli {
    pub(crate) fn flags(&self) -> Flags<'_> {
        let listen = match &self.command {
            Some(Command::Serve(serve) | Command::Check(serve)) => serve.listen.as_ref().or(self.listen.as_ref()),
            _ => self.listen.as_ref(),
        };
        Flags {
            config: self.common.config.as_deref(),
            data: self.common.data.as_deref(),
            listen: listen.map(String::as_str),
            set: &self.common.set,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_help_names_every_command() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        for command in ["serve", "mock", "faultproxy", "bench", "keys", "check", "--data", "--listen"] {
            assert!(help.contains(command), "{command}");
        }
    }

    #[test]
    fn without_a_command_it_serves_with_the_same_flags() {
        let listen = |line: &[&str]| Cli::parse_from(line).flags().listen.map(str::to_owned);
        assert_eq!(listen(&["gatehouse", "--listen", "a:1"]), Some("a:1".into()));
        assert_eq!(listen(&["gatehouse", "serve", "--listen", "a:2"]), Some("a:2".into()));
        assert!(Cli::try_parse_from(["gatehouse", "--wrong"]).is_err());
    }
}
