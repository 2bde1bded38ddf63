//! What did an experiment find?
//!
//! Tables, plots and notes as values, the same for every file that is written of them, and the headline
//! figures by name, which are compared with what was expected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What came of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Tables, in the order in which they are read.
    pub tables: Vec<Table>,
    /// Plots, in the order in which they are looked at.
    pub plots: Vec<Plot>,
    /// What has to be said beside them: whose pages, which readers, what is missing and why.
    pub notes: Vec<String>,
    /// Headline figures by name, such as `sra bm25 raw R@10`; shares in percent.
    pub figures: BTreeMap<String, f64>,
    /// From which stored run a figure can be computed again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proofs: BTreeMap<String, Proof>,
}

/// How somebody else can compute a figure again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The stored run.
    pub run: String,
    /// The library whose judgements count.
    pub data: String,
    /// How many of its requests were asked, evenly spaced.
    pub requests: usize,
    /// The measure, as `ir_measures` calls it.
    pub measure: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What its file is called.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// As many cells a row as there are headings.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A figure.
    Figure(Figure),
    /// Words.
    Text(String),
}

/// A figure as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The value; a share in percent.
    pub value: f64,
    /// Decimals that are shown.
    pub decimals: u8,
    /// Is it a difference, shown with its sign?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// Is it the better one of those it stands beside?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub better: bool,
    /// Where the true value may lie, 95 times of 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// A plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "form")]
pub enum Plot {
    /// Bars side by side, in groups.
    Bars {
        /// What its file is called.
        name: String,
        /// What it shows.
        title: String,
        /// What the height of a bar is.
        axis: String,
        /// Groups, from left to right.
        groups: Vec<String>,
        /// Bars of each group, in this order and these colors.
        series: Vec<Series>,
    },
    /// Points, and arrows from one to the next of a series.
    Points {
        /// What its file is called.
        name: String,
        /// What it shows.
        title: String,
        /// What is drawn to the right.
        x: String,
        /// What is drawn upwards.
        y: String,
        /// Series, each a path of points.
        paths: Vec<Path>,
    },
    /// A field of colored cells.
    Heat {
        /// What its file is called.
        name: String,
        /// What it shows.
        title: String,
        /// Rows, from the top.
        rows: Vec<String>,
        /// Columns, from the left.
        columns: Vec<String>,
        /// Values by row; `None` where there is none.
        values: Vec<Vec<Option<f64>>>,
    },
}

/// Bars of one color.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// One for each group; `None` where there is none.
    pub values: Vec<Option<f64>>,
    /// Where the true values may lie, in the order of the groups; empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<[f64; 2]>>,
}

/// Points that belong together, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// What they are.
    pub name: String,
    /// Each with a word, to the right and upwards.
    pub points: Vec<(String, f64, f64)>,
}

impl Outcome {
    /// Adds a headline figure.
    pub fn figure(&mut self, name: impl Into<String>, value: f64) {
        self.figures.insert(name.into(), value);
    }

    /// Adds what has to be said, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl Series {
    /// No bar yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), values: Vec::new(), intervals: Vec::new() }
    }
}

impl Table {
    /// An empty table.
    pub fn new(name: &str, title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { name: name.to_owned(), title: title.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.name);
        self.rows.push(cells);
    }

    /// Does this column hold figures, so that it is read from the right?
    pub fn has_figures(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Figure(_))))
    }
}

impl Plot {
    /// What its file is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Bars { name, .. } | Self::Points { name, .. } | Self::Heat { name, .. } => name,
        }
    }

    /// What it shows.
    pub fn title(&self) -> &str {
        match self {
            Self::Bars { title, .. } | Self::Points { title, .. } | Self::Heat { title, .. } => {
                title
            }
        }
    }
}

impl Figure {
    /// A share, in percent with one decimal.
    pub fn share(share: f64) -> Self {
        Self { value: 100.0 * share, decimals: 1, signed: false, better: false, interval: None }
    }

