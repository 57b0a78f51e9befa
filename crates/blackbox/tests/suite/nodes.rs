//! Several nodes on one PostgreSQL, and the ways to reach it.

use std::time::Duration;

use tempfile::TempDir;

use crate::support::line::Line;
use crate::support::process::{Ran, database_of, given, run};
use crate::support::server::Server;
use crate::support::{PATIENCE, eventually};

/// The promise is two seconds; a loaded machine gets five.
const NOTICED: Duration = Duration::from_secs(5);
const MASTER: (&str, &str) = ("MASTER_KEY", "one-master-key-for-all-nodes-of-this-house");

/// A database of its own, and folders for nodes.
struct House {
    own: TempDir,
    address: String,
}

impl House {
    fn new() -> House {
        let own = tempfile::tempdir().expect("a folder");
        let address = database_of(own.path());
        House { own, address }
    }

    async fn node(&self, name: &str) -> Server {
        Server::on(&self.own.path().join(name), &[("DATABASE_URL", &self.address), MASTER]).await
    }
}

async fn status(server: &Server, key: &str) -> u16 {
    let call = server.bare("POST", "/v1/chat/completions").header("x-gateway-provider", "mock").chat("echo", "x");
    call.header("x-gateway-api-key", key).send().await.status
}

#[tokio::test]
async fn a_key_made_on_one_node_works_on_the_other_and_dies_there_when_it_is_revoked() {
    let house = House::new();
    let (one, other) = (house.node("one").await, house.node("other").await);
    let key = one.run(&["keys", "create", "--name", "shared"]).await.well().stdout.trim().to_owned();
    for node in [&one, &other] {
        eventually("the key is known", NOTICED, async || (status(node, &key).await == 200).then_some(())).await;
    }
    other.run(&["keys", "revoke", "shared"]).await.well();
    for node in [&one, &other] {
        eventually("the key is dead", NOTICED, async || (status(node, &key).await == 401).then_some(())).await;
    }
}

#[tokio::test]
async fn nodes_that_start_together_are_one_house() {
    let house = House::new();
    let (one, two, three) = tokio::join!(house.node("one"), house.node("two"), house.node("three"));
    let nodes = [one, two, three];
    let first: Vec<&Server> = nodes.iter().filter(|node| node.folder().join("first-keys/workspace").exists()).collect();
    assert_eq!(first.len(), 1, "one of them was first and has the keys");
    let key = first[0].workspace_key();
    for node in &nodes {
        eventually("the first key works everywhere", NOTICED, async || (status(node, &key).await == 200).then_some(()))
            .await;
    }
    let listed = nodes[0].run(&["keys", "list", "--json"]).await.well().stdout;
    assert_eq!(listed.matches("First workspace key").count(), 1, "{listed}");
}

#[tokio::test]
async fn a_node_with_another_master_key_does_not_start() {
    let house = House::new();
    let _one = house.node("one").await;
    let folder = house.own.path().join("two");
    let settings = [("DATABASE_URL", house.address.as_str())];
    let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder.to_str().unwrap()], &settings).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("set MASTER_KEY"), "{ran:?}");
    let other = [settings[0], ("MASTER_KEY", "a-master-key-that-belongs-to-another-house")];
    let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder.to_str().unwrap()], &other).await;
    assert!(ran.stderr.contains("is not the one this data was sealed with"), "{ran:?}");
}

#[tokio::test]
async fn the_tables_are_brought_up_to_date_by_command_and_a_check_changes_nothing() {
    let house = House::new();
    let folder = house.own.path().join("one");
    let data = folder.to_str().unwrap();
    let settings = [("DATABASE_URL", house.address.as_str()), MASTER];
    let check = run(&["check", "--listen", "127.0.0.1:0", "--data", data], &settings).await.well();
    assert!(check.stdout.contains("PostgreSQL: empty; the first start fills it"), "{check:?}");
    let migrate = async || run(&["migrate", "--data", data], &settings).await.well().stdout;
    assert!(migrate().await.contains("from step 0 to step"), "the check had made no table");
    assert!(migrate().await.contains("up to date"));
    house.node("one").await.chat("echo", "x").send().await.well();
}

/// Reaches the database that lets in only those who come with TLS.
async fn reach(host: &str, mode: &str, ca: &str) -> Ran {
    let own = tempfile::tempdir().expect("a folder");
    let url = given("TEST_DATABASE_TLS_URL").expect("TEST_DATABASE_TLS_URL is set by `cargo xtask test`");
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
    let mut settings = vec![
        ("DB_HOST", host),
        ("DB_PORT", port),
        ("DB_USER", "tlsonly"),
        ("DB_NAME", "tls"),
        ("DB_SSL", mode),
        ("DATABASE_URL", ""),
    ];
    let ca = if ca.is_empty() { None } else { given(ca) };
    if let Some(ca) = &ca {
        settings.push(("DB_SSL_CA", ca));
    }
    run(&["migrate", "--data", own.path().join("data").to_str().expect("a path")], &settings).await
}

