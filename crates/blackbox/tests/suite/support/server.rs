//! `gatehouse serve` on a free port, with a data folder of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::client::Call;
use super::process::{Process, Ran, command, run};

pub(crate) struct Server {
    pub(crate) process: Process,
    /// `host:port`.
    pub(crate) address: String,
    scheme: String,
    settings: Vec<(String, String)>,
    folder: PathBuf,
    /// Kept as long as the server, where it is the server's own.
    _own: Option<TempDir>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::with(&[]).await
    }

    /// With settings from the environment.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Server {
        let own = tempfile::tempdir().expect("a folder");
        let mut server = Server::on(&own.path().join("data"), settings).await;
        server._own = Some(own);
        server
    }

    /// On a folder that outlives it.
    pub(crate) async fn on(folder: &Path, settings: &[(&str, &str)]) -> Server {
        let data = folder.to_str().expect("a UTF-8 path");
        let mut process = Process::spawn(command(&["serve", "--data", data, "--listen", "127.0.0.1:0"], settings));
        let base = process.told("Base URL").await;
        let (scheme, rest) = base.split_once("://").expect("a URL");
        let address = rest.strip_suffix("/v1").expect("the base has the version").to_owned();
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Server { process, address, scheme: scheme.to_owned(), settings, folder: folder.to_owned(), _own: None }
    }

    /// The base URL as a client is given it.
    pub(crate) fn base(&self) -> String {
        format!("{}://{}/v1", self.scheme, self.address)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn workspace_key(&self) -> String {
        self.first_key("workspace")
    }

    pub(crate) fn admin_key(&self) -> String {
        self.first_key("admin")
    }

    fn first_key(&self, name: &str) -> String {
        let path = self.folder.join("first-keys").join(name);
        std::fs::read_to_string(path).expect("the first start kept it").trim().to_owned()
    }

    /// A call with the workspace key.
    pub(crate) fn call(&self, method: &str, path: &str) -> Call {
        Call::to(&self.address, method, path).header("x-gateway-api-key", &self.workspace_key())
    }

    /// A call without any key.
    pub(crate) fn bare(&self, method: &str, path: &str) -> Call {
        Call::to(&self.address, method, path)
    }

    /// A chat with the built-in provider.
    pub(crate) fn chat(&self, model: &str, said: &str) -> Call {
        self.call("POST", "/v1/chat/completions").header("x-gateway-provider", "mock").chat(model, said)
    }

    /// Another command of the binary, on the same folder with the same settings.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let settings: Vec<(&str, &str)> = self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        let data = self.folder.to_str().expect("a UTF-8 path");
        run(&[arguments, &["--data", data]].concat(), &settings).await
    }
}
