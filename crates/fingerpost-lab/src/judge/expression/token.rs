//! Of which numbers, words and signs does a formula consist?

use super::value::Value;
use crate::judge::latex::THIN_SPACE;

/// Tokens of one formula; what follows them is left unread.
const MAX_TOKENS: usize = 500;

/// Digits of one number.
const MAX_DIGITS: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(Value),
    /// A run of letters.
    Word(String),
    Sign(char),
}

/// A token, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a plain text, up to the first character that belongs to no formula.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < MAX_TOKENS {
        let rest = &text[at..];
        let Some(letter) = rest.chars().next() else { break };
        if letter.is_whitespace() {
            at += letter.len_utf8();
            continue;
        }
        let starts_number = |text: &str| text.starts_with(|digit: char| digit.is_ascii_digit());
        let (kind, length) = if starts_number(rest) || (letter == '.' && starts_number(&rest[1..]))
        {
            let (digits, length) = numeral(rest);
            let Some(value) = number(&digits) else { break };
            (Kind::Number(value), length)
        } else if letter.is_alphabetic() {
            let length = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
            (Kind::Word(rest[..length].to_owned()), length)
        } else if rest.starts_with("**") {
            (Kind::Sign('^'), 2)
        } else if "+-*/^_!()[]{}|,=".contains(letter) {
            (Kind::Sign(letter), letter.len_utf8())
        } else {
            break;
        };
        let start = at;
        at += length;
        found.push(Token { kind, start, end: at });
    }
    found
}

/// The digits of a numeral, and how long it is: `1,234.5`, `2.5e-3`, `.5`.
fn numeral(text: &str) -> (String, usize) {
    let bytes = text.as_bytes();
    let digits_from =
        |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits_from(0);
    let mut digits = text[..length].to_owned();
    if (1..=3).contains(&length) {
        // Groups of three after the first: a thousands separator.
        while let Some(separator) =
            text[length..].chars().next().filter(|it| matches!(*it, ',' | THIN_SPACE))
        {
            let group = length + separator.len_utf8();
            if digits_from(group) != 3 {
                break;
            }
            digits.push_str(&text[group..group + 3]);
            length = group + 3;
        }
    }
    if bytes.get(length) == Some(&b'.') && digits_from(length + 1) > 0 {
        let end = length + 1 + digits_from(length + 1);
        digits.push_str(&text[length..end]);
        length = end;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(length + 1), Some(b'+' | b'-'));
        let exponent = length + 1 + usize::from(signed);
        let end = exponent.min(bytes.len()) + digits_from(exponent.min(bytes.len()));
        let word_follows = text[end..].starts_with(char::is_alphabetic);
        if end > exponent && !word_follows {
            digits.push_str(&text[length..end]);
            length = end;
        }
    }
    (digits, length)
}

/// Exactly what the digits say, where that fits.
fn number(digits: &str) -> Option<Value> {
    if digits.len() > MAX_DIGITS {
        return None;
    }
    let float = || digits.parse::<f64>().ok().and_then(Value::float);
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(numerator) = format!("{whole}{fraction}").parse::<i128>() else { return float() };
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let Some(power) = 10_i128.checked_pow(exponent.unsigned_abs()) else { return float() };
    match exponent < 0 {
        true => Value::ratio(numerator, power),
        false => numerator.checked_mul(power).map_or_else(float, |whole| Value::ratio(whole, 1)),
    }
}