#[tokio::test]
async fn each_tls_mode_believes_what_it_should_and_no_more() {
    const OURS: &str = "TEST_DATABASE_CA";
    const OTHER: &str = "TEST_DATABASE_OTHER_CA";
    // The certificate is for `localhost`; 127.0.0.1 is the same machine under a name it does not have.
    for (mode, host, ca, reached) in [
        ("DISABLED", "localhost", "", false),
        ("PREFERRED", "localhost", "", true),
        ("PREFERRED", "127.0.0.1", OTHER, true),
        ("REQUIRED", "localhost", "", true),
        ("REQUIRED", "127.0.0.1", "", true),
        ("VERIFY_CA", "localhost", OURS, true),
        ("VERIFY_CA", "127.0.0.1", OURS, true),
        ("VERIFY_CA", "localhost", OTHER, false),
        ("VERIFY_IDENTITY", "localhost", OURS, true),
        ("VERIFY_IDENTITY", "127.0.0.1", OURS, false),
        ("VERIFY_IDENTITY", "localhost", OTHER, false),
    ] {
        let ran = reach(host, mode, ca).await;
        assert_eq!(ran.code == Some(0), reached, "{mode} {host} {ca}: {ran:?}");
        if !reached {
            assert!(ran.stderr.contains("the database cannot be opened"), "{ran:?}");
        }
    }
}

#[tokio::test]
async fn an_authority_may_be_given_as_text() {
    let file = given("TEST_DATABASE_CA").expect("set by the test run");
    let pem = std::fs::read_to_string(file).unwrap();
    let own = tempfile::tempdir().unwrap();
    let url = given("TEST_DATABASE_TLS_URL").expect("set by the test run");
    let settings = [("DATABASE_URL", url.as_str()), ("DB_SSL", "VERIFY_IDENTITY"), ("DB_SSL_CA", &pem)];
    run(&["migrate", "--data", own.path().join("data").to_str().unwrap()], &settings).await.well();
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_told_without_its_password() {
    let own = tempfile::tempdir().unwrap();
    let data = own.path().join("data");
    for url in ["postgres://u:canary@127.0.0.1:1/d", "postgres://u:canary@nowhere.invalid/d", "mysql://u:canary@h/d"] {
        let ran =
            run(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], &[("DATABASE_URL", url)])
                .await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("DATABASE_URL"), "{ran:?}");
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
}

#[tokio::test]
async fn without_the_database_known_keys_go_on_for_a_time_and_all_heals_by_itself() {
    let house = House::new();
    let (before, rest) = house.address.split_once('@').unwrap();
    let (server, rest) = rest.split_once('/').unwrap();
    let line = Line::to(server).await;
    let through = format!("{before}@{}/{rest}", line.address);
    let folder = house.own.path().join("one");
    let settings = [("DATABASE_URL", through.as_str()), MASTER, ("STALE_KEYS_SECONDS", "12")];
    let node = Server::on(&folder, &settings).await;
    let key = node.workspace_key();
    let ready = async || node.bare("GET", "/ready").send().await;
    assert_eq!(status(&node, &key).await, 200);

    line.faults("PUT", "?mode=refuse&cut_after=0").await.well();
    eventually("the node says that the store is away", PATIENCE, async || {
        assert_eq!(status(&node, &key).await, 200, "a known key goes on");
        (ready().await.json()["settings_store"] == "away; known keys go on").then_some(())
    })
    .await;
    assert_eq!(status(&node, "a-key-that-nobody-knows").await, 401);
    let metrics = node.bare("GET", "/metrics").send().await.well().text();
    assert!(metrics.contains("gatehouse_settings_store_away 1"), "{metrics}");
    eventually("the bound is kept", PATIENCE, async || (status(&node, &key).await == 503).then_some(())).await;
    assert_eq!(ready().await.status, 503);
    let admin = node.bare("GET", "/v1/configs").header("x-gateway-api-key", &node.admin_key()).send().await;
    assert_eq!(admin.status, 503, "the Admin API keeps the same bound: {}", admin.text());

    line.faults("DELETE", "").await.well();
    eventually("it heals", PATIENCE, async || (status(&node, &key).await == 200).then_some(())).await;
    let fresh = node.run(&["keys", "create"]).await.well().stdout.trim().to_owned();
    eventually("and hears of changes again", NOTICED, async || (status(&node, &fresh).await == 200).then_some(()))
        .await;
    assert_eq!(ready().await.well().json()["settings_store"], "ok");
}
