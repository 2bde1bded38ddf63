//! Is a conclusion of logic right: yes or no, or one of four choices?

use std::sync::LazyLock;

use regex::Regex;

use super::final_answer::FinalAnswer;
use super::latex::plain;
use super::words::{has_negation, number_word, truth};
use super::{Gold, JudgeError, Verdict};

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:choice|option)s?[\s_#(]*(?P<number>\d{1,3}|one|two|three|four)\b")
        .expect("a valid pattern")
});

/// A number that opens the answer: "4", "(4)", "4. He will …", "#4".
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:number\s*)?[(\[#]*(?P<number>\d{1,3})(?:$|[)\]:.,]+(?:\D|$)|\s*[-–—])")
        .expect("a valid pattern")
});

pub(super) fn verdict(gold: &Gold<'_>, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected = gold.text("answer")?;
    match gold.text("task_type")? {
        "BQA" => {
            let expected_truth =
                truth(expected).ok_or_else(|| gold.unreadable(expected, "yes or no"))?;
            let Some(found) = answer.statement(|reading| truth(&plain(reading))) else {
                return Ok(Verdict::wrong(format!("neither yes nor no in \"{}\"", answer.shown())));
            };
            Ok(Verdict::right_if(found == expected_truth, || {
                format!("\"{}\" is not {expected}", answer.shown())
            }))
        }
        "MCQA" => {
            let expected_choice =
                choice(expected).ok_or_else(|| gold.unreadable(expected, "a choice"))?;
            let Some(found) = answer.statement(choice) else {
                return Ok(Verdict::wrong(format!("no single choice in \"{}\"", answer.shown())));
            };
            Ok(Verdict::right_if(found == expected_choice, || {
                format!("choice {found} is not {expected}")
            }))
        }
        other => Err(gold.unknown_kind(other)),
    }
}

/// The one choice that a text names.
fn choice(text: &str) -> Option<u32> {
    let text = plain(text);
    let text = text.trim();
    let number = |found: regex::Captures<'_>| {
        let number = found.name("number")?.as_str();
        number.parse().ok().or_else(|| number_word(number))
    };
    if let Some(bare) = BARE.captures(text) {
        return number(bare);
    }
    let mut named = NAMED.captures_iter(text).filter_map(number);
    let first = named.next()?;
    // A text that opens with a choice means it, whatever it says of the others.
    let opens = NAMED
        .find(text)
        .is_some_and(|found| !text[..found.start()].contains(char::is_alphanumeric));
    let agrees = named.all(|other| other == first);
    (opens || (agrees && !has_negation(text))).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_in_several_spellings() {
        for (text, expected) in [
            ("choice_4", Some(4)),
            ("Choice 4", Some(4)),
            ("(4)", Some(4)),
            ("4", Some(4)),
            ("4. He will not be late", Some(4)),
            ("option 4", Some(4)),
            (r"\text{choice\_4}", Some(4)),
            ("choice_4: Luke takes a break", Some(4)),
            ("clearly choice_4", Some(4)),
            ("choice_4, since choice_2 is false", Some(4)),
            ("either choice_1 or choice_2", None),
            ("it cannot be choice_2", None),
            ("4 people are late", None),
            ("none", None),
        ] {
            assert_eq!(choice(text), expected, "{text}");
        }
    }
}
