//! Settings, and the only place that reads the environment (D-rule 6).
//!
//! `config.default.toml` < file < environment < flags. The default file holds every setting, so it is also the list of
//! what may be set and of which type it is; `VARIABLES` says which variable stands for which setting.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::secret::Secret;
use serde::Deserialize;
use toml::{Table, Value};

const DEFAULTS: &str = include_str!("../../../config.default.toml");
/// The file that is read when none is named, inside the data folder.
const BESIDE_DATA: &str = "gatehouse.toml";

/// Setting, and the variables that stand for it; the first that is set holds.
const VARIABLES: &[(&str, &[&str])] = &[
    ("server.listen", &["LISTEN"]),
    ("server.port", &["PORT"]),
    ("server.data", &["GATEHOUSE_DATA"]),
    ("server.environment", &["ENVIRONMENT"]),
    ("server.service_name", &["SERVICE_NAME"]),
    ("server.tls_cert", &["TLS_CERT", "TLS_CERT_PATH"]),
    ("server.tls_key", &["TLS_KEY", "TLS_KEY_PATH"]),
    ("server.drain_timeout", &["DRAIN_TIMEOUT"]),
    ("log.level", &["LOG_LEVEL"]),
    ("log.format", &["LOG_FORMAT"]),
    ("limits.body_bytes", &["MAX_BODY_BYTES"]),
    ("limits.json_mb", &["MAX_JSON_PAYLOAD_SIZE_IN_MB"]),
    ("limits.header_bytes", &["MAX_HEADER_BYTES"]),
    ("timeouts.request_ms", &["REQUEST_TIMEOUT"]),
    ("timeouts.idle_ms", &["STREAM_IDLE_TIMEOUT"]),
    ("timeouts.connect_ms", &["CONNECT_TIMEOUT"]),
    ("timeouts.header_ms", &["HEADER_TIMEOUT"]),
    ("timeouts.body_ms", &["BODY_TIMEOUT"]),
    ("timeouts.keepalive_ms", &["KEEPALIVE_TIMEOUT"]),
    ("outbound.trusted_custom_hosts", &["TRUSTED_CUSTOM_HOSTS"]),
    ("outbound.http_proxy", &["HTTP_PROXY", "http_proxy"]),
    ("outbound.https_proxy", &["HTTPS_PROXY", "https_proxy"]),
    ("outbound.no_proxy", &["NO_PROXY", "no_proxy"]),
    ("outbound.extra_ca", &["OUTBOUND_CA"]),
    ("outbound.ask_streams_for_usage", &["ASK_STREAMS_FOR_USAGE"]),
    ("headers.prefixes", &["HEADER_PREFIXES", "HEADER_PREFIX_ALIASES"]),
    ("cors.allowed_origins", &["CORS_ALLOWED_ORIGINS"]),
    ("cors.allowed_methods", &["CORS_ALLOWED_METHODS"]),
    ("cors.allowed_headers", &["CORS_ALLOWED_HEADERS"]),
    ("cors.expose_headers", &["CORS_EXPOSE_HEADERS"]),
    ("metrics.enabled", &["ENABLE_PROMETHEUS"]),
    ("metrics.token", &["METRICS_TOKEN"]),
    ("secrets.master_key", &["MASTER_KEY"]),
    ("bootstrap.admin_key", &["BOOTSTRAP_ADMIN_KEY"]),
    ("bootstrap.workspace_key", &["BOOTSTRAP_WORKSPACE_KEY"]),
    ("database.url", &["DATABASE_URL"]),
];

/// Settings whose value is never shown.
const SECRET: &[&str] = &[
    "server.tls_key",
    "metrics.token",
    "secrets.master_key",
    "bootstrap.admin_key",
    "bootstrap.workspace_key",
    "database.url",
    "outbound.http_proxy",
    "outbound.https_proxy",
];

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
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) setting: String,
    pub(crate) from: String,
    pub(crate) value: String,
}

/// What the command line says about settings.
#[derive(Debug, Default)]
pub(crate) struct Flags<'a> {
    pub(crate) config: Option<&'a Path>,
    pub(crate) data: Option<&'a Path>,
    pub(crate) listen: Option<&'a str>,
    /// `KEY=VALUE`.
    pub(crate) set: &'a [String],
}

/// A setting that cannot be used, and the remedy. It never holds a secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub(crate) struct BadSetting(String);

