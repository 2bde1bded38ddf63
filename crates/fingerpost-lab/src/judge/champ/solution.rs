//! Which values does a text give: one formula, a set, or pairs that belong together?

use std::sync::LazyLock;

use regex::Regex;

use crate::judge::expression::{Expression, Names, Sameness, Value, parse_prefix};
use crate::judge::latex::plain;
use crate::judge::quantity::{sides, without_fillers};
use crate::judge::words::number_word;

/// Solutions of one answer.
const MAX_SOLUTIONS: usize = 64;

/// Where an explanation begins.
static EXPLANATION: LazyLock<Regex> = LazyLock::new(|| {
    let words = "where|for|with|when|whenever|if|since|because|which|as|so|mod|modulo|or equivalently|or approximately";
    Regex::new(&format!(r"(?is)[,;(]?\s*\b(?:{words})\b.*$")).expect("a valid pattern")
});

static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:yes\s*[,.;:]|the (?:only )?(?:possible )?values? (?:is|are)|the limit is)\s*",
    )
    .expect("a valid pattern")
});

static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^(?:[,;]|(?:and|or)\b)").expect("a valid pattern"));

static DECIMAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[-+]?\d+\.(?P<decimals>\d+)\s*(?P<percent>%)?").expect("a valid pattern")
});

/// One value, or several that belong together, with their names where they have any.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    names: Vec<String>,
    pub(super) values: Vec<Expression>,
}

impl Solution {
    fn single(name: Option<&str>, value: Expression) -> Self {
        Self { names: name.map(str::to_owned).into_iter().collect(), values: vec![value] }
    }

    pub(super) fn into_single(mut self) -> Option<Expression> {
        if self.values.len() == 1 { self.values.pop() } else { None }
    }

    pub(super) fn as_number(&self) -> Option<Value> {
        match self.values.as_slice() {
            [value] => value.value(),
            _ => None,
        }
    }

    /// By name where both name their values, by place otherwise.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let count = self.values.len();
        if count != other.values.len() {
            return false;
        }
        let by_name = count > 1 && self.names.len() == count && other.names.len() == count;
        (0..count).all(|at| {
            let place = match by_name {
                true => other.names.iter().position(|name| *name == self.names[at]),
                false => Some(at),
            };
            place.is_some_and(|place| {
                self.values[at].compare(&other.values[place]) == Sameness::Same
            })
        })
    }
}

/// One formula, and how many decimals it was rounded to if it is a decimal number.
#[derive(Debug, Clone)]
pub(super) struct Scalar {
    pub(super) expression: Expression,
    pub(super) decimals: Option<usize>,
}

/// The one formula that a reading gives.
pub(super) fn scalar(reading: &str, names: &Names) -> Option<Scalar> {
    let text = plain(reading);
    let text = relevant(&text);
    let text = last_side(text)?.trim();
    let text = without_fillers(text);
    let (expression, rest) = formula(text, names)?;
    let rest = rest.trim_start();
    if !ends_well(rest) {
        return None;
    }
    // Another formula after a comma makes it a list.
    if let Some(separator) = SEPARATOR.find(rest)
        && formula(without_fillers(&rest[separator.end()..]), names).is_some()
    {
        return None;
    }
    let variables = expression.variables();
    let is_article =
        variables.len() == 1 && text.starts_with("a ") && rest.starts_with(char::is_alphabetic);
    if is_article {
        return None;
    }
    let decimals = DECIMAL.captures(text);
    let percent = decimals.as_ref().is_some_and(|found| found.name("percent").is_some());
    let decimals = decimals.map(|found| found["decimals"].len() + if percent { 2 } else { 0 });
    Some(Scalar { expression: share(expression, rest)?, decimals })
}

