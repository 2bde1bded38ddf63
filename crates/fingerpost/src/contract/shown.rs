//! What does whoever chooses see of each candidate?

use schemars::JsonSchema;
use serde::Serialize;

use super::RouteAnswer;
use crate::skill::SkillIdx;
use crate::snapshot::Snapshot;
use crate::text::tidy;
use crate::view::Cards;

/// Characters of a description on a card.
const LONGEST: usize = 1200;

/// The card of a candidate, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownCard {
    /// The skill.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// What it is not for.
    pub boundary: Vec<ShownCase>,
}

/// A case of a boundary, as a card has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownCase {
    /// The request.
    pub request: String,
    /// Whose it is, by id; absent where it is no skill's.
    pub skill: Option<String>,
    /// That skill's name.
    pub name: Option<String>,
}

impl ShownCard {
    /// The card of a skill.
    pub fn new(snapshot: &Snapshot, skill: SkillIdx, cards: Cards) -> Self {
        let row = snapshot.row(skill);
        let page = if cards == Cards::Base { None } else { snapshot.page(skill) };
        let case = |case: &crate::page::Case| ShownCase {
            request: case.request.clone(),
            skill: case.skill.as_ref().map(ToString::to_string),
            name: case.skill.as_ref().map(|id| snapshot.name_of(id)),
        };
        Self {
            skill: row.id.to_owned(),
            name: row.name.to_owned(),
            description: tidy(row.description).chars().take(LONGEST).collect(),
            boundary: page.map_or_else(Vec::new, |page| page.boundary.iter().map(case).collect()),
        }
    }
}

impl RouteAnswer {
    /// With the cards of its candidates.
    #[must_use]
    pub fn with_cards(mut self, snapshot: &Snapshot) -> Self {
        let skills = self.hits.iter().filter_map(|hit| snapshot.find(&hit.skill));
        self.shown =
            Some(skills.map(|skill| ShownCard::new(snapshot, skill, self.cards)).collect());
        self
    }
}
