//! Formulas, solutions, intervals and short statements.

use fingerpost_lab::judge::Judge;
use serde_json::{Value, json};

use crate::table::Expected::{Right, Undecided, Wrong};
use crate::table::check;

fn gold(answer: &str) -> Value {
    json!({ "answer": answer })
}

#[test]
fn formulas() {
    check(
        Judge::Champ,
        &[
            (gold("2^(n-1)"), "The answer is $2^{n-1}$.", Right),
            (gold("2^(n-1)"), "There are \\boxed{2^{n-1}} such sequences.", Right),
            (gold("2^(n-1)"), "The answer is 2**(n-1).", Right),
            (gold("2^(n-1)"), "The answer is \\frac{2^n}{2}.", Right),
            (gold("2^(n-1)"), "The answer is 2^n - 1.", Wrong),
            (gold("2^(n-1)"), "The answer is $2^{n+1}$.", Wrong),
            (gold("2^(n-1)"), "We might guess 2^(n-1). The answer is 2^n.", Wrong),
            (gold("2^(n-1)"), "The answer is 2^(n-1) for n ≥ 1.", Right),
            (gold("2^(n-1)"), "Therefore, the number of sequences is $2^{n-1}$.", Right),
            (gold("n(n-3)/2"), "The answer is n*(n-3)/2.", Right),
            (gold("n(n-3)/2"), "The answer is $\\frac{n(n-3)}{2}$.", Right),
            (gold("n(n-3)/2"), "The answer is $\\binom{n}{2} - n$.", Right),
            (gold("n(n-3)/2"), "The answer is n(n-2)/2.", Wrong),
            (gold("C(n+1, 2m+1)"), "The answer is $\\binom{n+1}{2m+1}$.", Right),
            (gold("C(n+1, 2m+1)"), "The answer is $\\binom{n}{2m+1}$.", Wrong),
            (gold("(2n)!/(2^n*n!)"), "The answer is $(2n-1)!!$.", Right),
            (gold("n!/(2n)"), "The answer is $\\frac{(n-1)!}{2}$.", Right),
            (gold("n!"), "The answer is n!.", Right),
            (gold("n!"), "The answer is n.", Wrong),
            (
                gold("C(n, 4), or an equivalent form such as n(n-1)(n-2)(n-3)/4!"),
                "\\boxed{\\binom{n}{4}}",
                Right,
            ),
            (
                gold("2^floor(n/2)*floor(n/2)!"),
                "The answer is $2^{\\lfloor n/2 \\rfloor} \\cdot \\lfloor n/2 \\rfloor!$.",
                Right,
            ),
            (
                gold("sum_(i=1)^n i^3, or equivalently (n(n+1)/2)^2"),
                "The answer is n^2(n+1)^2/4.",
                Right,
            ),
            (gold("sum_(k=1)^n 1/k"), "The answer is $\\sum_{i=1}^n \\frac{1}{i}$.", Right),
            (gold("sum_(k=1)^n 1/k"), "The answer is H_n.", Right),
            (gold("sum_(k=1)^n 1/k"), "The answer is 1 + 1/2 + ... + 1/n.", Undecided),
            (gold("sum_(k=1)^n 1/k"), "The answer is n/2.", Wrong),
            (gold("5/14, or approximately 35.7%"), "The answer is 5/14.", Right),
            (gold("5/14, or approximately 35.7%"), "The answer is 35.7%.", Right),
            (gold("5/14, or approximately 35.7%"), "The answer is 0.357.", Right),
            (gold("5/14, or approximately 35.7%"), "The answer is 0.36.", Wrong),
            (gold("C(10, 5), or equivalently 252"), "The answer is 252.", Right),
            (gold("C(10, 5), or equivalently 252"), "The answer is C(10,5) = 252.", Right),
            (gold("C(10, 5), or equivalently 252"), "The answer is 251.", Wrong),
            (
                gold("(20*10^15-2)/17, or equivalently 1176470588235294"),
                "The answer is 1176470588235294.",
                Right,
            ),
            (
                gold("(20*10^15-2)/17, or equivalently 1176470588235294"),
                "The answer is 1176470588235295.",
                Wrong,
            ),
            (
                gold("sqrt(3)/3, or equivalently 1/sqrt(3)"),
                "The answer is $\\frac{\\sqrt{3}}{3}$.",
                Right,
            ),
            (gold("sqrt(3)/3, or equivalently 1/sqrt(3)"), "The answer is 0.577.", Right),
            (gold("sqrt(3)"), "The answer is -√3.", Wrong),
            (gold("3/2"), "The answer is 1.5.", Right),
            (gold("2001000"), "The answer is 2,001,000.", Right),
            (gold("239"), "The answer is 240.", Wrong),
            (gold("239"), "The answer is not 240 but 239.", Right),
            (gold("(x^2+x+1)(x^2-x+1)"), "The answer is $(x^2-x+1)(x^2+x+1)$.", Right),
            (gold("(x^2+x+1)(x^2-x+1)"), "The answer is $x^4+x^2+1$.", Wrong),
            (
                gold("(x^2+x+1)(x^2-x+1)(x^4-x^2+1)"),
                "The answer is $(x^4+x^2+1)(x^4-x^2+1)$.",
                Wrong,
            ),
            (
                gold("(x+y+z)(x^2+y^2+z^2-xy-yz-xz)"),
                "The answer is (x+y+z)(x²+y²+z²−xy−yz−zx).",
                Right,
            ),
            (gold("-2x+2"), "The remainder is $2 - 2x$.", Right),
            (gold("-2x+2"), "The remainder is $2x - 2$.", Wrong),
            (gold("f(x)=0"), "The answer is f(x) = 0.", Right),
            (gold("(a^3+2b)/(3a)"), "The answer is $\\frac{a^3 + 2b}{3a}$.", Right),
            (
                gold("((-1)^(n+1)+n+1)/(n+2) (i.e., 1 if for odd n, and n/(n+2) for even n)"),
                "\\boxed{\\frac{n+1+(-1)^{n+1}}{n+2}}",
                Right,
            ),
            (
                gold("((-1)^(n+1)+n+1)/(n+2) (i.e., 1 if for odd n, and n/(n+2) for even n)"),
                "\\boxed{\\begin{cases} 1 & n \\text{ odd} \\\\ \\frac{n}{n+2} & n \\text{ even} \\end{cases}}",
                Undecided,
            ),
            (gold("x(x-1)(x-2)...(x-2022)"), "The answer is $x(x-1)(x-2)\\cdots(x-2022)$.", Right),
            (gold("x(x-1)(x-2)...(x-2022)"), "The answer is p(x) = x(x-1)⋯(x-2022).", Right),
            (gold("x(x-1)(x-2)...(x-2022)"), "The answer is x(x-1)(x-2)...(x-2023).", Undecided),
            (
                gold("x(x-1)(x-2)...(x-2022)"),
                "The answer is $\\prod_{k=0}^{2022} (x-k)$.",
                Undecided,
            ),
            (gold("k-2 (i.e., all of them)"), "The answer is k - 2.", Right),
            (gold("k-2 (i.e., all of them)"), "The answer is all of them.", Right),
            (gold("k-2 (i.e., all of them)"), "The answer is k - 3.", Wrong),
        ],
    );
}

