//! What a proxy does to the connections it carries. One table of names serves the command line, the control port and the
//! report, so that a fault is spelt the same everywhere.

use std::time::Duration;

use serde_json::{Map, Value};

/// What becomes of bytes and connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Pass,
    /// Everything stands still and nothing is lost: it goes on where it stopped.
    Stop,
    /// Nobody listens. Connections that are open go on.
    Refuse,
    /// Connections are taken and bytes swallowed; nothing ever comes back.
    BlackHole,
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cut {
    #[default]
    Rst,
    Fin,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    pub mode: Mode,
    /// Every byte arrives so much later, in both directions. It delays and does not slow: bytes follow each other as sent.
    pub delay: Duration,
    /// For the answers of each connection; 0 is no limit.
    pub bytes_per_second: u64,
    /// A connection is cut once so many bytes of answers have passed; 0 cuts at once.
    pub cut_after: Option<u64>,
    pub cut: Cut,
}

struct Row {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Faults, &str) -> Option<()>,
    tell: fn(&Faults) -> Value,
}

const MODES: &[(&str, Mode)] =
    &[("pass", Mode::Pass), ("stop", Mode::Stop), ("refuse", Mode::Refuse), ("blackhole", Mode::BlackHole)];
const CUTS: &[(&str, Cut)] = &[("rst", Cut::Rst), ("fin", Cut::Fin)];

const ROWS: &[Row] = &[
    Row {
        name: "mode",
        expected: "`pass`, `stop`, `refuse` or `blackhole`",
        set: |faults, text| named(MODES, text).map(|mode| faults.mode = mode),
        tell: |faults| name_of(MODES, faults.mode),
    },
    Row {
        name: "delay_ms",
        expected: "a whole number of milliseconds",
        set: |faults, text| text.parse().ok().map(|ms| faults.delay = Duration::from_millis(ms)),
        tell: |faults| (faults.delay.as_millis() as u64).into(),
    },
    Row {
        name: "bytes_per_second",
        expected: "a whole number; 0 is no limit",
        set: |faults, text| text.parse().ok().map(|rate| faults.bytes_per_second = rate),
        tell: |faults| faults.bytes_per_second.into(),
    },
    Row {
        name: "cut_after",
        expected: "a whole number of bytes, or `never`",
        set: |faults, text| {
            let limit = if text == "never" { None } else { Some(text.parse().ok()?) };
            faults.cut_after = limit;
            Some(())
        },
        tell: |faults| faults.cut_after.map_or("never".into(), Value::from),
    },
    Row {
        name: "cut",
        expected: "`rst` or `fin`",
        set: |faults, text| named(CUTS, text).map(|cut| faults.cut = cut),
        tell: |faults| name_of(CUTS, faults.cut),
    },
];

fn named<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(names: &[(&str, T)], value: T) -> Value {
    names.iter().find(|(_, known)| *known == value).map_or(Value::Null, |(name, _)| (*name).into())
}

impl Faults {
    /// Takes `name=value`; what is not named stays. The error is for the person who wrote it.
    pub fn set(&mut self, pair: &str) -> Result<(), String> {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(row) = ROWS.iter().find(|row| row.name == name) else {
            let known: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            return Err(format!("there is no fault `{name}`; there are {}", known.join(", ")));
        };
        (row.set)(self, text).ok_or_else(|| format!("`{name}` must be {}", row.expected))
    }

    pub fn tell(&self) -> Value {
        Value::Object(ROWS.iter().map(|row| (row.name.to_owned(), (row.tell)(self))).collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_told_as_it_can_be_set() {
        for pair in ["mode=stop", "delay_ms=5", "bytes_per_second=7", "cut_after=0", "cut=fin"] {
            let mut faults = Faults::default();
            faults.set(pair).unwrap();
            assert_ne!(faults, Faults::default(), "{pair}");
            let (name, text) = pair.split_once('=').unwrap();
            assert_eq!(faults.tell()[name].to_string().trim_matches('"'), text);
        }
        assert_eq!(Faults::default().tell().as_object().map(Map::len), Some(ROWS.len()));
    }

    #[test]
    fn a_misspelt_fault_is_refused_with_what_there_is() {
        let refused = |pair: &str| Faults::default().set(pair).unwrap_err();
        assert!(refused("dealy_ms=5").contains("delay_ms"));
        assert_eq!(refused("mode=broken"), "`mode` must be `pass`, `stop`, `refuse` or `blackhole`");
        assert!(refused("cut_after").contains("`cut_after` must be"));
    }
}
