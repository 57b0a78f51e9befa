//! `gatehouse keys` beside a running server: what is made works, what is revoked ends, and nothing shows a key twice.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::eventually;
use crate::support::process::{IN_THE_FOLDER, run};
use crate::support::server::Server;

/// The promise is two seconds; a loaded machine gets five.
const NOTICED: Duration = Duration::from_secs(5);

async fn status(server: &Server, key: &str) -> u16 {
    server.chat("echo", "x").header("x-gateway-api-key", key).send().await.status
}

/// Waits until the key is answered with this status, and tells how long it took.
async fn until(server: &Server, key: &str, wanted: u16) -> Duration {
    let start = Instant::now();
    eventually(&format!("the key is answered with {wanted}"), NOTICED, async || {
        (status(server, key).await == wanted).then_some(())
    })
    .await;
    start.elapsed()
}

#[tokio::test]
async fn a_key_works_soon_after_it_is_made_and_ends_soon_after_it_is_revoked() {
    let server = Server::start().await;
    let key = server.run(&["keys", "create", "--name", "ci"]).await.well().stdout.trim().to_owned();
    assert!(key.starts_with("ghk_ws_"), "only the key is printed: {key}");
    let made = until(&server, &key, 200).await;

    let revoked = server.run(&["keys", "revoke", "ci"]).await.well();
    assert!(revoked.stdout.starts_with("Revoked the key "), "{revoked:?}");
    let ended = until(&server, &key, 401).await;
    println!("a new key was noticed after {made:?}, a revoked one after {ended:?}");
    assert_eq!(status(&server, &server.workspace_key()).await, 200, "others go on");
    let again = server.run(&["keys", "revoke", "ci"]).await.well();
    assert!(again.stdout.contains("was revoked before"), "{again:?}");
}

#[tokio::test]
async fn a_list_shows_masks_and_never_keys() {
    let server = Server::start().await;
    let made = server.run(&["keys", "create", "--name", "for the list", "--json"]).await.well().stdout;
    let made: Value = serde_json::from_str(&made).unwrap();
    let key = made["key"].as_str().unwrap();
    server.run(&["keys", "create", "--name", "gone"]).await.well();
    server.run(&["keys", "revoke", "gone"]).await.well();

    let table = server.run(&["keys", "list"]).await.well().stdout;
    assert!(table.contains("for the list") && table.contains(made["id"].as_str().unwrap()), "{table}");
    assert!(!table.contains("gone"), "{table}");
    let all = server.run(&["keys", "list", "--all"]).await.well().stdout;
    assert!(all.contains("gone") && all.contains("revoked"), "{all}");
    let json = server.run(&["keys", "list", "--json"]).await.well().stdout;
    let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(rows.len(), 3, "admin, workspace and ours: {json}");
    for shown in [&table, &all, &json] {
        for secret in [key, &server.workspace_key(), &server.admin_key()] {
            assert!(!shown.contains(secret), "{shown}");
            assert!(!shown.contains(&secret[8..secret.len() - 6]), "{shown}");
        }
    }
    let row = rows.iter().find(|row| row["name"] == "for the list").unwrap();
    assert!(row["key"].as_str().is_some_and(|mask| mask.contains("***") || mask.contains('…')), "{row}");
    assert_eq!((row["status"].as_str(), row["kind"].as_str()), (Some("active"), Some("workspace-service")));
}

