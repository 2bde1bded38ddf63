//! Can a template be filled in, and does what strangers wrote stay between its marks whatever its words?
//!
//! It is tried out: for every number of skills and every way in which a prompt of its kind is asked for, with
//! texts that can be told from all others. Each of them must come out between an opening and a closing mark
//! that carry the secret word, and share these with nobody.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::{Environment, Value, context};

use super::templates::{ENVIRONMENT, Kind, TemplateError};

/// Most members of a neighborhood, and candidates beyond which a template would not change its mind.
const MOST: usize = 11;

/// Stands for the secret word.
const NONCE: &str = "0123456789abcdef";

/// Around the number of the line that fills something in. No text has these.
const LINE: [char; 2] = ['\u{e000}', '\u{e001}'];

/// Around the number of a stranger's text.
const STRANGER: char = '\u{e002}';

/// What is always there.
const GLOBAL: [&str; 4] = ["loop", "range", "dict", "namespace"];

/// A way in which a template is filled in.
struct Trial {
    values: Value,
    strangers: Vec<Stranger>,
}

/// Somebody's texts, by their numbers, and how their marks are called.
struct Stranger {
    tag: &'static str,
    texts: Range<usize>,
}

pub(super) fn check(kind: &Kind, text: &str) -> Result<(), TemplateError> {
    let failed = |error: minijinja::Error| {
        let message = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        TemplateError::Faulty { line: error.line().unwrap_or(1), message }
    };
    let environment: &Environment<'_> = &ENVIRONMENT;
    let template = environment.template_from_named_str(kind.name, text).map_err(failed)?;
    let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    let is_known =
        |name: &&String| kind.variables.contains(&name.as_str()) || GLOBAL.contains(&name.as_str());
    if let Some(name) = used.iter().find(|name| !is_known(name)) {
        let known = match kind.variables {
            [] => "nothing".to_owned(),
            variables => variables.join(", "),
        };
        let message = format!("there is no '{name}' to fill in; this prompt is given {known}");
        return Err(TemplateError::Faulty { line: line_of(text, name), message });
    }
    let numbered = with_lines(text);
    for Trial { values, strangers } in trials(kind) {
        let filled = environment.render_named_str(kind.name, &numbered, values).map_err(failed)?;
        let filled = Filled::of(&filled);
        strangers.iter().try_for_each(|stranger| filled.holds(stranger))?;
    }
    Ok(())
}

/// The line of a template that first fills in something of this name.
fn line_of(text: &str, name: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |tag: &str| tag.split(|c: char| !is_part(c)).any(|word| word == name);
    let mut at = 0;
    while let Some(start) = text[at..].find("{{").into_iter().chain(text[at..].find("{%")).min() {
        let start = at + start;
        let length = text[start..].find("}}").into_iter().chain(text[start..].find("%}")).min();
        let end = length.map_or(text.len(), |length| start + length);
        if has(&text[start..end]) {
            return text[..start].matches('\n').count() + 1;
        }
        at = (start + 2).max(end);
    }
    1
}

/// The same template, which says with everything it fills in on which line that is.
fn with_lines(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() * 2);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let mark = format!("{}{number}{}{{{{", LINE[0], LINE[1]);
        numbered.push_str(&line.replace("{{", &mark));
    }
    numbered
}

/// A template that was filled in: the text, and where which line did so.
struct Filled {
    text: String,
    lines: Vec<(usize, usize)>,
}

impl Filled {
    fn of(numbered: &str) -> Self {
        let mut filled = Self { text: String::with_capacity(numbered.len()), lines: Vec::new() };
        for (at, part) in numbered.split(LINE[0]).enumerate() {
            let (number, rest) = match (at, part.split_once(LINE[1])) {
                (0, _) | (_, None) => ("", part),
                (_, Some(numbered)) => numbered,
            };
            if let Ok(line) = number.parse() {
                filled.lines.push((filled.text.len(), line));
            }
            filled.text.push_str(rest);
        }
        filled
    }

