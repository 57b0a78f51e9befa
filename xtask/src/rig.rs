//! A throw-away PostgreSQL and a throw-away Redis for the tests: installed where they are missing and that is allowed,
//! started on free ports, gone when dropped.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Made beforehand, because tests must not know SQL, and as schemas of one database, which cost nothing.
const DATABASES: usize = 320;
const FEW: usize = 40;
/// Owns them all, and may come without TLS.
const OWNER: &str = "gatehouse";
/// Is let in with TLS only.
const TLS_ONLY: &str = "tlsonly";

pub(crate) struct Rig {
    folder: PathBuf,
    servers: Vec<Child>,
    port: u16,
    redis: u16,
}

/// A user who may run PostgreSQL, which refuses to run as root.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Rig {
    pub(crate) fn start() -> Result<Rig> {
        let tools = tools()?;
        let user = unprivileged()?;
        let folder = std::env::temp_dir().join(format!("gatehouse-rig-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let mut rig = Rig { folder, servers: Vec::new(), port: free_port()?, redis: free_port()? };
        rig.postgres(&tools, user)?;
        rig.redis(&tools)?;
        Ok(rig)
    }

    /// What tests are told, as environment variables.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let at = |user: &str, name: &str| format!("postgres://{user}@localhost:{}/{name}", self.port);
        let file = |name: &str| self.folder.join(name).display().to_string();
        vec![
            ("TEST_DATABASE_URL", at(OWNER, "postgres")),
            ("TEST_DATABASE_TLS_URL", at(TLS_ONLY, "tls")),
            ("TEST_DATABASE_CA", file("ca.pem")),
            ("TEST_DATABASE_OTHER_CA", file("other-ca.pem")),
            ("TEST_REDIS_URL", format!("redis://127.0.0.1:{}", self.redis)),
        ]
    }

    /// Databases that tests may take: the first number, how many, and the beginning of their addresses. A run with
    /// everything on PostgreSQL takes others than one that only tests PostgreSQL itself.
    pub(crate) fn databases(&self, everything: bool) -> Vec<(&'static str, String)> {
        let (first, count) = if everything { (FEW, DATABASES - FEW) } else { (0, FEW) };
        let mut variables = vec![(
            "TEST_DATABASES",
            format!("{first}+{count} postgres://{OWNER}@localhost:{}/postgres?options=-csearch_path%3Dt", self.port),
        )];
        if everything {
            variables.push(("TEST_ON", "postgres".into()));
        }
        variables
    }

    fn postgres(&mut self, tools: &Tools, user: Option<User>) -> Result<()> {
        let data = self.folder.join("postgres");
        fs::create_dir_all(&data)?;
        self.certificates(&data)?;
        give(&data, user)?;
        let data_text = data.join("data").display().to_string();
        let made = as_user(&tools.postgres.join("initdb"), user)
            .args(["-D", &data_text, "--locale=C", "--encoding=UTF8", "--auth=trust", "--no-sync", "-U", OWNER])
            .current_dir(&data)
            .stdout(Stdio::null())
            .status();
        if !made.context("initdb cannot be started")?.success() {
            bail!("initdb failed; its message stands above");
        }
        let access = format!(
            "hostssl all {TLS_ONLY} all trust\nhostnossl all {TLS_ONLY} all reject\nlocal all all trust\nhost all all all trust\n"
        );
        fs::write(data.join("data/pg_hba.conf"), access)?;
        let log = fs::File::create(self.folder.join("postgres.log"))?;
        let settings = [
            format!("port={}", self.port),
            "listen_addresses=localhost".into(),
            format!("unix_socket_directories={}", data.display()),
            "fsync=off".into(),
            "max_connections=300".into(),
            "ssl=on".into(),
            format!("ssl_cert_file={}", data.join("server.pem").display()),
            format!("ssl_key_file={}", data.join("server.key").display()),
        ];
        let mut command = as_user(&tools.postgres.join("postgres"), user);
        command.args(["-D", &data_text]).current_dir(&data).stdout(log.try_clone()?).stderr(log);
        for setting in &settings {
            command.args(["-c", setting]);
        }
        self.servers.push(command.spawn().context("postgres cannot be started")?);
        self.answers("PostgreSQL", self.port)?;
        self.make_databases(tools)
    }

    fn make_databases(&self, tools: &Tools) -> Result<()> {
        let mut sql = format!("create role {TLS_ONLY} login;\ncreate database tls owner {TLS_ONLY};\n");
        for number in 0..DATABASES {
            sql.push_str(&format!("create schema t{number};\n"));
        }
        // It takes connections a moment before it takes work.
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end && !self.psql(tools, "select 1;\n")? {
            std::thread::sleep(Duration::from_millis(50));
        }
        if !self.psql(tools, &sql)? {
            bail!("the databases for tests could not be made; see {}", self.folder.join("postgres.log").display());
        }
        Ok(())
    }

    fn psql(&self, tools: &Tools, sql: &str) -> Result<bool> {
        let port = self.port.to_string();
        let mut child = Command::new(&tools.psql)
            .args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", "localhost", "-p", &port, "-U", OWNER, "-d", "postgres"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("psql cannot be started")?;
        let mut input = child.stdin.take().context("psql has no input")?;
        let written = input.write_all(sql.as_bytes());
        drop(input);
        Ok(child.wait()?.success() && written.is_ok())
    }

    fn redis(&mut self, tools: &Tools) -> Result<()> {
        let port = self.redis.to_string();
        let child = Command::new(&tools.redis)
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .current_dir(&self.folder)
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server cannot be started")?;
        self.servers.push(child);
        self.answers("Redis", self.redis)
    }

    fn answers(&self, name: &str, port: u16) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            if TcpStream::connect(("localhost", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{name} did not take connections within 30 s; see {}", self.folder.display())
    }

    /// A server certificate for `localhost` and no other name, its authority, and an authority that has nothing to do
    /// with it.
    fn certificates(&self, data: &Path) -> Result<()> {
        let authority = |name: &str| -> Result<(String, Issuer<'static, KeyPair>)> {
            let mut params = CertificateParams::new(Vec::<String>::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            let key = KeyPair::generate()?;
            let pem = params.self_signed(&key)?.pem();
            Ok((pem, Issuer::new(params, key)))
        };
        let (ca, issuer) = authority("tests of gatehouse")?;
        let (other, _) = authority("somebody else")?;
        let key = KeyPair::generate()?;
        let server = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?;
        fs::write(self.folder.join("ca.pem"), ca)?;
        fs::write(self.folder.join("other-ca.pem"), other)?;
        fs::write(data.join("server.pem"), server.pem())?;
        fs::write(data.join("server.key"), key.serialize_pem())?;
        fs::set_permissions(data.join("server.key"), fs::Permissions::from_mode(0o600))?;
        Ok(())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // PostgreSQL's own children end with it; nothing in it is worth a clean end.
            drop(server.kill());
            drop(server.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

struct Tools {
    /// The folder with `initdb` and `postgres`.
    postgres: PathBuf,
    psql: PathBuf,
    redis: PathBuf,
}

fn tools() -> Result<Tools> {
    if let Some(found) = find() {
        return Ok(found);
    }
    const PACKAGES: &[&str] = &["postgresql", "postgresql-client", "redis-server"];
    if crate::setup::may_install() {
        println!("PostgreSQL or Redis is missing; installing {}", PACKAGES.join(", "));
        crate::setup::install(PACKAGES)?;
        if let Some(found) = find() {
            return Ok(found);
        }
    }
    bail!("the tests need PostgreSQL and Redis; install them with `apt-get install {}`", PACKAGES.join(" "))
}

fn find() -> Option<Tools> {
    let paths: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let in_path = |name: &str| paths.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    // Debian keeps the server's programs out of the path, one folder for each version.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.extend(in_path("initdb").and_then(|file| Some(file.parent()?.to_owned())));
    let postgres = folders.into_iter().rfind(|folder| folder.join("initdb").is_file())?;
    Some(Tools { psql: in_path("psql").or(Some(postgres.join("psql")))?, postgres, redis: in_path("redis-server")? })
}

/// `None` when we are not root ourselves.
fn unprivileged() -> Result<Option<User>> {
    if !crate::setup::is_root() {
        return Ok(None);
    }
    let known = fs::read_to_string("/etc/passwd")?;
    let find = |name: &str| {
        let line = known.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    };
    let user = find("postgres").or_else(|| find("nobody"));
    user.map(Some).context("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")
}

fn as_user(program: &Path, user: Option<User>) -> Command {
    let mut command = Command::new(program);
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command.stdin(Stdio::null());
    command
}

fn give(folder: &Path, user: Option<User>) -> Result<()> {
    let Some(User { uid, gid }) = user else { return Ok(()) };
    chown(folder, Some(uid), Some(gid))?;
    for entry in fs::read_dir(folder)? {
        chown(entry?.path(), Some(uid), Some(gid))?;
    }
    Ok(())
}

fn free_port() -> Result<u16> {
    let socket = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(socket.local_addr()?.port())
}
