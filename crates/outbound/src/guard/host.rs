//! One reading of a host: a canonical address or a lower-case name. Two spellings of one host never pass as two hosts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Reason, names};

const MAX_LABELS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(String),
}

impl Host {
    /// `text` is the host as it stands in a URL: IPv6 in brackets.
    pub(crate) fn read(text: &str) -> Result<Host, Reason> {
        if let Some(inside) = text.strip_prefix('[') {
            let v6 = inside.strip_suffix(']').and_then(|v6| v6.parse::<Ipv6Addr>().ok());
            return v6.map(|v6| Host::Address(v6.into())).ok_or(Reason::BadHost);
        }
        if text.is_ascii() { read_ascii(text.to_ascii_lowercase()) } else { read_international(text) }
    }

    /// As it stands in the operator's list: without brackets.
    pub(crate) fn plain(&self) -> String {
        match self {
            Host::Address(address) => address.to_string(),
            Host::Name(name) => name.clone(),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Address(IpAddr::V4(v4)) => write!(f, "{v4}"),
            Host::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

fn read_ascii(host: String) -> Result<Host, Reason> {
    let bare = host.strip_suffix('.').unwrap_or(&host);
    if names::ends_in_a_number(bare) {
        // `2130706433`, `0177.0.0.1` and `127.1` are read differently by different programs, and one of them would find a
        // trusted address there. Rust's parser takes the one canonical spelling.
        return host.parse::<Ipv4Addr>().map(|v4| Host::Address(v4.into())).map_err(|_| Reason::NoncanonicalAddress);
    }
    if bare.len() < host.len() {
        return Err(if bare.is_empty() { Reason::BadHost } else { Reason::TrailingDot });
    }
    let plain = host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let labels_fit = host.split('.').all(|label| (1..=63).contains(&label.len()));
    if !plain || !labels_fit || host.len() > 253 {
        return Err(Reason::BadHost);
    }
    if host.split('.').count() > MAX_LABELS {
        return Err(Reason::TooManyLabels);
    }
    Ok(Host::Name(host))
}

fn read_international(text: &str) -> Result<Host, Reason> {
    match url::Host::parse(text) {
        Ok(url::Host::Domain(name)) if names::is_punycode(&name) => read_ascii(name),
        // Full-width letters, soft hyphens and the like: an ASCII host that does not look like one.
        Ok(url::Host::Domain(_)) => Err(Reason::DisguisedHost),
        Ok(_) => Err(Reason::NoncanonicalAddress),
        Err(_) => Err(Reason::BadHost),
    }
}