fn bad(text: impl Into<String>) -> BadSetting {
    BadSetting(text.into())
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

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
        read(flags, &lookup)
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

    /// Certificate chain and key as PEM, where TLS is wanted.
    pub(crate) fn tls(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>, BadSetting> {
        let cert = pem("server.tls_cert", &self.server.tls_cert)?;
        let key = pem("server.tls_key", self.server.tls_key.expose())?;
        match (cert, key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
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

    /// What types alone cannot tell.
    fn validate(&self) -> Result<(), BadSetting> {
        self.listen()?;
        let nonzero = [
            ("limits.body_bytes", self.limits.body_bytes),
            ("limits.json_mb", self.limits.json_mb),
            ("timeouts.request_ms", self.timeouts.request_ms),
            ("timeouts.idle_ms", self.timeouts.idle_ms),
            ("timeouts.connect_ms", self.timeouts.connect_ms),
            ("timeouts.header_ms", self.timeouts.header_ms),
            ("timeouts.body_ms", self.timeouts.body_ms),
            ("timeouts.keepalive_ms", self.timeouts.keepalive_ms),
        ];
        if let Some((setting, _)) = nonzero.iter().find(|(_, value)| *value == 0) {
            return Err(bad(format!("`{setting}` is 0; give a positive number")));
        }
        if !(8192..=1024 * 1024).contains(&self.limits.header_bytes) {
            return Err(bad("`limits.header_bytes` must be between 8192 and 1048576"));
        }
        if given(&self.database.url).is_some() {
            return Err(bad(
                "`database.url` (DATABASE_URL) is set, but this build keeps its data in SQLite only; unset it",
            ));
        }
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

fn read(flags: &Flags<'_>, lookup: Lookup<'_>) -> Result<Config, BadSetting> {
    let defaults: Table = DEFAULTS.parse().map_err(|error| bad(format!("the built-in defaults: {error}")))?;
    let over = Overlay { flags: from_flags(flags, &defaults)?, environment: from_environment(lookup, &defaults)? };

    let named = flags.config.map(PathBuf::from).or_else(|| set(lookup, "GATEHOUSE_CONFIG").map(PathBuf::from));
    let mut origins = Vec::new();
    let mut table = defaults.clone();
    if let Some(path) = &named {
        let file = parse(path, &defaults)?;
        merge(&mut table, &file, &path.display().to_string(), &mut origins);
    }
    over.apply(&mut table, &mut origins);
    if text(&table, "server.data").is_empty() {
        let home = data_home(lookup)?;
        put(&mut table, "server.data", Value::String(home.to_string_lossy().into_owned()));
    }
    let beside = Path::new(text(&table, "server.data")).join(BESIDE_DATA);
    if named.is_none() && beside.is_file() {
        let file = parse(&beside, &defaults)?;
        if find(&file, "server.data").is_some() {
            let remedy = "this file lies in the data folder and cannot move it; use `--data` or GATEHOUSE_DATA";
            return Err(bad(format!("{}: `server.data`: {remedy}", beside.display())));
        }
        merge(&mut table, &file, &beside.display().to_string(), &mut origins);
        over.apply(&mut table, &mut origins);
    }
    let changed = changes(&table, &defaults, &origins);
    let mut config: Config = serde_path_to_error::deserialize(table).map_err(|error| {
        let path = error.path().to_string();
        bad(format!("`{path}`{}: {}", origin(&origins, &path), error.inner().message()))
    })?;
    config.changed = changed;
    config.validate()?;
    Ok(config)
}

/// What stands above every file.
struct Overlay {
    environment: Vec<(&'static str, &'static str, Value)>,
    flags: Vec<(String, String, Value)>,
}

impl Overlay {
    fn apply(&self, table: &mut Table, origins: &mut Vec<(String, String)>) {
        for (setting, variable, value) in &self.environment {
            put(table, setting, value.clone());
            origins.push(((*setting).to_owned(), (*variable).to_owned()));
        }
        for (setting, flag, value) in &self.flags {
            put(table, setting, value.clone());
            origins.push((setting.clone(), flag.clone()));
        }
    }
}

fn set(lookup: Lookup<'_>, name: &str) -> Option<String> {
    lookup(name).filter(|value| !value.trim().is_empty())
}

fn from_environment(
    lookup: Lookup<'_>,
    defaults: &Table,
) -> Result<Vec<(&'static str, &'static str, Value)>, BadSetting> {
    let mut given = Vec::new();
    for (setting, variables) in VARIABLES {
        let Some((variable, text)) = variables.iter().find_map(|name| Some((*name, set(lookup, name)?))) else {
            continue;
        };
        let value = typed(defaults, setting, &text).map_err(|wanted| bad(format!("{variable} must be {wanted}")))?;
        given.push((*setting, variable, value));
    }
    Ok(given)
}

fn from_flags(flags: &Flags<'_>, defaults: &Table) -> Result<Vec<(String, String, Value)>, BadSetting> {
    let mut given = Vec::new();
    for pair in flags.set {
        let Some((setting, text)) = pair.split_once('=') else {
            return Err(bad(format!("`--set {pair}`: write KEY=VALUE, for instance `--set log.level=debug`")));
        };
        let setting = setting.trim();
        if !matches!(find(defaults, setting), Some(value) if !value.is_table()) {
            return Err(bad(format!("`--set {setting}`: {}", unknown(defaults, setting))));
        }
        let value =
            typed(defaults, setting, text).map_err(|wanted| bad(format!("`--set {setting}` must be {wanted}")))?;
        given.push((setting.to_owned(), "--set".to_owned(), value));
    }
    if let Some(data) = flags.data {
        given.push(("server.data".into(), "--data".into(), Value::String(data.to_string_lossy().into_owned())));
    }
    if let Some(listen) = flags.listen {
        given.push(("server.listen".into(), "--listen".into(), Value::String(listen.to_owned())));
        given.push(("server.port".into(), "--listen".into(), Value::Integer(0)));
    }
    Ok(given)
}

/// A text as the type that the default has; `Err` says what was wanted.
fn typed(defaults: &Table, setting: &str, text: &str) -> Result<Value, &'static str> {
    let text = text.trim();
    if text.contains('\u{fffd}') {
        return Err("valid UTF-8");
    }
    match find(defaults, setting) {
        Some(Value::Integer(_)) => {
            let number = text.replace('_', "").parse().ok().filter(|number| *number >= 0);
            number.map(Value::Integer).ok_or("a whole number, not negative")
        }
        Some(Value::Boolean(_)) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(Value::Boolean(true)),
            "false" | "off" | "no" | "0" => Ok(Value::Boolean(false)),
            _ => Err("`true` or `false`"),
        },
        Some(Value::Array(_)) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn parse(path: &Path, defaults: &Table) -> Result<Table, BadSetting> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| bad(format!("cannot read `{shown}`: {error}")))?;
    // The parser's own message quotes the line, which may hold a secret: only its place and reason are told.
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        bad(format!("`{shown}`, line {line}: {}", error.message()))
    })?;
    for (setting, value) in leaves(&table) {
        match find(defaults, &setting) {
            None => return Err(bad(format!("`{shown}`: {}", unknown(defaults, &setting)))),
            Some(default) if default.type_str() != value.type_str() => {
                let (wanted, is) = (default.type_str(), value.type_str());
                return Err(bad(format!("`{shown}`: `{setting}` must be of type {wanted}, not {is}")));
            }
            Some(_) => {}
        }
    }
    Ok(table)
}

fn unknown(defaults: &Table, setting: &str) -> String {
    let near = leaves(defaults).into_iter().map(|(known, _)| known);
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let nearest = near.map(|known| (distance(&last(&known), &last(setting)), known)).min();
    match nearest {
        Some((far, known)) if far <= 3 => format!("there is no setting `{setting}`; did you mean `{known}`?"),
        _ => format!("there is no setting `{setting}`; config.default.toml lists all"),
    }
}

/// Letters to change, add or drop to come from one word to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (at, to) in other.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[at + 1];
            row[at + 1] = change.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(rest, value)| (format!("{name}.{rest}"), value)));
            }
            value => found.push((name.clone(), value)),
        }
    }
    found
}

