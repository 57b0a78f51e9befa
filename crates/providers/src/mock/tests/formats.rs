//! Every format by one table: what a caller of that provider sends, and what it gets back.

use super::tongues::{Spoken, TONGUES, at, messages, told};
use super::*;

#[test]
fn every_route_of_every_format_is_served_and_belongs_to_it_alone() {
    let documented: Vec<(&str, String)> =
        formats().flat_map(|(format, paths)| paths.into_iter().map(move |path| (format, path))).collect();
    assert_eq!(documented.len(), 11 + 2 + 5 + 5 + 3);
    for (name, path) in documented {
        let path = path.replace("{model}", "echo");
        let owners: Vec<&str> =
            FORMATS.iter().filter(|format| format.below_base(&path).is_some()).map(|format| format.name).collect();
        assert_eq!(owners, [name], "{path}");
        assert_eq!(format_of("POST", &path).0.name, name);
    }
}

#[test]
fn every_format_has_a_tongue_in_this_test() {
    for (name, _) in formats() {
        assert!(TONGUES.iter().any(|tongue| tongue.format == name), "{name}");
    }
}

#[test]
fn every_format_echoes_and_counts_words() {
    for tongue in TONGUES {
        let script = tongue.whole("echo").play();
        let body = body(&script);
        assert_eq!((script.status, at(&body, tongue.text)), (200, &json!("one two three four")), "{}", tongue.whole);
        assert_eq!(tongue.counts.map(|count| at(&body, count)), [&json!(4), &json!(4)], "{}", tongue.whole);
    }
}

#[test]
fn every_format_streams_a_chunk_for_each_word() {
    for tongue in TONGUES {
        let script = tongue.streamed("echo").play();
        assert_eq!(script.status, 200, "{:?}", sent(&script));
        assert!(script.is_stream(), "{}", tongue.streamed);
        assert_eq!((script.steps.len(), told(&script)), (tongue.chunks, 4), "{:?}", sent(&script));
    }
}

#[test]
fn every_format_knows_the_other_models() {
    for tongue in TONGUES {
        let lorem = body(&tongue.whole("lorem-7").play());
        assert_eq!(at(&lorem, tongue.counts[1]), 7, "{}", tongue.whole);
        let cent = tongue.whole("cent").play();
        assert_eq!(tongue.counts.map(|count| at(&body(&cent), count).clone()), [1, 1], "{}", tongue.whole);
        let refused = tongue.whole("fault-nonsense").play();
        assert_eq!(refused.status, 400, "{}", tongue.whole);
    }
}

#[test]
fn every_format_says_in_its_own_words_that_it_fails() {
    for tongue in TONGUES {
        for script in [
            tongue.whole("fault-429").play(),
            tongue.streamed("fault-429").play(),
            tongue.whole("echo").with("x-mock-status", "429").play(),
        ] {
            let said = format!("{:?} {}", script.headers, sent(&script).concat());
            assert!(said.contains(tongue.limited), "{} {said}", tongue.format);
            assert_eq!((script.status, script.header("retry-after")), (429, Some("1")));
            assert_eq!(script.bill, None);
        }
        let bad = tongue.whole("echo").with("x-mock-status", "fine").play();
        assert_eq!(bad.status, 400);
        assert_eq!(body(&bad).get("error").is_some(), !["bedrock", "cohere"].contains(&tongue.format));
    }
}

#[test]
fn every_format_has_errors_inside_a_good_stream() {
    for tongue in TONGUES {
        let script = tongue.streamed("fault-error-in-stream").play();
        assert_eq!((script.status, script.steps.len()), (200, 3));
        assert!(sent(&script)[2].contains(tongue.interrupted), "{:?}", sent(&script)[2]);
        assert_eq!(tongue.whole("fault-error-in-stream").play().status, 500);
        let first = tongue.streamed("echo").with("x-mock-error-in-stream", "0-429").play();
        assert_eq!((first.status, first.steps.len(), told(&first)), (200, 1, 0));
        if tongue.format == "bedrock" {
            let said = json!({"message": "mock: asked to answer with 429"});
            assert_eq!(messages(&first), [("throttlingException".to_owned(), said)]);
        }
    }
}

