//! Starts that cannot succeed end at once, with a sentence that names the remedy.

use crate::support::process::{IN_THE_FOLDER, Ran, run};
use crate::support::server::Server;

/// A start that must fail with this part in its message.
#[track_caller]
fn failed(ran: &Ran, parts: &[&str]) {
    assert!(ran.code.is_some_and(|code| code != 0), "it should not start: {ran:?}");
    for part in parts {
        assert!(ran.stderr.contains(part), "`{part}` is not told: {}", ran.stderr);
    }
    for word in ["panicked", "RUST_BACKTRACE", "unwrap", "stack backtrace"] {
        assert!(!ran.stderr.contains(word), "{}", ran.stderr);
    }
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
}

async fn serve(arguments: &[&str], settings: &[(&str, &str)]) -> (Ran, tempfile::TempDir) {
    let own = tempfile::tempdir().expect("a folder");
    let data = own.path().join("data");
    let data = data.to_str().expect("UTF-8");
    let ran = run(&[&["serve", "--listen", "127.0.0.1:0", "--data", data], arguments].concat(), settings).await;
    (ran, own)
}

#[tokio::test]
async fn a_busy_port_is_named_and_leaves_no_trace() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap();
    let own = tempfile::tempdir().unwrap();
    let data = own.path().join("data");
    let ran = run(&["serve", "--listen", &address.to_string(), "--data", data.to_str().unwrap()], &[]).await;
    failed(&ran, &[&format!("port {} is in use", address.port()), "--listen"]);
    assert!(!data.exists(), "nothing was made");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    for data in ["/proc/nope".to_owned(), file.join("data").to_str().unwrap().to_owned()] {
        let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", &data], &[]).await;
        failed(&ran, &[&data, "`--data DIR`"]);
    }
}

/// Contents of a settings file, and what is told.
const FILES: &[(&str, &[&str])] = &[
    ("[server]\nlisten_on = \"x\"\n", &["`server.listen_on`"]),
    ("[server]\nlisen = \"127.0.0.1:0\"\n", &["`server.lisen`", "did you mean `server.listen`?"]),
    ("[lmits]\njson_mb = 1\n", &["`lmits.json_mb`", "did you mean `limits.json_mb`?"]),
    ("colour = \"red\"\n", &["`colour`", "config.default.toml"]),
    ("[limits]\njson_mb = \"many\"\n", &["`limits.json_mb`", "integer", "string"]),
    ("[limits]\njson_mb = 0\n", &["`limits.json_mb`", "positive"]),
    ("[limits]\njson_mb = -1\n", &["`limits.json_mb`"]),
    ("[server]\nenvironment = \"staging\"\n", &["`server.environment`"]),
    ("[server\n", &["line 1"]),
    ("[server]\n\nlisten = \n", &["line 3"]),
];

#[tokio::test]
async fn every_bad_settings_file_is_refused_with_its_place() {
    for (text, parts) in FILES {
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("own.toml");
        std::fs::write(&file, text).unwrap();
        let (ran, _own) = serve(&["--config", file.to_str().unwrap()], &[]).await;
        failed(&ran, parts);
        let beside = tempfile::tempdir().unwrap();
        std::fs::write(beside.path().join("gatehouse.toml"), text).unwrap();
        let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", beside.path().to_str().unwrap()], &[]).await;
        failed(&ran, parts);
    }
}

#[tokio::test]
async fn a_settings_file_that_is_named_must_be_there() {
    let (ran, _own) = serve(&["--config", "/proc/nope.toml"], &[]).await;
    failed(&ran, &["/proc/nope.toml"]);
}

