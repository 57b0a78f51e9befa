//! What the machine must have, and how it is installed where we may.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    let quiet = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

pub(crate) fn may_install() -> bool {
    is_root() && works("apt-get", &["--version"])
}

pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let apt = |arguments: &[&str]| -> Result<bool> {
        let status = Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments).status();
        Ok(status.context("apt-get cannot be started")?.success())
    };
    let names = packages.join(" ");
    if apt(&["update", "-q"])? && apt(&[&["install", "-q", "-y", "--no-install-recommends"], packages].concat())? {
        return Ok(());
    }
    bail!("`apt-get install {names}` failed; its message stands above")
}

/// SQLite and the TLS library are built from C.
pub(crate) fn need_c_compiler() -> Result<()> {
    if works("cc", &["--version"]) {
        return Ok(());
    }
    if may_install() {
        println!("no C compiler; installing build-essential");
        return install(&["build-essential"]);
    }
    bail!("a C compiler is needed (`cc`); install it with `apt-get install build-essential`")
}

pub(crate) fn need_component(component: &str) -> Result<()> {
    let status =
        Command::new(cargo()).args([component, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let package = if component == "fmt" { "rustfmt" } else { component };
    bail!(
        "`cargo {component}` is missing; install it with `rustup component add {package}`, or pass `--skip {component}`"
    )
}
