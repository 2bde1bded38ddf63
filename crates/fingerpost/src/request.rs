//! What does a request ask for, and what does it only mention?
//!
//! "Only review, don't modify code" mentions modification: a scorer that counts words would take
//! that for a wish. What a request says it does *not* want is left out of what is searched for.
//! "Use pdf-forms" names a skill: whoever names one gets it.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::embedding::Lexicon;

/// A request, read once for all who ask about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    /// As it came.
    pub text: &'a str,
    /// Without what it says it does not want ([`wanted`]).
    pub wanted: Cow<'a, str>,
    /// What the wanted part means ([`Lexicon`]).
    pub meaning: Vec<f32>,
    /// The skills that it points at ([`named`]).
    pub named: Vec<&'a str>,
}

impl<'a> Request<'a> {
    /// Reads a request.
    pub fn read(text: &'a str) -> Self {
        let wanted = wanted(text);
        Self { text, meaning: Lexicon::get().meaning(&wanted), wanted, named: named(text) }
    }
}

/// Words that turn what follows them into something that is not wanted.
static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    let english = r"\b(?:not|no|never|without|don['’]?t|do\s+not|doesn['’]?t|isn['’]?t|aren['’]?t|wasn['’]?t|won['’]?t|can['’]?t|cannot|instead\s+of|rather\s+than|except|neither|nor|other\s+than|nothing)\b";
    let chinese = "不要|不是|不用|不需要|无需|而不是|并非|没有|不想|不必|别";
    Regex::new(&format!("(?i)(?P<english>{english})|{chinese}")).expect("a valid pattern")
});

/// Where a negation ends: with its clause, or where the wish begins.
static END: LazyLock<Regex> = LazyLock::new(|| {
    let marks = r"[,.;:!?()\n—，。；：！？、（）]";
    let words = r"\b(?:but|only|just|instead|because|and\s+i|so)\b|而是|只";
    Regex::new(&format!("(?i){marks}|{words}")).expect("a valid pattern")
});

/// Words, or Chinese characters, that a negation covers at most.
const COVERED_WORDS: usize = 8;
const COVERED_CHARACTERS: usize = 12;

/// The request without what it says it does not want; as it is, if nothing would be left.
pub fn wanted(request: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut at = 0;
    while let Some(found) = NEGATION.captures_at(request, at) {
        let cue = found.get(0).expect("the whole match");
        kept.push_str(&request[at..cue.start()]);
        kept.push(' ');
        let rest = &request[cue.end()..];
        let clause = &rest[..END.find(rest).map_or(rest.len(), |end| end.start())];
        let covered = match found.name("english") {
            Some(_) => words_end(clause, COVERED_WORDS),
            None => {
                clause.char_indices().nth(COVERED_CHARACTERS).map_or(clause.len(), |(at, _)| at)
            }
        };
        at = cue.end() + covered;
    }
    if at == 0 {
        return Cow::Borrowed(request);
    }
    kept.push_str(&request[at..]);
    if kept.chars().any(char::is_alphanumeric) { Cow::Owned(kept) } else { Cow::Borrowed(request) }
}

/// Where the first so many words end.
fn words_end(text: &str, words: usize) -> usize {
    let mut word = text.split_whitespace().skip(words);
    word.next().map_or(text.len(), |next| {
        // The word is a part of the text, so the distance of their starts is its place.
        next.as_ptr() as usize - text.as_ptr() as usize
    })
}

/// What may be the name of a skill: of several parts ("pdf-forms"), or a plain word that is pointed
/// at (`search`, /search, "use the search skill").
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"(?P<compound>(?-u:\b)[A-Za-z0-9]+(?:[-_:/.][A-Za-z0-9]+)+(?-u:\b))",
        r"`(?P<ticked>[^`\n]+)`",
        r#"["“「](?P<quoted>[^"”」\n]+)["”」]"#,
        r"(?:^|\s)/(?P<slashed>[\w-]+)",
        r"(?i:\b(?:use|using|run|invoke|with)\s+(?:the\s+)?)(?P<called>[\w-]+)\s+(?i:skill|tool)\b",
        r"(?:使用|调用|用)(?P<called_zh>[^，。；\s]+?)(?:技能|工具)",
    ];
    Regex::new(&forms.join("|")).expect("a valid pattern")
});

/// The names that a request may mean by what it points at, in order. "Don't use pdf-forms" names a
/// skill too, to refuse it: such are left out.
pub fn named(request: &str) -> Vec<&str> {
    NAME.captures_iter(request)
        .filter_map(|found| found.iter().skip(1).flatten().next())
        .filter(|name| !is_refused(&request[..name.start()]))
        .map(|name| name.as_str())
        .collect()
}

fn is_refused(before: &str) -> bool {
    let before = before.to_lowercase();
    let clause = before.rsplit([',', '.', ';', '，', '。', '；', '\n']).next().unwrap_or(&before);
    [
        "not ",
        "don't ",
        "don’t ",
        "dont ",
        "without ",
        "instead of ",
        "rather than ",
        "不",
        "别",
        "无需",
    ]
    .iter()
    .any(|negation| clause.contains(negation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_means_what_it_wants() {
        let request = Request::read("use pdf-forms, don't translate anything");
        assert_eq!(request.named, ["pdf-forms"]);
        assert!(!request.wanted.contains("translate"), "{request:?}");
        assert_eq!(request.meaning, Lexicon::get().meaning("use pdf-forms"));
    }

    #[test]
    fn what_is_not_wanted_is_left_out() {
        let check = |request: &str, expected: &str| {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&wanted(request)), expected);
        };
        check("Review this patch, please don't modify the code", "Review this patch, please");
        check("I need the drops not the ml/h", "I need the drops");
        check("points for thromboembolism, not for bleeding", "points for thromboembolism,");
        check("not postgres, just the database in one file", ", just the database in one file");
        check("只看代码，不要修改文件，给出意见", "只看代码， ，给出意见");
        check("not a b c d e f g h but i", "but i");
        check("without one two three four five six seven eight nine", "nine");
        // Nothing but a negation is taken as it is.
        check("not after bugs", "not after bugs");
    }

    #[test]
    fn what_is_pointed_at_may_be_a_name() {
        assert_eq!(named("use pdf-forms on this file"), ["pdf-forms"]);
        assert_eq!(named("请使用pdf-forms处理，再用汇总技能"), ["pdf-forms", "汇总"]);
        assert_eq!(named("/search for me"), ["search"]);
        assert_eq!(named("please use the `search` thing"), ["search"]);
        assert_eq!(named("Use the search skill"), ["search"]);
        assert_eq!(named("search the web"), [""; 0]);
        assert_eq!(named("do it by hand, don't use pdf-forms"), [""; 0]);
    }
}
