//! What of a long document is shown to a model?
//!
//! Documents that fit are shown whole. Where a neighborhood is longer than the context allows, its
//! members share the room like water: short ones keep all they have, long ones are cut to one level.
//! A document is cut by its structure: headings first, then the first paragraph under each, then
//! lines that state a rule, then the rest, as far as the room goes; what is kept stays in order, and
//! every cut is marked.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::chat::estimate_tokens;

/// Stands where something was left out.
pub const CUT: &str = "[…]";

/// A room smaller than this is not worth half a piece.
const LEAST_PIECE: usize = 24;

/// Divides `room` among parts that want so much each: nobody gets more than wanted, and nobody gets
/// less than another who wants at least as much.
pub fn share(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut shares = vec![0; wanted.len()];
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&at| (wanted[at], at));
    let mut left = room;
    for (served, &at) in order.iter().enumerate() {
        shares[at] = wanted[at].min(left / (order.len() - served));
        left -= shares[at];
    }
    shares
}

/// `text` in at most about `room` tokens.
pub fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    if estimate_tokens(text) <= room {
        return Cow::Borrowed(text);
    }
    let mark = estimate_tokens(CUT) + 1;
    let pieces = pieces(text);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|&at| (pieces[at].rank, at));
    let mut kept: Vec<Option<&str>> = vec![None; pieces.len()];
    // One mark at least: something will be missing.
    let mut left = room.saturating_sub(mark);
    for at in order {
        let whole = pieces[at].text;
        // A piece may leave a gap on each side; one more mark is the most it can add.
        let cost = estimate_tokens(whole) + 1 + mark;
        if cost <= left {
            kept[at] = Some(whole);
            left -= cost;
        } else if left > LEAST_PIECE + 2 * mark {
            let start = beginning(whole, left - 2 * mark);
            left = left.saturating_sub(estimate_tokens(start) + 1 + 2 * mark);
            kept[at] = Some(start);
        }
    }
    Cow::Owned(joined(&pieces, &kept))
}

fn joined(pieces: &[Piece<'_>], kept: &[Option<&str>]) -> String {
    let mut text = String::new();
    let mut cut = false;
    for (piece, kept) in pieces.iter().zip(kept) {
        let Some(kept) = kept else {
            cut = true;
            continue;
        };
        if cut {
            text.push_str(CUT);
            text.push('\n');
        }
        text.push_str(kept);
        text.push('\n');
        cut = kept.len() < piece.text.len();
    }
    if cut {
        text.push_str(CUT);
    }
    text
}

struct Piece<'a> {
    text: &'a str,
    rank: Rank,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Heading,
    First,
    Rule,
    Rest,
}

/// Headings, paragraphs, list items and code blocks, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut first = true;
    let mut push = |start: usize, end: usize, is_heading: bool| {
        let text = text[start..end].trim_end().trim_start_matches(['\r', '\n']);
        if text.trim().is_empty() {
            return;
        }
        let rank = match (is_heading, first) {
            (true, _) => Rank::Heading,
            (false, true) => Rank::First,
            (false, false) if RULE.is_match(text) => Rank::Rule,
            (false, false) => Rank::Rest,
        };
        first = is_heading;
        pieces.push(Piece { text, rank });
    };
    let (mut start, mut at, mut in_code) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let end = at + line.len();
        if in_code {
            if fence {
                push(start, end, false);
                start = end;
                in_code = false;
            }
        } else if fence {
            push(start, at, false);
            start = at;
            in_code = true;
        } else if is_heading(trimmed) {
            push(start, at, false);
            push(at, end, true);
            start = end;
        } else if trimmed.is_empty() || is_item(trimmed) {
            push(start, at, false);
            start = at;
        }
        at = end;
    }
    push(start, text.len(), false);
    pieces
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with(' ')
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || line.starts_with("| ")
        || (number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") ")))
}

