//! How is a page written without a model?
//!
//! By choosing, never by inventing: every clause is the author's, of this document or (in the
//! boundary) of a neighbor's, with a few connecting words. What is chosen is what the author says
//! about when to use the skill, and what the neighbors' documents do not say. The same neighborhood
//! gives the same pages, whatever else the library holds.

mod body;
mod boundary;
mod contrast;
mod markdown;
mod outline;
mod plain;
mod requests;
pub(crate) mod salience;
mod trigger;

use std::cell::OnceCell;

pub(crate) use boundary::as_request;
use hashbrown::HashSet;
pub(crate) use requests::requests;
use serde::{Deserialize, Serialize};

use self::outline::Part;
pub(super) use self::outline::{Outline, outline};
use self::salience::Salience;
use super::check::are_twins;
use super::language::Language;
use super::name::{forms, has_any};
use super::{Case, Page};
use crate::skill::Skill;
use crate::text::{Tokenizer, terms};

/// Raised whenever the writer would write another page of the same documents.
const VERSION: u32 = 6;

/// Settings of the local writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LocalConfig {
    /// The language of connecting words; by default that of each skill.
    pub language: Option<Language>,
}

impl LocalConfig {
    /// Everything that decides the pages of given documents.
    pub fn identity(&self) -> String {
        let language = match self.language {
            None => "auto",
            Some(Language::English) => "en",
            Some(Language::Chinese) => "zh",
        };
        format!("local {VERSION}, {language}")
    }
}

/// Which of two ways to write a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draft {
    /// What the author says first.
    First,
    /// Other cases in the boundary, for a page whose first draft does not do.
    Second,
}

/// A page for each of the neighborhood's members, which are in the order of their ids. A field for
/// which the documents have nothing, or nothing new, is empty.
pub fn write(members: &[&Skill], config: &LocalConfig, draft: Draft) -> Vec<Page> {
    let outlines: Vec<Outline> = members.iter().map(|skill| outline(skill)).collect();
    let neighborhood = Neighborhood::of(members, outlines.iter().collect());
    (0..members.len()).map(|member| neighborhood.page(member, config, draft)).collect()
}

/// The page of one of them alone, whose outlines are known.
pub(super) fn write_one(
    members: &[&Skill],
    outlines: Vec<&Outline>,
    member: usize,
    config: &LocalConfig,
    draft: Draft,
) -> Page {
    Neighborhood::of(members, outlines).page(member, config, draft)
}

/// What is known of skills that are written about together.
struct Neighborhood<'a> {
    members: &'a [&'a Skill],
    outlines: Vec<&'a Outline>,
    salience: Salience,
    /// By member, what its neighbors are called.
    names: Vec<Vec<String>>,
    /// By member, which others its document says the same as.
    twins: Vec<OnceCell<Vec<usize>>>,
    /// By member, the stems of its document.
    said: Vec<OnceCell<HashSet<String>>>,
}

impl<'a> Neighborhood<'a> {
    fn of(members: &'a [&'a Skill], outlines: Vec<&'a Outline>) -> Self {
        let salience = Salience::of(outlines.iter().map(|outline| outline.text.as_str()));
        let names = |(at, of): (usize, &&Skill)| {
            let others = members.iter().enumerate().filter(|&(other, _)| other != at);
            others.flat_map(|(_, skill)| forms(skill, of)).collect()
        };
        let names = members.iter().enumerate().map(names).collect();
        let twins = vec![OnceCell::new(); members.len()];
        let said = vec![OnceCell::new(); members.len()];
        Self { members, outlines, salience, names, twins, said }
    }

    fn page(&self, member: usize, config: &LocalConfig, draft: Draft) -> Page {
        let language = config.language.unwrap_or_else(|| Language::of_skill(self.members[member]));
        Page {
            trigger: trigger::trigger(self, member, language),
            boundary: boundary::boundary(self, member, draft),
            body: body::body(self, member, language),
        }
    }

    /// The others whose documents say the same as that of a member: looked for once, since whole documents are read.
    fn twins(&self, member: usize) -> &[usize] {
        self.twins[member].get_or_init(|| {
            let others = (0..self.members.len()).filter(|&other| other != member);
            others.filter(|&other| are_twins(self.members[member], self.members[other])).collect()
        })
    }

    /// The words of a member's document, without their endings.
    fn said(&self, member: usize) -> &HashSet<String> {
        self.said[member].get_or_init(|| {
            let Skill { name, description, .. } = self.members[member];
            let text = format!("{name}\n{description}\n{}", self.outlines[member].text);
            terms(&text, Tokenizer::Stems).into_iter().collect()
        })
    }

    /// The parts of a member's document that name none of its neighbors and are its own.
    fn parts(&self, member: usize) -> Vec<&Part> {
        let parts = self.outlines[member].parts.iter();
        parts
            .filter(|part| !has_any(&part.text, &self.names[member]))
            .filter(|part| !self.is_shared(member, part))
            .collect()
    }

    /// Does another document say the same, word for word? A line of a template is nobody's own; copies of one document
    /// share all, and keep it.
    fn is_shared(&self, member: usize, part: &Part) -> bool {
        let says =
            |other: usize| self.outlines[other].parts.iter().any(|said| said.text == part.text);
        (0..self.members.len())
            .any(|other| other != member && says(other) && !self.twins(member).contains(&other))
    }

    /// How well a text speaks for a skill, a short one better than a long one that says as much.
    fn score(&self, text: &str, weight: impl Fn(u32) -> f64) -> f64 {
        let terms = self.salience.terms(text);
        let sum: f64 = terms.iter().map(|&term| weight(term)).sum();
        // Below eight terms a text is too short to stand alone, whatever its terms.
        sum / (terms.len().max(8) as f64).sqrt()
    }
}
