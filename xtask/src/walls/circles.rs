//! No two modules of a crate need each other, directly or around a corner.

use super::Finding;
use crate::house::{House, Source};
use crate::modules::{self, Arrow, Modules};

pub(super) fn circles(house: &House) -> Vec<Finding> {
    let mut krates: Vec<&str> = house.sources.iter().map(|source| source.krate.as_str()).collect();
    krates.dedup();
    let mut findings = Vec::new();
    for krate in krates {
        let sources: Vec<&Source> =
            house.sources.iter().filter(|source| source.krate == krate && !source.test).collect();
        for modules in modules::crates(&sources) {
            findings.extend(circles_of(&modules));
        }
    }
    findings
}

fn circles_of(modules: &Modules) -> Vec<Finding> {
    let arrows = modules.arrows();
    components(modules.all.len(), &arrows)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let inside: Vec<&Arrow> =
                arrows.iter().filter(|a| component.contains(&a.from) && component.contains(&a.to)).collect();
            let uses: Vec<String> = inside
                .iter()
                .map(|arrow| {
                    let (from, to) = (&modules.all[arrow.from], &modules.all[arrow.to]);
                    let (file, line, path) = (&from.file, arrow.line, &arrow.path);
                    format!("\n         {} needs {} by `{path}` ({file}:{line})", from.name, to.name)
                })
                .collect();
            let first = inside.first().map_or(("", 1), |arrow| (&modules.all[arrow.from].file, arrow.line));
            let says = format!(
                "{} modules form a circle; move what they share into a module below them:{}",
                component.len(),
                uses.concat()
            );
            Finding::new(first.0, first.1, says)
        })
        .collect()
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
