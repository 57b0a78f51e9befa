//! The checks that keep the walls of the house, and the one command that tests it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command's output")]
#![allow(clippy::disallowed_methods, reason = "reads the environment that cargo and the shell give it")]

mod finding;
mod fuzz_run;
mod house;
mod metadata;
mod modules;
mod reading;
mod rig;
mod setup;
mod test_run;
mod walls;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  check           hold the walls; one line for each, exit 1 when one is broken
  check --list    say what each wall is for
  test            format, walls, lints, builds, all tests; ends with the sum of passed and failed
  ci              the same as test
      --skip a,b  leave out steps: fmt, check, clippy, build, release, test, postgres
  rig COMMAND …   run a command beside a throw-away PostgreSQL and Redis, told by TEST_… variables,
                  for instance: cargo xtask rig cargo test -p store
      --all       the suite over HTTP then keeps everything in PostgreSQL
  fuzz NAME       change known inputs at random and see whether what must hold still holds;
                  NAME is sse, splice, path, body, guard, config, or all
      --seconds N for so long [default: 30]
      --seed S    the same inputs again [default: 1]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["check"] => walls::check(&house::root()),
        ["check", "--list"] => {
            walls::list();
            Ok(true)
        }
        ["test" | "ci"] => test_run::run(&house::root(), &[]),
        ["test" | "ci", "--skip", steps] => test_run::run(&house::root(), &steps.split(',').collect::<Vec<_>>()),
        ["rig", "--all", program, arguments @ ..] => test_run::beside_a_rig(program, arguments, true),
        ["rig", program, arguments @ ..] => test_run::beside_a_rig(program, arguments, false),
        ["fuzz", name, options @ ..] => fuzz_run::run(&house::root(), name, options),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
