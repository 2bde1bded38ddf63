//! Does the time grow with the library, or faster?
//!
//! Three libraries of rising size, one thread: a quarter of `sra`, all of it, and with the Chinese
//! skills added. Every size is timed in each repeat, so that a slow minute hits all of them.

use std::path::Path;

use anyhow::Context;
use fingerpost::eval::Query;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::skill::Skill;
use fingerpost::text::Tokenizer;
use serde::Serialize;

use crate::contest::{median, timed};
use crate::ours;

/// Skills of the smallest library.
const SMALL: usize = 4_000;

/// One size of library.
#[derive(Debug, Serialize)]
pub(crate) struct Size {
    pub(crate) skills: usize,
    pub(crate) text_bytes: usize,
    pub(crate) terms: usize,
    pub(crate) index_bytes: usize,
    pub(crate) build_s: f64,
    pub(crate) search_s: f64,
    pub(crate) queries: usize,
}

impl Size {
    pub(crate) fn build_us_per_skill(&self) -> f64 {
        self.build_s * 1e6 / self.skills.max(1) as f64
    }

    pub(crate) fn search_us_per_query(&self) -> f64 {
        self.search_s * 1e6 / self.queries.max(1) as f64
    }
}

pub(crate) fn measure(
    library: &Library,
    queries: &[Query],
    more: &Path,
    repeats: usize,
) -> anyhow::Result<Vec<Size>> {
    let small = part_of(library, SMALL);
    let roots = [Root::new(more)];
    let mut skills = Library::load(&roots, LoadOptions::default())
        .with_context(|| format!("cannot load {}", more.display()))?
        .value
        .skills()
        .to_vec();
    skills.extend_from_slice(library.skills());
    let large = Library::from_skills(skills).value;

    let libraries = [&small, library, &large];
    let pool = ours::pool(1)?;
    let mut build_s = [const { Vec::new() }; 3];
    let mut search_s = [const { Vec::new() }; 3];
    let mut sizes = [(0, 0); 3];
    for _ in 0..repeats {
        for (at, library) in libraries.into_iter().enumerate() {
            let (seconds, index) = timed(|| ours::build(library, Tokenizer::Auto, &pool));
            build_s[at].push(seconds);
            ours::search(&index, queries, &pool);
            search_s[at].push(timed(|| ours::search(&index, queries, &pool)).0);
            sizes[at] = (index.vocabulary_size(), index.bytes().len());
        }
    }
    let size = |(at, library): (usize, &Library)| Size {
        skills: library.skills().len(),
        text_bytes: library.skills().iter().map(text_bytes).sum(),
        terms: sizes[at].0,
        index_bytes: sizes[at].1,
        build_s: median(&build_s[at]),
        search_s: median(&search_s[at]),
        queries: queries.len(),
    };
    Ok(libraries.into_iter().enumerate().map(size).collect())
}

/// So many skills, spread evenly: they are as long, in the mean, as those of the whole.
fn part_of(library: &Library, count: usize) -> Library {
    let skills = library.skills();
    let count = count.min(skills.len());
    let part = (0..count).map(|n| skills[n * skills.len() / count].clone());
    Library::from_skills(part.collect()).value
}

fn text_bytes(skill: &Skill) -> usize {
    skill.name.len() + skill.description.len() + skill.content.len()
}
