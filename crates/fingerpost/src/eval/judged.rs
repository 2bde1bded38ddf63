//! Which requests does a folder hold, and what is right for each of them?
//!
//! Benchmarks are published in three layouts, and each is read as it is:
//!
//! - `queries.jsonl` with a file of judgements, `qrels.tsv` or `qrels/test.tsv` (BEIR, and ours);
//! - `queries.jsonl` or `queries.json` whose requests name their skills themselves (SSL-SkillDiscovery);
//! - `instances/*.json`, one file for each data set, with a question and its skills each (SRA-Bench).
//!
//! Every file may be packed as `.gz` or `.zst`. Unlike a broken skill, a broken request is an error: a
//! figure over fewer requests than the benchmark has is a figure of another benchmark.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::entries::{Entry, entries, reason};
use super::formats::{FormatError, QUERY_ID, read_qrels, read_queries};
use super::{Qrels, Query};
use crate::library::{Text, find_file, read_texts, read_unpacked, stem};

/// Requests, and what is right for each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRequests {
    /// The requests, in the order of their files.
    pub queries: Vec<Query>,
    /// The skills that are right for each. A request that no skill fits has none.
    pub qrels: Qrels,
    /// What an answer to a request is judged by, where that is known: the field `eval_data`, or an object
    /// of what stands for it (`answer`, `answer_type`, `test`, …).
    pub answers: BTreeMap<String, Value>,
    /// Where the judgements stand.
    pub gold: Gold,
    /// The file or folder that holds the judgements.
    pub judged_by: PathBuf,
}

/// Where judgements stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gold {
    /// In a file of their own, by the ids of the library.
    Qrels,
    /// In the requests, which may call a skill by its folder: see [`name_by_id`].
    Requests,
}

/// Why the requests of a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JudgedError {
    /// A file or folder cannot be read.
    #[error("cannot read {}", file.display())]
    Read {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not have the form it should have.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There are requests, and nothing says what is right for them.
    #[error(
        "{} names no skills: give each request its skills ({}), or put judgements into qrels.tsv beside it",
        file.display(),
        GOLD.join(", ")
    )]
    Unjudged {
        /// The file of requests.
        file: PathBuf,
    },
}

/// Spellings of an instance's id, the most particular first: an `id` may be a mere row number, which the
/// files of several data sets share.
const INSTANCE_ID: [&str; 4] = ["instance_id", "query_id", "id", "_id"];

/// Spellings of what a request asks, by itself or inside `input`.
const TEXT: [&str; 5] = ["question", "query", "instruction", "intent", "text"];

/// Spellings of the skills that are right for a request: one id, or a list.
const GOLD: [&str; 10] = [
    "gold_skill_ids",
    "skill_annotations",
    "skill_ids",
    "gold_skills",
    "relevant",
    "positive",
    "gold",
    "source_skill",
    "skill_id",
    "expected_skill",
];

/// What stands for `eval_data` where a request has none.
const EVALUATION: [&str; 7] =
    ["answer", "answers", "answer_type", "ground_truth", "expected_output", "test", "entry_point"];

/// The requests and judgements of a folder; `None` if it holds no requests. The data set of a request is
/// its field `group_by`, where it has one; else the name of the file, if that is one of `instances`.
pub fn judged_requests(
    folder: &Path,
    group_by: &str,
) -> Result<Option<JudgedRequests>, JudgedError> {
    let Some(file) = find_file(folder, &["queries.jsonl", "queries.json"]) else {
        return of_instances(&folder.join("instances"), group_by);
    };
    let text = read(&file)?;
    let name = file.display().to_string();
    let qrels = find_file(folder, &["qrels.tsv", "qrels/test.tsv"]);
    let mut judged = match qrels {
        Some(qrels) => JudgedRequests {
            queries: read_queries(&text, &name, group_by)?,
            qrels: read_qrels(&read(&qrels)?, &qrels.display().to_string())?,
            answers: read_answers(&text, &name)?,
            gold: Gold::Qrels,
            judged_by: qrels,
        },
        None => match read_judged_queries(&text, &name, group_by)? {
            Some(judged) => judged,
            None => return Err(JudgedError::Unjudged { file }),
        },
    };
    if let Some(file) = find_file(folder, &["answers.jsonl"]) {
        judged.answers.extend(read_answers(&read(&file)?, &file.display().to_string())?);
    }
    Ok(Some(judged))
}

