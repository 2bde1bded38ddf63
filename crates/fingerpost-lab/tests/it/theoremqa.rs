//! Numbers, lists, yes or no, options.

use fingerpost_lab::judge::Judge;
use serde_json::{Value, json};

use crate::table::Expected::{Right, Wrong};
use crate::table::check;

fn gold(kind: &str, answer: &str) -> Value {
    json!({ "answer": answer, "answer_type": kind })
}

fn integer(answer: &str) -> Value {
    gold("integer", answer)
}

fn float(answer: &str) -> Value {
    gold("float", answer)
}

fn integers(answer: &str) -> Value {
    gold("list of integer", answer)
}

fn floats(answer: &str) -> Value {
    gold("list of float", answer)
}

#[test]
fn numbers() {
    check(
        Judge::TheoremQa,
        &[
            (integer("11760"), "The answer is 11,760.", Right),
            (integer("11760"), "The answer is $11{,}760$ ways.", Right),
            (integer("11760"), "There are \\boxed{11760} ways.", Right),
            (integer("11760"), "The answer is 11761.", Wrong),
            (integer("-36"), "The answer is 36.", Wrong),
            (integer("-36"), "Final answer: $-36$", Right),
            (integer("-36"), "Final answer: −36", Right),
            (integer("132"), "So we get 132 at first. But the answer is 133.", Wrong),
            (integer("7"), "The answer is not 5 but 7.", Right),
            (integer("5"), "The answer is not 5 but 7.", Wrong),
            (integer("5"), "The answer is not 5.", Wrong),
            (integer("5"), "The answer is 5 or 7.", Wrong),
            (integer("5"), "The answer is 7. Hold on, this is wrong, it should be 5.", Right),
            (integer("15"), "The answer is $\\binom{6}{2}$.", Right),
            (integer("3628800"), "Thus the number is 10! = 3628800.", Right),
            (integer("3660000"), "The answer is 3.66 \\times 10^6.", Right),
            (integer("16777216"), "Answer: 2^24", Right),
            (integer("16777216"), "Answer: 2^23", Wrong),
            (integer("517"), "The answer is approximately 516.7 m/s.", Right),
            (integer("517"), "The answer is 516.4 m/s.", Wrong),
            (integer("1"), "Yes, it is.", Right),
            (integer("0"), "Yes, it is.", Wrong),
            (integer("3"), "{\"reasoning\": \"5 of 8 fail\", \"answer\": 3}", Right),
            (integer("3"), "{\"reasoning\": \"the answer is 3\", \"answer\": 5}", Wrong),
            (integer("8"), "8", Right),
            (integer("8"), "", Wrong),
            (integer("8"), "I cannot solve this.", Wrong),
            (float("-1.047"), "The answer is $-\\frac{\\pi}{3}$.", Right),
            (float("-1.047"), "The answer is $\\frac{\\pi}{3}$.", Wrong),
            (float("0.78539815"), "**Answer:** pi/4", Right),
            (float("2.7182818"), "The answer is e.", Right),
            (float("0.367879441"), "\\boxed{e^{-1}}", Right),
            (float("1.414"), "The answer is \\sqrt{2}.", Right),
            (float("1.414"), "The answer is sqrt(2) ≈ 1.41421.", Right),
            (float("1.414"), "The answer is sqrt(3).", Wrong),
            (float("4e-05"), "The answer is $4 \\times 10^{-5}$.", Right),
            (float("4e-05"), "The answer is 4e-4.", Wrong),
            (float("-6e+25"), "The answer is -6 x 10^25 kg m/s.", Right),
            (float("5.667"), "The answer is 17/3.", Right),
            (float("0.33"), "The answer is 1/3.", Right),
            (float("0.33"), "The answer is 33%.", Right),
            (float("0.33"), "The answer is 1/3 (0.333).", Right),
            (float("0.33"), "The answer is 1/3 or 0.333.", Right),
            (float("0.33"), "The answer is 1/3 or 2/3.", Wrong),
            (float("0.33"), "The answer is 3.3.", Wrong),
            (float("21.3"), "It takes 21.2 days.", Right),
            (float("21.3"), "It takes 24 days.", Wrong),
            (float("0.99996"), "The answer is 0.96.", Wrong),
            (float("1898.27"), "The answer is $1,898.27.", Right),
            (float("320000000.0"), "The answer is 3.2*10^8.", Right),
            (float("0.0"), "The answer is 0.", Right),
            (float("0.0"), "The answer is 0.01.", Wrong),
            (float("0.0"), "No, the series does not converge.", Right),
            (float("88.33"), "x = 265/3 = 88.33", Right),
            (float("88.33"), "The answer is 88.33. (I rounded 265/3.)", Right),
        ],
    );
}

