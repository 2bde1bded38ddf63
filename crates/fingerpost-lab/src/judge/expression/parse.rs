//! Which formula does a text begin with?
//!
//! Answers are prose with formulas in it, so the parser takes the longest beginning that is one and gives
//! back the rest: "2^(n-1) sequences" is `2^(n-1)`, then a word. It never tries the same place twice.

use std::collections::BTreeSet;

use super::token::{Kind, Token, tokens};
use super::value::Value;
use super::{Expression, Function, Node, Operation};

/// Depth of parentheses, exponents and signs.
const MAX_DEPTH: usize = 48;

/// Which letters are variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    variables: BTreeSet<String>,
    others: Others,
}

/// What a single letter is that is not listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Others {
    #[default]
    Prose,
    Variables,
}

impl Names {
    /// No letter is a variable: what follows a number is its unit.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// These are variables, and so is any other letter that stands alone. Letters that stand together are a
    /// product only if all of them are listed.
    pub(crate) fn with<T: Into<String>>(variables: impl IntoIterator<Item = T>) -> Self {
        Self {
            variables: variables.into_iter().map(Into::into).collect(),
            others: Others::Variables,
        }
    }

    /// These are variables, and all else is prose.
    pub(crate) fn only<T: Into<String>>(variables: impl IntoIterator<Item = T>) -> Self {
        Self { variables: variables.into_iter().map(Into::into).collect(), others: Others::Prose }
    }

    fn is_product(&self, word: &str) -> bool {
        word.chars().all(|letter| self.variables.contains(letter.encode_utf8(&mut [0; 4]) as &str))
    }
}

