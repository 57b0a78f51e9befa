//! Host names that lead inside, whatever they resolve to. All input is lower case and has no trailing dot.

/// Names of services that hand out credentials (step 4); their subdomains count too. No setting opens them.
const METADATA: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "instance-data",
    "instance-data.ec2.internal",
    "kubernetes",
];

/// Ends of names that exist only inside a network (step 5).
const PRIVATE: &[&str] = &[
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "test",
    "invalid",
    "onion",
    "localhost",
    "private",
    "svc",
    "consul",
    "home.arpa",
];

/// Public names that resolve to any address the caller writes into them, or to loopback.
const REBINDING: &[&str] = &[
    "nip.io",
    "sslip.io",
    "xip.io",
    "xip.name",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "traefik.me",
    "local.gd",
    "localho.st",
    "localdev.me",
    "smackaho.st",
    "fuf.me",
    "ulh.us",
    "lndo.site",
    "ddev.site",
    "backname.io",
    "127-0-0-1.org.uk",
    "rbndr.us",
    "1u.ms",
    "rebind.it",
    "rebind.network",
    "lock.cmpxchg8b.com",
];

pub(super) fn is_metadata(host: &str) -> bool {
    METADATA.iter().any(|name| is_or_is_under(host, name)) || host.starts_with("kubernetes.default")
}

pub(super) fn is_private(host: &str) -> bool {
    PRIVATE.iter().any(|suffix| is_or_is_under(host, suffix))
}

pub(super) fn is_rebinding(host: &str) -> bool {
    REBINDING.iter().any(|suffix| is_or_is_under(host, suffix))
}

pub(super) fn is_punycode(host: &str) -> bool {
    host.split('.').any(|label| label.starts_with("xn--"))
}

/// The rule by which every reader of URLs decides that a host is meant as an IPv4 address.
pub(super) fn ends_in_a_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    match last.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    }
}

fn is_or_is_under(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
