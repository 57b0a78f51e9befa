//! Every fault, by model name and by header, with its outcome.

use super::*;

/// How a script ends, and how many events or pieces it sends.
fn ending(script: &Script) -> (usize, Option<&Step>) {
    (sent(script).len(), script.steps.last().filter(|step| matches!(step, Step::Hang | Step::Cut)))
}

#[test]
fn a_good_stream_has_seven_chunks() {
    let script = streamed_chat("echo").play();
    assert_eq!(ending(&script), (7, None));
    assert_eq!(script.head_after, Some(Duration::ZERO));
}

#[test]
fn fault_status_is_an_error_in_openai_shape() {
    for (model, retry_after) in [
        ("fault-400", None),
        ("fault-401", None),
        ("fault-429", Some("1")),
        ("fault-503", Some("1")),
        ("fault-599", None),
    ] {
        for scene in [chat(model), streamed_chat(model)] {
            let script = scene.play();
            assert_eq!(format!("fault-{}", script.status), model);
            assert_eq!(script.header("retry-after"), retry_after);
            assert_eq!(script.header("content-type"), Some("application/json"));
        }
    }
    assert_eq!(
        body(&chat("fault-429").play()),
        json!({"error": {"message": "mock: asked to answer with 429", "type": "rate_limit_error", "param": null,
            "code": "rate_limit_exceeded"}})
    );
}

#[test]
fn fault_slow_waits_between_chunks() {
    let script = streamed_chat("fault-slow-20").play();
    assert_eq!(script.steps.iter().filter(|step| **step == Step::Wait(ms(20))).count(), 6);
    assert!(matches!(script.steps.first(), Some(Step::Send(_))));
    assert!(matches!(script.steps.last(), Some(Step::Send(_))));
    assert_eq!(chat("fault-slow-20").play().head_after, Some(ms(20)));
}

#[test]
fn fault_cut_breaks_off_after_chunks() {
    assert_eq!(ending(&streamed_chat("fault-cut-3").play()), (3, Some(&Step::Cut)));
    assert_eq!(ending(&streamed_chat("fault-cut-0").play()), (0, Some(&Step::Cut)));
}

#[test]
fn fault_cut_breaks_a_whole_answer_in_half() {
    let (whole, cut) = (sent(&chat("fault-slow-0").play()).concat(), chat("fault-cut-1").play());
    assert_eq!(cut.steps.last(), Some(&Step::Cut));
    // One letter fewer in the model's name.
    assert_eq!(sent(&cut).concat().len(), (whole.len() - 1) / 2);
}

#[test]
fn fault_hang_never_answers() {
    assert_eq!(chat("fault-hang").play().head_after, None);
    assert_eq!(streamed_chat("fault-hang").play().head_after, None);
}

#[test]
fn fault_hang_after_chunks_sends_them_first() {
    assert_eq!(ending(&streamed_chat("fault-hang-2").play()), (2, Some(&Step::Hang)));
    assert_eq!(ending(&chat("fault-hang-2").play()), (1, Some(&Step::Hang)));
}

#[test]
fn fault_garbage_is_html() {
    let script = chat("fault-garbage").play();
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/html")));
    assert!(sent(&script).concat().starts_with("<!doctype html>"));
}

#[test]
fn fault_empty_has_no_body() {
    for scene in [chat("fault-empty"), streamed_chat("fault-empty")] {
        let script = scene.play();
        assert_eq!((script.status, script.length()), (200, Some(0)));
    }
}

#[test]
fn fault_error_in_stream_comes_after_two_chunks() {
    let script = streamed_chat("fault-error-in-stream").play();
    let events = events(&script);
    assert_eq!((events.len(), ending(&script)), (3, (3, None)));
    assert_eq!(events[2]["error"]["type"], "server_error");
    assert_eq!(chat("fault-error-in-stream").play().status, 500);
}

#[test]
fn fault_error_in_stream_is_a_named_event_where_events_have_names() {
    let input = json!({"model": "fault-error-in-stream", "input": "hi", "stream": true});
    let sent = sent(&post("/responses", input).play());
    assert!(sent[2].starts_with("event: error\ndata: {\"error\":"), "{}", sent[2]);
}

