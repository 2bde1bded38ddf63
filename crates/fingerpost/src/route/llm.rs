//! How does a language model choose among candidates?
//!
//! It reads the request and the cards, in the order of the search, and answers with a number. Cards
//! are strangers' text: they stand between marks that they cannot contain, and whatever they talk the
//! model into saying, only the number of a candidate is a choice. An answer that cannot be used is
//! asked for again with the reason, a bounded number of times; then the first hit of the search is
//! taken, and the route says so. Models favor places; asked several times with the candidates
//! rotated, they vote.

use std::cmp::Reverse;

use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::reasons::Reasons;
use super::{Candidate, Decision, Route, nothing};
use crate::chat::{Chat, ChatError, Message, Prompt, Reply, Schema, Speaker};
use crate::index::{IndexError, SparseIndex};
use crate::page::shorten::shorten;
use crate::prompt::{SHOWN_AGAIN, Templates, again, free_word, object};
use crate::reply::{self, Parsed, ReplyError, Tally};
use crate::request::named;
use crate::skill::SkillId;
use crate::text::tidy;
use crate::view::{Cards, card};

/// Tokens of a request that are shown: enough for any request, and not for a book.
const REQUEST_TOKENS: usize = 4000;

/// Candidates that the model says a word against: small models never stop by themselves.
const MAX_REJECTED: usize = 3;

/// Characters of a reason that are kept.
const MAX_REASON: usize = 400;

/// May the answer be none?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answering {
    /// Where no candidate does what is asked.
    #[default]
    OrNone,
    /// Never.
    Always,
}

/// What becomes of a request that names one of the candidates, and no other?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedSkill {
    /// Whoever names a skill gets it: the search puts it first, and nobody is asked.
    #[default]
    Taken,
    /// It is a candidate like any other, as in the paper.
    Asked,
}

/// How a model is asked to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct ChooserConfig {
    /// What it sees of a candidate.
    pub cards: Cards,
    /// Is it asked about a skill that the request names?
    pub named: NamedSkill,
    /// May it say none?
    pub answering: Answering,
    /// How often it is asked, each time with the candidates rotated; the votes decide.
    pub rotate: usize,
    /// How often one answer is asked for before it is done without.
    pub attempts: u32,
    /// Tokens of an answer, reasoning included.
    pub answer_tokens: u32,
    /// How freely to draw.
    pub temperature: f64,
    /// What to draw from.
    pub seed: u64,
    /// The words.
    pub templates: Templates,
}

/// A model that chooses.
pub struct LlmChooser<'a> {
    /// The model.
    pub chat: &'a dyn Chat,
    /// How it is asked.
    pub config: &'a ChooserConfig,
    /// The name of a skill by its id, for the boundaries.
    pub name_of: &'a (dyn Fn(&SkillId) -> String + Sync),
}

/// Why nothing was chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// The index is damaged.
    #[error("the index {0}")]
    Index(#[from] IndexError),
    /// The model could not be asked.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// Its server would not take the prompt. Whether that is the prompt's fault depends on whether it
    /// takes others: [`Chat::doubt`].
    #[error("{message}")]
    Rejected {
        /// The key of the prompt.
        key: String,
        /// What the server said.
        message: String,
    },
}

/// Why one answer could not be had.
enum Missed {
    /// None of those that came can be used: why not the last one.
    Unusable(String),
    /// The server would not take the prompt of this key.
    Rejected(String, String),
}

/// What the model said once.
struct Answer {
    /// Which candidate; `None` for none.
    choice: Option<usize>,
    reason: String,
    /// Candidates, each with a word against it.
    rejected: Vec<(usize, String)>,
}

