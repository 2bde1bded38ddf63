//! How wide is a text, and where does it break?
//!
//! Nobody knows which font a reader has. Widths are those of a wide one, so that a text never needs more
//! room than it was given.

use crate::escape::plain;

/// How wide a text is at this size, at most.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(ems).sum::<f64>() * size
}

/// The text in lines of at most this width. What does not fit into the last line is cut, and shown to be.
pub(super) fn wrap(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut wrapped = vec![String::new()];
    for piece in pieces(&plain(text)) {
        let line = wrapped.last_mut().expect("there is always one");
        if width(&format!("{line}{}", piece.trim_end()), size) <= most {
            line.push_str(&piece);
            continue;
        }
        if !line.is_empty() {
            wrapped.push(String::new());
        }
        // A piece that no line can hold breaks anywhere.
        for character in piece.chars() {
            let line = wrapped.last_mut().expect("there is always one");
            let is_full = width(&format!("{line}{character}"), size) > most;
            if is_full && character != ' ' && !line.is_empty() {
                wrapped.push(String::new());
            }
            wrapped.last_mut().expect("there is always one").push(character);
        }
    }
    let is_cut = wrapped.len() > lines;
    wrapped.truncate(lines.max(1));
    let last = wrapped.last_mut().expect("there is always one");
    if is_cut {
        while width(&format!("{}…", last.trim_end()), size) > most && last.pop().is_some() {}
        *last = format!("{}…", last.trim_end());
    }
    wrapped.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The widest part of a text that does not break by itself.
pub(super) fn widest_piece(text: &str, size: f64) -> f64 {
    pieces(&plain(text)).iter().map(|piece| width(piece.trim_end(), size)).fold(0.0, f64::max)
}

/// The widest of some lines.
pub(super) fn widest(lines: &[String], size: f64) -> f64 {
    lines.iter().map(|line| width(line, size)).fold(0.0, f64::max)
}

/// Parts between which a line may break, each with what ends it.
fn pieces(text: &str) -> Vec<String> {
    let breaks = |character: char| matches!(character, ' ' | '-' | '_' | '/' | ',' | ':' | '·');
    text.split_inclusive(breaks).map(str::to_owned).collect()
}

fn ems(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '\\' | '-' | '·' => 0.42,
        'm' | 'M' | 'W' | '%' | '@' | '…' | '—' => 1.0,
        'w' | 'N' | 'O' | 'Q' | 'G' | 'D' | 'H' | 'U' | '+' | '−' | '<' | '>' | '=' | '&' => 0.82,
        'A'..='Z' => 0.7,
        // Wide scripts, and pictures.
        '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' => 1.05,
        '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF60}' => 1.05,
        '\u{1F000}'..='\u{1FAFF}' | '\u{20000}'..='\u{3FFFD}' => 1.3,
        _ => 0.63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_within_what_is_too_long() {
        let lines = |text: &str, most: f64, lines: usize| wrap(text, 10.0, most, lines).join("|");
        assert_eq!(lines("one two three", 50.0, 3), "one two|three");
        assert_eq!(lines("skill-router-evaluation", 45.0, 9), "skill-|router-|evaluati|on");
        assert_eq!(lines("aaaaaaaaaaaa", 40.0, 9), "aaaaaa|aaaaaa");
        assert_eq!(lines("one two three four", 50.0, 2), "one two|three f…".replace(" f", ""));
        assert_eq!(lines("", 50.0, 2), "");
        for most in [5.0, 40.0, 90.0] {
            let text = "a-long_name/of,some:library with many Wide LETTERS and 數字";
            for line in wrap(text, 10.0, most, 9) {
                let fits = width(&line, 10.0) <= most || line.chars().count() <= 2;
                assert!(fits, "{line} in {most}");
            }
        }
    }
}
