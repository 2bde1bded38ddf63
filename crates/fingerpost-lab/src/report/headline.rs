//! Which figures speak for an experiment, and which of them surprise?

use std::collections::BTreeSet;

use super::Done;
use crate::escape;

/// More figures than this are folded away.
const SHOWN: usize = 9;

/// A headline figure as it is shown.
pub(super) struct Headline<'a> {
    pub(super) name: &'a str,
    value: f64,
    pub(super) odd: Odd,
}

/// Is a figure not what was expected? Those that are not come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Odd {
    Yes,
    No,
}

/// The headline figures in their order.
pub(super) fn figures(result: &Done) -> Vec<Headline<'_>> {
    let figures = &result.outcome.figures;
    // The longest name that a sentence begins with is the one it speaks of.
    let about = |sentence: &String| {
        let begins = |name: &&String| {
            let rest = sentence.strip_prefix(name.as_str());
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        figures.keys().filter(begins).max_by_key(|name| name.len())
    };
    let odd: BTreeSet<&String> = result.unexpected.iter().filter_map(about).collect();
    let mut headlines = Vec::with_capacity(figures.len());
    for (name, &value) in figures {
        let odd = if odd.contains(name) { Odd::Yes } else { Odd::No };
        headlines.push(Headline { name, value, odd });
    }
    headlines
}

/// All of them, folded away where they are many.
pub(super) fn list(figures: &[Headline<'_>]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let rows: String = figures.iter().map(Headline::row).collect();
    let list = format!("<dl class=\"figures\">\n{rows}</dl>\n");
    match figures.len() {
        ..=SHOWN => list,
        many => {
            format!("<details>\n<summary>All {many} headline figures</summary>\n{list}</details>\n")
        }
    }
}

impl Headline<'_> {
    /// In a line of the contents.
    pub(super) fn line(&self) -> String {
        let mark = match self.odd {
            Odd::Yes => {
                "<span class=\"odd\" title=\"Not as expected\">≠<span class=\"unseen\"> not as expected</span></span> "
            }
            Odd::No => "",
        };
        format!(
            "<li><span class=\"name\">{}</span> <span class=\"value\">{mark}{}</span></li>\n",
            escape::html(self.name),
            text(self.value),
        )
    }

    fn row(&self) -> String {
        let mark = match self.odd {
            Odd::Yes => "<span class=\"odd\">≠ not as expected</span>",
            Odd::No => "",
        };
        format!(
            "<div><dt>{}</dt><dd><span class=\"value\">{}</span>{mark}</dd></div>\n",
            escape::html(self.name),
            text(self.value),
        )
    }
}

/// A figure of which nobody said how many decimals it has.
fn text(value: f64) -> String {
    let decimals = match value.abs() {
        amount if amount >= 1000.0 && amount.fract() == 0.0 => 0,
        amount if amount >= 2.0 => 1,
        amount if amount >= 0.2 || amount == 0.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(amount) => format!("−{amount}"),
        None => text,
    }
}