/// Reads requests that name their skills themselves; `None` if none of them does. Where one does, all
/// must: a request that no skill fits has an empty list.
pub fn read_judged_queries(
    text: &str,
    file: &str,
    group_by: &str,
) -> Result<Option<JudgedRequests>, FormatError> {
    let mut read = Vec::new();
    let form = Form { ids: &QUERY_ID, group_by, dataset: None };
    for entry in entries(text, file)? {
        // Lines of `id<tab>text` have no room for skills.
        if !entry.text.starts_with('{') {
            return Ok(None);
        }
        let request = form.read(&entry, file)?;
        read.push((entry, request));
    }
    if read.iter().all(|(_, request)| request.gold.is_none()) {
        return Ok(None);
    }
    let mut collected = Collected::default();
    for (entry, request) in read {
        collected.add(request, &entry, file)?;
    }
    Ok(Some(collected.judged(PathBuf::from(file))))
}

/// Judgements by the ids of a library. A request may call a skill by the folder it lies in, where the id
/// is the path to it from the root: `pdf` for `skills/pdf`. An id that the library has stays, and so does
/// a folder that no skill lies in, or several.
pub fn name_by_id<'a>(qrels: &Qrels, ids: impl IntoIterator<Item = &'a str>) -> Qrels {
    let mut known = BTreeSet::new();
    let mut in_folder: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for id in ids {
        known.insert(id);
        in_folder.entry(id.rsplit('/').next().unwrap_or(id)).or_default().push(id);
    }
    let named = |skill: &str| match in_folder.get(skill).map(Vec::as_slice) {
        Some([id]) if !known.contains(skill) => (*id).to_owned(),
        _ => skill.to_owned(),
    };
    let grades = |grades: &BTreeMap<String, i32>| {
        grades.iter().map(|(skill, &grade)| (named(skill), grade)).collect()
    };
    qrels.iter().map(|(query, skills)| (query.clone(), grades(skills))).collect()
}

/// The requests of a folder of instances; `None` without one, or if it is empty.
fn of_instances(folder: &Path, group_by: &str) -> Result<Option<JudgedRequests>, JudgedError> {
    let texts = read_texts(folder).map_err(|(file, source)| JudgedError::Read { file, source })?;
    let mut collected = Collected::default();
    for Text { file, text } in &texts {
        let name = file.display().to_string();
        let form = Form { ids: &INSTANCE_ID, group_by, dataset: Some(stem(file)) };
        for entry in entries(text, &name)? {
            let request = form.read(&entry, &name)?;
            collected.add(request, &entry, &name)?;
        }
    }
    Ok((!texts.is_empty()).then(|| collected.judged(folder.to_path_buf())))
}

fn read(file: &Path) -> Result<String, JudgedError> {
    read_unpacked(file).map_err(|source| JudgedError::Read { file: file.to_path_buf(), source })
}

/// The answers of a file with `id` and `eval_data` in each entry; an entry without either has none.
fn read_answers(text: &str, file: &str) -> Result<BTreeMap<String, Value>, FormatError> {
    let mut answers = BTreeMap::new();
    for entry in entries(text, file)?.iter().filter(|entry| entry.text.starts_with('{')) {
        let mut fields = fields(entry, file)?;
        let id = text_field(&fields, &QUERY_ID).or_else(|| entry.key.clone());
        if let (Some(id), Some(answer)) = (id, take_answer(&mut fields)) {
            answers.insert(id, answer);
        }
    }
    Ok(answers)
}

/// One request as a file has it.
struct Request {
    query: Query,
    /// The skills that are right for it; `None` if it does not say.
    gold: Option<Vec<String>>,
    answer: Option<Value>,
}

/// How the requests of a file are to be read.
struct Form<'a> {
    /// Spellings of the id.
    ids: &'a [&'a str],
    /// The field that names the data set.
    group_by: &'a str,
    /// The data set of a request without that field.
    dataset: Option<String>,
}

