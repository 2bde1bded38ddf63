//! What does an agent read that chooses by itself?
//!
//! Cards with the boundary: the agent that asks is the chooser, and no other model is paid. What a card
//! shows of a skill is bounded and has nothing hidden in it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Freshness;
use crate::contrast::{Contrast, contrast};
use crate::index::SparseConfig;
use crate::route::{Decision, Route};
use crate::skill::SkillIdx;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::text::{is_hidden, tidy};

/// How much of a skill a card shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What it does, and what it is not for.
    Compact,
    /// Its whole page too.
    Full,
}

/// A skill, as whoever chooses sees it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkillCard {
    /// Its id: what other calls take.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// What its author says it does.
    pub description: String,
    /// Requests that look as if they were for it and belong to another skill, which is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_for: Option<String>,
    /// Requests that should select it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// The rule that makes it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The file that it was read from.
    pub path: String,
}

/// Characters of a description on a compact card: enough for its first sentences.
const DESCRIBED: usize = 400;

/// Characters of anything else on a card: the format allows 1,024 for a description, a page 600 for a field.
const LONGEST: usize = 1200;

impl SkillCard {
    /// The card of a skill.
    pub fn new(
        snapshot: &Snapshot,
        skill: SkillIdx,
        detail: Detail,
    ) -> Result<Self, SnapshotError> {
        let row = snapshot.row(skill);
        let page = snapshot.page_row(skill)?.page;
        let field = |text: String| {
            let text = shown_line(&text, LONGEST);
            (!text.is_empty()).then_some(text)
        };
        let whole = |text: Option<String>| text.filter(|_| detail == Detail::Full).and_then(field);
        let described = match detail {
            Detail::Compact => DESCRIBED,
            Detail::Full => LONGEST,
        };
        Ok(Self {
            skill: row.id.to_owned(),
            name: shown_line(row.name, LONGEST),
            description: shown_line(row.description, described),
            not_for: page
                .as_ref()
                .and_then(|page| field(page.boundary_text(|id| snapshot.name_of(id)))),
            trigger: whole(page.as_ref().map(|page| page.trigger.clone())),
            body: whole(page.map(|page| page.body)),
            path: row.path.to_owned(),
        })
    }
}

/// Skills for an agent to choose from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CardsAnswer {
    /// The request.
    pub request: String,
    /// Does any skill fit?
    pub decision: Decision,
    /// Why the first card is the nearest, or why there is none.
    pub reason: String,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
    /// The nearest first; none where no skill fits.
    pub cards: Vec<SkillCard>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl CardsAnswer {
    /// The skills of a route, those it did not choose too, at most so many.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        request: &str,
        route: &Route,
        (most, detail): (usize, Detail),
    ) -> Result<Self, SnapshotError> {
        let near = route.rejected.iter().map(|rejected| &rejected.skill);
        let ids = route.skills.iter().chain(near).filter(|_| route.decision == Decision::Use);
        let cards = ids
            .filter_map(|id| snapshot.find(id))
            .take(most)
            .map(|skill| SkillCard::new(snapshot, skill, detail))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            request: request.to_owned(),
            decision: route.decision,
            reason: shown_line(&route.reason, LONGEST),
            confidence: route.confidence,
            cards,
            freshness,
        })
    }
}

/// What sets two skills apart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CompareAnswer {
    /// The first skill.
    pub first: SkillCard,
    /// The second.
    pub second: SkillCard,
    /// Cosine of their vectors.
    pub similarity: f32,
    /// In the same neighborhood?
    pub together: bool,
    /// Is the page of one written against the other?
    pub rivals: bool,
    /// Words that they share, and that each has alone, the weightiest first.
    pub words: SharedWords,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// Words of two skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedWords {
    /// Of both.
    pub shared: Vec<String>,
    /// What speaks for the first.
    pub first: Vec<String>,
    /// What speaks for the second.
    pub second: Vec<String>,
}

impl CompareAnswer {
    /// Two skills, with so many words of each kind.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        [a, b]: [SkillIdx; 2],
        (words, detail): (usize, Detail),
    ) -> Result<Self, SnapshotError> {
        // Only how rare a word is counts here, and every index knows that.
        let index = snapshot.index_at_hand(&SparseConfig::default())?;
        let index = index.as_ref().unwrap_or(snapshot.terms());
        let Contrast { shared, first, second } =
            contrast(&snapshot.skill(a)?, &snapshot.skill(b)?, index);
        let [shared, first, second] = [shared, first, second].map(|terms| {
            terms.into_iter().take(words).map(|term| shown_line(&term.term, 64)).collect()
        });
        let neighborhoods = snapshot.neighborhoods();
        let against = |of, other| -> Result<bool, SnapshotError> {
            Ok(snapshot.rivals_of(of)?.iter().any(|rival| rival.skill == other))
        };
        Ok(Self {
            first: SkillCard::new(snapshot, a, detail)?,
            second: SkillCard::new(snapshot, b, detail)?,
            similarity: snapshot.vectors()?.similarity(a, b),
            together: neighborhoods.of(a) == neighborhoods.of(b),
            rivals: against(a, b)? || against(b, a)?,
            words: SharedWords { shared, first, second },
            freshness,
        })
    }
}

/// A stranger's text as one line of so many characters at most, without what nobody sees.
pub fn shown_line(text: &str, most: usize) -> String {
    let mut line = tidy(text);
    if let Some((at, _)) = line.char_indices().nth(most) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// The same of a text of many lines, which keeps them, and its tabs. It is cut by whoever shows it.
pub fn shown_text(text: &str) -> String {
    text.chars().filter(|&c| matches!(c, '\n' | '\t') || !is_hidden(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_does_not_see_is_not_there() {
        assert_eq!(shown_line("a\u{202e}b\n c\u{e0041} d", 5), "ab c …");
        assert_eq!(shown_line("ab c", 4), "ab c");
        assert_eq!(shown_text("a\r\n\tb\u{200b}\x1b[2J\u{2028}年"), "a\n\tb[2J年");
    }
}
