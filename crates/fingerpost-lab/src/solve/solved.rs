//! What was solved, so that nobody has to ask again?
//!
//! A solution belongs to a request, a skill and a round, whoever chose the skill. The whole answer is kept, so that
//! its judge can look at it again; early records have the final words alone, and of a program a hash. An executor's
//! file lies in `experiments/solved` and is named after it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Engine;
use crate::judge::bigcodebench::Bench;
use crate::judge::{Judge, JudgeError, Verdict, judge, judge_with, settled_on};
use crate::judged::Places;
use crate::record::{RecordError, lines, write};

/// Bytes of an answer that is kept whole: far more than a server is asked for.
const WHOLE: usize = 128 * 1024;

/// Characters of the final words, where no more is kept.
const FINAL: usize = 300;

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
    /// How much of the answer is kept.
    #[serde(default, skip_serializing_if = "is_final")]
    pub kept: Kept,
    /// The answer, as far as it is kept.
    pub answer: String,
    /// What the judge said.
    pub verdict: Verdict,
}

/// How much of an answer a record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// All that the executor wrote.
    Whole,
    /// What it settled on, in a line; nothing of a program. Early records have no more.
    #[default]
    Final,
}

fn is_final(kept: &Kept) -> bool {
    *kept == Kept::Final
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

impl Kept {
    /// What is kept of an answer. One that nobody would read to its end is kept as far as it settled on something.
    pub fn of(answer: &str) -> (Self, String) {
        match answer.len() {
            0..=WHOLE => (Self::Whole, answer.to_owned()),
            _ => (Self::Final, settled_on(answer, FINAL)),
        }
    }
}

/// What the judge of an answer says. A fault of the data counts neither way. Reasons that quote the right answer
/// are not kept.
pub fn judged(judging: Judge, eval_data: &Value, answer: &str, bench: Option<&Bench>) -> Verdict {
    match judge_with(judging, eval_data, answer, bench) {
        Ok(Verdict::Wrong { .. }) => Verdict::Wrong { why: String::new() },
        Ok(verdict) => verdict,
        Err(error @ JudgeError::Program { .. }) => Verdict::NotRunnable { why: error.to_string() },
        Err(_) => Verdict::NotRunnable { why: "its right answer cannot be read".to_owned() },
    }
}

/// What the judge says today of what is kept of an answer; `None` of a program that is not kept, or cannot be tried
/// here.
pub fn judged_again(
    judging: Judge,
    eval_data: &Value,
    solved: &Solved,
    bench: Option<&Bench>,
) -> Option<Verdict> {
    let Solved { kept, answer, .. } = solved;
    match (kept, judging, bench) {
        (Kept::Final, Judge::BigCodeBench, _) | (_, Judge::BigCodeBench, None) => None,
        (Kept::Final, ..) => judge(judging, eval_data, &format!("Final answer: {answer}")).ok(),
        (Kept::Whole, ..) => judge_with(judging, eval_data, answer, bench).ok(),
    }
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
            kept: Kept::Whole,
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
    fn an_answer_is_kept_whole_and_judged_again_from_it() {
        let gold = json!({ "answer": "23.5" });
        let answer = "There are 20 rows, 470 minutes in all.\nFinal answer: 23.5";
        assert_eq!(judged(Judge::ToolQa, &gold, answer, None), Verdict::Right);
        let (kept, text) = Kept::of(answer);
        assert_eq!((kept, text.as_str()), (Kept::Whole, answer));
        let record = Solved { kept, answer: text, ..solved("d", "1", None) };
        let again = |solved: &Solved| judged_again(Judge::ToolQa, &gold, solved, None);
        assert_eq!(again(&record), Some(Verdict::Right));
        // Another answer than the one that the final words would be.
        let other = Solved { answer: format!("{answer}\nNo.\nFinal answer: 24"), ..record };
        assert!(matches!(again(&other), Some(Verdict::Wrong { .. })));
        let wrong = judged(Judge::ToolQa, &gold, &other.answer, None);
        assert_eq!(wrong, Verdict::Wrong { why: String::new() }, "the right answer is not told");
    }

    #[test]
    fn a_program_is_kept_and_tried_where_that_can_be_done() {
        let case = json!({ "test": "", "entry_point": "f" });
        let program = "```python\ndef f(): return 1\n```";
        let Verdict::NotRunnable { why } = judged(Judge::BigCodeBench, &case, program, None) else {
            panic!("it was judged without being run");
        };
        assert!(why.contains("FINGERPOST_BIGCODEBENCH"), "{why}");
        let (kept, answer) = Kept::of(program);
        assert_eq!((kept, answer.as_str()), (Kept::Whole, program));
        let record = Solved { kept, answer, ..solved("d", "1", None) };
        assert_eq!(judged_again(Judge::BigCodeBench, &case, &record, None), None);
    }

    #[test]
    fn early_records_and_endless_answers_have_their_final_words() {
        let early = r#"{"data":"d","request":"1","arm":"both","skill":"a","engine":"direct","answer":"23.5","verdict":"right"}"#;
        let early: Solved = serde_json::from_str(early).unwrap();
        assert_eq!(early.kept, Kept::Final);
        let gold = json!({ "answer": "23.5" });
        assert_eq!(judged_again(Judge::ToolQa, &gold, &early, None), Some(Verdict::Right));
        assert_eq!(judged_again(Judge::BigCodeBench, &gold, &early, None), None);
        let written = serde_json::to_string(&early).unwrap();
        assert!(!written.contains("kept"), "{written}");

        let endless = format!("{}\nFinal answer: 23.5", "So it goes. ".repeat(WHOLE / 8));
        assert_eq!(Kept::of(&endless), (Kept::Final, "23.5".to_owned()));
    }
}
