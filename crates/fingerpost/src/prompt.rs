//! How do our words and strangers' texts become one prompt?
//!
//! Our words are templates in files, which a user can replace ([`Templates`]). Strangers' texts are data:
//! each stands between marks with a word that none of them contains, so that no text can end its own mark
//! and speak as we do.

mod check;
mod templates;

use minijinja::{Value, context};
use serde_json::json;

use self::templates::ENVIRONMENT;
pub use self::templates::{TemplateError, Templates};
use crate::chat::{Message, Prompt, Speaker};

/// Of an answer that could not be read, the characters that are shown again.
pub(crate) const SHOWN_AGAIN: usize = 4000;

/// Characters of a stranger's text that our own voice repeats.
const MAX_QUOTED: usize = 80;

/// Characters of a reason against an answer.
const MAX_REASON: usize = 400;

/// Shows an answer again, with what is wrong about it. Only the last answer is shown: earlier ones
/// would teach their own faults. Reasons are said in our own voice, so what they quote of `strangers`
/// (names, ids) stands between marks there too, unless it is a plain word.
pub(crate) fn again(
    first: &Prompt,
    answer: &str,
    reasons: &[String],
    strangers: &[&str],
    templates: &Templates,
) -> Prompt {
    let mut prompt = first.clone();
    prompt.messages.truncate(1);
    prompt.messages.push(Message { role: Speaker::Assistant, text: answer.to_owned() });
    let texts: Vec<&str> = reasons.iter().map(String::as_str).collect();
    let nonce = free_word(texts.iter().map(|text| text.as_bytes()), &texts);
    let mut odd: Vec<&str> = strangers.iter().copied().filter(|text| !is_word(text)).collect();
    // A name within a longer one must not be found first.
    odd.sort_by_key(|text| (std::cmp::Reverse(text.len()), *text));
    odd.dedup();
    let said = |reason: &String| {
        let mut reason = reason.clone();
        for text in &odd {
            let quoted = one_line(text, MAX_QUOTED);
            let marked = format!("<quoted-{nonce}>{quoted}</quoted-{nonce}>");
            let bare = reason.replace(&format!("'{text}'"), text);
            // Not every reason puts what it quotes between quotation marks.
            reason = match is_speech(text) {
                true => bare.replace(text, &marked),
                false => reason.replace(&format!("'{text}'"), &marked),
            };
        }
        one_line(&reason, MAX_REASON)
    };
    let reasons: Vec<String> = reasons.iter().map(said).collect();
    let quotes = reasons.iter().any(|reason| reason.contains(&nonce));
    let text = templates.render("again", context! { reasons, quotes, nonce });
    prompt.messages.push(Message { role: Speaker::User, text });
    prompt
}

/// One line of at most so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (at, c) in text.split_whitespace().flat_map(|word| word.chars().chain([' '])).enumerate() {
        if at == most {
            line.truncate(line.trim_end().len());
            return line + " …";
        }
        if !c.is_control() {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Could a text be taken for something that somebody says?
fn is_speech(text: &str) -> bool {
    let is_title = |c: char| c.is_alphanumeric() || " -_./".contains(c);
    text.split_whitespace().count() > 2 || !text.chars().all(is_title)
}

/// A word that can say nothing but itself.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:+#@".contains(c);
    !text.is_empty() && text.chars().count() <= MAX_QUOTED && text.chars().all(is_plain)
}

/// A word that no text contains, and that is the same whenever the seeds are.
pub fn free_word<'a>(seeds: impl Iterator<Item = &'a [u8]>, texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    seeds.for_each(|seed| {
        hasher.update(seed);
    });
    let word = |round: u32| {
        let hash = hasher.clone().update(&round.to_le_bytes()).finalize();
        hash.to_hex()[..16].to_owned()
    };
    let is_free = |word: &String| texts.iter().all(|text| !text.contains(word.as_str()));
    (0..).map(word).find(is_free).expect("texts are finite")
}

/// A schema of these fields: strict servers want every field required and no other allowed.
pub fn object(fields: Vec<(&str, serde_json::Value)>) -> serde_json::Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<_, _> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A text of ours as a template, filled in. Whoever shows a stranger's text in it puts that between marks with
/// a [`free_word`].
pub fn fill(template: &str, values: Value) -> String {
    ENVIRONMENT.render_str(template, values).expect("a template of ours")
}
