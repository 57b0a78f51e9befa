//! A network in between that can be made bad: `gatehouse faultproxy`.

use super::client::{Answer, Call};
use super::process::{Process, command};

pub(crate) struct Line {
    /// Ends with it.
    _process: Process,
    pub(crate) address: String,
    control: String,
}

impl Line {
    pub(crate) async fn to(target: &str) -> Line {
        let free = "127.0.0.1:0";
        let mut process =
            Process::spawn(command(&["faultproxy", "--listen", free, "--control", free, "--to", target], &[]));
        let told = process.told("ready: ").await;
        let (address, rest) = told.split_once(" leads to ").expect("where it listens");
        let control =
            rest.split_once("http://").and_then(|(_, rest)| rest.split_once("/faults")).expect("its control").0;
        let (address, control) = (address.to_owned(), control.to_owned());
        Line { _process: process, address, control }
    }

    pub(crate) async fn faults(&self, method: &str, query: &str) -> Answer {
        Call::to(&self.control, method, &format!("/faults{query}")).send().await
    }
}
