//! A small fuzzer for tests: it changes known inputs in many ways and asks a target whether its promises still hold.
//!
//! It is blind to coverage, so it lives from its seeds (inputs that are interesting already) and its words (what the
//! grammar is made of). Every input follows from the seed of the run and its number alone: a failure comes back.
//! A target is a function that panics when a promise is broken; it is an ordinary test, which tries a few thousand inputs.
//! `cargo xtask fuzz` sets `FUZZ_SECONDS` and `FUZZ_SEED` and so lets the same test run for as long as one likes.

mod chance;
mod corpus;
mod mutate;
mod shrink;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

pub use corpus::Corpus;

use chance::Chance;

const SEED: u64 = 1;
const PROGRESS: Duration = Duration::from_secs(2);

/// An input that breaks a promise, as small as it could be made.
pub struct Failure {
    name: String,
    seed: u64,
    execution: u64,
    says: String,
    input: Vec<u8>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { name, seed, execution, says, input } = self;
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(f, "fuzz `{name}`: {says}")?;
        writeln!(f, "  seed {seed}, execution {execution}; smallest input that fails so ({} bytes):", input.len())?;
        writeln!(f, "  hex   {hex}")?;
        writeln!(f, "  again cargo xtask fuzz {name} --seconds 60 --seed {seed}")?;
        write!(f, "  keep  it as a line of the target's seeds:\n        b\"{}\",", input.escape_ascii())
    }
}

/// Tries inputs until the time is over; without a time, a few thousand.
pub fn run(corpus: &Corpus<'_>, target: impl Fn(&[u8])) -> Result<(), Failure> {
    let (seed, time) = (setting("FUZZ_SEED").unwrap_or(SEED), setting("FUZZ_SECONDS").map(Duration::from_secs));
    quieten();
    let start = Instant::now();
    let mut told = start;
    for execution in 0.. {
        let input = input(corpus, seed, execution);
        if let Some(says) = fails(&target, &input) {
            return Err(failure(corpus, seed, execution, input, says, &target));
        }
        let enough = match time {
            None => execution >= corpus.tries + corpus.seeds.len() as u64,
            Some(time) => start.elapsed() >= time,
        };
        if time.is_some() && (enough || told.elapsed() >= PROGRESS) {
            told = Instant::now();
            progress(corpus.name, execution + 1, start.elapsed());
        }
        if enough {
            break;
        }
    }
    Ok(())
}

/// The seeds as they stand come first.
fn input(corpus: &Corpus<'_>, seed: u64, execution: u64) -> Vec<u8> {
    match corpus.seeds.get(usize::try_from(execution).unwrap_or(usize::MAX)) {
        Some(plain) => plain.to_vec(),
        None => mutate::made(corpus, &mut Chance::new(seed, execution)),
    }
}

fn failure(
    corpus: &Corpus<'_>,
    seed: u64,
    execution: u64,
    input: Vec<u8>,
    says: String,
    target: &impl Fn(&[u8]),
) -> Failure {
    let input = shrink::shrink(input, |smaller| fails(target, smaller).is_some());
    // The smaller input may fail in other words, and those are the ones that fit it.
    let says = fails(target, &input).unwrap_or(says);
    Failure { name: corpus.name.to_owned(), seed, execution, says, input }
}

thread_local! {
    static TRYING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What the target says when it breaks.
fn fails(target: &impl Fn(&[u8]), input: &[u8]) -> Option<String> {
    TRYING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    TRYING.set(false);
    let panic = outcome.err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or("a panic".into()))
}

/// A failure is told once, by us: panics under trial print nothing. Those of other tests in this process print as ever.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !TRYING.get() {
                usual(info);
            }
        }));
    });
}

fn setting(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "set by `cargo xtask fuzz`; tests alone use this crate")]
    std::env::var(name).ok()?.parse().ok()
}

fn progress(name: &str, executions: u64, time: Duration) {
    let rate = executions as f64 / time.as_secs_f64().max(0.001);
    #[expect(clippy::print_stderr, reason = "the command's output")]
    {
        eprintln!("{name}: {executions} executions in {:.0} s, {rate:.0} a second", time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: Corpus<'_> = Corpus {
        name: "numbers",
        seeds: &[b"one 1", b"two 22"],
        words: &["needle", "\r\n"],
        longest: 200,
        tries: 3000,
    };

    #[test]
    fn a_run_is_the_same_for_the_same_seed_and_another_for_another() {
        let made = |seed| (0..200).map(|n| input(&CORPUS, seed, n)).collect::<Vec<_>>();
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        assert!(made(1).iter().all(|input| input.len() <= CORPUS.longest));
    }

    #[test]
    fn a_broken_promise_is_found_made_small_and_told_ready_to_keep() {
        let failure = run(&CORPUS, |input| {
            let text = String::from_utf8_lossy(input);
            assert!(!(text.contains("needle") && text.contains("22")), "found it");
        });
        let failure = failure.unwrap_err();
        let mut letters = failure.input.clone();
        letters.sort_unstable();
        assert_eq!(letters, b"22deeeln", "{failure:?}");
        let told = format!("{failure:?}");
        for part in ["fuzz `numbers`: found it", "--seed 1", "hex   ", "b\""] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn every_kind_of_panic_is_a_failure() {
        let nothing: &[u8] = &[];
        assert!(
            run(&CORPUS, |input| assert_eq!(nothing[input.len()], 0)).unwrap_err().says.contains("index out of bounds")
        );
        assert!(run(&CORPUS, |_| ()).is_ok());
    }
}
