//! Settings, and the only place that reads the environment (D-rule 6).
//!
//! `config.default.toml` < file < environment < flags; how they are put together stands in `sources`.

mod database;
mod sources;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use database::Parts;
use domain::secret::Secret;
use serde::Deserialize;
use sources::{Lookup, bad};

pub(crate) use database::TlsFiles;
pub(crate) use sources::{BadSetting, Changed, Flags};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) log: Log,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) outbound: Outbound,
    pub(crate) headers: Headers,
    pub(crate) cors: Cors,
    pub(crate) metrics: Metrics,
    pub(crate) secrets: Secrets,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) database: Database,
    /// Settings that are not the defaults, with where they come from and, unless secret, what they are.
    #[serde(skip)]
    pub(crate) changed: Vec<Changed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    listen: String,
    port: u16,
    data: String,
    environment: Environment,
    pub(crate) service_name: String,
    pub(crate) tls_cert: String,
    tls_key: Secret,
    drain_timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Environment {
    Auto,
    Development,
    Production,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: String,
    pub(crate) format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Auto,
    Json,
    Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) body_bytes: u64,
    json_mb: u64,
    pub(crate) header_bytes: usize,
    pub(crate) connections: u32,
    pub(crate) calls: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    request_ms: u64,
    idle_ms: u64,
    connect_ms: u64,
    header_ms: u64,
    body_ms: u64,
    keepalive_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outbound {
    trusted_custom_hosts: Vec<String>,
    http_proxy: Secret,
    https_proxy: Secret,
    no_proxy: String,
    extra_ca: String,
    pub(crate) ask_streams_for_usage: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Headers {
    pub(crate) prefixes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cors {
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) allowed_methods: Vec<String>,
    pub(crate) allowed_headers: Vec<String>,
    pub(crate) expose_headers: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metrics {
    pub(crate) enabled: bool,
    token: Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    master_key: Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bootstrap {
    admin_key: Secret,
    workspace_key: Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    url: Secret,
    host: String,
    port: u16,
    user: String,
    password: Secret,
    name: String,
    ssl: String,
    pub(crate) ssl_ca: String,
    pub(crate) ssl_cert: String,
    pub(crate) ssl_key: Secret,
    pub(crate) pool_size: u32,
    stale_seconds: u64,
}

impl Config {
    /// Reads settings from their places. Nothing else looks at the environment.
    pub(crate) fn load(flags: &Flags<'_>) -> Result<Config, BadSetting> {
        #[expect(clippy::disallowed_methods, reason = "the one file that reads the environment")]
        let lookup = |name: &str| match std::env::var(name) {
            Ok(value) => Some(value),
            Err(std::env::VarError::NotPresent) => None,
            // Kept apart from "not set": it will be refused where a setting is meant.
            Err(std::env::VarError::NotUnicode(_)) => Some("\u{fffd}".into()),
        };
        Config::read(flags, &lookup)
    }

    fn read(flags: &Flags<'_>, lookup: Lookup<'_>) -> Result<Config, BadSetting> {
        let read = sources::read(flags, lookup)?;
        let mut config: Config = serde_path_to_error::deserialize(read.table).map_err(|error| {
            let path = error.path().to_string();
            bad(format!("`{path}`{}: {}", read.origins.of(&path), error.inner().message()))
        })?;
        config.changed = read.changed;
        config.validate()?;
        Ok(config)
    }

    pub(crate) fn listen(&self) -> Result<SocketAddr, BadSetting> {
        let text = &self.server.listen;
        let given: Result<SocketAddr, _> = text.replace("localhost:", "127.0.0.1:").parse();
        let mut address = given.map_err(|_| {
            bad(format!("`{text}` is no address to listen on; write one such as `127.0.0.1:8787` or `[::]:8787`"))
        })?;
        if self.server.port != 0 {
            address.set_port(self.server.port);
        }
        Ok(address)
    }

    pub(crate) fn development(&self) -> bool {
        match self.server.environment {
            Environment::Auto => self.listen().is_ok_and(|address| address.ip().is_loopback()),
            Environment::Development => true,
            Environment::Production => false,
        }
    }

    pub(crate) fn data(&self) -> &Path {
        Path::new(&self.server.data)
    }

    pub(crate) fn drain_timeout(&self) -> Duration {
        Duration::from_secs(self.server.drain_timeout)
    }

    pub(crate) fn json_bytes(&self) -> u64 {
        self.limits.json_mb.saturating_mul(1024 * 1024)
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.request_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.idle_ms)
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.connect_ms)
    }

    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.header_ms)
    }

    pub(crate) fn body_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.body_ms)
    }

    pub(crate) fn keepalive_timeout(&self) -> Duration {
        Duration::from_millis(self.timeouts.keepalive_ms)
    }

    pub(crate) fn trusted_custom_hosts(&self) -> Vec<&str> {
        const THIS_MACHINE: [&str; 4] = ["localhost", "127.0.0.1", "::1", "host.docker.internal"];
        let mut hosts = Vec::new();
        for host in &self.outbound.trusted_custom_hosts {
            match host.as_str() {
                "none" => {}
                "auto" if self.development() => hosts.extend(THIS_MACHINE),
                "auto" => {}
                host => hosts.push(host),
            }
        }
        hosts
    }

    pub(crate) fn proxy(&self) -> outbound::ProxySettings {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        outbound::ProxySettings {
            http: given(self.outbound.http_proxy.expose()),
            https: given(self.outbound.https_proxy.expose()),
            no_proxy: given(&self.outbound.no_proxy),
        }
    }

    pub(crate) fn extra_ca(&self) -> Result<Option<Vec<u8>>, BadSetting> {
        pem("outbound.extra_ca", &self.outbound.extra_ca)
    }

    /// Who we are to clients, where TLS is wanted.
    pub(crate) fn tls(&self) -> Result<Option<Identity>, BadSetting> {
        let cert = pem("server.tls_cert", &self.server.tls_cert)?;
        let key = pem("server.tls_key", self.server.tls_key.expose())?;
        match (cert, key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => Ok(Some(Identity { cert, key })),
            (Some(_), None) => Err(bad("`server.tls_cert` is set and `server.tls_key` is not; TLS needs both")),
            (None, Some(_)) => Err(bad("`server.tls_key` is set and `server.tls_cert` is not; TLS needs both")),
        }
    }

    pub(crate) fn metrics_token(&self) -> Option<&Secret> {
        given(&self.metrics.token)
    }

    pub(crate) fn master_key(&self) -> Option<&Secret> {
        given(&self.secrets.master_key)
    }

    pub(crate) fn bootstrap_admin_key(&self) -> Option<&Secret> {
        given(&self.bootstrap.admin_key)
    }

    pub(crate) fn bootstrap_workspace_key(&self) -> Option<&Secret> {
        given(&self.bootstrap.workspace_key)
    }

    pub(crate) fn stale_keys(&self) -> Duration {
        Duration::from_secs(self.database.stale_seconds)
    }

    /// What types alone cannot tell.
    fn validate(&self) -> Result<(), BadSetting> {
        self.listen()?;
        let nonzero = [
            ("limits.body_bytes", self.limits.body_bytes),
            ("limits.json_mb", self.limits.json_mb),
            ("limits.connections", u64::from(self.limits.connections)),
            ("limits.calls", u64::from(self.limits.calls)),
            ("timeouts.request_ms", self.timeouts.request_ms),
            ("timeouts.idle_ms", self.timeouts.idle_ms),
            ("timeouts.connect_ms", self.timeouts.connect_ms),
            ("timeouts.header_ms", self.timeouts.header_ms),
            ("timeouts.body_ms", self.timeouts.body_ms),
            ("timeouts.keepalive_ms", self.timeouts.keepalive_ms),
        ];
        if let Some((setting, _)) = nonzero.iter().find(|(_, value)| *value == 0) {
            let from = self.changed.iter().find(|changed| changed.setting == *setting);
            let from = from.map_or_else(String::new, |changed| format!(" (from {})", changed.from));
            return Err(bad(format!("`{setting}`{from} is 0; give a positive number")));
        }
        if !(8192..=1024 * 1024).contains(&self.limits.header_bytes) {
            return Err(bad("`limits.header_bytes` must be between 8192 and 1048576"));
        }
        self.database.check()?;
        for (name, key) in [("ADMIN", self.bootstrap_admin_key()), ("WORKSPACE", self.bootstrap_workspace_key())] {
            let Some(key) = key.map(Secret::expose) else { continue };
            if key.len() < domain::key::SHORTEST {
                return Err(bad(format!("BOOTSTRAP_{name}_KEY is shorter than {} characters", domain::key::SHORTEST)));
            }
            if domain::key::shape(key) == domain::key::Shape::Damaged {
                let remedy = "its end does not fit its beginning; copy it whole, or choose another text";
                return Err(bad(format!("BOOTSTRAP_{name}_KEY looks like a key of ours but {remedy}")));
            }
            if key.chars().any(|character| !character.is_ascii_graphic()) {
                return Err(bad(format!("BOOTSTRAP_{name}_KEY has a character that cannot stand in a header")));
            }
        }
        match (self.bootstrap_admin_key(), self.bootstrap_workspace_key()) {
            (Some(admin), Some(workspace)) if admin == workspace => {
                Err(bad("BOOTSTRAP_ADMIN_KEY and BOOTSTRAP_WORKSPACE_KEY are the same; give two different keys"))
            }
            _ => Ok(()),
        }
    }
}