#[test]
fn solutions() {
    check(
        Judge::Champ,
        &[
            (gold("376 and 625"), "The answer is 376 and 625.", Right),
            (gold("376 and 625"), "The answer is 625, 376.", Right),
            (gold("376 and 625"), "The answer is \\boxed{376} and \\boxed{625}.", Right),
            (gold("376 and 625"), "The answer is 376.", Wrong),
            (gold("376 and 625"), "The answer is 376, 625 and 876.", Wrong),
            (gold("1, 4 and 9"), "The answer is $\\{1, 4, 9\\}$.", Right),
            (gold("1, 4 and 9"), "The possible values are 1, 4, and 9.", Right),
            (gold("1, 4 and 9"), "The answer is 1, 4, 8.", Wrong),
            (gold("x=2, y=1"), "The answer is (x, y) = (2, 1).", Right),
            (gold("x=2, y=1"), "The answer is $x = 2$ and $y = 1$.", Right),
            (gold("x=2, y=1"), "The answer is y = 1, x = 2.", Right),
            (gold("x=2, y=1"), "The answer is (1, 2).", Wrong),
            (gold("x=2, y=1"), "The answer is x = 1, y = 2.", Wrong),
            (gold("x=0, y=2 and x=9, y=11"), "The answer is (0, 2) and (9, 11).", Right),
            (gold("x=0, y=2 and x=9, y=11"), "The answer is x = 9, y = 11 or x = 0, y = 2.", Right),
            (gold("x=0, y=2 and x=9, y=11"), "The answer is (0, 2).", Wrong),
            (gold("(x=8, y=2), (x=2, y=8)"), "The answer is $(x,y) = (2,8), (8,2)$.", Right),
            (gold("(x=8, y=2), (x=2, y=8)"), "The answer is (8, 2).", Wrong),
            (gold("a=3, b=-4"), "The answer is a = 3 and b = -4.", Right),
            (gold("a=3, b=-4"), "The answer is a = 3 and b = 4.", Wrong),
            (gold("x=±1"), "The answer is x = 1 and x = -1.", Right),
            (gold("x=±1"), "The answer is $x = \\pm 1$.", Right),
            (gold("x=±1"), "The answer is x = 1.", Wrong),
            (gold("x=±1, ±2, ±1/2"), "The answer is x = -2, -1, -1/2, 1/2, 1, 2.", Right),
            (gold("x=±1, ±2, ±1/2"), "The answer is x = ±1, ±2.", Wrong),
            (gold("x=16 and x=81"), "The answer is x = 16, 81.", Right),
            (
                gold("a(1±sqrt(2)), a(1±sqrt(5))/2"),
                "The answer is $x = a(1 \\pm \\sqrt{2}), \\frac{a(1 \\pm \\sqrt{5})}{2}$.",
                Right,
            ),
            (
                gold("a(1±sqrt(2)), a(1±sqrt(5))/2"),
                "The answer is $x = a(1 \\pm \\sqrt{2})$.",
                Wrong,
            ),
            (gold("[-1, 1]"), "The answer is $[-1, 1]$.", Right),
            (gold("[-1, 1]"), "The answer is $-1 \\le x \\le 1$.", Right),
            (gold("[-1, 1]"), "The answer is |x| ≤ 1.", Right),
            (gold("[-1, 1]"), "The answer is (-1, 1).", Wrong),
            (gold("[-1, 1]"), "The answer is [0, 1].", Wrong),
        ],
    );
}

