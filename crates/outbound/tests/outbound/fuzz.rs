//! The guard against spellings nobody thought of: whatever is accepted is read again by others, and none of them may find
//! a private or a metadata address in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fuzz::{Corpus, Failure};
use outbound::Policy;

use crate::{good_urls, refused_addresses, refused_urls};

const WORDS: &[&str] = &[
    "http://",
    "https://",
    "HTTP://",
    "//",
    "/",
    "\\",
    "@",
    ":",
    ":80",
    ":0",
    "?",
    "#",
    ".",
    "..",
    "%",
    "%2e",
    "%00",
    "[",
    "]",
    "::",
    "::1",
    "::ffff:",
    "64:ff9b::",
    "2002:",
    "fe80::",
    "fd00:ec2::254",
    "0x",
    "0177",
    "127.0.0.1",
    "2130706433",
    "10.0.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "localhost",
    ".localhost",
    ".internal",
    ".nip.io",
    "metadata.google.internal",
    "xn--",
    "。",
    "．",
    "１",
    "ⓔ",
    "\u{ad}",
    "\u{200b}",
    "\t",
    " ",
    "\0",
    "example.com",
    "a.",
    "-",
    "_",
];

#[test]
fn an_accepted_spelling_never_leads_inside() -> Result<(), Failure> {
    let refused = refused_addresses::rows().into_iter().chain(refused_urls::rows()).map(|(url, _)| url);
    let known: Vec<String> = refused.chain(good_urls::ROWS.iter().map(|(url, _)| (*url).to_owned())).collect();
    let seeds: Vec<&[u8]> = known.iter().filter(|url| url.len() < 300).map(|url| url.as_bytes()).collect();
    let (closed, open) = (Policy::default(), Policy::new(["localhost", "127.0.0.1", "*.corp.example"]).unwrap());
    fuzz::run(&Corpus { name: "guard", seeds: &seeds, words: WORDS, longest: 300, tries: 5000 }, |input| {
        let text = String::from_utf8_lossy(input);
        for text in [text.clone().into_owned(), format!("http://{text}")] {
            accepted_leads_outside(&closed, &text);
            if let Ok(checked) = open.check_url(&text) {
                let address = read_generously(&checked.host());
                assert!(!address.is_some_and(is_metadata), "trust opened {text}");
            }
        }
    })
}

fn accepted_leads_outside(policy: &Policy, text: &str) {
    let Ok(checked) = policy.check_url(text) else { return };
    let host = checked.host();
    if let Some(address) = read_generously(&host) {
        assert_eq!(host.parse::<IpAddr>().ok(), Some(address), "{text}: two readings of {host}");
        assert!(!is_inside(address) && !is_metadata(address), "{text} leads to {address}");
    } else {
        let ends = [".local", ".localhost", ".internal", ".nip.io", ".sslip.io", ".svc"];
        assert!(host.contains('.') && !host.ends_with('.'), "{text}: {host}");
        assert!(host.is_ascii() && host == host.to_ascii_lowercase(), "{text}: {host}");
        assert!(!ends.iter().any(|end| host.ends_with(end)), "{text}: {host}");
    }
    // The client and a browser's reader see the same host in what will be called.
    let uri: http::Uri = checked.base().parse().expect("an accepted base can be called");
    assert_eq!(uri.host().map(|host| host.trim_matches(['[', ']'])), Some(host.as_str()), "{text}");
    let url = url::Url::parse(checked.base()).expect("an accepted base is a URL");
    match url.host() {
        Some(url::Host::Domain(name)) => assert_eq!(name, host, "{text}"),
        Some(url::Host::Ipv4(v4)) => assert_eq!(host.parse(), Ok(v4), "{text}"),
        Some(url::Host::Ipv6(v6)) => assert_eq!(host.parse(), Ok(v6), "{text}"),
        None => panic!("{text} has no host"),
    }
    assert_eq!(policy.check_url(checked.base()).as_ref().map(|again| again.base()), Ok(checked.base()), "{text}");
}

/// As the most forgiving of C libraries would: one to four numbers, decimal, octal or hexadecimal, the last one filling up.
fn read_generously(host: &str) -> Option<IpAddr> {
    if let Ok(v6) = host.parse::<Ipv6Addr>() {
        return Some(v6.into());
    }
    let parts: Vec<&str> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    let number = |part: &&str| match part.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok().or(hex.is_empty().then_some(0)),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let numbers: Vec<u32> = parts.iter().map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) || u64::from(*last) >> (8 * (4 - first.len())) != 0 {
        return None;
    }
    let high = first.iter().enumerate().fold(0, |bits, (at, number)| bits | number << (24 - 8 * at));
    Some(Ipv4Addr::from_bits(high | last).into())
}

fn is_metadata(address: IpAddr) -> bool {
    let known = ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"];
    let within = |v4: Ipv4Addr| known.contains(&v4.to_string().as_str());
    known.contains(&address.to_string().as_str()) || carried(address).is_some_and(within)
}

/// By the standard library's own notions, and a few that it keeps to itself.
fn is_inside(address: IpAddr) -> bool {
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => carried(address),
    };
    let v4_inside = v4.is_some_and(|v4| {
        let [a, b, ..] = v4.octets();
        v4.is_private()
            || v4.is_loopback()
            || v4.is_link_local()
            || v4.is_unspecified()
            || v4.is_broadcast()
            || v4.is_multicast()
            || v4.is_documentation()
            || a == 0
            || a >= 240
            || (a == 100 && (64..128).contains(&b))
            || (a == 198 && (18..20).contains(&b))
    });
    let v6_inside = matches!(address, IpAddr::V6(v6) if v6.is_loopback()
        || v6.is_unspecified()
        || v6.is_multicast()
        || v6.is_unique_local()
        || v6.is_unicast_link_local());
    v4_inside || v6_inside
}

/// The IPv4 address that a tunnel or translator would take out of it.
fn carried(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    let bytes = v6.octets();
    let at = |place: usize| <[u8; 4]>::try_from(&bytes[place..place + 4]).ok().map(Ipv4Addr::from);
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => at(12),
        [0x2002, ..] => at(2),
        _ => None,
    }
}
