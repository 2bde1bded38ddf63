//! Which words of a request say what is *not* wanted?
//!
//! Only a refusal counts: an order ("don't modify the code"), a wish ("I don't need the weather"), an
//! aim ("I'm not after speed"), a contrast ("the drops, not the ml/h"; "SVG instead of PNG"), a manner
//! ("without touching the tests"), a list that comes first ("no helm, no templates: …") and their
//! Chinese forms. A question, a complaint and a fact are
//! negative too ("why won't it start", "I can't connect", "there is no backup"), and tell what the
//! request is about. Each kind has one rule, and where a rule is in doubt the words stay: a word too
//! many costs a request less than a word too few.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Words, or Chinese characters, that a refusal covers at most.
const COVERED_WORDS: usize = 8;
const COVERED_CHARACTERS: usize = 12;

/// Bytes on either side of a cue that are looked at.
const SEEN: usize = 400;

/// What may open a refusal, by its kind.
static CUE: LazyLock<Regex> = LazyLock::new(|| {
    let adverb = r"(?:(?:really|just|certainly|definitely|also|still|actually|particularly)\s+)?";
    let not = r"(?:\s+not|n['’]?t)";
    let handling = "adding|affecting|altering|breaking|changing|committing|compromising|converting|creating|deleting|downloading|editing|explaining|including|installing|losing|mentioning|merging|modifying|moving|opening|overwriting|pushing|quoting|rebuilding|reformatting|removing|renaming|repeating|restarting|retraining|rewording|rewriting|rounding|running|sacrificing|sending|summari[sz]ing|touching|translating|uploading|using";
    let forms = [
        format!(
            r"\b(?P<wish>(?:i|we|you|it)\s+{adverb}(?:do|does){not}\s+{adverb}(?:want|need|require|mean|wish|care\s+(?:about|for)))\b"
        ),
        format!(
            r"\b(?P<aim>(?:i['’]?m|i\s+am|we['’]?re|we\s+are|it['’]?s|that['’]?s)\s+not\s+{adverb}(?:asking|looking\s+(?:for|to)|after|interested\s+in|talking\s+about))\b"
        ),
        r"\b(?P<order>do\s+not|don['’]?t)\b".to_owned(),
        r"\b(?P<needless>(?:there\s+is\s+|there['’]?s\s+)?no\s+need\s+(?:for|to|of)|never\s*mind)\b"
            .to_owned(),
        r"\b(?P<no>no)\b".to_owned(),
        r"\b(?P<instead>instead\s+of|rather\s+than|as\s+opposed\s+to)\b".to_owned(),
        format!(r"\b(?P<without>without\s+(?:\w+ly\s+)?(?:{handling}))\b"),
        r"\b(?P<not>not)\b".to_owned(),
        "(?P<chinese_instead>而不是|而非)".to_owned(),
        "(?P<chinese_not>并不是|并非|不是)".to_owned(),
        "(?P<chinese_order>不要求|不要|不用|不必|无需|不需要|请勿|不想|别)".to_owned(),
    ];
    // Borders of words as ASCII has them: what knows all scripts is ten times as slow on long texts.
    let forms = forms.join("|").replace(r"\b", r"(?-u:\b)");
    Regex::new(&format!("(?i){forms}")).expect("a valid pattern")
});

/// Where a refusal ends: with its clause, or where the wish begins.
static END: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"\s-\s|\b(?:but|only|just|instead|because|and\s+i|so)\b|而是|只";
    Regex::new(&format!("(?i)[{MARKS}]|{words}")).expect("a valid pattern")
});

/// What parts clauses.
const MARKS: &str = r",.;:!?()\n—–，。；：！？、（）";

/// The parts of a request that refuse something, in order; no two of them touch.
pub(super) fn refusals(request: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(whole) = CUE.find_at(request, at) {
        // Finding is quick; which kind it is, is asked of the few words alone.
        let cue = CUE.captures(whole.as_str()).expect("what was found in the request");
        let last = found.last().map_or(0, |last: &Range<usize>| last.end);
        let told = Told {
            before: before(request, whole.start()),
            after: after(request, whole.end()),
            opens_request: is_list(&request[last..whole.start()]),
        };
        let refuses = !told.is_quoted()
            && CUE
                .capture_names()
                .flatten()
                .any(|kind| cue.name(kind).is_some() && told.refuses(kind));
        at = whole.end();
        if refuses {
            at += told.covered(whole.as_str().is_ascii() || whole.as_str().contains(['’']));
            found.push(whole.start()..at);
        }
    }
    found
}

