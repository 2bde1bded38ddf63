//! Which part of a model's answer is the code?

use regex::Regex;

/// The last fenced block that defines the function, else the whole answer. A block that is not
/// closed goes to the end: such answers were cut off.
pub(super) fn code(answer: &str, entry_point: &str) -> String {
    let name = regex::escape(entry_point);
    let defines = Regex::new(&format!(r"(?m)^\s*(async\s+)?(def|class)\s+{name}\b|^{name}\s*="))
        .expect("an escaped name makes a pattern");
    let last = blocks(answer).into_iter().rev().find(|block| defines.is_match(block));
    last.unwrap_or_else(|| answer.to_string())
}

/// The fenced blocks of Python, or of no language, without the indentation of their fence.
fn blocks(answer: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence<'_>, String)> = None;
    for line in answer.lines() {
        let fence = Fence::of(line);
        match (&mut open, fence) {
            (None, Some(fence)) => open = Some((fence, String::new())),
            (Some((first, _)), Some(last)) if last.closes(first) => {
                blocks.extend(open.take().filter(|(fence, _)| fence.is_python()));
            }
            (Some((fence, text)), _) => {
                let inside = line.char_indices().find(|&(at, c)| at >= fence.indent || c != ' ');
                text.push_str(inside.map_or("", |(at, _)| &line[at..]));
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks.extend(open.filter(|(fence, _)| fence.is_python()));
    blocks.into_iter().map(|(_, text)| text).collect()
}

/// A line of at least three backticks.
struct Fence<'a> {
    indent: usize,
    ticks: usize,
    language: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let language = text.trim_start_matches('`');
        let ticks = text.len() - language.len();
        let is_fence = ticks >= 3 && !language.contains('`');
        let language = language.trim();
        is_fence.then_some(Self { indent: line.len() - text.len(), ticks, language })
    }

    /// Backticks deeper inside than the fence that opened belong to the code, a docstring say.
    fn closes(&self, first: &Self) -> bool {
        self.language.is_empty() && self.ticks >= first.ticks && self.indent <= first.indent
    }

    fn is_python(&self) -> bool {
        let language = self.language.split([' ', '{', ',']).next().unwrap_or_default();
        ["", "python", "py", "python3"].contains(&language.to_ascii_lowercase().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: &str) {
        assert_eq!(code(answer, "f"), expected);
    }

    #[test]
    fn the_last_block_that_defines_the_function_counts() {
        let first = "```python\ndef f(): return 1\n```\n";
        check(first, "def f(): return 1\n");
        check(
            &format!("Try\n{first}Better:\n```\ndef f(): return 2\n```\n"),
            "def f(): return 2\n",
        );
        check(&format!("{first}Call it:\n```python\nprint(f())\n```\n"), "def f(): return 1\n");
        check(&format!("{first}Or\n```js\ndef f(): 3\n```\n"), "def f(): return 1\n");
        check(&format!("{first}```py\ndef fun(): return 3\n```\n"), "def f(): return 1\n");
        check(&format!("{first}```Python\nf = lambda: 4\n```"), "f = lambda: 4\n");
    }

    #[test]
    fn fences_may_be_missing_open_or_indented() {
        check("def f(): return 1", "def f(): return 1");
        check("So:\n```python\ndef f():\n    return 1", "def f():\n    return 1\n");
        check(
            "1. So:\n   ```python\n   def f():\n       return 1\n   ```",
            "def f():\n    return 1\n",
        );
    }

    #[test]
    fn a_fence_inside_the_code_does_not_end_it() {
        let code = "def f():\n    '''\n    ```\n    f()\n    ```\n    '''\n";
        check(&format!("```python\n{code}```\nDone."), code);
        let code = "x = '''\n```\n'''\ndef f(): pass\n";
        check(&format!("````python\n{code}````\n"), code);
    }
}
