//! Which requests are meant for another library, and for nothing in this one?
//!
//! Libraries of web services overlap: half of them know the weather. So a request of another fold is
//! foreign only if nothing here is like what answers it there: the cosine of the names and descriptions,
//! words weighted by their rarity over all libraries, is below [`ALIKE`] for each of its right skills and every skill
//! of this library. At 0.2 to 0.3 a movie's details and a movie's recommendation are alike, and so are writing
//! a file and listing cameras; below it little is left that the other library could be said to have.

use std::collections::{BTreeMap, BTreeSet};

use fingerpost::eval::Query;
use fingerpost::skill::Skill;
use fingerpost::text::{Tokenizer, terms};

use crate::folds::{AGAIN, Fold, Opened, Requests};

/// From this likeness on, a library may have what is asked for.
const ALIKE: f64 = 0.2;

/// Characters of a description that count: what comes later seldom says what a skill is.
const READ: usize = 400;

/// A request, and the fold of the library that it is meant for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meant<'a> {
    pub(super) query: &'a Query,
    pub(super) fold: &'static Fold,
}

/// All libraries, as far as it takes to tell what they have.
pub(super) struct Foreigners<'a> {
    opened: &'a [Opened],
    rarity: BTreeMap<String, f64>,
}

impl<'a> Foreigners<'a> {
    pub(super) fn of(opened: &'a [Opened]) -> Self {
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        let mut all = 0.0;
        for skill in libraries(opened).flat_map(|opened| opened.judged.library.skills()) {
            all += 1.0;
            for word in words(skill) {
                *counts.entry(word).or_default() += 1.0;
            }
        }
        let rarity = counts.into_iter().map(|(word, count)| (word, (all / count).ln())).collect();
        Self { opened, rarity }
    }

    /// Requests that are foreign to a library: of each library of another fold so many are
    /// drawn, and those are left out that it might serve.
    pub(super) fn to(&self, here: &Opened, most: usize) -> Vec<Meant<'a>> {
        let skills = here.judged.library.skills();
        let mut having: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, skill) in skills.iter().enumerate() {
            for (word, weight) in self.vector(skill) {
                having.entry(word).or_default().push((at, weight));
            }
        }
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut foreign = Vec::new();
        for there in libraries(self.opened).filter(|there| there.fold != here.fold) {
            known.clear();
            let judged = &there.judged;
            let drawn = Requests::AtMost(most).draw(judged.queries.clone());
            let drawn: BTreeSet<String> = drawn.into_iter().map(|query| query.id).collect();
            let asked = judged
                .queries
                .iter()
                .filter(|query| drawn.contains(&query.id) && judged.is_answerable(query));
            for query in asked {
                let mut is_had = |id: &'a str| {
                    *known.entry(id).or_insert_with(|| {
                        let found = judged.library.find(id);
                        found.is_none_or(|skill| {
                            let skill = &judged.library.skills()[skill.row()];
                            self.likeness(skill, &having, skills.len()) >= ALIKE
                        })
                    })
                };
                if !right(there, query).any(&mut is_had) {
                    foreign.push(Meant { query, fold: there.fold });
                }
            }
        }
        foreign
    }

    /// How like a skill the likest one of a library is.
    fn likeness(
        &self,
        skill: &Skill,
        having: &BTreeMap<String, Vec<(usize, f64)>>,
        count: usize,
    ) -> f64 {
        let mut scores = vec![0.0; count];
        for (word, weight) in self.vector(skill) {
            for (at, other) in having.get(&word).into_iter().flatten() {
                scores[*at] += weight * other;
            }
        }
        scores.into_iter().fold(0.0, f64::max)
    }

    /// The words of a skill, by their rarity, of length one.
    fn vector(&self, skill: &Skill) -> Vec<(String, f64)> {
        let rarity = |word: String| {
            let rarity = self.rarity.get(&word).copied().unwrap_or(0.0);
            (word, rarity)
        };
        let mut vector: Vec<(String, f64)> = words(skill).into_iter().map(rarity).collect();
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, weight)| *weight /= length.max(f64::MIN_POSITIVE));
        vector
    }
}

/// Those that ask something of their own.
fn libraries(opened: &[Opened]) -> impl Iterator<Item = &Opened> {
    opened.iter().filter(|opened| !AGAIN.contains(&opened.judged.name.as_str()))
}

fn right<'a>(opened: &'a Opened, query: &Query) -> impl Iterator<Item = &'a str> {
    let grades = opened.judged.qrels.get(&query.id).into_iter().flatten();
    grades.filter(|&(_, &grade)| grade > 0).map(|(skill, _)| skill.as_str())
}

/// The words of a skill's name and of the beginning of its description, without their endings; identifiers
/// as words.
fn words(skill: &Skill) -> BTreeSet<String> {
    let told: String = skill.description.chars().take(READ).collect();
    let mut text = String::new();
    let mut before = ' ';
    for c in skill.name.chars().chain([' ']).chain(told.chars()) {
        if c.is_uppercase() && before.is_lowercase() {
            text.push(' ');
        }
        text.push(if c == '_' { ' ' } else { c });
        before = c;
    }
    terms(&text, Tokenizer::Stems).into_iter().collect()
}
