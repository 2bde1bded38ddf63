//! Which way of reading words is best on the other folds, and what is it worth on the one left out?

use std::collections::BTreeMap;

use super::way::{Way, Worth};
use crate::folds::{AGAIN, Fold};
use crate::none::tables::{header, row};

/// A library on which every way was tried, in the order of the ways.
pub(super) struct Tried {
    pub(super) fold: &'static Fold,
    pub(super) library: String,
    pub(super) worth: Vec<Worth>,
}

/// R@10 and Success@1 of the chooser's order, then of BM25.
type Figures = [f64; 4];

const FIRST_PLACES: usize = 1;

pub(super) fn print(ways: &[Way], tried: &[Tried]) {
    let folds = by_fold(tried);
    let counts: Vec<&str> = folds.keys().copied().collect();
    println!(
        "\nMeans over {} folds, without libraries that ask again what another one asks\n",
        counts.len()
    );
    header(&[
        "words",
        "R@10, `search`",
        "Success@1, `search`",
        "R@10, `bm25`",
        "Success@1, `bm25`",
    ]);
    let shown = |name: &str, figures: Figures| {
        let figures = figures.map(|figure| format!("{figure:.1}"));
        row(&[vec![name.to_owned()], figures.to_vec()].concat());
    };
    for (at, way) in ways.iter().enumerate() {
        shown(&way.to_string(), mean(folds.values().map(|worth| worth[at])));
    }
    let chosen = |out: &str| best(&folds, out);
    shown("left out", mean(folds.iter().map(|(&fold, worth)| worth[chosen(fold)])));
    println!("\nChosen by the Success@1 of `search` on the other folds\n");
    header(&["left out", "best on the others"]);
    for fold in counts {
        row(&[fold.to_owned(), ways[chosen(fold)].to_string()]);
    }
}

/// The figures of each way, fold by fold: means over its libraries.
fn by_fold(tried: &[Tried]) -> BTreeMap<&'static str, Vec<Figures>> {
    let mut folds: BTreeMap<&str, Vec<&Tried>> = BTreeMap::new();
    for library in tried {
        // Without the one whose requests it asks again, such a library stands for its fold.
        let is_again = AGAIN.contains(&library.library.as_str())
            && tried.iter().any(|other| {
                other.fold == library.fold && !AGAIN.contains(&other.library.as_str())
            });
        if !is_again {
            folds.entry(library.fold.name).or_default().push(library);
        }
    }
    let figures = |worth: Worth| {
        let ([recall, first], [of_words, first_of_words]) = (worth.rank, worth.words);
        [recall, first, of_words, first_of_words]
    };
    let means = |libraries: Vec<&Tried>| -> Vec<Figures> {
        let ways = 0..libraries[0].worth.len();
        ways.map(|at| mean(libraries.iter().map(|tried| figures(tried.worth[at])))).collect()
    };
    folds.into_iter().map(|(fold, libraries)| (fold, means(libraries))).collect()
}

/// The way with most first places on all folds but one; of equals, the first.
fn best(folds: &BTreeMap<&'static str, Vec<Figures>>, out: &str) -> usize {
    let ways = folds.values().next().map_or(0, Vec::len);
    let worth = |at: usize| -> f64 {
        let others = folds.iter().filter(|(fold, _)| **fold != out);
        others.map(|(_, worth)| worth[at][FIRST_PLACES]).sum()
    };
    (0..ways).rev().max_by(|&a, &b| worth(a).total_cmp(&worth(b))).unwrap_or(0)
}

fn mean(figures: impl Iterator<Item = Figures>) -> Figures {
    let (mut sums, mut count) = (Figures::default(), 0.0);
    for figures in figures {
        sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        count += 1.0;
    }
    sums.map(|sum| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folds::FOLDS;

    #[test]
    fn the_fold_left_out_has_no_say_in_what_it_gets() {
        let tried = |fold: usize, library: &str, firsts: [f64; 2]| Tried {
            fold: &FOLDS[fold],
            library: library.to_owned(),
            worth: firsts.map(|first| Worth { rank: [0.0, first], words: [0.0; 2] }).to_vec(),
        };
        // A library that asks again counts where it is alone.
        let tried = [
            tried(0, "examples", [10.0, 90.0]),
            tried(0, "examples-strong", [90.0, 10.0]),
            tried(1, "sra-177", [50.0, 40.0]),
            tried(3, "metatool", [50.0, 49.0]),
        ];
        let folds = by_fold(&tried);
        assert_eq!(folds["examples"][1][FIRST_PLACES], 90.0);
        assert_eq!(folds["sra"][0][FIRST_PLACES], 50.0);
        assert_eq!(["examples", "sra", "metatool"].map(|out| best(&folds, out)), [0, 1, 1]);
    }
}
