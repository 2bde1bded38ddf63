//! Are two formulas the same function of their variables?
//!
//! A formula is read into a tree and evaluated at a few fixed points: small whole numbers, which factorials
//! and binomials need, and fractions. Arithmetic is exact as long as it fits, so that an answer which is off
//! by one in the sixteenth digit is still another number.

mod evaluate;
mod parse;
mod token;
mod value;

use std::collections::BTreeSet;

pub(crate) use self::parse::{Names, parse_prefix};
pub(crate) use self::value::Value;

/// Points with whole numbers, then with fractions.
const WHOLE_POINTS: usize = 16;
const FRACTION_POINTS: usize = 8;

/// Formulas have to agree where both are defined, and there must be enough such points.
const MIN_POINTS: usize = 4;

const SEED: u64 = 42;

/// A formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    root: Node,
}

/// What comparing two formulas says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sameness {
    Same,
    Different,
    /// Too few points at which both are defined.
    Undecided,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(Value),
    Variable(String),
    Negate(Box<Node>),
    Binary(Operation, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
    Series {
        operation: Operation,
        variable: String,
        from: Box<Node>,
        to: Box<Node>,
        body: Box<Node>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    SquareRoot,
    CubeRoot,
    Exponential,
    /// The natural logarithm, or one to the base of a second argument.
    Logarithm,
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    HyperbolicSine,
    HyperbolicCosine,
    HyperbolicTangent,
    Absolute,
    Floor,
    Ceiling,
    Factorial,
    DoubleFactorial,
    Binomial,
    Harmonic,
}

impl Expression {
    pub(crate) fn number(value: Value) -> Self {
        Self { root: Node::Number(value) }
    }

    /// The value of a formula without variables.
    pub(crate) fn value(&self) -> Option<Value> {
        evaluate::evaluate(&self.root, &[])
    }

    /// The names that are free in it.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        collect(&self.root, &mut Vec::new(), &mut found);
        found
    }

    pub(crate) fn compare(&self, other: &Self) -> Sameness {
        let variables: Vec<String> = self.variables().union(&other.variables()).cloned().collect();
        let at = |bindings: &[(&str, Value)]| {
            let both = (
                evaluate::evaluate(&self.root, bindings),
                evaluate::evaluate(&other.root, bindings),
            );
            match both {
                (Some(first), Some(second)) => Some(first.same_as(&second)),
                _ => None,
            }
        };
        if variables.is_empty() {
            return match at(&[]) {
                Some(true) => Sameness::Same,
                Some(false) => Sameness::Different,
                None => Sameness::Undecided,
            };
        }
        let mut random = SEED;
        let mut agreed = 0;
        for point in 0..WHOLE_POINTS + FRACTION_POINTS {
            let mut coordinate = || {
                if point < WHOLE_POINTS {
                    Value::integer(1 + below(&mut random, 9))
                } else {
                    // Denominators of two to seven, and never a whole number.
                    let denominator = 2 + below(&mut random, 6);
                    let over = 1 + below(&mut random, denominator - 1);
                    Value::ratio(below(&mut random, 5) * denominator + over, denominator)
                        .unwrap_or(Value::integer(1))
                }
            };
            let bindings: Vec<(&str, Value)> =
                variables.iter().map(|name| (name.as_str(), coordinate())).collect();
            match at(&bindings) {
                Some(false) => return Sameness::Different,
                Some(true) => agreed += 1,
                None => {}
            }
        }
        if agreed >= MIN_POINTS { Sameness::Same } else { Sameness::Undecided }
    }

    /// How many factors with variables a product has, if every one of them is a sum.
    pub(crate) fn factors_that_are_sums(&self) -> Option<usize> {
        let factors = factors(&self.root)?;
        let all_sums = factors.iter().all(|(factor, _)| is_sum(factor));
        (all_sums && factors.len() > 1).then(|| factors.iter().map(|(_, times)| times).sum())
    }

    /// How many factors with variables it is written as.
    pub(crate) fn factors(&self) -> usize {
        let with_variables = |node: &Node| !(Self { root: node.clone() }).variables().is_empty();
        let factors = factors(&self.root).unwrap_or_default();
        factors.iter().filter(|(factor, _)| with_variables(factor)).map(|(_, times)| times).sum()
    }
}

/// The factors of a product, with their exponents; `None` if it divides.
fn factors(node: &Node) -> Option<Vec<(&Node, usize)>> {
    match node {
        Node::Binary(Operation::Multiply, first, second) => {
            let mut all = factors(first)?;
            all.extend(factors(second)?);
            Some(all)
        }
        Node::Binary(Operation::Divide, ..) => None,
        Node::Binary(Operation::Power, base, exponent) => {
            let times = match exponent.as_ref() {
                Node::Number(value) => {
                    value.as_integer().and_then(|times| usize::try_from(times).ok())
                }
                _ => None,
            };
            Some(vec![(base, times.unwrap_or(1).min(1000))])
        }
        Node::Negate(inner) => factors(inner),
        other => Some(vec![(other, 1)]),
    }
}

