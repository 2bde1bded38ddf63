//! What is a model told when it writes pages?
//!
//! The words are in `prompts/*.md`. A prompt reads: the rules, which never change; the documents of
//! the neighborhood in the order of their ids, which are the same bytes for every member, so that a
//! server that caches prefixes reads them once; and last, whose page is wanted. Where a page is written
//! against rivals, the skill's own document comes first, and of each rival's the beginning. Documents
//! are data: each stands between marks with a word that it cannot contain.

pub(crate) mod shown;

use std::fmt;
use std::str::FromStr;

use minijinja::{Value, context};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::shown::Shown;
use super::shorten::{CUT, share, shorten};
use crate::chat::{Message, Prompt, Schema, Speaker, estimate_tokens};
use crate::prompt::{Templates, free_word, object};
use crate::protocol::Alone;
use crate::skill::Skill;

/// Changes whenever the forms do: pages of another version are other pages, and so are those that were asked
/// for in other words.
pub const VERSION: u32 = 2;

/// Room of a description that is longer than any description should be.
const LONGEST_DESCRIPTION: usize = 600;

/// The language pages are written in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LanguageChoice {
    /// That of the neighborhood's documents.
    #[default]
    Auto,
    /// This one, as a code such as `en` or by its name.
    Named(String),
}

impl FromStr for LanguageChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        match name {
            "auto" => Ok(Self::Auto),
            _ if !name.is_empty() && name.chars().all(is_name) => Ok(Self::Named(name.into())),
            _ => Err(format!("'{name}' is no language: use auto, or a code such as en or zh")),
        }
    }
}

impl fmt::Display for LanguageChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Named(name) => name,
        })
    }
}

/// Cases of a boundary: more would not fit, and small models never stop by themselves.
const MAX_CASES: usize = 5;

/// A script is enough to tell Chinese from the rest; a Chinese character says as much as three
/// letters, and Chinese documents are full of English names.
const LETTERS_A_CHARACTER: usize = 3;

impl LanguageChoice {
    /// The code of the language for these skills: that of the choice, or `zh` where Chinese
    /// prevails. `None` where the script does not tell: then the documents' own language is meant.
    pub fn code(&self, members: &[&Skill]) -> Option<&str> {
        if let Self::Named(name) = self {
            return Some(name);
        }
        let (mut chinese, mut others) = (0, 0);
        for skill in members {
            let text = [&skill.name, &skill.description, &skill.content];
            for c in text.iter().flat_map(|text| text.chars()).filter(|c| c.is_alphabetic()) {
                match c {
                    '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => {
                        chinese += LETTERS_A_CHARACTER;
                    }
                    // Kana: the Chinese characters around it are Japanese.
                    '\u{3040}'..='\u{30ff}' => others += 2 * LETTERS_A_CHARACTER,
                    _ => others += 1,
                }
            }
        }
        (chinese > others).then_some("zh")
    }

    fn words(&self, members: &[&Skill]) -> String {
        match self.code(members) {
            None => "the language of most of these documents".into(),
            Some("en") => "English".into(),
            Some("zh") => "Chinese (简体中文)".into(),
            Some("ja") => "Japanese".into(),
            Some("de") => "German".into(),
            Some("fr") => "French".into(),
            Some("es") => "Spanish".into(),
            Some(other) => format!("the language '{other}'"),
        }
    }
}

/// How much a prompt may hold and how it is to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptConfig {
    /// The pages' language.
    pub language: LanguageChoice,
    /// Tokens that the documents of a neighborhood may take.
    pub context_tokens: usize,
    /// Tokens that one page may take, reasoning included.
    pub page_tokens: u32,
    /// How freely to draw.
    pub temperature: f64,
    /// What to draw from.
    pub seed: u64,
    /// What the boundary of a skill that is alone is made of.
    pub alone: Alone,
    /// The words.
    pub templates: Templates,
}

/// Tokens that a description gets however small the room is.
const LEAST_DESCRIPTION: usize = 16;

/// Tokens of a rival's content: enough to tell what it does beyond its description.
const RIVAL_CONTENT: usize = 150;

/// The prompts of one neighborhood, or of one skill and its rivals.
pub struct Prompts<'a> {
    shown: Shown<'a>,
    config: &'a PromptConfig,
    shared: String,
    /// The one that the others are rivals of.
    of: Option<usize>,
}

