//! A process of the binary under test: an environment of its own, its output kept, killed when dropped.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::{PATIENCE, eventually};

/// The binary under test: `GATEHOUSE_BIN`, or the one that was built along with this test.
pub(crate) fn binary() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "says which binary is tested")]
    if let Some(path) = std::env::var_os("GATEHOUSE_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.parent().and_then(Path::parent).expect("tests are built into `deps` of their profile");
    let binary = profile.join("gatehouse");
    assert!(binary.is_file(), "{} is missing; build it with `cargo build --workspace`", binary.display());
    binary
}

/// Whether figures of the binary under test are those of an optimised build.
pub(crate) fn optimised() -> bool {
    !binary().components().any(|part| part.as_os_str() == "debug")
}

pub(crate) struct Process {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    stdout: Text,
    stderr: Text,
}

type Text = Arc<Mutex<Vec<u8>>>;

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn well(self) -> Ran {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// The binary with these arguments, in an environment that holds `PATH` and these settings.
pub(crate) fn command<A: AsRef<OsStr>>(arguments: &[A], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).env_clear().envs(path());
    let data = arguments.iter().position(|argument| argument.as_ref() == "--data").and_then(|at| arguments.get(at + 1));
    if let Some(address) = data.and_then(|data| database(Path::new(data))) {
        command.env("DATABASE_URL", address);
    }
    command.envs(settings.iter().copied());
    command
}

/// A setting: the data stays in its folder, also in a run on PostgreSQL.
pub(crate) const IN_THE_FOLDER: (&str, &str) = ("DATABASE_URL", "");

/// The database that belongs to a data folder, where this run keeps everything in PostgreSQL.
fn database(folder: &Path) -> Option<String> {
    (given("TEST_ON").as_deref() == Some("postgres")).then(|| database_of(folder))
}

/// A variable that the test run sets.
pub(crate) fn given(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "says what the test run has started")]
    std::env::var(name).ok()
}

/// One of the databases of the test run; the same one for the same folder.
pub(crate) fn database_of(folder: &Path) -> String {
    static TAKEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let given = given("TEST_DATABASES").expect(
        "TEST_DATABASES is not set; run `cargo xtask test`, or `cargo xtask rig cargo test --workspace --test suite`",
    );
    let (numbers, beginning) = given.split_once(' ').expect("numbers and the beginning of an address");
    let (first, count) = numbers.split_once('+').expect("the first number, and how many");
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = taken.iter().position(|known| known == folder).unwrap_or_else(|| {
        taken.push(folder.to_owned());
        taken.len() - 1
    });
    assert!(number < count.parse().expect("a number"), "there are no more databases than {count}");
    format!("{beginning}{}", first.parse::<usize>().expect("a number") + number)
}

pub(crate) fn path() -> Option<(&'static str, OsString)> {
    #[expect(clippy::disallowed_methods, reason = "tools are found where this test would find them")]
    std::env::var_os("PATH").map(|path| ("PATH", path))
}

/// Runs a command of the binary to its end.
pub(crate) async fn run<A: AsRef<OsStr>>(arguments: &[A], settings: &[(&str, &str)]) -> Ran {
    Process::spawn(command(arguments, settings)).ran().await
}

impl Process {
    pub(crate) fn spawn(mut command: Command) -> Process {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let (stdout, stderr) = (Text::default(), Text::default());
        let readers = vec![
            keep(child.stdout.take().expect("stdout is piped"), stdout.clone()),
            keep(child.stderr.take().expect("stderr is piped"), stderr.clone()),
        ];
        Process { child, readers, stdout, stderr }
    }

    pub(crate) fn stdout(&self) -> String {
        text(&self.stdout)
    }

    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The rest of the first line of output that holds `mark`.
    pub(crate) async fn told(&mut self, mark: &str) -> String {
        eventually(&format!("`{mark}` is told"), PATIENCE, async || {
            let said = self.stdout();
            let line = said.split_inclusive('\n').filter(|line| line.ends_with('\n')).find(|line| line.contains(mark));
            if line.is_none()
                && let Ok(Some(status)) = self.child.try_wait()
            {
                assert!(status.success() && status.code().is_none(), "it ended, {status}: {said}{}", self.stderr());
            }
            line.and_then(|line| line.split_once(mark)).map(|(_, rest)| rest.trim().to_owned())
        })
        .await
    }

    /// Sends a signal such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.id())]).status();
        assert!(sent.expect("there is a shell").success(), "the signal {name} was sent");
    }

    /// Whether it is over, and with which code.
    pub(crate) fn over(&mut self) -> Option<Option<i32>> {
        self.child.try_wait().expect("the child can be asked").map(|status| status.code())
    }

    /// Waits for the end.
    pub(crate) async fn ran(mut self) -> Ran {
        let code = eventually("the process ends", PATIENCE, async || self.over()).await;
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not fail");
        }
        Ran { code, stdout: self.stdout(), stderr: self.stderr() }
    }

    /// A figure of `/proc/…/status` in bytes, such as `VmRSS`.
    pub(crate) fn memory(&self, figure: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).expect("the process lives");
        let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
        let number =
            line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.trim().parse().ok());
        number.map(|kib: u64| kib * 1024).expect("the kernel tells it")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

fn keep(mut from: impl Read + Send + 'static, text: Text) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(size @ 1..) = from.read(&mut piece) {
            text.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..size]);
        }
    })
}

fn text(kept: &Text) -> String {
    String::from_utf8_lossy(&kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}