#[test]
fn fault_no_done_ends_after_the_finish() {
    let script = streamed_chat("fault-no-done").play();
    assert_eq!(ending(&script), (6, None));
    assert_eq!(events(&script)[5]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chat("fault-no-done").play().status, 200);
}

#[test]
fn fault_truncate_ends_cleanly_without_a_finish() {
    let script = streamed_chat("fault-truncate").play();
    assert_eq!(ending(&script), (3, None));
    assert!(events(&script).iter().all(|event| event["choices"][0]["finish_reason"].is_null()));
    let whole = sent(&chat("fault-truncate").play()).concat();
    assert!(serde_json::from_str::<Value>(&whole).is_err());
}

#[test]
fn a_fault_works_on_every_endpoint_with_a_model() {
    for (path, field) in [("/completions", "prompt"), ("/embeddings", "input"), ("/responses", "input")] {
        assert_eq!(post(path, json!({"model": "fault-503", field: "hi"})).play().status, 503, "{path}");
    }
}

#[test]
fn a_header_twists_any_answer() {
    assert_eq!(get("/anything").with("x-mock-status", "503").play().status, 503);
    assert_eq!(get("/anything").with("x-mock-delay-ms", "50").play().head_after, Some(ms(50)));
    assert_eq!(get("/anything").with("x-mock-hang", "head").play().head_after, None);
    assert_eq!(ending(&get("/anything").with("x-mock-hang", "body").play()), (1, Some(&Step::Hang)));
    assert_eq!(get("/anything").with("x-mock-retry-after", "9").play().header("retry-after"), Some("9"));
    let drip = get("/bytes/5").with("x-mock-drip", "2-10").play();
    let fill = |count| Step::Fill { count };
    assert_eq!(drip.steps, [fill(2), Step::Wait(ms(10)), fill(2), Step::Wait(ms(10)), fill(1)]);
    let cut = get("/bytes/1000").with("x-mock-cut", "10").play();
    assert_eq!(cut.steps, [Step::Fill { count: 10 }, Step::Cut]);
}

#[test]
fn a_header_twists_a_stream() {
    assert_eq!(ending(&streamed_chat("echo").with("x-mock-cut-chunks", "2").play()), (2, Some(&Step::Cut)));
    let slow = streamed_chat("echo").with("x-mock-slow-ms", "5").play();
    assert_eq!(slow.steps.iter().filter(|step| **step == Step::Wait(ms(5))).count(), 6);
    let cut = streamed_chat("echo").with("x-mock-cut", "100").play();
    assert_eq!((sent(&cut).concat().len(), ending(&cut)), (100, (1, Some(&Step::Cut))));
}

#[test]
fn a_header_adds_headers_and_replaces_ours() {
    let scene = chat("echo").with("x-mock-header", "X-Request-Id=mine").with("x-mock-header", "set-cookie=a");
    let script = scene.with("x-mock-header", "set-cookie=b").play();
    assert_eq!(script.header("x-request-id"), Some("mine"));
    assert_eq!(script.headers.iter().filter(|(name, _)| name == "set-cookie").count(), 2);
}

#[test]
fn framings_carry_the_same_events() {
    let plain = events(&streamed_chat("echo").play());
    for framing in ["crlf", "cr", "comments", "split"] {
        let script = streamed_chat("echo").with("x-mock-framing", framing).play();
        let text = sent_bytes(&script).replace("\r\n", "\n").replace('\r', "\n");
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        let read: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
        assert_eq!(read, plain, "{framing}");
    }
}

fn sent_bytes(script: &Script) -> String {
    let sends = script.steps.iter().filter_map(Step::bytes).flatten().copied();
    String::from_utf8(sends.collect()).expect("the whole is UTF-8")
}

#[test]
fn usage_lies_when_told_to() {
    let told = |value| body(&chat("echo").with("x-mock-usage", value).play()).get("usage").cloned();
    assert_eq!(told("missing"), None);
    assert_eq!(told("zero"), Some(json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})));
    assert_eq!(told("lie-10"), Some(json!({"prompt_tokens": 40, "completion_tokens": 40, "total_tokens": 80})));
}

#[test]
fn a_bad_header_is_a_400_that_names_it() {
    let script = chat("echo").with("x-mock-status", "fine").play();
    assert_eq!((script.status, body(&script)["error"]["param"].as_str()), (400, Some("x-mock-status")));
}
