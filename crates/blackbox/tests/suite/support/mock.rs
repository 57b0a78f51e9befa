//! `gatehouse mock` on a free port: a provider that remembers what reached it.

use serde_json::Value;

use super::client::Call;
use super::process::{Process, command};
use super::{PATIENCE, eventually};

pub(crate) struct Mock {
    /// Ends with it.
    _process: Process,
    pub(crate) address: String,
}

impl Mock {
    pub(crate) async fn start() -> Mock {
        Mock::at("127.0.0.1:0").await
    }

    pub(crate) async fn at(address: &str) -> Mock {
        let mut process = Process::spawn(command(&["mock", "--listen", address], &[]));
        let told = process.told("ready: http://").await;
        let address = told.split_once("/v1").expect("a base URL").0.to_owned();
        Mock { _process: process, address }
    }

    /// What a custom host is set to.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Calls that hold this word.
    pub(crate) async fn calls(&self, word: &str) -> Vec<Value> {
        let path = format!("/__mock/calls?contains={word}");
        let list = Call::to(&self.address, "GET", &path).send().await.json();
        list["calls"].as_array().expect("a list").clone()
    }

    /// The one call that holds this word.
    pub(crate) async fn only(&self, word: &str) -> Value {
        let mut calls = self.calls(word).await;
        assert_eq!(calls.len(), 1, "calls with {word}: {calls:?}");
        calls.remove(0)
    }

    /// The one call with this word, once it has come to this state.
    pub(crate) async fn until(&self, word: &str, claim: impl Fn(&Value) -> bool) -> Value {
        eventually("the mock has come to it", PATIENCE, async || self.calls(word).await.into_iter().find(&claim)).await
    }
}