#[tokio::test]
async fn every_bad_value_in_the_environment_is_refused_by_its_name() {
    for (name, value, part) in [
        ("PORT", "eighty", "a whole number"),
        ("MAX_BODY_BYTES", "-1", "a whole number"),
        ("MAX_BODY_BYTES", "0", "positive"),
        ("MAX_HEADER_BYTES", "100", "8192"),
        ("REQUEST_TIMEOUT", "soon", "a whole number"),
        ("ENABLE_PROMETHEUS", "perhaps", "`true` or `false`"),
        ("LOG_LEVEL", "lo=ud=er", "`info`"),
        ("LOG_FORMAT", "xml", "LOG_FORMAT"),
        ("ENVIRONMENT", "staging", "ENVIRONMENT"),
        ("HEADER_PREFIXES", "no good-", "prefixes"),
        ("HEADER_PREFIXES", "x-gateway", "prefixes"),
        ("TRUSTED_CUSTOM_HOSTS", "http://a/b?c", "TRUSTED_CUSTOM_HOSTS"),
        ("HTTPS_PROXY", "not a proxy", "proxy"),
        ("OUTBOUND_CA", "/proc/nope.pem", "/proc/nope.pem"),
        ("MASTER_KEY", "too short", "MASTER_KEY"),
        ("DATABASE_URL", "postgres://user:canary@host/db", "DATABASE_URL"),
        ("CORS_ALLOWED_ORIGINS", "https://a\u{7f}", "cors"),
    ] {
        let (ran, _own) = serve(&[], &[(name, value)]).await;
        failed(&ran, &[part]);
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
    let own = tempfile::tempdir().unwrap();
    let ran = run(&["serve", "--data", own.path().to_str().unwrap()], &[("LISTEN", "everywhere")]).await;
    failed(&ran, &["`everywhere`", "127.0.0.1:8787"]);
    let ran = run(&["serve", "--data", own.path().to_str().unwrap()], &[("PORT", "70000")]).await;
    failed(&ran, &["`server.port` (from PORT)"]);
}

#[tokio::test]
async fn unknown_flags_commands_and_settings_are_refused() {
    for (arguments, part) in [
        (vec!["--wrong"], "--wrong"),
        (vec!["--set", "log.level"], "KEY=VALUE"),
        (vec!["--set", "log.levle=info"], "`log.level`"),
        (vec!["--set", "limits.json_mb=many"], "a whole number"),
    ] {
        let (ran, _own) = serve(&arguments, &[]).await;
        failed(&ran, &[part]);
    }
    failed(&run(&["server"], &[]).await, &["server"]);
}

#[tokio::test]
async fn without_a_place_for_data_the_remedy_is_told() {
    failed(&run(&["serve", "--listen", "127.0.0.1:0"], &[]).await, &["HOME", "`--data DIR`"]);
}

#[tokio::test]
async fn two_servers_cannot_share_a_folder() {
    let server = Server::start().await;
    let second = server.run(&["serve", "--listen", "127.0.0.1:0"]).await;
    failed(&second, &["another gatehouse serves", "`--data DIR`"]);
    server.chat("echo", "the first goes on").send().await.well();
}

#[tokio::test]
async fn a_master_key_that_does_not_fit_is_refused() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    let data = folder.to_str().unwrap();
    drop(Server::on(&folder, &[]).await);
    let other = "another-master-key-of-more-than-32-characters";
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data];
    let ran = run(&arguments, &[("MASTER_KEY", other)]).await;
    failed(&ran, &["MASTER_KEY", "is not the one this data was sealed with"]);
    assert!(!ran.stderr.contains(other));

    let kept = std::fs::read_to_string(folder.join("master.key")).unwrap();
    std::fs::remove_file(folder.join("master.key")).unwrap();
    failed(&run(&arguments, &[]).await, &["master.key", "restore it from your backup", "MASTER_KEY"]);
    assert!(!folder.join("master.key").exists(), "no new key is made over old data");
    let made = run(&["keys", "create", "--data", data], &[]).await;
    failed(&made, &["master.key"]);

    std::fs::write(folder.join("master.key"), "damaged").unwrap();
    failed(&run(&arguments, &[]).await, &["master.key"]);
    let with_env = Server::on(&folder, &[("MASTER_KEY", kept.trim())]).await;
    with_env.chat("echo", "x").send().await.well();
}

