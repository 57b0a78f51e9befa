//! Every endpoint, asked well and asked wrongly.

use super::*;

#[test]
fn chat_repeats_the_last_user_message_and_counts_words() {
    let messages = json!([
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello  big world"},
    ]);
    let script = post("/chat/completions", json!({"model": "gpt-4o", "messages": messages})).play();
    assert_eq!(
        body(&script),
        json!({
            "id": "chatcmpl-mock-7",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-4o",
            "system_fingerprint": "fp_mock",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": "hello  big world", "refusal": null},
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        })
    );
}

#[test]
fn every_answer_says_what_was_received() {
    let mut scene = post("/anything", json!(null));
    scene.body = b"abc".to_vec();
    let script = scene.play();
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(script.header("x-mock-sha256"), Some(sha256));
    assert_eq!(script.header("x-mock-bytes"), Some("3"));
    assert_eq!(script.header("x-request-id"), Some("req_mock_7"));
    let refused = post("/chat/completions", json!({})).play();
    assert_eq!((refused.status, refused.header("x-mock-bytes")), (400, Some("2")));
}

#[test]
fn a_chat_stream_is_role_words_finish_done() {
    let script = streamed_chat("echo").play();
    assert_eq!(script.header("content-type"), Some("text/event-stream"));
    let deltas: Vec<Value> = events(&script).iter().map(|event| event["choices"][0]["delta"].clone()).collect();
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": "", "refusal": null}),
            json!({"content": "one"}),
            json!({"content": " two"}),
            json!({"content": " three"}),
            json!({"content": " four"}),
            json!({}),
        ]
    );
    assert_eq!(sent(&script).last().map(String::as_str), Some("data: [DONE]\n\n"));
    assert!(events(&script).iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn a_stream_tells_usage_only_when_asked() {
    let messages = json!([{"role": "user", "content": "one two"}]);
    let options = json!({"include_usage": true});
    let asked = json!({"model": "echo", "messages": messages, "stream": true, "stream_options": options});
    let events = events(&post("/chat/completions", asked).play());
    let last = events.last().expect("there are events");
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"], json!({"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}));
    assert_eq!(events[0]["usage"], Value::Null);
}

#[test]
fn n_choices_cost_n_times_the_words() {
    let messages = json!([{"role": "user", "content": "one two"}]);
    let asked = json!({"model": "echo", "messages": messages, "n": 3, "max_tokens": 1});
    let body = body(&post("/chat/completions", asked).play());
    assert_eq!(body["choices"].as_array().map(Vec::len), Some(3));
    assert_eq!(body["choices"][2]["message"]["content"], "one");
    assert_eq!(body["choices"][2]["finish_reason"], "length");
    assert_eq!(body["usage"], json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}));
}

#[test]
fn cent_always_costs_the_same() {
    let script = chat("cent").play();
    assert_eq!(body(&script)["choices"][0]["message"]["content"], "one two three four");
    assert_eq!(body(&script)["usage"], json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}));
}

#[test]
fn lorem_says_as_much_as_asked() {
    let body = body(&chat("lorem-5").play());
    assert_eq!(body["choices"][0]["message"]["content"], "Lorem ipsum dolor sit amet,");
    assert_eq!(body["usage"]["completion_tokens"], 5);
}

fn with_tools(choice: Value, stream: bool) -> Scene {
    let tools = json!([{"type": "function", "function": {"name": "weather"}}]);
    let messages = json!([{"role": "user", "content": "hi"}]);
    let asked = json!({"model": "echo", "messages": messages, "tools": tools, "tool_choice": choice, "stream": stream});
    post("/chat/completions", asked)
}

#[test]
fn a_required_tool_is_called() {
    let named = json!({"type": "function", "function": {"name": "time"}});
    for (choice, name) in [(json!("required"), "weather"), (named, "time")] {
        let choice = body(&with_tools(choice, false).play())["choices"][0].clone();
        assert_eq!(choice["finish_reason"], "tool_calls");
        let function = json!({"name": name, "arguments": "{}"});
        let call = json!({"id": "call_mock_7_0", "type": "function", "function": function});
        assert_eq!(choice["message"]["tool_calls"], json!([call]));
    }
    let auto = body(&with_tools(json!("auto"), false).play());
    assert_eq!(auto["choices"][0]["message"]["content"], "hi");
}

