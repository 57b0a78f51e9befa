//! What may be reached: steps 1 to 6 for a URL, step 7 for each address it leads to. Pure; the connector does the rest.
//!
//! The text is taken apart here by strict rules of our own and must then mean the same to the `url` crate: where two
//! readers disagree about the host, an attacker chooses the reader.

mod host;
mod names;
mod policy;
mod ranges;
mod reason;

pub(crate) use host::Host;
pub use policy::{BadPattern, Policy};
pub use reason::{Reason, Refusal};

const MAX_LENGTH: usize = 2048;

/// Ports of services that speak something else than HTTP and may obey what an HTTP request happens to contain.
const BLOCKED_PORTS: &[u16] = &[
    0, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 993, 995, 1433, 1521, 2375, 2376, 2379, 3306, 3389, 5432,
    5672, 5984, 6379, 6443, 8500, 9042, 9200, 9300, 10250, 11211, 27017,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn read(text: &str) -> Result<Scheme, Reason> {
        match text {
            _ if text.eq_ignore_ascii_case("https") => Ok(Scheme::Https),
            _ if text.eq_ignore_ascii_case("http") => Ok(Scheme::Http),
            _ => Err(Reason::BadScheme),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where a connection may go, if the addresses are fine too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) trusted: bool,
}

/// A base URL that passed steps 1 to 6, in its one normal spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    base: String,
    origin_ends: usize,
    target: Target,
}

impl Checked {
    /// Absolute and without trailing slash, like `http://127.0.0.1:9999/v1`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Scheme, host and any port that is not the scheme's own, like `http://127.0.0.1:9999`.
    pub fn origin(&self) -> &str {
        &self.base[..self.origin_ends]
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        self.target.scheme.name()
    }

    /// Lower case; an IPv6 address without brackets.
    pub fn host(&self) -> String {
        self.target.host.plain()
    }

    pub fn port(&self) -> u16 {
        self.target.port
    }

    /// What stands before every path called under this base: empty, or with a leading and without a trailing slash.
    pub fn path_prefix(&self) -> &str {
        &self.base[self.origin_ends..]
    }
}

impl Policy {
    /// Steps 1 to 6, without DNS.
    pub fn check_url(&self, text: &str) -> Result<Checked, Refusal> {
        let pieces = take_apart(text)?;
        let target = self.check_authority(pieces.scheme, pieces.authority)?;
        if pieces.tail.contains('#') {
            return Err(Reason::HasFragment.into());
        }
        if pieces.tail.contains('?') {
            return Err(Reason::HasQuery.into());
        }
        let path = path_agreed_on(text, &target).ok_or(Reason::NotAUrl)?;

        let mut base = format!("{}://{}", target.scheme.name(), target.host);
        if target.port != target.scheme.port() {
            base = format!("{base}:{}", target.port);
        }
        let origin_ends = base.len();
        base.push_str(path.trim_end_matches('/'));
        Ok(Checked { base, origin_ends, target })
    }

    /// The part of `check_url` that decides where a connection goes: `host`, `host:port`, `[v6]` or `[v6]:port`.
    pub(crate) fn check_authority(&self, scheme: Scheme, authority: &str) -> Result<Target, Refusal> {
        if authority.contains('@') {
            return Err(Reason::Userinfo.into());
        }
        if authority.contains('%') {
            let reason = if authority.starts_with('[') { Reason::ZoneId } else { Reason::EncodedHost };
            return Err(reason.into());
        }
        let (host, port) = split_port(authority);
        let host = Host::read(host)?;
        let trusted = self.check_host(&host)?;
        let port = port.map_or(Ok(scheme.port()), read_port)?;
        if BLOCKED_PORTS.contains(&port) {
            return Err(Reason::BlockedPort.into());
        }
        Ok(Target { scheme, host, port, trusted })
    }
}

struct Pieces<'a> {
    scheme: Scheme,
    authority: &'a str,
    /// From the path on.
    tail: &'a str,
}

fn take_apart(text: &str) -> Result<Pieces<'_>, Reason> {
    if text.len() > MAX_LENGTH {
        return Err(Reason::TooLong);
    }
    // Readers drop tabs and line breaks from the middle of a URL and blanks from its ends.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Reason::ControlCharacter);
    }
    if text.contains('\\') {
        return Err(Reason::Backslash);
    }
    let (scheme, rest) = text.split_once("://").ok_or(Reason::NotAUrl)?;
    if !is_scheme(scheme) {
        return Err(Reason::NotAUrl);
    }
    let scheme = Scheme::read(scheme)?;
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.is_empty() {
        return Err(Reason::NotAUrl);
    }
    Ok(Pieces { scheme, authority, tail })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// Whatever cannot be a host after the split is refused by the reader of hosts.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    let after_address = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_address..].rfind(':') {
        Some(colon) => (&authority[..after_address + colon], Some(&authority[after_address + colon + 1..])),
        None => (authority, None),
    }
}

fn read_port(text: &str) -> Result<u16, Reason> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if !canonical {
        return Err(Reason::BadPort);
    }
    text.parse().map_err(|_| Reason::BadPort)
}

/// The normalised path, if the `url` crate sees the same scheme, host and port as we do.
fn path_agreed_on(text: &str, target: &Target) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let same_host = match (url.host()?, &target.host) {
        (url::Host::Domain(theirs), Host::Name(ours)) => theirs == ours,
        (url::Host::Ipv4(theirs), Host::Address(ours)) => *ours == theirs,
        (url::Host::Ipv6(theirs), Host::Address(ours)) => *ours == theirs,
        _ => false,
    };
    let same = same_host && url.scheme() == target.scheme.name() && url.port_or_known_default() == Some(target.port);
    same.then(|| url.path().to_owned())
}
