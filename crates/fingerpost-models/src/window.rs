//! How is a text made to fit the tokens that a model reads?
//!
//! A plain text loses its end. A text with a page loses the end of its head, the document, and
//! never its tail, the page: with a short window the page would otherwise be what is cut.

use fingerpost::chat::estimate_tokens;
use tokenizers::{Tokenizer, TruncationParams};

/// No text is read further, however large the window: the rest of a megabyte would only be
/// tokenized to be thrown away.
pub(crate) const MAX_CHARACTERS: usize = 32_768;

/// Reads a tokenizer and replaces the cutting and padding that its file may have baked in.
pub(crate) fn tokenizer(bytes: &[u8], max_tokens: usize) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
    let cut = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(cut)).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// The first characters of a text.
pub(crate) fn first_characters(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// `head`, a line break and `tail`, with as much of the head's start as fits in so many tokens
/// (special ones counted). The tail stays whole even if it does not fit by itself.
pub fn fit_window(head: &str, tail: &str, max_tokens: usize, tokenizer: &Tokenizer) -> String {
    let mut whole = tokenizer.clone();
    whole.with_padding(None);
    whole.with_truncation(None).expect("leaving texts whole is always possible");
    let count = |text: &str| {
        whole.encode_fast(text, true).map_or(usize::MAX, |encoded| encoded.get_ids().len())
    };
    let joined = |head: &str| join(head, tail);
    let head = beside(head, tail);
    let Ok(encoded) = whole.encode(head, false) else { return joined("") };
    // Where each token of the head ends, in bytes; the join may cost a token more than its parts.
    let ends: Vec<usize> = encoded.get_offsets().iter().map(|&(_, end)| end).collect();
    let mut kept = ends.len().min(max_tokens.saturating_sub(count(tail)));
    if kept == ends.len() && count(&joined(head)) <= max_tokens {
        return joined(head);
    }
    while kept > 0 {
        let text = joined(&head[..head.floor_char_boundary(ends[kept - 1])]);
        let over = count(&text).saturating_sub(max_tokens);
        if over == 0 {
            return text;
        }
        kept = kept.saturating_sub(over);
    }
    joined("")
}

/// The same, for a model whose tokens only its server can count: they are estimated, rather too many
/// than too few.
pub(crate) fn fit_estimated(head: &str, tail: &str, max_tokens: usize, prefix: &str) -> String {
    let head = beside(head, tail);
    let taken = estimate_tokens(prefix) + estimate_tokens(tail) + SPECIAL_TOKENS;
    let room = max_tokens.saturating_sub(taken);
    if estimate_tokens(head) <= room {
        return join(head, tail);
    }
    // The longest start whose estimate fits: estimates grow with a text.
    let ends: Vec<usize> = head.char_indices().map(|(at, _)| at).collect();
    let fits = ends.partition_point(|&end| estimate_tokens(&head[..end]) <= room);
    join(&head[..fits.checked_sub(1).map_or(0, |last| ends[last])], tail)
}

/// Tokens that models put around a text, and one for the line break within.
const SPECIAL_TOKENS: usize = 4;

/// As much of a head as is read at all, with the tail.
fn beside<'a>(head: &'a str, tail: &str) -> &'a str {
    first_characters(head, MAX_CHARACTERS.saturating_sub(tail.chars().count() + 1))
}

fn join(head: &str, tail: &str) -> String {
    match (head.trim_end(), tail) {
        ("", tail) => tail.to_owned(),
        (head, "") => head.to_owned(),
        (head, tail) => format!("{head}\n{tail}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tokenizer of single words between two special tokens, which bakes in a window of two.
    pub(crate) const WORDS: &str = r###"{"version":"1.0",
        "truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},
        "padding":{"strategy":{"Fixed":9},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"[PAD]"},
        "added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Whitespace"},
        "post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},"decoder":null,
        "model":{"type":"WordLevel","unk_token":"[UNK]",
            "vocab":{"[PAD]":0,"[CLS]":1,"[SEP]":2,"[UNK]":3,"a":4,"b":5,"c":6,"d":7,"e":8}}}"###;

    #[test]
    fn baked_in_limits_are_replaced() {
        let words = tokenizer(WORDS.as_bytes(), 5).unwrap();
        let ids = |text| words.encode(text, true).unwrap().get_ids().to_vec();
        assert_eq!(ids("a b"), [1, 4, 5, 2]);
        assert_eq!(ids("a b c d e"), [1, 4, 5, 6, 2]);
    }

    #[test]
    fn the_head_gives_way_and_the_tail_stays() {
        let words = tokenizer(WORDS.as_bytes(), 5).unwrap();
        let check = |head, tail, max, expected| {
            assert_eq!(fit_window(head, tail, max, &words), expected);
        };
        check("a b c", "d e", 7, "a b c\nd e");
        check("a b c", "d e", 6, "a b\nd e");
        check("a b c", "d e", 4, "d e");
        check("a b c", "d e", 3, "d e");
        check("a b c", "", 4, "a b");
        check("", "d e", 9, "d e");
        check("é ü 年", "d", 5, "é ü\nd");
    }

    #[test]
    fn an_estimate_keeps_the_tail_too() {
        let long = "word ".repeat(20_000);
        for (max_tokens, at_least) in [(512, 1200), (8192, 25_000), (1 << 20, 32_000)] {
            let text = fit_estimated(&long, "the page", max_tokens, "passage: ");
            assert!(text.ends_with("\nthe page") && text.starts_with("word word"));
            assert!(text.len() > at_least && text.len() <= MAX_CHARACTERS, "{}", text.len());
            assert!(estimate_tokens(&text) < max_tokens);
        }
        let whole = fit_estimated("年终奖", "tail", 512, "");
        assert_eq!(whole, "年终奖\ntail");
        assert_eq!(fit_estimated(&long, "the page", 3, ""), "the page", "the page stays whole");
        assert_eq!(fit_estimated("年终奖计税", "", 6, ""), "年终");
    }
}
