//! The first start makes everything a first call needs, keeps it to itself, and the second one changes nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::client::Call;
use crate::support::process::{IN_THE_FOLDER, Process, binary, path, run};
use crate::support::server::Server;
use crate::support::{PATIENCE, eventually};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
}

/// Servers of this folder, by their command lines.
fn processes_on(data: &Path) -> Vec<u32> {
    let own = binary();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("there is /proc").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let is_ours = words.next() == Some(own.as_os_str().as_encoded_bytes());
        if is_ours && words.any(|word| word == data.as_os_str().as_encoded_bytes()) {
            found.push(id);
        }
    }
    found
}

/// The `curl` command on the screen.
fn printed_command(screen: &str) -> String {
    let lines = screen.lines().skip_while(|line| !line.trim_start().starts_with("curl "));
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn keys_are_kept_in_files_that_only_their_user_reads() {
    let server = Server::with(&[IN_THE_FOLDER]).await;
    for name in ["first-keys/admin", "first-keys/workspace", "master.key", "settings.db"] {
        assert_eq!(mode(&server.folder().join(name)), 0o600, "{name}");
    }
    for name in ["", "first-keys"] {
        assert_eq!(mode(&server.folder().join(name)), 0o700, "`{name}`");
    }
    assert!(server.workspace_key().starts_with("ghk_ws_"));
    assert!(server.admin_key().starts_with("ghk_o_"));
}

#[tokio::test]
async fn no_file_in_the_folder_can_be_read_by_others() {
    let server = Server::with(&[IN_THE_FOLDER]).await;
    server.run(&["keys", "create"]).await.well();
    let mut seen = 0;
    for entry in std::fs::read_dir(server.folder()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 4, "{seen} files");
}

#[tokio::test]
async fn on_a_terminal_the_first_start_shows_the_keys_and_the_second_does_not() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("there is no `script` on this machine to make a terminal with");
        return;
    }
    let own = tempfile::tempdir().unwrap();
    let data = own.path().join("data");
    for first in [true, false] {
        let serve = format!("exec '{}' serve --listen 127.0.0.1:0 --data '{}'", binary().display(), data.display());
        let mut command = Command::new("script");
        command.args(["-qec", &serve, "/dev/null"]).env_clear().envs(path());
        let mut terminal = Process::spawn(command);
        terminal.told("Stop with Ctrl-C").await;
        let screen = terminal.stdout();
        for name in ["admin", "workspace"] {
            let key = std::fs::read_to_string(data.join("first-keys").join(name)).unwrap();
            assert_eq!(screen.contains(key.trim()), first, "{name}: {screen}");
        }
        // A hang-up may be ignored, by `nohup` for instance; the server is told itself.
        for server in processes_on(&data) {
            assert!(Command::new("sh").args(["-c", &format!("kill -TERM {server}")]).status().unwrap().success());
        }
        drop(terminal);
        eventually("the folder is free again", PATIENCE, async || {
            std::fs::File::open(data.join("serve.lock")).unwrap().try_lock().ok()
        })
        .await;
    }
}

#[tokio::test]
async fn without_a_terminal_no_key_is_shown() {
    let server = Server::start().await;
    let master = std::fs::read_to_string(server.folder().join("master.key")).unwrap();
    server.chat("echo", "hello").send().await.well();
    for said in [server.process.stdout(), server.process.stderr()] {
        for secret in [server.workspace_key(), server.admin_key(), master.trim().to_owned()] {
            assert!(!said.contains(&secret), "{said}");
        }
    }
}

#[tokio::test]
async fn the_printed_command_works_as_it_stands() {
    let server = Server::start().await;
    let screen = server.process.stdout();
    let command = printed_command(&screen);
    assert!(command.contains(&format!("{}/chat/completions", server.base())), "{screen}");
    assert!(!command.contains(&server.workspace_key()), "the key is read from its file: {command}");

    // The shell reads it; in place of `curl` stands a function that shows what `curl` would have been given.
    let script = format!("curl() {{ printf '%s\\n' \"$@\"; }}\n{command}\n");
    let shown = Command::new("sh").args(["-c", &script]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let given: Vec<&str> = shown.lines().collect();
    let url = given.iter().find(|word| word.starts_with("http://")).unwrap();
    let mut call = Call::to(&server.address, "POST", url.split_once(&server.address).unwrap().1);
    for pair in given.windows(2) {
        call = match pair[0] {
            "-H" => {
                let (name, value) = pair[1].split_once(": ").unwrap();
                call.header(name, value)
            }
            "-d" => call.body(pair[1].to_owned()),
            _ => call,
        };
    }
    assert_eq!(call.send().await.well().said(), "Hello!");
}

#[tokio::test]
async fn the_printed_command_works_in_a_shell_with_curl() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("there is no curl on this machine; the test beside this one replays the command without it");
        return;
    }
    let server = Server::start().await;
    let command = printed_command(&server.process.stdout());
    let ran = Command::new("sh").args(["-c", &command]).env_clear().envs(path()).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello!", "{ran:?}");
}

