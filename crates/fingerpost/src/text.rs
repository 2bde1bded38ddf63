//! How does text become terms?
//!
//! `Reference` is the tokenizer of the benchmark's own toolkit, to the letter: lower-case, then
//! maximal runs of word characters (letters, numbers, underscore). It takes a whole Chinese
//! sentence for one word. `Auto` is the same for text with spaces between words; runs of scripts
//! written without them (Chinese, Japanese, Thai, ...) become single characters and overlapping
//! pairs, and combining marks belong to their word, as in Hindi. Pairs stand for words; the single
//! characters beside them lift BM25's Recall@10 on Chinese tools (`ultratool-zh`) from 83.7 to 87.5.

mod hidden;
mod lines;
mod phrase;
mod sentence;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

pub use hidden::is_hidden;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
pub(crate) use lines::paragraphs;
pub(crate) use phrase::is_idle;
pub use phrase::words_of_phrases;
pub(crate) use sentence::{Stop, first_sentence, parts, sentences, whole_sentences};
use serde::{Deserialize, Serialize};

/// The rule by which text becomes terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// Words where words are spaced, characters and their pairs where they are not.
    #[default]
    Auto,
    /// As `Auto`, but words without the endings that number, tense and manner give them.
    Stems,
    /// The reference toolkit's rule, for parity.
    Reference,
    /// Stems, and pairs of neighboring ones: what tells neighbors apart.
    Phrases,
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tokenizer::Auto => "auto",
            Tokenizer::Stems => "stems",
            Tokenizer::Reference => "reference",
            Tokenizer::Phrases => "phrases",
        })
    }
}

impl FromStr for Tokenizer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Tokenizer::Auto),
            "stems" => Ok(Tokenizer::Stems),
            "reference" => Ok(Tokenizer::Reference),
            "phrases" => Ok(Tokenizer::Phrases),
            _ => Err(format!("'{name}' is no tokenizer: use auto, stems, reference or phrases")),
        }
    }
}

impl Tokenizer {
    /// What a term counts for its kind, beside its rarity.
    pub(crate) fn worth(self, term: &str) -> f64 {
        if self == Tokenizer::Phrases { phrase::worth(term) } else { 1.0 }
    }

    /// Do words of asking hardly count in a request?
    pub(crate) fn knows_idle_words(self) -> bool {
        matches!(self, Tokenizer::Auto | Tokenizer::Stems)
    }
}

/// Calls `each` with every term of `text`, in order.
pub fn for_each_term(text: &str, tokenizer: Tokenizer, mut each: impl FnMut(&str)) {
    // Their own words come through here again, so the closure's type must not grow with them.
    match tokenizer {
        Tokenizer::Phrases => {
            return phrase::for_each_phrase(text, &mut each as &mut dyn FnMut(&str));
        }
        Tokenizer::Stems => return phrase::for_each_stem(text, &mut each as &mut dyn FnMut(&str)),
        Tokenizer::Auto | Tokenizer::Reference => {}
    }
    let text = lower_case(text);
    let classes = Classes::new(tokenizer);
    let mut word: Option<Range<usize>> = None;
    let mut run: Option<Run> = None;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (class, end) = match ASCII[usize::from(bytes[at])] {
            // Most text is made of whole words and whole gaps of it.
            Some(class) => {
                let others = bytes[at..].iter().position(|&b| ASCII[usize::from(b)] != Some(class));
                (class, others.map_or(bytes.len(), |others| at + others))
            }
            None => {
                let c = text[at..].chars().next().expect("a character starts here");
                (classes.of(c), at + c.len_utf8())
            }
        };
        let here = at..end;
        at = end;
        match class {
            Class::Word => {
                end_run(&text, &mut run, &mut each);
                match &mut word {
                    Some(word) => word.end = here.end,
                    None => word = Some(here),
                }
            }
            Class::Unspaced => {
                end_word(&text, &mut word, &mut each);
                let previous = end_run(&text, &mut run, &mut each);
                run = Some(Run { previous, last: here });
            }
            // A mark extends whatever stands before it.
            Class::Mark => match (&mut word, &mut run) {
                (Some(word), _) => word.end = here.end,
                (None, Some(run)) => run.last.end = here.end,
                (None, None) => word = Some(here),
            },
            Class::Separator => {
                end_word(&text, &mut word, &mut each);
                end_run(&text, &mut run, &mut each);
            }
        }
    }
    end_word(&text, &mut word, &mut each);
    end_run(&text, &mut run, &mut each);
}

/// The beginning of a text, so many words long; in scripts without spaces a character is a word.
pub(crate) fn first_words(text: &str, most: usize) -> &str {
    // A word has at least one byte.
    if text.len() <= most {
        return text;
    }
    let classes = Classes::new(Tokenizer::Auto);
    let (mut count, mut is_inside) = (0, false);
    for (at, c) in text.char_indices() {
        let class = classes.of(c);
        if class == Class::Unspaced || class == Class::Word && !is_inside {
            count += 1;
            if count > most {
                return &text[..at];
            }
        }
        is_inside = class == Class::Word || class == Class::Mark && is_inside;
    }
    text
}

/// All terms of `text`, in order.
pub fn terms(text: &str, tokenizer: Tokenizer) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, tokenizer, |term| terms.push(term.to_owned()));
    terms
}