/// The longest formula at the start of a plain text, and what follows it.
pub(crate) fn parse_prefix<'a>(text: &'a str, names: &Names) -> Option<(Expression, &'a str)> {
    let tokens = tokens(text);
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, names, bound: Vec::new() };
    let root = parser.sum()?;
    let end = parser.at.checked_sub(1).and_then(|last| tokens.get(last)).map_or(0, |last| last.end);
    Some((Expression { root }, &text[end..]))
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    names: &'a Names,
    /// Variables of the sums that are being read.
    bound: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn sign(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead)?.kind {
            Kind::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn take(&mut self, sign: char) -> Option<()> {
        (self.sign(0) == Some(sign)).then(|| self.at += 1)
    }

    /// Runs a part of the grammar one level deeper; on failure the place is as before.
    fn attempt<T>(&mut self, part: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let start = self.at;
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        if result.is_none() {
            self.at = start;
        }
        result
    }

    fn sum(&mut self) -> Option<Node> {
        let mut total = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.sign(0) {
            let next = self.attempt(|parser| {
                parser.at += 1;
                parser.product()
            });
            let Some(next) = next else { break };
            let operation = if sign == '+' { Operation::Add } else { Operation::Subtract };
            total = binary(operation, total, next);
        }
        Some(total)
    }

    fn product(&mut self) -> Option<Node> {
        let mut total = self.signed()?;
        loop {
            let (operation, next) = match self.sign(0) {
                Some(sign @ ('*' | '/')) => {
                    let operation =
                        if sign == '*' { Operation::Multiply } else { Operation::Divide };
                    let next = self.attempt(|parser| {
                        parser.at += 1;
                        parser.signed()
                    });
                    (operation, next)
                }
                _ if self.starts_factor() => (Operation::Multiply, self.attempt(Self::power)),
                _ => break,
            };
            let Some(next) = next else { break };
            total = binary(operation, total, next);
        }
        Some(total)
    }

    fn starts_factor(&self) -> bool {
        match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(Kind::Word(_)) => true,
            // Two numbers side by side are no product, but `(n+1)2^n` is one.
            Some(Kind::Number(_)) => {
                let before = self.at.checked_sub(1).map(|before| &self.tokens[before].kind);
                matches!(before, Some(Kind::Sign(')' | '!')))
            }
            Some(Kind::Sign(sign)) => matches!(sign, '(' | '{') && !self.is_remark(),
            _ => false,
        }
    }

    /// "1/3 (0.333)" says the same twice.
    fn is_remark(&self) -> bool {
        let before = self.at.checked_sub(1).map_or(0, |before| self.tokens[before].end);
        let spaced = self.tokens[self.at].start > before;
        let holds_number =
            matches!(self.tokens.get(self.at + 1), Some(Token { kind: Kind::Number(_), .. }));
        spaced && holds_number && self.sign(2) == Some(')')
    }

    fn signed(&mut self) -> Option<Node> {
        match self.sign(0) {
            Some(sign @ ('-' | '+')) => {
                let inner = self.attempt(|parser| {
                    parser.at += 1;
                    parser.signed()
                })?;
                Some(if sign == '-' { Node::Negate(Box::new(inner)) } else { inner })
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Option<Node> {
        let mut base = self.atom()?;
        while self.sign(0) == Some('!') {
            let double = self.sign(1) == Some('!');
            self.at += if double { 2 } else { 1 };
            let function = if double { Function::DoubleFactorial } else { Function::Factorial };
            base = Node::Call(function, vec![base]);
        }
        if self.sign(0) == Some('^') {
            let exponent = self.attempt(|parser| {
                parser.at += 1;
                parser.signed()
            });
            if let Some(exponent) = exponent {
                base = binary(Operation::Power, base, exponent);
            }
        }
        Some(base)
    }

    fn atom(&mut self) -> Option<Node> {
        match &self.tokens.get(self.at)?.kind {
            Kind::Number(value) => {
                self.at += 1;
                Some(Node::Number(*value))
            }
            Kind::Sign(open @ ('(' | '[' | '{')) => {
                let close = match open {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                };
                self.attempt(|parser| {
                    parser.at += 1;
                    let inner = parser.sum()?;
                    parser.take(close)?;
                    Some(inner)
                })
            }
            Kind::Sign('|') => self.attempt(|parser| {
                parser.at += 1;
                let inner = parser.sum()?;
                parser.take('|')?;
                Some(Node::Call(Function::Absolute, vec![inner]))
            }),
            Kind::Sign(_) => None,
            Kind::Word(word) => self.attempt(|parser| {
                parser.at += 1;
                parser.word(word)
            }),
        }
    }

    /// What a word stands for, with what belongs to it.
    fn word(&mut self, word: &str) -> Option<Node> {
        match word {
            "pi" => return Value::float(std::f64::consts::PI).map(Node::Number),
            "e" if !self.names.variables.contains("e") => {
                return Value::float(std::f64::consts::E).map(Node::Number);
            }
            "sum" if self.sign(0) == Some('_') => return self.series(Operation::Add),
            "prod" if self.sign(0) == Some('_') => return self.series(Operation::Multiply),
            "log" => return self.logarithm(),
            "H" if self.sign(0) == Some('_') => {
                self.at += 1;
                let index = self.atom()?;
                return Some(Node::Call(Function::Harmonic, vec![index]));
            }
            "C" | "binom" if self.has_two_arguments() => {
                return Some(Node::Call(Function::Binomial, self.arguments()?));
            }
            _ => {}
        }
        if let Some(function) = function(word) {
            let arguments = self.argument()?;
            return Some(Node::Call(function, vec![arguments]));
        }
        self.variable(word)
    }

    fn variable(&mut self, word: &str) -> Option<Node> {
        let mut letters = word.chars();
        let alone = letters.next().is_some() && letters.next().is_none();
        let known = self.names.variables.contains(word) || self.bound.contains(&word);
        if known || (alone && self.names.others == Others::Variables) {
            return Some(Node::Variable(format!("{word}{}", self.subscript())));
        }
        if !self.names.is_product(word) {
            return None;
        }
        let variables = word.chars().map(|letter| Node::Variable(letter.to_string()));
        variables.reduce(|product, next| binary(Operation::Multiply, product, next))
    }

    /// `_1`, `_i`, `_(10)`: a part of the name.
    fn subscript(&mut self) -> String {
        if self.sign(0) != Some('_') {
            return String::new();
        }
        let group = usize::from(self.sign(1) == Some('('));
        let index = match self.tokens.get(self.at + 1 + group).map(|token| &token.kind) {
            Some(Kind::Word(word)) => word.clone(),
            Some(Kind::Number(value)) => value.as_f64().to_string(),
            _ => return String::new(),
        };
        if group == 1 && self.sign(3) != Some(')') {
            return String::new();
        }
        self.at += 2 + 2 * group;
        format!("_{index}")
    }

    /// What a function is applied to: a group, or the next factor.
    fn argument(&mut self) -> Option<Node> {
        if let Some('(' | '{' | '[') = self.sign(0) {
            self.atom()
        } else {
            self.attempt(Self::power)
        }
    }

    fn logarithm(&mut self) -> Option<Node> {
        let mut base = None;
        if self.take('_').is_some() {
            base = Some(self.atom()?);
        } else if let Some(Kind::Number(value)) = self.tokens.get(self.at).map(|token| &token.kind)
            && self.sign(1) == Some('(')
        {
            // "log10(x)" names its base; "log 2" does not.
            base = Some(Node::Number(*value));
            self.at += 1;
        }
        let mut arguments = vec![self.argument()?];
        arguments.extend(base);
        Some(Node::Call(Function::Logarithm, arguments))
    }

    /// Is there a comma in the group that opens here?
    fn has_two_arguments(&self) -> bool {
        let mut depth = 0usize;
        for token in &self.tokens[self.at..] {
            match token.kind {
                Kind::Sign('(') => depth += 1,
                Kind::Sign(')') => depth = depth.saturating_sub(1),
                Kind::Sign(',') if depth == 1 => return true,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        false
    }

    fn arguments(&mut self) -> Option<Vec<Node>> {
        self.take('(')?;
        let first = self.sum()?;
        self.take(',')?;
        let second = self.sum()?;
        self.take(')')?;
        Some(vec![first, second])
    }

    /// `_(k=1)^n` and the product that follows.
    fn series(&mut self, operation: Operation) -> Option<Node> {
        self.take('_')?;
        self.take('(')?;
        let Kind::Word(variable) = &self.tokens.get(self.at)?.kind else { return None };
        self.at += 1;
        self.take('=')?;
        let from = self.sum()?;
        self.take(')')?;
        self.take('^')?;
        let to = self.atom()?;
        self.bound.push(variable);
        let body = self.product();
        self.bound.pop();
        Some(Node::Series {
            operation,
            variable: variable.clone(),
            from: Box::new(from),
            to: Box::new(to),
            body: Box::new(body?),
        })
    }
}

fn binary(operation: Operation, first: Node, second: Node) -> Node {
    Node::Binary(operation, Box::new(first), Box::new(second))
}

fn function(word: &str) -> Option<Function> {
    Some(match word {
        "sqrt" => Function::SquareRoot,
        "cbrt" => Function::CubeRoot,
        "exp" => Function::Exponential,
        "ln" => Function::Logarithm,
        "sin" => Function::Sine,
        "cos" => Function::Cosine,
        "tan" => Function::Tangent,
        "arcsin" | "asin" => Function::ArcSine,
        "arccos" | "acos" => Function::ArcCosine,
        "arctan" | "atan" => Function::ArcTangent,
        "sinh" => Function::HyperbolicSine,
        "cosh" => Function::HyperbolicCosine,
        "tanh" => Function::HyperbolicTangent,
        "abs" => Function::Absolute,
        "floor" => Function::Floor,
        "ceil" => Function::Ceiling,
        _ => return None,
    })
}
