//! The operator's list of trusted hosts. Trust opens private names and addresses; it never opens metadata services or the
//! ports of the deny-list.

use std::collections::HashSet;
use std::net::IpAddr;

use super::host::Host;
use super::{Reason, Refusal, names, ranges};

#[derive(Debug, Clone, Default)]
pub struct Policy {
    exact: HashSet<String>,
    /// With their leading dot, so that `*.a.b` holds for `x.a.b` and neither for `a.b` nor for `xa.b`.
    suffixes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{item}` is no host to trust; write a host name, a canonical IP address or `*.suffix`, without scheme or port"
)]
pub struct BadPattern {
    pub item: String,
}

impl Policy {
    /// `trusted`: the items of `TRUSTED_CUSTOM_HOSTS`: exact host, IP literal or `*.suffix`. Empty items are skipped.
    pub fn new<I: IntoIterator<Item = S>, S: AsRef<str>>(trusted: I) -> Result<Policy, BadPattern> {
        let mut policy = Policy::default();
        for item in trusted {
            let item = item.as_ref().trim();
            if !item.is_empty() {
                policy.trust(item).ok_or_else(|| BadPattern { item: item.to_owned() })?;
            }
        }
        Ok(policy)
    }

    fn trust(&mut self, item: &str) -> Option<()> {
        if let Some(suffix) = item.strip_prefix("*.") {
            // `*.0.0.1` would be a wildcard over addresses; a name cannot end in a number.
            let Ok(Host::Name(name)) = Host::read(suffix) else { return None };
            self.suffixes.push(format!(".{name}"));
            return Some(());
        }
        let host = match item.parse::<IpAddr>() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::read(item).ok()?,
        };
        self.exact.insert(host.plain());
        Some(())
    }

    /// `host` is canonical: lower case; an IPv6 address with or without brackets.
    pub fn is_trusted(&self, host: &str) -> bool {
        let host = host.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')).unwrap_or(host);
        self.exact.contains(host)
            || self.suffixes.iter().any(|suffix| host.len() > suffix.len() && host.ends_with(suffix))
    }

    /// Step 7 for one resolved address; a trusted host is only held to step 4.
    pub fn check_address(&self, address: IpAddr, trusted: bool) -> Result<(), Refusal> {
        if ranges::is_metadata(address) {
            return Err(Reason::MetadataAddress.into());
        }
        match ranges::forbidden(address) {
            Some(reason) if !trusted => Err(reason.into()),
            _ => Ok(()),
        }
    }

    /// Steps 2 to 5 for a host that has been read; says whether it is trusted.
    pub(super) fn check_host(&self, host: &Host) -> Result<bool, Refusal> {
        let trusted = self.is_trusted(&host.plain());
        match host {
            Host::Address(address) => self.check_address(*address, trusted)?,
            Host::Name(name) => check_name(name, trusted)?,
        }
        Ok(trusted)
    }
}

fn check_name(name: &str, trusted: bool) -> Result<(), Reason> {
    if names::is_metadata(name) {
        return Err(Reason::MetadataHost);
    }
    if trusted {
        return Ok(());
    }
    if names::is_punycode(name) {
        return Err(Reason::Punycode);
    }
    if names::is_private(name) {
        return Err(Reason::BlockedSuffix);
    }
    if names::is_rebinding(name) {
        return Err(Reason::RebindingHelper);
    }
    if !name.contains('.') {
        return Err(Reason::SingleLabel);
    }
    Ok(())
}
