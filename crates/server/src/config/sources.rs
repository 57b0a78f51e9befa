//! Where settings come from, and which of them holds.
//!
//! The default file holds every setting, so it is also the list of what may be set and of which type it is; `VARIABLES`
//! says which variable stands for which setting.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

pub(super) const DEFAULTS: &str = include_str!("../../../../config.default.toml");
/// The file that is read when none is named, inside the data folder.
pub(super) const BESIDE_DATA: &str = "gatehouse.toml";

/// Setting, and the variables that stand for it; the first that is set holds.
pub(super) const VARIABLES: &[(&str, &[&str])] = &[
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
    ("limits.connections", &["MAX_CONNECTIONS"]),
    ("limits.calls", &["MAX_CONCURRENT_CALLS"]),
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
    ("database.host", &["DB_HOST"]),
    ("database.port", &["DB_PORT"]),
    ("database.user", &["DB_USER"]),
    ("database.password", &["DB_PASS"]),
    ("database.name", &["DB_NAME"]),
    ("database.ssl", &["DB_SSL"]),
    ("database.ssl_ca", &["DB_SSL_CA"]),
    ("database.ssl_cert", &["DB_SSL_CERT"]),
    ("database.ssl_key", &["DB_SSL_KEY"]),
    ("database.pool_size", &["DB_POOL_SIZE"]),
    ("database.stale_seconds", &["STALE_KEYS_SECONDS"]),
];

/// Settings whose value is never shown.
pub(super) const SECRET: &[&str] = &[
    "server.tls_key",
    "metrics.token",
    "secrets.master_key",
    "bootstrap.admin_key",
    "bootstrap.workspace_key",
    "database.url",
    "database.password",
    "database.ssl_key",
    "outbound.http_proxy",
    "outbound.https_proxy",
];

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

pub(super) fn bad(text: impl Into<String>) -> BadSetting {
    BadSetting(text.into())
}

pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Settings put together, and where each of them comes from.
pub(super) struct Read {
    pub(super) table: Table,
    pub(super) origins: Origins,
    pub(super) changed: Vec<Changed>,
}

pub(super) fn read(flags: &Flags<'_>, lookup: Lookup<'_>) -> Result<Read, BadSetting> {
    let defaults: Table = DEFAULTS.parse().map_err(|error| bad(format!("the built-in defaults: {error}")))?;
    let over = Overlay { flags: from_flags(flags, &defaults)?, environment: from_environment(lookup, &defaults)? };

    let named = flags.config.map(PathBuf::from).or_else(|| set(lookup, "GATEHOUSE_CONFIG").map(PathBuf::from));
    let mut origins = Origins::default();
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
    Ok(Read { table, origins, changed })
}

/// What stands above every file.
struct Overlay {
    environment: Vec<(&'static str, &'static str, Value)>,
    flags: Vec<(String, String, Value)>,
}

impl Overlay {
    fn apply(&self, table: &mut Table, origins: &mut Origins) {
        for (setting, variable, value) in &self.environment {
            put(table, setting, value.clone());
            origins.0.push(((*setting).to_owned(), (*variable).to_owned()));
        }
        for (setting, flag, value) in &self.flags {
            put(table, setting, value.clone());
            origins.0.push((setting.clone(), flag.clone()));
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

pub(super) fn leaves(table: &Table) -> Vec<(String, &Value)> {
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

fn merge(table: &mut Table, file: &Table, name: &str, origins: &mut Origins) {
    for (setting, value) in leaves(file) {
        put(table, &setting, value.clone());
        origins.0.push((setting, name.to_owned()));
    }
}

/// Setting and source, the last one holds.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<(String, String)>);

impl Origins {
    fn find(&self, setting: &str) -> Option<&str> {
        self.0.iter().rfind(|(known, _)| known == setting).map(|(_, from)| from.as_str())
    }

    /// For a message.
    pub(super) fn of(&self, setting: &str) -> String {
        self.find(setting).map_or_else(String::new, |from| format!(" (from {from})"))
    }
}

fn changes(table: &Table, defaults: &Table, origins: &Origins) -> Vec<Changed> {
    let differing = leaves(table).into_iter().filter(|(setting, value)| find(defaults, setting) != Some(value));
    let mut changed: Vec<Changed> = Vec::new();
    for (setting, value) in differing {
        let Some(from) = origins.find(&setting) else { continue };
        let value = if SECRET.contains(&setting.as_str()) { "[secret]".to_owned() } else { value.to_string() };
        changed.push(Changed { from: from.to_owned(), setting, value });
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
