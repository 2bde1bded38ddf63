//! Where does a sentence end?

/// Cuts a paragraph after each sentence, but not within "e.g. x" or "i.e. x".
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let end = at + c.len_utf8();
        let spaced = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        let full = matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?') && spaced && !abbreviates(&text[start..end]));
        if full {
            found.push(text[start..end].trim());
            start = end;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn abbreviates(text: &str) -> bool {
    let word = text.rsplit([' ', '(', ',']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(
        word.as_str(),
        "e.g." | "i.e." | "etc." | "vs." | "cf." | "no." | "fig." | "eq." | "dr." | "approx."
    ) || (word.len() == 2 && word.starts_with(|c: char| c.is_ascii_digit()) && text.len() == 2)
}

/// The first sentence of a text, without what ends it.
pub(crate) fn first_sentence(text: &str) -> &str {
    let end = text.char_indices().find_map(|(at, c)| {
        let after = &text[at + c.len_utf8()..];
        let ends = matches!(c, '。' | '！' | '？' | '\n')
            || matches!(c, '.' | '!' | '?' | ';') && after.starts_with(char::is_whitespace);
        ends.then_some(at)
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_is_the_request() {
        assert_eq!(first_sentence("Fill in a form. Not for scans."), "Fill in a form");
        assert_eq!(first_sentence("按月计税。不适用于劳务。"), "按月计税");
        assert_eq!(first_sentence("v1.2 of it"), "v1.2 of it");
    }
}
