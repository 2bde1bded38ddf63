//! Where did each sentence of a page come from?
//!
//! The local writer repeats what authors wrote, with little changes; a model says things its own way. So a
//! sentence is looked for word by word: in the skill's own document first, then in those of the skills that
//! its page was written against. What shares no long run of words with any of them is nobody's words.

use schemars::JsonSchema;
use serde::Serialize;

use crate::page::Page;
use crate::skill::{Skill, SkillId};
use crate::text::whole_sentences;

/// A sentence of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourcedSentence {
    /// The field that it stands in.
    pub field: Field,
    /// Of a boundary, the number of the case, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<usize>,
    /// The sentence.
    pub sentence: String,
    /// Whose words it repeats; absent where it is nobody's.
    pub from: Option<Passage>,
}

/// A field of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// The trigger.
    Trigger,
    /// A case of the boundary.
    Boundary,
    /// The body.
    Body,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Passage {
    /// Whose document.
    pub skill: SkillId,
    /// Its description, or its content.
    pub part: Part,
    /// Where it begins, in characters (Unicode code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// A part of a document that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The description.
    Description,
    /// What stands below it.
    Content,
}

/// Characters of a content that are searched: a document may have millions.
const SEARCHED: usize = 50_000;

/// The share of a sentence's words that a passage must repeat in one run, and how many at least where the
/// sentence has so many.
const SHARE: f64 = 0.5;
const LEAST: usize = 3;

/// Looks for every sentence of a page in the skill's own document, and then in the others.
pub fn sources(page: &Page, own: &Skill, others: &[Skill]) -> Vec<SourcedSentence> {
    let texts: Vec<Text<'_>> = std::iter::once(own)
        .chain(others.iter().filter(|other| other.id != own.id))
        .flat_map(|skill| [Text::of(skill, Part::Description), Text::of(skill, Part::Content)])
        .collect();
    let sourced = |field, case, sentence: &str, first: Option<&SkillId>| SourcedSentence {
        field,
        case,
        sentence: sentence.to_owned(),
        from: passage(sentence, &texts, first),
    };
    let own = Some(&own.id);
    let mut found = Vec::new();
    for sentence in whole_sentences(&page.trigger) {
        found.push(sourced(Field::Trigger, None, sentence, own));
    }
    for (at, case) in page.boundary.iter().enumerate() {
        // What belongs to a neighbor is that neighbor's word before anybody else's.
        let first = case.skill.as_ref().or(own);
        found.push(sourced(Field::Boundary, Some(at), &case.request, first));
    }
    for sentence in whole_sentences(&page.body) {
        found.push(sourced(Field::Body, None, sentence, own));
    }
    found
}

/// A text with its words: for each the characters that it stands at.
struct Text<'a> {
    skill: &'a SkillId,
    part: Part,
    words: Vec<Word>,
}

/// A word, or one character of a script that is written without gaps.
struct Word {
    said: String,
    start: usize,
    end: usize,
}

impl<'a> Text<'a> {
    fn of(skill: &'a Skill, part: Part) -> Self {
        let text = match part {
            Part::Description => &skill.description,
            Part::Content => &skill.content,
        };
        Self { skill: &skill.id, part, words: words(text) }
    }
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (at, c) in text.chars().enumerate().take(SEARCHED) {
        if !c.is_alphanumeric() {
            continue;
        }
        match words.last_mut() {
            Some(last) if last.end == at && c.is_ascii() && last.said.is_ascii() => {
                last.said.push(c.to_ascii_lowercase());
                last.end = at + 1;
            }
            Some(last) if last.end == at && !is_wide(c) && !last.said.ends_with(is_wide) => {
                last.said.extend(c.to_lowercase());
                last.end = at + 1;
            }
            _ => words.push(Word { said: c.to_lowercase().collect(), start: at, end: at + 1 }),
        }
    }
    words
}