/// What stands around a cue.
struct Told<'a> {
    before: &'a str,
    after: &'a str,
    /// Is it the first thing said, but for other refusals?
    opens_request: bool,
}

impl Told<'_> {
    fn refuses(&self, kind: &str) -> bool {
        match kind {
            // An order to the reader: it opens a clause, and forbids what a person would do.
            "order" => self.opens_order() && !NO_ORDER.contains(&&*self.next_word()),
            // What somebody says not to want, other than in a condition, a question or a fear.
            "wish" => {
                !CONDITION.contains(&&*self.word_before()) && !self.is_asked() && !self.is_feared()
            }
            "aim" | "needless" | "without" => true,
            // "No helm, no templates: yaml for …" says it first. Later on it is rather a fact ("no
            // fever"), but for "so no W-2", "no rebase: keep …", "no summary please", "no OCR needed".
            "no" => {
                let clause = self.clause();
                let is_told = words(clause).any(|word| TELLING.contains(&&*word.to_lowercase()));
                let last = words(clause).next_back().unwrap_or_default();
                let opens_rest = self.after[clause.len()..].starts_with(':')
                    && words(clause).count() <= SHORT_LIST
                    && last_part(self.before, SENTENCE_ENDS).trim().is_empty();
                let is_waved_off = opens_rest || WAVED_OFF.contains(&last);
                let follows = ends_with_word(self.before.trim_end(), "so");
                let is_refused =
                    self.opens_request || follows || self.starts_clause() && is_waved_off;
                is_refused && !is_told
            }
            // The other of two, where nobody tells what happened.
            "instead" => !HAPPENED.is_match(last_part(self.before, SENTENCE_ENDS)),
            // The other of two: it opens a clause ("X, not Y"), or a thing follows ("X not the Y").
            "not" => {
                let next = self.next_word();
                let is_thing = THING.contains(&&*next)
                    && !self.follows_verb()
                    && !words(last_part(self.before, CLAUSE_ENDS))
                        .any(|word| TELLING.contains(&&*word.to_lowercase()));
                (is_thing || self.starts_clause() && !is_state(&next))
                    && !WAS.is_match(last_part(self.before, SENTENCE_ENDS))
            }
            // The same in Chinese: an order at the start of a clause that is no question, ...
            "chinese_order" => {
                self.opens_chinese_clause()
                    && !self.after.starts_with(NO_CHINESE_ORDER)
                    && !self.is_asked()
            }
            // ... "it is not X but Y" and "I am not asking for X", ...
            "chinese_not" => {
                let clause = self.clause();
                let beyond = self.after[clause.len()..].trim_start_matches(['，', ',', ' ']);
                self.opens_chinese_clause()
                    && (clause.starts_with(ASKED_FOR)
                        || clause.ends_with("的问题")
                        || beyond.starts_with("而是"))
            }
            // ... and the other of two.
            "chinese_instead" => !CHINESE_HAPPENED.is_match(last_part(self.before, CLAUSE_ENDS)),
            _ => unreachable!("every kind is listed"),
        }
    }

    /// The words of others are not the request's.
    fn is_quoted(&self) -> bool {
        let line = last_part(self.before, &['\n']);
        let is_open = |open, close| line.rfind(open) > line.rfind(close);
        !line.matches('"').count().is_multiple_of(2) || is_open('“', '”') || is_open('「', '」')
    }

    /// Does it stand at the start of a clause, but for words that join or ask?
    fn starts_clause(&self) -> bool {
        let (before, _) = without_joining(self.before);
        before.is_empty() || before.ends_with(CLAUSE_ENDS) || before.ends_with(" -")
    }

    /// The same, or after "and" where nobody tells what he does: "Keep the layout and don't …" is an
    /// order, "I like tea and don't …" is none.
    fn opens_order(&self) -> bool {
        let (before, joined) = without_joining(self.before);
        let is_subject = |word: &str| {
            let name = word.split(['\'', '’']).next().unwrap_or(word);
            SUBJECTS.contains(&&*name.to_lowercase())
        };
        self.starts_clause() || joined && !words(last_part(before, CLAUSE_ENDS)).any(is_subject)
    }

    fn opens_chinese_clause(&self) -> bool {
        let before = self.before;
        before.is_empty()
            || before.ends_with(CLAUSE_ENDS)
            || before.ends_with(char::is_whitespace)
            || CHINESE_OPENERS.iter().any(|opener| before.ends_with(opener))
    }

    /// The rest of the clause.
    fn clause(&self) -> &str {
        &self.after[..END.find(self.after).map_or(self.after.len(), |end| end.start())]
    }

    /// Is the clause a question?
    fn is_asked(&self) -> bool {
        let clause = self.clause();
        let beyond = &self.after[clause.len()..];
        beyond.starts_with(['?', '？']) || clause.ends_with(['吗', '么', '呢'])
    }

    /// "I don't want to miss it" wishes for it.
    fn is_feared(&self) -> bool {
        let mut words = words(self.after).map(str::to_lowercase).skip_while(|word| word == "to");
        words.next().is_some_and(|word| FEARED.contains(&&*word))
    }

    fn next_word(&self) -> String {
        words(self.after).next().unwrap_or_default().to_lowercase()
    }

    fn word_before(&self) -> String {
        words(self.before).next_back().unwrap_or_default().to_lowercase()
    }

    /// "It is not the", "whether or not the": a verb is denied, and no thing.
    fn follows_verb(&self) -> bool {
        let word = self.word_before();
        DENIED_VERBS.contains(&&*word)
            || ["n't", "n’t", "'s", "’s", "'m", "’m", "'re", "’re"]
                .iter()
                .any(|end| word.ends_with(end))
    }

    /// How far the refusal goes.
    fn covered(&self, by_words: bool) -> usize {
        let clause = self.clause();
        let beyond = if by_words {
            clause.split_whitespace().nth(COVERED_WORDS).map(|word| offset(clause, word))
        } else {
            clause.char_indices().nth(COVERED_CHARACTERS).map(|(at, _)| at)
        };
        beyond.unwrap_or(clause.len())
    }
}

