//! What does a request ask for, and what does it only mention?
//!
//! "Review this patch, don't modify the code" mentions modification: a scorer that counts words would
//! take that for a wish. What a request refuses (`request/refusal.rs`) is left out of what is looked for.
//! "Use pdf-forms" names a skill: whoever names one gets it.

mod refusal;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::embedding::Lexicon;
use crate::text::{Tokenizer, for_each_term, is_idle};

/// A request, read once for all who ask about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    /// As it came.
    pub text: &'a str,
    /// Without what it says it does not want ([`wanted`]).
    pub wanted: Cow<'a, str>,
    /// What the wanted part means ([`Lexicon`]).
    pub meaning: Vec<f32>,
    /// What an encoder makes of the wanted part, where there is one.
    pub encoded: Option<Encoded>,
    /// The skills that it points at ([`named`]).
    pub named: Vec<&'a str>,
}

/// What an encoder makes of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Its vector.
    pub vector: Vec<f32>,
    /// Who made it.
    pub by: EncodedBy,
}

/// Whose vectors they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodedBy {
    /// Of a model that the user has: they also tell whether any skill is near.
    Model,
    /// Of the library itself: they order its skills, and know nothing else.
    Library,
}

impl<'a> Request<'a> {
    /// What an encoder makes of it.
    pub fn vector(&self) -> Option<&[f32]> {
        self.encoded.as_ref().map(|encoded| &encoded.vector[..])
    }

    /// Was it read by a model?
    pub fn is_encoded_by_model(&self) -> bool {
        self.encoded.as_ref().is_some_and(|encoded| encoded.by == EncodedBy::Model)
    }

    /// Reads a request.
    pub fn read(text: &'a str) -> Self {
        let wanted = wanted(text);
        let meaning = Lexicon::get().meaning(&wanted);
        Self { text, meaning, wanted, encoded: None, named: named(text) }
    }
}

/// Words that tell something, left at least: a request is more than one of them.
const FEWEST: usize = 2;

/// The request without what it refuses, as long as that is still the request: at least half of the
/// words that tell something must stay, and two of them; else it is as it came.
pub fn wanted(request: &str) -> Cow<'_, str> {
    let refused = refusal::refusals(request);
    if refused.is_empty() {
        return Cow::Borrowed(request);
    }
    let mut kept = String::with_capacity(request.len());
    let mut at = 0;
    for part in refused {
        kept.push_str(&request[at..part.start]);
        kept.push(' ');
        at = part.end;
    }
    kept.push_str(&request[at..]);
    let left = told(&kept);
    if left >= FEWEST && 2 * left >= told(request) {
        Cow::Owned(kept)
    } else {
        Cow::Borrowed(request)
    }
}

/// How many words of a text tell something; in scripts without spaces, pairs of characters are words.
fn told(text: &str) -> usize {
    let mut count = 0;
    for_each_term(text, Tokenizer::Auto, |term| {
        let is_part = !term.is_ascii() && term.chars().nth(1).is_none();
        count += usize::from(!is_part && !is_idle(term));
    });
    count
}

/// What may be the name of a skill: of several parts ("pdf-forms"), or a plain word that is pointed
/// at (`search`, /search, "use the search skill").
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"(?P<compound>(?-u:\b)[A-Za-z0-9]+(?:[-_:/.][A-Za-z0-9]+)+(?-u:\b))",
        r"`(?P<ticked>[^`\n]+)`",
        r#"["“「](?P<quoted>[^"”」\n]+)["”」]"#,
        r"(?:^|\s)/(?P<slashed>[\w-]+)",
        r"(?i:(?-u:\b)(?:use|using|run|invoke|with)\s+(?:the\s+)?)(?P<called>[\w-]+)\s+(?i:skill|tool)(?-u:\b)",
        r"(?:使用|调用|用)(?P<called_zh>[^，。；\s]+?)(?:技能|工具)",
    ];
    Regex::new(&forms.join("|")).expect("a valid pattern")
});

/// What turns down the name that follows it, beside the refusals of [`wanted`].
static TURNED_DOWN: LazyLock<Regex> = LazyLock::new(|| {
    let english = r"\b(?:not|without|except)\s+(?:(?:the|using|with|via)\s+)*";
    let chinese = r"(?:不用|不要用|不使用|不要使用|别用)\s*";
    Regex::new(&format!("(?i)(?:{english}|{chinese})[`\"“「/]?$")).expect("a valid pattern")
});

/// The names that a request may mean by what it points at, in order. "Don't use pdf-forms" names a
/// skill too, to refuse it: such are left out.
pub fn named(request: &str) -> Vec<&str> {
    let mut found = NAME
        .captures_iter(request)
        .filter_map(|found| found.iter().skip(1).flatten().next())
        .peekable();
    if found.peek().is_none() {
        return Vec::new();
    }
    let refused = refusal::refusals(request);
    let is_refused = |at: usize| {
        let after = refused.partition_point(|part| part.end <= at);
        refused.get(after).is_some_and(|part| part.contains(&at))
            || TURNED_DOWN.is_match(refusal::before(request, at))
    };
    found.filter(|name| !is_refused(name.start())).map(|name| name.as_str()).collect()
}

#[cfg(test)]
mod tests;