impl Form<'_> {
    fn read(&self, entry: &Entry<'_>, file: &str) -> Result<Request, FormatError> {
        let wrong = |message| wrong(entry, file, message);
        let mut fields = fields(entry, file)?;
        let place = entry.place();
        let Some(id) = text_field(&fields, self.ids).or_else(|| entry.key.clone()) else {
            let names = self.ids.join(", ");
            return Err(wrong(format!("{place} has no id: write it as one of {names}")));
        };
        let input = fields.get("input");
        let inside = || match input? {
            Value::Object(input) => text_field(input, &TEXT),
            Value::String(input) => Some(input.clone()),
            _ => None,
        };
        let Some(text) = text_field(&fields, &TEXT).or_else(inside) else {
            let names = TEXT.join(", ");
            return Err(wrong(format!(
                "request '{id}' ({place}) has no text: write it as one of {names}"
            )));
        };
        let gold = GOLD.iter().find_map(|&name| Some((name, present(&fields, name)?)));
        let gold = gold.map(|(name, value)| {
            skills(value).ok_or_else(|| {
                wrong(format!("request '{id}' ({place}): {name} is {value}, and neither the id of a skill nor a list of ids"))
            })
        });
        let gold = gold.transpose()?;
        let dataset = text_field(&fields, &[self.group_by]).or_else(|| self.dataset.clone());
        let answer = take_answer(&mut fields);
        Ok(Request { query: Query { id, text, dataset }, gold, answer })
    }
}

/// Requests that are read so far.
#[derive(Default)]
struct Collected {
    queries: Vec<Query>,
    qrels: Qrels,
    answers: BTreeMap<String, Value>,
    /// Where each id was found.
    seen: BTreeMap<String, String>,
}

impl Collected {
    /// Adds a request, which must say what is right for it.
    fn add(&mut self, request: Request, entry: &Entry<'_>, file: &str) -> Result<(), FormatError> {
        let Request { query, gold, answer } = request;
        let (id, place) = (&query.id, entry.place());
        let Some(gold) = gold else {
            let names = GOLD.join(", ");
            let message = format!(
                "request '{id}' ({place}) names no skill: write its skills as one of {names}; [] if no skill fits"
            );
            return Err(wrong(entry, file, message));
        };
        let here = format!("{file}:{}", entry.line);
        if let Some(first) = self.seen.insert(id.clone(), here) {
            let message = format!(
                "request '{id}' ({place}) is in {first} already: give each an id of its own"
            );
            return Err(wrong(entry, file, message));
        }
        self.qrels.insert(id.clone(), gold.into_iter().map(|skill| (skill, 1)).collect());
        self.answers.extend(answer.map(|answer| (id.clone(), answer)));
        self.queries.push(query);
        Ok(())
    }

    fn judged(self, judged_by: PathBuf) -> JudgedRequests {
        let Self { queries, qrels, answers, .. } = self;
        JudgedRequests { queries, qrels, answers, gold: Gold::Requests, judged_by }
    }
}

fn fields(entry: &Entry<'_>, file: &str) -> Result<Map<String, Value>, FormatError> {
    serde_json::from_str(entry.text).map_err(|error| {
        let message = format!(
            "{} is no JSON object with id, text and skills: {}",
            entry.place(),
            reason(&error)
        );
        wrong(entry, file, message)
    })
}

fn wrong(entry: &Entry<'_>, file: &str, message: String) -> FormatError {
    FormatError { file: file.to_owned(), line: entry.line, message }
}

/// A field that is there and not null.
fn present<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// The first of these fields that is a text or a number.
fn text_field(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| id_of(fields.get(*name)?))
}

/// A text or a number as an id.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The ids of one skill or several, each by itself or as a field of an object; `None` if it is none.
fn skills(value: &Value) -> Option<Vec<String>> {
    let skill = |value: &Value| match value {
        Value::Object(skill) => text_field(skill, &["skill_id", "id"]),
        other => id_of(other),
    };
    match value {
        Value::Array(values) => values.iter().map(skill).collect(),
        one => Some(vec![skill(one)?]),
    }
}

fn take_answer(fields: &mut Map<String, Value>) -> Option<Value> {
    if present(fields, "eval_data").is_some() {
        return fields.remove("eval_data");
    }
    let known = EVALUATION.iter().filter(|name| present(fields, name).is_some());
    let known: Map<String, Value> =
        known.map(|name| ((*name).to_owned(), fields[*name].clone())).collect();
    (!known.is_empty()).then_some(Value::Object(known))
}
