//! Runs one fuzz target for as long as one likes. Targets are ordinary tests (`crates/fuzz`); here they are only found,
//! built as the whole workspace builds them, and given time and a seed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::metadata::cargo;

struct Target {
    name: &'static str,
    /// The test program: its name and kind as cargo tells them.
    program: (&'static str, &'static str),
    test: &'static str,
}

const TARGETS: &[Target] = &[
    Target {
        name: "sse",
        program: ("protocol", "lib"),
        test: "fuzz::streams::events_do_not_depend_on_how_bytes_are_cut",
    },
    Target {
        name: "splice",
        program: ("protocol", "lib"),
        test: "fuzz::splices::an_edit_changes_its_field_and_no_other_byte",
    },
    Target { name: "path", program: ("protocol", "lib"), test: "fuzz::paths::an_accepted_path_has_one_reading" },
    Target { name: "body", program: ("protocol", "lib"), test: "fuzz::bodies::facts_are_those_of_the_whole_json" },
    Target { name: "guard", program: ("outbound", "test"), test: "fuzz::an_accepted_spelling_never_leads_inside" },
    Target { name: "config", program: ("domain", "lib"), test: "fuzz::any_inline_config_is_read_or_refused_by_name" },
    Target {
        name: "config",
        program: ("gatehouse", "bin"),
        test: "config::fuzz::any_settings_are_taken_or_refused_by_name",
    },
];

/// The programs of all targets, and no others.
const BUILD: &[&str] = &[
    "test",
    "--workspace",
    "--lib",
    "--bins",
    "--test",
    "outbound",
    "--no-run",
    "--message-format",
    "json-render-diagnostics",
];

pub(crate) fn run(root: &Path, name: &str, options: &[&str]) -> anyhow::Result<bool> {
    let Options { seconds, seed } = read(options)?;
    let targets = chosen(name)?;
    let programs = build(root)?;
    // A name with several targets shares its time among them.
    let share = (seconds / targets.len() as u64).max(1);
    let mut held = true;
    for target in targets {
        let program = programs.iter().find(|program| program.is(target)).with_context(|| {
            let (name, kind) = target.program;
            format!("cargo built no test program `{name}` ({kind}); has it moved? see xtask/src/fuzz_run.rs")
        })?;
        println!("==> {} {}: {share} s, seed {seed}", target.name, target.test);
        let output = Command::new(&program.executable)
            .current_dir(root)
            .args([target.test, "--exact", "--nocapture"])
            .env("FUZZ_SECONDS", share.to_string())
            .env("FUZZ_SEED", seed.to_string())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {}", program.executable))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            println!("{said}");
            held = false;
        } else if !said.contains("1 passed") {
            bail!("there is no test `{}`; has it been renamed? see xtask/src/fuzz_run.rs", target.test);
        }
    }
    println!("{}", if held { "everything held" } else { "something did not hold: see above" });
    Ok(held)
}

fn chosen(name: &str) -> anyhow::Result<Vec<&'static Target>> {
    let targets: Vec<&Target> = TARGETS.iter().filter(|target| name == "all" || target.name == name).collect();
    if targets.is_empty() {
        let mut known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        known.dedup();
        bail!("there is no fuzz target `{name}`; there are {} and `all`", known.join(", "));
    }
    Ok(targets)
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u64,
    seed: u64,
}

fn read(options: &[&str]) -> anyhow::Result<Options> {
    let mut read = Options { seconds: 30, seed: 1 };
    for pair in options.chunks(2) {
        let place = match pair[0] {
            "--seconds" => &mut read.seconds,
            "--seed" => &mut read.seed,
            other => bail!("there is no option `{other}`; there are --seconds N and --seed S"),
        };
        let number = pair.get(1).and_then(|text| text.parse().ok());
        *place = number.with_context(|| format!("`{}` needs a whole number", pair[0]))?;
    }
    Ok(read)
}

struct Program {
    name: String,
    kinds: Vec<String>,
    executable: String,
}

impl Program {
    fn is(&self, target: &Target) -> bool {
        self.name == target.program.0 && self.kinds.iter().any(|kind| kind == target.program.1)
    }
}

#[derive(Deserialize)]
struct Message {
    target: Option<MessageTarget>,
    executable: Option<String>,
}

#[derive(Deserialize)]
struct MessageTarget {
    name: String,
    kind: Vec<String>,
}

fn build(root: &Path) -> anyhow::Result<Vec<Program>> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(BUILD).env_remove("CARGO_MANIFEST_DIR").stderr(Stdio::inherit());
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the tests do not compile; the compiler's message stands above");
    }
    let lines = output.stdout.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| program(serde_json::from_slice(line).ok()?)).collect())
}

fn program(message: Message) -> Option<Program> {
    let (target, executable) = (message.target?, message.executable?);
    Some(Program { name: target.name, kinds: target.kind, executable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_wrong_ones_are_named() {
        assert_eq!(read(&[]).unwrap(), Options { seconds: 30, seed: 1 });
        assert_eq!(read(&["--seed", "7", "--seconds", "2"]).unwrap(), Options { seconds: 2, seed: 7 });
        for (options, part) in
            [(&["--speed", "7"][..], "--speed"), (&["--seed"], "--seed"), (&["--seed", "x"], "--seed")]
        {
            assert!(read(options).unwrap_err().to_string().contains(part), "{options:?}");
        }
    }

    #[test]
    fn a_name_may_have_several_targets_and_an_unknown_one_has_none() {
        assert_eq!(chosen("sse").unwrap().len(), 1);
        assert_eq!(chosen("config").unwrap().len(), 2);
        assert_eq!(chosen("all").unwrap().len(), TARGETS.len());
        assert!(chosen("ssee").err().unwrap().to_string().contains("sse, splice"));
    }

    #[test]
    fn every_target_is_a_test_that_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        let house = crate::house::House::load(&root).unwrap();
        for target in TARGETS {
            let name = target.test.rsplit("::").next().unwrap();
            let there = house.texts.iter().any(|(path, text)| {
                path.starts_with("crates/") && path.contains("fuzz") && text.contains(&format!("fn {name}() ->"))
            });
            assert!(there, "{name}");
        }
    }
}
