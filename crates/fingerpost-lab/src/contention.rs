//! Do pages know the skills that really win their requests?
//!
//! A request is contended if the right skill (of several, the best ranked) is among the first ten of BM25 over
//! the documents, and another one is first. It is covered if the one is written against the other, or the
//! other way round: only then can a boundary help. Requests between copies are not counted: nothing tells
//! copies apart. Three ways to say what a page is written against are counted on the same requests, and of two
//! of them how often a boundary of the local writer names the other. Nothing is fitted to a request, so every
//! figure is one of a library left out.

use std::collections::BTreeMap;

use fingerpost::index::{Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::page::Pages;
use fingerpost::page::check::are_twins;
use fingerpost::protocol::{Against, Protocol};
use fingerpost::rivals::{MOST, find};
use fingerpost::skill::SkillIdx;
use fingerpost::view::{View, document};
use rayon::prelude::*;

use crate::judged::{Judged, JudgedError};

/// Hits among which the right skill is looked for.
const AMONG: usize = 10;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Lists only: neither neighborhoods nor boundaries, for which a library is compiled twice.
    Lists,
    /// All.
    All,
}

/// Shares of the contended requests, from 0 to 1; NaN for what was not counted.
#[derive(Debug, Clone, Copy)]
pub struct Coverage {
    /// Contended requests.
    pub contended: usize,
    /// Of these, between copies; the shares are of the others.
    pub copies: usize,
    /// Both in one neighborhood.
    pub neighborhood: f64,
    /// One among the nearest of the other by plain TF-IDF.
    pub nearest: f64,
    /// Rivals.
    pub rivals: f64,
    /// One named by the other's boundary, written against neighborhoods.
    pub named_by_neighborhood: f64,
    /// The same, written against rivals.
    pub named_by_rivals: f64,
}

/// A request that another skill wins.
#[derive(Debug, Clone, Copy)]
struct Contended {
    right: SkillIdx,
    winner: SkillIdx,
}

/// Counts the contended requests of a library. Pages of others were not written against what is compared
/// here, so the local writer's count whatever the library has.
pub fn coverage(judged: &Judged, scope: Scope) -> Result<Coverage, JudgedError> {
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
    let mut coverage = Coverage {
        contended: all,
        copies: all - contended.len(),
        neighborhood: f64::NAN,
        nearest: share(&among),
        rivals: share(&|a, b| rivals.are_rivals(a, b)),
        named_by_neighborhood: f64::NAN,
        named_by_rivals: f64::NAN,
    };
    if scope == Scope::Lists {
        return Ok(coverage);
    }
    for against in [Against::Neighborhood, Against::Rivals] {
        let protocol = Protocol { against, ..Protocol::ours() };
        let snapshot = judged.compile_locally(&protocol)?;
        let pages = snapshot.pages().map_err(|error| JudgedError::Atlas(error.into()))?;
        let names = |a: SkillIdx, b: SkillIdx| {
            let page = pages.get(a);
            page.is_some_and(|page| page.references().contains(&&skills[b.row()].id))
        };
        let named = share(&|a, b| names(a, b) || names(b, a));
        match against {
            Against::Rivals => coverage.named_by_rivals = named,
            Against::Neighborhood => {
                coverage.named_by_neighborhood = named;
                let neighborhoods = snapshot.neighborhoods();
                coverage.neighborhood = share(&|a, b| neighborhoods.of(a) == neighborhoods.of(b));
            }
        }
    }
    Ok(coverage)
}

fn contended(judged: &Judged, raw: &SparseIndex) -> Vec<Contended> {
    let skills = judged.library.skills();
    let pairs = judged.queries.par_iter().map_init(Scratch::default, |scratch, query| {
        let hits = raw.search(&query.text, AMONG, Zeros::Dropped, scratch);
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
