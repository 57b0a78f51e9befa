//! `gatehouse bench`: a short run, and whether its report can be believed.

use serde_json::Value;

use crate::support::process::{Process, command, run};
use crate::support::server::Server;
use crate::support::{PATIENCE, eventually};

fn number(report: &Value, path: &str) -> f64 {
    let value = report.pointer(path).and_then(Value::as_f64);
    assert!(value.is_some(), "{path} is no number in {report:#}");
    value.unwrap_or_default()
}

#[tokio::test]
async fn a_short_run_reports_plausible_figures_as_json() {
    let ran = run(&["bench", "--seconds", "1", "--connections", "4", "--rate", "100", "--json"], &[]).await.well();
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    for kind in ["/plain", "/stream"] {
        for side in ["straight", "gateway"] {
            assert!(number(&report, &format!("{kind}/calls_per_second/{side}")) > 1.0, "{report:#}");
            assert!(number(&report, &format!("{kind}/calls/{side}/0")) >= 1.0, "{report:#}");
            assert_eq!(report.pointer(&format!("{kind}/errors/{side}")), Some(&serde_json::json!({})), "{report:#}");
            let [p50, p99, p999] =
                ["p50", "p99", "p99.9"].map(|p| number(&report, &format!("{kind}/latency_ms/{p}/{side}")));
            assert!(0.0 < p50 && p50 <= p99 && p99 <= p999 && p999 < 10_000.0, "{report:#}");
        }
        let [straight, gateway, added] =
            ["straight", "gateway", "added"].map(|what| number(&report, &format!("{kind}/latency_ms/p50/{what}")));
        assert!((gateway - straight - added).abs() < 0.01, "{report:#}");
    }
    // A hundred a second for an eighth of a second.
    assert_eq!(number(&report, "/plain/calls/gateway/1"), 13.0, "{report:#}");
    if cfg!(target_os = "linux") {
        assert!(number(&report, "/plain/cpu_us_per_call") < 1e6);
        let [before, peak, after] =
            ["before", "peak", "after"].map(|when| number(&report, &format!("/memory_kb/{when}")));
        assert!(1000.0 < before && before <= peak && after <= peak && peak < 1e6, "{report:#}");
    }
    assert_eq!(ran.stderr.lines().count(), 8, "one line for each phase: {}", ran.stderr);
}

#[tokio::test]
async fn a_running_gateway_is_measured_with_its_own_key() {
    let server = Server::start().await;
    let key = server.workspace_key();
    let arguments =
        ["bench", "--seconds", "1", "--connections", "2", "--rate", "50", "--url", &server.base(), "--key", &key];
    let ran = run(&arguments, &[]).await.well();
    for part in ["Plain calls", "Streams", "straight", "added", "first byte p50", "CPU a call", "n/a", &server.base()] {
        assert!(ran.stdout.contains(part), "`{part}` is not in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains(&key) && !ran.stderr.contains(&key));
}

#[tokio::test]
async fn what_cannot_be_measured_is_said_and_why() {
    let server = Server::start().await;
    for (arguments, part) in [
        (vec!["--url", &*server.base(), "--key", "ghk_wrong"], "status_401"),
        (vec!["--url", "http://127.0.0.1:1", "--key", "x"], "connect"),
        (vec!["--url", "https://127.0.0.1:1", "--key", "x"], "http://HOST:PORT"),
        (vec!["--url", "http://127.0.0.1:1"], "--key"),
        (vec!["--data", "somewhere"], "--data"),
        (vec!["--set", "log.level=debug", "--set", "nonsense=1"], "did not start"),
    ] {
        let ran = run(&[&["bench", "--seconds", "1"], &arguments[..]].concat(), &[]).await;
        assert_ne!(ran.code, Some(0), "{arguments:?}");
        assert!(ran.stderr.contains(part), "`{part}` is not in {}", ran.stderr);
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let settings = [("TMPDIR", place.path().to_str().unwrap())];
    let process = Process::spawn(command(&["bench", "--seconds", "600"], &settings));
    let folder = place.path().join(format!("gatehouse-bench-{}", process.id()));
    let begun = async || process.stderr().contains("[1/8]").then_some(());
    eventually("the first phase begins", PATIENCE, begun).await;
    assert!(folder.join("settings.db").is_file());
    process.signal("TERM");
    let ran = process.ran().await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("stopped before the end"), "{ran:?}");
    assert!(!folder.exists());
}
