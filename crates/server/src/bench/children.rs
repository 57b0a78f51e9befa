//! The processes that are measured: this program again, as a mock and as a gateway. They end with their owner.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use domain::secret::Secret;
use http::Uri;

use crate::cli::Common;

const PATIENCE: Duration = Duration::from_secs(20);

struct Child(std::process::Child);

impl Child {
    /// Starts this program with these arguments and waits for the line with `mark`; what follows it there is given back.
    /// Settings in the environment do not reach it: figures shall be those of what was asked for.
    fn start(arguments: &[OsString], mark: &'static str) -> Result<(Child, String)> {
        let program = std::env::current_exe().context("this program does not know where it lies")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Child(command.spawn().context("a process cannot be started")?);
        let said = child.0.stdout.take().context("its output cannot be read")?;
        let (tell, told) = mpsc::channel();
        // Reads on to the end, so that the child never waits for us.
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once(mark) {
                    tell.send(rest.trim().to_owned()).unwrap_or_default();
                }
            }
        });
        let what = arguments.first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
        let told = told.recv_timeout(PATIENCE);
        let rest = told.map_err(|_| anyhow!("`gatehouse {what}` did not start; try it by itself to see why"))?;
        Ok((child, rest))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().unwrap_or_default();
        drop(self.0.wait());
    }
}

pub(super) struct Mock {
    _child: Child,
    address: String,
}

impl Mock {
    pub(super) fn start() -> Result<Mock> {
        let arguments = ["mock", "--listen", "127.0.0.1:0"].map(OsString::from);
        let (child, rest) = Child::start(&arguments, "ready: http://")?;
        let (address, _) = rest.split_once("/v1").context("the mock tells no address")?;
        Ok(Mock { address: address.to_owned(), _child: child })
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn url(&self) -> Result<Uri> {
        Ok(format!("{}/chat/completions", self.base()).parse()?)
    }
}

pub(super) struct Gateway {
    /// Without the version.
    base: String,
    key: Secret,
    /// Before the folder: it is gone when the folder goes.
    child: Option<Child>,
    _folder: Option<Folder>,
}

impl Gateway {
    pub(super) fn start(common: &Common) -> Result<Gateway> {
        let folder = Folder::new()?;
        let mut arguments = ["serve", "--listen", "127.0.0.1:0", "--data"].map(OsString::from).to_vec();
        arguments.push(folder.0.clone().into());
        if let Some(config) = &common.config {
            arguments.extend(["--config".into(), config.clone().into()]);
        }
        arguments.extend(common.set.iter().flat_map(|set| ["--set".into(), set.into()]));
        let (child, base) = Child::start(&arguments, "Base URL")?;
        let key = std::fs::read_to_string(folder.0.join("first-keys").join("workspace"));
        let key = Secret::new(key.context("the gateway made no workspace key")?.trim());
        Ok(Gateway { base: base.trim_end_matches("/v1").to_owned(), key, child: Some(child), _folder: Some(folder) })
    }

    pub(super) fn running(url: &str, key: &str) -> Result<Gateway> {
        let base = url.trim_end_matches('/').trim_end_matches("/v1");
        if !base.starts_with("http://") {
            bail!("`--url {url}`: write it as http://HOST:PORT; TLS is not measured");
        }
        Ok(Gateway { base: base.to_owned(), key: Secret::new(key), child: None, _folder: None })
    }

    pub(super) fn key(&self) -> &str {
        self.key.expose()
    }

    pub(super) fn url(&self) -> Result<Uri> {
        let url = format!("{}/v1/chat/completions", self.base);
        url.parse().with_context(|| format!("`{}` is no URL", self.base))
    }

    /// What the process has used so far; `None` where that cannot be known.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let stat = self.told("stat")?;
        // The name of the program stands in brackets and may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        // The kernel tells a hundred ticks a second to every program, whatever it counts itself.
        Some(Duration::from_millis(ticks * 10))
    }

    pub(super) fn memory(&self) -> Option<Resident> {
        let status = self.told("status")?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        Some(Resident { now: kilobytes("VmRSS")?, peak: kilobytes("VmHWM")? })
    }

    fn told(&self, file: &str) -> Option<String> {
        let id = self.child.as_ref()?.0.id();
        std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join(file)).ok()
    }
}

/// Memory of a process that lies in RAM, in kilobytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resident {
    pub(super) now: u64,
    pub(super) peak: u64,
}

/// A data folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("gatehouse-bench-{}", std::process::id()));
        // Ours alone: one that is there already was made by somebody else.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("the folder `{}` cannot be made", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left lies where the system cleans up.
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}
