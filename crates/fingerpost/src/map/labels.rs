//! Which words name a region of the library?

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::exclusion::without_exclusions;
use crate::skill::SkillIdx;
use crate::snapshot::SkillRow;
use crate::text::{Tokenizer, for_each_term, is_idle};

/// For each region the three terms of its names and descriptions that are most its own.
pub(super) fn labels(regions: &[Vec<Vec<SkillIdx>>], skills: &[SkillRow<'_>]) -> Vec<String> {
    let counts: Vec<BTreeMap<String, f64>> = regions
        .par_iter()
        .map(|blocks| {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for skill in blocks.iter().flatten() {
                let SkillRow { name, description, .. } = &skills[skill.row()];
                let mut seen = std::collections::BTreeSet::new();
                let text = format!("{name}\n{}", without_exclusions(description));
                for_each_term(&text, Tokenizer::Auto, |term| {
                    // One character names nothing, nor do words of asking and grammar.
                    let is_number = term.chars().all(|c| c.is_ascii_digit());
                    if term.chars().count() > 1 && !is_number && !is_idle(term) {
                        seen.insert(term.to_owned());
                    }
                });
                seen.into_iter().for_each(|term| *counts.entry(term).or_default() += 1.0);
            }
            counts
        })
        .collect();
    let mut total: BTreeMap<&str, f64> = BTreeMap::new();
    for (term, count) in counts.iter().flatten() {
        *total.entry(term).or_default() += count;
    }
    let all = skills.len() as f64;
    counts
        .iter()
        .zip(regions)
        .map(|(counts, blocks)| {
            let size: f64 = blocks.iter().map(|block| block.len() as f64).sum();
            // How much more often here than elsewhere, weighed by how often here.
            let score = |term: &str, count: f64| {
                let elsewhere = (total[term] - count + 0.5) / (all - size + 1.0);
                count / size * ((count + 0.5) / (size + 1.0) / elsewhere).ln()
            };
            let mut terms: Vec<(f64, &str)> =
                counts.iter().map(|(term, &count)| (score(term, count), term.as_str())).collect();
            terms.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            let mut chosen: Vec<&str> = Vec::new();
            for (score, term) in terms {
                // What an eighth of all skills say names no region.
                if total[term] > all / 8.0 {
                    continue;
                }
                let known = chosen.iter().any(|c| c.contains(term) || term.contains(c));
                if chosen.len() == 3 || score <= 0.0 {
                    break;
                }
                if !known {
                    chosen.push(term);
                }
            }
            chosen.join(" · ")
        })
        .collect()
}
