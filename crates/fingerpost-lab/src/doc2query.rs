//! Which requests would a model expect, from a document alone?
//!
//! Five a skill, written without a look at its neighbors: the baseline that pages have to beat. What was written
//! is recorded in `experiments/requests`, a file a library, so that nobody has to ask again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fingerpost::chat::{Chat, ChatError, Message, Prompt, Schema, Speaker};
use fingerpost::library::{Library, read_unpacked};
use fingerpost::page::shorten::shorten;
use fingerpost::page::{Page, Pages};
use fingerpost::prompt::{fill, free_word, object};
use fingerpost::reply::{self, Parsed, Tally};
use fingerpost::route::llm::ChooseError;
use fingerpost::view::document;
use fingerpost_models::campaign::Choosing;
use minijinja::context;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::judged::{JudgedError, Places};
use crate::lab::{LabError, failed, packed, put};

/// Requests of a skill.
pub const EACH: usize = 5;

/// Tokens of a document that are shown.
const SHOWN: usize = 6_000;

/// Tokens of an answer.
const ANSWER: u32 = 800;

/// Characters of a request that count.
const LONGEST: usize = 600;

/// The requests of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    skill: String,
    requests: Vec<String>,
}

/// Requests that a model wrote, by skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    by_skill: BTreeMap<String, Vec<String>>,
}

impl Expected {
    /// What is recorded of a library.
    pub fn of(data: &str, places: &Places) -> Result<Self, LabError> {
        let file = Self::file(data, places);
        if !file.is_file() {
            return Ok(Self::default());
        }
        let text = read_unpacked(&file).map_err(|source| failed(&file, source))?;
        let mut by_skill = BTreeMap::new();
        for (number, line) in (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty()) {
            let Row { skill, requests } = serde_json::from_str(line).map_err(|error| {
                let file = format!("{}:{number}", file.display());
                LabError::Judged(JudgedError::File { file, why: error.to_string() })
            })?;
            by_skill.insert(skill, requests);
        }
        Ok(Self { by_skill })
    }

    fn file(data: &str, places: &Places) -> PathBuf {
        places.project.join("experiments/requests").join(format!("{data}.jsonl.zst"))
    }

    /// Adds what was written, and keeps all of it.
    pub fn keep(
        &mut self,
        more: impl IntoIterator<Item = (String, Vec<String>)>,
        data: &str,
        places: &Places,
    ) -> Result<(), LabError> {
        self.by_skill.extend(more);
        let mut text = String::new();
        for (skill, requests) in &self.by_skill {
            let row = Row { skill: skill.clone(), requests: requests.clone() };
            text.push_str(&serde_json::to_string(&row).expect("plain data"));
            text.push('\n');
        }
        let file = Self::file(data, places);
        let written = packed(text.as_bytes()).and_then(|bytes| put(&file, &bytes));
        written.map_err(|source| failed(&file, source))
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.by_skill.is_empty()
    }

    /// The skills of a library that have no requests yet.
    pub fn missing<'a>(&self, library: &'a Library) -> Vec<&'a str> {
        let ids = library.skills().iter().map(|skill| skill.id.as_str());
        ids.filter(|id| !self.by_skill.contains_key(*id)).collect()
    }

    /// Pages that hold nothing but the requests, so that a view with the trigger is the document with them.
    pub fn pages(&self, library: &Library) -> Pages {
        let page = |requests: &Vec<String>| Page {
            trigger: requests.join("\n"),
            boundary: Vec::new(),
            body: String::new(),
        };
        let skills = library.skills().iter();
        Pages::new(skills.map(|skill| self.by_skill.get(skill.id.as_str()).map(page)).collect())
    }
}

/// A model that writes requests from documents.
pub struct Writing<'a> {
    /// The skills.
    pub library: &'a Library,
    /// How often an answer is asked for until it can be used.
    pub attempts: u32,
    /// What to draw from.
    pub seed: u64,
}

impl Writing<'_> {
    fn prompt(&self, id: &str) -> Prompt {
        let row = self.library.find(id).expect("skills of this library are asked about");
        let text = document(&self.library.skills()[row.row()]);
        let document = shorten(&text, SHOWN);
        let nonce = free_word([document.as_bytes()].into_iter(), &[&document]);
        let values = context! { nonce, document => &*document };
        let text = fill(include_str!("doc2query/ask.md"), values);
        let requests = json!({ "type": "array", "items": { "type": "string" } });
        Prompt {
            system: include_str!("doc2query/system.md").to_owned(),
            shared: String::new(),
            messages: vec![Message { role: Speaker::User, text }],
            schema: Some(Schema {
                name: "requests".into(),
                schema: object(vec![("requests", requests)]),
            }),
            max_output_tokens: ANSWER,
            temperature: 0.0,
            seed: self.seed,
            attempt: 0,
        }
    }
}

impl Choosing for Writing<'_> {
    type State = ();
    type Answer = Vec<String>;
    type Error = ChooseError;

    fn choose(
        &self,
        id: &str,
        chat: &dyn Chat,
        (): &mut (),
    ) -> Result<Result<(Vec<String>, Tally), ChooseError>, ChooseError> {
        let mut tally = Tally::default();
        let mut prompt = self.prompt(id);
        let mut written = Vec::new();
        for attempt in 0..self.attempts.max(1) {
            prompt.attempt = attempt;
            let reply = match chat.complete(&prompt) {
                Ok(reply) => reply,
                Err(ChatError::Rejected { message }) => {
                    return Ok(Err(ChooseError::Rejected { key: prompt.key(chat.id()), message }));
                }
                Err(error) => return Ok(Err(error.into())),
            };
            tally.answers += 1;
            match read(&reply) {
                Ok(Parsed { value, repaired }) => {
                    tally.repaired += usize::from(repaired);
                    return Ok(Ok((value, tally)));
                }
                Err((some, error)) => {
                    tally.misread(&error);
                    written = some;
                }
            }
        }
        // Too few are better than none, and none is a skill that is found by its document.
        Ok(Ok((written, tally)))
    }

    fn without(
        &self,
        _: &str,
        _: &dyn Chat,
        _: &str,
        (): &mut (),
    ) -> Result<Vec<String>, ChooseError> {
        Ok(Vec::new())
    }
}

#[derive(Deserialize)]
struct Form {
    requests: Vec<String>,
}

/// Five requests, or how many there were and what is wrong.
fn read(
    reply: &fingerpost::chat::Reply,
) -> Result<Parsed<Vec<String>>, (Vec<String>, reply::ReplyError)> {
    let failed = |error| (Vec::new(), error);
    let Parsed { value, repaired } = reply::object(reply).map_err(failed)?;
    let Form { requests } = reply::form(value).map_err(failed)?;
    let tidy = |request: String| -> String {
        let line = request.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(LONGEST).collect()
    };
    let mut requests: Vec<String> =
        requests.into_iter().map(tidy).filter(|request| !request.is_empty()).collect();
    requests.truncate(EACH);
    match requests.len() {
        EACH => Ok(Parsed { value: requests, repaired }),
        count => {
            let message = format!("{count} requests instead of {EACH}");
            Err((requests, reply::ReplyError::Shape { message }))
        }
    }
}