const CLAUSE_ENDS: &[char] = &[
    ',', '.', ';', ':', '!', '?', '(', ')', '\n', '—', '–', '，', '。', '；', '：', '！', '？',
    '、', '（', '）',
];
const SENTENCE_ENDS: &[char] = &['.', ';', '!', '?', '\n', '。', '；', '！', '？'];

/// Words that may stand before the first of a clause.
const JOINING: [&str; 9] = ["please", "pls", "and", "but", "also", "just", "then", "only", "so"];

/// Who does what a clause tells.
const SUBJECTS: [&str; 11] =
    ["i", "we", "you", "they", "he", "she", "it", "who", "that", "which", "people"];

/// After "don't": wishes ("don't forget"), comfort, questions ("don't you"), and what people say of
/// themselves with the subject left out ("don't know which").
const NO_ORDER: [&str; 33] = [
    "appear", "be", "believe", "even", "ever", "feel", "forget", "get", "have", "he", "hesitate",
    "i", "know", "let", "lose", "mind", "miss", "panic", "recall", "really", "remember", "see",
    "seem", "she", "they", "think", "trust", "understand", "we", "work", "worry", "you", "",
];

/// Before "I don't need": then it is a condition, a cause or a question.
const CONDITION: [&str; 14] = [
    "because", "how", "if", "once", "since", "so", "unless", "what", "when", "where", "whether",
    "which", "who", "why",
];

/// After "no X": asked for, and not told.
const WAVED_OFF: [&str; 6] = ["please", "pls", "thanks", "needed", "required", "necessary"];

/// Words of "no X:" at most.
const SHORT_LIST: usize = 4;

/// Verbs of a clause that tells something.
const TELLING: [&str; 22] = [
    "am", "are", "can", "could", "did", "do", "does", "had", "has", "have", "ist", "is", "matter",
    "on", "shows", "was", "were", "will", "with", "work", "works", "wrote",
];

const FEARED: [&str; 8] = ["anyone", "be", "forget", "get", "have", "lose", "miss", "regret"];

/// What tells that "not" denies a thing: "I need the drops not the ml/h".
const THING: [&str; 10] = ["a", "an", "for", "my", "our", "that", "the", "these", "this", "those"];

/// Before "not": then a verb, a condition or a judgement is denied.
const DENIED_VERBS: [&str; 43] = [
    "ain", "am", "are", "be", "been", "can", "certainly", "could", "did", "do", "does", "had",
    "has", "have", "if", "is", "it", "just", "may", "maybe", "might", "must", "only", "or",
    "perhaps", "probably", "shall", "should", "simply", "still", "than", "that", "told", "was",
    "were", "whether", "which", "who", "why", "will", "would", "yet", "",
];