impl LlmChooser<'_> {
    /// Chooses among candidates in the order of the search, and says what the answers were like. A
    /// skill that the request names is taken without asking, unless that is not wanted; so is none where
    /// nothing was found.
    pub fn choose(
        &self,
        request: &str,
        candidates: &[Candidate<'_>],
        phrases: &SparseIndex,
    ) -> Result<(Route, Tally), ChooseError> {
        let mut tally = Tally::default();
        if candidates.is_empty() {
            return Ok((nothing(), tally));
        }
        let names = match self.config.named {
            NamedSkill::Taken => named(request),
            NamedSkill::Asked => Vec::new(),
        };
        let mut pointed_at = (0..).zip(candidates).filter(|(_, c)| c.is_named_by(&names));
        if let (Some((chosen, candidate)), None) = (pointed_at.next(), pointed_at.next()) {
            let reason = format!("the request names {}", candidate.name);
            let answer = Answer { choice: Some(chosen), reason, rejected: vec![] };
            return Ok((self.route(request, candidates, phrases, &[answer], 1.0)?, tally));
        }
        let mut answers = Vec::new();
        let mut failure = String::new();
        let mut rejected = None;
        let mut deferred = false;
        for shift in shifts(candidates.len(), self.config.rotate) {
            let prompt = self.prompt(request, candidates, shift);
            match self.ask(&prompt, candidates.len(), &mut tally) {
                Ok(Ok(answer)) => answers.push(answer.shifted(shift, candidates.len())),
                Ok(Err(Missed::Unusable(why))) => failure = why,
                // Nor would it take the same cards in another order.
                Ok(Err(Missed::Rejected(key, why))) => {
                    rejected = Some(key);
                    failure = why;
                    break;
                }
                // The other votes are asked for in the same round.
                Err(ChatError::Deferred) => deferred = true,
                Err(error) => return Err(error.into()),
            }
        }
        if deferred {
            return Err(ChatError::Deferred.into());
        }
        if let (Some(key), true) = (rejected, answers.is_empty()) {
            return Err(ChooseError::Rejected { key, message: failure });
        }
        let route = match answers.is_empty() {
            true => self.fall_back(request, candidates, phrases, &failure)?,
            false => {
                // The rule of succession: a single answer is not yet certainty.
                let agreeing = winners(&answers, candidates.len()).len() as f64;
                let confidence = (agreeing + 1.0) / (answers.len() as f64 + 2.0);
                self.route(request, candidates, phrases, &answers, confidence)?
            }
        };
        Ok((route, tally))
    }

    /// The first hit of the search, because the model gave no answer for this reason.
    pub fn fall_back(
        &self,
        request: &str,
        candidates: &[Candidate<'_>],
        phrases: &SparseIndex,
        why: &str,
    ) -> Result<Route, IndexError> {
        let Some(first) = candidates.first() else { return Ok(nothing()) };
        let reason = format!("{} is the first hit of the search", first.name);
        let answer = Answer { choice: Some(0), reason, rejected: vec![] };
        let route = self.route(request, candidates, phrases, &[answer], 0.0)?;
        Ok(Route { fallback: Some(format!("the model did not choose: {why}")), ..route })
    }

    /// What the votes decide. Every candidate that was not chosen gets a word: the model's, where it
    /// has one, else ours.
    fn route(
        &self,
        request: &str,
        candidates: &[Candidate<'_>],
        phrases: &SparseIndex,
        answers: &[Answer],
        confidence: f64,
    ) -> Result<Route, IndexError> {
        let winners = winners(answers, candidates.len());
        let chosen = winners[0].choice;
        let mut others: Vec<usize> =
            (0..candidates.len()).filter(|at| Some(*at) != chosen).collect();
        let votes = |at: usize| answers.iter().filter(|answer| answer.choice == Some(at)).count();
        others.sort_by_key(|&at| (Reverse(votes(at)), at));
        let rivals = others.iter().map(|&at| &candidates[at]).collect();
        let reasons = Reasons::new(request, chosen.map(|at| &candidates[at]), rivals, phrases)?;
        let mut rejected = reasons.rejected(self.config.cards);
        for (&at, rejected) in others.iter().zip(&mut rejected) {
            let mut said = winners.iter().flat_map(|answer| &answer.rejected);
            if let Some((_, because)) = said.find(|(rejected, _)| *rejected == at) {
                rejected.because.clone_from(because);
            }
        }
        let skill = chosen.map(|at| candidates[at].id.to_owned());
        Ok(Route {
            decision: if skill.is_some() { Decision::Use } else { Decision::None },
            skills: skill.iter().cloned().collect(),
            skill,
            confidence,
            reason: winners[0].reason.clone(),
            rejected,
            fallback: None,
        })
    }

    /// Asks until an answer can be used, or the attempts are used up: then says why the last one
    /// could not.
    fn ask(
        &self,
        first: &Prompt,
        candidates: usize,
        tally: &mut Tally,
    ) -> Result<Result<Answer, Missed>, ChatError> {
        let mut prompt = first.clone();
        let mut failure = String::new();
        for attempt in 0..self.config.attempts.max(1) {
            prompt.attempt = attempt;
            let reply = match self.chat.complete(&prompt) {
                Ok(reply) => reply,
                // The same prompt would be rejected again.
                Err(ChatError::Rejected { message }) => {
                    return Ok(Err(Missed::Rejected(prompt.key(self.chat.id()), message)));
                }
                Err(error) => return Err(error),
            };
            tally.answers += 1;
            match read(&reply, candidates, self.config.answering) {
                Ok(Parsed { value, repaired }) => {
                    tally.repaired += usize::from(repaired);
                    return Ok(Ok(value));
                }
                Err(error) => {
                    tally.misread(&error);
                    let room = prompt.max_output_tokens;
                    if error == ReplyError::Truncated {
                        prompt.max_output_tokens = room.saturating_mul(2);
                    } else if error.is_instructive() {
                        let shown: String = reply.text.chars().take(SHOWN_AGAIN).collect();
                        let (reasons, words) = ([error.to_string()], &self.config.templates);
                        prompt = again(first, &shown, &reasons, &[], words);
                        prompt.max_output_tokens = room;
                    }
                    failure = error.to_string();
                }
            }
        }
        Ok(Err(Missed::Unusable(failure)))
    }

    /// What the model is told, with the candidates beginning at `shift`.
    fn prompt(&self, request: &str, candidates: &[Candidate<'_>], shift: usize) -> Prompt {
        let ChooserConfig { cards, answering, answer_tokens, temperature, seed, .. } = *self.config;
        let templates = &self.config.templates;
        let shown = candidates.iter().cycle().skip(shift).take(candidates.len());
        let cards: Vec<String> =
            shown.map(|c| card(c.name, c.description, c.page, cards, self.name_of)).collect();
        let request = shorten(request.trim(), REQUEST_TOKENS);
        let texts: Vec<&str> = cards.iter().map(String::as_str).chain([request.as_ref()]).collect();
        let nonce = free_word(texts.iter().map(|text| text.as_bytes()), &texts);
        let or_none = answering == Answering::OrNone;
        let values = context! { nonce, request => &*request, cards, or_none, most => MAX_REJECTED };
        Prompt {
            system: templates.render("choose-system", context! {}) + "\n",
            shared: String::new(),
            messages: vec![Message {
                role: Speaker::User,
                text: templates.render("choose", values),
            }],
            schema: Some(schema(candidates.len(), answering)),
            max_output_tokens: answer_tokens,
            temperature,
            seed,
            attempt: 0,
        }
    }
}

impl Answer {
    /// The same answer, with numbers of rotated candidates as places in the order of the search.
    fn shifted(mut self, shift: usize, candidates: usize) -> Self {
        let place = |at: usize| (at + shift) % candidates;
        self.choice = self.choice.map(place);
        self.rejected.iter_mut().for_each(|(at, _)| *at = place(*at));
        self
    }
}

/// Where the candidates begin each time: spread evenly, and no order twice.
fn shifts(candidates: usize, rotate: usize) -> impl Iterator<Item = usize> {
    let times = rotate.clamp(1, candidates);
    (0..times).map(move |time| time * candidates / times)
}

/// The answers with the choice that has most votes; of equals, the one found first, and none last.
fn winners(answers: &[Answer], candidates: usize) -> Vec<&Answer> {
    let for_choice = |choice: Option<usize>| -> Vec<&Answer> {
        answers.iter().filter(|answer| answer.choice == choice).collect()
    };
    let choices = (0..candidates).map(Some).chain([None]);
    let mut best: Vec<&Answer> = Vec::new();
    for votes in choices.map(for_choice) {
        if votes.len() > best.len() {
            best = votes;
        }
    }
    best
}

/// The form of an answer. Choices are words, because not every server takes a list of numbers.
fn schema(candidates: usize, answering: Answering) -> Schema {
    let numbers: Vec<String> = (1..=candidates).map(|number| number.to_string()).collect();
    let mut choices = numbers.clone();
    if answering == Answering::OrNone {
        choices.push("none".into());
    }
    let text = || json!({ "type": "string" });
    let one_of = |words: Vec<String>| json!({ "type": "string", "enum": words });
    let rejected = object(vec![("skill", one_of(numbers)), ("because", text())]);
    let rejected = json!({ "type": "array", "items": rejected, "maxItems": MAX_REJECTED });
    let fields = vec![("reason", text()), ("choice", one_of(choices)), ("rejected", rejected)];
    Schema { name: "choice".into(), schema: object(fields) }
}

#[derive(Deserialize)]
struct ChoiceForm {
    choice: Value,
    #[serde(default)]
    reason: Value,
    #[serde(default)]
    rejected: Value,
}

/// Reads an answer. The choice must be one of those offered; a reason that is missing or of another
/// form costs nothing but the reason.
fn read(
    reply: &Reply,
    candidates: usize,
    answering: Answering,
) -> Result<Parsed<Answer>, ReplyError> {
    let Parsed { value, repaired } = reply::object(reply)?;
    let ChoiceForm { choice, reason, rejected } = reply::form(value)?;
    let choice = match number(&choice, candidates) {
        Some(number) => Some(number),
        None if answering == Answering::OrNone && is_none(&choice) => None,
        None => {
            let or_none = if answering == Answering::OrNone { ", or \"none\"" } else { "" };
            let offered = format!("the number of a candidate, 1 to {candidates}{or_none}");
            return Err(ReplyError::UnknownChoice { offered });
        }
    };
    let words = |value: &Value| {
        let text = tidy(value.as_str().unwrap_or_default());
        text.chars().take(MAX_REASON).collect::<String>()
    };
    let against = |entry: &Value| {
        let at = number(entry.get("skill")?, candidates).filter(|at| Some(*at) != choice)?;
        let because = words(entry.get("because")?);
        (!because.is_empty()).then_some((at, because))
    };
    let rejected = rejected.as_array().into_iter().flatten().filter_map(against).collect();
    let mut reason = words(&reason);
    if reason.is_empty() {
        reason = "the model gave no reason".into();
    }
    Ok(Parsed { value: Answer { choice, reason, rejected }, repaired })
}

/// A candidate's place by its number: `3`, `"3"`, `"[3]"`. Names are not read: they are strangers'
/// text, and one may be "2".
fn number(value: &Value, candidates: usize) -> Option<usize> {
    let number: usize = match value {
        Value::Number(number) => number.as_u64()?.try_into().ok()?,
        Value::String(text) => text.trim_matches([' ', '[', ']', '#', '.']).parse().ok()?,
        _ => return None,
    };
    (1..=candidates).contains(&number).then(|| number - 1)
}

fn is_none(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().eq_ignore_ascii_case("none"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
