//! What holds for every text, not only for those somebody thought of.

use std::net::IpAddr;

use outbound::Policy;
use proptest::prelude::*;

fn holds(text: &str) {
    let policy = Policy::default();
    let Ok(checked) = policy.check_url(text) else { return };
    if let Ok(address) = checked.host().parse::<IpAddr>() {
        assert!(policy.check_address(address, false).is_ok(), "{text} leads to {address}");
    }
    let uri: http::Uri = checked.base().parse().expect("an accepted base can be called");
    assert_eq!(uri.host().map(|host| host.trim_matches(['[', ']']).to_owned()), Some(checked.host()), "{text}");
    let again = policy.check_url(checked.base()).expect("an accepted base is accepted again");
    assert_eq!(again.base(), checked.base());
    assert!(checked.base().starts_with(checked.origin()));
}

/// As the C library reads addresses: one to four numbers, decimal, octal or hexadecimal.
fn generously_an_address(host: &str) -> bool {
    let parts: Vec<_> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    let number = |part: &&str| match part.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).is_ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).is_ok(),
        None => part.parse::<u64>().is_ok(),
    };
    parts.len() <= 4 && parts.iter().all(number)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_decided_without_a_panic(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn anything_after_a_scheme_is_decided_soundly(rest in "\\PC{0,40}") {
        holds(&format!("http://{rest}"));
    }

    #[test]
    fn soups_of_url_characters_are_decided_soundly(soup in "(http|https)://[a-z0-9.:\\[\\]@%/?#x_-]{1,40}") {
        holds(&soup);
    }

    #[test]
    fn numbers_with_dots_are_decided_soundly(host in "(0x)?[0-9a-f]{1,10}(\\.(0x|0)?[0-9]{1,4}){0,4}\\.?") {
        let url = format!("http://{host}/v1");
        holds(&url);
        // Whoever reads numbers generously must not find an address in what we took for something else.
        if Policy::default().check_url(&url).is_ok() {
            prop_assert!(!generously_an_address(&host) || host.parse::<std::net::Ipv4Addr>().is_ok(), "{}", host);
        }
    }

    #[test]
    fn every_v4_address_is_judged_alike_in_all_its_embeddings(bits in any::<u32>()) {
        let policy = Policy::default();
        let v4 = std::net::Ipv4Addr::from_bits(bits);
        let plain = policy.check_address(v4.into(), false);
        let nat64: IpAddr = format!("64:ff9b::{v4}").parse().unwrap();
        prop_assert_eq!(policy.check_address(v4.to_ipv6_mapped().into(), false), plain);
        prop_assert_eq!(policy.check_address(nat64, false), plain);
    }

    #[test]
    fn v6_addresses_are_decided_soundly(bits in any::<u128>()) {
        holds(&format!("http://[{}]:8080", std::net::Ipv6Addr::from_bits(bits)));
    }
}