/// "Not sure", "not yet", "not working": a state, a degree or a time, and nothing that is refused.
fn is_state(next: &str) -> bool {
    const STATES: [&str; 69] = [
        "able",
        "all",
        "allowed",
        "always",
        "applicable",
        "at",
        "available",
        "bad",
        "be",
        "because",
        "been",
        "being",
        "certain",
        "clear",
        "earlier",
        "easy",
        "enough",
        "even",
        "every",
        "everyone",
        "familiar",
        "far",
        "found",
        "get",
        "good",
        "great",
        "happy",
        "hard",
        "have",
        "he",
        "here",
        "i",
        "if",
        "interested",
        "it",
        "just",
        "known",
        "later",
        "least",
        "less",
        "long",
        "many",
        "more",
        "much",
        "necessarily",
        "normal",
        "now",
        "once",
        "one",
        "only",
        "possible",
        "quite",
        "ready",
        "really",
        "satisfied",
        "she",
        "since",
        "so",
        "sure",
        "that",
        "then",
        "there",
        "they",
        "till",
        "to",
        "too",
        "until",
        "very",
        "well",
    ];
    let others = ["we", "when", "yet", "you", "unless", ""];
    let ends = ["ing", "ed", "ly"];
    STATES.contains(&next) || others.contains(&next) || ends.iter().any(|end| next.ends_with(end))
}

/// Who tells what happened gives what came "instead of" what was wanted.
static HAPPENED: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = r"\b(?:[a-z]{2,}ed|am|are|became|believes|bought|brought|came|chose|comes|counts|did|fails|found|gave|gets|gives|goes|got|had|happens|indicating|is|keeps|kept|left|loads|made|noting|paid|prefers|prints|put|ran|returns|runs|said|says|seems|sends|sent|shows|sitting|starts|suggests|told|took|was|went|were|works?|wrote)\b|['’](?:m|re|s)\b";
    Regex::new(&format!("(?i){verbs}")).expect("a valid pattern")
});

/// What was, what works "but not in Safari", and what is laid down for a case.
static WAS: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "connects?|did|had|if|loads|ran|runs|shows|starts|was|went|were|work(?:s|ed)?";
    Regex::new(&format!(r"(?i)\b(?:{verbs})\b")).expect("a valid pattern")
});

static CHINESE_HAPPENED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("收到|结果|变成|显示|出现|却|成了").expect("a valid pattern"));

/// Words after which a Chinese order may stand.
const CHINESE_OPENERS: [&str; 14] =
    ["请", "请你", "但", "也", "千万", "我", "你", "您", "先", "并", "且", "更", "暂时", "这"];

/// What makes another word of it (别的, 别人, 不用于) or a wish (别忘了, 不要错过).
const NO_CHINESE_ORDER: [char; 22] = [
    '的', '人', '墅', '名', '处', '称', '于', '具', '离', '致', '扭', '是', '了', '忘', '错', '失',
    '担', '急', '怕', '紧', '看', '慌',
];

/// 不是问, 不是要: what is not asked for.
const ASKED_FOR: [char; 8] = ['问', '要', '让', '想', '求', '指', '说', '找'];

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’');
    text.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

/// The text without the joining words at its end, and whether there were any.
fn without_joining(text: &str) -> (&str, bool) {
    let gap = [' ', '\t', '\r'];
    let mut before = text.trim_end_matches(gap);
    let mut joined = false;
    while let Some(word) = JOINING.iter().find(|word| ends_with_word(before, word)) {
        before = before[..before.len() - word.len()].trim_end_matches(gap);
        joined = true;
    }
    (before, joined)
}

/// Nothing, or what parts the members of a list.
fn is_list(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == ',');
    text.is_empty() || ["and", "or"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else { return false };
    text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(word))
        && !text[..start].ends_with(char::is_alphanumeric)
}

/// What stands after the last of these.
fn last_part<'a>(text: &'a str, ends: &[char]) -> &'a str {
    text.rsplit(ends).next().unwrap_or(text)
}

/// The text before a place, as far as it is looked at: a request may hold a whole file.
pub(super) fn before(text: &str, at: usize) -> &str {
    &text[text.ceil_char_boundary(at.saturating_sub(SEEN))..at]
}

fn after(text: &str, at: usize) -> &str {
    &text[at..text.floor_char_boundary(at.saturating_add(SEEN))]
}

/// Where a part of a text starts in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}
