//! The first start: organisation, workspace, owner, master key, one admin and one workspace key. Later starts see that
//! the master key fits the data, and that the keys automation asked for exist.

use access::{KeyHasher, Master, NewKey, Vault, fresh_key};
use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::ids::{self, World};
use domain::key::Kind;
use domain::records::{Organisation, OrganisationRole, User, Workspace, kinds};
use domain::scope;
use domain::secret::Secret;
use serde::Serialize;
use serde_json::json;
use store::{Audit, Change, Record, Settings, StoreError};

use crate::config::Config;
use crate::data::DataFolder;

/// What the seal holds when it is opened with the right master key.
const SEALED: &str = "gatehouse";

pub(crate) struct Prepared {
    pub(crate) hasher: KeyHasher,
    /// The keys that were made, where this was the first start.
    pub(crate) first_keys: Option<FirstKeys>,
}

pub(crate) struct FirstKeys {
    pub(crate) admin: Secret,
    pub(crate) workspace: Secret,
}

/// Where new things belong.
pub(crate) struct Home {
    pub(crate) organisation: String,
    pub(crate) workspace: String,
    pub(crate) owner: String,
}

pub(crate) async fn prepare(
    settings: &dyn Settings,
    folder: &DataFolder,
    config: &Config,
    world: &dyn World,
) -> Result<Prepared> {
    if home(settings).await?.is_none()
        && let Some(prepared) = first_start(settings, folder, config, world).await?
    {
        return Ok(prepared);
    }
    match home(settings).await? {
        None => bail!("the first start did not get through; start again"),
        Some(home) => {
            let master = fitting_master(settings, folder, config, &home).await?;
            let hasher = master.hasher();
            wanted_keys(settings, config, world, &hasher, &home).await?;
            Ok(Prepared { hasher, first_keys: None })
        }
    }
}

/// The organisation with its default workspace and owner, once the first start has made them.
pub(crate) async fn home(settings: &dyn Settings) -> Result<Option<Home>> {
    let Some(organisation) = settings.sweep(kinds::ORGANISATION, "", 1).await?.pop() else { return Ok(None) };
    let first = async |kind: &'static str| -> Result<String> {
        let all = settings.sweep(kind, "", 1000).await?;
        let own = all.into_iter().filter(|record| record.organisation == organisation.id);
        let oldest = own.min_by_key(|record| record.created_at);
        oldest.map(|record| record.id).with_context(|| format!("the data has no {kind}"))
    };
    Ok(Some(Home {
        workspace: first(kinds::WORKSPACE).await?,
        owner: first(kinds::USER).await?,
        organisation: organisation.id,
    }))
}

/// The master key that this data was sealed under.
pub(crate) async fn fitting_master(
    settings: &dyn Settings,
    folder: &DataFolder,
    config: &Config,
    home: &Home,
) -> Result<Master> {
    let (master, place) = match config.master_key() {
        Some(text) => {
            (Some(Master::new(text.clone()).map_err(|bad| anyhow!("MASTER_KEY: {bad}"))?), "MASTER_KEY".into())
        }
        None => (folder.master()?, format!("`{}`", folder.master_path().display())),
    };
    let Some(master) = master else {
        bail!(
            "{place} is missing, and the data in `{}` was sealed with it; restore it from your backup, or set MASTER_KEY",
            folder.path().display()
        );
    };
    let seal = settings.get(kinds::SEAL, &home.organisation, kinds::SEAL).await?;
    let sealed = seal.as_ref().and_then(|record| record.doc["sealed"].as_str()).context("the data has no seal")?;
    let opened = STANDARD.decode(sealed).ok().and_then(|bytes| master.vault().open(kinds::SEAL, &bytes).ok());
    if opened.is_none_or(|word| word.expose() != SEALED) {
        bail!("the master key in {place} is not the one this data was sealed with; bring back the right one");
    }
    Ok(master)
}

