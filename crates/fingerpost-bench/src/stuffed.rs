//! `stuffed`: how many requests does a skill win that fills its description with the words of requests?
//!
//! A description is what an author says of himself, and nobody checks it. Some skills of a library, one at a
//! time, get the most common words of its judged requests behind their description; then the first places of
//! the chooser's order are counted. The table is Markdown, as it stands in docs/decisions/first-hundred-words.md.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use fingerpost::atlas::Atlas;
use fingerpost::eval::Query;
use fingerpost::index::Scratch;
use fingerpost::library::Library;
use fingerpost::skill::SkillIdx;
use fingerpost::text::{Tokenizer, for_each_term};
use rayon::prelude::*;

use crate::folds::{FoldArgs, Opened};
use crate::judged::{EXAMPLES, Judged, K, compile};
use crate::none::tables::{header, row};

/// What `stuffed` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct StuffedArgs {
    #[command(flatten)]
    folds: FoldArgs,
    /// Skills that are stuffed, one at a time, evenly spaced.
    #[arg(long, value_name = "N", default_value_t = 6)]
    skills: usize,
}

/// Words that a description is stuffed with.
const WORDS: usize = 300;

/// Where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Behind,
    Before,
}

/// What is put into a description.
struct Stuffing<'a> {
    words: &'a [String],
    times: usize,
    place: Place,
}

pub(crate) fn run(arguments: &StuffedArgs) -> anyhow::Result<()> {
    let mut folds = arguments.folds.clone();
    if folds.names.is_empty() {
        folds.names.push(EXAMPLES.to_owned());
    }
    println!(
        "First places in the order of the chooser, of a skill whose description is as it is, or has the {WORDS} most common words of the requests behind it or before it; telling: of words that one request in twenty has, at most\n"
    );
    header(&[
        "library",
        "requests",
        "skill",
        "meant for it",
        "honest",
        "behind",
        "three times",
        "telling, behind",
        "three times",
        "before",
        "telling, before",
    ]);
    for opened in folds.open()? {
        let Opened { judged, .. } = opened?;
        let common = common_words(&judged.queries, judged.queries.len());
        let telling = common_words(&judged.queries, judged.queries.len() / 20);
        let stuffings = [
            (&common, 0, Place::Behind),
            (&common, 1, Place::Behind),
            (&common, 3, Place::Behind),
            (&telling, 1, Place::Behind),
            (&telling, 3, Place::Behind),
            (&common, 1, Place::Before),
            (&telling, 1, Place::Before),
        ];
        let stuffings = stuffings.map(|(words, times, place)| Stuffing { words, times, place });
        let count = judged.library.skills().len();
        let mut sums = vec![0; stuffings.len() + 1];
        for at in 0..arguments.skills {
            let skill = (2 * at + 1) * count / (2 * arguments.skills);
            let id = judged.library.skills()[skill].id.to_string();
            let meant = judged.queries.iter().filter(|query| judged.is_right(query, &id)).count();
            let mut counts = vec![meant];
            for stuffing in &stuffings {
                counts.push(first_places(&judged, skill, stuffing)?);
            }
            sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            shown(&judged, &id, &counts);
        }
        shown(&judged, "all of them", &sums);
    }
    Ok(())
}

fn shown(judged: &Judged, skill: &str, counts: &[usize]) {
    let mut cells = vec![judged.name.clone(), judged.queries.len().to_string(), skill.to_owned()];
    cells.extend(counts.iter().map(usize::to_string));
    row(&cells);
}

/// The words that most requests have, most common first, without those that more than so many have.
fn common_words(queries: &[Query], most: usize) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for query in queries {
        let mut words = BTreeSet::new();
        for_each_term(&query.text, Tokenizer::Auto, |word| {
            words.insert(word.to_owned());
        });
        for word in words {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> =
        counts.into_iter().filter(|&(_, count)| count <= most).collect();
    words.sort_by(|(word, count), (other, more)| more.cmp(count).then(word.cmp(other)));
    words.into_iter().take(WORDS).map(|(word, _)| word).collect()
}

/// How many requests find this skill first if its description is stuffed.
fn first_places(judged: &Judged, skill: usize, stuffing: &Stuffing<'_>) -> anyhow::Result<usize> {
    let Stuffing { words, times, place } = stuffing;
    let mut skills = judged.library.skills().to_vec();
    let said = vec![words.join(" "); *times].join(" ");
    let description = &mut skills[skill].description;
    *description = match place {
        Place::Behind => format!("{description} {said}"),
        Place::Before => format!("{said} {description}"),
    };
    let atlas = Atlas::in_memory();
    judged.keep_theirs(&atlas)?;
    let snapshot = compile(&atlas, &Library::from_skills(skills).value)?;
    let router = snapshot.router(snapshot.route_config(), K);
    let first = judged
        .queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| {
            let hits = router.rank(&query.text, 1, scratch)?;
            Ok(hits.first().is_some_and(|hit| hit.skill == SkillIdx(skill as u32)))
        })
        .collect::<anyhow::Result<Vec<bool>>>()?;
    Ok(first.into_iter().filter(|&is_first| is_first).count())
}