/// What obliges, forbids, limits or computes.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"\b(?:must|never|always|only|required?|do not|don't|cannot|shall|unless|instead|at least|at most|use when|not for|formula)\b";
    let chinese = "必须|不得|禁止|仅|只能|只用|应当|不要|不适用|适用|公式|至少|至多|除非";
    Regex::new(&format!(r"(?i){words}|{chinese}|\S\s*(?:=|≤|≥|<=|>=|×|÷)\s*\S"))
        .expect("a valid pattern")
});

/// The start of a text in so many tokens, ended at a word.
fn beginning(text: &str, room: usize) -> &str {
    let mut end = 0;
    let mut last_gap = 0;
    let (mut ascii, mut others) = (0, 0);
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            ascii += 1;
        } else {
            others += 1;
        }
        if usize::div_ceil(ascii * 2, 7) + others > room {
            break;
        }
        end = at + c.len_utf8();
        if c.is_whitespace() || !c.is_ascii() {
            last_gap = end;
        }
    }
    // A text without gaps is cut where it must be.
    text[..if last_gap > 0 { last_gap } else { end }].trim_end()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn room_is_shared_like_water() {
        assert_eq!(share(&[10, 20, 30], 100), [10, 20, 30]);
        assert_eq!(share(&[10, 90, 90], 100), [10, 45, 45]);
        assert_eq!(share(&[90, 5, 90, 15], 60), [20, 5, 20, 15]);
        assert_eq!(share(&[], 60), [0; 0]);
        assert_eq!(share(&[7, 7, 7], 0), [0, 0, 0]);
    }

    const DOCUMENT: &str = "\
# QT correction

Corrects a QT interval for heart rate with the square root of RR.

More about the history of the formula, which is long and which nobody needs in order to tell it from another.

## Steps

Take RR in seconds.

- Read the tracing twice and average what was read, as any careful person would.
- QTc = QT / sqrt(RR)

## Limits

Unreliable above 100 bpm.

```
an example that goes on and on and on and on and on and on and on
```
";

    #[test]
    fn structure_decides_what_stays() {
        assert_eq!(shorten(DOCUMENT, 1000), DOCUMENT);
        expect![[r#"
            # QT correction
            Corrects a QT interval for heart rate with the square root of RR.
            […]
            ## Steps
            Take RR in seconds.
            […]
            - QTc = QT / sqrt(RR)
            ## Limits
            Unreliable above 100 bpm.
            […]"#]]
        .assert_eq(&shorten(DOCUMENT, 95));
    }

    #[test]
    fn one_long_paragraph_keeps_its_start() {
        let text = "word ".repeat(400);
        let short = shorten(&text, 60);
        assert!(short.starts_with("word word") && short.ends_with(CUT), "{short}");
        assert!(estimate_tokens(&short) > 30, "{short}");
    }

    proptest! {
        #[test]
        fn what_is_short_enough_fits(text in "(# a|[a-z ]{0,40}|年终奖|必须 x|- item|```|\n){0,60}", room in 8_usize..200) {
            let short = shorten(&text, room);
            prop_assert!(estimate_tokens(&short) <= room, "{} > {room}: {short}", estimate_tokens(&short));
            prop_assert_eq!(&*short == text.as_str(), estimate_tokens(&text) <= room || short.as_ref() == text);
            if estimate_tokens(&text) > room && !text.trim().is_empty() {
                prop_assert!(short.contains(CUT));
            }
        }

        #[test]
        fn nobody_is_robbed(wanted in proptest::collection::vec(0_usize..500, 0..11), room in 0_usize..2000) {
            let shares = share(&wanted, room);
            let all: usize = shares.iter().sum();
            prop_assert!(all <= room);
            prop_assert!(shares.iter().zip(&wanted).all(|(got, want)| got <= want));
            // Water finds its level: whoever was cut got no less than anybody else, but for rounding.
            let top = shares.iter().copied().max().unwrap_or(0);
            for (got, want) in shares.iter().zip(&wanted) {
                prop_assert!(got == want || got + 1 >= top, "{shares:?} of {wanted:?}");
            }
        }
    }
}