#[test]
fn a_tool_call_can_be_streamed() {
    let events = events(&with_tools(json!("required"), true).play());
    let calls = |at: usize| events[at]["choices"][0]["delta"]["tool_calls"][0].clone();
    assert_eq!(calls(0)["function"], json!({"name": "weather", "arguments": ""}));
    assert_eq!(calls(1), json!({"index": 0, "function": {"arguments": "{}"}}));
    assert_eq!(events[2]["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn wrong_requests_are_refused_in_openai_shape() {
    let messages = json!([{"role": "user", "content": "hi"}]);
    for (path, asked, param) in [
        ("/chat/completions", json!({"model": "echo"}), "messages"),
        ("/chat/completions", json!({"model": "echo", "messages": []}), "messages"),
        ("/chat/completions", json!({"messages": messages}), "model"),
        ("/chat/completions", json!({"model": "echo", "messages": messages, "n": 0}), "n"),
        ("/chat/completions", json!({"model": "echo", "messages": messages, "max_tokens": "x"}), "max_tokens"),
        ("/completions", json!({"model": "echo"}), "prompt"),
        ("/embeddings", json!({"model": "echo", "input": []}), "input"),
        ("/embeddings", json!({"model": "echo", "input": "a", "dimensions": 0}), "dimensions"),
        ("/responses", json!({"model": "echo"}), "input"),
        ("/images/generations", json!({"model": "echo"}), "prompt"),
        ("/audio/speech", json!({"model": "echo"}), "input"),
    ] {
        let script = post(path, asked).play();
        assert_eq!((script.status, body(&script)["error"]["param"].as_str()), (400, Some(param)), "{path}");
    }
    let mut broken = chat("echo");
    broken.body.pop();
    assert_eq!(broken.play().status, 400);
    assert_eq!(body(&broken.play())["error"]["type"], "invalid_request_error");
}

#[test]
fn an_answer_that_is_too_large_is_refused() {
    let messages = json!([{"role": "user", "content": "hi"}]);
    let asked = |n: u64, stream: bool| json!({"model": "lorem-100000", "messages": messages, "n": n, "stream": stream});
    assert_eq!(post("/chat/completions", asked(128, false)).play().status, 400);
    assert_eq!(post("/chat/completions", asked(3, true)).play().status, 400);
    assert_eq!(post("/chat/completions", asked(3, false)).play().status, 200);
}

#[test]
fn completions_answer_every_prompt() {
    let asked = json!({"model": "echo", "prompt": ["one two", "three"], "n": 2});
    let body = body(&post("/completions", asked).play());
    let texts: Vec<&Value> =
        body["choices"].as_array().expect("choices").iter().map(|choice| &choice["text"]).collect();
    assert_eq!(texts, ["one two", "one two", "three", "three"]);
    assert_eq!(body["usage"], json!({"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9}));
}

#[test]
fn completions_stream_words() {
    let asked = json!({"model": "echo", "prompt": "one two", "stream": true});
    let script = post("/completions", asked).play();
    let texts: Vec<Value> = events(&script).iter().map(|event| event["choices"][0]["text"].clone()).collect();
    assert_eq!(texts, ["one", " two", ""]);
    assert_eq!(events(&script)[2]["choices"][0]["finish_reason"], "stop");
}

#[test]
fn embeddings_take_texts_and_tokens() {
    for (input, count, words) in [
        (json!("hello world"), 1, 2),
        (json!(["a", "b c"]), 2, 3),
        (json!([1, 2, 3]), 1, 3),
        (json!([[1, 2], [3]]), 2, 3),
    ] {
        let body = body(&post("/embeddings", json!({"model": "echo", "input": input})).play());
        assert_eq!(body["data"].as_array().map(Vec::len), Some(count));
        assert_eq!(body["data"][0]["embedding"].as_array().map(Vec::len), Some(8));
        assert_eq!(body["usage"], json!({"prompt_tokens": words, "total_tokens": words}));
    }
}

#[test]
fn embeddings_honour_dimensions_and_base64() {
    let asked = json!({"model": "echo", "input": "hi", "dimensions": 3, "encoding_format": "base64"});
    let body = body(&post("/embeddings", asked).play());
    // 12 bytes.
    assert_eq!(body["data"][0]["embedding"].as_str().map(str::len), Some(16));
}

#[test]
fn responses_answer_whole() {
    let input = json!([{"role": "user", "content": [{"type": "input_text", "text": "one two"}]}]);
    let asked = json!({"model": "echo", "input": input, "instructions": "be kind"});
    let body = body(&post("/responses", asked).play());
    assert_eq!((body["status"].as_str(), body["id"].as_str()), (Some("completed"), Some("resp_mock_7")));
    assert_eq!(body["output"][0]["content"][0]["text"], "one two");
    assert_eq!((&body["usage"]["input_tokens"], &body["usage"]["output_tokens"]), (&json!(4), &json!(2)));
}

fn kinds(script: &Script) -> Vec<String> {
    events(script).iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

#[test]
fn responses_stream_the_documented_events() {
    let script = post("/responses", json!({"model": "echo", "input": "one two", "stream": true})).play();
    assert_eq!(
        kinds(&script),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let events = events(&script);
    assert!(events.iter().enumerate().all(|(at, event)| event["sequence_number"] == at));
    assert_eq!(events[9]["response"]["usage"]["total_tokens"], 4);
    assert!(sent(&script)[0].starts_with("event: response.created\ndata: {"));
}

#[test]
fn a_response_that_is_cut_is_incomplete() {
    let asked = json!({"model": "echo", "input": "one two", "stream": true, "max_output_tokens": 1});
    let events = events(&post("/responses", asked).play());
    let last = events.last().expect("events");
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"], json!({"reason": "max_output_tokens"}));
}

#[test]
fn a_response_calls_a_required_function() {
    let tools = json!([{"type": "function", "name": "weather"}]);
    let asked = json!({"model": "echo", "input": "hi", "tools": tools, "tool_choice": "required", "stream": true});
    let script = post("/responses", asked).play();
    assert_eq!(kinds(&script)[3], "response.function_call_arguments.delta");
    assert_eq!(events(&script)[5]["item"]["name"], "weather");
}

#[test]
fn models_are_listed_and_any_name_is_one() {
    let list = body(&get("/models").play());
    assert_eq!(list["data"].as_array().map(Vec::len), Some(MODELS.len()));
    for entry in list["data"].as_array().expect("a list") {
        assert!(model::named(entry["id"].as_str().expect("an id")).is_ok());
    }
    assert_eq!(body(&get("/models/org/any").play())["id"], "org/any");
}

#[test]
fn moderations_flag_a_text_that_names_a_category() {
    let asked = json!({"input": ["a walk in the park", "so much violence"]});
    let results = body(&post("/moderations", asked).play())["results"].clone();
    assert_eq!((&results[0]["flagged"], &results[1]["flagged"]), (&json!(false), &json!(true)));
    assert_eq!(results[1]["categories"]["violence"], true);
}

#[test]
fn an_image_is_a_png_and_speech_is_a_wav() {
    let image = body(&post("/images/generations", json!({"prompt": "a cat", "n": 2})).play());
    assert_eq!(image["data"].as_array().map(Vec::len), Some(2));
    assert!(image["data"][0]["b64_json"].as_str().expect("base64").starts_with("iVBORw0KGgo"));
    let speech = post("/audio/speech", json!({"model": "tts-1", "input": "hi", "voice": "alloy"})).play();
    assert_eq!(speech.header("content-type"), Some("audio/wav"));
    assert_eq!(speech.length(), Some(1644));
    assert!(sent(&speech).concat().starts_with("RIFF"));
}

fn form(path: &'static str) -> Scene {
    let mut scene = post(path, json!(null)).with("content-type", "multipart/form-data; boundary=B");
    scene.body = concat!(
        "--B\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--B--\r\n"
    )
    .into();
    scene
}

#[test]
fn uploads_tell_what_the_form_held() {
    let file = body(&form("/files").play());
    assert_eq!((&file["bytes"], &file["filename"], &file["purpose"]), (&json!(5), &json!("a.txt"), &json!("batch")));
    assert_eq!(body(&form("/audio/transcriptions").play()), json!({"text": "transcribed a.txt 5 bytes"}));
    assert_eq!(body(&form("/audio/translations").play()), json!({"text": "translated a.txt 5 bytes"}));
    assert_eq!(body(&form("/images/edits").play())["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(post("/files", json!({})).play().status, 400);
}

#[test]
fn the_model_in_a_form_may_be_a_fault() {
    let mut scene = form("/audio/transcriptions");
    let model = "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nfault-503\r\n";
    scene.body.splice(..0, model.bytes());
    assert_eq!(scene.play().status, 503);
}

#[test]
fn probes_send_what_is_asked() {
    assert_eq!(get("/bytes/1000000000").play().steps, [Step::Fill { count: 1_000_000_000 }]);
    assert_eq!(get("/bytes/many").play().status, 400);
    for (path, status) in [("/status/201", 201), ("/status/204", 204), ("/status/418", 418), ("/empty", 204)] {
        assert_eq!(get(path).play().status, status);
    }
    assert_eq!(get("/status/100").play().status, 400);
}

#[test]
fn anything_else_is_told_back() {
    let scene = Scene { method: "PATCH", ..post("/vector_stores/x", json!({"a": [1]})) };
    let told = body(&scene.with("content-type", "application/json").play());
    assert_eq!((&told["object"], &told["method"]), (&json!("mock.echo"), &json!("PATCH")));
    assert_eq!((&told["path"], &told["bytes"]), (&json!("/vector_stores/x"), &json!(9)));
    assert_eq!(told["body"], json!({"a": [1]}));
}
