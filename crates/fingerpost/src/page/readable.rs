//! Does a text read as a person would write it?
//!
//! Rules of thumb that need no grammar, for both sides: the local writer takes no text that one of them finds fault
//! with, and the checks find fault with whatever a page holds. They are for what a person sees at once: an address,
//! markup, half a sentence, a sentence that says nothing.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::language::is_han;
use crate::text::whole_sentences;

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:https?|ftp|file|ssh|git)://|\bwww\.[a-z0-9-]+\.|\b[a-z0-9-]+\.(?:com|org|io|dev|net|ai|app|co)/\w|\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b")
        .expect("a valid pattern")
});

static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    let tags = "a|b|i|p|br|div|span|img|table|tr|td|th|ul|ol|li|h[1-6]|strong|em|code|pre|details|summary|sub|sup|kbd|hr|center|picture|source|video|iframe|script|style|font";
    let forms = [
        r"!\[|\]\(|\]\[",
        &format!(r"</?(?:{tags})(?:\s[^<>]*)?/?>"),
        r"\|\s*:?-{2,}",
        r"\|[^|]+\|[^|]+\|",
        r#"^\s*[\[{]\s*["{\[]|"\s*:\s*[\["{]|\}\s*[,}]\s*$"#,
        r"^\s*#{1,6}\s|\*\*|```|~~~|^\s*[-*+]\s",
    ];
    Regex::new(&format!("(?im)(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// Symbols of a formula between two operands, or a command of a formula language.
static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{N})\]²³%]\s*(?:=|≤|≥|≈|≠|∝|<=|>=|→|⇒|×|÷|≡|∈|[+*^/]\s*[\p{L}\p{N}(√]*\s*=)\s*[-−]?[\p{L}\p{N}(\[√∑∫|⌊⌈\\]|\\(?:frac|sum|int|sqrt|cdot|le|ge|to)\b|√|∑|∫")
        .expect("a valid pattern")
});

/// Words that announce what is not said any more.
pub(crate) const HANGING: [&str; 56] = [
    "across", "against", "because", "during", "like", "onto", "under", "until", "using", "while",
    "who", "whose", "within", "without", "a", "about", "an", "and", "any", "are", "as", "at", "be",
    "between", "but", "by", "each", "for", "from", "if", "in", "including", "into", "is", "it",
    "its", "not", "of", "on", "or", "over", "per", "so", "such", "than", "that", "the", "their",
    "through", "to", "via", "when", "where", "whether", "which", "with",
];

/// Those of them that end no sentence at all: "what it is for" is whole.
const OPEN_ENDED: [&str; 14] = [
    "a", "an", "and", "as", "between", "but", "including", "into", "its", "or", "such", "than",
    "the", "their",
];

/// Words that lean on what was said before.
const LEANING: [&str; 49] = [
    "additionally",
    "after",
    "afterwards",
    "also",
    "alternatively",
    "and",
    "another",
    "because",
    "both",
    "but",
    "consequently",
    "conversely",
    "either",
    "finally",
    "first",
    "furthermore",
    "hence",
    "here",
    "however",
    "it",
    "lastly",
    "moreover",
    "namely",
    "next",
    "nor",
    "nothing",
    "or",
    "otherwise",
    "second",
    "similarly",
    "so",
    "that",
    "then",
    "thereafter",
    "therefore",
    "they",
    "third",
    "this",
    "those",
    "these",
    "thus",
    "too",
    "which",
    "whose",
    "their",
    "its",
    "his",
    "her",
    "them",
];

/// Programs whose names are small letters, at the start of a sentence too.
const PROGRAMS: [&str; 26] = [
    "apt", "awk", "bash", "brew", "bun", "cargo", "conda", "curl", "docker", "ffmpeg", "gh", "git",
    "grep", "jq", "kubectl", "make", "node", "npm", "npx", "pip", "pnpm", "python", "sed", "ssh",
    "uv", "yarn",
];

/// Is this the name of a program that is written small?
pub(crate) fn is_program(word: &str) -> bool {
    PROGRAMS.contains(&word)
}

/// Does it hold an address of the web or of a mailbox?
pub(crate) fn has_address(text: &str) -> bool {
    ADDRESS.is_match(text)
}

/// Does it hold links, tags, rows of a table, JSON?
pub(crate) fn has_markup(text: &str) -> bool {
    MARKUP.is_match(text)
}

/// Does one of its sentences begin with a small letter? Names of programs and of things may.
pub(crate) fn begins_small(text: &str) -> bool {
    whole_sentences(text).into_iter().any(|sentence| {
        let word = sentence.split(char::is_whitespace).next().unwrap_or_default();
        let word = word.trim_end_matches([',', ':', ';']);
        let plain =
            word.len() > 1 && word.chars().all(|c| c.is_lowercase() || c == '\'' || c == '’');
        plain && !is_program(word) && !is_formula(sentence)
    })
}

/// Does it end before its time, or lack the other half of a pair?
pub(crate) fn is_cut(text: &str) -> bool {
    let text = text.trim();
    if text.ends_with("..") {
        return true;
    }
    let text = text.trim_end_matches(['.', '。']);
    let count = |of: &[char]| text.matches(of).count();
    // A quotation mark after a number may mean inches.
    let inches = text.as_bytes().windows(2).any(|two| two[0].is_ascii_digit() && two[1] == b'"');
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    count(&['(', '（']) != count(&[')', '）'])
        || count(&['“']) != count(&['”'])
        || (count(&['"']) % 2 == 1 && !inches)
        || OPEN_ENDED.contains(&last.as_str())
        || ["包括", "包含", "例如", "比如"].iter().any(|open| text.ends_with(open))
        || text.ends_with([
            ',', ':', ';', '，', '：', '；', '、', '—', '–', '-', '/', '…', '×', '÷', '=',
        ])
}

/// Does its first word lean on a sentence that is not there?
pub(crate) fn leans(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let word = word.unwrap_or_default().to_lowercase();
    // "This skill" is the skill; "First-order" is one word.
    let of_skill = ["this skill", "this tool", "both sides"]
        .iter()
        .any(|own| text.to_lowercase().starts_with(own));
    let hyphened = text.as_bytes().get(word.len()) == Some(&b'-');
    (LEANING.contains(&word.as_str()) && !of_skill && !hyphened)
        || [
            "此外", "另外", "然后", "因此", "所以", "但是", "接着", "最后", "否则", "同时", "以下",
            "如下",
        ]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Is there a formula in it?
pub(crate) fn is_formula(text: &str) -> bool {
    FORMULA.is_match(text)
}

/// Is there a verb in it? Chinese words do not show what they are: a clause of some length counts.
pub(crate) fn has_verb(text: &str) -> bool {
    let han = text.chars().filter(|c| is_han(*c)).count();
    if han >= 6 {
        return true;
    }
    text.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’').any(is_verb)
}

/// Is this word a verb, in one of its forms?
pub(crate) fn is_verb(word: &str) -> bool {
    let word = word.to_lowercase().replace('’', "'");
    if AUXILIARIES.contains(&word.as_str()) || VERBS.contains(word.as_str()) {
        return true;
    }
    let has = |base: &str| VERBS.contains(base);
    let undoubled = |base: &str| {
        let mut end = base.chars().rev();
        end.next().is_some_and(|last| end.next() == Some(last)) && has(&base[..base.len() - 1])
    };
    if let Some(base) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied")) {
        return has(&format!("{base}y"));
    }
    let third = ["s", "es"].iter().filter_map(|end| word.strip_suffix(end)).any(has);
    let past = word
        .strip_suffix("ed")
        .is_some_and(|base| has(base) || has(&format!("{base}e")) || undoubled(base));
    third || past
}

/// Is there a verb that can be nothing else? "Patterns for reports" has two words that can be verbs, and none that is.
pub(crate) fn is_sentence(text: &str) -> bool {
    let han = text.chars().filter(|c| is_han(*c)).count();
    let is_finite = |word: &str| {
        let word = word.to_lowercase();
        let third = ["s", "es"].iter().filter_map(|end| word.strip_suffix(end)).map(str::to_owned);
        let third = third.chain(word.strip_suffix("ies").map(|base| format!("{base}y")));
        third
            .chain([word.clone()])
            .any(|base| VERBS.contains(base.as_str()) && !NOUNS.contains(base.as_str()))
    };
    han >= 6
        || has_auxiliary(text)
        || commands(text)
        || text.split(|c: char| !c.is_alphabetic() && c != '-').any(is_finite)
}

/// Does it begin with a verb that tells somebody to do something?
pub(crate) fn commands(text: &str) -> bool {
    let mut words =
        text.split_whitespace().map(|word| word.trim_matches([',', ':', ';', '.']).to_lowercase());
    let first = words.next().unwrap_or_default();
    if ["always", "never", "do", "don't", "only"].contains(&first.as_str()) {
        return words.any(|word| VERBS.contains(word.as_str()));
    }
    // "Review of the design" tells nobody to review.
    let second = words.next().unwrap_or_default();
    let is_noun = NOUNS.contains(first.as_str())
        && ["and", "for", "from", "in", "of", "on", "or", "to", "with"].contains(&second.as_str());
    VERBS.contains(first.as_str()) && !is_noun
}

/// Does it have a verb of a whole sentence: "is", "must", "can"?
pub(crate) fn has_auxiliary(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’')
        .any(|word| AUXILIARIES.contains(&word.to_lowercase().replace('’', "'").as_str()))
}

const AUXILIARIES: [&str; 46] = [
    "am", "are", "aren't", "be", "been", "became", "built", "came", "can", "can't", "cannot",
    "could", "did", "didn't", "do", "does", "doesn't", "don't", "found", "gave", "given", "goes",
    "got", "had", "has", "hasn't", "have", "haven't", "is", "isn't", "it's", "kept", "made", "may",
    "might", "must", "needn't", "shall", "should", "shouldn't", "was", "were", "will", "won't",
    "would", "went",
];

/// Verbs that are nouns or qualities as often.
static NOUNS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("verbs.txt").lines().skip_while(|line| *line != "# nouns too");
    lines.skip(1).flat_map(|line| line.split(' ')).collect()
});

