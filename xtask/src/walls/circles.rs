//! No two modules of a crate need each other, directly or around a corner; and no file is left out of its crate.

use crate::finding::Finding;
use crate::house::{House, Source};
use crate::modules::{self, Arrow, Modules};

pub(super) fn circles(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in krates(house) {
        for modules in modules::crates(&sources_of(house, krate)) {
            findings.extend(circles_of(&modules));
        }
    }
    findings
}

/// More arrows than these are not read by anyone; then one shortest circle is told.
const TELL_ALL: usize = 8;

/// Sources that no `mod` line reaches: they are neither compiled nor formatted.
pub(super) fn orphans(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for krate in krates(house) {
        let sources: Vec<&Source> = sources_of(house, krate);
        let reached: Vec<String> =
            modules::crates(&sources).into_iter().flat_map(|modules| modules.all).map(|module| module.file).collect();
        let lost = sources.iter().filter(|source| source.path.contains("/src/") && !reached.contains(&source.path));
        let says = "no `mod` line leads here, so it is never compiled; declare it or delete it";
        findings.extend(lost.map(|source| Finding::new(&source.path, 1, says)));
    }
    findings
}

fn krates(house: &House) -> Vec<&str> {
    let mut krates: Vec<&str> = house.sources.iter().map(|source| source.krate.as_str()).collect();
    krates.dedup();
    krates
}

fn sources_of<'a>(house: &'a House, krate: &str) -> Vec<&'a Source> {
    house.sources.iter().filter(|source| source.krate == krate && !source.test).collect()
}

fn circles_of(modules: &Modules) -> Vec<Finding> {
    let arrows = modules.arrows();
    let circles = components(modules.all.len(), &arrows).into_iter().filter(|component| component.len() > 1);
    circles
        .map(|component| {
            let inside: Vec<&Arrow> =
                arrows.iter().filter(|a| component.contains(&a.from) && component.contains(&a.to)).collect();
            let told = if inside.len() > TELL_ALL { shortest(&inside) } else { inside };
            let names: Vec<&str> = component.iter().map(|index| modules.all[*index].name.as_str()).collect();
            let mut says = format!("a circle: {}; move what they share into a module below them", names.join(", "));
            for arrow in &told {
                let (from, to) = (&modules.all[arrow.from], &modules.all[arrow.to]);
                let (file, line, path) = (&from.file, arrow.line, &arrow.path);
                says += &format!("\n         {} needs {} for `{path}` ({file}:{line})", from.name, to.name);
            }
            let first = told.first().map_or(("", 1), |arrow| (&modules.all[arrow.from].file, arrow.line));
            Finding::new(first.0, first.1, says)
        })
        .collect()
}

/// The arrows of one shortest circle.
fn shortest<'a>(arrows: &[&'a Arrow]) -> Vec<&'a Arrow> {
    let circle_from = |start: &'a Arrow| {
        let mut ways = vec![vec![start]];
        let mut seen = vec![start.to];
        let mut next = 0;
        while let Some(way) = ways.get(next).cloned() {
            next += 1;
            let at = way.last().map_or(start.to, |arrow| arrow.to);
            if at == start.from {
                return Some(way);
            }
            for arrow in arrows.iter().filter(|arrow| arrow.from == at) {
                if !seen.contains(&arrow.to) {
                    seen.push(arrow.to);
                    ways.push(way.iter().copied().chain([*arrow]).collect());
                }
            }
        }
        None
    };
    arrows.iter().filter_map(|arrow| circle_from(arrow)).min_by_key(Vec::len).unwrap_or_default()
}

/// The strongly connected components: modules that can reach each other.
fn components(count: usize, arrows: &[Arrow]) -> Vec<Vec<usize>> {
    let mut reach = vec![vec![false; count]; count];
    for (start, row) in reach.iter_mut().enumerate() {
        let mut queue = vec![start];
        while let Some(at) = queue.pop() {
            for arrow in arrows.iter().filter(|arrow| arrow.from == at) {
                if !row[arrow.to] {
                    row[arrow.to] = true;
                    queue.push(arrow.to);
                }
            }
        }
    }
    let mut taken = vec![false; count];
    let mut found = Vec::new();
    for start in 0..count {
        if taken[start] {
            continue;
        }
        let together: Vec<usize> =
            (0..count).filter(|other| *other == start || reach[start][*other] && reach[*other][start]).collect();
        together.iter().for_each(|index| taken[*index] = true);
        found.push(together);
    }
    found
}
