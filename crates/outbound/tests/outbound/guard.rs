//! Walks the tables of refused and accepted URLs, and the operator's list.

use outbound::{Policy, Reason};

use crate::{good_urls, refused_addresses, refused_urls};

fn code(policy: &Policy, url: &str) -> &'static str {
    policy.check_url(url).map_or_else(|refusal| refusal.reason.code(), |_| "accepted")
}

fn trusting(items: &[&str]) -> Policy {
    Policy::new(items).unwrap()
}

#[test]
fn every_row_of_the_tables_is_refused_for_its_own_reason() {
    let policy = trusting(&[]);
    let rows: Vec<(String, &str)> = refused_addresses::rows().into_iter().chain(refused_urls::rows()).collect();
    let wrong: Vec<_> = rows.iter().filter(|(url, expected)| code(&policy, url) != *expected).collect();
    let shown: Vec<_> = wrong.iter().map(|(url, expected)| (url, expected, code(&policy, url))).collect();
    assert!(shown.is_empty(), "url, expected, got: {shown:#?}");
    assert!(rows.len() >= 400, "only {} rows", rows.len());
    let distinct: std::collections::HashSet<_> = rows.iter().map(|(url, _)| url).collect();
    assert!(distinct.len() >= 400, "only {} different URLs", distinct.len());
}

#[test]
fn every_reason_has_a_row_and_a_sentence_of_its_own() {
    let rows: Vec<_> = refused_addresses::rows().into_iter().chain(refused_urls::rows()).collect();
    for reason in Reason::ALL {
        assert!(rows.iter().any(|(_, code)| *code == reason.code()), "no row for {reason:?}");
        let sentence = reason.to_string();
        assert!(!sentence.ends_with('.') && sentence.len() > 20, "{sentence}");
    }
}

#[test]
fn good_urls_pass_in_their_normal_spelling() {
    let policy = trusting(&[]);
    assert!(good_urls::ROWS.len() >= 40);
    for (url, base) in good_urls::ROWS {
        match policy.check_url(url) {
            Ok(checked) => assert_eq!(checked.base(), *base, "{url}"),
            Err(refusal) => panic!("{url}: {refusal}"),
        }
    }
}

#[test]
fn a_trusted_loopback_is_trusted_in_one_spelling_only() {
    let policy = trusting(&["localhost", "127.0.0.1", "::1", "host.docker.internal"]);
    for url in
        ["http://localhost:1", "http://127.0.0.1:9999/v1", "http://[::1]:80", "http://host.docker.internal:11434"]
    {
        assert_eq!(code(&policy, url), "accepted", "{url}");
    }
    for (url, expected) in refused_addresses::spellings() {
        assert_eq!(code(&policy, &url), expected, "{url}");
    }
    for (url, expected) in [
        ("http://127.0.0.2", "loopback_address"),
        ("http://[::ffff:127.0.0.1]", "loopback_address"),
        ("http://sub.localhost", "blocked_suffix"),
        ("http://localhost.", "trailing_dot"),
        ("http://ｌocalhost", "disguised_host"),
    ] {
        assert_eq!(code(&policy, url), expected, "{url}");
    }
}

#[test]
fn trust_opens_neither_metadata_nor_blocked_ports() {
    let items =
        ["169.254.169.254", "metadata", "*.google.internal", "*.default.svc", "redis", "fd00:ec2::254", "10.0.0.1"];
    let policy = trusting(&items);
    for (url, expected) in [
        ("http://169.254.169.254/latest", "metadata_address"),
        ("http://[fd00:ec2::254]", "metadata_address"),
        ("http://metadata", "metadata_host"),
        ("http://metadata.google.internal", "metadata_host"),
        ("http://kubernetes.default.svc", "metadata_host"),
        ("http://redis:6379", "blocked_port"),
        ("http://10.0.0.1:22", "blocked_port"),
        ("http://redis:8080", "accepted"),
        ("http://10.0.0.1", "accepted"),
    ] {
        assert_eq!(code(&policy, url), expected, "{url}");
    }
    assert!(policy.check_address("169.254.169.254".parse().unwrap(), true).is_err());
    assert!(policy.check_address("64:ff9b::169.254.169.254".parse().unwrap(), true).is_err());
    assert!(policy.check_address("10.1.2.3".parse().unwrap(), true).is_ok());
    assert!(policy.check_address("10.1.2.3".parse().unwrap(), false).is_err());
}

#[test]
fn a_wildcard_trusts_what_is_under_it_and_not_its_neighbours() {
    let policy = trusting(&["*.Corp.Example.internal", "xn--bcher-kva.example"]);
    for (url, expected) in [
        ("http://a.corp.example.internal", "accepted"),
        ("http://a.b.corp.example.internal", "accepted"),
        ("http://corp.example.internal", "blocked_suffix"),
        ("http://xcorp.example.internal", "blocked_suffix"),
        ("http://xn--bcher-kva.example", "accepted"),
        ("http://bücher.example", "accepted"),
        ("http://xn--bcher-kva.example.net", "punycode"),
    ] {
        assert_eq!(code(&policy, url), expected, "{url}");
    }
    assert_eq!(policy.check_url("http://bücher.example/x").unwrap().base(), "http://xn--bcher-kva.example/x");
}

#[test]
fn a_bad_item_of_the_list_is_named() {
    for item in [
        "*",
        "*.",
        "*.0.0.1",
        "*.*.com",
        "a b",
        "http://x.com",
        "x.com:80",
        "2130706433",
        "127.1",
        "x..y",
        "[::1",
        "a/b",
    ] {
        let error = Policy::new(["fine.com", item]).unwrap_err();
        assert_eq!(error.item, item);
        assert!(error.to_string().contains(item));
    }
    assert!(Policy::new("".split(',')).is_ok());
    assert!(Policy::new(" localhost , [::1],*.x ".split(',')).unwrap().is_trusted("::1"));
}

#[test]
fn the_parts_of_a_checked_url_can_be_asked_for() {
    let policy = trusting(&["::1"]);
    let checked = policy.check_url("HTTP://[0:0::1]:9999/v1/../V2//").unwrap();
    assert_eq!(checked.base(), "http://[::1]:9999/V2");
    assert_eq!(checked.origin(), "http://[::1]:9999");
    assert_eq!((checked.scheme(), checked.host().as_str(), checked.port()), ("http", "::1", 9999));
    assert_eq!(checked.path_prefix(), "/V2");
}