#[tokio::test]
async fn a_key_may_do_what_its_scopes_say() {
    let server = Server::start().await;
    let make = async |arguments: &[&str]| {
        let made = server.run(&[&["keys", "create"], arguments].concat()).await.well();
        made.stdout.trim().to_owned()
    };
    let models = make(&["--name", "lists", "--scopes", "models.list"]).await;
    let writes = make(&["--name", "writes", "--scopes", "completions.write"]).await;
    let user = make(&["--name", "user", "--kind", "user"]).await;
    let admin = make(&["--name", "admin", "--kind", "admin"]).await;
    until(&server, &writes, 200).await;
    until(&server, &user, 200).await;
    until(&server, &admin, 403).await;
    until(&server, &models, 403).await;
    let call = server.chat("echo", "x").header("x-gateway-api-key", &models).send().await;
    call.refused(403, "033", "`completions.write`");
    let list = |key: &str| {
        server.call("GET", "/v1/models").header("x-gateway-provider", "mock").header("x-gateway-api-key", key)
    };
    assert_eq!(list(&models).send().await.status, 200);
    assert_eq!(list(&writes).send().await.status, 200);
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let server = Server::start().await;
    // The server's own clock, from a key that was just made.
    let now: Value = serde_json::from_str(&server.run(&["keys", "create", "--json"]).await.well().stdout).unwrap();
    let now = chrono::DateTime::parse_from_rfc3339(now["created_at"].as_str().unwrap()).unwrap();
    let end = (now + Duration::from_secs(4)).to_rfc3339();
    let key =
        server.run(&["keys", "create", "--name", "short", "--expires", &end]).await.well().stdout.trim().to_owned();
    until(&server, &key, 200).await;
    until(&server, &key, 401).await;
    let answer = server.chat("echo", "x").header("x-gateway-api-key", &key).send().await;
    let body = answer.refused(401, "01", "Gateway API Key Expired");
    assert_eq!(body["message"], "Gateway Error: Gateway API Key Expired. Error Code: 01");
    let list = server.run(&["keys", "list"]).await.well().stdout;
    assert!(list.lines().any(|line| line.contains("short") && line.contains("expired")), "{list}");
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_with_its_remedy() {
    let server = Server::start().await;
    for (arguments, code, part) in [
        (vec!["keys", "create", "--scopes", "completions"], 1, "`completions.write`"),
        (vec!["keys", "create", "--scopes", "nonsense.write"], 1, "there is no scope `nonsense.write`"),
        (vec!["keys", "create", "--kind", "admin", "--scopes", "completions.write"], 1, "cannot hold"),
        (vec!["keys", "create", "--kind", "admin", "--workspace", "x"], 1, "leave `--workspace` out"),
        (vec!["keys", "create", "--workspace", "nowhere"], 1, "there is no workspace `nowhere`"),
        (vec!["keys", "create", "--expires", "soon"], 1, "`90d`"),
        (vec!["keys", "create", "--expires", "2001-01-01"], 1, "in the past"),
        (vec!["keys", "create", "--kind", "emperor"], 2, "workspace"),
        (vec!["keys", "revoke", "nobody"], 1, "`gatehouse keys list`"),
        (vec!["keys", "revoke"], 2, "<KEY>"),
        (vec!["keys"], 2, "create"),
    ] {
        let ran = server.run(&arguments).await;
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(part) && ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
    }
    let by_key = server.run(&["keys", "revoke", &server.workspace_key()]).await;
    assert_eq!(by_key.code, Some(1));
    assert!(!by_key.stderr.contains(&server.workspace_key()), "{by_key:?}");
}

#[tokio::test]
async fn two_keys_of_one_name_are_revoked_by_id() {
    let server = Server::start().await;
    let make = async || {
        let made = server.run(&["keys", "create", "--name", "twin", "--json"]).await.well().stdout;
        serde_json::from_str::<Value>(&made).unwrap()
    };
    let (one, other) = (make().await, make().await);
    let refused = server.run(&["keys", "revoke", "twin"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("2 keys") && refused.stderr.contains("id"), "{refused:?}");
    server.run(&["keys", "revoke", one["id"].as_str().unwrap()]).await.well();
    until(&server, other["key"].as_str().unwrap(), 200).await;
    until(&server, one["key"].as_str().unwrap(), 401).await;
}

#[tokio::test]
async fn a_folder_without_data_gives_the_remedy() {
    let own = tempfile::tempdir().unwrap();
    for folder in [own.path().to_path_buf(), own.path().join("nowhere")] {
        for command in [&["keys", "list"][..], &["keys", "create"], &["keys", "revoke", "x"]] {
            let ran = run(&[command, &["--data", folder.to_str().unwrap()]].concat(), &[IN_THE_FOLDER]).await;
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(ran.stderr.contains("`--data DIR`") && ran.stderr.contains("gatehouse serve"), "{ran:?}");
            assert!(ran.stdout.is_empty(), "{ran:?}");
        }
    }
    assert_eq!(std::fs::read_dir(own.path()).unwrap().count(), 0, "nothing was made");
}

#[tokio::test]
async fn a_key_made_while_no_server_runs_works_at_the_next_start() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    drop(Server::on(&folder, &[]).await);
    let made = run(&["keys", "create", "--data", folder.to_str().unwrap()], &[]).await.well();
    let server = Server::on(&folder, &[]).await;
    assert_eq!(status(&server, made.stdout.trim()).await, 200);
}
