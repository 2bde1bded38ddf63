//! What does each of several look-alikes do that the others do not, said in its first words?
//!
//! Authors of neighbors begin alike: "Convert a mass …", "Convert a length …". In a list of them the
//! words that all have are noise, and what differs stands last, where a narrow terminal cuts it off. So the
//! words with which another one begins too are left out, and each line opens with its own.

use std::collections::BTreeSet;

use crate::text::{is_idle, tidy};

/// Characters of a line at most: a door shows what fits, and a program gets the whole of it.
const MOST: usize = 160;

/// Words that a line keeps at least, though another one begins with them: less says nothing.
const LEAST: usize = 3;

/// What is told of each, without the words with which another one begins too, and without those at the start that
/// the text `beside` them all has anyway. The texts of several that say the same stay whole.
pub(super) fn openings(texts: &[&str], beside: &str) -> Vec<String> {
    let texts: Vec<String> = texts.iter().map(|text| tidy(text)).collect();
    let words: Vec<Vec<Word<'_>>> = texts.iter().map(|text| words(text)).collect();
    let known: BTreeSet<String> = parts(beside).map(|part| stem(&part)).collect();
    (0..texts.len())
        .map(|at| {
            let others = (0..texts.len()).filter(|&other| other != at);
            let common = others.map(|other| alike(&words[at], &words[other])).max();
            let first = first(&words[at], common.unwrap_or(0), &known);
            line(words[at].get(first).map_or("", |word| &texts[at][word.start..]))
        })
        .collect()
}

/// A word of a text: where it begins, and what of it is compared.
struct Word<'a> {
    start: usize,
    text: &'a str,
}

impl Word<'_> {
    fn key(&self) -> String {
        let letters = self.text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    }
}

/// Words by their spaces; a script without spaces is parted at its marks.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = 0;
    let ends = |c: char| c == ' ' || "，。、；：".contains(c);
    for part in text.split_inclusive(ends) {
        if !part.trim().is_empty() {
            words.push(Word { start, text: part.trim_end() });
        }
        start += part.len();
    }
    words
}

/// With how many same words two texts begin; none if all of them are the same.
fn alike(one: &[Word<'_>], other: &[Word<'_>]) -> usize {
    let same = one.iter().zip(other).take_while(|(a, b)| a.key() == b.key()).count();
    if same == one.len() && same == other.len() { 0 } else { same }
}

/// The first word that is a text's own, if enough follows it.
fn first(words: &[Word<'_>], common: usize, known: &BTreeSet<String>) -> usize {
    let last = words.len().saturating_sub(LEAST);
    let mut first = common.min(last);
    // "Convert between" is gone, and so may be the joint that is left of it, and what all speak of.
    let says_nothing = |word: &Word<'_>| {
        parts(word.text).all(|part| is_idle(&part) || known.contains(&stem(&part)))
    };
    let ends = |word: &Word<'_>| word.text.ends_with(['.', ':', ';', '!', '?']);
    let skipped = words[first..].iter().take_while(|word| says_nothing(word)).count();
    if first + skipped <= last && !words[first..first + skipped].iter().any(ends) {
        first += skipped;
    }
    // Where too little would be left, the word before the joint belongs to it: "hints for a recipe".
    while first > 0
        && words.get(first).is_some_and(|word| parts(word.text).all(|part| is_idle(&part)))
    {
        first -= 1;
    }
    // "Decide whether a form is due" is not "a form is due".
    let turns = |word: &Word<'_>| TURNS.contains(&word.key().as_str());
    words[..first].iter().rposition(turns).unwrap_or(first)
}

/// Words without which what follows would say something else.
const TURNS: [&str; 13] = [
    "how", "if", "never", "no", "not", "what", "when", "whether", "which", "who", "whose", "why",
    "without",
];

/// The words within a word: "cube-root" has two.
fn parts(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase)
}

/// The beginning, by which two forms of a word are known for one: "correct" and "correction".
fn stem(part: &str) -> String {
    part.chars().take(6).collect()
}

/// The text up to where a sentence ends or no more fits.
fn line(text: &str) -> String {
    let begun = text.trim_start_matches(['(', '[', '"', '“', ',', ';', ':', '-', '–', '—', ' ']);
    cut(sentence(begun)).trim_end_matches(['.', '。', ',', ';', ':', ' ']).to_owned()
}

/// The first sentence, with the next one where it is a word or two long.
fn sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '。', '!', '?']).filter(|(at, mark)| {
        let mut follows = text[at + mark.len()..].chars();
        let (next, begins) = (follows.next(), follows.next());
        // "e.g. for maps" goes on; a sentence begins large.
        let is_end = next.is_none_or(|c| c == ' ') && !begins.is_some_and(char::is_lowercase);
        *mark == "。" || is_end
    });
    let mut ends = ends.map(|(at, mark)| at + mark.len());
    let far =
        ends.find(|&end| text[..end].chars().filter(|c| c.is_alphanumeric()).count() >= SHORT);
    far.map_or(text, |end| &text[..end])
}

/// Letters of a sentence that may stand alone: "e.g." may not.
const SHORT: usize = 12;

/// What fits, up to the end of a word.
fn cut(text: &str) -> String {
    let Some((limit, _)) = text.char_indices().nth(MOST - 1) else { return text.to_owned() };
    let kept = &text[..limit];
    let end = kept.rfind(' ').filter(|end| end * 2 > limit).unwrap_or(limit);
    format!("{}…", kept[..end].trim_end_matches([',', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], expected: &[&str]) {
        assert_eq!(openings(texts, ""), expected);
    }

    #[test]
    fn what_others_begin_with_is_left_out() {
        check(
            &[
                "Convert a mass between kilograms and pounds.",
                "Convert a length between meters and feet.",
                "Convert the temperature of an oven from Celsius.",
                "Numbers ISO weeks. And more.",
            ],
            &[
                "mass between kilograms and pounds",
                "length between meters and feet",
                "temperature of an oven from Celsius",
                "Numbers ISO weeks",
            ],
        );
    }

    #[test]
    fn what_the_chosen_one_says_too_is_no_opening() {
        let chosen = "Correct a QT interval for the heart rate by the square root";
        let hodges = "Heart-rate correction of QT by the Hodges method, per beat";
        let same = "Correction of the QT interval";
        assert_eq!(openings(&[hodges, same], chosen), ["Hodges method, per beat", same]);
    }

    #[test]
    fn a_line_says_no_other_thing_than_its_text() {
        let texts = ["Decide whether a form is due now", "Decide whether a report is due"];
        let expected = ["whether a form is due now", "whether a report is due"];
        check(&texts, &expected);
        check(&["What to watch today", "What to read"], &["What to watch today", "What to read"]);
    }

    #[test]
    fn enough_is_kept_to_say_something() {
        check(
            &["Convert a PDF to text", "Convert a PDF to images", "Search"],
            &["PDF to text", "PDF to images", "Search"],
        );
        check(&["Get hints", "Get hints", ""], &["Get hints", "Get hints", ""]);
        check(&["Get hints", "Get hints for a recipe"], &["Get hints", "hints for a recipe"]);
        check(&["获取账户余额", "获取账户的详细信息"], &["获取账户余额", "获取账户的详细信息"]);
    }

    #[test]
    fn a_line_is_a_sentence_and_no_longer_than_it_may_be() {
        check(&["Uses v1.2 of it, e.g. for maps. Then more."], &["Uses v1.2 of it, e.g. for maps"]);
        let long = "word ".repeat(100);
        let line = &openings(&[&long], "")[0];
        assert!(line.chars().count() <= MOST && line.ends_with("word…"), "{line}");
    }
}
