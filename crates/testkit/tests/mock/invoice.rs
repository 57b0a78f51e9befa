//! The invoice: what the mock would bill, exactly, whatever its answers say.

use serde_json::{Value, json};

use crate::rig::{Mock, json, read_until, text, whole};
use crate::tongues::TONGUES;

async fn lines(mock: &Mock) -> Vec<Value> {
    json(mock.get("/__mock/invoice").await).await["lines"].as_array().expect("a list").clone()
}

fn line(format: &str, model: &str, [calls, input, output, cost]: [u64; 4]) -> Value {
    json!({"calls": calls, "input_tokens": input, "output_tokens": output, "search_units": 0, "cost_nano_usd": cost,
        "format": format, "model": model})
}

/// Sends and reads to the end.
async fn ask(mock: &Mock, spoken: crate::tongues::Spoken) -> u16 {
    let mut request = mock.request("POST", &spoken.uri);
    for (name, value) in &spoken.headers {
        request = request.header(name, value);
    }
    let answer = mock.send(request.body(whole(spoken.body)).expect("a request")).await;
    let status = answer.status().as_u16();
    http_body_util::BodyExt::collect(answer.into_body()).await.map(drop).unwrap_or_default();
    status
}

#[tokio::test]
async fn every_format_has_its_lines() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        for stream in [false, true] {
            assert_eq!(ask(&mock, tongue.ask(&mock, "echo", "word", stream)).await, 200);
            let lie = tongue.ask(&mock, "echo", "word", stream).with("x-mock-usage", "lie-10");
            assert_eq!(ask(&mock, lie).await, 200);
            assert_eq!(ask(&mock, tongue.ask(&mock, "cent", "word", stream)).await, 200);
        }
        let expected = [
            line(tongue.format, "cent", [2, 2, 2, 20_000_000]),
            // Four calls of four words in and four words out, at 1000 and 2000 nano-dollars a token.
            line(tongue.format, "echo", [4, 16, 16, 48_000]),
        ];
        assert_eq!(lines(&mock).await, expected);
        let request = mock.request("DELETE", "/__mock/invoice").body(whole("")).expect("a request");
        assert_eq!(json(mock.send(request).await).await, json!({"cleared": true}));
        assert_eq!(lines(&mock).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn what_was_not_answered_is_not_billed() {
    let mock = Mock::start().await;
    for tongue in TONGUES {
        for model in ["fault-500", "fault-garbage", "fault-empty", "fault-nonsense"] {
            ask(&mock, tongue.ask(&mock, model, "word", true)).await;
        }
        let socket = mock.write(&tongue.ask(&mock, "fault-hang", "never-heard", true).wire()).await;
        mock.until("never-heard", |call| call["state"] == "running").await;
        drop(socket);
    }
    text(mock.get("/v1/models").await).await;
    let invoice = json(mock.get("/__mock/invoice").await).await;
    assert_eq!((&invoice["lines"], &invoice["total"]["cost_nano_usd"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn a_stream_that_breaks_off_bills_what_it_told() {
    let mock = Mock::start().await;
    // The role, then words.
    for (model, told) in [("fault-cut-3", 2), ("fault-reset-4", 3), ("fault-error-in-stream", 1)] {
        ask(&mock, TONGUES[0].ask(&mock, model, "word", true)).await;
        let expected = line("openai", model, [1, 4, told, 4_000 + told * 2_000]);
        assert!(lines(&mock).await.contains(&expected), "{:?}", lines(&mock).await);
    }
    // A whole answer has been made before any of it is sent.
    ask(&mock, TONGUES[0].ask(&mock, "fault-cut-1", "word", false)).await;
    assert!(lines(&mock).await.contains(&line("openai", "fault-cut-1", [1, 4, 4, 12_000])));
}

#[tokio::test]
async fn a_caller_that_leaves_pays_for_what_was_told_until_then() {
    let mock = Mock::start().await;
    let mut socket = mock.write(&TONGUES[1].ask(&mock, "fault-hang-5", "word", true).wire()).await;
    read_until(&mut socket, "\" b\"").await;
    drop(socket);
    mock.until("word", |call| call["state"] == "hung_up").await;
    assert_eq!(lines(&mock).await, [line("anthropic", "fault-hang-5", [1, 4, 2, 8_000])]);
}

#[tokio::test]
async fn searches_are_billed_as_such() {
    let mock = Mock::start().await;
    let documents = vec!["text"; 101];
    let asked = json!({"model": "rerank-v3.5", "query": "text", "documents": documents});
    text(mock.post("/v2/rerank", asked).await).await;
    let lines = lines(&mock).await;
    assert_eq!((&lines[0]["search_units"], &lines[0]["cost_nano_usd"]), (&json!(2), &json!(4_000_000)));
}
