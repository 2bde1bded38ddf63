//! How does a stranger's text get onto a page?
//!
//! Names of libraries and skills are other people's words: they are shown as they are, and nothing in
//! them is obeyed.

/// One line without control characters, and without marks that turn the reading direction around.
pub(crate) fn plain(text: &str) -> String {
    let shown: String = text.chars().filter_map(visible).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As text of an HTML page, in an element or in a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars().filter_map(visible) {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// As text of a cell of a Markdown table.
pub(crate) fn markdown(text: &str) -> String {
    let text: Vec<char> = plain(text).chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (at, &character) in text.iter().enumerate() {
        let is_word = |at: Option<usize>| {
            at.and_then(|at| text.get(at)).is_some_and(|&beside| beside.is_alphanumeric())
        };
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => escaped.extend(['\\', character]),
            // Within a word an underscore is nothing but itself.
            '_' if !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))) => {
                escaped.push_str("\\_");
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// The character as it may be shown, if it may.
fn visible(character: char) -> Option<char> {
    match character {
        '\u{2028}' | '\u{2029}' => Some(' '),
        _ if character.is_control() => Some(' '),
        '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => None,
        // These may not stand in XML.
        '\u{FFFE}' | '\u{FFFF}' => None,
        _ => Some(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_obeyed() {
        let name = "<img src=x onerror=\"alert('1')\">\u{0}|\u{202E}&";
        assert_eq!(html(name), "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; |&amp;");
        assert_eq!(markdown(name), "&lt;img src=x onerror=\"alert('1')\"&gt; \\|&amp;");
        assert_eq!(plain(" two\n lines\u{7} "), "two lines");
    }

    #[test]
    fn markdown_leaves_common_names_as_they_are() {
        assert_eq!(markdown("top_k"), "top_k");
        assert_eq!(markdown("__init__"), "\\_\\_init\\_\\_");
        assert_eq!(markdown("a*b `c` [d](e)"), "a\\*b \\`c\\` \\[d\\](e)");
    }
}
