//! `peers`: how good is our search beside what people would use instead, on every judged library?
//!
//! Every arm ranks the same skills for the same requests, and one function scores them all. The tables
//! are Markdown, as they stand in docs/lab/peers.md.

mod arms;
mod bm25s;
mod minilm;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use self::arms::{Arm, Arms};
use crate::folds::{AGAIN, FoldArgs, Opened, Requests};
use crate::judged::{K, means};

/// What `peers` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// Which libraries or folds; all that are known here if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Folder of the real data.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Requests asked of a library at most, drawn by a seed, or `all`.
    #[arg(long, value_name = "N|all", default_value = "500")]
    requests: Requests,
    /// Python with bm25s.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
    /// Where the vectors of MiniLM are kept for the next run.
    #[arg(long, value_name = "DIR", default_value = "target/peers-vectors")]
    vectors: PathBuf,
}

/// One library's figures.
struct Row {
    fold: &'static str,
    library: String,
    skills: usize,
    requests: usize,
    figures: Figures,
}

/// Success@1 and R@10 of each arm, in percent; none of an arm that could not take part.
type Figures = [Option<[f64; 2]>; Arm::ALL.len()];

pub(crate) fn run(arguments: &PeersArgs) -> anyhow::Result<()> {
    let arms = Arms::open(&arguments.python, &arguments.vectors);
    let PeersArgs { names, data, requests, .. } = arguments;
    let folds = FoldArgs { names: names.clone(), data: data.clone(), requests: *requests };
    let (mut alone, mut again) = (Vec::new(), Vec::new());
    for opened in folds.open()? {
        let Opened { fold, judged } = opened?;
        let start = Instant::now();
        let (skills, requests) = (judged.library.skills().len(), judged.queries.len());
        eprintln!("{}: {skills} skills, {requests} requests", judged.name);
        let mut figures = Figures::default();
        for (figures, run) in figures.iter_mut().zip(arms.runs(&judged)?) {
            let means = run.map(|run| means(&judged, &run)).transpose()?;
            *figures = means.map(|[recall, first]| [first, recall]);
        }
        eprintln!("  {:.0} s", start.elapsed().as_secs_f64());
        let rows = if AGAIN.contains(&judged.name.as_str()) { &mut again } else { &mut alone };
        rows.push(Row { fold: fold.name, library: judged.name, skills, requests, figures });
    }
    println!("Success@1 / R@{K}, in percent. {}\n", arms.versions());
    println!("{}", table(&alone, true));
    if !again.is_empty() {
        println!("The same requests, with pages that a strong model wrote:\n");
        println!("{}", table(&again, false));
    }
    Ok(())
}

/// Libraries by arms, the best figures bold; last, where it is asked for, the mean over folds.
fn table(rows: &[Row], with_mean: bool) -> String {
    let headings = Arm::ALL.map(|arm| arm.to_string()).join(" | ");
    let mut shown = format!("| library | skills | requests | {headings} |\n|---|---|---|");
    shown += &"---|".repeat(Arm::ALL.len());
    shown.push('\n');
    for row in rows {
        let Row { library, skills, requests, figures, .. } = row;
        shown += &format!("| `{library}` | {skills} | {requests} | {} |\n", cells(figures));
    }
    if with_mean && !rows.is_empty() {
        shown += &format!("| mean of folds | | | {} |\n", cells(&mean_of_folds(rows)));
    }
    shown
}

/// Libraries of one fold count as one: they share skills.
fn mean_of_folds(rows: &[Row]) -> Figures {
    let folds: Vec<Figures> = rows
        .chunk_by(|a, b| a.fold == b.fold)
        .map(|fold| mean(fold.iter().map(|row| &row.figures)))
        .collect();
    mean(folds.iter())
}

/// An arm that was not everywhere has no mean.
fn mean<'a>(all: impl ExactSizeIterator<Item = &'a Figures>) -> Figures {
    let count = all.len() as f64;
    let mut sums: Figures = [Some([0.0; 2]); Arm::ALL.len()];
    for figures in all {
        for (sum, figures) in sums.iter_mut().zip(figures) {
            *sum = sum.zip(*figures).map(|([a, b], [x, y])| [a + x, b + y]);
        }
    }
    sums.map(|sum| sum.map(|pair| pair.map(|sum| sum / count)))
}

fn cells(figures: &Figures) -> String {
    // What reads the same is equally good.
    let texts = figures.map(|pair| pair.map(|pair| pair.map(|figure| format!("{figure:.1}"))));
    let best = [0, 1].map(|measure| {
        let of_measure = figures.iter().flatten().map(|pair| pair[measure]);
        of_measure.max_by(f64::total_cmp).map(|best| format!("{best:.1}"))
    });
    let cell = |pair: Option<[String; 2]>| {
        let Some([first, recall]) = pair else { return "–".to_owned() };
        let marked = |text: String, best: &Option<String>| match Some(&text) == best.as_ref() {
            true => format!("**{text}**"),
            false => text,
        };
        format!("{} / {}", marked(first, &best[0]), marked(recall, &best[1]))
    };
    texts.map(cell).join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fold: &'static str, figures: Figures) -> Row {
        Row { fold, library: fold.to_owned(), skills: 9, requests: 3, figures }
    }

    #[test]
    fn the_best_are_bold_and_who_was_absent_has_no_mean() {
        let rows = [
            row(
                "a",
                [Some([50.0, 80.0]), None, Some([50.04, 90.0]), None, None, Some([10.0, 20.0])],
            ),
            row(
                "a",
                [Some([30.0, 60.0]), None, Some([10.0, 10.0]), None, None, Some([20.0, 20.0])],
            ),
            row("b", [Some([70.0, 0.0]), None, None, None, None, Some([80.0, 20.0])]),
        ];
        let shown = table(&rows, true);
        let lines: Vec<&str> = shown.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| `a` | 9 | 3 | **50.0** / 80.0 | – | **50.0** / **90.0** | – | – | 10.0 / 20.0 |",
                "| `a` | 9 | 3 | **30.0** / **60.0** | – | 10.0 / 10.0 | – | – | 20.0 / 20.0 |",
                "| `b` | 9 | 3 | 70.0 / 0.0 | – | – | – | – | **80.0** / **20.0** |",
                // The two libraries of one fold count as one.
                "| mean of folds | | | **55.0** / **35.0** | – | – | – | – | 47.5 / 20.0 |",
            ]
        );
    }
}
