//! What does the chooser see of a candidate?

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::Page;
use crate::skill::SkillId;
use crate::text::tidy;

/// What the chooser sees of a candidate beside its name and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cards {
    /// Nothing.
    Base,
    /// The boundary, with the neighbors' names.
    #[default]
    Boundary,
    /// Ablation only: the boundary with the neighbors' ids, which a reader cannot resolve.
    Ids,
}

impl Cards {
    /// Every arm, in the order they are listed.
    pub const ALL: [Cards; 3] = [Cards::Base, Cards::Boundary, Cards::Ids];
}

impl fmt::Display for Cards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cards::Base => "base",
            Cards::Boundary => "boundary",
            Cards::Ids => "ids",
        })
    }
}

impl FromStr for Cards {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Cards::ALL.into_iter().find(|arm| arm.to_string() == name).ok_or_else(|| {
            let arms = Cards::ALL.map(|arm| arm.to_string()).join(", ");
            format!("'{name}' is no kind of card: use one of {arms}")
        })
    }
}

/// The card of a candidate: the same text for every reader, a person or a model, one line or two
/// whatever the author wrote. `name_of` gives the name of a skill by its id.
pub fn card(
    name: &str,
    description: &str,
    page: Option<&Page>,
    cards: Cards,
    name_of: impl Fn(&SkillId) -> String,
) -> String {
    let boundary = match (cards, page) {
        (Cards::Base, _) | (_, None) => String::new(),
        (Cards::Boundary, Some(page)) => page.boundary_text(name_of),
        (Cards::Ids, Some(page)) => page.boundary_text(SkillId::to_string),
    };
    let mut card = format!("{}: {}", cut(tidy(name)), cut(tidy(description)));
    if !boundary.is_empty() {
        card.push_str("\n  Not for: ");
        card.push_str(&cut(tidy(&boundary)));
    }
    card
}

/// Characters of a card's parts: the format allows 1,024 for a description, and a boundary has 400.
const LONGEST: usize = 1200;

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;

    #[test]
    fn cards_differ_by_their_boundary_alone() {
        let page = Page {
            trigger: "Divide by the square root.".into(),
            boundary: vec![Case::new("A cube root", Some(SkillId::new("qt/fridericia")))],
            body: "QT / √RR".into(),
        };
        let card =
            |cards| card("bazett", "Corrects\n  QT.", Some(&page), cards, |_| "fridericia".into());
        assert_eq!(card(Cards::Base), "bazett: Corrects QT.");
        assert_eq!(
            card(Cards::Boundary),
            "bazett: Corrects QT.\n  Not for: A cube root: use fridericia."
        );
        assert_eq!(
            card(Cards::Ids),
            "bazett: Corrects QT.\n  Not for: A cube root: use qt/fridericia."
        );
    }

    #[test]
    fn a_card_is_short_and_of_visible_characters_whatever_its_author_wrote() {
        let long = "年".repeat(5000);
        let shown = card("a\u{200b}\n\nb\u{1b}[2J", &long, None, Cards::Base, |_| String::new());
        assert_eq!(shown.lines().count(), 1);
        assert!(shown.starts_with("a b[2J: 年") && shown.ends_with("年…"), "{shown}");
        assert_eq!(shown.chars().filter(|c| *c == '年').count(), LONGEST);
    }
}
