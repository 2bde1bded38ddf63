//! Which requests are asked, and what is right for each of them?
//!
//! Files that are named are read as they are named; what is not named is looked for in the folder of the
//! only library, in any layout that [`judged_requests`] knows.

use std::path::{Path, PathBuf};

use fingerpost::eval::{
    Gold, JudgedRequests, Qrels, Query, judged_requests, judged_skills, name_by_id,
    read_judged_queries, read_qrels, read_queries,
};
use fingerpost::snapshot::Snapshot;

use crate::args::{Eval, Global};
use crate::output::{self, CAUTION, UsageError, plural};
use crate::source;

/// Where judgements lie beside a library.
const QRELS: [&str; 2] = ["qrels.tsv", "qrels/test.tsv"];

/// What an evaluation asks and judges by.
pub(super) struct Judged {
    /// `None` for those that the judgements mention, where a run is judged.
    pub(super) queries: Option<Vec<Query>>,
    pub(super) qrels: Qrels,
    gold: Gold,
    /// The file or folder of the judgements.
    judged_by: PathBuf,
}

impl Judged {
    /// As named, or as found beside the library.
    pub(super) fn of(eval: &Eval) -> anyhow::Result<Self> {
        let group_by = &eval.judging.group_by;
        match (&eval.queries, &eval.qrels) {
            (Some(queries), None) => Self::judging(eval, queries),
            (None, None) => match found(eval)? {
                Some(judged) => Ok(judged.into()),
                None => Err(nothing_found(eval)),
            },
            (queries, Some(qrels)) => {
                let queries = match queries {
                    Some(file) => Some(queries_of(file, group_by)?),
                    None if eval.run.is_some() => None,
                    None => Some(queries_beside(eval)?),
                };
                Self::by_file(queries, qrels)
            }
        }
    }

    /// Queries that are named, with the judgements beside the library, of their own, or of the library's
    /// own requests.
    fn judging(eval: &Eval, file: &Path) -> anyhow::Result<Self> {
        let group_by = &eval.judging.group_by;
        if let Some(qrels) = source::beside(&eval.library, &QRELS) {
            return Self::by_file(Some(queries_of(file, group_by)?), &qrels);
        }
        let text = source::text(file)?;
        if let Some(judged) = read_judged_queries(&text, &file.display().to_string(), group_by)? {
            return Ok(judged.into());
        }
        let queries = Some(queries_of(file, group_by)?);
        match found(eval)? {
            Some(judged) => Ok(Self { queries, ..judged.into() }),
            None => {
                let file = file.display();
                let message = format!(
                    "name the judgements with --qrels: {file} names no skills, and the library has no qrels.tsv"
                );
                Err(UsageError::new(message).into())
            }
        }
    }

    fn by_file(queries: Option<Vec<Query>>, file: &Path) -> anyhow::Result<Self> {
        let qrels = qrels_of(file)?;
        Ok(Self { queries, qrels, gold: Gold::Qrels, judged_by: file.to_path_buf() })
    }

    /// Are the judgements of this library? Another one's would make all figures zero.
    pub(super) fn check(
        &mut self,
        snapshot: &Snapshot,
        eval: &Eval,
        global: &Global,
    ) -> anyhow::Result<()> {
        if self.gold == Gold::Requests {
            let ids = snapshot.rows().map(|skill| snapshot.row(skill).id);
            self.qrels = name_by_id(&self.qrels, ids);
        }
        let is_known =
            |id: &str| snapshot.find(id).is_some_and(|skill| snapshot.row(skill).id == id);
        let judged = judged_skills(&self.qrels, self.queries.as_deref());
        let missing = judged.iter().filter(|id| !is_known(id)).count();
        let (skills, file) = (plural(judged.len(), "skill"), self.judged_by.display());
        let library = match &eval.library.library[..] {
            [] => "the skills found from this folder".to_owned(),
            named => {
                named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
            }
        };
        if missing > 0 && missing == judged.len() {
            let message = format!(
                "none of the {skills} that {file} judges is in {library}: are these the judgements of another library?"
            );
            return Err(UsageError::new(message).into());
        }
        if missing > 0 {
            let line = format!(
                "{CAUTION}note:{CAUTION:#} {missing} of the {skills} that {file} judges are not in {library}, and cannot be found"
            );
            output::say(global, &line);
        }
        Ok(())
    }
}

impl From<JudgedRequests> for Judged {
    fn from(judged: JudgedRequests) -> Self {
        let JudgedRequests { queries, qrels, gold, judged_by, .. } = judged;
        Self { queries: Some(queries), qrels, gold, judged_by }
    }
}

/// The requests in the folder of the only library named.
fn found(eval: &Eval) -> anyhow::Result<Option<JudgedRequests>> {
    let Some(folder) = source::folder(&eval.library) else { return Ok(None) };
    Ok(judged_requests(folder, &eval.judging.group_by)?)
}

/// The library's own queries, for judgements that are named.
fn queries_beside(eval: &Eval) -> anyhow::Result<Vec<Query>> {
    if let Some(file) = source::beside(&eval.library, &["queries.jsonl", "queries.json"]) {
        return queries_of(&file, &eval.judging.group_by);
    }
    match found(eval)? {
        Some(judged) => Ok(judged.queries),
        None => {
            let message = "name the file with --queries: the library has no queries.jsonl";
            Err(UsageError::new(message).into())
        }
    }
}

fn nothing_found(eval: &Eval) -> anyhow::Error {
    let message = match eval.run {
        Some(_) => "name the judgements with --qrels",
        None => {
            "name the files with --queries and --qrels: the library has neither queries.jsonl with qrels.tsv, nor queries that name their skills, nor instances/*.json"
        }
    };
    UsageError::new(message).into()
}

pub(super) fn queries_of(file: &Path, group_by: &str) -> anyhow::Result<Vec<Query>> {
    Ok(read_queries(&source::text(file)?, &file.display().to_string(), group_by)?)
}

pub(super) fn qrels_of(file: &Path) -> anyhow::Result<Qrels> {
    Ok(read_qrels(&source::text(file)?, &file.display().to_string())?)
}
