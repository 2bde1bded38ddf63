//! Where does a sentence end?
//!
//! At a mark of its language: a Chinese one wherever it stands, another one before a gap, so that "v1.2"
//! and "3.5 mg" stay whole. There is one walk over the marks; who asks says how much ends a part.

/// What ends a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The end of a sentence, but not that of "e.g." or "approx.".
    Sentence,
    /// The end of a sentence for somebody who reads it alone: with the quotation mark or bracket that closes it, and not
    /// before a word that goes on.
    Whole,
    /// A semicolon and the end of a line too. Abbreviations end a part as well: what is cut in two here
    /// is only scored or left out, and nobody reads it.
    Part,
}

/// Cuts a text after each stop. The parts, joined, are the text.
pub(crate) fn parts(text: &str, stop: Stop) -> impl Iterator<Item = &str> {
    let mut stops = stops(text, stop);
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = stops.next().map_or(text.len(), |(_, end)| end);
        let part = &text[start..end];
        start = end;
        (!part.is_empty()).then_some(part)
    })
}

/// The sentences of a paragraph, without the gaps between them.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    parts(text, Stop::Sentence).map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}

/// The sentences of a paragraph, each as somebody reads it who sees no other.
pub(crate) fn whole_sentences(text: &str) -> Vec<&str> {
    parts(text, Stop::Whole).map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}

/// The first part of a text, without what ends it.
pub(crate) fn first_sentence(text: &str) -> &str {
    &text[..stops(text, Stop::Part).next().map_or(text.len(), |(start, _)| start)]
}

/// Where each mark that ends a part starts and ends.
fn stops(text: &str, stop: Stop) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    text.char_indices().filter_map(move |(at, c)| {
        let mut end = at + c.len_utf8();
        let before_gap = || text[end..].starts_with(char::is_whitespace);
        let ends = match (c, stop) {
            ('。' | '！' | '？', _) | ('；' | '\n', Stop::Part) => true,
            ('.' | '!' | '?', Stop::Sentence) => before_gap() && !abbreviates(&text[start..end]),
            ('.' | '!' | '?', Stop::Whole) => {
                let closes = closing(&text[end..]);
                let rest = &text[end + closes..];
                let so_far = &text[start..end];
                let shortened = match so_far.ends_with("etc.") {
                    true => begins_small(rest),
                    false => abbreviates(so_far) || is_shortened(so_far),
                };
                let ends = !shortened && goes_on_anew(rest);
                end += closes;
                ends
            }
            ('.' | '!' | '?' | ';', Stop::Part) => before_gap(),
            _ => false,
        };
        ends.then(|| {
            start = end;
            (at, end)
        })
    })
}

/// How much of what follows a mark closes what stands before it.
fn closing(rest: &str) -> usize {
    rest.len() - rest.trim_start_matches(['"', '”', '\'', '’', ')', '*', '_']).len()
}

fn begins_small(rest: &str) -> bool {
    rest.trim_start().starts_with(char::is_lowercase)
}

/// Does a new sentence follow, after a gap? One that begins small does not: "Node.js vs. deno", "the .env
/// file", "Inc. and others".
fn goes_on_anew(rest: &str) -> bool {
    let gap = rest.starts_with(char::is_whitespace);
    let next = rest.trim_start();
    let word = next.split(char::is_whitespace).next().unwrap_or_default();
    // A command or a name may be small: only a plain word goes on.
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    gap && !(plain && CONTINUES.contains(&word))
}

/// Words that seldom begin a sentence, and never a small one.
const CONTINUES: [&str; 16] = [
    "and", "are", "as", "but", "by", "for", "from", "in", "is", "nor", "of", "or", "than", "that",
    "to", "with",
];

/// Does a sentence so far end with a shortened word, or is it the number of an item?
fn abbreviates(sentence: &str) -> bool {
    matches!(
        last_word(sentence).as_str(),
        "e.g." | "i.e." | "etc." | "vs." | "cf." | "no." | "fig." | "eq." | "dr." | "approx."
    ) || (sentence.len() == 2 && sentence.starts_with(|c: char| c.is_ascii_digit()))
}

/// More of them, of names and measures.
fn is_shortened(sentence: &str) -> bool {
    const SHORT: [&str; 12] = [
        "incl.", "inc.", "max.", "min.", "mr.", "mrs.", "resp.", "st.", "al.", "u.s.", "a.k.a.",
        "w.r.t.",
    ];
    SHORT.contains(&last_word(sentence).as_str())
}

fn last_word(sentence: &str) -> String {
    sentence.rsplit([' ', '(', ',']).next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_their_marks() {
        assert_eq!(
            sentences("Use v1.2 of it. Works!  Really? yes"),
            ["Use v1.2 of it.", "Works!", "Really?", "yes"]
        );
        assert_eq!(
            sentences("See e.g. page 3; it helps. 1. Open it."),
            ["See e.g. page 3; it helps.", "1.", "Open it."]
        );
        assert_eq!(sentences("1. Open it."), ["1. Open it."]);
        assert_eq!(
            sentences("按月计税。不适用于劳务；另算！"),
            ["按月计税。", "不适用于劳务；另算！"]
        );
        assert_eq!(sentences(" \n"), [""; 0]);
    }

    #[test]
    fn whole_sentences_have_their_quotation_marks() {
        assert_eq!(
            whole_sentences(
                "Say \"review it.\" Then stop. (Or go on.) Apple Inc. and others. etc. Done"
            ),
            [
                "Say \"review it.\"",
                "Then stop.",
                "(Or go on.)",
                "Apple Inc. and others.",
                "etc.",
                "Done"
            ]
        );
        let text = "Uses \"GA4,\" or \"GTM.\" For forms, see it.";
        assert_eq!(whole_sentences(text), ["Uses \"GA4,\" or \"GTM.\"", "For forms, see it."]);
        assert_eq!(parts(text, Stop::Whole).collect::<String>(), text);
    }

    #[test]
    fn parts_joined_are_the_text() {
        let text = "Fill in forms; not scans. e.g. tax\n按月；计税。x";
        let found: Vec<&str> = parts(text, Stop::Part).collect();
        assert_eq!(
            found,
            ["Fill in forms;", " not scans.", " e.g.", " tax\n", "按月；", "计税。", "x"]
        );
        assert_eq!(found.concat(), text);
    }

    #[test]
    fn the_first_sentence_is_the_request() {
        assert_eq!(first_sentence("Fill in a form. Not for scans."), "Fill in a form");
        assert_eq!(first_sentence("Fill in a form."), "Fill in a form.");
        assert_eq!(first_sentence("按月计税。不适用于劳务。"), "按月计税");
        assert_eq!(first_sentence("按月计税；不适用于劳务。"), "按月计税");
        assert_eq!(first_sentence("v1.2 of it"), "v1.2 of it");
    }
}
