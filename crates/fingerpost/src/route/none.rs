//! When does no skill fit?
//!
//! The best score of a request says little by itself: a long request collects more than a short one.
//! Over the fourth root of the request's own weight the two become comparable. How much is enough is
//! read from the library alone: the first sentence of each description is a request. Its own skill
//! scores it without that sentence, which shows how little a right answer may have; the skills outside
//! its neighborhood score it too, which shows how much a wrong one may have.

use rayon::prelude::*;

use crate::index::{Bm25, IndexError, Scratch, SparseConfig, SparseIndex, Zeros};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::numbers::none::{ASKED, LOST, REFUSED, SHORTEST};
use crate::page::Pages;
use crate::skill::SkillIdx;
use crate::text::{first_sentence, is_idle, terms};
use crate::view::{View, weighted_text};

/// How well the best hit, with this score, explains the request; `index` is BM25's.
pub fn evidence(request: &str, best: f32, index: &SparseIndex) -> f64 {
    let weight: f64 = distinct(request, index).iter().map(|term| index.idf(term).powi(2)).sum();
    if weight > 0.0 { f64::from(best) / weight.sqrt().sqrt() } else { 0.0 }
}

/// The evidence below which no skill fits, for a library with these pages and neighborhoods. `index`
/// is BM25's of the full view.
pub fn calibrate(
    library: &Library,
    pages: &Pages,
    neighborhoods: &Neighborhoods,
    index: &SparseIndex,
) -> Result<f64, IndexError> {
    let step = library.skills().len().div_ceil(ASKED).max(1);
    let asked: Vec<SkillIdx> =
        (0..library.skills().len() as u32).step_by(step).map(SkillIdx).collect();
    let &SparseConfig { tokenizer, fields, .. } = index.config();
    let texts: Vec<Vec<String>> = asked
        .par_iter()
        .map(|&skill| terms(&weighted_text(library, pages, skill, View::Full, fields), tokenizer))
        .collect();
    let mean_length = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
    let found = asked
        .par_iter()
        .zip(&texts)
        .map_init(Scratch::default, |scratch, (&skill, text)| {
            let description = &library.skills()[skill.row()].description;
            let request = first_sentence(description);
            let distinct = distinct(request, index);
            if distinct.len() < SHORTEST {
                return Ok(None);
            }
            let trigger = pages.get(skill).map_or("", |page| page.trigger.as_str());
            let mut told = terms(trigger, tokenizer);
            for _ in 0..fields.description {
                told.extend(terms(description, tokenizer));
            }
            let own = own_score(&distinct, text, &told, mean_length, index);
            let near = neighborhoods.members(neighborhoods.of(skill));
            let hits = index.search(request, near.len() + 1, Zeros::Dropped, scratch)?;
            let foreign = hits.iter().find(|hit| !near.contains(&hit.skill));
            let foreign = foreign.map_or(0.0, |hit| hit.score);
            Ok(Some((evidence(request, own as f32, index), evidence(request, foreign, index))))
        })
        .collect::<Result<Vec<_>, IndexError>>()?;
    let (own, foreign): (Vec<f64>, Vec<f64>) = found.into_iter().flatten().unzip();
    Ok(quantile(own, LOST).min(quantile(foreign, REFUSED)))
}

/// What BM25 gives a text for these terms, with the terms of `told` taken out of it.
fn own_score(
    request: &[String],
    text: &[String],
    told: &[String],
    mean_length: f64,
    index: &SparseIndex,
) -> f64 {
    let Bm25 { k1, b, .. } = Bm25::default();
    let count = |all: &[String], term: &String| all.iter().filter(|other| *other == term).count();
    let length = text.len().saturating_sub(told.len()) as f64;
    let weight = |term: &String| {
        let tf = count(text, term).saturating_sub(count(told, term)) as f64;
        let saturated = tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / mean_length));
        // A term nobody else has is as good as unknown here.
        if tf > 0.0 { index.idf(term) * saturated } else { 0.0 }
    };
    request.iter().map(weight).sum()
}

fn distinct(text: &str, index: &SparseIndex) -> Vec<String> {
    let mut terms = terms(text, index.config().tokenizer);
    // The index hardly counts them in a request either.
    terms.retain(|term| !is_idle(term));
    terms.sort();
    terms.dedup();
    terms
}

/// The value that a share of the values lies below, between two of them in proportion; zero if there
/// are none, which refuses nothing.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = share * values.len().saturating_sub(1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    match (values.get(low), values.get(low + 1)) {
        (Some(a), Some(b)) => a + part * (b - a),
        (Some(a), None) => *a,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(vec![0.0, 1.0], 0.25), 0.25);
        assert_eq!(quantile(vec![], 0.5), 0.0);
    }
}
