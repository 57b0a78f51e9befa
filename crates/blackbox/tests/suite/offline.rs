//! The built-in provider needs no network at all: the scene is played where there is none but loopback.

use std::process::Command;

use crate::support::process::{Process, path};
use crate::support::server::Server;

const NAME: &str = "offline::the_built_in_provider_works_without_a_network";

#[tokio::test]
async fn the_built_in_provider_works_without_a_network() {
    #[expect(clippy::disallowed_methods, reason = "says that this process already is without a network")]
    if std::env::var_os("TEST_WITHOUT_NETWORK").is_some() {
        return scene().await;
    }
    let there = |tool: &str| Command::new(tool).arg("-V").output().is_ok();
    if !there("unshare") || !there("ip") {
        println!("`unshare` or `ip` is missing, so a network cannot be taken away here");
        return;
    }
    // A first try tells whether this machine allows it, apart from whether the gateway works there.
    let alone = ["-rn", "sh", "-c", "ip link set lo up"];
    let tried = Command::new("unshare").args(alone).output().unwrap();
    if !tried.status.success() {
        let root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        assert!(!root, "root may take the network away, and yet: {tried:?}");
        println!("this user may not make a network namespace: {}", String::from_utf8_lossy(&tried.stderr));
        return;
    }
    let test = std::env::current_exe().unwrap();
    let script = format!("ip link set lo up && exec \"$0\" --exact {NAME} --nocapture");
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", &script]).arg(test);
    command.env_clear().envs(path()).env("TEST_WITHOUT_NETWORK", "1");
    command.env("GATEHOUSE_BIN", crate::support::process::binary());
    let ran = Process::spawn(command).ran().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 passed") && ran.stdout.contains("without a network"), "{ran:?}");
}

async fn scene() {
    let devices = std::fs::read_to_string("/proc/self/net/dev").expect("the kernel lists devices");
    let others: Vec<&str> = devices.lines().skip(2).filter(|line| !line.trim_start().starts_with("lo:")).collect();
    assert!(others.is_empty(), "there is a network: {others:?}");
    let server = Server::start().await;
    assert_eq!(server.chat("echo", "without a network").send().await.well().said(), "without a network");
    let call = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock");
    let text = call.chat_stream("echo", "streamed").send().await.well().text();
    assert!(text.contains("streamed") && text.ends_with("data: [DONE]\n\n"), "{text}");
    let away = server.call("POST", "/v1/chat/completions").header("x-gateway-provider", "openai");
    let refused = away.header("authorization", "Bearer sk-x").chat("gpt-4o", "hello").send().await;
    assert_eq!(refused.status, 502, "{refused:?}");
    #[expect(clippy::print_stdout, reason = "the process that took the network away looks for it")]
    {
        println!("answered without a network");
    }
}
