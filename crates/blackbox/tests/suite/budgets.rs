//! How fast it starts and how little it holds. The limits are wide: they catch a mistake, they do not measure.

use std::time::{Duration, Instant};

use crate::support::process::optimised;
use crate::support::server::Server;

#[tokio::test]
async fn a_cold_start_is_ready_soon() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("data");
    for what in ["first", "second"] {
        let start = Instant::now();
        let server = Server::on(&folder, &[]).await;
        server.bare("GET", "/health").send().await.well();
        let took = start.elapsed();
        println!("the {what} start was ready after {took:?} (optimised: {})", optimised());
        assert!(took < Duration::from_secs(3), "the {what} start took {took:?}");
    }
}

#[tokio::test]
async fn an_idle_server_holds_little() {
    let server = Server::start().await;
    server.chat("echo", "x").send().await.well();
    let held = server.process.memory("VmRSS");
    let limit = if optimised() { 60 } else { 120 } * 1024 * 1024;
    println!("idle, it holds {} KiB (optimised: {})", held / 1024, optimised());
    assert!(held < limit, "{held} bytes");
}