    /// A difference of shares, in points with one decimal.
    pub fn points(share: f64) -> Self {
        Self { signed: true, ..Self::share(share) }
    }

    /// A number with so many decimals.
    pub fn number(value: f64, decimals: u8) -> Self {
        Self { value, decimals, signed: false, better: false, interval: None }
    }

    /// The same with the interval of a share.
    #[must_use]
    pub fn within(self, interval: [f64; 2]) -> Self {
        Self { interval: Some(interval.map(|share| 100.0 * share)), ..self }
    }

    /// As it is shown, without its interval.
    pub fn text(&self) -> String {
        let decimals = usize::from(self.decimals);
        let text = match self.signed {
            true => format!("{:+.decimals$}", self.value),
            false => format!("{:.decimals$}", self.value),
        };
        // A minus sign as wide as the plus, and none before a nought.
        let is_nought = text.chars().all(|c| matches!(c, '-' | '+' | '0' | '.'));
        if is_nought {
            text.trim_start_matches(['-', '+']).to_owned()
        } else {
            text.replace('-', "−")
        }
    }

    /// The interval as it is shown.
    pub fn interval_text(&self) -> Option<String> {
        let ends = self.interval?.map(|value| Self { value, interval: None, ..*self }.text());
        Some(format!("{} to {}", ends[0], ends[1]))
    }
}

impl Cell {
    /// A whole number.
    pub fn count(count: usize) -> Self {
        Self::Figure(Figure::number(count as f64, 0))
    }

    /// A share, in percent.
    pub fn share(share: f64) -> Self {
        Self::Figure(Figure::share(share))
    }

    /// A difference of shares, in points.
    pub fn points(share: f64) -> Self {
        Self::Figure(Figure::points(share))
    }

    /// Nothing to be shown.
    pub fn none() -> Self {
        Self::Text("–".to_owned())
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Figure(figure) => match figure.interval_text() {
                Some(interval) => format!("{} ({interval})", figure.text()),
                None => figure.text(),
            },
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Figure> for Cell {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

/// Marks the greatest of some cells of a row; of equals, all. One by itself is not better than anything.
pub fn mark_better(row: &mut [Cell], among: &[usize]) {
    let value = |cell: &Cell| match cell {
        Cell::Figure(figure) => {
            Some(figure.text().replace('−', "-").parse().unwrap_or(figure.value))
        }
        Cell::Text(_) => None,
    };
    let values: Vec<f64> = among.iter().filter_map(|&at| value(&row[at])).collect();
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 || values.iter().all(|&value| value == best) {
        return;
    }
    for &at in among {
        let is_best = value(&row[at]) == Some(best);
        if let (Cell::Figure(figure), true) = (&mut row[at], is_best) {
            figure.better = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_as_they_are_read() {
        assert_eq!(Figure::share(0.4796).text(), "48.0");
        assert_eq!(Figure::points(-0.0071).text(), "−0.7");
        assert_eq!(Figure::points(0.0).text(), "0.0");
        assert_eq!(Figure::points(-0.000_1).text(), "0.0");
        assert_eq!(Cell::count(16_417).text(), "16417");
        let figure = Figure::points(0.041).within([0.015, 0.069]);
        assert_eq!(Cell::from(figure).text(), "+4.1 (+1.5 to +6.9)");
    }

    #[test]
    fn the_better_one_is_marked_by_what_is_shown() {
        let mut row =
            vec!["bm25".into(), Cell::share(0.4010), Cell::share(0.4014), Cell::share(0.44)];
        mark_better(&mut row, &[1, 2]);
        let marked = |row: &[Cell]| -> Vec<bool> {
            row.iter().map(|cell| matches!(cell, Cell::Figure(figure) if figure.better)).collect()
        };
        assert_eq!(marked(&row), [false; 4], "40.1 is not better than 40.1");
        mark_better(&mut row, &[1, 2, 3]);
        assert_eq!(marked(&row), [false, false, false, true]);
    }
}