impl<'a> Prompts<'a> {
    /// For members in the order of their ids; a single one has no neighbors.
    pub fn new(members: &[&'a Skill], config: &'a PromptConfig) -> Self {
        let shown = Shown::of(members);
        let shared = shared(&shown.skills(), nonce(members), config);
        Self { shown, config, shared, of: None }
    }

    /// For one of the members; the others, in the order of their ids, are its rivals.
    pub fn against_rivals(members: &[&'a Skill], focal: usize, config: &'a PromptConfig) -> Self {
        if members.len() == 1 {
            return Self::new(members, config);
        }
        let shown = Shown::of(members);
        let shared = beside_rivals(&shown.skills(), focal, nonce(members), config);
        Self { shown, config, shared, of: Some(focal) }
    }

    /// The skills whose language is that of the pages.
    pub(crate) fn speakers<'b, 'c>(&self, members: &'b [&'c Skill]) -> &'b [&'c Skill] {
        self.of.map_or(members, |focal| &members[focal..=focal])
    }

    /// The members as the prompts show them: an answer names these.
    pub(crate) fn shown(&self) -> &Shown<'a> {
        &self.shown
    }

    /// Asks for the page of one member.
    pub fn focal(&self, focal: usize) -> Prompt {
        let members = self.shown.skills();
        let id = quoted(members[focal].id.as_str());
        let tail = if members.len() > 1 {
            let others = members.iter().enumerate().filter(|&(at, _)| at != focal);
            let ids: Vec<String> = others.map(|(_, skill)| quoted(skill.id.as_str())).collect();
            self.render("focal", context! { id, ids, ..self.words() })
        } else {
            let template = match self.config.alone {
                Alone::Document => "singleton",
                Alone::Imagined => "singleton-imagined",
            };
            self.render(template, context! { id })
        };
        self.prompt(tail, page_schema(&members, self.config.alone), 1)
    }

    /// Asks for the pages of all members at once.
    pub fn all(&self) -> Prompt {
        let members = self.shown.skills();
        let ids: Vec<String> = members.iter().map(|skill| quoted(skill.id.as_str())).collect();
        let tail = self.render("all", context! { ids });
        self.prompt(tail, pages_schema(&members), members.len() as u32)
    }

    /// What the other skills are called.
    fn words(&self) -> Value {
        match self.of {
            None => context! { other => "neighbor", others => "neighbors" },
            Some(_) => context! { other => "rival", others => "rivals" },
        }
    }

    fn render(&self, template: &str, values: Value) -> String {
        self.config.templates.render(template, values)
    }

    fn prompt(&self, tail: String, schema: Schema, pages: u32) -> Prompt {
        let PromptConfig { page_tokens, temperature, seed, .. } = *self.config;
        Prompt {
            system: self.render("system", self.words()) + "\n",
            shared: self.shared.clone(),
            messages: vec![Message { role: Speaker::User, text: tail }],
            schema: Some(schema),
            max_output_tokens: page_tokens.saturating_mul(pages),
            temperature,
            seed,
            attempt: 0,
        }
    }
}

/// The documents of a neighborhood between their marks, in the room there is.
fn shared(members: &[&Skill], nonce: String, config: &PromptConfig) -> String {
    let titles = |skill: &Skill| estimate_tokens(skill.id.as_str()) + estimate_tokens(&skill.name);
    let described = |skill: &Skill| estimate_tokens(&skill.description).min(LONGEST_DESCRIPTION);
    let wanted: Vec<usize> = members
        .iter()
        .map(|skill| titles(skill) + described(skill) + estimate_tokens(&skill.content))
        .collect();
    let rooms = share(&wanted, config.context_tokens);
    let documents: Vec<Value> = members
        .iter()
        .zip(rooms)
        .map(|(skill, room)| {
            let room = room.saturating_sub(titles(skill));
            let for_description = room.clamp(LEAST_DESCRIPTION, LONGEST_DESCRIPTION);
            let for_content = room.saturating_sub(described(skill));
            context! {
                id => quoted(skill.id.as_str()),
                name => one_line(&skill.name),
                description => one_line(&shorten(&skill.description, for_description)),
                content => shorten(skill.content.trim(), for_content),
            }
        })
        .collect();
    let template = if members.len() > 1 { "neighborhood" } else { "singleton-shared" };
    let language = config.language.words(members);
    let values = context! { members => documents, nonce, cut => CUT, language };
    config.templates.render(template, values)
}