/// Spaces and line breaks become single spaces, and characters that nobody sees go: models leave
/// them behind, and strangers hide words in them.
pub(crate) fn tidy(text: &str) -> String {
    let seen = |c: &char| c.is_whitespace() || *c != '\u{fffd}' && !is_hidden(*c);
    let text: String = text.chars().filter(seen).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As [`str::to_lowercase`], which leaves its quick path for good at the first character beyond
/// ASCII: a dash in the first sentence, and the whole document is slow.
fn lower_case(text: &str) -> String {
    // The one letter whose lower case depends on what stands around it.
    if text.contains('Σ') {
        return text.to_lowercase();
    }
    let mut lower = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        lower.push_str(&rest[..at]);
        let c = rest[at..].chars().next().expect("a character starts here");
        match c {
            // Chinese, Japanese and Korean have one case.
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => lower.push(c),
            _ => lower.extend(c.to_lowercase()),
        }
        rest = &rest[at + c.len_utf8()..];
    }
    lower.push_str(rest);
    lower.make_ascii_lowercase();
    lower
}

/// The last character of an unspaced script, which marks may still extend.
struct Run {
    /// Where the character before it starts, if they form a pair.
    previous: Option<usize>,
    last: Range<usize>,
}

fn end_word(text: &str, word: &mut Option<Range<usize>>, each: &mut impl FnMut(&str)) {
    if let Some(word) = word.take() {
        each(&text[word]);
    }
}

/// The character is complete: it and its pair are terms. Returns where it starts.
fn end_run(text: &str, run: &mut Option<Run>, each: &mut impl FnMut(&str)) -> Option<usize> {
    let Run { previous, last } = run.take()?;
    each(&text[last.clone()]);
    if let Some(previous) = previous {
        each(&text[previous..last.end]);
    }
    Some(last.start)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Unspaced,
    Mark,
    Separator,
}

/// The class of each byte that is a character by itself.
const ASCII: [Option<Class>; 256] = {
    let mut classes = [None; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_word = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        classes[byte] = Some(if is_word { Class::Word } else { Class::Separator });
        byte += 1;
    }
    classes
};

struct Classes {
    tokenizer: Tokenizer,
    category: CodePointMapDataBorrowed<'static, GeneralCategory>,
    script: CodePointMapDataBorrowed<'static, Script>,
}

impl Classes {
    fn new(tokenizer: Tokenizer) -> Self {
        Self {
            tokenizer,
            category: CodePointMapData::<GeneralCategory>::new(),
            script: CodePointMapData::<Script>::new(),
        }
    }

    fn of(&self, c: char) -> Class {
        let category = self.category.get(c);
        let is_word = GeneralCategoryGroup::Letter.contains(category)
            || GeneralCategoryGroup::Number.contains(category);
        match self.tokenizer {
            Tokenizer::Reference if is_word => Class::Word,
            Tokenizer::Reference => Class::Separator,
            _ if is_word && self.is_unspaced(c) => Class::Unspaced,
            _ if is_word => Class::Word,
            _ if GeneralCategoryGroup::Mark.contains(category) => Class::Mark,
            _ => Class::Separator,
        }
    }

    fn is_unspaced(&self, c: char) -> bool {
        matches!(
            self.script.get(c),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Bopomofo
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(tokenizer: Tokenizer, text: &str, expect: Expect) {
        expect.assert_eq(&terms(text, tokenizer).join(" | "));
    }

    #[test]
    fn a_text_is_cut_before_the_word_that_is_too_many() {
        assert_eq!(first_words("Joins two, or three, files.", 3), "Joins two, or ");
        assert_eq!(first_words("Joins two files.", 3), "Joins two files.");
        assert_eq!(first_words("合并文件 now", 3), "合并文");
        assert_eq!(first_words("合并文件 now", 4), "合并文件 ");
        assert_eq!(first_words("a b", 0), "");
    }

    #[test]
    fn reference_takes_word_runs() {
        let check = |text, expect| check(Tokenizer::Reference, text, expect);
        check(
            "QTc = QT/sqrt(RR), read_sql_query!",
            expect!["qtc | qt | sqrt | rr | read_sql_query"],
        );
        check("naïve Ⅷ ½ x² Straße İ", expect!["naïve | ⅷ | ½ | x² | straße | i"]);
        check("年终奖怎么计税?", expect!["年终奖怎么计税"]);
        check("ΟΔΥΣΣΕΥΣ οδός", expect!["οδυσσευς | οδός"]);
        check("हिन्दी", expect!["ह | न | द"]);
        check("", expect![""]);
    }

    #[test]
    fn auto_takes_characters_and_pairs_of_unspaced_scripts() {
        let check = |text, expect| check(Tokenizer::Auto, text, expect);
        check("年终奖税?", expect!["年 | 终 | 年终 | 奖 | 终奖 | 税 | 奖税"]);
        check("把PDF合并", expect!["把 | pdf | 合 | 并 | 合并"]);
        check("カナ。ひ", expect!["カ | ナ | カナ | ひ"]);
        check("ที่นี่", expect!["ที่ | นี่ | ที่นี่"]);
        check("plain words stay", expect!["plain | words | stay"]);
        check("हिन्दी भाषा", expect!["हिन्दी | भाषा"]);
    }

    #[test]
    fn lower_case_is_that_of_the_standard_library() {
        let every: String = ('\0'..=char::MAX).flat_map(|c| [c, 'A']).collect();
        for text in ["ΟΔΥΣΣΕΥΣ — A", "İZMİR Ⅷ STRASSE ẞ", &every, &every.replace('Σ', "")]
        {
            assert!(lower_case(text) == text.to_lowercase(), "{:.20}", text);
        }
    }

    #[test]
    fn both_agree_on_spaced_text() {
        let text = "Bazett's formula: QTc = QT / √RR — für 60 bpm, снова, ٣";
        assert_eq!(terms(text, Tokenizer::Auto), terms(text, Tokenizer::Reference));
    }
}
