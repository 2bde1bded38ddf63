//! `contention`: do pages know the skills that really win their requests?
//!
//! What is counted, and how, is the lab's (`fingerpost_lab::contention`). The table stands in docs/decisions/rivals-or-neighborhoods.md.

use std::collections::BTreeMap;

use clap::Args;
use fingerpost_lab::contention::{Coverage, Scope, coverage};

use crate::folds::{FoldArgs, Opened};
use crate::judged::{STRONG, TOOLLENS_STRONG, UNSEEN_STRONG};

/// What `contention` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct ContentionArgs {
    #[command(flatten)]
    folds: FoldArgs,
    /// Do not compile: leave out neighborhoods and boundaries, which take longest.
    #[arg(long)]
    lists_only: bool,
}

/// Libraries that differ from another one by their pages alone.
const SAME_SKILLS: [&str; 3] = [STRONG, UNSEEN_STRONG, TOOLLENS_STRONG];

/// What is counted, in the order of the columns.
const COLUMNS: [&str; 5] = ["neighborhood", "tf-idf", "rivals", "boundary, n.", "boundary, r."];

pub(crate) fn run(args: &ContentionArgs) -> anyhow::Result<()> {
    print!("{:<18}{:>10}{:>8}", "", "contended", "copies");
    COLUMNS.iter().for_each(|column| print!("{column:>14}"));
    println!();
    let scope = if args.lists_only { Scope::Lists } else { Scope::All };
    let mut folds: BTreeMap<&str, Vec<[f64; COLUMNS.len()]>> = BTreeMap::new();
    for opened in args.folds.open()? {
        let Opened { fold, judged } = opened?;
        if SAME_SKILLS.contains(&judged.name.as_str()) {
            continue;
        }
        let found = coverage(&judged, scope)?;
        let Coverage { contended, copies, .. } = found;
        let shares = [
            found.neighborhood,
            found.nearest,
            found.rivals,
            found.named_by_neighborhood,
            found.named_by_rivals,
        ];
        row(&judged.name, &format!("{contended:>10}{copies:>8}"), &shares);
        folds.entry(fold.name).or_default().push(shares);
    }
    let mean = |rows: &[[f64; COLUMNS.len()]]| {
        let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64;
        std::array::from_fn::<_, { COLUMNS.len() }, _>(mean)
    };
    let folds: Vec<[f64; COLUMNS.len()]> = folds.values().map(|rows| mean(rows)).collect();
    let all = mean(&folds);
    row("mean of folds", &" ".repeat(18), &all);
    println!("rivals cover {:.2} times what neighborhoods cover", all[2] / all[0]);
    Ok(())
}

fn row(name: &str, counts: &str, shares: &[f64; COLUMNS.len()]) {
    print!("{name:<18}{counts}");
    shares.iter().for_each(|share| print!("{:>12.1} %", 100.0 * share));
    println!();
}
