//! What did a model answer?
//!
//! A server that enforces the form answers with one JSON object. Others wrap it in a fence, think
//! aloud before it, or add a sentence. What is around the object is taken off; what is wrong inside
//! it is repaired as a last resort, and that is counted. Everything else is an error that says what
//! the model should do better.

mod repair;

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat::{Finish, Reply};
use crate::prompt::one_line;
use crate::skill::SkillId;

/// Characters of what is wrong with a form.
const MAX_SHAPE: usize = 300;

/// An answer that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    /// What it says.
    pub value: T,
    /// It was no JSON, and had to be made into some.
    pub repaired: bool,
}

/// Why an answer could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// There is nothing in it.
    #[error("the answer is empty")]
    Blank,
    /// It was cut at the longest allowed.
    #[error("the answer was cut off before its end; be shorter")]
    Truncated,
    /// The model would not answer.
    #[error("the model declined to answer")]
    Withheld,
    /// There is no JSON object in it, not even a broken one.
    #[error("the answer holds no JSON object")]
    NoObject,
    /// The object has another form.
    #[error("the answer has not the form asked for: {message}")]
    Shape {
        /// What is wrong.
        message: String,
    },
    /// The model chose what it was not offered. What it chose is not repeated: a stranger may have
    /// told it, and the error goes back to it in our own voice.
    #[error("the choice is none of those offered: answer with {offered}")]
    UnknownChoice {
        /// What it was offered.
        offered: String,
    },
    /// A page of the neighborhood is missing.
    #[error("the page of the skill \"{skill}\" is missing")]
    MissingSkill {
        /// Whose.
        skill: SkillId,
    },
    /// There is a page too many.
    #[error("\"{skill}\" is not one of the skills, or has two pages")]
    UnexpectedSkill {
        /// Whose, in the model's words.
        skill: String,
    },
}

impl ReplyError {
    /// Is it worth showing to the model? Otherwise it is simply asked again.
    pub fn is_instructive(&self) -> bool {
        !matches!(self, Self::Blank | Self::Truncated | Self::Withheld)
    }
}

/// What the answers were like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Answers read.
    pub answers: usize,
    /// Of these, blank ones.
    pub blank: usize,
    /// Cut off at the longest allowed.
    pub truncated: usize,
    /// Of another form, or none.
    pub malformed: usize,
    /// Read only after repair.
    pub repaired: usize,
    /// Read, but failing a check.
    pub unchecked: usize,
}

impl Tally {
    /// Counts an answer that could not be read.
    pub fn misread(&mut self, error: &ReplyError) {
        match error {
            ReplyError::Blank | ReplyError::Withheld => self.blank += 1,
            ReplyError::Truncated => self.truncated += 1,
            ReplyError::UnknownChoice { .. } => self.unchecked += 1,
            _ => self.malformed += 1,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.answers += other.answers;
        self.blank += other.blank;
        self.truncated += other.truncated;
        self.malformed += other.malformed;
        self.repaired += other.repaired;
        self.unchecked += other.unchecked;
    }
}

/// The JSON object of an answer.
pub fn object(reply: &Reply) -> Result<Parsed<Value>, ReplyError> {
    match reply.finish {
        Finish::Length => return Err(ReplyError::Truncated),
        Finish::Withheld => return Err(ReplyError::Withheld),
        Finish::Stop => {}
    }
    let text = without_thoughts(&reply.text);
    if text.trim().is_empty() {
        return Err(ReplyError::Blank);
    }
    let Some(start) = text.find('{') else { return Err(ReplyError::NoObject) };
    let text = &text[start..];
    // The first whole object counts, whatever follows it.
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = objects.next() {
        return Ok(Parsed { value, repaired: false });
    }
    let value = repair::repaired(text).ok_or(ReplyError::NoObject)?;
    Ok(Parsed { value, repaired: true })
}

/// An object as the form that was asked for.
pub fn form<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, ReplyError> {
    // The message repeats what was found in the place of what was asked for.
    let shape = |error: serde_json::Error| one_line(&error.to_string(), MAX_SHAPE);
    serde_json::from_value(value).map_err(|error| ReplyError::Shape { message: shape(error) })
}

/// Reasoning that a server leaves in the answer. If it never ends, there is no answer.
fn without_thoughts(text: &str) -> &str {
    let mut rest = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        // Some templates swallow the opening mark.
        if let Some((_, after)) = rest.rsplit_once(close) {
            rest = after.trim_start();
        } else if rest.starts_with(open) {
            return "";
        }
    }
    rest
}
