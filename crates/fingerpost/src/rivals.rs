//! Which skills would win requests that are meant for another one?
//!
//! The parts of a skill's own description, and its document as a whole, are searched for as if somebody
//! asked for them: by words, as BM25 ranks, and by words and their pairs. Whoever comes near the skill's
//! own score would win requests like these; the nine that come nearest are its rivals, each skill with
//! its own list. Its page has no part in this. What a template or a vendor puts into many documents is left
//! out of the requests, and copies are no rivals: nothing could be written that keeps them apart.
//!
//! ```text
//! weight = mean over the parts of (other's score ÷ own score)  +  (other's ÷ own) for the document
//! ```
//!
//! Vectors and the meaning of words were tried and lower the share of real confusions that are covered
//! (docs/decisions/rivals-or-neighborhoods.md).

mod boilerplate;
mod file;
mod update;

use std::collections::BTreeMap;

use rayon::prelude::*;

use self::boilerplate::Boilerplate;
pub(crate) use self::file::MappedRivals;
pub use self::update::{Update, update};
use crate::index::{Scratch, SparseConfig, SparseIndex, Zeros};
use crate::library::Library;
use crate::page::Pages;
use crate::page::check::are_twins;
use crate::skill::{Skill, SkillIdx};
use crate::text::{Stop, Tokenizer, parts};
use crate::view::View;

/// Rivals of a skill at most: with itself as many as the largest neighborhood.
pub const MOST: usize = 9;

/// Skills that one request brings into question.
const NEAR: usize = 40;

/// Parts of a description that are searched for, and the least letters and digits of one.
const PARTS: usize = 8;
const LEAST_PART: usize = 6;

/// Characters of a document that are searched for: its cost must not grow with the longest ones.
const DOCUMENT: usize = 3000;

/// A skill that would win requests meant for another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// The skill.
    pub skill: SkillIdx,
    /// How nearly it wins: 2 where it has the other's score for all that this says.
    pub weight: f32,
}

/// The rivals of every skill.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rivals {
    /// By skill, those that win most first.
    lists: Vec<Vec<Rival>>,
    /// By skill, those whose documents say the same, in their order.
    copies: Vec<Vec<SkillIdx>>,
}

impl Rivals {
    /// The rivals of a skill, those that win most first.
    pub fn of(&self, skill: SkillIdx) -> &[Rival] {
        &self.lists[skill.row()]
    }

    /// The skills whose documents say the same as that of one.
    pub fn copies(&self, skill: SkillIdx) -> &[SkillIdx] {
        &self.copies[skill.row()]
    }

    /// Is one of the two a rival of the other?
    pub fn are_rivals(&self, a: SkillIdx, b: SkillIdx) -> bool {
        let has = |of: SkillIdx, other| self.of(of).iter().any(|rival| rival.skill == other);
        has(a, b) || has(b, a)
    }

    /// How many skills there are.
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// True if there is no skill.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }
}

/// Finds the rivals of all skills.
pub fn find(library: &Library) -> Rivals {
    let finder = Finder::new(library);
    let rows: Vec<u32> = (0..library.skills().len() as u32).collect();
    let found: Vec<Found> = rows
        .into_par_iter()
        .map_init(Scratch::default, |scratch, row| finder.find(SkillIdx(row), scratch))
        .collect();
    let (lists, copies) = found.into_iter().map(|found| (found.rivals, found.copies)).unzip();
    Rivals { lists, copies }
}

/// What is found for one skill.
struct Found {
    rivals: Vec<Rival>,
    copies: Vec<SkillIdx>,
}

/// All that rivals are found with.
struct Finder<'a> {
    skills: &'a [Skill],
    words: SparseIndex,
    phrases: SparseIndex,
    boilerplate: Boilerplate,
}

/// What is searched for on behalf of a skill.
struct Requests {
    parts: Vec<String>,
    document: String,
}

impl<'a> Finder<'a> {
    fn new(library: &'a Library) -> Self {
        let words = SparseConfig {
            tokenizer: Tokenizer::Stems,
            view: View::Raw,
            ..SparseConfig::default()
        };
        let index = |config| SparseIndex::build(library, &Pages::default(), config);
        let skills = library.skills();
        let boilerplate = Boilerplate::of(skills);
        let phrases = SparseConfig::phrases(View::Raw);
        Self { skills, words: index(&words), phrases: index(&phrases), boilerplate }
    }

    fn find(&self, skill: SkillIdx, scratch: &mut Scratch) -> Found {
        let found = self.find_among(skill, NEAR, scratch);
        // Many copies take the places of rivals on every list of hits.
        match found.rivals.len() < MOST && found.copies.len() >= MOST {
            true => self.find_among(skill, NEAR + 8 * found.copies.len(), scratch),
            false => found,
        }
    }

