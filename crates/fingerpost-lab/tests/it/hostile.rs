//! Whatever strangers write, a judge answers, and soon.

use std::time::{Duration, Instant};

use fingerpost_lab::judge::{Judge, judge};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Golds of every kind that the judges distinguish.
fn golds() -> Vec<(Judge, Value)> {
    let theorem = |kind: &str, answer: &str| {
        (Judge::TheoremQa, json!({ "answer": answer, "answer_type": kind }))
    };
    let medical = |kind: &str, answer: &str| {
        let gold = json!({ "answer": answer, "output_type": kind, "lower_limit": answer, "upper_limit": answer });
        (Judge::MedCalc, gold)
    };
    let mut golds = vec![
        theorem("integer", "132"),
        theorem("float", "4e-05"),
        theorem("bool", "True"),
        theorem("option", "(c)"),
        theorem("list of float", "[0.333, 0.25]"),
        medical("decimal", "25.2381"),
        medical("date", "09/11/2014"),
        medical("date", "('17 weeks', '4 days')"),
        (Judge::LogicBench, json!({ "answer": "yes", "task_type": "BQA" })),
        (Judge::LogicBench, json!({ "answer": "choice_4", "task_type": "MCQA" })),
    ];
    let champ = [
        "2^(n-1)",
        "C(n+1, 2m+1)",
        "x=±1, ±2",
        "(x=8, y=2), (x=2, y=8)",
        "[-1, 1]",
        "No",
        "No integer solutions",
        "Monotonically increasing",
        "x(x-1)(x-2)...(x-2022)",
        "Yes, and the sequence is 1/2^3, 1/2^6, 1/2^9, ...",
    ];
    golds.extend(champ.map(|answer| (Judge::Champ, json!({ "answer": answer }))));
    let tables = [
        "8:00 PM",
        "3:00:00",
        "9:00 AM-1:00 PM",
        "Monday: 0:0-0:0",
        "7/4/2019",
        "22M",
        "905, 1309",
        "nan",
        "",
        "Jason Crampton, George Loizou",
    ];
    golds.extend(tables.map(|answer| (Judge::ToolQa, json!({ "answer": answer }))));
    golds
}

#[test]
fn long_and_deep_answers_take_no_long_time() {
    let parts = [
        "(",
        "\\frac{",
        "\\boxed{",
        "{\"answer\":",
        "{\"a\":[",
        "^",
        "^{",
        "-",
        "!",
        "C(",
        "C(1,",
        "sum_(k=1)^9 ",
        "sum_(k=1)^(10^9) k",
        "sqrt",
        "\\sqrt[",
        "9",
        "9,",
        "1 and ",
        "the answer is ",
        "answer: wait, it is ",
        "not 5 but ",
        "x=1, ",
        "±",
        "|",
        "...",
        "**",
        "–",
        "²",
        "monday 9:00-",
        "yes no ",
        "choice_1 ",
        "9!^9^",
        "((1)/(",
        "\u{2009}1",
        "12/12/2012 ",
        "a, ",
        "\\begin{cases} ",
        "=",
        "%",
        "<think>",
        "e9",
        "log_",
        "H_",
        "[1, ",
    ];
    for part in parts {
        let text = part.repeat(60_000 / part.len());
        for text in [text.clone(), format!("The answer is {text}"), format!("\\boxed{{{text}}}")] {
            for (by, gold) in golds() {
                let started = Instant::now();
                let verdict = judge(by, &gold, &text);
                assert!(verdict.is_ok(), "{gold}: {verdict:?}");
                let took = started.elapsed();
                assert!(took < Duration::from_secs(2), "{gold} took {took:?} for {part:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(text in "\\PC{0,200}", prefix in 0usize..4) {
        let text = [String::new(), "The answer is ".to_owned(), "\\boxed{".to_owned(), "Answer:\n".to_owned()][prefix].clone() + &text;
        for (by, gold) in golds() {
            prop_assert!(judge(by, &gold, &text).is_ok());
        }
    }

    #[test]
    fn any_formula_is_judged(text in "[-+*/^_!()\\[\\]{}|,=.±–… 0-9xnekCH\\\\$%]{0,120}") {
        let text = format!("The answer is {text}");
        for (by, gold) in golds() {
            prop_assert!(judge(by, &gold, &text).is_ok());
        }
    }

    #[test]
    fn any_gold_is_judged_or_refused(gold in "\\PC{0,60}", answer in "\\PC{0,60}") {
        for (by, mut record) in golds() {
            record["answer"] = Value::from(gold.clone());
            let _ = judge(by, &record, &answer);
        }
    }
}
