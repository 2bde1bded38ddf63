//! What does bm25s find, with the settings it comes with?
//!
//! It runs in Python (`tools/bench/bm25s_ranking.py`), one process a library. Texts go there and ranks
//! come back in files: what it reads is what we read, whatever the form of the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use fingerpost::skill::SkillIdx;
use serde::Serialize;

use super::arms::{DEPTH, Ranking, in_order};

/// A Python that has bm25s.
pub(crate) struct Bm25s {
    python: PathBuf,
    /// Its name and version.
    pub(crate) version: String,
}

#[derive(Serialize)]
struct Work<'a> {
    documents: &'a [&'a str],
    requests: &'a [&'a str],
    k: usize,
}

impl Bm25s {
    /// The peer, or the reason why it cannot take part.
    pub(crate) fn open(python: &Path) -> anyhow::Result<Self> {
        let asked =
            "from importlib.metadata import version as v; import bm25s; print('bm25s', v('bm25s'))";
        let told = Command::new(python).args(["-c", asked]).stdin(Stdio::null()).output();
        let told = told.with_context(|| {
            format!("cannot run {}; `cargo xtask bench peers` makes this Python", python.display())
        })?;
        if !told.status.success() {
            let said = String::from_utf8_lossy(&told.stderr);
            bail!("{}: {}", python.display(), said.lines().last().unwrap_or("says nothing"));
        }
        let version = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        Ok(Self { python: python.to_owned(), version })
    }

    /// The hits of each request, in their order.
    pub(crate) fn rank(
        &self,
        documents: &[&str],
        requests: &[&str],
    ) -> anyhow::Result<Vec<Ranking>> {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench/bm25s_ranking.py");
        let folder = tempfile::tempdir()?;
        let files = ["work.json", "hits.json"].map(|name| folder.path().join(name));
        fs::write(&files[0], serde_json::to_vec(&Work { documents, requests, k: DEPTH })?)?;
        let ran =
            Command::new(&self.python).arg(&script).args(&files).stdin(Stdio::null()).status();
        let ran = ran.with_context(|| format!("cannot run {}", self.python.display()))?;
        ensure!(ran.success(), "{} failed: {ran}", script.display());
        read(&fs::read_to_string(&files[1])?, documents.len())
            .with_context(|| format!("{} gave no ranking", script.display()))
    }
}

/// The rankings that the script wrote, of a library of so many skills.
fn read(text: &str, skills: usize) -> anyhow::Result<Vec<Ranking>> {
    let found: Vec<Vec<(u32, f64)>> = serde_json::from_str(text)?;
    let rows = found.iter().flatten().map(|(row, _)| *row);
    if let Some(wrong) = rows.into_iter().find(|&row| row as usize >= skills) {
        bail!("it names row {wrong} of {skills} skills");
    }
    let ranking = |hits: Vec<(u32, f64)>| {
        in_order(hits.into_iter().map(|(row, score)| (SkillIdx(row), score)).collect())
    };
    Ok(found.into_iter().map(ranking).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_are_in_the_order_of_ids_and_unknown_rows_an_error() {
        let found = read("[[[2, 1.5], [1, 0.5], [0, 0.5]], []]", 3).unwrap();
        let rows = |ranking: &Ranking| ranking.iter().map(|(skill, _)| skill.0).collect::<Vec<_>>();
        assert_eq!(found.iter().map(rows).collect::<Vec<_>>(), [vec![2, 0, 1], vec![]]);
        assert!(read("[[[3, 1.5]]]", 3).unwrap_err().to_string().contains("row 3 of 3"));
    }
}
