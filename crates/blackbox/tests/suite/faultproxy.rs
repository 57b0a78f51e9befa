//! `gatehouse faultproxy` between a gateway and its provider: what a bad network looks like to the caller.

use crate::support::client::Answer;
use crate::support::line::Line;
use crate::support::process::run;
use crate::support::scene::Scene;
use crate::support::{PATIENCE, eventually};

struct Between {
    scene: Scene,
    line: Line,
}

impl Between {
    async fn new() -> Between {
        let scene = Scene::with(&[]).await;
        let line = Line::to(&scene.mock.address).await;
        Between { scene, line }
    }

    async fn faults(&self, method: &str, query: &str) -> Answer {
        self.line.faults(method, query).await
    }

    fn host(&self) -> String {
        format!("http://{}/v1", self.line.address)
    }

    async fn chat(&self, said: &str) -> Answer {
        self.scene.chat("echo", said).header("x-gateway-custom-host", &self.host()).send().await
    }
}

#[tokio::test]
async fn a_line_that_breaks_is_an_upstream_failure_and_heals() {
    let line = Between::new().await;
    assert_eq!(line.chat("before").await.well().said(), "before");

    line.faults("PUT", "?mode=refuse&cut_after=0").await.well();
    let refused = eventually("the line refuses", PATIENCE, async || {
        let answer = line.chat("refused").await;
        (answer.status != 200).then_some(answer)
    });
    assert_eq!(refused.await.status, 502);

    line.faults("DELETE", "").await.well();
    let healed = eventually("the line heals", PATIENCE, async || {
        let answer = line.chat("after").await;
        (answer.status == 200).then_some(answer)
    });
    assert_eq!(healed.await.said(), "after");
}

#[tokio::test]
async fn an_answer_that_is_cut_is_never_taken_for_a_whole_one() {
    let line = Between::new().await;
    line.faults("PUT", "?cut_after=150&cut=fin").await.well();
    let answer = line.chat("a text that is longer than what comes through").await;
    assert_eq!(answer.status, 502, "{answer:?}");
    let told = line.faults("GET", "").await.well().json();
    assert_eq!((&told["faults"]["cut_after"], &told["bytes"]["answered"]), (&150.into(), &150.into()), "{told}");
}

#[tokio::test]
async fn a_fault_that_does_not_exist_is_named_with_those_that_do() {
    let ran = run(&["faultproxy", "--fault", "dealy_ms=1"], &[]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("dealy_ms") && ran.stderr.contains("delay_ms"), "{ran:?}");
}