/// Each fault by header, its step at the end and the bytes before it.
#[test]
fn every_fault_of_the_connection_works_in_every_format() {
    for tongue in TONGUES {
        for (name, end) in
            [("x-mock-cut", Step::Cut), ("x-mock-reset", Step::Reset), ("x-mock-half-close", Step::HalfClose)]
        {
            for spoken in [tongue.whole("echo"), tongue.streamed("echo")] {
                let script = spoken.with(name, "20").play();
                let bytes: usize = script.steps.iter().filter_map(Step::bytes).map(|bytes| bytes.len()).sum();
                assert_eq!((bytes, script.steps.last()), (20, Some(&end)), "{} {name}", tongue.streamed);
            }
        }
        for (model, end) in [
            ("fault-cut-3", Step::Cut),
            ("fault-reset-3", Step::Reset),
            ("fault-half-close-3", Step::HalfClose),
            ("fault-hang-3", Step::Hang),
        ] {
            let script = tongue.streamed(model).play();
            assert_eq!((script.steps.len(), script.steps.last()), (4, Some(&end)), "{} {model}", tongue.streamed);
        }
        assert_eq!(tongue.streamed("fault-hang").play().head_after, None);
    }
}

#[test]
fn every_fault_of_time_works_in_every_format() {
    for tongue in TONGUES {
        let delayed = tongue.whole("echo").with("x-mock-delay-ms", "50").play();
        assert_eq!(delayed.head_after, Some(ms(50)));
        let slow = tongue.streamed("fault-slow-20").play();
        let waits = slow.steps.iter().filter(|step| **step == Step::Wait(ms(20))).count();
        assert_eq!(waits, tongue.chunks - 1, "{}", tongue.streamed);
        for script in [tongue.whole("fault-drip-5").play(), tongue.streamed("fault-drip-5").play()] {
            let bytes = script.steps.iter().filter_map(Step::bytes).map(|bytes| bytes.len());
            assert_eq!(bytes.clone().max(), Some(1));
            let waits = script.steps.iter().filter(|step| **step == Step::Wait(ms(5))).count();
            assert_eq!(waits + 1, bytes.count());
        }
    }
}

#[test]
fn every_fault_of_the_content_works_in_every_format() {
    for tongue in TONGUES {
        let html = tongue.streamed("fault-garbage").play();
        assert_eq!((html.header("content-type"), &html.bill), (Some("text/html"), &None));
        for script in [tongue.whole("fault-noise").play(), tongue.streamed("fault-noise").play()] {
            let last = script.steps.last().and_then(Step::bytes).expect("bytes");
            assert!(last.iter().all(|byte| *byte == 0xff), "{last:?}");
            assert!(script.steps.len() > 1);
        }
        assert_eq!(tongue.whole("fault-empty").play().length(), Some(0));
        assert_eq!(tongue.streamed("fault-no-done").play().steps.len(), tongue.chunks - 1);
    }
}

#[test]
fn a_lie_in_the_usage_is_no_lie_in_the_bill() {
    for tongue in TONGUES {
        let asked = |value| tongue.whole("echo").with("x-mock-usage", value).play();
        let lie = body(&asked("lie-10"));
        assert_eq!(tongue.counts.map(|count| at(&lie, count)), [&json!(40), &json!(40)], "{}", tongue.whole);
        let missing = body(&asked("missing"));
        assert_eq!(tongue.counts.map(|count| at(&missing, count)), [&Value::Null, &Value::Null]);
        for value in ["lie-10", "missing", "zero"] {
            let bill = asked(value).bill.expect("a bill");
            assert_eq!((bill.format, bill.input, bill.output), (tongue.format, 4, 4));
            let script = tongue.streamed("echo").with("x-mock-usage", value).play();
            let bill = script.bill.as_ref().expect("a bill");
            assert_eq!((bill.input, bill.output, told(&script)), (4, 0, 4));
        }
    }
}