impl Database {
    fn parts(&self) -> Parts<'_> {
        Parts {
            url: self.url.expose(),
            host: &self.host,
            port: self.port,
            user: &self.user,
            password: self.password.expose(),
            name: &self.name,
            ssl: &self.ssl,
        }
    }

    fn check(&self) -> Result<(), BadSetting> {
        self.parts().address(&TlsFiles::default())?;
        if self.pool_size < 2 {
            return Err(bad("`database.pool_size` must be 2 or more"));
        }
        Ok(())
    }

    /// Whether the settings are kept in PostgreSQL rather than in the data folder.
    pub(crate) fn is_elsewhere(&self) -> bool {
        !self.url.expose().is_empty() || !self.host.is_empty()
    }

    /// Where PostgreSQL is; `None` for the data folder.
    pub(crate) fn address(&self, files: &TlsFiles) -> Result<Option<Secret>, BadSetting> {
        self.parts().address(files)
    }
}

/// Certificate chain and private key as PEM.
pub(crate) struct Identity {
    pub(crate) cert: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

fn given(secret: &Secret) -> Option<&Secret> {
    (!secret.expose().is_empty()).then_some(secret)
}

/// PEM text as it stands, or out of a file.
fn pem(setting: &str, value: &str) -> Result<Option<Vec<u8>>, BadSetting> {
    if value.is_empty() {
        return Ok(None);
    }
    if value.trim_start().starts_with("-----BEGIN") {
        // Some shells and secret stores carry line ends as `\n`.
        return Ok(Some(value.replace("\\n", "\n").into_bytes()));
    }
    let read = std::fs::read(value);
    read.map(Some).map_err(|error| bad(format!("`{setting}` names the file `{value}`, which cannot be read: {error}")))
}

/// Whether an address is this machine's own.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