    fn line(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|&(start, _)| start <= at);
        after.checked_sub(1).map_or(1, |before| self.lines[before].1)
    }

    /// Does a stranger's text stand between marks, wherever it stands, and is none of another there?
    fn holds(&self, Stranger { tag, texts }: &Stranger) -> Result<(), TemplateError> {
        let fault = |at: usize, message: String| {
            Err(TemplateError::Faulty { line: self.line(at), message })
        };
        let between = self.between(tag);
        let marks = format!("<{tag}-{{{{ nonce }}}}> and </{tag}-{{{{ nonce }}}}>");
        let mut is_shown = false;
        for number in texts.clone() {
            for (at, _) in self.text.match_indices(&stranger(number)) {
                is_shown = true;
                let Some(span) = between.iter().find(|span| span.contains(&at)) else {
                    return fault(
                        at,
                        format!(
                            "a stranger's text stands outside of its marks; put it between {marks}"
                        ),
                    );
                };
                let others = numbers_in(&self.text[span.clone()]);
                if others.iter().any(|other| !texts.contains(other)) {
                    return fault(
                        at,
                        format!(
                            "two texts stand between one pair of marks; put each by itself between {marks}"
                        ),
                    );
                }
            }
        }
        match is_shown {
            true => Ok(()),
            false => fault(0, format!("it shows nothing of a {tag}; put its text between {marks}")),
        }
    }

    /// What stands between marks of this name, from the last opening mark before each closing one.
    fn between(&self, tag: &str) -> Vec<Range<usize>> {
        let (opening, closing) = (format!("<{tag}-{NONCE}"), format!("</{tag}-{NONCE}>"));
        let opened = self.text.match_indices(&opening).filter_map(|(at, _)| {
            let rest = &self.text[at..];
            let end = rest.find('>').filter(|&end| !rest[..end].contains('\n'))?;
            Some((at + end + 1, true))
        });
        let closed = self.text.match_indices(&closing).map(|(at, _)| (at, false));
        let mut marks: Vec<(usize, bool)> = opened.chain(closed).collect();
        marks.sort_unstable();
        let pairs = marks.windows(2).filter(|pair| pair[0].1 && !pair[1].1);
        pairs.map(|pair| pair[0].0..pair[1].0).collect()
    }
}

fn stranger(number: usize) -> String {
    format!("{STRANGER}{number}{STRANGER}")
}

fn numbers_in(text: &str) -> Vec<usize> {
    text.split(STRANGER).skip(1).step_by(2).filter_map(|part| part.parse().ok()).collect()
}

/// Texts of a document: id, name, description and content.
const PARTS: usize = 4;

/// The document of a stranger, and how its texts are numbered.
fn document(number: usize) -> (Value, Stranger) {
    let texts = number * PARTS..(number + 1) * PARTS;
    let text = |part: usize| stranger(texts.start + part);
    let id = format!("\"{}\"", text(0));
    let value = context! { id, name => text(1), description => text(2), content => text(3) };
    (value, Stranger { tag: "skill", texts })
}

/// A document of which there is nothing but its id.
fn empty() -> Value {
    context! { id => "\"a\"", name => "", description => "", content => "" }
}

fn trials(kind: &Kind) -> Vec<Trial> {
    let plain = |values: Value| Trial { values, strangers: Vec::new() };
    let (nonce, cut, language) = (NONCE, "[…]", "English");
    let ids = |count: usize| -> Vec<String> { (0..count).map(|id| format!("\"{id}\"")).collect() };
    let words = [("neighbor", "neighbors"), ("rival", "rivals")];
    let of_members = |count: usize| {
        let (members, strangers): (Vec<_>, Vec<_>) = (0..count).map(document).unzip();
        Trial { values: context! { members, nonce, cut, language }, strangers }
    };
    let without = |members: Vec<Value>| plain(context! { members, nonce, cut, language });
    match kind.name {
        "neighborhood" => {
            (2..=MOST).map(of_members).chain([without(vec![empty(), empty()])]).collect()
        }
        "singleton-shared" => vec![of_members(1), without(vec![empty()])],
        "rivals" => {
            let of_rivals = |count: usize| {
                let (skill, own) = document(0);
                let (rivals, mut strangers): (Vec<_>, Vec<_>) = (1..=count).map(document).unzip();
                strangers.push(own);
                Trial { values: context! { skill, rivals, nonce, cut, language }, strangers }
            };
            let (skill, rivals) = (empty(), vec![empty()]);
            let nothing = plain(context! { skill, rivals, nonce, cut, language });
            (1..MOST).map(of_rivals).chain([nothing]).collect()
        }
        "system" => words.map(|(other, others)| plain(context! { other, others })).into(),
        "focal" => {
            let each = |count: usize| {
                let id = "\"a\"";
                let filled = |other, others| context! { id, ids => ids(count), other, others };
                words.map(|(other, others)| plain(filled(other, others)))
            };
            (1..MOST).flat_map(each).collect()
        }
        "all" => (2..=MOST).map(|count| plain(context! { ids => ids(count) })).collect(),
        "again" => {
            let each = |quotes: bool| {
                let reasons = |count| vec!["the trigger is empty"; count];
                [1, 2, 3].map(|count| plain(context! { reasons => reasons(count), quotes, nonce }))
            };
            [false, true].into_iter().flat_map(each).collect()
        }
        "choose" => {
            let each = |count: usize| {
                [false, true].map(|or_none| {
                    let cards: Vec<String> = (1..=count).map(stranger).collect();
                    let one = |tag, number: usize| Stranger { tag, texts: number..number + 1 };
                    let strangers = (1..=count).map(|number| one("card", number));
                    let strangers = strangers.chain([one("request", 0)]).collect();
                    let request = stranger(0);
                    let most = 3;
                    Trial { values: context! { nonce, request, cards, or_none, most }, strangers }
                })
            };
            (1..=MOST).flat_map(each).collect()
        }
        _ => vec![plain(context! { id => "\"a\"" })],
    }
}