#[test]
fn lists() {
    check(
        Judge::TheoremQa,
        &[
            (integers("[4, 1, 2, 0]"), "The answer is [4, 1, 2, 0].", Right),
            (integers("[4, 1, 2, 0]"), "The answer is [4,1,2,0].", Right),
            (integers("[4, 1, 2, 0]"), "The answer is [0, 2, 1, 4].", Wrong),
            (integers("[4, 1, 2, 0]"), "The answer is [4, 1, 2].", Wrong),
            (integers("[4, 1, 2, 0]"), "The answer is [4, 1, 2, 0, 3].", Wrong),
            (integers("[4, 1, 2, 0]"), "The answer is \\boxed{[4, 1, 2, 0]}.", Right),
            (integers("[0, 5]"), "The path is [0, 1, 5]? No. The answer is [0, 5].", Right),
            (integers("[-1, 4]"), "The answer is x = -1, y = 4.", Right),
            (integers("[-1, 4]"), "The answer is (x, y) = (-1, 4).", Right),
            (integers("[-1, 4]"), "The answer is x = 1, y = 4.", Wrong),
            (integers("[1, 6]"), "The answer is 1 and 6.", Right),
            (integers("[1, 6]"), "The eigenvalues are 1 and 6.", Right),
            (integers("[1, 6]"), "The answer is 16.", Wrong),
            (
                integers("[8, 0, 2, -2]"),
                "\\boxed{\\begin{pmatrix} 8 \\\\ 0 \\\\ 2 \\\\ -2 \\end{pmatrix}}",
                Right,
            ),
            (
                integers("[8, 0, 2, -2]"),
                "\\boxed{\\begin{bmatrix} 8 \\\\ 0 \\\\ 2 \\\\ 2 \\end{bmatrix}}",
                Wrong,
            ),
            (integers("[4, 16, 65536]"), "The answer is [4, 16, 65,536].", Right),
            (integers("[3]"), "The answer is {3}.", Right),
            (integers("[3]"), "The answer is [3].", Right),
            (integers("[3]"), "The answer is [2, 3].", Wrong),
            (integers("[1, 0]"), "The answer is [yes, no].", Right),
            (integers("[1, 0]"), "The answer is [1, 1].", Wrong),
            (integers("[-1, 2, -1]"), "{\"answer\": [-1, 2, -1]}", Right),
            (floats("[0.333, 0.25]"), "The answer is [1/3, 1/4].", Right),
            (
                floats("[0.333, 0.25]"),
                "The answer is $\\left[\\frac{1}{3}, \\frac{1}{4}\\right]$.",
                Right,
            ),
            (floats("[0.333, 0.25]"), "The answer is [1/4, 1/3].", Wrong),
            (floats("[0.6667, -0.6667]"), "The answer is [2/3, -2/3].", Right),
            (floats("[0.6667, -0.6667]"), "The answer is [2/3, 2/3].", Wrong),
            (floats("[2.0, 1.32]"), "The answer is [2.0 kVA, 1.32 kVAR].", Right),
        ],
    );
}

#[test]
fn truths_and_options() {
    let truth = |answer| gold("bool", answer);
    let option = |answer| gold("option", answer);
    check(
        Judge::TheoremQa,
        &[
            (truth("True"), "The answer is True.", Right),
            (truth("True"), "Yes.", Right),
            (truth("True"), "The answer is yes, because it is closed.", Right),
            (truth("True"), "The statement is false.", Wrong),
            (truth("True"), "\\boxed{\\text{True}}", Right),
            (truth("False"), "The answer is **no**.", Right),
            (truth("False"), "Therefore, the statement is not true.", Right),
            (truth("False"), "At first it seems true. The answer is False.", Right),
            (truth("False"), "At first it seems false. The answer is True.", Wrong),
            (truth("False"), "The answer is unknown.", Wrong),
            (truth("False"), "{\"answer\": false}", Right),
            (truth("True"), "{\"answer\": false}", Wrong),
            (option("(c)"), "The answer is (c).", Right),
            (option("(c)"), "The answer is c.", Right),
            (option("(c)"), "The answer is C) it doubles.", Right),
            (option("(c)"), "The answer is option c", Right),
            (option("(c)"), "The correct option is (c).", Right),
            (option("(c)"), "\\boxed{\\text{(c)}}", Right),
            (option("(c)"), "The answer is (c), not (b).", Right),
            (option("(b)"), "The answer is (c), not (b).", Wrong),
            (option("(c)"), "The answer is (b).", Wrong),
            (option("(c)"), "(c) looks good, but the answer is (d).", Wrong),
            (option("(c)"), "The answer is (a) or (c).", Wrong),
            (option("(a)"), "The answer is a constant function.", Wrong),
            (option("(a)"), "The answer is (a) f(x) is increasing.", Right),
            (option("(b)"), "The answer is f(b).", Wrong),
            (option("(b)"), "**Answer: B**", Right),
        ],
    );
}
