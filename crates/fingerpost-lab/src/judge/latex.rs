//! How does mathematics read when LaTeX and Unicode are written as plain text?
//!
//! `\frac{1}{2}` becomes `((1)/(2))`, `10^{-3}` becomes `10^(-3)`, `√2` becomes `sqrt 2`. What is plain
//! already stays as it is, so gold answers and answers of models go through the same door.

/// Characters of a text that are looked at.
const MAX_TEXT: usize = 4000;

/// Depth of braces.
const MAX_DEPTH: usize = 24;

/// A space inside a number: `1\,000`.
pub(crate) const THIN_SPACE: char = '\u{2009}';

/// The text in plain characters.
pub(crate) fn plain(text: &str) -> String {
    let letters: Vec<char> = text.chars().take(MAX_TEXT).collect();
    let mut writer = Writer { letters: &letters, at: 0, depth: 0, written: String::new() };
    while writer.at < letters.len() {
        writer.step();
    }
    times_ten(&writer.written)
}

struct Writer<'a> {
    letters: &'a [char],
    at: usize,
    depth: usize,
    written: String,
}

impl Writer<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Writes what stands here.
    fn step(&mut self) {
        let Some(letter) = self.peek() else { return };
        self.at += 1;
        match letter {
            '\\' => self.command(),
            // LaTeX's way to write a thousands separator.
            '{' if self.letters[self.at..].starts_with(&[',', '}']) => {
                self.at += 2;
                self.write(",");
            }
            '$' | '~' => self.write(if letter == '~' { " " } else { "" }),
            '^' | '_' => self.script(letter),
            '&' if self.inside_matrix() => self.write(","),
            '−' | '‒' | '‐' | '‑' => self.write("-"),
            '–' => self.en_dash(),
            '×' | '·' | '∙' | '⋅' | '∗' => self.write("*"),
            '÷' => self.write("/"),
            'π' => self.write(" pi "),
            '√' => self.write(" sqrt "),
            '∞' => self.write(" inf "),
            '…' | '⋯' => self.write("..."),
            '≃' | '≅' | '≐' => self.write("≈"),
            '⩽' => self.write("≤"),
            '⩾' => self.write("≥"),
            '⌊' => self.write(" floor("),
            '⌈' => self.write(" ceil("),
            '⌋' | '⌉' => self.write(")"),
            '½' => self.write("(1/2)"),
            '¼' => self.write("(1/4)"),
            '¾' => self.write("(3/4)"),
            '⅓' => self.write("(1/3)"),
            '⅔' => self.write("(2/3)"),
            '“' | '”' => self.write("\""),
            '’' | '‘' => self.write("'"),
            '\u{a0}' | '\u{202f}' | THIN_SPACE => self.written.push(THIN_SPACE),
            _ => match (superscript(letter), subscript(letter)) {
                (Some(_), _) => self.superscripts(),
                (_, Some(digit)) => self.written.extend(['_', digit]),
                _ => self.written.push(letter),
            },
        }
    }

    fn write(&mut self, text: &str) {
        self.written.push_str(text);
    }

    /// Between two numbers it means "to"; elsewhere it is a minus sign.
    fn en_dash(&mut self) {
        let before = self.written.trim_end().chars().next_back();
        let after = self.letters[self.at..].iter().find(|letter| !letter.is_whitespace());
        let is_range = before.is_some_and(|letter| letter.is_ascii_digit())
            && after.is_some_and(char::is_ascii_digit);
        self.write(if is_range { "–" } else { "-" });
    }

    /// `^` and `_` with what belongs to them.
    fn script(&mut self, mark: char) {
        if self.peek() == Some('{') {
            let content = self.argument();
            match content.trim() {
                "°" => self.write("°"),
                content => self.write(&format!("{mark}({content})")),
            }
        } else if self.letters[self.at..].starts_with(&['\\', 'c', 'i', 'r', 'c']) {
            self.at += 5;
            self.write("°");
        } else {
            self.written.push(mark);
        }
    }

    fn superscripts(&mut self) {
        self.at -= 1;
        let mut content = String::new();
        while let Some(letter) = self.peek().and_then(superscript) {
            content.push(letter);
            self.at += 1;
        }
        self.write(&format!("^({content})"));
    }

    /// The next argument of a command: a group, a command, or one character.
    fn argument(&mut self) -> String {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        if self.depth >= MAX_DEPTH {
            // Always a step ahead, or a loop over arguments would never end.
            self.at += 1;
            return String::new();
        }
        let before = std::mem::take(&mut self.written);
        self.depth += 1;
        if self.peek() == Some('{') {
            self.at += 1;
            while let Some(letter) = self.peek() {
                if letter == '}' {
                    self.at += 1;
                    break;
                }
                if letter == '{' {
                    let content = self.argument();
                    self.write(&format!("({content})"));
                } else {
                    self.step();
                }
            }
        } else {
            self.step();
        }
        self.depth -= 1;
        std::mem::replace(&mut self.written, before)
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.peek().filter(char::is_ascii_alphabetic) {
            name.push(letter);
            self.at += 1;
        }
        name
    }

    fn command(&mut self) {
        let name = self.name();
        if name.is_empty() {
            let mark = self.peek();
            self.at += 1;
            match mark {
                Some(',') => self.written.push(THIN_SPACE),
                Some('\\') => self.write(", "),
                Some(mark @ ('{' | '}' | '%' | '&' | '_')) => self.written.push(mark),
                _ => self.write(" "),
            }
            return;
        }
        match name.as_str() {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let (above, below) = (self.argument(), self.argument());
                self.write(&format!("(({above})/({below}))"));
            }
            "binom" | "dbinom" | "tbinom" => {
                let (above, below) = (self.argument(), self.argument());
                self.write(&format!(" C({above}, {below})"));
            }
            "sqrt" => self.root(),
            "pmod" => {
                let modulus = self.argument();
                self.write(&format!(" (mod {modulus})"));
            }
            "begin" => self.begin(),
            "end" => {
                let environment = self.argument();
                self.write(if environment == "cases" { " " } else { "]" });
            }
            "text" | "textbf" | "textit" | "textrm" | "mathrm" | "mathbf" | "mathit" | "mathsf"
            | "mbox" | "operatorname" | "boldsymbol" | "boxed" | "bf" => {
                let content = self.argument();
                self.write(&content);
            }
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "Bigl" | "Bigr" => {
                if self.peek() == Some('.') {
                    self.at += 1;
                }
            }
            "displaystyle" | "textstyle" | "limits" => {}
            _ => self.write(symbol(&name).unwrap_or(&format!(" {name} "))),
        }
    }

    fn root(&mut self) {
        let mut degree = String::new();
        if self.peek() == Some('[') {
            self.at += 1;
            while let Some(letter) = self.peek() {
                self.at += 1;
                if letter == ']' {
                    break;
                }
                degree.push(letter);
            }
        }
        let content = self.argument();
        match degree.is_empty() {
            true => self.write(&format!(" sqrt({content})")),
            false => self.write(&format!("(({content})^(1/({degree})))")),
        }
    }

    fn begin(&mut self) {
        let environment = self.argument();
        if environment == "array" {
            self.argument();
        }
        self.write(if environment == "cases" { " cases " } else { "[" });
    }

    fn inside_matrix(&self) -> bool {
        let opened = self.written.rfind('[');
        opened.is_some_and(|at| !self.written[at..].contains(']'))
    }
}

