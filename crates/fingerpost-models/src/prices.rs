//! What does a model cost?
//!
//! The table is a file, `prices.toml`; a file of the user's comes before it. A model that neither
//! knows has no price: then tokens are counted and money is not.

use fingerpost::chat::Price;
use serde::Deserialize;

/// Prices by model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    model: Vec<Entry>,
}

/// Why a table of prices cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PriceError(String);

/// The price of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownPrice {
    /// Of single calls.
    pub single: Price,
    /// Of calls in a batch.
    pub batch: Price,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    input: f64,
    cached: Option<f64>,
    written: Option<f64>,
    output: f64,
    batch: Option<f64>,
}

impl Prices {
    /// The table that comes with the program.
    pub fn built_in() -> Self {
        Self::parse(include_str!("prices.toml")).expect("our own table")
    }

    /// A table as text.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let prices: Self = toml::from_str(text).map_err(|error| PriceError(error.to_string()))?;
        for Entry { name, input, cached, written, output, batch } in &prices.model {
            let all = [Some(*input), *cached, *written, Some(*output), *batch];
            if all.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
                return Err(PriceError(format!("the price of '{name}' is no price")));
            }
        }
        Ok(prices)
    }

    /// This table, and behind it another.
    #[must_use]
    pub fn before(mut self, other: Self) -> Self {
        self.model.extend(other.model);
        self
    }

    /// The price of a model at a server, by the user's table and ours. A server on this machine costs
    /// nothing that ours knows of.
    pub fn at(url: &str, model: &str, mine: Option<Self>) -> Option<KnownPrice> {
        let host = url.split("://").nth(1).unwrap_or_default();
        let local = ["localhost", "127.", "[::1]"].iter().any(|name| host.starts_with(name));
        let prices = match (mine, local) {
            (Some(mine), true) => mine,
            (None, true) => return None,
            (Some(mine), false) => mine.before(Self::built_in()),
            (None, false) => Self::built_in(),
        };
        prices.of(model)
    }

    /// The price of a model: of its own entry, or of the longest name that its name goes on from.
    /// Of two entries of one name the first counts.
    pub fn of(&self, model: &str) -> Option<KnownPrice> {
        // Gateways put the maker before the name.
        let short = model.rsplit('/').next().unwrap_or(model);
        let fits = |entry: &&Entry| {
            [model, short].iter().any(|model| {
                model
                    .strip_prefix(&*entry.name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@']))
            })
        };
        let mut found: Option<&Entry> = None;
        for entry in self.model.iter().filter(fits) {
            if found.is_none_or(|found| entry.name.len() > found.name.len()) {
                found = Some(entry);
            }
        }
        let Entry { input, cached, written, output, batch, .. } = found?;
        let single = Price {
            input: *input,
            cached: cached.unwrap_or(*input),
            written: written.unwrap_or(*input),
            output: *output,
        };
        Some(KnownPrice { single, batch: single.times(batch.unwrap_or(1.0)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_counts() {
        let prices = Prices::built_in();
        let input = |model| prices.of(model).map(|price| price.single.input);
        assert_eq!(input("gpt-4o"), Some(2.5));
        assert_eq!(input("gpt-4o-mini-2024-07-18"), Some(0.15));
        assert_eq!(input("gpt-4o-2024-11-20"), Some(2.5));
        assert_eq!(input("anthropic/claude-sonnet-4-5"), Some(3.0));
        assert_eq!(input("gpt-4oo"), None);
        assert_eq!(input("qwen2.5-coder-0.5b"), None);
        let haiku = prices.of("claude-haiku-4-5").unwrap();
        assert_eq!((haiku.single.written, haiku.batch.output), (1.25, 2.5));
    }

    #[test]
    fn the_users_table_comes_first() {
        let mine = "[[model]]\nname = \"gpt-4o\"\ninput = 1\noutput = 2\n";
        let prices = Prices::parse(mine).unwrap().before(Prices::built_in());
        let price = prices.of("gpt-4o").unwrap();
        assert_eq!((price.single.input, price.single.cached, price.batch.output), (1.0, 1.0, 2.0));
        assert_eq!(prices.of("gpt-5").unwrap().single.input, 1.25);
        let input = |url, table| Prices::at(url, "gpt-4o", table).map(|price| price.single.input);
        assert_eq!(input("http://127.0.0.1:8080/v1", None), None, "a model of one's own");
        assert_eq!(input("http://localhost/v1", Prices::parse(mine).ok()), Some(1.0));
        assert_eq!(input("https://host/v1", None), Some(2.5));
        assert!(Prices::parse("[[model]]\nname = \"x\"\ninput = -1\noutput = 2\n").is_err());
        assert!(Prices::parse("[[model]]\nname = \"x\"\nprice = 1\n").is_err());
    }
}
