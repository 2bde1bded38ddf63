//! Do pages know the skills that really win their requests?
//!
//! A request is contended if the right skill (of several, the best ranked) is among the first ten of BM25 over
//! the documents, and another one is first. It is covered if the one is written against the other, or the
//! other way round: only then can a boundary help. Requests between copies are not counted: nothing tells
//! copies apart. Three ways to say what a page is written against are
//! counted on the same requests, and of two of them how often a boundary of the local writer names the other.
//! Nothing is fitted to a request, so every figure is one of a library left out.

use std::collections::BTreeMap;

use clap::Args;
use fingerpost::atlas::Atlas;
use fingerpost::index::{Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::page::Pages;
use fingerpost::page::check::are_twins;
use fingerpost::protocol::{Against, Protocol};
use fingerpost::rivals::{MOST, find};
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;
use fingerpost::view::{View, document};
use rayon::prelude::*;

use crate::folds::{FoldArgs, Opened};
use crate::judged::{Judged, K, STRONG, TOOLLENS_STRONG, UNSEEN_STRONG};

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

/// A request that another skill wins.
#[derive(Debug, Clone, Copy)]
struct Contended {
    right: SkillIdx,
    winner: SkillIdx,
}

/// How many requests are contended: all, and those that are not between copies.
struct Count {
    all: usize,
    apart: usize,
}

pub(crate) fn run(args: &ContentionArgs) -> anyhow::Result<()> {
    print!("{:<18}{:>10}{:>8}", "", "contended", "copies");
    COLUMNS.iter().for_each(|column| print!("{column:>14}"));
    println!();
    let mut folds: BTreeMap<&str, Vec<[f64; COLUMNS.len()]>> = BTreeMap::new();
    for opened in args.folds.open()? {
        let Opened { fold, mut judged } = opened?;
        if SAME_SKILLS.contains(&judged.name.as_str()) {
            continue;
        }
        // Pages of others were not written against what is compared here.
        judged.theirs = None;
        let (Count { all, apart }, shares) = measure(&judged, args)?;
        row(&judged.name, &format!("{all:>10}{:>8}", all - apart), &shares);
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

fn measure(judged: &Judged, args: &ContentionArgs) -> anyhow::Result<(Count, [f64; 5])> {
    let skills = judged.library.skills();
    let raw = SparseIndex::build(&judged.library, &Pages::default(), &SparseConfig::default());
    let rivals = find(&judged.library);
    let mut contended = contended(judged, &raw);
    let all = contended.len();
    // No page can tell copies apart, whatever it is written against.
    contended.retain(|pair| !are_twins(&skills[pair.right.row()], &skills[pair.winner.row()]));
    let share = |covers: &dyn Fn(SkillIdx, SkillIdx) -> bool| {
        let covered = contended.iter().filter(|pair| covers(pair.right, pair.winner)).count();
        covered as f64 / contended.len().max(1) as f64
    };
    let nearest = nearest(judged, &contended);
    let among = |a: SkillIdx, b: SkillIdx| nearest[&a].contains(&b) || nearest[&b].contains(&a);
    let mut shares =
        [f64::NAN, share(&among), share(&|a, b| rivals.are_rivals(a, b)), f64::NAN, f64::NAN];
    if !args.lists_only {
        let compile = |against| -> anyhow::Result<Snapshot> {
            let protocol = Protocol { against, ..Protocol::ours() };
            Ok(Atlas::in_memory().compile(&judged.library, &protocol)?.0)
        };
        for (against, column) in [(Against::Neighborhood, 3), (Against::Rivals, 4)] {
            let snapshot = compile(against)?;
            let pages = snapshot.pages()?;
            let names = |a: SkillIdx, b: SkillIdx| {
                let page = pages.get(a);
                page.is_some_and(|page| page.references().contains(&&skills[b.row()].id))
            };
            shares[column] = share(&|a, b| names(a, b) || names(b, a));
            if against == Against::Neighborhood {
                let neighborhoods = snapshot.neighborhoods();
                shares[0] = share(&|a, b| neighborhoods.of(a) == neighborhoods.of(b));
            }
        }
    }
    Ok((Count { all, apart: contended.len() }, shares))
}

fn contended(judged: &Judged, raw: &SparseIndex) -> Vec<Contended> {
    let skills = judged.library.skills();
    let pairs = judged.queries.par_iter().map_init(Scratch::default, |scratch, query| {
        let hits = raw.search(&query.text, K, Zeros::Dropped, scratch);
        let hits = hits.expect("an index in memory is sound");
        let is_right = |row: SkillIdx| judged.is_right(query, skills[row.row()].id.as_str());
        let right = hits.iter().map(|hit| hit.skill).find(|&skill| is_right(skill))?;
        let winner = hits[0].skill;
        (right != winner).then_some(Contended { right, winner })
    });
    pairs.flatten().collect()
}

/// The nearest by plain TF-IDF cosine over documents, of the skills that matter.
fn nearest(judged: &Judged, contended: &[Contended]) -> BTreeMap<SkillIdx, Vec<SkillIdx>> {
    let config =
        SparseConfig { model: SparseModel::Cosine, view: View::Raw, ..SparseConfig::default() };
    let index = SparseIndex::build(&judged.library, &Pages::default(), &config);
    let mut rows: Vec<SkillIdx> =
        contended.iter().flat_map(|pair| [pair.right, pair.winner]).collect();
    rows.sort_unstable();
    rows.dedup();
    let lists: Vec<(SkillIdx, Vec<SkillIdx>)> = rows
        .par_iter()
        .map_init(Scratch::default, |scratch, &row| {
            let text = document(&judged.library.skills()[row.row()]);
            let hits = index.search(&text, MOST + 1, Zeros::Dropped, scratch);
            let hits = hits.expect("an index in memory is sound").into_iter();
            let others = hits.map(|hit| hit.skill).filter(|&skill| skill != row);
            (row, others.take(MOST).collect())
        })
        .collect();
    lists.into_iter().collect()
}