#[tokio::test]
async fn the_printed_command_survives_a_folder_with_an_odd_name() {
    let own = tempfile::tempdir().unwrap();
    let server = Server::on(&own.path().join("it's a $HOME \"folder\""), &[]).await;
    let script = format!("curl() {{ printf '%s\\n' \"$@\"; }}\n{}\n", printed_command(&server.process.stdout()));
    let shown = Command::new("sh").args(["-c", &script]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&format!("x-gateway-api-key: {}\n", server.workspace_key())), "{script}\n{shown}");
}

#[tokio::test]
async fn a_second_start_keeps_data_and_keys_and_shows_none() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    let first = Server::on(&folder, &[]).await;
    let (workspace, admin) = (first.workspace_key(), first.admin_key());
    let listed = first.run(&["keys", "list", "--json"]).await.well().stdout;
    first.process.signal("TERM");
    let ran = first.process.ran().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let second = Server::on(&folder, &[]).await;
    assert_eq!((second.workspace_key(), second.admin_key()), (workspace.clone(), admin.clone()));
    assert_eq!(second.run(&["keys", "list", "--json"]).await.well().stdout, listed);
    assert_eq!(second.chat("echo", "still here").send().await.well().said(), "still here");
    let control = second.bare("GET", "/v1/configs").header("x-gateway-api-key", &admin).send().await;
    assert_eq!(control.status, 501, "{control:?}");
    for said in [second.process.stdout(), second.process.stderr()] {
        assert!(!said.contains(&workspace) && !said.contains(&admin), "{said}");
    }
}

#[tokio::test]
async fn a_start_that_was_killed_leaves_a_folder_that_starts_again() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    let first = Server::on(&folder, &[]).await;
    let key = first.workspace_key();
    first.process.signal("KILL");
    assert_eq!(first.process.ran().await.code, None);
    let second = Server::on(&folder, &[]).await;
    assert_eq!(second.workspace_key(), key);
    second.chat("echo", "hello").send().await.well();
}

#[tokio::test]
async fn automation_may_bring_its_own_keys() {
    let keys = [("BOOTSTRAP_ADMIN_KEY", "an-admin-key-of-16"), ("BOOTSTRAP_WORKSPACE_KEY", "a-workspace-key!")];
    let server = Server::with(&keys).await;
    let chat = |key: &str| server.chat("echo", "hello").header("x-gateway-api-key", key).send();
    assert_eq!(chat("a-workspace-key!").await.status, 200);
    assert_eq!(chat("an-admin-key-of-16").await.status, 403);
    let control = server.bare("GET", "/v1/configs").header("x-gateway-api-key", "an-admin-key-of-16").send().await;
    assert_eq!(control.status, 501);
    let shown = server.process.stdout() + &server.process.stderr();
    assert!(keys.iter().all(|(_, key)| !shown.contains(key)), "{shown}");
}

#[tokio::test]
async fn keys_of_automation_may_come_with_a_later_start() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    let first = Server::on(&folder, &[]).await;
    let old = first.workspace_key();
    drop(first);
    let second = Server::on(&folder, &[("BOOTSTRAP_WORKSPACE_KEY", "a-workspace-key!")]).await;
    for key in [old.as_str(), "a-workspace-key!"] {
        second.chat("echo", "hello").header("x-gateway-api-key", key).send().await.well();
    }
}

#[tokio::test]
async fn a_short_key_of_automation_is_refused_by_its_name_and_not_repeated() {
    for name in ["BOOTSTRAP_ADMIN_KEY", "BOOTSTRAP_WORKSPACE_KEY"] {
        let own = tempfile::tempdir().unwrap();
        let data = own.path().join("data");
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let ran = run(&arguments, &[(name, "too-short-by-1!")]).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(name) && ran.stderr.contains("16"), "{ran:?}");
        assert!(!ran.stderr.contains("too-short-by-1!"), "{ran:?}");
        assert!(!data.exists(), "nothing was made");
    }
}

#[tokio::test]
async fn both_keys_of_automation_must_differ() {
    let own = tempfile::tempdir().unwrap();
    let same = [("BOOTSTRAP_ADMIN_KEY", "one-key-for-both"), ("BOOTSTRAP_WORKSPACE_KEY", "one-key-for-both")];
    let ran = run(&["serve", "--listen", "127.0.0.1:0", "--data", own.path().to_str().unwrap()], &same).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("different"), "{ran:?}");
    assert!(!ran.stderr.contains("one-key-for-both"), "{ran:?}");
}

#[tokio::test]
async fn the_built_in_provider_answers_whole_and_streamed() {
    let server = Server::start().await;
    let whole = server.chat("echo", "one two three").send().await.well();
    assert_eq!(whole.said(), "one two three");
    assert_eq!(whole.json()["usage"]["completion_tokens"], 3);
    assert_eq!(whole.header("x-gateway-provider"), "mock");

    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let streamed = call.chat_stream("lorem-5", "hello").send().await.well();
    assert!(streamed.header("content-type").starts_with("text/event-stream"), "{streamed:?}");
    let text = streamed.text();
    assert_eq!(text.matches("chat.completion.chunk").count(), 7, "{text}");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
}
