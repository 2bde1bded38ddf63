//! Which language is a text in, as far as a writer of pages must know?
//!
//! Connecting words are in the reader's language, and a page that changes language halfway is no
//! page. Two languages have words of their own here; text in any other gets English ones.

use serde::{Deserialize, Serialize};

use crate::skill::Skill;

/// A language that connecting words exist in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Language {
    /// English, and whatever is not Chinese.
    #[serde(rename = "en")]
    English,
    /// Chinese.
    #[serde(rename = "zh")]
    Chinese,
}

/// Of the letters of a Chinese text, at least this share is Chinese: tools and fields keep their
/// English names, and a Chinese word takes a third of the letters.
const CHINESE_SHARE: f64 = 0.15;

impl Language {
    /// The language of a text; English if it has no letters.
    pub fn of(text: &str) -> Self {
        let (mut han, mut letters) = (0_u32, 0_u32);
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            letters += 1;
            han += u32::from(is_han(c));
        }
        if f64::from(han) >= CHINESE_SHARE * f64::from(letters) && han > 0 {
            Language::Chinese
        } else {
            Language::English
        }
    }

    /// The language a skill is described in.
    pub fn of_skill(skill: &Skill) -> Self {
        let described = if skill.description.chars().any(char::is_alphabetic) {
            &skill.description
        } else {
            &skill.content
        };
        Self::of(described)
    }
}

/// Is this a Chinese character?
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_do_not_make_a_text_english() {
        assert_eq!(Language::of("把多个 PDF 合并成一个文件"), Language::Chinese);
        assert_eq!(Language::of("获取 account_balance 余额"), Language::Chinese);
        assert_eq!(Language::of("Writes 报告 and other official documents"), Language::English);
        assert_eq!(Language::of("42"), Language::English);
    }
}