/// A skill in full and the beginnings of its rivals, between their marks, in the room there is.
fn beside_rivals(members: &[&Skill], focal: usize, nonce: String, config: &PromptConfig) -> String {
    let titles = |skill: &Skill| estimate_tokens(skill.id.as_str()) + estimate_tokens(&skill.name);
    let described = |skill: &Skill| estimate_tokens(&skill.description).min(LONGEST_DESCRIPTION);
    let content = |at: usize, skill: &Skill| match estimate_tokens(&skill.content) {
        tokens if at == focal => tokens,
        tokens => tokens.min(RIVAL_CONTENT),
    };
    let members = || members.iter().copied().enumerate();
    let wanted: Vec<usize> = members()
        .map(|(at, skill)| titles(skill) + described(skill) + content(at, skill))
        .collect();
    let rooms = share(&wanted, config.context_tokens);
    let document = |(at, skill): (usize, &Skill)| {
        let room = rooms[at].saturating_sub(titles(skill));
        let for_description = room.clamp(LEAST_DESCRIPTION, LONGEST_DESCRIPTION);
        let for_content = room.saturating_sub(described(skill));
        let content = skill.content.trim();
        context! {
            id => quoted(skill.id.as_str()),
            name => one_line(&skill.name),
            description => one_line(&shorten(&skill.description, for_description)),
            content => match at == focal {
                true => shorten(content, for_content).into_owned(),
                false => beginning(content, for_content),
            },
        }
    };
    let (mut own, rivals): (Vec<_>, Vec<_>) = members().partition(|&(at, _)| at == focal);
    let own = own.pop().expect("the focal skill is a member");
    let language = config.language.words(&[own.1]);
    let rivals: Vec<Value> = rivals.into_iter().map(document).collect();
    let values = context! { skill => document(own), rivals, nonce, cut => CUT, language };
    config.templates.render("rivals", values)
}

/// The beginning of a text, in at most about so many tokens.
fn beginning(text: &str, room: usize) -> String {
    if estimate_tokens(text) <= room {
        return text.to_owned();
    }
    // Seven letters are two tokens, other characters are one each.
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).take(4 * room + 1).collect();
    let fits = ends.partition_point(|&end| estimate_tokens(&text[..end]) < room);
    let start = &text[..fits.checked_sub(1).map_or(0, |last| ends[last])];
    // Not within a word, where words have gaps between them.
    let whole = start.rfind(char::is_whitespace).filter(|end| end * 2 > start.len());
    format!("{} {CUT}", start[..whole.unwrap_or(start.len())].trim_end())
}

/// The form of one page. Of a neighborhood it is the same whichever member is asked for, because
/// servers put the form before the prompt, where a difference would spoil their cache; that a page
/// does not refer to itself is for the checks.
fn page_schema(members: &[&Skill], alone: Alone) -> Schema {
    let mut schema = object(page_fields(members));
    if members.len() == 1 && alone == Alone::Imagined {
        schema["properties"]["boundary"]["minItems"] = json!(1);
    }
    Schema { name: "page".into(), schema }
}

fn pages_schema(members: &[&Skill]) -> Schema {
    let mut fields = vec![("skill", id_schema(members))];
    fields.extend(page_fields(members));
    let pages = json!({ "type": "array", "items": object(fields) });
    Schema { name: "pages".into(), schema: object(vec![("pages", pages)]) }
}

fn page_fields(members: &[&Skill]) -> Vec<(&'static str, serde_json::Value)> {
    let text = || json!({ "type": "string" });
    let skill = if members.len() > 1 { id_schema(members) } else { json!({ "type": "null" }) };
    let case = object(vec![("request", text()), ("skill", skill)]);
    let boundary = json!({ "type": "array", "items": case, "maxItems": MAX_CASES });
    vec![("trigger", text()), ("boundary", boundary), ("body", text())]
}

fn id_schema(members: &[&Skill]) -> serde_json::Value {
    let ids: Vec<&str> = members.iter().map(|skill| skill.id.as_str()).collect();
    json!({ "type": "string", "enum": ids })
}

/// A word that no member contains, and that is the same whenever the members are.
fn nonce(members: &[&Skill]) -> String {
    let digests: Vec<_> = members.iter().map(|skill| skill.digest()).collect();
    let texts = members
        .iter()
        .flat_map(|skill| [skill.id.as_str(), &skill.name, &skill.description, &skill.content]);
    free_word(digests.iter().map(|digest| &digest.as_bytes()[..]), &texts.collect::<Vec<_>>())
}

/// An id as a JSON string: ids are strangers' text, and the answer must repeat them exactly.
fn quoted(id: &str) -> String {
    serde_json::to_string(id).expect("a string")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