fn is_sum(node: &Node) -> bool {
    matches!(node, Node::Binary(Operation::Add | Operation::Subtract, ..))
}

fn collect(node: &Node, bound: &mut Vec<String>, found: &mut BTreeSet<String>) {
    match node {
        Node::Number(_) => {}
        Node::Variable(name) => {
            if !bound.contains(name) {
                found.insert(name.clone());
            }
        }
        Node::Negate(inner) => collect(inner, bound, found),
        Node::Binary(_, first, second) => {
            collect(first, bound, found);
            collect(second, bound, found);
        }
        Node::Call(_, arguments) => {
            for argument in arguments {
                collect(argument, bound, found);
            }
        }
        Node::Series { variable, from, to, body, .. } => {
            collect(from, bound, found);
            collect(to, bound, found);
            bound.push(variable.clone());
            collect(body, bound, found);
            bound.pop();
        }
    }
}

/// A number below `limit`, from Knuth's linear congruence.
fn below(state: &mut u64, limit: i128) -> i128 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    i128::from(*state >> 33).rem_euclid(limit.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::latex::plain;

    fn read(text: &str) -> Expression {
        let names = Names::with(["a", "b", "k", "m", "n", "r", "x", "y", "z"]);
        let text = plain(text);
        let (expression, rest) =
            parse_prefix(&text, &names).unwrap_or_else(|| panic!("{text:?} is no formula"));
        assert_eq!(rest.trim(), "", "{text:?}");
        expression
    }

    #[test]
    fn the_same_function() {
        for (first, second) in [
            ("n(n+1)/2", "n*(n+1)/2"),
            ("n(n+1)/2", r"\frac{n(n+1)}{2}"),
            ("n(n+1)/2", "(n^2+n)/2"),
            ("2^(n-1)", r"\frac{2^n}{2}"),
            ("C(n, 4)", "n(n-1)(n-2)(n-3)/4!"),
            ("C(n+1, 2m+1)", r"\binom{n+1}{n-2m}"),
            ("(2n)!/(2^n*n!)", "(2n-1)!!"),
            (
                "2^floor(n/2)*floor(n/2)!",
                r"2^{\lfloor n/2 \rfloor} \left\lfloor \frac{n}{2} \right\rfloor!",
            ),
            ("sum_(i=1)^n i^3", "(n(n+1)/2)^2"),
            ("sum_(k=1)^n 1/k", "H_n"),
            (r"\sum_{j=1}^{n} \frac{1}{j}", "H_{n}"),
            ("sqrt(3)/3", "1/√3"),
            ("(x+y+z)(x^2+y^2+z^2-xy-yz-xz)", "x^3+y^3+z^3-3xyz"),
            ("(1+sqrt(4a+1))/2", r"\frac{1}{2}+\sqrt{a+\frac14}"),
            ("-2x+2", "2(1-x)"),
            ("n!", "n(n-1)!"),
            ("ln(e^2)", "2"),
            ("log_2(8)", "3"),
            ("e^{i}", "e^i"),
            ("(20*10^15-2)/17", "1176470588235294"),
            ("|−3|", "3"),
        ] {
            assert_eq!(read(first).compare(&read(second)), Sameness::Same, "{first} and {second}");
        }
    }

    #[test]
    fn other_functions() {
        for (first, second) in [
            ("2^(n-1)", "2^n-1"),
            ("2^(n-1)", "2^(n+1)"),
            ("n(n-3)/2", "n(n-2)/2"),
            ("-n", "n"),
            ("n!", "n^n"),
            ("floor(n/2)", "n/2"),
            ("C(n, 4)", "C(n, 3)"),
            ("sum_(k=1)^n 1/k", "ln(n)"),
            ("(20*10^15-2)/17", "1176470588235295"),
            ("sqrt(2)", "1.4142"),
            ("n", "m"),
            ("n/(n-1)", "n/(n+1)"),
        ] {
            assert_eq!(
                read(first).compare(&read(second)),
                Sameness::Different,
                "{first} and {second}"
            );
        }
    }

    #[test]
    fn factors_are_counted() {
        assert_eq!(read("(x^2+x+1)(x^2-x+1)").factors_that_are_sums(), Some(2));
        assert_eq!(read("n(n-3)/2").factors_that_are_sums(), None);
        assert_eq!(read("x^4+x^2+1").factors(), 1);
        assert_eq!(read("2(x-1)^2(x+1)").factors(), 3);
    }
}
