//! Which words and pairs of words does a text hold, whatever their endings?
//!
//! Neighbors share their words and differ in how these stand together: "square root" or "cube
//! root", "per flight" or "flights per". So pairs of words are terms beside the words, endings that
//! English adds to a word are cut off, and words that say nothing stand in pairs only.

use std::collections::BTreeMap;

use super::{Tokenizer, for_each_term};

/// Calls `each` with the stem of every word that says something, and with every pair of stems.
pub(super) fn for_each_phrase(text: &str, mut each: impl FnMut(&str)) {
    for_each_with_words(text, |phrase, _| each(phrase));
}

/// The words of a text, and the pairs of words that both say something, by the phrases they become:
/// for those who show a phrase to a person.
pub fn words_of_phrases(text: &str) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    for_each_with_words(text, |phrase, shown| {
        if !shown.split(' ').any(is_idle) {
            words.entry(phrase.to_owned()).or_insert_with(|| shown.to_owned());
        }
    });
    words
}

/// Calls `each` with the stem of every word; words that say nothing stay as they are, so that they
/// are known by their list.
pub(super) fn for_each_stem(text: &str, mut each: impl FnMut(&str)) {
    for_each_term(text, Tokenizer::Auto, |term| {
        if is_idle(term) { each(term) } else { each(&stem(term)) }
    });
}

fn for_each_with_words(text: &str, mut each: impl FnMut(&str, &str)) {
    let mut previous = String::new();
    let mut previous_word = String::new();
    let mut pair = String::new();
    let mut pair_words = String::new();
    for_each_term(text, Tokenizer::Auto, |term| {
        // Scripts without spaces come in characters and pairs already.
        if !term.is_ascii() && term.chars().count() <= 2 {
            previous.clear();
            each(term, term);
            return;
        }
        let stem = stem(term);
        if !is_idle(term) {
            each(&stem, term);
        }
        if !previous.is_empty() {
            pair.clear();
            pair.push_str(&previous);
            pair.push(' ');
            pair.push_str(&stem);
            pair_words.clear();
            pair_words.push_str(&previous_word);
            pair_words.push(' ');
            pair_words.push_str(term);
            each(&pair, &pair_words);
        }
        previous = stem;
        previous_word.clear();
        previous_word.push_str(term);
    });
}

/// What a phrase counts beside its rarity. "The flights" is rare, and says little more than
/// "flights": a pair with an idle word counts half.
pub(super) fn worth(phrase: &str) -> f64 {
    let idle = |(one, other): (&str, &str)| is_idle(one) || is_idle(other);
    if phrase.split_once(' ').is_some_and(idle) { 0.5 } else { 1.0 }
}

/// A word without the endings that number, tense and manner give it. Rough, and enough: it only
/// has to bring the same words together.
fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    if !word.is_ascii() || word.len() < 4 {
        return stem;
    }
    let cut = |stem: &mut String, ending: &str, longer_than: usize| {
        let cuts = stem.len() > longer_than && stem.ends_with(ending);
        if cuts {
            stem.truncate(stem.len() - ending.len());
        }
        cuts
    };
    if cut(&mut stem, "ies", 4) {
        stem.push('y');
    } else if stem.ends_with("sses") {
        stem.truncate(stem.len() - 2);
    } else if !["ss", "us", "is"].iter().any(|ending| stem.ends_with(ending)) {
        cut(&mut stem, "s", 3);
    }
    let _ = cut(&mut stem, "ing", 5) || cut(&mut stem, "ed", 4) || cut(&mut stem, "ly", 5);
    cut(&mut stem, "e", 4);
    let doubled = match stem.as_bytes() {
        [.., a, b] => a == b && !b"lsz".contains(b) && stem.len() > 4,
        _ => false,
    };
    if doubled {
        stem.pop();
    }
    stem
}

/// Does this lower-case word tell nothing about the subject of a request?
pub(crate) fn is_idle(word: &str) -> bool {
    IDLE.binary_search(&word).is_ok()
}

/// Words of asking and of grammar, in order, for the search. Pages have a list of their own
/// (`page/local/usual.txt`), which knows how documents of skills are written: "file", "python" and "步骤"
/// say little there, and in a request they are the matter.
const IDLE: [&str; 178] = [
    "a", "able", "about", "after", "again", "all", "also", "am", "an", "and", "any", "anything",
    "are", "aren", "as", "at", "be", "because", "been", "before", "being", "between", "both",
    "but", "by", "can", "could", "d", "did", "didn", "do", "does", "doesn", "doesnt", "doing",
    "don", "done", "dont", "during", "each", "few", "for", "from", "further", "get", "give",
    "gives", "got", "had", "has", "have", "having", "he", "hello", "help", "her", "here", "hey",
    "hi", "him", "his", "how", "i", "id", "if", "im", "in", "into", "is", "isn", "it", "its",
    "ive", "just", "know", "let", "like", "ll", "looking", "m", "make", "may", "maybe", "me",
    "might", "more", "most", "must", "my", "need", "needs", "no", "nor", "not", "now", "of", "off",
    "ok", "okay", "on", "once", "one", "only", "onto", "or", "other", "our", "out", "over", "own",
    "please", "re", "really", "s", "same", "shall", "she", "should", "so", "some", "someone",
    "something", "such", "sure", "t", "than", "thank", "thanks", "that", "the", "their", "them",
    "then", "there", "these", "they", "thing", "things", "this", "those", "through", "to", "too",
    "tried", "try", "trying", "until", "up", "us", "use", "using", "ve", "very", "want", "wanted",
    "wants", "was", "wasn", "we", "were", "weren", "what", "when", "where", "which", "while",
    "who", "whom", "whose", "why", "will", "with", "within", "won", "would", "yes", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::terms;

    #[test]
    fn words_and_pairs_whatever_their_endings() {
        let phrases = |text: &str| terms(text, Tokenizer::Phrases).join(" | ");
        assert_eq!(phrases("Counting the flights"), "count | count the | flight | the flight");
        assert_eq!(phrases("cubic roots"), phrases("cubic root"));
        assert_eq!(phrases("年终奖 tax"), "年 | 终 | 年终 | 奖 | 终奖 | tax");
        assert_eq!(phrases(""), "");
    }

    #[test]
    fn stems_bring_the_same_words_together() {
        for (one, other) in [
            ("queries", "query"),
            ("merging", "merge"),
            ("merged", "merge"),
            ("classes", "class"),
            ("stopped", "stop"),
            ("dates", "date"),
        ] {
            assert_eq!(stem(one), stem(other));
        }
        for word in ["qt", "bus", "analysis", "loss", "ring"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn idle_words_are_in_order() {
        assert!(IDLE.is_sorted());
        assert!(is_idle("the") && !is_idle("root"));
    }
}
