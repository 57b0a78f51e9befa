//! The shapes of each provider other than OpenAI, literally.

use super::tongues::{Spoken, TONGUES, messages};
use super::*;

#[test]
fn anthropic_speaks_in_named_events() {
    let script = TONGUES[1].streamed("claude").play();
    let names: Vec<Value> = events(&script).iter().map(|event| event["type"].clone()).collect();
    let delta = "content_block_delta";
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "ping",
            delta,
            delta,
            delta,
            delta,
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let events = events(&script);
    assert_eq!(
        events[0]["message"],
        json!({"id": "msg_mock_7", "type": "message", "role": "assistant", "model": "claude", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 4, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}})
    );
    assert_eq!(events[3], json!({"type": delta, "index": 0, "delta": {"type": "text_delta", "text": "one"}}));
    assert_eq!(
        events[8],
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 4}})
    );
    assert!(sent(&script)[0].starts_with("event: message_start\ndata: "));
    assert_eq!(script.header("request-id"), Some("req_mock_7"));
}

#[test]
fn anthropic_counts_the_system_and_wants_a_limit() {
    let asked = json!({"model": "echo", "system": "be kind", "max_tokens": 2,
        "messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "one two three"}]}]}]});
    let told = body(&Spoken::new("/messages", asked.clone()).play());
    assert_eq!((&told["content"][0]["text"], &told["stop_reason"]), (&json!("one two"), &json!("max_tokens")));
    assert_eq!(told["usage"]["input_tokens"], 5);
    let counted = Spoken::new("/v1/messages/count_tokens", asked).play();
    assert_eq!((body(&counted), &counted.bill), (json!({"input_tokens": 5}), &None));
    let unlimited = json!({"model": "echo", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(
        body(&Spoken::new("/v1/messages", unlimited).play()),
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "mock: `max_tokens` is missing"}})
    );
}

#[test]
fn gemini_tells_the_finish_with_the_last_word() {
    let script = TONGUES[2].streamed("gemini-2.5-flash").play();
    assert!(sent(&script).iter().all(|event| event.starts_with("data: {") && event.ends_with("\r\n\r\n")));
    let events = events(&script);
    assert_eq!(
        events[3],
        json!({"candidates": [{"content": {"parts": [{"text": " four"}], "role": "model"}, "index": 0,
            "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 4,
            "totalTokenCount": 8, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 4}]},
            "modelVersion": "gemini-2.5-flash", "responseId": "mock-7"})
    );
    assert_eq!(events[0]["candidates"][0].get("finishReason"), None);
    let array = TONGUES[3].streamed("gemini-2.5-flash").play();
    assert_eq!(body(&array), json!(events));
    assert_eq!(array.header("content-type"), Some("application/json"));
    let broken = body(&TONGUES[3].streamed("fault-error-in-stream").play());
    assert_eq!((broken.as_array().map(Vec::len), &broken[2]["error"]["code"]), (Some(3), &json!(500)));
}

#[test]
fn gemini_counts_and_embeds() {
    let contents = json!([{"parts": [{"text": "one two"}]}]);
    let request = json!({"contents": contents, "systemInstruction": {"parts": [{"text": "be kind"}]}});
    for (asked, count) in [(json!({"contents": contents}), 2), (json!({"generateContentRequest": request}), 4)] {
        let counted = Spoken::new("/v1beta/models/echo:countTokens", asked).play();
        assert_eq!((&body(&counted)["totalTokens"], &counted.bill), (&json!(count), &None));
    }
    let one = json!({"content": {"parts": [{"text": "one two"}]}, "outputDimensionality": 3});
    let script = Spoken::new("/v1/models/echo:embedContent", one.clone()).play();
    assert_eq!(body(&script)["embedding"]["values"].as_array().map(Vec::len), Some(3));
    assert_eq!(script.bill.map(|bill| (bill.input, bill.output)), Some((2, 0)));
    let script = Spoken::new("/v1beta/models/echo:batchEmbedContents", json!({"requests": [one, one]})).play();
    assert_eq!(body(&script)["embeddings"].as_array().map(Vec::len), Some(2));
}