/// The plain form of a command that takes nothing.
fn symbol(name: &str) -> Option<&'static str> {
    Some(match name {
        "cdot" | "times" | "ast" => "*",
        "div" => "/",
        "pm" => "±",
        "le" | "leq" | "leqslant" => "≤",
        "ge" | "geq" | "geqslant" => "≥",
        "lt" => "<",
        "gt" => ">",
        "ne" | "neq" => "≠",
        "approx" | "simeq" | "approxeq" | "sim" => "≈",
        "equiv" => "≡",
        "in" => "∈",
        "infty" => " inf ",
        "emptyset" | "varnothing" => "∅",
        "ldots" | "cdots" | "dots" | "dotsc" | "dotsb" => "...",
        "quad" | "qquad" => " ",
        "lfloor" => " floor(",
        "lceil" => " ceil(",
        "rfloor" | "rceil" => ")",
        "langle" | "lbrack" => "[",
        "rangle" | "rbrack" => "]",
        "lbrace" => "{",
        "rbrace" => "}",
        "vert" | "lvert" | "rvert" | "mid" => "|",
        "circ" | "degree" => "°",
        "bmod" | "mod" => " mod ",
        _ => return None,
    })
}

fn superscript(letter: char) -> Option<char> {
    Some(match letter {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴'..='⁹' => char::from_digit(letter as u32 - '⁰' as u32, 10)?,
        '⁻' => '-',
        '⁺' => '+',
        'ⁿ' => 'n',
        _ => return None,
    })
}

fn subscript(letter: char) -> Option<char> {
    match letter {
        '₀'..='₉' => char::from_digit(letter as u32 - '₀' as u32, 10),
        _ => None,
    }
}

/// "3 x 10^5" is a product.
fn times_ten(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut written = String::with_capacity(text.len());
    for (at, letter) in letters.iter().enumerate() {
        let is_sign = matches!(letter, 'x' | 'X')
            && letters[..at]
                .iter()
                .rev()
                .find(|before| **before != ' ')
                .is_some_and(char::is_ascii_digit)
            && is_power_of_ten(&letters[at + 1..]);
        written.push(if is_sign { '*' } else { *letter });
    }
    written
}

fn is_power_of_ten(letters: &[char]) -> bool {
    let mut rest = letters.iter().filter(|letter| **letter != ' ').take(3);
    rest.next() == Some(&'1') && rest.next() == Some(&'0') && rest.next() == Some(&'^')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_and_unicode_become_plain() {
        for (text, expected) in [
            (r"\frac{1}{2}", "((1)/(2))"),
            (r"$\dfrac12$", "((1)/(2))"),
            (r"\sqrt{2}", " sqrt(2)"),
            (r"\sqrt[3]{x+1}", "((x+1)^(1/(3)))"),
            (r"3 \times 10^{-3}", "3 * 10^(-3)"),
            ("3 x 10^5", "3 * 10^5"),
            ("1.2×10⁻³", "1.2*10^(-3)"),
            (r"\binom{n+1}{2m+1}", " C(n+1, 2m+1)"),
            (r"\left\lfloor \frac{n}{2} \right\rfloor!", " floor( ((n)/(2)) )!"),
            (r"\{1, 4\}", "{1, 4}"),
            (r"\begin{pmatrix} 8 \\ 0 \end{pmatrix}", "[ 8 ,  0 ]"),
            (r"90^\circ", "90°"),
            (r"\text{(b)}", "(b)"),
            ("5–7", "5–7"),
            ("x – 1", "x - 1"),
            (r"2^{2^{n}}", "2^(2^(n))"),
            (r"12\%", "12%"),
            ("", ""),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        plain(&r"\frac{".repeat(5000));
        plain(&"^{".repeat(5000));
        plain(&r"\sqrt".repeat(5000));
    }
}
