//! A gateway and a provider beside it.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use super::client::Call;
use super::mock::Mock;
use super::server::Server;
use super::unique;

pub(crate) struct Scene {
    pub(crate) server: Server,
    pub(crate) mock: Mock,
}

impl Scene {
    /// The scene of all tests that change nothing. It lives as long as one of them runs.
    pub(crate) async fn shared() -> Arc<Scene> {
        static SHARED: Mutex<Weak<Scene>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(scene) = shared.upgrade() {
            return scene;
        }
        let scene = Arc::new(Scene::with(&[]).await);
        *shared = Arc::downgrade(&scene);
        scene
    }

    pub(crate) async fn with(settings: &[(&str, &str)]) -> Scene {
        Scene { server: Server::with(settings).await, mock: Mock::start().await }
    }

    /// A call to the mock as if it were OpenAI, with a provider secret by which the mock knows it again.
    pub(crate) fn openai(&self, method: &str, path: &str) -> Call {
        let secret = unique("sk-test");
        self.server
            .call(method, path)
            .header("x-gateway-provider", "openai")
            .header("x-gateway-custom-host", &self.mock.base())
            .header("authorization", &format!("Bearer {secret}"))
            .marked(secret)
    }

    /// A chat with the mock over the network.
    pub(crate) fn chat(&self, model: &str, said: &str) -> Call {
        self.openai("POST", "/v1/chat/completions").chat(model, said)
    }
}
