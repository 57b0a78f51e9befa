//! Builds the house, top to bottom; the only place that chooses a backend.

use std::sync::Arc;
use std::time::Duration;

use access::{Bounds, Keyring};
use anyhow::{Context, Result, anyhow};
use control::Control;
use domain::ids::World;
use gateway::{Gateway, Limits};
use outbound::{Outbound, Policy};
use protocol::headers::Prefixes;
use store::{Notices, Settings};
use tokio::signal::unix::{SignalKind, signal};

use crate::bootstrap::{self, Prepared};
use crate::config::Config;
use crate::data::DataFolder;
use crate::listen::cors::Cors;
use crate::listen::door::{House, PhaseCell};
use crate::listen::{self, Listener, tls};
use crate::metrics::Metrics;
use crate::screen;
use crate::world::Real;

/// Callers that are held in memory; the fingerprints of all keys are held besides.
const CALLERS: usize = 100_000;
/// How often changes made by other processes are looked for.
const POLL: Duration = Duration::from_millis(500);

/// Serves until told to stop.
pub(crate) async fn serve(config: &Config) -> Result<()> {
    let world: Arc<dyn World> = Arc::new(Real);
    let tls = config.tls()?.map(|identity| tls::acceptor(&identity)).transpose()?;
    let outbound = outbound(config)?;
    let prefixes =
        Arc::new(Prefixes::new(&config.headers.prefixes).map_err(|bad| anyhow!("`headers.prefixes`: {bad}"))?);
    let cors = Cors::new(&config.cors)?;
    // Taken before anything is written, so that a busy port leaves no trace.
    let socket = listen::bind(config.listen()?).await?;

    let folder = DataFolder::prepare(config.data())?;
    let _lock = folder.lock()?;
    let settings = Arc::new(folder.settings(config).await?);
    let Prepared { hasher, first_keys } = bootstrap::prepare(&*settings, &folder, config, &*world).await?;
    let bounds = Bounds { callers: CALLERS, stale_ms: config.stale_keys().as_millis() as i64 };
    let keyring = Keyring::load(settings.clone() as Arc<dyn Settings>, hasher, bounds, world.now_ms()).await?;
    let keyring = Arc::new(keyring);
    let metrics = Arc::new(Metrics::new());
    let gateway = Arc::new(Gateway {
        world: world.clone(),
        keyring: keyring.clone(),
        outbound,
        prefixes: prefixes.clone(),
        recorder: metrics.clone(),
        limits: limits(config),
        ask_for_usage: config.outbound.ask_streams_for_usage,
        hosts: Default::default(),
    });
    let house = Arc::new(House {
        gateway,
        control: Control { world: world.clone(), keyring: keyring.clone(), prefixes: prefixes.clone() },
        world,
        prefixes,
        metrics: metrics.clone(),
        cors,
        service_name: config.server.service_name.clone(),
        metrics_enabled: config.metrics.enabled,
        metrics_token: config.metrics_token().cloned(),
        header_bytes: config.limits.header_bytes,
        calls: i64::from(config.limits.calls),
        phase: PhaseCell::default(),
    });
    let listener = Listener {
        tls,
        header_timeout: config.header_timeout(),
        keepalive_timeout: config.keepalive_timeout(),
        drain_timeout: config.drain_timeout(),
        connections: i64::from(config.limits.connections),
        socket,
    };
    open_files(config);
    let mut told = Told::new()?;
    screen::welcome(config, &folder, listener.socket.local_addr()?, listener.tls.is_some(), first_keys.as_ref());
    let watch =
        [tokio::spawn(poll_changes(keyring.clone(), metrics)), tokio::spawn(hear_changes(settings.notices(), keyring))];
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let serving = listener.serve(house, async { stopped.await.unwrap_or_default() });
    let ended = tokio::select! {
        () = serving => Ok(()),
        () = async {
            told.stop().await;
            stop.send(()).unwrap_or_default();
            told.stop().await;
        } => Err(anyhow!("told to stop twice: calls in flight were cut off")),
    };
    watch.iter().for_each(tokio::task::JoinHandle::abort);
    settings.close().await;
    ended
}

/// Takes as many descriptors as the system gives, and says when that is fewer than the settings promise: a call holds
/// two, the client's connection and the provider's.
fn open_files(config: &Config) {
    let wanted = u64::from(config.limits.connections) * 2 + 128;
    // Who may, raises the upper bound as well.
    let raised = rlimit::Resource::NOFILE.get().and_then(|(_, most)| {
        if most < wanted && rlimit::Resource::NOFILE.set(wanted, wanted).is_ok() {
            return Ok(wanted);
        }
        rlimit::increase_nofile_limit(u64::MAX)
    });
    match raised {
        Ok(given) if given < wanted => tracing::info!(
            "this process may open {given} files, too few for {} connections; raise it with `ulimit -n {wanted}` \
             (systemd: LimitNOFILE={wanted}), or lower MAX_CONNECTIONS",
            config.limits.connections
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be read"),
    }
}

fn limits(config: &Config) -> Limits {
    Limits {
        body_bytes: config.limits.body_bytes,
        json_bytes: config.json_bytes().min(config.limits.body_bytes),
        request_timeout: config.request_timeout(),
        idle_timeout: config.idle_timeout(),
        body_timeout: config.body_timeout(),
    }
}

/// The door out, as the settings want it.
pub(crate) fn outbound(config: &Config) -> Result<Outbound> {
    let policy = Policy::new(config.trusted_custom_hosts());
    let policy = policy.map_err(|bad| anyhow!("`outbound.trusted_custom_hosts` (TRUSTED_CUSTOM_HOSTS): {bad}"))?;
    let settings = outbound::Settings {
        connect_timeout: config.connect_timeout(),
        proxy: config.proxy(),
        extra_ca_pem: config.extra_ca()?,
        ..outbound::Settings::default()
    };
    Outbound::new(Arc::new(policy), settings).map_err(|error| anyhow!("the way out cannot be opened: {error}"))
}

/// Takes in what other processes change. While the store is away, what is known stays known.
async fn poll_changes(keyring: Arc<Keyring>, metrics: Arc<Metrics>) {
    loop {
        tokio::time::sleep(POLL).await;
        let away = match keyring.refresh(Real.now_ms()).await {
            Ok(()) => {
                if metrics.store_away.get() != 0 {
                    tracing::info!("the settings store is back");
                }
                0
            }
            Err(error) => {
                if metrics.store_away.get() == 0 {
                    tracing::error!(%error, "the settings store cannot be read; known keys go on");
                }
                1
            }
        };
        metrics.store_away.set(away);
    }
}

/// The same, as soon as the database tells. What is missed is polled.
async fn hear_changes(mut notices: Notices, keyring: Arc<Keyring>) {
    loop {
        let heard = notices.next().await;
        if heard.is_err() || keyring.refresh(Real.now_ms()).await.is_err() {
            tokio::time::sleep(POLL).await;
        }
    }
}

/// SIGTERM and SIGINT.
struct Told {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Told {
    fn new() -> Result<Told> {
        let watch = |kind| signal(kind).context("signals cannot be watched");
        Ok(Told { terminate: watch(SignalKind::terminate())?, interrupt: watch(SignalKind::interrupt())? })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
