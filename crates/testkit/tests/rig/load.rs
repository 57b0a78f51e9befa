//! The load generator against the mock: what it counts, and that a stall cannot hide from it.

use std::time::Duration;

use http::HeaderMap;
use serde_json::json;
use testkit::load::{Ask, Expected, Outcome, Pace, Plan, Wrong, run};
use testkit::proxy::{Faults, Mode, Proxy};

use crate::mock::Mock;

fn ask(address: &str, model: &str, answer: Expected) -> Ask {
    let stream = answer == Expected::Stream;
    let body = json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "one two"}]});
    let url = format!("http://{address}/v1/chat/completions").parse().expect("a URL");
    Ask { url, headers: HeaderMap::new(), body: body.to_string().into(), answer }
}

fn plan(ask: Ask, pace: Pace, ms: u64) -> Plan {
    Plan { ask, pace, time: Duration::from_millis(ms), timeout: Duration::from_secs(10) }
}

fn only(outcome: &Outcome, wrong: Wrong) -> bool {
    outcome.calls > 0 && outcome.wrong.get(&wrong) == Some(&outcome.calls)
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_answers_and_streams_are_counted_and_timed() {
    let mock = Mock::start().await;
    for expected in [Expected::Whole, Expected::Stream] {
        let pace = Pace::Closed { connections: 4 };
        let outcome = run(plan(ask(&mock.address(), "echo", expected), pace, 200)).await;
        assert!(outcome.wrong.is_empty() && outcome.calls >= 4, "{expected:?}: {outcome:?}");
        assert_eq!((outcome.whole.count(), outcome.first.count()), (outcome.calls, outcome.calls));
        assert!(outcome.first.percentile(50.0) <= outcome.whole.percentile(50.0));
        assert!(outcome.throughput() > 10.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_failure_is_counted_by_its_name() {
    let mock = Mock::start().await;
    let pace = Pace::Closed { connections: 1 };
    for (model, expected, wrong) in [
        ("fault-503", Expected::Whole, Wrong::Status(503)),
        ("fault-cut-1", Expected::Stream, Wrong::Broken),
        ("fault-no-done", Expected::Stream, Wrong::Incomplete),
        ("fault-empty", Expected::Whole, Wrong::Incomplete),
        ("fault-hang", Expected::Whole, Wrong::Timeout),
    ] {
        let plan =
            Plan { timeout: Duration::from_millis(300), ..plan(ask(&mock.address(), model, expected), pace, 50) };
        let outcome = run(plan).await;
        assert!(only(&outcome, wrong), "{model}: {:?}", outcome.wrong);
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = run(plan(ask(&nobody.to_string(), "echo", Expected::Whole), pace, 30)).await;
    assert!(only(&outcome, Wrong::Connect), "{:?}", outcome.wrong);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_loop_asks_as_often_as_told() {
    let mock = Mock::start().await;
    let pace = Pace::Open { rate: 200.0, connections: 50 };
    let outcome = run(plan(ask(&mock.address(), "echo", Expected::Whole), pace, 500)).await;
    assert_eq!((outcome.calls, outcome.well()), (100, 100));
}

/// A target that stands still for 300 of 1000 milliseconds.
async fn stalled(pace: Pace) -> Outcome {
    let mock = Mock::start().await;
    let proxy = Proxy::start(mock.address()).await.expect("a proxy");
    let load = tokio::spawn(run(plan(ask(&proxy.address().to_string(), "echo", Expected::Whole), pace, 1000)));
    tokio::time::sleep(Duration::from_millis(350)).await;
    proxy.set(Faults { mode: Mode::Stop, ..Faults::default() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    proxy.set(Faults::default());
    load.await.expect("an outcome")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_shows_in_the_open_loop_and_hides_from_the_closed_one() {
    let open = stalled(Pace::Open { rate: 200.0, connections: 200 }).await;
    assert_eq!((open.calls, open.well()), (200, 200), "all that were due were made: {:?}", open.wrong);
    let late = open.whole.percentile(90.0);
    assert!(late > Duration::from_millis(100), "three of ten calls met the stall, but p90 is {late:?}");
    let closed = stalled(Pace::Closed { connections: 1 }).await;
    let (most, longest) = (closed.whole.percentile(90.0), closed.whole.longest());
    assert!(longest > Duration::from_millis(200), "{longest:?}");
    assert!(most < Duration::from_millis(100), "one call met the stall, but p90 is {most:?}");
}