    /// The rivals among so many that each request finds.
    fn find_among(&self, skill: SkillIdx, near: usize, scratch: &mut Scratch) -> Found {
        let requests = self.requests(skill);
        let mut weights: BTreeMap<SkillIdx, f32> = BTreeMap::new();
        for (index, request, share) in self.asked(&requests) {
            let [own] = scores(index, request, [skill]);
            let hits = index.search(request, near + 1, Zeros::Dropped, scratch);
            for hit in hits.expect("an index in memory is sound") {
                if hit.skill != skill {
                    *weights.entry(hit.skill).or_default() += share * won(hit.score, own);
                }
            }
        }
        let mut near: Vec<Rival> =
            weights.into_iter().map(|(skill, weight)| Rival { skill, weight }).collect();
        near.sort_by(by_weight);
        let (mut rivals, mut copies) = (Vec::new(), Vec::new());
        for rival in near {
            if rivals.len() < MOST && !self.are_copies(skill, rival.skill) {
                rivals.push(rival);
            } else if rivals.len() < MOST {
                copies.push(rival.skill);
            }
        }
        copies.sort_unstable();
        Found { rivals, copies }
    }

    /// How nearly another skill wins the requests of one.
    fn toward(&self, skill: SkillIdx, other: SkillIdx) -> f32 {
        let requests = self.requests(skill);
        let weight = |(index, request, share): (&SparseIndex, &str, f32)| {
            let [own, score] = scores(index, request, [skill, other]);
            share * won(score, own)
        };
        self.asked(&requests).into_iter().map(weight).sum()
    }

    fn are_copies(&self, a: SkillIdx, b: SkillIdx) -> bool {
        are_twins(&self.skills[a.row()], &self.skills[b.row()])
    }

    fn requests(&self, skill: SkillIdx) -> Requests {
        let skill = &self.skills[skill.row()];
        let document = beginning(skill);
        let mut parts = self.parts(&skill.description);
        if parts.is_empty() {
            parts = self.parts(&document);
        }
        let name = self.own(&skill.name);
        parts.extend(says_something(&name).then_some(name));
        Requests { parts, document: self.own(&document) }
    }

    /// The first parts of a text that say something of their own; where little is, those that say anything.
    fn parts(&self, text: &str) -> Vec<String> {
        let is_own = letters(&self.boilerplate.without(text)) * LITTLE >= letters(text);
        let part = |part: &str| match is_own {
            true => self.boilerplate.without(part),
            false => part.to_owned(),
        };
        let parts = parts(text, Stop::Part).map(part);
        parts.filter(|part| says_something(part)).take(PARTS).collect()
    }

    /// A text without what many share; all of it, where that leaves little.
    fn own(&self, text: &str) -> String {
        let own = self.boilerplate.without(text);
        if letters(&own) * LITTLE >= letters(text) { own } else { text.to_owned() }
    }

    /// The requests, where each is searched for, and what it counts.
    fn asked<'b>(&'b self, requests: &'b Requests) -> Vec<(&'b SparseIndex, &'b str, f32)> {
        let share = 1.0 / requests.parts.len().max(1) as f32;
        let parts = requests.parts.iter().map(|part| (&self.words, part.as_str(), share));
        parts.chain([(&self.phrases, requests.document.as_str(), 1.0)]).collect()
    }
}

fn by_weight(a: &Rival, b: &Rival) -> std::cmp::Ordering {
    b.weight.total_cmp(&a.weight).then(a.skill.cmp(&b.skill))
}

/// The most that a single request may count for a skill that beats the owner: a few words of a name must
/// not outweigh everything else.
const MOST_WON: f32 = 1.5;

fn won(score: f32, own: f32) -> f32 {
    if own > 0.0 { (score / own).min(MOST_WON) } else { 0.0 }
}

fn scores<const N: usize>(index: &SparseIndex, request: &str, of: [SkillIdx; N]) -> [f32; N] {
    let asked = index.ask(&index.vector(request)).expect("an index in memory is sound");
    of.map(|skill| asked.score(skill))
}

/// A text of which less than one in so many letters is its own is a copy, or all template: what is left would
/// not speak for it.
const LITTLE: usize = 4;

fn says_something(part: &str) -> bool {
    letters(part) >= LEAST_PART
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

/// The name, the description and the beginning of the content.
fn beginning(skill: &Skill) -> String {
    let Skill { name, description, content, .. } = skill;
    let text = [name.as_str(), description.as_str(), content.as_str()];
    let mut beginning = String::new();
    let mut left = DOCUMENT;
    for text in text {
        let end = text.char_indices().nth(left).map_or(text.len(), |(end, _)| end);
        beginning.push_str(&text[..end]);
        beginning.push('\n');
        left = left.saturating_sub(text[..end].chars().count());
    }
    beginning
}

#[cfg(test)]
mod tests;