#[test]
fn bedrock_streams_messages_with_good_checksums() {
    let names = |script: &Script| messages(script).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let script = TONGUES[4].streamed("echo").play();
    assert_eq!(script.header("content-type"), Some("application/vnd.amazon.eventstream"));
    let delta = "contentBlockDelta";
    assert_eq!(
        names(&script),
        ["messageStart", delta, delta, delta, delta, "contentBlockStop", "messageStop", "metadata"]
    );
    let messages = messages(&script);
    assert_eq!(messages[2].1, json!({"contentBlockIndex": 0, "delta": {"text": " two"}}));
    assert_eq!(messages[7].1["usage"], json!({"inputTokens": 4, "outputTokens": 4, "totalTokens": 8}));
}

/// The JSON inside the chunks of InvokeModel.
fn chunks(script: &Script) -> Vec<Value> {
    use base64::Engine;
    let unpack = |payload: &Value| {
        let packed = payload["bytes"].as_str().expect("a text");
        let bytes = base64::engine::general_purpose::STANDARD.decode(packed).expect("base64");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    messages(script).iter().map(|(_, payload)| unpack(payload)).collect()
}

#[test]
fn bedrock_invokes_each_vendor_in_its_shape() {
    let invoked = |body: Value| Spoken::new("/model/vendor.echo%3A0/invoke", body).play();
    let llama = invoked(json!({"prompt": "one two", "max_gen_len": 1}));
    assert_eq!(
        body(&llama),
        json!({"generation": "one", "stop_reason": "length", "prompt_token_count": 2, "generation_token_count": 1})
    );
    assert_eq!(llama.header("x-amzn-bedrock-input-token-count"), Some("2"));
    assert_eq!(llama.bill.map(|bill| bill.model).as_deref(), Some("vendor.echo:0"));
    let titan = invoked(json!({"inputText": "one two", "textGenerationConfig": {}}));
    assert_eq!(
        body(&titan),
        json!({"inputTextTokenCount": 2,
            "results": [{"outputText": "one two", "completionReason": "FINISH", "tokenCount": 2}]})
    );
    let embedded = body(&invoked(json!({"inputText": "one two", "dimensions": 4})));
    assert_eq!(
        (embedded["embedding"].as_array().map(Vec::len), &embedded["inputTextTokenCount"]),
        (Some(4), &json!(2))
    );
    let embedded = body(&invoked(json!({"texts": ["one", "two"], "input_type": "search_document"})));
    assert_eq!(embedded["embeddings"].as_array().map(Vec::len), Some(2));
    assert_eq!(invoked(json!({"nothing": 1})).status, 400);
}

#[test]
fn bedrock_streams_each_vendor_in_its_shape() {
    let invoked = |body: Value| Spoken::new("/model/vendor.echo/invoke-with-response-stream", body).play();
    let metrics = json!({"inputTokenCount": 2, "outputTokenCount": 2, "invocationLatency": 1, "firstByteLatency": 1});
    for (asked, field) in [
        (json!({"prompt": "one two"}), "generation"),
        (json!({"inputText": "one two", "textGenerationConfig": {}}), "outputText"),
    ] {
        let chunks = chunks(&invoked(asked));
        assert_eq!((chunks.len(), &chunks[1][field]), (3, &json!(" two")));
        assert_eq!(chunks[2]["amazon-bedrock-invocationMetrics"], metrics);
    }
    let claude = chunks(&TONGUES[5].streamed("echo").play());
    assert_eq!((&claude[0]["type"], &claude[9]["type"]), (&json!("message_start"), &json!("message_stop")));
    assert_eq!(claude[9]["amazon-bedrock-invocationMetrics"]["outputTokenCount"], 4);
    assert_eq!(invoked(json!({"inputText": "one two"})).status, 400);
}

#[test]
fn bedrock_names_what_breaks_a_stream() {
    for (status, kind) in [
        ("400", "validationException"),
        ("424", "modelStreamErrorException"),
        ("429", "throttlingException"),
        ("500", "internalServerException"),
        ("503", "serviceUnavailableException"),
    ] {
        let script = TONGUES[4].streamed("echo").with("x-mock-error-in-stream", &format!("1-{status}")).play();
        assert_eq!(messages(&script)[1].0, kind);
    }
}

#[test]
fn a_cent_of_a_vendor_is_a_cent() {
    let bill = TONGUES[5].whole("cent").play().bill.expect("a bill");
    assert_eq!((bill.model.as_str(), bill.tariff.call), ("anthropic.cent", 10_000_000));
}

#[test]
fn bedrock_counts_tokens_of_both_shapes() {
    use base64::Engine;
    let asked = json!({"messages": [{"role": "user", "content": [{"text": "one two"}]}], "system": [{"text": "kind"}]});
    let packed = base64::engine::general_purpose::STANDARD.encode(asked.to_string());
    for input in [json!({"converse": asked}), json!({"invokeModel": {"body": packed}})] {
        let counted = Spoken::new("/model/echo/count-tokens", json!({"input": input})).play();
        assert_eq!((body(&counted), &counted.bill), (json!({"inputTokens": 3}), &None));
    }
}

#[test]
fn bedrock_lets_in_who_signs_or_has_the_key() {
    let refused = |change: fn(&mut HeaderMap)| {
        let mut spoken = TONGUES[4].whole("echo");
        change(&mut spoken.headers);
        let script = spoken.play();
        (script.status, script.header("x-amzn-errortype").unwrap_or_default().to_owned(), body(&script))
    };
    let (status, kind, said) = refused(|headers| drop(headers.remove("authorization")));
    assert_eq!((status, kind.as_str()), (403, "MissingAuthenticationTokenException"));
    assert_eq!(said, json!({"message": "mock: missing authentication token"}));
    let (status, kind, _) = refused(|headers| drop(headers.insert("host", "other".parse().expect("a value"))));
    assert_eq!((status, kind.as_str()), (403, "InvalidSignatureException"));
    let (status, ..) = refused(|headers| drop(headers.insert("authorization", "Bearer x".parse().expect("a value"))));
    assert_eq!(status, 403);
    let key = format!("Bearer {API_KEY}");
    let mut spoken = TONGUES[4].whole("echo");
    spoken.headers.insert("authorization", key.parse().expect("a value"));
    assert_eq!(spoken.play().status, 200);
    // Another body than the one that was signed.
    let mut spoken = TONGUES[4].whole("echo");
    spoken.body.push(b' ');
    assert_eq!(spoken.play().status, 403);
}

#[test]
fn cohere_speaks_in_named_events() {
    let script = TONGUES[6].streamed("command").play();
    let events = events(&script);
    let names: Vec<Value> = events.iter().map(|event| event["type"].clone()).collect();
    let delta = "content-delta";
    assert_eq!(names, ["message-start", "content-start", delta, delta, delta, delta, "content-end", "message-end"]);
    assert_eq!(events[2]["delta"]["message"]["content"]["text"], "one");
    let tokens = json!({"input_tokens": 4, "output_tokens": 4});
    assert_eq!(
        events[7],
        json!({"type": "message-end", "id": "mock-7",
            "delta": {"finish_reason": "COMPLETE", "usage": {"billed_units": tokens, "tokens": tokens}}})
    );
    assert_eq!(sent(&script).last().map(String::as_str), Some("data: [DONE]\n\n"));
}

#[test]
fn cohere_embeds_and_reranks() {
    let asked = json!({"model": "echo", "texts": ["one two", "three"], "input_type": "search_query",
        "embedding_types": ["float", "base64"], "output_dimension": 3});
    let script = Spoken::new("/v2/embed", asked).play();
    let told = body(&script);
    assert_eq!(told["embeddings"]["float"].as_array().map(Vec::len), Some(2));
    assert!(told["embeddings"]["base64"][0].is_string());
    assert_eq!(told["meta"]["billed_units"], json!({"input_tokens": 3}));
    let documents = json!(["rain", {"text": "the red fox"}, "a fox"]);
    let script = Spoken::new("/v2/rerank", json!({"model": "echo", "query": "red fox", "documents": documents})).play();
    let result = |index: u64, score: f64| json!({"index": index, "relevance_score": score});
    assert_eq!(
        body(&script),
        json!({"id": "mock-7", "results": [result(1, 1.0), result(2, 0.5), result(0, 0.0)],
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}})
    );
    assert_eq!(script.bill.map(|bill| (bill.input, bill.searches)), Some((0, 1)));
}
