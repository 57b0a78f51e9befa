//! The one command that a bare machine needs: prepares, checks, builds, tests, and sums up.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::metadata::cargo;
use crate::rig::Rig;
use crate::setup::{need_c_compiler, need_component};
use crate::walls;

/// Where everything is built: outside the clone, unless told otherwise.
struct Place {
    root: PathBuf,
    target: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
}

const STEPS: &[&str] = &["fmt", "check", "clippy", "build", "release", "test", "postgres"];

pub(crate) fn run(root: &Path, skip: &[&str]) -> anyhow::Result<bool> {
    if let Some(unknown) = skip.iter().find(|step| !STEPS.contains(step)) {
        bail!("there is no step `{unknown}`; the steps are {}", STEPS.join(", "));
    }
    let place = Place { root: root.canonicalize()?, target: target_folder()? };
    println!("building in {}", place.target.display());
    need_c_compiler()?;
    for component in ["fmt", "clippy"].iter().filter(|component| !skip.contains(component)) {
        need_component(component)?;
    }
    let mut sum = Sum::default();
    let tests = ["test", "postgres"].iter().any(|step| !skip.contains(step));
    let rig = if tests { Some(Rig::start()?) } else { None };
    for step in STEPS.iter().filter(|step| !skip.contains(*step)) {
        println!("==> {step}");
        let start = Instant::now();
        let done = match *step {
            "fmt" => place.cargo(&["fmt", "--all", "--check"])?,
            "check" => walls::check(&place.root)?,
            "clippy" => place.cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?,
            "build" => place.cargo(&["build", "--locked", "--workspace", "--bins"])?,
            "release" => place.cargo(&["build", "--release", "--locked", "-p", "server"])?,
            "test" => place.test(&mut sum, rig.as_ref(), &["--workspace"])?,
            // The same suite over HTTP once more, with its data in PostgreSQL.
            _ => place.test(&mut sum, rig.as_ref(), &["--workspace", "--test", "suite"])?,
        };
        println!("==> {step} {} in {:.1} s", if done { "done" } else { "FAILED" }, start.elapsed().as_secs_f32());
        if !done {
            report(step, &sum);
            return Ok(false);
        }
    }
    println!("gatehouse: {} passed, {} failed", sum.passed, sum.failed);
    Ok(sum.failed == 0)
}

/// Runs one command while a PostgreSQL and a Redis are there.
pub(crate) fn beside_a_rig(program: &str, arguments: &[&str], everything: bool) -> anyhow::Result<bool> {
    let rig = Rig::start()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(rig.variables());
    command.envs(rig.databases(everything));
    Ok(command.status().with_context(|| format!("cannot start {program}"))?.success())
}

fn report(step: &str, sum: &Sum) {
    let remedy = match step {
        "fmt" => "run `cargo fmt --all`",
        "check" => "each line above names the remedy; `cargo xtask check` alone is quick",
        "clippy" => "run `cargo clippy --workspace --all-targets` and follow it",
        "build" | "release" => "the compiler's message stands above",
        _ => "run the named test alone with `cargo test -p <crate> <name>`",
    };
    println!("stopped at `{step}`: {remedy}");
    // A test program that does not compile or dies has no result line of its own.
    let failed = if step == "test" { sum.failed.max(1) } else { sum.failed };
    println!("gatehouse: {} passed, {failed} failed", sum.passed);
}

impl Place {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target).args(arguments);
        // Set by the outer `cargo xtask`; the crates under test have their own.
        command.env_remove("CARGO_MANIFEST_DIR");
        command
    }

    fn cargo(&self, arguments: &[&str]) -> anyhow::Result<bool> {
        let status = self.command(arguments).status().context("cannot start cargo")?;
        Ok(status.success())
    }

    /// Runs all tests, lets their output through, and counts.
    fn test(&self, sum: &mut Sum, rig: Option<&Rig>, what: &[&str]) -> anyhow::Result<bool> {
        let binary = self.target.join("release").join("gatehouse");
        let mut command = self.command(&[&["test", "--locked", "--no-fail-fast"], what].concat());
        if let Some(rig) = rig {
            command.envs(rig.variables()).envs(rig.databases(what.contains(&"suite")));
        }
        if binary.exists() {
            command.env("GATEHOUSE_BIN", &binary);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
        let output = child.stdout.take().context("the output of cargo test is not there")?;
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read the output of cargo test")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            sum.add(&line);
        }
        let done = child.wait()?.success();
        if done && sum.passed == 0 {
            bail!("cargo test ran no test at all; that cannot be right");
        }
        Ok(done)
    }
}

impl Sum {
    /// Takes a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; …`; others count nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        let words: Vec<&str> = result.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
        for pair in words.windows(2) {
            let count = || pair[0].parse::<u64>().unwrap_or_default();
            match pair[1] {
                "passed" => self.passed += count(),
                "failed" => self.failed += count(),
                _ => {}
            }
        }
    }
}

fn target_folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    if let Some(target) = set("CARGO_TARGET_DIR") {
        return std::path::absolute(target).context("`CARGO_TARGET_DIR` is no usable path");
    }
    let cache = match set("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(set("HOME").context("neither `CARGO_TARGET_DIR` nor `HOME` is set")?).join(".cache"),
    };
    Ok(cache.join("gatehouse").join("target"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed_and_others_are_not() {
        let mut sum = Sum::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
            "a test said: 5 passed",
        ] {
            sum.add(line);
        }
        assert_eq!(sum, Sum { passed: 13, failed: 2 });
    }

    #[test]
    fn an_unknown_step_cannot_be_skipped_by_mistake() {
        let error = run(Path::new("."), &["fnt"]).expect_err("the step does not exist");
        assert!(error.to_string().contains("`fnt`"), "{error}");
    }
}