/// `None` when another node was first.
async fn first_start(
    settings: &dyn Settings,
    folder: &DataFolder,
    config: &Config,
    world: &dyn World,
) -> Result<Option<Prepared>> {
    let master = match (config.master_key(), folder.master()?) {
        (Some(text), _) => Master::new(text.clone()).map_err(|bad| anyhow!("MASTER_KEY: {bad}"))?,
        (None, Some(kept)) => kept,
        (None, None) => folder.make_master(world)?,
    };
    let hasher = master.hasher();
    let keys = FirstKeys {
        admin: config.bootstrap_admin_key().cloned().unwrap_or_else(|| fresh_key(world, Kind::OrganisationService)),
        workspace: config
            .bootstrap_workspace_key()
            .cloned()
            .unwrap_or_else(|| fresh_key(world, Kind::WorkspaceService)),
    };
    // Before the commit: if we are stopped in between, the next start is a first start again and writes them anew.
    folder.keep_first_key("admin", &keys.admin)?;
    folder.keep_first_key("workspace", &keys.workspace)?;

    let home = Home { organisation: ids::fresh(world), workspace: ids::fresh(world), owner: ids::fresh(world) };
    let mut records = residents(world, &home);
    records.push(seal(world, &master.vault(), &home)?);
    records.push(bootstrap_key(&home, Kind::OrganisationService).record(world, &hasher, &keys.admin));
    records.push(bootstrap_key(&home, Kind::WorkspaceService).record(world, &hasher, &keys.workspace));
    let audit = audit(world, &home, "organisation.create", kinds::ORGANISATION, &home.organisation);
    match settings.commit(records.into_iter().map(Change::Insert).collect(), audit).await {
        Ok(_) => Ok(Some(Prepared { hasher, first_keys: Some(keys) })),
        Err(StoreError::Exists) => {
            folder.forget_first_keys();
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn residents(world: &dyn World, home: &Home) -> Vec<Record> {
    let name = "Shared Team Workspace";
    let mut random = [0; 3];
    world.random(&mut random);
    let organisation = Organisation { name: "My organisation".into() };
    let workspace = Workspace { name: name.into(), is_default: true };
    let owner =
        User { first_name: "Owner".into(), last_name: String::new(), email: None, role: OrganisationRole::Owner };
    vec![
        record(world, home, kinds::ORGANISATION, &home.organisation, None, &organisation),
        record(world, home, kinds::WORKSPACE, &home.workspace, Some(ids::slug("ws-", name, 6, random)), &workspace),
        record(world, home, kinds::USER, &home.owner, None, &owner),
    ]
}

fn record(
    world: &dyn World,
    home: &Home,
    kind: &str,
    id: &str,
    handle: Option<String>,
    doc: &impl Serialize,
) -> Record {
    let now = world.now_ms();
    Record {
        kind: kind.into(),
        id: id.into(),
        organisation: home.organisation.clone(),
        workspace: None,
        handle,
        status: Record::ACTIVE.into(),
        version: 1,
        doc: serde_json::to_value(doc).unwrap_or_default(),
        created_at: now,
        updated_at: now,
    }
}

/// Its id is always the same, so that only one of several nodes that start together can be first.
fn seal(world: &dyn World, vault: &Vault, home: &Home) -> Result<Record> {
    let sealed = vault.seal(world, kinds::SEAL, &Secret::new(SEALED))?;
    let doc = json!({ "sealed": STANDARD.encode(sealed) });
    Ok(record(world, home, kinds::SEAL, kinds::SEAL, None, &doc))
}

fn bootstrap_key(home: &Home, kind: Kind) -> NewKey {
    let (name, workspace) = match kind {
        Kind::OrganisationService => ("First admin key", None),
        Kind::WorkspaceService | Kind::WorkspaceUser => ("First workspace key", Some(home.workspace.clone())),
    };
    NewKey {
        name: name.into(),
        kind,
        organisation: home.organisation.clone(),
        workspace,
        scopes: scope::every(kind),
        expires_at_ms: None,
        user: None,
    }
}

/// Keys from the environment that are not known yet.
async fn wanted_keys(
    settings: &dyn Settings,
    config: &Config,
    world: &dyn World,
    hasher: &KeyHasher,
    home: &Home,
) -> Result<()> {
    let wanted = [
        ("BOOTSTRAP_ADMIN_KEY", Kind::OrganisationService, config.bootstrap_admin_key()),
        ("BOOTSTRAP_WORKSPACE_KEY", Kind::WorkspaceService, config.bootstrap_workspace_key()),
    ];
    for (variable, kind, key) in wanted {
        let Some(key) = key else { continue };
        let handle = KeyHasher::handle(&hasher.hash(key.expose()));
        match settings.find(kinds::API_KEY, &handle).await? {
            Some(known) if known.active() => {}
            Some(_) => tracing::warn!("the key in {variable} was revoked and stays so; give another"),
            None => {
                let mut new = bootstrap_key(home, kind);
                new.name = variable.into();
                let record = new.record(world, hasher, key);
                let audit = audit(world, home, "api_key.create", kinds::API_KEY, &record.id);
                settings.commit(vec![Change::Insert(record)], audit).await?;
            }
        }
    }
    Ok(())
}

fn audit(world: &dyn World, home: &Home, action: &str, kind: &str, id: &str) -> Audit {
    Audit {
        organisation: home.organisation.clone(),
        at: world.now_ms(),
        actor: "bootstrap".into(),
        action: action.into(),
        target_kind: kind.into(),
        target_id: id.into(),
        address: String::new(),
        detail: json!({}),
    }
}