fn find<'t>(table: &'t Table, setting: &str) -> Option<&'t Value> {
    match setting.split_once('.') {
        None => table.get(setting),
        Some((first, rest)) => find(table.get(first)?.as_table()?, rest),
    }
}

fn text<'t>(table: &'t Table, setting: &str) -> &'t str {
    find(table, setting).and_then(Value::as_str).unwrap_or_default()
}

fn put(table: &mut Table, setting: &str, value: Value) {
    match setting.split_once('.') {
        None => drop(table.insert(setting.to_owned(), value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

fn merge(table: &mut Table, file: &Table, name: &str, origins: &mut Vec<(String, String)>) {
    for (setting, value) in leaves(file) {
        put(table, &setting, value.clone());
        origins.push((setting, name.to_owned()));
    }
}

fn origin(origins: &[(String, String)], setting: &str) -> String {
    let from = origins.iter().rfind(|(known, _)| known == setting);
    from.map_or_else(String::new, |(_, from)| format!(" (from {from})"))
}

fn changes(table: &Table, defaults: &Table, origins: &[(String, String)]) -> Vec<Changed> {
    let differing = leaves(table).into_iter().filter(|(setting, value)| find(defaults, setting) != Some(value));
    let mut changed: Vec<Changed> = Vec::new();
    for (setting, value) in differing {
        let Some((_, from)) = origins.iter().rfind(|(known, _)| *known == setting) else { continue };
        let value = if SECRET.contains(&setting.as_str()) { "[secret]".to_owned() } else { value.to_string() };
        changed.push(Changed { from: from.clone(), setting, value });
    }
    changed
}

/// `gatehouse` in the user's data home.
fn data_home(lookup: Lookup<'_>) -> Result<PathBuf, BadSetting> {
    if let Some(home) = set(lookup, "XDG_DATA_HOME").filter(|home| Path::new(home).is_absolute()) {
        return Ok(Path::new(&home).join("gatehouse"));
    }
    let home =
        set(lookup, "HOME").ok_or_else(|| bad("HOME is not set; say where to keep the data with `--data DIR`"))?;
    let share = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    Ok(Path::new(&home).join(share).join("gatehouse"))
}

/// Whether an address is this machine's own.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests;
