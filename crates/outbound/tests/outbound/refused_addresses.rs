//! Addresses that must not be reached, in every form in which one can be written or hidden.

use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) fn rows() -> Vec<(String, &'static str)> {
    ranges().into_iter().chain(metadata()).chain(plain_v6()).chain(spellings()).collect()
}

/// First, last and one inside.
const RANGES: &[([&str; 3], &str)] = &[
    (["0.0.0.0", "0.255.255.255", "0.1.2.3"], "unspecified_address"),
    (["10.0.0.0", "10.255.255.255", "10.96.0.1"], "private_address"),
    (["100.64.0.0", "100.127.255.255", "100.99.1.2"], "shared_address"),
    (["127.0.0.0", "127.255.255.255", "127.0.0.1"], "loopback_address"),
    (["169.254.0.0", "169.254.255.255", "169.254.1.1"], "link_local_address"),
    (["172.16.0.0", "172.31.255.255", "172.17.0.1"], "private_address"),
    (["192.0.0.0", "192.0.0.255", "192.0.0.8"], "reserved_address"),
    (["192.0.2.0", "192.0.2.255", "192.0.2.1"], "reserved_address"),
    (["192.88.99.0", "192.88.99.255", "192.88.99.1"], "reserved_address"),
    (["192.168.0.0", "192.168.255.255", "192.168.1.1"], "private_address"),
    (["198.18.0.0", "198.19.255.255", "198.18.5.5"], "reserved_address"),
    (["198.51.100.0", "198.51.100.255", "198.51.100.7"], "reserved_address"),
    (["203.0.113.0", "203.0.113.255", "203.0.113.9"], "reserved_address"),
    (["224.0.0.0", "239.255.255.255", "224.0.0.251"], "multicast_address"),
    (["240.0.0.0", "255.255.255.255", "250.1.1.1"], "reserved_address"),
];

const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.169.0",
    "169.254.169.255",
    "169.254.169.123",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.42.42",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
];

fn ranges() -> Vec<(String, &'static str)> {
    let mut rows = Vec::new();
    for (addresses, code) in RANGES {
        for v4 in addresses.map(|text| text.parse::<Ipv4Addr>().unwrap()) {
            rows.push((format!("http://{v4}/"), *code));
            // The local NAT64 prefix is closed as a whole; an empty address in it is no address.
            let in_local = if v4.is_unspecified() { "reserved_address" } else { code };
            rows.extend(embeddings(v4).map(|v6| (format!("https://[{v6}]/v1"), *code)));
            rows.extend(local_nat64(v4).map(|v6| (format!("https://[{v6}]/v1"), in_local)));
        }
    }
    rows
}

fn metadata() -> Vec<(String, &'static str)> {
    let mut rows = Vec::new();
    for v4 in METADATA.iter().map(|text| text.parse::<Ipv4Addr>().unwrap()) {
        rows.push((format!("http://{v4}/latest/meta-data"), "metadata_address"));
        let hidden = embeddings(v4).into_iter().chain(local_nat64(v4));
        rows.extend(hidden.map(|v6| (format!("http://[{v6}]/"), "metadata_address")));
    }
    for v6 in ["fd00:ec2::254", "FD00:EC2:0:0:0:0:0:254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"] {
        rows.push((format!("http://[{v6}]"), "metadata_address"));
    }
    rows
}

/// Mapped, compatible, translated, 6to4, NAT64, Teredo client, Teredo server, ISATAP twice.
fn embeddings(v4: Ipv4Addr) -> [Ipv6Addr; 9] {
    let bits = v4.to_bits();
    let (high, low) = ((bits >> 16) as u16, bits as u16);
    [
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2001, 0, 0x0808, 0x0808, 0, 0xffff, !high, !low),
        Ipv6Addr::new(0x2001, 0, high, low, 0, 0xffff, !0x0808, !0x0404),
        Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0, 0x5efe, high, low),
        Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0x200, 0x5efe, high, low),
    ]
}

/// The prefix used whole, and cut into pieces of 96 bits.
fn local_nat64(v4: Ipv4Addr) -> [Ipv6Addr; 2] {
    let bits = v4.to_bits();
    let [a, b, c, d] = v4.octets().map(u16::from);
    [
        Ipv6Addr::new(0x64, 0xff9b, 1, a << 8 | b, c, d << 8, 0, 0),
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, (bits >> 16) as u16, bits as u16),
    ]
}

