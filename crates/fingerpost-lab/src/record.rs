//! What have readers chosen, so that nobody has to ask them again?
//!
//! A choice is recorded with the candidates it was made among, in their order. It stays true whatever becomes of
//! ranking, pages and prompts later: the figures of a reader are those of the pools that it saw. Readers see one
//! arm only and no judgements. A reader's file lies in `experiments/choices` and is named after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fingerpost::library::read_unpacked;
use serde::{Deserialize, Serialize};

use crate::judged::{Places, TOOLLENS_STRONG};
use crate::lab::{packed, put};

/// What a reader chose once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Choice {
    /// Of which library.
    pub data: String,
    /// For which request.
    #[serde(alias = "query")]
    pub request: String,
    /// From which cards.
    #[serde(alias = "cards")]
    pub arm: String,
    /// In which round, where a reader was asked several times.
    #[serde(default, skip_serializing_if = "is_first")]
    pub round: usize,
    /// Among which skills, in their order.
    pub candidates: Vec<String>,
    /// Which skill; `None` for none of them.
    pub choice: Option<String>,
}

fn is_first(round: &usize) -> bool {
    *round == 0
}

/// Why what is recorded cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}")]
pub struct RecordError {
    file: String,
    why: String,
}

/// The choices of one reader, in the order of libraries, requests and arms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    rows: BTreeSet<Choice>,
}

impl Choices {
    /// All that a reader has chosen; nothing of one whose file is not there.
    pub fn of(reader: &str, places: &Places) -> Result<Self, RecordError> {
        let file = Self::file(reader, places);
        if !file.is_file() {
            return Self::beside_data(reader, places);
        }
        Ok(lines(&file)?.into_iter().collect())
    }

    /// Where a reader's choices are kept.
    pub fn file(reader: &str, places: &Places) -> PathBuf {
        places.project.join("experiments/choices").join(format!("{reader}.jsonl.zst"))
    }

    /// Choices that came with the data itself: `toollens` has those of a strong model.
    fn beside_data(reader: &str, places: &Places) -> Result<Self, RecordError> {
        let file = places.data.join("toollens/choices.jsonl.zst");
        if reader != BESIDE_DATA || !file.is_file() {
            return Ok(Self::default());
        }
        #[derive(Deserialize)]
        struct Row {
            query: String,
            cards: String,
            candidates: Vec<String>,
            choice: Option<String>,
        }
        let row = |Row { query, cards, candidates, choice }| Choice {
            data: TOOLLENS_STRONG.to_owned(),
            request: query,
            arm: cards,
            round: 0,
            candidates,
            choice,
        };
        Ok(lines::<Row>(&file)?.into_iter().map(row).collect())
    }

    /// Adds choices, and writes all of them.
    pub fn keep(
        &mut self,
        more: impl IntoIterator<Item = Choice>,
        reader: &str,
        places: &Places,
    ) -> Result<(), RecordError> {
        self.rows.extend(more);
        write(&self.rows, &Self::file(reader, places))
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The requests of a library for which every one of some arms was answered, from the same candidates.
    pub fn paired<'a>(&'a self, data: &str, arms: &[String]) -> Vec<Paired<'a>> {
        let mut requests: BTreeMap<(&str, usize), BTreeMap<&str, &Choice>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.data == data) {
            requests.entry((&row.request, row.round)).or_default().insert(&row.arm, row);
        }
        let paired = |((request, round), rows): ((&'a str, usize), BTreeMap<&str, &'a Choice>)| {
            let rows: Option<Vec<&Choice>> =
                arms.iter().map(|arm| rows.get(arm.as_str()).copied()).collect();
            let rows = rows?;
            let same = rows.iter().all(|row| row.candidates == rows[0].candidates);
            same.then_some(Paired { request, round, choices: rows })
        };
        requests.into_iter().filter_map(paired).collect()
    }

    /// The candidates of every request of a library that was chosen for in any arm, in the order they were seen.
    pub fn seen(&self, data: &str) -> BTreeMap<&str, &[String]> {
        let mut seen = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.data == data && row.round == 0) {
            // Where arms saw others, those of the first one count.
            seen.entry(row.request.as_str()).or_insert(row.candidates.as_slice());
        }
        seen
    }

    /// Was this asked already?
    pub fn has(&self, data: &str, request: &str, arm: &str, round: usize) -> bool {
        let is_this = |row: &&Choice| {
            row.data == data && row.request == request && row.arm == arm && row.round == round
        };
        self.rows.iter().any(|row| is_this(&row))
    }
}

