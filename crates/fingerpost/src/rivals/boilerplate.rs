//! What do many documents of a library share because of a template or a vendor?
//!
//! Runs of three words that more than a few skills have: "by API-Ninjas", the headings of a form. Skills of
//! one family share some too, and a large library has large families, so a run must be common for its size.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::beginning;
use crate::skill::Skill;

/// Words of a run.
const RUN: usize = 3;

/// Skills that may have a run of words in common because they do the same: the larger of so many and such a
/// share of the library.
const MOST: usize = 6;
const SHARE: f64 = 0.01;

/// Runs of words that many skills share.
#[derive(Debug, Default)]
pub(super) struct Boilerplate {
    /// Hashes, ascending.
    runs: Vec<u64>,
}

impl Boilerplate {
    /// Of the skills of a library; those that say the same count once.
    pub(super) fn of(skills: &[Skill]) -> Self {
        let most = MOST.max((SHARE * skills.len() as f64) as usize);
        let mut skills: Vec<&Skill> = skills.iter().collect();
        skills.par_sort_by_key(|skill| (&skill.description, &skill.content));
        skills.dedup_by_key(|skill| (&skill.description, &skill.content));
        let mut all: Vec<u64> = skills
            .par_iter()
            .flat_map_iter(|skill| {
                let mut runs = runs(&words(&beginning(skill)));
                runs.sort_unstable();
                runs.dedup();
                runs
            })
            .collect();
        all.par_sort_unstable();
        let shared = all.chunk_by(|a, b| a == b).filter(|same| same.len() > most);
        Self { runs: shared.map(|same| same[0]).collect() }
    }

    /// A text without the words of such runs.
    pub(super) fn without(&self, text: &str) -> String {
        let words = words(text);
        let mut shared = vec![false; words.len()];
        for (at, run) in runs(&words).iter().enumerate() {
            if self.runs.binary_search(run).is_ok() {
                shared[at..at + RUN].fill(true);
            }
        }
        let kept = words.iter().zip(shared).filter(|(_, shared)| !shared);
        kept.map(|(word, _)| *word).collect::<Vec<_>>().join(" ")
    }
}

/// Words as they are written, without what stands around them; where words have no gaps between them, a
/// whole sentence is one, and shared by nobody.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).collect()
}

fn runs(words: &[&str]) -> Vec<u64> {
    let run = |run: &[&str]| xxh3_64(run.join(" ").to_lowercase().as_bytes());
    words.windows(RUN).map(run).collect()
}
