//! Names that lead somewhere else than they seem to. The resolver is ours, and no packet leaves
//! the machine: what needs a public address is tried beside the connector.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbound::{Lookup, Outbound, ProxySettings, Reason, Resolve, SendError, Settings};
use tokio::io::AsyncWriteExt;

use crate::scene::{get, read_head, text, trusting, upstream};

/// Gives one prepared answer per look-up and remembers what it was asked.
#[derive(Default)]
struct Prepared {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Prepared {
    fn new(answers: &[&[&str]]) -> Arc<Prepared> {
        let answers = answers.iter().map(|set| set.iter().map(|text| text.parse().unwrap()).collect()).collect();
        Arc::new(Prepared { answers: Mutex::new(answers), asked: Mutex::default() })
    }
}

impl Resolve for Prepared {
    fn resolve<'a>(&'a self, host: &'a str, _: u16) -> Lookup<'a> {
        self.asked.lock().unwrap().push(host.to_owned());
        let found = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            let found = found.ok_or_else(|| std::io::Error::other("no such name"))?;
            // The port is wrong on purpose: a resolver has no say in it.
            Ok(found.into_iter().map(|address| SocketAddr::new(address, 22)).collect())
        })
    }
}

fn door(dns: &Arc<Prepared>, trusted: &[&str]) -> Outbound {
    let settings = Settings { connect_timeout: Duration::from_millis(300), ..Settings::default() };
    Outbound::with_resolver(trusting(trusted), settings, dns.clone()).unwrap()
}

fn reason(error: SendError) -> Reason {
    match error {
        SendError::Refused(refusal) => refusal.reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_name_that_leads_to_loopback_is_refused() {
    let dns = Prepared::new(&[&["127.0.0.1"]]);
    let error = door(&dns, &[]).send(get("http://rebind.example.com:8080/")).await.unwrap_err();
    assert_eq!(reason(error), Reason::LoopbackAddress);
}

#[tokio::test]
async fn one_bad_address_among_good_ones_refuses_the_name() {
    for (answers, expected) in [
        (["192.0.43.8", "10.0.0.1"], Reason::PrivateAddress),
        (["10.0.0.1", "192.0.43.8"], Reason::PrivateAddress),
        (["192.0.43.8", "169.254.169.254"], Reason::MetadataAddress),
        (["2606:4700::1111", "::ffff:127.0.0.1"], Reason::LoopbackAddress),
        (["2606:4700::1111", "64:ff9b::10.0.0.1"], Reason::PrivateAddress),
    ] {
        let dns = Prepared::new(&[&answers]);
        let error = door(&dns, &[]).send(get("https://mixed.example.com/")).await.unwrap_err();
        assert_eq!(reason(error), expected, "{answers:?}");
    }
}

#[tokio::test]
async fn a_trusted_name_may_lead_inside_but_not_to_metadata() {
    let dns = Prepared::new(&[&["127.0.0.1", "169.254.169.254"]]);
    let error = door(&dns, &["*.example.com"]).send(get("http://up.example.com:8080/")).await.unwrap_err();
    assert_eq!(reason(error), Reason::MetadataAddress);
}

#[tokio::test]
async fn the_peer_is_a_checked_address_and_the_next_is_tried_when_one_is_dead() {
    let address = upstream(|mut stream| async move {
        let head = read_head(&mut stream).await;
        assert!(head.contains("host: up.example.com:"), "{head}");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    })
    .await;
    // Nobody listens on the first; the upstream is bound to the second only.
    let dns = Prepared::new(&[&["127.0.0.2", "127.0.0.1"]]);
    let door = door(&dns, &["up.example.com"]);
    let answer = door.send(get(format!("http://up.example.com:{}/", address.port()))).await.unwrap();
    assert_eq!(text(answer.into_body()).await, "ok");
    assert_eq!(*dns.asked.lock().unwrap(), ["up.example.com"]);
}

#[tokio::test]
async fn behind_a_proxy_a_name_is_checked_as_far_as_it_resolves_here() {
    let proxy = upstream(|mut stream| async move {
        assert!(read_head(&mut stream).await.starts_with("GET http://"));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    })
    .await;
    let dns = Prepared::new(&[&["10.0.0.1"], &["192.0.43.8"]]);
    let proxy = ProxySettings { http: Some(format!("http://{proxy}")), ..ProxySettings::default() };
    let settings = Settings { proxy, ..Settings::default() };
    let door = Outbound::with_resolver(trusting(&[]), settings, dns.clone()).unwrap();
    let error = door.send(get("http://inside.example.com/")).await.unwrap_err();
    assert_eq!(reason(error), Reason::PrivateAddress);
    for url in ["http://public.example.com/", "http://only-the-proxy-knows.example.com/"] {
        assert_eq!(text(door.send(get(url)).await.unwrap().into_body()).await, "ok", "{url}");
    }
    assert_eq!(dns.asked.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_name_without_address_is_not_found() {
    let dns = Prepared::new(&[&[]]);
    let door = door(&dns, &[]);
    for _ in ["an empty answer", "no answer"] {
        let error = door.send(get("http://nobody.example.com/")).await.unwrap_err();
        assert!(matches!(error, SendError::Connect { code: "ENOTFOUND", .. }), "{error:?}");
    }
}

#[tokio::test]
async fn literals_are_not_looked_up() {
    let dns = Prepared::new(&[]);
    let error = door(&dns, &[]).send(get("http://127.0.0.1:8080/")).await.unwrap_err();
    assert_eq!(reason(error), Reason::LoopbackAddress);
    assert!(dns.asked.lock().unwrap().is_empty());
}
