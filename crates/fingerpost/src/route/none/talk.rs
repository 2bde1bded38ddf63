//! How much of a request is talk that no skill is needed for?
//!
//! "Thanks, that worked", "make it shorter", "who wrote that": whatever the library, such phrases tell that
//! the answer is in the conversation or in everybody's head. They stand in `talk.txt`, by kind. A long
//! request has some of them by chance, so they are counted for every ten words. "Translate this" is no talk
//! where a skill translates: what the likeliest skill is about does not count.

use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::text::{Tokenizer, is_idle, terms};

/// Phrases of one kind count so often at most: they repeat one another.
const OF_A_KIND: usize = 2;

/// The kind of thanks and greetings.
const CHAT: &str = "chat";

/// Words that tell something, at least, that a request has itself behind a greeting: "that was great" has one.
const ITSELF: usize = 2;

/// What is counted for so many words ...
const WORDS: f64 = 10.0;

/// ... comes to this at most.
const MOST: f64 = 3.0;

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::read(include_str!("talk.txt")));

/// All phrases by their first word, with their kinds.
struct Phrases {
    kinds: Vec<&'static str>,
    /// The words of each phrase, and its kind.
    phrases: Vec<(Vec<String>, usize)>,
    by_first: HashMap<String, Vec<usize>>,
}

impl Phrases {
    fn read(text: &'static str) -> Self {
        let mut all = Self { kinds: Vec::new(), phrases: Vec::new(), by_first: HashMap::default() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (kind, phrases) = line.split_once(": ").expect("a kind and its phrases");
            let known = all.kinds.iter().position(|known| *known == kind);
            let kind = known.unwrap_or_else(|| {
                all.kinds.push(kind);
                all.kinds.len() - 1
            });
            for phrase in phrases.split(", ") {
                let words = words(phrase);
                let first = words.first().expect("a phrase has words").clone();
                all.by_first.entry(first).or_default().push(all.phrases.len());
                all.phrases.push((words, kind));
            }
        }
        all
    }
}

/// Phrases of talk for ten words of a request; of a shorter one, in all of it. `told` is what the likeliest
/// skill says of itself.
pub(super) fn talk(request: &str, told: &str) -> f64 {
    let Phrases { kinds, phrases, by_first } = &*PHRASES;
    let words = words(request);
    let greeting = greeting(&words);
    let mut found: Vec<usize> = (greeting..words.len())
        .flat_map(|at| {
            let begun = by_first.get(&words[at]).into_iter().flatten().copied();
            let words = &words;
            begun.filter(move |&phrase| words[at..].starts_with(&phrases[phrase].0))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    if !found.is_empty() {
        let told = Told::of(told);
        found.retain(|&phrase| !told.is_about(&phrases[phrase].0));
    }
    let mut counts = vec![0; kinds.len()];
    found.iter().for_each(|&phrase| counts[phrases[phrase].1] += 1);
    let count: usize = counts.iter().map(|&count: &usize| count.min(OF_A_KIND)).sum();
    (count as f64 / (words.len() as f64 / WORDS).max(1.0)).min(MOST)
}

/// How many words of thanks or greeting come before the request itself, if it is more than a few words:
/// "thanks! now merge these" wants something merged.
fn greeting(words: &[String]) -> usize {
    let Phrases { kinds, phrases, by_first } = &*PHRASES;
    let begun = words.first().and_then(|first| by_first.get(first));
    let greetings = begun.into_iter().flatten().map(|&phrase| &phrases[phrase]);
    let greetings =
        greetings.filter(|(phrase, kind)| kinds[*kind] == CHAT && words.starts_with(phrase));
    let longest = greetings.map(|(phrase, _)| phrase.len()).max().unwrap_or(0);
    let telling = words[longest..].iter().filter(|word| !is_idle(word)).count();
    if telling >= ITSELF { longest } else { 0 }
}

/// What a skill says of itself.
struct Told {
    stems: Vec<String>,
    /// Character by character, for scripts without spaces.
    words: Vec<String>,
}

impl Told {
    fn of(text: &str) -> Self {
        let mut stems = terms(text, Tokenizer::Stems);
        stems.sort_unstable();
        Self { stems, words: words(text) }
    }

    /// Does it say what a phrase says: all of its words that tell something?
    fn is_about(&self, phrase: &[String]) -> bool {
        if phrase.iter().any(|word| !word.is_ascii()) {
            return self.words.windows(phrase.len()).any(|words| words == phrase);
        }
        let mut telling = phrase.iter().filter(|word| !is_idle(word)).peekable();
        let has = |word: &String| {
            terms(word, Tokenizer::Stems).iter().all(|stem| self.stems.binary_search(stem).is_ok())
        };
        telling.peek().is_some() && telling.all(has)
    }
}

/// The words of a text in lower case, without apostrophes ("what's" is one word, as many write it); of
/// scripts without spaces each character.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let stands_alone = matches!(c, '\u{2e80}'..='\u{9fff}') && c.is_alphanumeric();
        match c {
            '\'' | '’' => continue,
            _ if c.is_alphanumeric() && !stands_alone => {
                word.push(c);
                continue;
            }
            _ if !word.is_empty() => words.push(std::mem::take(&mut word)),
            _ => {}
        }
        if stands_alone {
            words.push(c.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_heard_in_both_languages() {
        for request in [
            "Thanks, that worked!",
            "make it shorter",
            "谢谢，搞定了",
            "再短点",
            "what's the capital of Peru?",
        ] {
            assert!(talk(request, "") >= 1.0, "{request}");
        }
        for request in [
            "convert EUR to USD",
            "Book a flight from Oslo to Lima for Friday",
            "把这份PDF合并成一个文件",
            "merge these two spreadsheets by customer number",
        ] {
            assert_eq!(talk(request, ""), 0.0, "{request}");
        }
    }

    #[test]
    fn a_greeting_is_no_part_of_what_follows() {
        assert_eq!(talk("thanks! now merge these PDFs", ""), 0.0);
        assert_eq!(talk("hi, merge these two files", ""), 0.0);
        assert!(talk("thanks, that worked", "") >= 1.0);
        assert!(talk("thanks, that was great!", "") >= 1.0);
        assert!(talk("good morning, how are you?", "") >= 1.0);
    }

    #[test]
    fn a_phrase_in_a_long_request_says_less() {
        let long = "Thanks! I have a spreadsheet of orders by customer and another one of payments by date, and my \
            accountant wants one sheet with both where every order has the payment that belongs to it";
        assert!(talk("Thanks!", "") >= 1.0 && talk(long, "") < 0.7, "{}", talk(long, ""));
        let phrases = &*PHRASES;
        assert_eq!(phrases.kinds, ["chat", "you", "back", "edit", "advice", "fact", "code"]);
    }

    #[test]
    fn what_a_skill_is_about_is_no_talk() {
        assert!(talk("translate this letter", "Merges files.") >= 1.0);
        assert_eq!(talk("translate this letter", "Translates a text into other languages."), 0.0);
        let request = "把这句话翻译成英文";
        assert!(talk(request, "合并文件") > talk(request, "把文件翻译成外语"));
        assert!(talk("thanks!", "Converts an amount.") >= 1.0);
    }
}
