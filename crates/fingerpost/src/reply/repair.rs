//! What did the model mean by this almost-JSON?
//!
//! Commas too many or too few, single quotes, bare keys, quotes and line breaks inside strings,
//! backslashes of formulas: the faults that models make. Whatever can be read is read; nothing is
//! made up. Our own, because the crate for it breaks on a backslash before a Chinese character.

use serde_json::{Map, Value};

/// Deeper answers were not asked for.
const MAX_DEPTH: usize = 16;

/// The object that `text` begins with, as well as it can be read.
pub(super) fn repaired(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text };
    reader.value(0).filter(|value| value.as_object().is_some_and(|object| !object.is_empty()))
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Skips white space, and commas, of which there may be any number.
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip();
        match self.peek()? {
            _ if depth > MAX_DEPTH => None,
            '{' => self.object(depth),
            '[' => self.array(depth),
            quote @ ('"' | '\'') => Some(Value::String(self.string(quote))),
            _ => self.bare(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut object = Map::new();
        loop {
            self.skip();
            match self.peek() {
                None | Some(']') => break,
                Some('}') => {
                    self.next();
                    break;
                }
                Some(_) => {}
            }
            let key = match self.peek()? {
                quote @ ('"' | '\'') => self.string(quote),
                _ => self.until(&[':', '}', '\n']).trim().to_owned(),
            };
            self.rest = self.rest.trim_start();
            if self.peek() != Some(':') {
                return None;
            }
            self.next();
            object.insert(key, self.value(depth + 1)?);
        }
        Some(Value::Object(object))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip();
            match self.peek() {
                None | Some('}') => break,
                Some(']') => {
                    self.next();
                    break;
                }
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
        Some(Value::Array(items))
    }

    /// A string up to the quote that something of JSON follows: others belong to the text.
    fn string(&mut self, quote: char) -> String {
        self.next();
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(&mut text),
                c if c == quote && self.is_over() => break,
                c => text.push(c),
            }
        }
        text
    }

    fn is_over(&self) -> bool {
        let after = self.rest.trim_start();
        match after.chars().next() {
            None | Some(',' | ':' | '}' | ']') => true,
            // A comma was forgotten, if a key comes next.
            Some('"' | '\'') => self.rest.len() > after.len() || after[1..].contains(':'),
            Some(_) => false,
        }
    }

    /// What follows a backslash; what JSON does not know stays as it was, backslash and all.
    fn escape(&mut self, text: &mut String) {
        match self.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r' | 'b' | 'f') => text.push(' '),
            Some(c @ ('"' | '\'' | '\\' | '/')) => text.push(c),
            Some('u') => {
                let code = self.rest.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                // Half a pair stands for nothing.
                text.extend(code.and_then(char::from_u32));
                if code.is_some() {
                    self.rest = &self.rest[4..];
                }
            }
            Some(c) => text.extend(['\\', c]),
            None => {}
        }
    }

    fn bare(&mut self) -> Option<Value> {
        let word = self.until(&[',', '}', ']', '\n']).trim();
        match word {
            "null" | "None" => Some(Value::Null),
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "" => None,
            word => serde_json::from_str(word).ok().or_else(|| Some(Value::String(word.into()))),
        }
    }

    fn until(&mut self, ends: &[char]) -> &'a str {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&repaired(text).map_or("nothing".into(), |value| value.to_string()));
    }

    #[test]
    fn faults_of_models() {
        check("{'a': 'b',}", expect![[r#"{"a":"b"}"#]]);
        check(r#"{a: "b" "c": [1,, "x" "y"]}"#, expect![[r#"{"a":"b","c":[1,"x","y"]}"#]]);
        check(
            r#"{"a": "say "hi" to me", "b": None}"#,
            expect![[r#"{"a":"say \"hi\" to me","b":null}"#]],
        );
        check(r#"{"a": "\frac{x} \年 \sqrt{y}"}"#, expect![[r#"{"a":" rac{x} \\年 \\sqrt{y}"}"#]]);
        check("{\"a\": \"two\nlines\"}", expect![[r#"{"a":"two\nlines"}"#]]);
        check(r#"{"a": "it's", "b": 'don't'}"#, expect![[r#"{"a":"it's","b":"don't"}"#]]);
        check(r#"{"a": [{"b": "c"}"#, expect![[r#"{"a":[{"b":"c"}]}"#]]);
        check(r#"{"a": "\u5e74 \ud83d x"}"#, expect![[r#"{"a":"年  x"}"#]]);
    }

    #[test]
    fn nothing_is_made_up() {
        check("{}", expect!["nothing"]);
        check("{no idea}", expect!["nothing"]);
        check(r#"{"a":}"#, expect!["nothing"]);
        check(&"{\"a\":".repeat(40), expect!["nothing"]);
    }
}
