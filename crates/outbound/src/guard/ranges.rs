//! Which addresses are not the public internet, also where an IPv4 address hides inside an IPv6 one.
//!
//! IPv6 is closed unless known to be open: outside `2000::/3` only the NAT64 and IPv4-mapped prefixes can lead to a public
//! host, and those are judged by the IPv4 address they carry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Reason;

/// Step 4: addresses that hand out credentials of the machine. No setting opens them.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_metadata_v4(v4),
        IpAddr::V6(v6) => METADATA_V6.contains(&v6) || embedded(v6).any(is_metadata_v4),
    }
}

/// Step 3: why the address is not a public one.
pub(super) fn forbidden(address: IpAddr) -> Option<Reason> {
    match address {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => forbidden_v6(v6),
    }
}

const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 170, 2),   // container credentials
    Ipv4Addr::new(169, 254, 170, 23),  // pod identity
    Ipv4Addr::new(169, 254, 42, 42),   // Scaleway
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba
    Ipv4Addr::new(168, 63, 129, 16),   // Azure platform
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle
];

const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

fn is_metadata_v4(v4: Ipv4Addr) -> bool {
    v4.octets().starts_with(&[169, 254, 169]) || METADATA_V4.contains(&v4)
}

/// Network, prefix length, reason. The first match counts.
const V4: &[([u8; 4], u32, Reason)] = &[
    ([0, 0, 0, 0], 8, Reason::UnspecifiedAddress),
    ([10, 0, 0, 0], 8, Reason::PrivateAddress),
    ([100, 64, 0, 0], 10, Reason::SharedAddress),
    ([127, 0, 0, 0], 8, Reason::LoopbackAddress),
    ([169, 254, 0, 0], 16, Reason::LinkLocalAddress),
    ([172, 16, 0, 0], 12, Reason::PrivateAddress),
    ([192, 0, 0, 0], 24, Reason::ReservedAddress),
    ([192, 0, 2, 0], 24, Reason::ReservedAddress),
    ([192, 88, 99, 0], 24, Reason::ReservedAddress), // the withdrawn 6to4 relays
    ([192, 168, 0, 0], 16, Reason::PrivateAddress),
    ([198, 18, 0, 0], 15, Reason::ReservedAddress),
    ([198, 51, 100, 0], 24, Reason::ReservedAddress),
    ([203, 0, 113, 0], 24, Reason::ReservedAddress),
    ([224, 0, 0, 0], 4, Reason::MulticastAddress),
    ([240, 0, 0, 0], 4, Reason::ReservedAddress),
];

fn forbidden_v4(v4: Ipv4Addr) -> Option<Reason> {
    let bits = v4.to_bits();
    V4.iter()
        .find(|(network, length, _)| (bits ^ u32::from_be_bytes(*network)) >> (32 - length) == 0)
        .map(|&(_, _, reason)| reason)
}

/// First 64 bits of the network, prefix length, reason. The first match counts.
const V6: &[(u64, u32, Reason)] = &[
    (0xfc00 << 48, 7, Reason::PrivateAddress),
    (0xfe80 << 48, 10, Reason::LinkLocalAddress),
    (0xfec0 << 48, 10, Reason::PrivateAddress), // site-local, withdrawn but still routed inside some networks
    (0xff00 << 48, 8, Reason::MulticastAddress),
    (0x2001_0db8 << 32, 32, Reason::ReservedAddress),
    (0x3fff << 48, 20, Reason::ReservedAddress), // documentation
];

fn forbidden_v6(v6: Ipv6Addr) -> Option<Reason> {
    if v6.is_unspecified() {
        return Some(Reason::UnspecifiedAddress);
    }
    if v6.is_loopback() {
        return Some(Reason::LoopbackAddress);
    }
    if let Some(reason) = embedded(v6).find_map(forbidden_v4) {
        return Some(reason);
    }
    let head = (v6.to_bits() >> 64) as u64;
    if let Some(&(_, _, reason)) = V6.iter().find(|(network, length, _)| (head ^ network) >> (64 - length) == 0) {
        return Some(reason);
    }
    (!may_be_public(v6)).then_some(Reason::ReservedAddress)
}

fn may_be_public(v6: Ipv6Addr) -> bool {
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..] => true,
        // `2001::/23` is for protocols, not hosts; Teredo (`2001:0::/32`) was judged by what it carries.
        [0x2001, second, ..] => second == 0 || second >= 0x200,
        [first, ..] => first >> 13 == 1,
    }
}

/// Every IPv4 address that a translator or tunnel could take out of this one. Teredo carries two.
fn embedded(v6: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let s = v6.segments();
    let last = Some(join(s[6], s[7]));
    let found = match s {
        // A host part of `::` or `::1` is no address: `::/96` holds both the compatible form and the two special ones.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None, None],
        // Compatible, mapped, translated, NAT64.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => [last, None],
        // The local prefix may be used whole (the address straddles the unused octet) or cut into `/96` pieces.
        // Which of the two, nobody can tell; the one that is empty is not it.
        [0x64, 0xff9b, 1, ..] => [last, Some(straddling(s))].map(|v4| v4.filter(|v4| !v4.is_unspecified())),
        [0x2002, high, low, ..] => [Some(join(high, low)), None],
        [0x2001, 0, high, low, ..] => [Some(join(!s[6], !s[7])), Some(join(high, low))],
        // ISATAP keeps it in the host part of any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => [last, None],
        _ => [None, None],
    };
    found.into_iter().flatten()
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// RFC 6052, section 2.2, prefix of 48 bits: two octets, an unused one, two octets.
fn straddling(s: [u16; 8]) -> Ipv4Addr {
    let [a, b] = s[3].to_be_bytes();
    let [_, c] = s[4].to_be_bytes();
    let [d, _] = s[5].to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}
