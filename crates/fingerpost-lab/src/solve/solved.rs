//! What was solved, so that nobody has to ask again?
//!
//! A solution belongs to a request, a skill and a round, whoever chose the skill. Of the answer only its end is
//! kept, of a program nothing but a hash: the data is not ours to publish. An executor's file lies in
//! `experiments/solved` and is named after it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Engine;
use crate::judge::bigcodebench::Bench;
use crate::judge::{Judge, JudgeError, Verdict, judge, judge_with, settled_on};
use crate::judged::Places;
use crate::record::{RecordError, lines, write};

/// Characters of an answer that are kept.
const KEPT: usize = 300;

/// Where the files lie.
const FOLDER: &str = "experiments/solved";

/// A solved request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solved {
    /// Of which library.
    pub data: String,
    /// Which request.
    pub request: String,
    /// Whose choice the skill was: of an arm, or of both.
    pub arm: String,
    /// With which skill; `None` for none.
    pub skill: Option<String>,
    /// In which round.
    #[serde(default, skip_serializing_if = "is_first")]
    pub round: usize,
    /// How.
    pub engine: Engine,
    /// What the answer settled on.
    pub answer: String,
    /// What the judge said.
    pub verdict: Verdict,
}

fn is_first(round: &usize) -> bool {
    *round == 0
}

type Key = (String, String, Option<String>, usize);

/// The solutions of one executor, in the order of libraries and requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Solutions {
    rows: BTreeMap<Key, Solved>,
}

impl Solutions {
    /// All that an executor has solved; nothing of one whose file is not there.
    pub fn of(executor: &str, places: &Places) -> Result<Self, RecordError> {
        let file = Self::file(executor, places);
        let mut solutions = Self::default();
        if file.is_file() {
            lines(&file)?.into_iter().for_each(|row| solutions.add(row));
        }
        Ok(solutions)
    }

    /// Where an executor's solutions are kept.
    pub fn file(executor: &str, places: &Places) -> PathBuf {
        places.project.join(FOLDER).join(format!("{executor}.jsonl.zst"))
    }

    /// Everybody who has solved something, by name.
    pub fn executors(places: &Places) -> Vec<String> {
        let entries = std::fs::read_dir(places.project.join(FOLDER)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".jsonl.zst")?.to_owned())).collect();
        names.sort();
        names
    }

    fn add(&mut self, row: Solved) {
        let key = (row.data.clone(), row.request.clone(), row.skill.clone(), row.round);
        self.rows.insert(key, row);
    }

    /// Adds solutions, in the place of older ones, and writes all of them.
    pub fn keep(
        &mut self,
        more: impl IntoIterator<Item = Solved>,
        executor: &str,
        places: &Places,
    ) -> Result<(), RecordError> {
        more.into_iter().for_each(|row| self.add(row));
        write(self.rows.values(), &Self::file(executor, places))
    }

    /// The solution of a request with a skill.
    pub fn find(
        &self,
        data: &str,
        request: &str,
        skill: Option<&str>,
        round: usize,
    ) -> Option<&Solved> {
        let key = (data.to_owned(), request.to_owned(), skill.map(str::to_owned), round);
        self.rows.get(&key)
    }

    /// Those of one library.
    pub fn of_data<'a>(&'a self, data: &'a str) -> impl Iterator<Item = &'a Solved> {
        self.rows.values().filter(move |row| row.data == data)
    }
}

impl Verdict {
    /// Does it count?
    pub fn is_decided(&self) -> bool {
        !matches!(self, Self::NotRunnable { .. })
    }
}

/// What is kept of an answer, and what its judge says. A fault of the data counts neither way. Reasons that quote
/// the right answer are not kept.
pub fn judged(
    judging: Judge,
    eval_data: &Value,
    answer: &str,
    bench: Option<&Bench>,
) -> (String, Verdict) {
    let verdict = match judge_with(judging, eval_data, answer, bench) {
        Ok(Verdict::Wrong { .. }) => Verdict::Wrong { why: String::new() },
        Ok(verdict) => verdict,
        Err(error @ JudgeError::Program { .. }) => Verdict::NotRunnable { why: error.to_string() },
        Err(_) => Verdict::NotRunnable { why: "its right answer cannot be read".to_owned() },
    };
    let kept = match judging {
        Judge::BigCodeBench => {
            format!("code {}", &blake3::hash(answer.as_bytes()).to_hex()[..16])
        }
        _ => settled_on(answer, KEPT),
    };
    (kept, verdict)
}

/// What the judge says of a kept answer today; `None` of a program, which is not kept.
pub fn judged_again(judging: Judge, eval_data: &Value, kept: &str) -> Option<Verdict> {
    if judging == Judge::BigCodeBench {
        return None;
    }
    judge(judging, eval_data, &format!("Final answer: {kept}")).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn solved(data: &str, request: &str, skill: Option<&str>) -> Solved {
        Solved {
            data: data.into(),
            request: request.into(),
            arm: "base".into(),
            skill: skill.map(str::to_owned),
            round: 0,
            engine: Engine::Direct,
            answer: "4".into(),
            verdict: Verdict::Right,
        }
    }

    #[test]
    fn solutions_are_kept_and_a_newer_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { data: folder.path().into(), project: folder.path().into() };
        assert!(Solutions::executors(&places).is_empty());
        let mut solutions = Solutions::of("m", &places).unwrap();
        let wrong = Verdict::Wrong { why: "\"5\" is not \"4\"".into() };
        let rows = [solved("d", "1", Some("a")), solved("d", "1", None), solved("e", "1", None)];
        solutions.keep(rows, "m", &places).unwrap();
        let newer = Solved { verdict: wrong.clone(), ..solved("d", "1", None) };
        solutions.keep([newer], "m", &places).unwrap();
        let again = Solutions::of("m", &places).unwrap();
        assert_eq!(again, solutions);
        assert_eq!(again.of_data("d").count(), 2);
        assert_eq!(again.find("d", "1", None, 0).unwrap().verdict, wrong);
        assert_eq!(again.find("d", "1", Some("a"), 1), None);
        assert_eq!(Solutions::executors(&places), ["m"]);
    }

    #[test]
    fn of_an_answer_the_end_is_kept_and_of_a_program_nothing() {
        let gold = json!({ "answer": "23.5" });
        let answer = "There are 20 rows, 470 minutes in all.\nFinal answer: 23.5";
        let (kept, verdict) = judged(Judge::ToolQa, &gold, answer, None);
        assert_eq!((kept.as_str(), &verdict), ("23.5", &Verdict::Right));
        assert_eq!(judged_again(Judge::ToolQa, &gold, &kept), Some(Verdict::Right));
        let long = format!("Final answer: {}", "word ".repeat(500));
        let (kept, verdict) = judged(Judge::ToolQa, &gold, &long, None);
        assert!(kept.chars().count() <= KEPT);
        assert_eq!(verdict, Verdict::Wrong { why: String::new() }, "the right answer is not told");

        let case = json!({ "test": "", "entry_point": "f" });
        let (kept, verdict) = judged(Judge::BigCodeBench, &case, "def f(): return 'secret'", None);
        assert!(kept.starts_with("code ") && !kept.contains("secret"));
        let Verdict::NotRunnable { why } = verdict else { panic!("{verdict:?}") };
        assert!(why.contains("FINGERPOST_BIGCODEBENCH"), "{why}");
    }
}