impl FromIterator<Choice> for Choices {
    fn from_iter<T: IntoIterator<Item = Choice>>(rows: T) -> Self {
        Self { rows: rows.into_iter().collect() }
    }
}

/// The reader whose choices came with the data.
pub const BESIDE_DATA: &str = "strong-model-480";

/// One request, chosen for from several kinds of cards.
#[derive(Debug, Clone)]
pub struct Paired<'a> {
    /// Its id.
    pub request: &'a str,
    /// In which round.
    pub round: usize,
    /// One a kind, in the order asked for.
    pub choices: Vec<&'a Choice>,
}

/// Writes rows, one a line, packed.
pub(crate) fn write<T: Serialize>(
    rows: impl IntoIterator<Item = T>,
    file: &Path,
) -> Result<(), RecordError> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(&row).expect("plain data"));
        text.push('\n');
    }
    let written = packed(text.as_bytes()).and_then(|bytes| put(file, &bytes));
    written
        .map_err(|error| RecordError { file: file.display().to_string(), why: error.to_string() })
}

/// The rows of a packed file.
pub(crate) fn lines<T: for<'de> Deserialize<'de>>(file: &Path) -> Result<Vec<T>, RecordError> {
    let name = file.display().to_string();
    let failed = |file: String, why: String| RecordError { file, why };
    let text = read_unpacked(file).map_err(|error| failed(name.clone(), error.to_string()))?;
    let lines = (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty());
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| failed(format!("{name}:{number}"), error.to_string()))
    };
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(request: &str, arm: &str, candidates: &[&str], choice: &str) -> Choice {
        Choice {
            data: "d".into(),
            request: request.into(),
            arm: arm.into(),
            round: 0,
            candidates: candidates.iter().map(|&id| id.to_owned()).collect(),
            choice: Some(choice.into()),
        }
    }

    #[test]
    fn choices_are_kept_and_paired_where_the_candidates_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { data: folder.path().into(), project: folder.path().into() };
        let mut choices = Choices::of("r", &places).unwrap();
        assert!(choices.is_empty());
        let rows = [
            choice("1", "base", &["a", "b"], "a"),
            choice("1", "boundary", &["a", "b"], "b"),
            choice("2", "base", &["a", "b"], "a"),
            choice("3", "base", &["a", "b"], "a"),
            choice("3", "boundary", &["b", "a"], "a"),
        ];
        choices.keep(rows.clone(), "r", &places).unwrap();
        let again = Choices::of("r", &places).unwrap();
        assert_eq!(again, choices);
        let arms = ["base".to_owned(), "boundary".to_owned()];
        let paired = again.paired("d", &arms);
        let requests: Vec<&str> = paired.iter().map(|paired| paired.request).collect();
        assert_eq!(requests, ["1"], "the second lacks an arm, the third saw another pool");
        assert_eq!(paired[0].choices, [&rows[0], &rows[1]]);
        assert!(again.has("d", "2", "base", 0) && !again.has("d", "2", "boundary", 0));
        assert!(again.paired("other", &arms).is_empty());
        assert_eq!(again.seen("d")["3"], ["a", "b"], "as the first arm saw them");
        assert_eq!((again.seen("d").len(), again.seen("other").len()), (3, 0));
    }

    #[test]
    fn a_damaged_line_is_told_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { data: folder.path().into(), project: folder.path().into() };
        let file = Choices::file("r", &places);
        put(&file, &packed(b"\n{}\n").unwrap()).unwrap();
        let error = Choices::of("r", &places).unwrap_err().to_string();
        assert!(error.contains("r.jsonl.zst:2"), "{error}");
    }
}