fn plain_v6() -> Vec<(String, &'static str)> {
    let rows = [
        ("::", "unspecified_address"),
        ("0:0:0:0:0:0:0:0", "unspecified_address"),
        ("::1", "loopback_address"),
        ("0:0:0:0:0:0:0:1", "loopback_address"),
        ("::0001", "loopback_address"),
        ("::2", "unspecified_address"),
        ("::8.8.8.8", "reserved_address"),
        ("fc00::", "private_address"),
        ("fc00::1", "private_address"),
        ("fd12:3456:789a::1", "private_address"),
        ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private_address"),
        ("FD00::ABCD", "private_address"),
        ("fe80::", "link_local_address"),
        ("fe80::1", "link_local_address"),
        ("febf:ffff::1", "link_local_address"),
        ("fec0::1", "private_address"),
        ("feff::1", "private_address"),
        ("ff00::", "multicast_address"),
        ("ff02::1", "multicast_address"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast_address"),
        ("2001:db8::", "reserved_address"),
        ("2001:db8::1", "reserved_address"),
        ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "reserved_address"),
        ("3fff::1", "reserved_address"),
        ("3fff:fff:ffff::1", "reserved_address"),
        ("100::1", "reserved_address"),
        ("5f00::1", "reserved_address"),
        ("4000::1", "reserved_address"),
        ("1fff::1", "reserved_address"),
        ("2001:2::1", "reserved_address"),
        ("2001:10::1", "reserved_address"),
        ("2001:20::1", "reserved_address"),
        ("2001:1ff::1", "reserved_address"),
        ("64:ff9b:1::1", "unspecified_address"),
        ("64:ff9b:1:808:8:800::", "reserved_address"),
        ("64:ff9b:1::808:808", "reserved_address"),
        ("64:ff9b:2::1", "reserved_address"),
        ("64:ff9b::7f00:1", "loopback_address"),
        ("::ffff:127.0.0.1", "loopback_address"),
        ("::ffff:7f00:1", "loopback_address"),
        ("0:0:0:0:0:ffff:a9fe:a9fe", "metadata_address"),
    ];
    rows.map(|(v6, code)| (format!("http://[{v6}]:8080/v1"), code)).into()
}

/// Ways to write an IPv4 address that readers understand differently; refused for public addresses too.
pub(crate) fn spellings() -> Vec<(String, &'static str)> {
    let mut rows = Vec::new();
    for v4 in ["127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "0.0.0.0", "8.8.8.8"] {
        let v4: Ipv4Addr = v4.parse().unwrap();
        let (bits, [a, b, c, d]) = (v4.to_bits(), v4.octets());
        let full_width: String = v4.to_string().chars().map(wide).collect();
        let spelled = [
            format!("{bits}"),
            format!("{bits:#x}"),
            format!("{bits:#X}"),
            format!("0x{bits:016x}"),
            format!("0{bits:o}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a:04}.{b:04}.{c:04}.{d:04}"),
            format!("{a}.{}", bits & 0x00ff_ffff),
            format!("{a}.{b}.{}", bits & 0xffff),
            format!("{a:#x}.{}", bits & 0x00ff_ffff),
            format!("0{a:o}.{b}.{c}.{d:#x}"),
            format!("{v4}."),
            format!("{bits}."),
            format!("{a}.{b}.{c}.00{d}"),
            full_width,
            format!("{a}。{b}。{c}。{d}"),
        ];
        rows.extend(spelled.map(|host| (format!("http://{host}/v1"), "noncanonical_address")));
    }
    for host in [
        "127.1",
        "0x7f.1",
        "0",
        "1",
        "0x",
        "127.0.0.1.1",
        "256.1.1.1",
        "1.2.3.4.5.6",
        "example.0x1",
        "foo.1",
        "127.0.0.0x1",
    ] {
        rows.push((format!("http://{host}/v1"), "noncanonical_address"));
    }
    rows
}

fn wide(c: char) -> char {
    c.to_digit(10).and_then(|digit| char::from_u32(0xff10 + digit)).unwrap_or(c)
}
