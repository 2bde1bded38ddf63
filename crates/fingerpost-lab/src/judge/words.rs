//! What do two texts say, spelling aside?

use std::sync::LazyLock;

use regex::Regex;

/// Characters of a stranger's text that a verdict repeats.
const MAX_QUOTED: usize = 120;

/// Words that turn a sentence around.
static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:not|never|neither|nor|cannot|without|except)\b|n['’]t\b")
        .expect("a valid pattern")
});

static TRUTH: LazyLock<Regex> = LazyLock::new(|| {
    let negated = r"(?P<negated>(?:\b(?:not|never|cannot be)\b|n['’]t\b)(?:\s+(?:be|necessarily|always|really))?\s+)?";
    let words = r"\b(?P<word>yes|no|true|false|correct|incorrect)\b";
    Regex::new(&format!("(?i){negated}{words}")).expect("a valid pattern")
});

/// What opens a claim that is not made.
static UNFOUNDED: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "say|conclude|infer|determine|deduce|guarantee|establish|be (?:sure|certain|concluded|inferred|determined)";
    let cannot =
        r"\b(?:cannot|can not|can['’]t|could not|do not|not possible to)\s+(?:[a-z]+ly\s+)?";
    Regex::new(&format!(r"(?i){cannot}(?:{verbs})\b|\bnot? (?:guaranteed?|certain)\b|\b(?:does not|doesn['’]t) (?:necessarily )?follow\b"))
        .expect("a valid pattern")
});

/// Lower-case words with one space between them; without articles, punctuation and accents.
pub(crate) fn normalized(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\'' | '’' | '‘' | '`' => {}
            '&' => spaced.push_str(" and "),
            _ if letter.is_alphanumeric() => {
                spaced.extend(letter.to_lowercase().map(without_accent));
            }
            _ => spaced.push(' '),
        }
    }
    let words = spaced.split_whitespace().filter(|word| !matches!(*word, "a" | "an" | "the"));
    words.collect::<Vec<_>>().join(" ")
}

/// Does the text deny something?
pub(crate) fn has_negation(text: &str) -> bool {
    NEGATION.is_match(text)
}

/// Does the text say yes or no? The first word counts if it is one of these; otherwise all that are
/// found have to agree. "We cannot say that it is true" is a no.
pub(crate) fn truth(text: &str) -> Option<bool> {
    let mut said = None;
    for found in TRUTH.captures_iter(text) {
        let word = found["word"].to_ascii_lowercase();
        let positive = matches!(word.as_str(), "yes" | "true" | "correct");
        let negated = found.name("negated").is_some();
        let value = positive != negated;
        let at = found.get(0).map_or(0, |all| all.start());
        if at == 0 || !text[..at].contains(char::is_alphanumeric) {
            return Some(value);
        }
        let is_claim = !matches!(word.as_str(), "yes" | "no");
        let value = value && !(is_claim && UNFOUNDED.is_match(&text[..at]));
        match said {
            None => said = Some(value),
            Some(earlier) if earlier != value => return None,
            Some(_) => {}
        }
    }
    said.or_else(|| UNFOUNDED.is_match(text).then_some(false))
}

/// The number that an English word stands for.
pub(crate) fn number_word(word: &str) -> Option<u32> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let at = WORDS.iter().position(|known| word.eq_ignore_ascii_case(known))?;
    u32::try_from(at).ok()
}

/// A text as it is shown in a verdict: one line, and short.
pub(crate) fn quoted(text: &str) -> String {
    let mut line = String::new();
    for (at, letter) in text.trim().chars().enumerate() {
        if at == MAX_QUOTED {
            line.push('…');
            break;
        }
        line.push(if letter.is_control() { ' ' } else { letter });
    }
    line
}

/// Names are often typed without their accents; only the common Latin letters are folded.
fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ì'..='ï' | 'ī' | 'ı' => 'i',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ś' | 'š' | 'ş' => 's',
        'ù'..='ü' | 'ū' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ł' => 'l',
        'ğ' => 'g',
        'ř' => 'r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_in_several_words() {
        for (text, expected) in [
            ("Yes, it is.", Some(true)),
            ("**No**, although the converse is true", Some(false)),
            ("the statement is false", Some(false)),
            ("this is not true", Some(false)),
            ("it isn't necessarily true", Some(false)),
            ("this is not false", Some(true)),
            ("that is incorrect", Some(false)),
            ("it is true that this is false", None),
            ("we cannot say that at least one must be true", Some(false)),
            ("so this cannot logically be concluded", Some(false)),
            ("it cannot be concluded", Some(false)),
            ("it does not follow from the rules", Some(false)),
            ("nobody knows", None),
            ("", None),
        ] {
            assert_eq!(truth(text), expected, "{text}");
        }
    }

    #[test]
    fn spelling_is_put_aside() {
        assert_eq!(normalized("The Beauty & Spas,  “Léon’s”"), "beauty and spas leons");
        assert_eq!(normalized("CNN___Daily_Mail"), "cnn daily mail");
    }
}
