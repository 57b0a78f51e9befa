//! The walls, one row each; a broken one says where, what, and what to do about it.

mod circles;
mod dependencies;
mod floors;
mod licences;
mod reach;
mod sizes;
mod supply;
#[cfg(test)]
mod tests;
mod texts;

use std::path::Path;
use std::time::Instant;

use crate::finding::Finding;
use crate::house::House;

pub(crate) struct Wall {
    name: &'static str,
    why: &'static str,
    check: fn(&House) -> Vec<Finding>,
}

pub(crate) const WALLS: &[Wall] = &[
    Wall {
        name: "floors",
        why: "our crates depend downwards only, so that each can be read, built and tested without what is above it",
        check: floors::floors,
    },
    Wall {
        name: "pure-crates",
        why: "words and rules need no I/O, clock or chance: the same function serves live traffic, dry runs and replay",
        check: reach::pure,
    },
    Wall {
        name: "module-circles",
        why: "two modules that need each other are one module in two files; neither can be understood alone",
        check: circles::circles,
    },
    Wall {
        name: "orphans",
        why: "a file that no module declares looks alive and is not; nothing compiles, formats or tests it",
        check: circles::orphans,
    },
    Wall {
        name: "environment",
        why: "every setting is read in one file, so that the list of settings is complete",
        check: reach::environment,
    },
    Wall {
        name: "sql",
        why: "one crate knows how things are kept; everything above it speaks of records",
        check: reach::sql,
    },
    Wall {
        name: "one-door-out",
        why: "every outgoing call passes the same address guard, time limits and pools",
        check: reach::one_door_out,
    },
    Wall {
        name: "http-edge",
        why: "handlers take and give plain values; the HTTP server is known in three files",
        check: reach::http_edge,
    },
    Wall {
        name: "clock-and-chance",
        why: "time and randomness are arguments, so that expiry, resets and routing can be tested without waiting",
        check: reach::clock_and_chance,
    },
    Wall {
        name: "unsafe",
        why: "no crate of ours may hold unsafe code, and none may leave the common lints",
        check: floors::lints,
    },
    Wall { name: "names", why: "a file called after nothing in particular collects everything", check: sizes::names },
    Wall {
        name: "sizes",
        why: "a file is one thought, a function one step; the list of exceptions may only shrink",
        check: sizes::sizes,
    },
    Wall {
        name: "dependency-reasons",
        why: "each dependency says what it is for and why it is not written by hand",
        check: dependencies::reasons,
    },
    Wall {
        name: "licences",
        why: "everything we ship may be used under the licences that deny.toml allows",
        check: licences::licences,
    },
    Wall {
        name: "bans",
        why: "one TLS and crypto stack, one registry, no crate or feature that changes others behind their back",
        check: supply::bans,
    },
    Wall {
        name: "texts",
        why: "what is published names no one's machine and leaves no unowned loose end",
        check: texts::texts,
    },
];

/// Holds every wall; true when all stand.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let start = Instant::now();
    let house = House::load(root)?;
    let mut broken = 0;
    for wall in WALLS {
        let mut findings = (wall.check)(&house);
        findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        if findings.is_empty() {
            println!("ok   {}", wall.name);
            continue;
        }
        broken += 1;
        println!("FAIL {}: {}", wall.name, wall.why);
        for finding in findings {
            println!("     {}:{}: {}", finding.file, finding.line, finding.says);
        }
    }
    let (walls, sources, took) = (WALLS.len(), house.sources.len(), start.elapsed().as_secs_f32());
    println!("{} of {walls} walls stand; {sources} sources read in {took:.1} s", walls - broken);
    Ok(broken == 0)
}

pub(crate) fn list() {
    for wall in WALLS {
        println!("{:18} {}", wall.name, wall.why);
    }
}
