//! Is a model's answer to a question right?
//!
//! An answer is free text. `final_answer` finds what the model settled on, and the judge of the data
//! set compares that with the gold answer. Both texts are strangers': every length, depth and number of
//! steps is bounded, and what cannot be read is wrong, not a panic.

pub mod bigcodebench;
mod calendar;
mod champ;
mod expression;
mod final_answer;
mod latex;
mod logicbench;
mod medcalc;
mod quantity;
mod theoremqa;
mod toolqa;
mod words;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::bigcodebench::Bench;
use self::final_answer::FinalAnswer;

/// What a judge says of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It says what the gold answer says.
    Right,
    /// It says something else, or nothing.
    Wrong {
        /// What it says instead.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The judge could not decide. Never counted as wrong.
    NotRunnable {
        /// What was in the way.
        why: String,
    },
}

impl Verdict {
    fn wrong(why: impl Into<String>) -> Self {
        Self::Wrong { why: why.into() }
    }

    fn right_if(right: bool, why: impl FnOnce() -> String) -> Self {
        if right { Self::Right } else { Self::Wrong { why: why() } }
    }
}

/// The rules of one data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judge {
    /// Numbers, lists, yes or no, and options of university mathematics, physics and finance.
    TheoremQa,
    /// Values of clinical calculators: within limits, exact scores, dates, weeks and days.
    MedCalc,
    /// Closed forms, sets of solutions and short statements of competition mathematics.
    Champ,
    /// Yes or no, or one of four choices.
    LogicBench,
    /// Programs, which have to run.
    BigCodeBench,
    /// Short facts looked up in tables: names, numbers, times, lists.
    ToolQa,
}

impl Judge {
    /// The judge of a data set, by the name that its questions carry.
    pub fn of(dataset: &str) -> Option<Self> {
        Some(match dataset {
            "theoremqa" => Self::TheoremQa,
            "medcalcbench" => Self::MedCalc,
            "champ" => Self::Champ,
            "logicbench" => Self::LogicBench,
            "bigcodebench" => Self::BigCodeBench,
            "toolqa" => Self::ToolQa,
            _ => return None,
        })
    }

    fn dataset(self) -> &'static str {
        match self {
            Self::TheoremQa => "theoremqa",
            Self::MedCalc => "medcalcbench",
            Self::Champ => "champ",
            Self::LogicBench => "logicbench",
            Self::BigCodeBench => "bigcodebench",
            Self::ToolQa => "toolqa",
        }
    }
}

/// Why a gold answer cannot be judged by. The fault is in the data, never in the model's answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// A field is missing, or is no text.
    #[error("{dataset}: the gold answer has no text \"{field}\"")]
    MissingField {
        /// Whose record.
        dataset: &'static str,
        /// Which.
        field: &'static str,
    },
    /// The kind of answer is none that the judge knows.
    #[error("{dataset}: \"{kind}\" is no kind of answer that can be judged")]
    UnknownKind {
        /// Whose record.
        dataset: &'static str,
        /// The kind that it names.
        kind: String,
    },
    /// The gold answer is not of the kind it says it is.
    #[error("{dataset}: the gold answer \"{gold}\" cannot be read as {kind}")]
    Gold {
        /// Whose record.
        dataset: &'static str,
        /// The gold answer.
        gold: String,
        /// What it should be.
        kind: &'static str,
    },
    /// A program could not be tried.
    #[error("bigcodebench: {why}")]
    Program {
        /// What was in the way.
        why: String,
    },
}

/// What a program needs that it cannot be tried without.
const NO_BENCH: &str = "programs need a sandbox and a Python environment: make one as tools/bigcodebench/README.md says, and name it in FINGERPOST_BIGCODEBENCH";

/// Judges a whole answer of a model, which may reason before it answers.
pub fn judge(judge: Judge, eval_data: &Value, answer: &str) -> Result<Verdict, JudgeError> {
    let gold = Gold { judge, eval_data };
    let answer = FinalAnswer::of(answer);
    match judge {
        Judge::TheoremQa => theoremqa::verdict(&gold, &answer),
        Judge::MedCalc => medcalc::verdict(&gold, &answer),
        Judge::Champ => champ::verdict(&gold, &answer),
        Judge::LogicBench => logicbench::verdict(&gold, &answer),
        Judge::ToolQa => toolqa::verdict(&gold, &answer),
        Judge::BigCodeBench => Ok(Verdict::NotRunnable { why: NO_BENCH.to_owned() }),
    }
}

/// The same for programs too, which are tried where there is a bench for them.
pub fn judge_with(
    judging: Judge,
    eval_data: &Value,
    answer: &str,
    bench: Option<&Bench>,
) -> Result<Verdict, JudgeError> {
    let (Judge::BigCodeBench, Some(bench)) = (judging, bench) else {
        return judge(judging, eval_data, answer);
    };
    bigcodebench::judge(eval_data, answer, bench)
        .map_err(|error| JudgeError::Program { why: error.to_string() })
}

/// What a model settled on, in at most so many characters.
pub fn settled_on(answer: &str, most: usize) -> String {
    let answer = FinalAnswer::of(answer);
    answer.statements().next().unwrap_or_default().chars().take(most).collect()
}

/// Computes a formula without variables; nothing of what is no such formula.
pub(crate) fn calculate(formula: &str) -> Option<f64> {
    let (formula, rest) = expression::parse_prefix(formula, &expression::Names::none())?;
    let is_whole = rest.trim().is_empty();
    formula.value().filter(|_| is_whole).map(|value| value.as_f64())
}

/// A gold record, read field by field.
struct Gold<'a> {
    judge: Judge,
    eval_data: &'a Value,
}

impl<'a> Gold<'a> {
    fn text(&self, field: &'static str) -> Result<&'a str, JudgeError> {
        let text = self.eval_data.get(field).and_then(Value::as_str);
        text.ok_or(JudgeError::MissingField { dataset: self.judge.dataset(), field })
    }

    fn unknown_kind(&self, kind: &str) -> JudgeError {
        JudgeError::UnknownKind { dataset: self.judge.dataset(), kind: words::quoted(kind) }
    }

    fn unreadable(&self, gold: &str, kind: &'static str) -> JudgeError {
        JudgeError::Gold { dataset: self.judge.dataset(), gold: words::quoted(gold), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_are_found_by_the_names_in_the_data() {
        let judges = [
            Judge::TheoremQa,
            Judge::MedCalc,
            Judge::Champ,
            Judge::LogicBench,
            Judge::BigCodeBench,
            Judge::ToolQa,
        ];
        for judge in judges {
            assert_eq!(Judge::of(judge.dataset()), Some(judge));
        }
        assert_eq!(Judge::of("medcalc"), None);
    }

    #[test]
    fn a_program_is_not_judged_without_running_it() {
        let verdict = judge(Judge::BigCodeBench, &Value::Null, "print(1)");
        assert!(matches!(verdict, Ok(Verdict::NotRunnable { .. })));
    }
}
