//! How do our words and strangers' texts become one prompt?
//!
//! Our words are templates in files. Strangers' texts are data: each stands between marks with a
//! word that none of them contains, so that no text can end its own mark and speak as we do.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use serde_json::json;

use crate::chat::{Message, Prompt, Speaker};

/// Of an answer that could not be read, the characters that are shown again.
pub(crate) const SHOWN_AGAIN: usize = 4000;

/// Shows an answer again, with what is wrong about it. Only the last answer is shown: earlier ones
/// would teach their own faults.
pub(crate) fn again(first: &Prompt, answer: &str, reasons: &[String]) -> Prompt {
    let mut prompt = first.clone();
    prompt.messages.truncate(1);
    prompt.messages.push(Message { role: Speaker::Assistant, text: answer.to_owned() });
    let text = render(&TEMPLATES, "again", context! { reasons => reasons.to_vec() });
    prompt.messages.push(Message { role: Speaker::User, text });
    prompt
}

/// A word that no text contains, and that is the same whenever the seeds are.
pub(crate) fn free_word<'a>(seeds: impl Iterator<Item = &'a [u8]>, texts: &[&str]) -> String {
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
pub(crate) fn object(fields: Vec<(&str, serde_json::Value)>) -> serde_json::Value {
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

/// Templates by name. A value that is missing is our mistake, so it fails.
pub(crate) fn templates(files: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    // Lines that hold a block leave no line behind.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("a valid syntax"));
    for (name, text) in files {
        templates.add_template(name, text).expect("our templates parse");
    }
    templates
}

/// One of our templates, filled in.
pub(crate) fn render(templates: &Environment<'_>, name: &str, values: Value) -> String {
    let template = templates.get_template(name).expect("a template of ours");
    template.render(values).expect("our templates render")
}

static TEMPLATES: LazyLock<Environment<'static>> =
    LazyLock::new(|| templates(&[("again", include_str!("prompt/again.md"))]));
