//! Yes or no, and one of four choices.

use fingerpost_lab::judge::Judge;
use serde_json::{Value, json};

use crate::table::Expected::{Right, Wrong};
use crate::table::check;

fn yes_no(answer: &str) -> Value {
    json!({ "answer": answer, "task_type": "BQA" })
}

fn choice(number: u32) -> Value {
    json!({ "answer": format!("choice_{number}"), "task_type": "MCQA" })
}

#[test]
fn verdicts() {
    check(
        Judge::LogicBench,
        &[
            (yes_no("yes"), "yes", Right),
            (yes_no("yes"), "The answer is yes.", Right),
            (yes_no("yes"), "**Answer:** Yes, since (a) follows.", Right),
            (yes_no("yes"), "\\boxed{\\text{Yes}}", Right),
            (yes_no("yes"), "Some would say no. The answer is yes.", Right),
            (yes_no("yes"), "Some would say yes. The answer is no.", Wrong),
            (yes_no("yes"), "The answer is true.", Right),
            (yes_no("yes"), "The answer is maybe.", Wrong),
            (yes_no("yes"), "", Wrong),
            (yes_no("no"), "No.", Right),
            (yes_no("no"), "No, it does not follow.\n\nThe rule says nothing about (b).", Right),
            (yes_no("no"), "Therefore, this is not necessarily true.", Right),
            (
                yes_no("no"),
                "Therefore, we cannot say that at least one of them must be true.",
                Right,
            ),
            (
                yes_no("yes"),
                "Therefore, we cannot say that at least one of them must be true.",
                Wrong,
            ),
            (yes_no("no"), "{\"answer\": \"no\"}", Right),
            (yes_no("no"), "{\"answer\": \"yes\", \"note\": \"no doubt\"}", Wrong),
            (yes_no("no"), "The answer is not no but yes.", Wrong),
            (yes_no("no"), "The answer is yes. Wait, I misread it, the answer is no.", Right),
            (choice(4), "choice_4", Right),
            (choice(4), "The answer is choice 4.", Right),
            (choice(4), "The answer is (4).", Right),
            (choice(4), "The answer is 4.", Right),
            (choice(4), "The correct answer is option 4: he will feel refreshed", Right),
            (choice(4), "\\boxed{4}", Right),
            (choice(4), "**choice_4**", Right),
            (choice(4), "The answer is `choice_4`.", Right),
            (choice(4), "The answer is choice_3.", Wrong),
            (choice(4), "The answer is choice_14.", Wrong),
            (choice(4), "choice_4 seems right, but the answer is choice_2.", Wrong),
            (choice(4), "The answer is choice_2, not choice_4.", Wrong),
            (choice(4), "The answer is not choice_2 but choice_4.", Right),
            (choice(4), "The answer is not choice_4.", Wrong),
            (choice(4), "The answer is choice_3 or choice_4.", Wrong),
            (
                choice(4),
                "I compared choice_1, choice_2, choice_3 and choice_4.\nTherefore choice_4 is the best.",
                Right,
            ),
            (choice(1), "{\"answer\": 1}", Right),
            (choice(1), "The answer is one of them.", Wrong),
        ],
    );
}