#[test]
fn statements() {
    check(
        Judge::Champ,
        &[
            (gold("No"), "The answer is no.", Right),
            (gold("No"), "No, there are no such integers.", Right),
            (gold("No"), "The answer is: it is impossible.", Right),
            (gold("No"), "The answer is yes.", Wrong),
            (gold("Yes"), "\\boxed{\\text{Yes}}", Right),
            (gold("Yes"), "One might say yes, but the answer is no.", Wrong),
            (gold("No integer solutions"), "There are no integer solutions.", Right),
            (gold("No integer solutions"), "The answer is that no solutions exist.", Right),
            (gold("No integer solutions"), "The answer is $\\emptyset$.", Right),
            (gold("No integer solutions"), "\\boxed{\\text{No integer solutions}}", Right),
            (gold("No integer solutions"), "The answer is 0 solutions.", Right),
            (
                gold("No integer solutions"),
                "The answer is that 0 is the only possible value.",
                Wrong,
            ),
            (gold("No integer solutions"), "The answer is x = 1, y = 2.", Wrong),
            (gold("No integer solutions"), "The answer is no solutions except (0, 0).", Wrong),
            (gold("No such values"), "The answer is none.", Right),
            (gold("0 roots"), "The answer is 0.", Right),
            (gold("0 roots"), "The polynomial has no roots.", Right),
            (gold("0 roots"), "The answer is 1.", Wrong),
            (gold("0 is the only possible value"), "The answer is 0.", Right),
            (gold("0 is the only possible value"), "The only possible value is 0.", Right),
            (gold("0 is the only possible value"), "The answer is 0 and 1.", Wrong),
            (gold("0 is the only possible value"), "The answer is no such value.", Wrong),
            (gold("At least 1 number"), "The answer is at least one.", Right),
            (gold("At least 1 number"), "The answer is 2.", Wrong),
            (gold("98 values"), "The answer is 98.", Right),
            (gold("98 values"), "The answer is 97 values.", Wrong),
            (gold("100 (i.e., all values)"), "The answer is 100.", Right),
            (gold("100 (i.e., all values)"), "The answer is all of them.", Right),
            (gold("999 (i.e., all except for one value)"), "The answer is all values.", Wrong),
            (
                gold("The limit exists and is equal to (a+3b)/2"),
                "The limit exists and equals $\\frac{a+3b}{2}$.",
                Right,
            ),
            (gold("The limit exists and is equal to 2"), "Yes, the limit is 2.", Right),
            (gold("The limit exists and is equal to 2"), "The answer is 2.", Right),
            (gold("The limit exists and is equal to 2"), "The sequence converges to 2.", Right),
            (gold("The limit exists and is equal to 2"), "The answer is 3.", Wrong),
            (gold("The limit exists and is equal to 2"), "The limit does not exist.", Wrong),
            (
                gold("The only possible value for the limit is sqrt(a)"),
                "The answer is $\\sqrt{a}$.",
                Right,
            ),
            (
                gold("The only possible value for the limit is sqrt(a)"),
                "The answer is $-\\sqrt{a}$.",
                Wrong,
            ),
            (
                gold("The limit does not exist"),
                "The sequence diverges, so the limit does not exist.",
                Right,
            ),
            (gold("The limit does not exist"), "The answer is 2.", Wrong),
            (gold("Always greater than 20"), "The answer is always larger than 20.", Right),
            (gold("Always greater than 20"), "The answer is always smaller than 20.", Wrong),
            (gold("Always greater than 20"), "The answer is not always greater than 20.", Wrong),
            (gold("Monotonically increasing"), "The answer is increasing.", Right),
            (gold("Monotonically increasing"), "The sequence is monotonically decreasing.", Wrong),
            (gold("It is not possible"), "The answer is no.", Right),
            (
                gold("Yes, and the sequence is 1/2^3, 1/2^6, 1/2^9, ..."),
                "Yes, the sequence is 1/8, 1/64, 1/512, ...",
                Right,
            ),
            (
                gold("Yes, and the sequence is 1/2^3, 1/2^6, 1/2^9, ..."),
                "Yes, the sequence is 1/4, 1/16, 1/64, ...",
                Wrong,
            ),
            (gold("Yes, and the sequence is 1/2^3, 1/2^6, 1/2^9, ..."), "The answer is no.", Wrong),
            (
                gold("Yes, and the sequence is 1/2^3, 1/2^6, 1/2^9, ..."),
                "The answer is yes, with ratio 1/8.",
                Undecided,
            ),
        ],
    );
}