/// All solutions that a reading lists, in any of the ways to list them.
pub(super) fn solutions(reading: &str, names: &Names) -> Option<Vec<Solution>> {
    let text = plain(reading);
    let text = relevant(&text);
    let text = text.rsplit('∈').next()?.trim();
    let text = without_braces(without_fillers(text));
    let mut found: Vec<Solution> = Vec::new();
    let mut pending = Solution { names: Vec::new(), values: Vec::new() };
    let items = items(text);
    for (at, item) in items.iter().enumerate() {
        let is_last = at + 1 == items.len();
        let (name, value) = match sides(item).as_slice() {
            [name, .., value] => (Some(name.trim()), value.trim()),
            _ => (None, without_fillers(item)),
        };
        if let Some(tuple) = tuple(value, name, names) {
            flush(&mut pending, &mut found);
            found.push(tuple);
            continue;
        }
        let values = signs(value)
            .iter()
            .map(|value| {
                let (expression, rest) = formula(value, names)?;
                let rest = rest.trim();
                let ends = if is_last { ends_well(rest) } else { rest.is_empty() };
                if ends { share(expression, rest) } else { None }
            })
            .collect::<Option<Vec<_>>>()?;
        // "x = 16, 81": the name is that of the item before.
        let carried = (pending.names.len() == 1).then(|| pending.names[0].clone());
        let name = name.map(str::to_owned).or(carried);
        let repeats = name.as_ref().is_none_or(|name| pending.names.contains(name));
        if repeats || values.len() > 1 {
            flush(&mut pending, &mut found);
        }
        match (name, <[Expression; 1]>::try_from(values)) {
            (Some(name), Ok([value])) => {
                pending.names.push(name);
                pending.values.push(value);
            }
            (None, Ok([value])) => found.push(Solution::single(None, value)),
            (name, Err(several)) => {
                found.extend(
                    several.into_iter().map(|value| Solution::single(name.as_deref(), value)),
                );
            }
        }
    }
    flush(&mut pending, &mut found);
    (!found.is_empty()).then_some(found)
}

fn flush(pending: &mut Solution, found: &mut Vec<Solution>) {
    if !pending.values.is_empty() {
        let empty = Solution { names: Vec::new(), values: Vec::new() };
        found.push(std::mem::replace(pending, empty));
    }
}

/// `(8, 2)` and `(x=8, y=2)`, with the names that stand before them: `(x, y)`.
fn tuple(text: &str, before: Option<&str>, names: &Names) -> Option<Solution> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let parts = items(inner);
    if parts.len() < 2 {
        return None;
    }
    let mut solution = Solution { names: Vec::new(), values: Vec::new() };
    for part in parts {
        let value = match sides(part).as_slice() {
            [name, .., value] => {
                solution.names.push(name.trim().to_owned());
                value.trim()
            }
            _ => part,
        };
        let (expression, rest) = formula(value, names)?;
        if !rest.trim().is_empty() {
            return None;
        }
        solution.values.push(expression);
    }
    if let Some(before) = before.and_then(|before| before.strip_prefix('(')?.strip_suffix(')')) {
        solution.names = before.split(',').map(|name| name.trim().to_owned()).collect();
    }
    Some(solution)
}

/// Both signs of "±", where there is one.
fn signs(text: &str) -> Vec<String> {
    match text.contains('±') {
        true => vec![text.replace('±', "+"), text.replace('±', "-")],
        false => vec![text.to_owned()],
    }
}

fn formula<'a>(text: &'a str, names: &Names) -> Option<(Expression, &'a str)> {
    let text = text.trim();
    let word = text.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
    match number_word(word) {
        Some(number) => {
            Some((Expression::number(Value::integer(i128::from(number))), &text[word.len()..]))
        }
        None => parse_prefix(text, names),
    }
}

/// A formula may be followed by words, not by what should have been a part of it.
fn ends_well(rest: &str) -> bool {
    let first = rest.chars().next();
    first.is_none_or(|first| {
        first.is_alphabetic() || matches!(first, '%' | ',' | ';' | '.' | ')' | '"')
    }) && !rest.starts_with("...")
        || rest.starts_with('(') && rest.chars().nth(1).is_some_and(char::is_alphabetic)
}

fn share(expression: Expression, rest: &str) -> Option<Expression> {
    match rest.starts_with('%') {
        true => Value::float(expression.value()?.as_f64() / 100.0).map(Expression::number),
        false => Some(expression),
    }
}

/// Without how it is introduced and explained.
fn relevant(text: &str) -> &str {
    let text = text.trim();
    let text = OPENING.find(text).map_or(text, |opening| &text[opening.end()..]);
    let end = EXPLANATION.find(text).map_or(text.len(), |found| found.start());
    if end == 0 { text } else { text[..end].trim() }
}

/// What a chain of equations ends with; nothing where several things are set.
fn last_side(text: &str) -> Option<&str> {
    let set = items(text).iter().filter(|item| sides(item).len() > 1).count();
    if set > 1 { None } else { sides(text).pop() }
}

fn without_braces(text: &str) -> &str {
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text)
}

/// The parts of a list, which are separated outside of all brackets.
fn items(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let mut skip_to = 0;
    let mut after_letter = false;
    for (at, letter) in text.char_indices() {
        if at < skip_to {
            continue;
        }
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let separator = SEPARATOR
            .find(&text[at..])
            .filter(|_| depth == 0 && !(after_letter && letter.is_alphabetic()));
        if let Some(separator) = separator
            && parts.len() < MAX_SOLUTIONS
        {
            parts.push(&text[start..at]);
            skip_to = at + separator.end();
            start = skip_to;
        }
        after_letter = letter.is_alphabetic();
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}
