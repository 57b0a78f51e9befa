//! Every package we build may be used under a licence that deny.toml allows.
//!
//! Expressions are SPDX: `OR`, `AND`, `WITH`, parentheses, and the old `A/B` for `A OR B`. `AND` binds tighter.

use super::supply::{DENY, strings};
use crate::finding::Finding;
use crate::house::House;

pub(super) fn licences(house: &House) -> Vec<Finding> {
    let deny = match house.toml(DENY) {
        Some(Ok(deny)) => deny,
        _ => return vec![Finding::new(DENY, 1, "is missing or cannot be read; the allowed licences stand there")],
    };
    let licences = deny.get("licenses");
    let allowed = strings(licences.and_then(|licences| licences.get("allow")));
    let clarified: Vec<&str> = licences
        .and_then(|licences| licences.get("clarify"))
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|row| row.get("crate").and_then(toml::Value::as_str))
        .collect();
    let mut findings = Vec::new();
    for built in house.metadata.built() {
        let package = built.package;
        let says = match &package.license {
            None if clarified.contains(&package.name.as_str()) => continue,
            None => {
                "names no licence; find it out and state it under `[[licenses.clarify]]`, or leave the crate".to_owned()
            }
            Some(expression) => match satisfied(expression, &allowed) {
                Ok(true) => continue,
                Ok(false) => format!(
                    "is under `{expression}`, which is not allowed; leave the crate, or allow the licence with good reason"
                ),
                Err(why) => format!(
                    "has a licence that cannot be read, `{expression}`: {why}; state it under `[[licenses.clarify]]`"
                ),
            },
        };
        let says = format!("`{} {}` {says} (needed by {})", package.name, package.version, built.way.join(" > "));
        findings.push(Finding::new(DENY, house.line_of(DENY, "[licenses]"), says));
    }
    findings
}

/// Whether the expression can be met with allowed licences alone.
pub(super) fn satisfied(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, at: 0, allowed };
    let met = parser.either()?;
    match parser.words.get(parser.at) {
        None => Ok(met),
        Some(word) => Err(format!("`{word}` is not expected")),
    }
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    allowed: &'a [String],
}

impl Parser<'_> {
    fn take(&mut self, word: &str) -> bool {
        let here = self.words.get(self.at).is_some_and(|here| here.eq_ignore_ascii_case(word));
        self.at += usize::from(here);
        here
    }

    fn either(&mut self) -> Result<bool, String> {
        let mut met = self.both()?;
        while self.take("OR") {
            met |= self.both()?;
        }
        Ok(met)
    }

    fn both(&mut self) -> Result<bool, String> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Ok(met)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let met = self.either()?;
            return if self.take(")") { Ok(met) } else { Err("a parenthesis is not closed".to_owned()) };
        }
        let name = self.name()?;
        let name = if self.take("WITH") { format!("{name} WITH {}", self.name()?) } else { name };
        Ok(self.allowed.contains(&name))
    }

    fn name(&mut self) -> Result<String, String> {
        let word = self.words.get(self.at).ok_or("it ends too early")?;
        if [")", "(", "OR", "AND", "WITH"].contains(word) {
            return Err(format!("`{word}` stands where a licence should"));
        }
        self.at += 1;
        Ok((*word).to_owned())
    }
}
