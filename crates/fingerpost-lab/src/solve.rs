//! How does a model solve a request with the skill that was chosen for it?
//!
//! An executor is asked once ([`Engine::Direct`]), or works turn by turn with tools where the question is about
//! data that only they reach ([`Engine::React`]). The document of the skill is a stranger's text: it stands between
//! marks, in so many tokens at most, and nothing of it is ever run. Samples are drawn by [`sample`], answers are
//! kept by [`solved`], and [`weigh`] makes figures of them.

pub mod react;
pub mod sample;
pub mod solved;
pub mod tools;
pub mod weigh;

use std::collections::BTreeMap;

use fingerpost::chat::{Chat, ChatError, Finish, Message, Prompt, Speaker};
use fingerpost::page::shorten::shorten;
use fingerpost::prompt::{fill, free_word};
use fingerpost::reply::{ReplyError, Tally};
use fingerpost::route::llm::ChooseError;
use fingerpost_models::campaign::Choosing;
use minijinja::context;
use serde::{Deserialize, Serialize};

use self::tools::Tools;

/// Tokens of a request that are shown: notes of patients are long.
const REQUEST: usize = 6_000;

/// Tokens of a skill's document that are shown.
const DOCUMENT: usize = 6_000;

/// How an executor works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// One answer.
    Direct,
    /// Turn by turn, with tools.
    React,
}

/// In which form the answer to a request is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A number, a formula or a few words.
    Words,
    /// A clinical value, or a date.
    Clinical,
    /// Yes or no.
    YesOrNo,
    /// One of some numbered choices.
    Choice,
    /// A program.
    Code,
}

/// One request, and what was chosen for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What is asked.
    pub request: String,
    /// The document of the chosen skill; `None` if none was chosen.
    pub document: Option<String>,
    /// The data set that it belongs to.
    pub dataset: String,
    /// Which draw this is.
    pub round: usize,
    /// How it is solved.
    pub engine: Engine,
}

/// How answers are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawing {
    /// How freely.
    pub temperature: f64,
    /// The seed of the first round; every other has the next.
    pub seed: u64,
    /// Tokens of an answer.
    pub answer_tokens: u32,
    /// How often an answer is asked for until there is one.
    pub attempts: u32,
}

/// An executor at work on tasks, each by its name.
pub struct Solving<'a> {
    /// The tasks.
    pub tasks: &'a BTreeMap<String, Task>,
    /// What there is to work with turn by turn.
    pub tools: &'a Tools,
    /// How answers are drawn.
    pub drawing: Drawing,
}

impl Form {
    /// The form of a data set's answers, as the request shows it.
    pub fn of(dataset: &str, request: &str) -> Self {
        match dataset {
            "bigcodebench" => Self::Code,
            "medcalcbench" => Self::Clinical,
            "logicbench" if request.contains("choice_1") => Self::Choice,
            "logicbench" => Self::YesOrNo,
            _ => Self::Words,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Words => {
                "The last line of your answer is \"Final answer: …\" with the answer alone: a number, a formula, a list or a few words, without explanation."
            }
            Self::Clinical => {
                "The last line of your answer is \"Final answer: …\" with the value alone: a number, a date as MM/DD/YYYY, or weeks and days as \"5 weeks, 2 days\"."
            }
            Self::YesOrNo => {
                "The last line of your answer is \"Final answer: yes\" or \"Final answer: no\"."
            }
            Self::Choice => {
                "The last line of your answer is \"Final answer: choice_N\" with the number of the one right choice in the place of N."
            }
            Self::Code => {
                "The answer is one block of Python (```python … ```): the whole module that the request asks for, with its imports, and nothing that runs on import."
            }
        }
    }
}

impl Drawing {
    fn prompt(&self, round: usize, system: String, text: String) -> Prompt {
        Prompt {
            system,
            shared: String::new(),
            messages: vec![Message { role: Speaker::User, text }],
            schema: None,
            max_output_tokens: self.answer_tokens,
            temperature: self.temperature,
            seed: self.seed.wrapping_add(round as u64),
            attempt: 0,
        }
    }
}

impl Task {
    /// The words between marks, with what is wanted of the model.
    fn text(&self, form: &str) -> String {
        let request = shorten(&self.request, REQUEST);
        let document = self.document.as_ref().map(|document| shorten(document, DOCUMENT));
        let texts = [&*request, document.as_deref().unwrap_or_default()];
        let nonce = free_word(texts.iter().map(|text| text.as_bytes()), &texts);
        let values =
            context! { nonce, request => &*request, document => document.as_deref(), form };
        fill(include_str!("solve/ask.md"), values)
    }
}

impl Choosing for Solving<'_> {
    type State = ();
    type Answer = String;
    type Error = ChooseError;

    fn choose(
        &self,
        name: &str,
        chat: &dyn Chat,
        (): &mut (),
    ) -> Result<Result<(String, Tally), ChooseError>, ChooseError> {
        let task = self.tasks.get(name).expect("tasks of this list are asked about");
        Ok(match task.engine {
            Engine::Direct => direct(task, &self.drawing, chat),
            Engine::React => react::solve(task, self.tools, &self.drawing, chat)
                .map(|worked| (worked.answer, worked.tally)),
        })
    }

    /// A request that a server refuses to take is one that is not solved.
    fn without(&self, _: &str, _: &dyn Chat, _: &str, (): &mut ()) -> Result<String, ChooseError> {
        Ok(String::new())
    }
}

/// Asks once; again only where nothing came, or not all of it.
pub fn direct(
    task: &Task,
    drawing: &Drawing,
    chat: &dyn Chat,
) -> Result<(String, Tally), ChooseError> {
    let form = Form::of(&task.dataset, &task.request);
    let system = include_str!("solve/system.md").to_owned();
    let mut prompt = drawing.prompt(task.round, system, task.text(form.words()));
    let mut tally = Tally::default();
    let mut answer = String::new();
    for attempt in 0..drawing.attempts.max(1) {
        prompt.attempt = attempt;
        let reply = asked(&prompt, chat)?;
        tally.answers += 1;
        let error = match reply.finish {
            Finish::Withheld => ReplyError::Withheld,
            Finish::Length => ReplyError::Truncated,
            Finish::Stop if reply.text.trim().is_empty() => ReplyError::Blank,
            Finish::Stop => return Ok((reply.text, tally)),
        };
        tally.misread(&error);
        answer = reply.text;
    }
    // What was cut off may hold an answer all the same.
    Ok((answer, tally))
}

fn asked(prompt: &Prompt, chat: &dyn Chat) -> Result<fingerpost::chat::Reply, ChooseError> {
    chat.complete(prompt).map_err(|error| match error {
        ChatError::Rejected { message } => {
            ChooseError::Rejected { key: prompt.key(chat.id()), message }
        }
        error => error.into(),
    })
}