#[tokio::test]
async fn damaged_data_is_refused_and_not_overwritten() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("settings.db"), "this is no database, and somebody may still need it".repeat(100))
        .unwrap();
    let before = std::fs::read(folder.join("settings.db")).unwrap();
    let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder.to_str().unwrap()], &[IN_THE_FOLDER]).await;
    failed(&ran, &["settings.db"]);
    assert_eq!(std::fs::read(folder.join("settings.db")).unwrap(), before);
}

#[tokio::test]
async fn check_says_ok_and_what_differs_from_the_defaults() {
    let own = tempfile::tempdir().unwrap();
    let data = own.path().join("new");
    let arguments = ["--listen", "127.0.0.1:0", "check", "--data", data.to_str().unwrap()];
    let ran = run(&arguments, &[("LOG_LEVEL", "debug"), ("METRICS_TOKEN", "canary-token"), IN_THE_FOLDER]).await.well();
    assert!(!ran.stdout.contains("PROBLEM"), "{ran:?}");
    for part in [
        "ok       settings",
        "log.level = \"debug\" (LOG_LEVEL)",
        "metrics.token = [secret] (METRICS_TOKEN)",
        "ok       data",
        "will be made",
    ] {
        assert!(ran.stdout.contains(part), "`{part}`: {ran:?}");
    }
    assert!(!ran.stdout.contains("canary"), "{ran:?}");
    assert!(!data.exists(), "a check makes nothing");

    let server = Server::start().await;
    let ran = server.run(&["--listen", "127.0.0.1:0", "check"]).await.well();
    assert!(ran.stdout.contains("the master key fits, the audit trail is whole"), "{ran:?}");
}

#[tokio::test]
async fn check_names_every_problem_and_fails() {
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let settings = [("TLS_CERT", "/proc/nope.pem"), ("TLS_KEY", "/proc/nope.pem"), IN_THE_FOLDER];
    let ran = run(&["--listen", &address, "check", "--data", "/proc/nope"], &settings).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in ["PROBLEM  listen: port", "PROBLEM  tls:", "PROBLEM  data:"] {
        assert!(ran.stdout.contains(part), "`{part}`: {ran:?}");
    }
    assert!(ran.stderr.contains("3 problems; a server would not start like this"), "{ran:?}");

    let (bad, _own) = serve(&[], &[("LOG_LEVEL", "lo=ud=er")]).await;
    assert_eq!(bad.code, Some(1));
}

#[tokio::test]
async fn check_and_start_agree_on_wrong_master_keys() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    drop(Server::on(&folder, &[]).await);
    let wrong = [("MASTER_KEY", "another-master-key-of-more-than-32-characters")];
    let ran = run(&["--listen", "127.0.0.1:0", "check", "--data", folder.to_str().unwrap()], &wrong).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("PROBLEM  data"), "{ran:?}");
}

#[tokio::test]
async fn help_and_version_need_no_settings() {
    for arguments in
        [&["--help"][..], &["--version"], &["serve", "--help"], &["mock", "--help"], &["keys", "create", "--help"]]
    {
        let ran = run(arguments, &[("PORT", "eighty")]).await.well();
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
    }
}

#[tokio::test]
async fn settings_rank_file_environment_flag() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("gatehouse.toml"), "[server]\nservice_name = \"of the file\"\n").unwrap();
    let name = async |server: Server| server.bare("GET", "/health").send().await.json()["service"].clone();
    assert_eq!(name(Server::on(&folder, &[]).await).await, "of the file");
    assert_eq!(name(Server::on(&folder, &[("SERVICE_NAME", "of the environment")]).await).await, "of the environment");
    assert_eq!(name(Server::on(&folder, &[("SERVICE_NAME", "  ")]).await).await, "of the file");
}
