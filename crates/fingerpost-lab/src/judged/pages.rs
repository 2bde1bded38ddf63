//! Pages that somebody else wrote, as their files have them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fingerpost::library::Library;
use fingerpost::page::{Case, Page, Pages};
use fingerpost::skill::SkillId;
use serde::Deserialize;

use super::{
    ASKED, CLOSED, Judged, JudgedError, STRONG_WRITER, by_data_set, open, origin, read, spread,
};

/// A page as `fingerpost export` writes it.
#[derive(Deserialize)]
struct Exported {
    skill: SkillId,
    #[serde(flatten)]
    page: Page,
}

/// The pages of a file that `fingerpost export` wrote, in the order of the skills.
pub(super) fn exported(library: &Library, file: &Path, name: &str) -> Result<Pages, JudgedError> {
    if !file.is_file() {
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().display().to_string();
        return Err(JudgedError::Missing {
            name: name.to_owned(),
            file: part(file.file_name()),
            folder: part(file.parent().map(Path::as_os_str)),
            from: origin(name),
        });
    }
    let rows: Vec<Exported> = lines(file)?;
    let mut pages: BTreeMap<SkillId, Page> =
        rows.into_iter().map(|Exported { skill, page }| (skill, page)).collect();
    Ok(Pages::new(library.skills().iter().map(|skill| pages.remove(&skill.id)).collect()))
}

fn lines<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<Vec<T>, JudgedError> {
    let text = read(file)?;
    let lines = (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty());
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| JudgedError::File {
            file: format!("{}:{number}", file.display()),
            why: error.to_string(),
        })
    };
    lines.map(read).collect()
}

/// A page as it lies in the closed library's file; the boundary is free text that names its
/// references in order.
#[derive(Deserialize)]
struct Record {
    id: String,
    trigger: String,
    boundary: String,
    references: Vec<String>,
    body: String,
}

/// The skills of `sra` that a strong model wrote pages for, and nothing else.
pub(super) fn closed(data: &Path) -> Result<Judged, JudgedError> {
    let file = data.join(CLOSED).join("pages.jsonl");
    let Judged { library, queries, texts, data_sets, qrels, answers, .. } =
        open(CLOSED, &data.join("sra"), &data.join("sra"))?;
    let records: Vec<Record> = lines(&file)?;
    let inside: BTreeSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let skills = library.skills().iter().filter(|skill| inside.contains(skill.id.as_str()));
    let library = Library::from_skills(skills.cloned().collect()).value;
    let page = |record: &Record| Page {
        trigger: record.trigger.clone(),
        boundary: cases(record, &library),
        body: record.body.clone(),
    };
    let pages: BTreeMap<&str, Page> =
        records.iter().map(|record| (record.id.as_str(), page(record))).collect();
    let theirs = library.skills().iter().map(|skill| pages.get(skill.id.as_str()).cloned());
    let theirs = Some(Pages::new(theirs.collect()));
    let is_answered = |id: &str| {
        qrels.get(id).is_some_and(|grades| {
            grades.iter().all(|(skill, &grade)| grade <= 0 || inside.contains(skill.as_str()))
        })
    };
    let queries = queries.into_iter().filter(|query| is_answered(&query.id)).collect();
    let queries = by_data_set(queries).into_values().flat_map(|queries| spread(queries, ASKED));
    let queries = queries.collect();
    Ok(Judged {
        name: CLOSED.to_owned(),
        asks: CLOSED.to_owned(),
        library,
        queries,
        texts,
        data_sets,
        qrels,
        answers,
        theirs,
        writer: STRONG_WRITER,
    })
}

/// Their boundary, cut into cases where each neighbor is named.
fn cases(record: &Record, library: &Library) -> Vec<Case> {
    let mut rest = record.boundary.as_str();
    let mut cases = Vec::new();
    for id in &record.references {
        let named = library.find(id).map(|skill| library.skills()[skill.row()].name.as_str());
        let Some((name, at)) = named.and_then(|name| Some((name, rest.find(name)?))) else {
            continue;
        };
        let marks = [' ', '.', ',', ';', ':', '\'', '…'];
        let request = rest[..at].trim_matches(marks).to_owned();
        cases.push(Case::new(request, Some(SkillId::new(id.as_str()))));
        rest = rest[at + name.len()..].trim_start_matches(marks);
    }
    cases
}
