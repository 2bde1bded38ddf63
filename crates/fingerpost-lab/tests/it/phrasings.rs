//! Right answers as models phrase them, with the words and the typography around them.

use fingerpost_lab::judge::{Judge, Verdict, judge};
use serde_json::{Value, json};

fn theorem(kind: &str, answer: &str) -> (Judge, Value) {
    (Judge::TheoremQa, json!({ "answer": answer, "answer_type": kind }))
}

fn medical(kind: &str, answer: &str, lower: &str, upper: &str) -> (Judge, Value) {
    let gold = json!({ "answer": answer, "output_type": kind, "lower_limit": lower, "upper_limit": upper });
    (Judge::MedCalc, gold)
}

fn champ(answer: &str) -> (Judge, Value) {
    (Judge::Champ, json!({ "answer": answer }))
}

fn table(answer: &str) -> (Judge, Value) {
    (Judge::ToolQa, json!({ "answer": answer }))
}

#[test]
fn all_are_right() {
    let rows = [
        (theorem("list of integer", "[0, 5]"), "Therefore, the answer is $\\boxed{[0, 5]}$."),
        (
            theorem("float", "5.93"),
            "## Solution\nWe use the law.\n\n**Final Answer:** $\\approx 5.93$",
        ),
        (theorem("float", "4.712"), "The answer is \\( \\frac{3}{2} \\pi \\)."),
        (theorem("float", "463000000.0"), "So the distance is approximately 4.63 × 10⁸ m."),
        (theorem("float", "0.693"), "The answer is $\\ln 2$."),
        (theorem("float", "60.0"), "The answer is 60°."),
        (theorem("float", "1898.27"), "The answer is approximately $\\$1,898.27$."),
        (theorem("option", "(a)"), "The answer is (A)."),
        (theorem("bool", "True"), "The final answer is: $\\boxed{True}$"),
        (theorem("bool", "False"), "**Answer: No.** W is not closed under scalar multiplication."),
        (theorem("float", "3.464"), "The answer is 3.464 (= 2√3)."),
        (theorem("float", "3.464"), "The answer is $2\\sqrt{3} \\approx 3.464$."),
        (theorem("float", "1.0"), "The answer is 1 (i.e., yes)."),
        (theorem("integer", "3"), "Thus, at least 3 people must share the same birthday."),
        (theorem("integer", "18"), "Therefore R(4,4) = 18."),
        (theorem("integer", "18"), "The Ramsey number R(4, 4) is 18."),
        (theorem("list of integer", "[1, 2, 2]"), "The eigenvalues are λ₁ = 1, λ₂ = 2, λ₃ = 2."),
        (theorem("list of integer", "[2, 0]"), "The optimal solution is $[x, y] = [2, 0]$."),
        (
            theorem("list of float", "[0.8, 0.0, 0.6]"),
            "The binormal vector is $\\mathbf{B} = \\left[\\frac{4}{5}, 0, \\frac{3}{5}\\right]$.",
        ),
        (theorem("float", "0.0"), "The limit is $0$."),
        (theorem("float", "3.1415926"), "\\[\\boxed{\\pi}\\]"),
        (theorem("float", "2.0"), "H(X) = 2 bits"),
        (theorem("integer", "5"), "Paul should buy **5 Twinkies**."),
        (
            medical("decimal", "27.68878", "26.30434", "29.07322"),
            "The patient's BMI is approximately **27.7 kg/m²**, which indicates overweight.",
        ),
        (medical("integer", "4", "4", "4"), "**Total CHA₂DS₂-VASc score: 4**"),
        (
            medical("integer", "4", "4", "4"),
            "Total score = 2 (age) + 1 (female) + 1 (HTN) = 4 points",
        ),
        (
            medical("integer", "4", "4", "4"),
            "Age ≥75: 2\nFemale: 1\nHTN: 1\n\nThe patient's CHA2DS2-VASc Score is **4**.",
        ),
        (medical("decimal", "18.0", "17.1", "18.9"), "MELD-Na ≈ 18"),
        (
            medical("decimal", "413.25067", "392.58814", "433.9132"),
            "QTc = 380 + 1.75 × (79 − 60) = 380 + 33.25 = **413.25 msec**",
        ),
        (
            medical("decimal", "1.94203", "1.84493", "2.03913"),
            "BSA = sqrt((180 × 75)/3600) = 1.94 m²",
        ),
        (medical("date", "09/11/2014", "09/11/2014", "09/11/2014"), "09/11/2014"),
        (champ("n(n+1)*2^(n-2)"), "Therefore, $\\sum_{k=1}^n \\binom{n}{k}k^2 = n(n+1)2^{n-2}$."),
        (champ("n(n+1)*2^(n-2)"), "**ANSWER:** $n(n+1) \\cdot 2^{n-2}$"),
        (champ("(n+1)/(r+1)"), "The arithmetic mean is $\\dfrac{n+1}{r+1}$."),
        (champ("(4^n+2^n)/2"), "$$\\boxed{\\frac{4^n + 2^n}{2} = 2^{2n-1} + 2^{n-1}}$$"),
        (
            champ("0 is the only possible value"),
            "Thus $4^n + 15n - 1 \\equiv 0 \\pmod 9$ for all $n$, so the only possible value is $\\boxed{0}$.",
        ),
        (champ("x=2, y=1"), "The only solution is $(x, y) = (2, 1)$."),
        (
            champ("x=1, y=1 and x=3, y=2"),
            "The positive integer solutions are $(x,y)=(1,1)$ and $(3,2)$.",
        ),
        (champ("x=16 and x=81"), "x \\in \\{16, 81\\}\n\nAnswer: $x = 16 \\text{ or } x = 81$"),
        (champ("[-1, 1]"), "So $x \\in [-1, 1]$."),
        (champ("k-2 (i.e., all of them)"), "All $k-2$ of them are divisible by 3."),
        (champ("f(x)=0"), "The answer is $f(x) \\equiv 0$."),
        (
            champ("At most 0 values (i.e., no such values)"),
            "There are no such integers; the answer is $\\boxed{0}$.",
        ),
        (champ("No"), "ANSWER: No, it is not possible."),
        (
            champ("The limit exists and is equal to (1+sqrt(4a+1))/2"),
            "ANSWER: The limit exists and equals $\\frac{1+\\sqrt{1+4a}}{2}$",
        ),
        (champ("Monotonically increasing"), "ANSWER: Monotonically increasing"),
        (champ("999 (i.e., all except for one value)"), "ANSWER: 999"),
        (champ("98 values"), "ANSWER: 98"),
        (champ("2^n"), "The minimum is 2^n, attained when all a_i = 1."),
        (champ("1/n"), "The minimum value is $1/n$, achieved when $x_i = 1/n$ for all i."),
        (champ("239"), "\\boxed{239 \\text{ ways}}"),
        (champ("5/14, or approximately 35.7%"), "ANSWER: 5/14 ≈ 0.357"),
        (
            champ("(x+1)(x-1)(x^2+1)(x^3−x^2+1)(x^2+x+1)"),
            "ANSWER: (x-1)(x+1)(x^2+1)(x^2+x+1)(x^3-x^2+1)",
        ),
        (table("198.2 minutes"), "Final Answer: The average airtime is 198.2 minutes."),
        (table("Private room"), "Final Answer: The room type is Private room."),
        (table("$1,146 "), "The price is $1,146 per night."),
        (table("No"), "Final Answer: No, it was not cancelled."),
        (table("-10.0"), "Final Answer: -10 minutes (10 minutes less than scheduled)"),
        (table("0.31"), "Final answer: 31%"),
        (table("2016-11-10"), "Final answer: 2016-11-10 00:00:00"),
        (table("Mexican, Restaurants"), "Final answer: Restaurants, Mexican"),
        (table("1:30:00"), "Final answer: 1 hour 30 minutes (1:30:00)"),
        (table("33759"), "Final answer: The postal code is 33759."),
    ];
    for ((by, gold), answer) in rows {
        let verdict = judge(by, &gold, answer);
        assert_eq!(verdict, Ok(Verdict::Right), "{gold}: {answer:?}");
    }
}