static VERBS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    include_str!("verbs.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.split(' '))
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_sees_at_once() {
        assert!(
            has_address("See https://a.b/c")
                && has_address("at github.com/x")
                && !has_address("Node.js on pkg.go.dev")
        );
        for text in [
            "![Packaging status](x)",
            "[docs](y)",
            r#"{"type": "object"}"#,
            "| a | b |",
            "a <br> b",
            "**Bold** text",
        ] {
            assert!(has_markup(text), "{text}");
        }
        for text in [
            "git checkout <branch> keeps [x]",
            "A | B means either",
            "2 * 3 is six",
            "Use \"name\": it helps",
        ] {
            assert!(!has_markup(text), "{text}");
        }
        assert!(
            begins_small("and voice data protection. or auditing")
                && begins_small("Done. systems like these.")
        );
        for text in [
            "git rebase moves commits.",
            "x = y + 1",
            "iOS apps",
            "e.g. this",
            "qtc-bazett divides",
        ] {
            assert!(!begins_small(text), "{text}");
        }
        for text in ["Find one (carrier", "Use it for the", "Say \"a", "Inputs:"] {
            assert!(is_cut(text), "{text}");
        }
        assert!(!is_cut("A 15\" screen (large) is best.") && !is_cut("What it is about, and why."));
        assert!(
            leans("However, it helps")
                && leans("This means")
                && !leans("This skill merges")
                && !leans("First-order logic")
        );
    }

    #[test]
    fn a_rule_has_a_verb_or_a_formula() {
        for text in [
            "Divide by the root",
            "The carts print it",
            "Never retried twice",
            "QT is measured",
            "按月计算工资薪金",
        ] {
            assert!(has_verb(text), "{text}");
        }
        for text in ["Fast and small", "Python 3.10+", "Table of contents"] {
            assert!(!has_verb(text), "{text}");
        }
        for text in ["QTc = QT / √RR", "dose ≤ 4 g", "A → B", r"\frac{a}{b}", "x² + y² = r²"]
        {
            assert!(is_formula(text), "{text}");
        }
        for text in ["Webhooks send data to your URL.", "Never guess.", "The tool parses history"] {
            assert!(is_sentence(text), "{text}");
        }
        for text in [
            "Patterns for reports and test runs.",
            "Step-by-step procedures for incidents: crashes, sync conflicts",
        ] {
            assert!(!is_sentence(text), "{text}");
        }
        assert!(!is_formula("a/b testing") && !is_formula("plain words"));
        assert!(commands("Always divide it") && commands("Run both") && !commands("The runner"));
    }
}