/// Is it of a script in which a character is about a word?
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The passage that repeats the longest run of a sentence's words; of equals, the first one, that of the skill
/// `first` before all.
fn passage(sentence: &str, texts: &[Text<'_>], first: Option<&SkillId>) -> Option<Passage> {
    let asked = words(sentence);
    let needed = ((asked.len() as f64 * SHARE).ceil() as usize).max(LEAST).min(asked.len()).max(1);
    let (near, far): (Vec<&Text<'_>>, Vec<&Text<'_>>) =
        texts.iter().partition(|text| Some(text.skill) == first);
    let mut best: Option<(usize, Passage)> = None;
    for text in near.into_iter().chain(far) {
        let Some((start, length)) = longest_run(&asked, &text.words) else { continue };
        if length >= needed && best.as_ref().is_none_or(|(most, _)| length > *most) {
            let (from, to) = (&text.words[start], &text.words[start + length - 1]);
            let (skill, part) = (text.skill.clone(), text.part);
            best = Some((length, Passage { skill, part, start: from.start, end: to.end }));
        }
    }
    best.map(|(_, passage)| passage)
}

/// Where the longest run of these words stands in a text, and how many words it has.
fn longest_run(asked: &[Word], text: &[Word]) -> Option<(usize, usize)> {
    // Runs that end at the word before, by the place of their last word in the sentence.
    let mut before = vec![0; asked.len() + 1];
    let (mut end, mut most) = (0, 0);
    for (at, word) in text.iter().enumerate() {
        // Backwards, so that one row is enough.
        for place in (0..asked.len()).rev() {
            before[place + 1] = if asked[place].said == word.said { before[place] + 1 } else { 0 };
            if before[place + 1] > most {
                (end, most) = (at + 1, before[place + 1]);
            }
        }
    }
    (most > 0).then(|| (end - most, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::page::name::tests::skill;

    fn cited(text: &str, passage: &Passage) -> String {
        text.chars().skip(passage.start).take(passage.end - passage.start).collect()
    }

    #[test]
    fn sentences_are_found_where_they_were_taken_from() {
        let own = skill(
            "a",
            "a",
            "Divides QT by the square root of RR.",
            "# A\n\nQTcB = QT / sqrt(RR), in seconds.\n",
        );
        let other = skill("b", "b", "Uses the cube root (Fridericia) of the RR interval.", "");
        let page = Page {
            trigger: "Divide QT by the square root of RR. A thought of a model that nobody had."
                .into(),
            boundary: vec![Case::new("the cube root (Fridericia)", Some(SkillId::new("b")))],
            body: "QTcB = QT / sqrt(RR), in seconds.".into(),
        };
        let found = sources(&page, &own, std::slice::from_ref(&other));
        let said: Vec<(Field, Option<String>)> = found
            .iter()
            .map(|sentence| {
                let text = |passage: &Passage| match (passage.skill.as_str(), passage.part) {
                    ("a", Part::Description) => cited(&own.description, passage),
                    ("a", Part::Content) => cited(&own.content, passage),
                    _ => cited(&other.description, passage),
                };
                (sentence.field, sentence.from.as_ref().map(text))
            })
            .collect();
        let said: Vec<(Field, Option<&str>)> =
            said.iter().map(|(field, text)| (*field, text.as_deref())).collect();
        assert_eq!(
            said,
            [
                (Field::Trigger, Some("QT by the square root of RR")),
                (Field::Trigger, None),
                (Field::Boundary, Some("the cube root (Fridericia")),
                (Field::Body, Some("QTcB = QT / sqrt(RR), in seconds")),
            ]
        );
    }

    #[test]
    fn chinese_is_found_by_its_characters() {
        let own = skill("a", "a", "计算年终奖单独计税，与并入综合所得比较。", "");
        let page =
            Page { trigger: "年终奖单独计税".into(), boundary: vec![], body: String::new() };
        let found = sources(&page, &own, &[]);
        let passage = found[0].from.as_ref().unwrap();
        assert_eq!(cited(&own.description, passage), "年终奖单独计税");
    }
}
