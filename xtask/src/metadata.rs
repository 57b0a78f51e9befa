//! What `cargo metadata` tells: packages, who declares what, and what is really built for this machine.
//!
//! One trap shapes this file: the `resolve` part also holds edges that exist only because some feature says
//! `ring?/std`. Such a weak feature does not switch the optional dependency on, so nothing is built; `built`
//! leaves these edges out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) resolve: Option<Resolve>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Option<String>,
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) rename: Option<String>,
    /// `dev`, `build`, or nothing for the ordinary kind.
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) optional: bool,
    /// Set for crates of this repository.
    pub(crate) path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) deps: Vec<Edge>,
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edge {
    /// The import name: underscores, after renaming.
    pub(crate) name: String,
    pub(crate) pkg: String,
}

/// A package of the built graph.
pub(crate) struct Built<'a> {
    pub(crate) package: &'a Package,
    pub(crate) features: &'a [String],
    /// One way down to it, from a crate of ours, for the message.
    pub(crate) way: Vec<&'a str>,
}

impl Metadata {
    /// Asks cargo: without the network when that works, else with it.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Metadata> {
        let host = host()?;
        let ask = |offline: bool| {
            let mut command = Command::new(cargo());
            command.current_dir(root).args(["metadata", "--format-version", "1", "--locked", "--filter-platform"]);
            command.arg(&host).args(offline.then_some("--offline")).output().context("cannot start cargo")
        };
        let mut output = ask(true)?;
        if !output.status.success() {
            output = ask(false)?;
        }
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("cargo metadata gave something unexpected")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Every package reachable from our crates, with the features cargo gave it. Our own crates come first.
    pub(crate) fn built(&self) -> Vec<Built<'_>> {
        let packages: BTreeMap<&str, &Package> = self.packages.iter().map(|p| (p.id.as_str(), p)).collect();
        let nodes: BTreeMap<&str, &Node> =
            self.resolve.iter().flat_map(|resolve| &resolve.nodes).map(|node| (node.id.as_str(), node)).collect();
        let mut seen: BTreeSet<&str> = self.workspace_members.iter().map(String::as_str).collect();
        let mut queue: Vec<(&str, Vec<&str>)> = seen.iter().map(|id| (*id, Vec::new())).collect();
        let mut built = Vec::new();
        let mut next = 0;
        while next < queue.len() {
            let (id, mut way) = queue[next].clone();
            next += 1;
            let (Some(package), Some(node)) = (packages.get(id), nodes.get(id)) else { continue };
            way.push(&package.name);
            for edge in &node.deps {
                if is_on(package, node, edge) && seen.insert(&edge.pkg) {
                    queue.push((&edge.pkg, way.clone()));
                }
            }
            built.push(Built { package, features: &node.features, way });
        }
        built
    }
}

/// Whether a feature that is on, or the mere declaration, switches this dependency on.
fn is_on(package: &Package, node: &Node, edge: &Edge) -> bool {
    let key = |dependency: &Dependency| dependency.rename.clone().unwrap_or_else(|| dependency.name.clone());
    let declared: Vec<&Dependency> =
        package.dependencies.iter().filter(|d| key(d).replace('-', "_") == edge.name).collect();
    if declared.iter().any(|dependency| !dependency.optional) {
        return true;
    }
    // A renamed library target has an import name that no declaration shows: believe the edge.
    let Some(dependency) = declared.first() else { return true };
    let name = key(dependency);
    let (exact, inside) = (format!("dep:{name}"), format!("{name}/"));
    node.features.iter().any(|feature| {
        let implied = package.features.get(feature).map(Vec::as_slice).unwrap_or_default();
        implied.iter().any(|part| *part == exact || part.starts_with(&inside))
    })
}

pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn host() -> anyhow::Result<String> {
    let output = Command::new(cargo()).arg("-vV").output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`cargo -vV` names no host")?.trim().to_owned())
}
