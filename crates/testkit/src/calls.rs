//! The record of what arrived: the last thousand calls, each with its progress.

use std::collections::VecDeque;
use std::sync::Arc;

use http::HeaderMap;
use http::request::Parts;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

const KEPT_CALLS: usize = 1000;
/// Of each body.
pub(crate) const KEPT_BYTES: usize = 64 * 1024;

pub(crate) struct Calls {
    /// Tells this mock's calls from those of another.
    series: String,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    last: u64,
    calls: VecDeque<Arc<Call>>,
}

struct Call {
    n: u64,
    id: String,
    method: String,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    progress: Mutex<Progress>,
}

struct Progress {
    received: u64,
    body: Vec<u8>,
    /// Known once the body is whole.
    sha256: Option<String>,
    sent: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Answered,
    HungUp,
}

/// A call under way. Dropped before it was answered, it was left by its caller.
pub(crate) struct Running(Arc<Call>);

impl Calls {
    pub(crate) fn new(series: String) -> Calls {
        Calls { series, kept: Mutex::default() }
    }

    pub(crate) fn begin(&self, head: &Parts) -> Running {
        let mut kept = self.kept.lock();
        kept.last += 1;
        let call = Arc::new(Call {
            n: kept.last,
            id: format!("{}-{}", self.series, kept.last),
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: head.headers.clone(),
            progress: Mutex::new(Progress {
                received: 0,
                body: Vec::new(),
                sha256: None,
                sent: 0,
                state: State::Running,
            }),
        });
        if kept.calls.len() == KEPT_CALLS {
            kept.calls.pop_front();
        }
        kept.calls.push_back(call.clone());
        Running(call)
    }

    /// The calls that contain a word in path, query, headers or body; without a word, all.
    pub(crate) fn list(&self, word: Option<&str>) -> Value {
        // Told outside the lock: a thousand bodies take a while to write.
        let (last, calls) = {
            let kept = self.kept.lock();
            (kept.last, kept.calls.clone())
        };
        let told: Vec<Value> =
            calls.iter().filter(|call| word.is_none_or(|word| call.contains(word))).map(|call| call.tell()).collect();
        json!({"calls": told, "last": last})
    }

    /// Forgets the calls, not their number: `n` goes on.
    pub(crate) fn clear(&self) {
        self.kept.lock().calls.clear();
    }
}

impl Running {
    /// Unique among the calls of all mocks.
    pub(crate) fn id(&self) -> &str {
        &self.0.id
    }

    pub(crate) fn received(&self, piece: &[u8]) {
        let mut progress = self.0.progress.lock();
        progress.received += piece.len() as u64;
        let room = KEPT_BYTES - progress.body.len();
        progress.body.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    pub(crate) fn hashed(&self, sha256: &str) {
        self.0.progress.lock().sha256 = Some(sha256.to_owned());
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.0.progress.lock().sent += bytes as u64;
    }

    pub(crate) fn answered(&self) {
        self.0.progress.lock().state = State::Answered;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut progress = self.0.progress.lock();
        if progress.state == State::Running {
            progress.state = State::HungUp;
        }
    }
}

impl Call {
    fn tell(&self) -> Value {
        let progress = self.progress.lock();
        json!({
            "n": self.n,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": told(&self.headers),
            "bytes": progress.received,
            "sha256": progress.sha256,
            "body": String::from_utf8_lossy(&progress.body),
            "state": match progress.state {
                State::Running => "running",
                State::Answered => "answered",
                State::HungUp => "hung_up",
            },
            "sent": progress.sent,
            "received": progress.received,
        })
    }

    fn contains(&self, word: &str) -> bool {
        self.path.contains(word)
            || self.query.as_ref().is_some_and(|query| query.contains(word))
            || self.headers.values().any(|value| String::from_utf8_lossy(value.as_bytes()).contains(word))
            || String::from_utf8_lossy(&self.progress.lock().body).contains(word)
    }
}

/// Values of a repeated header are joined as HTTP allows.
fn told(headers: &HeaderMap) -> Map<String, Value> {
    let values = |name| headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    headers.keys().map(|name| (name.to_string(), values(name).collect::<Vec<_>>().join(", ").into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(calls: &Calls, uri: &str) -> Running {
        calls.begin(&http::Request::get(uri).body(()).expect("a request").into_parts().0)
    }

    #[test]
    fn the_record_keeps_the_last_thousand() {
        let calls = Calls::new("a".to_owned());
        (0..1200).for_each(|_| begin(&calls, "/a").answered());
        let list = calls.list(None);
        assert_eq!((list["calls"].as_array().map(Vec::len), &list["last"]), (Some(1000), &json!(1200)));
        assert_eq!(list["calls"][0]["n"], 201);
    }

    #[test]
    fn a_body_is_kept_in_part_and_counted_whole() {
        let calls = Calls::new("a".to_owned());
        let call = begin(&calls, "/a");
        (0..3).for_each(|_| call.received(&[b'x'; 50_000]));
        let told = calls.list(None)["calls"][0].clone();
        assert_eq!((&told["received"], told["body"].as_str().map(str::len)), (&json!(150_000), Some(KEPT_BYTES)));
    }

    #[test]
    fn a_call_that_is_dropped_was_hung_up() {
        let calls = Calls::new("a".to_owned());
        let call = begin(&calls, "/a?b=c");
        assert_eq!(calls.list(Some("b=c"))["calls"][0]["state"], "running");
        drop(call);
        assert_eq!(calls.list(Some("b=c"))["calls"][0]["state"], "hung_up");
        assert_eq!(calls.list(Some("nothing"))["calls"], json!([]));
    }
}
