//! What a provider would bill for an answer. The mock bills exactly what it made, whatever its answer says of that.
//!
//! An answer bills its input, and a whole one its output too, when its head is sent; a stream bills its output event by
//! event, so that one which breaks off or is left bills what was told until then. What was refused, hung before its head or
//! came as garbage or with nothing in it bills nothing; nor does counting tokens.

/// What one answer costs, by count.
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    /// The provider's format, as `FORMATS` names it.
    pub format: &'static str,
    /// As it was asked for.
    pub model: String,
    pub tariff: &'static Tariff,
    pub input: u64,
    /// Known at the head: all of a whole answer; a stream's is in its steps.
    pub output: u64,
    /// Only rerankers bill by searches: one for each hundred documents begun.
    pub searches: u64,
}

/// Prices in nano-dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tariff {
    /// The model; `*` is every other one.
    pub model: &'static str,
    pub call: u64,
    pub input_token: u64,
    pub output_token: u64,
    pub search: u64,
}

/// Every price there is; the last row is for all models that have none of their own.
pub const TARIFFS: &[Tariff] = &[
    Tariff { model: "cent", call: 10_000_000, input_token: 0, output_token: 0, search: 0 },
    Tariff { model: "*", call: 0, input_token: 1_000, output_token: 2_000, search: 2_000_000 },
];

impl Tariff {
    pub(super) fn of(model: &str) -> &'static Tariff {
        TARIFFS.iter().find(|row| row.model == model || row.model == "*").expect("the last row fits every model")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cent_is_a_cent_and_everything_else_goes_by_tokens() {
        assert_eq!(Tariff::of("cent").call, 10_000_000);
        assert_eq!(Tariff::of("gpt-4o").output_token, 2_000);
    }
}