#[test]
fn a_stream_that_breaks_off_bills_what_was_told() {
    for tongue in TONGUES {
        let whole = told(&tongue.streamed("echo").play());
        let cut = tongue.streamed("echo").with("x-mock-cut-chunks", &(tongue.chunks / 2).to_string()).play();
        assert!(told(&cut) < whole && cut.bill.is_some(), "{}", tongue.streamed);
    }
}

#[test]
fn a_cent_is_billed_once_whether_streamed_or_not() {
    for tongue in TONGUES {
        for script in [tongue.whole("cent").play(), tongue.streamed("cent").play()] {
            let bill = script.bill.as_ref().expect("a bill");
            assert_eq!((bill.input, bill.output, told(&script)), (1, 1, 0), "{}", tongue.whole);
        }
    }
}

#[test]
fn split_streams_lose_no_byte_and_no_token() {
    for tongue in TONGUES {
        let (plain, split) = (tongue.streamed("echo"), tongue.streamed("echo").with("x-mock-framing", "split"));
        let bytes =
            |script: &Script| -> Vec<u8> { script.steps.iter().filter_map(Step::bytes).flatten().copied().collect() };
        assert_eq!(bytes(&plain.play()), bytes(&split.play()));
        assert_eq!(told(&split.play()), 4);
    }
}

/// Each provider's way to insist on a tool, where the call is told, and what ends the turn.
#[test]
fn every_format_calls_a_tool_when_it_must() {
    let openai_tools = json!([{"type": "function", "function": {"name": "weather"}}]);
    for (tongue, added, called, finish) in [
        (
            0,
            json!({"tools": openai_tools, "tool_choice": "required"}),
            "/choices/0/message/tool_calls/0/function/name",
            json!("tool_calls"),
        ),
        (
            1,
            json!({"tools": [{"name": "weather"}], "tool_choice": {"type": "any"}}),
            "/content/0/name",
            json!("tool_use"),
        ),
        (1, json!({"tool_choice": {"type": "tool", "name": "weather"}}), "/content/0/name", json!("tool_use")),
        (
            2,
            json!({"tools": [{"functionDeclarations": [{"name": "weather"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
            "/candidates/0/content/parts/0/functionCall/name",
            json!("STOP"),
        ),
        (
            4,
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": "weather"}}], "toolChoice": {"any": {}}}}),
            "/output/message/content/0/toolUse/name",
            json!("tool_use"),
        ),
        (
            4,
            json!({"toolConfig": {"toolChoice": {"tool": {"name": "weather"}}}}),
            "/output/message/content/0/toolUse/name",
            json!("tool_use"),
        ),
        (
            6,
            json!({"tools": openai_tools, "tool_choice": "REQUIRED"}),
            "/message/tool_calls/0/function/name",
            json!("TOOL_CALL"),
        ),
    ] {
        let tongue = &TONGUES[tongue];
        let ask = |uri: &str, stream: bool| {
            let mut asked = (tongue.body)("echo", stream);
            for (field, value) in added.as_object().expect("an object") {
                asked[field] = value.clone();
            }
            Spoken::new(&uri.replace("{model}", "echo"), asked).play()
        };
        let whole = ask(tongue.whole, false);
        assert_eq!(at(&body(&whole), called), "weather", "{}", tongue.format);
        assert!(sent(&whole).concat().contains(&finish.to_string()), "{}", tongue.format);
        assert_eq!(whole.bill.map(|bill| bill.output), Some(1));
        let streamed = ask(tongue.streamed, true);
        assert!(sent(&streamed).concat().contains("\"weather\""), "{}", tongue.format);
        assert_eq!(told(&streamed), 1);
    }
    let nameless = json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "toolConfig": {"toolChoice": {"any": {}}}});
    assert_eq!(Spoken::new("/model/echo/converse", nameless).play().status, 400);
}

#[test]
fn in_the_process_only_openai_is_spoken() {
    for path in ["/messages", "/v2/chat", "/model/echo/converse"] {
        assert_eq!(body(&post(path, json!({"model": "echo"})).play())["object"], "mock.echo", "{path}");
    }
}
