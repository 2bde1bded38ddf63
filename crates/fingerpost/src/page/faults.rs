//! What would a person object to at once, reading a page?
//!
//! None of it keeps a page from being used: a page that reads badly still finds its skill. It is noted, and `page
//! review` counts it over the whole library. The messages can be sent to a model.

use std::sync::LazyLock;

use regex::Regex;

use super::Page;
use super::check::{Failure, copies};
use super::readable::{begins_small, has_address, has_markup, has_verb, is_cut, is_formula};
use crate::skill::Skill;

/// The rules of this file.
pub(super) const RULES: [&str; 7] =
    ["fragment", "lower-case", "url", "raw-markup", "use-when", "repeats-description", "no-rule"];

/// A case that says when to use a skill instead of which request is another's.
static USE_WHEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:also |please )?(?:use|apply|invoke|activate|trigger)s?(?: (?:this|it|the)(?: skill| tool)?)? (?:when|whenever|if|on)\b|^(?:triggers?|keywords?)\s*:|^(?:当|在).{0,12}时使用|^适用于")
        .expect("a valid pattern")
});

/// Everything that reads badly, in the order of the fields.
pub(super) fn faults(page: &Page, skill: &Skill) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut note = |rule: &str, message: String| {
        let failure = Failure::new(rule, message);
        if !found.contains(&failure) {
            found.push(failure);
        }
    };
    let cases = page.boundary.iter().map(|case| ("boundary", case.request.as_str()));
    let fields = [("trigger", page.trigger.as_str()), ("body", page.body.as_str())];
    for (field, text) in fields.into_iter().chain(cases).filter(|(_, text)| !text.is_empty()) {
        let shown: String = text.chars().take(SHOWN).collect();
        if is_cut(text) {
            note("fragment", format!("the {field} breaks off ('{shown}'); write whole sentences"));
        }
        // A case is half a sentence by its form, and so may begin small.
        if field != "boundary" && begins_small(text) {
            note(
                "lower-case",
                format!(
                    "a sentence of the {field} begins small ('{shown}'); write whole sentences"
                ),
            );
        }
        if has_address(text) {
            note(
                "url",
                format!("the {field} holds an address ('{shown}'); say what is there instead"),
            );
        }
        if has_markup(text) {
            note(
                "raw-markup",
                format!("the {field} holds markup ('{shown}'); write plain sentences"),
            );
        }
        if field == "boundary" && USE_WHEN.is_match(text) {
            note(
                "use-when",
                format!(
                    "a case of the boundary says when to use a skill ('{shown}'); say which request is another's"
                ),
            );
        }
    }
    if repeats(page, skill) {
        note("repeats-description", "the trigger says the description again; say which requests select the skill, or leave it empty".into());
    }
    if !page.body.is_empty() && !has_verb(&page.body) && !is_formula(&page.body) {
        note(
            "no-rule",
            "the body has neither a verb nor a formula; give the rule that makes the skill itself"
                .into(),
        );
    }
    found
}

/// Characters of a text that a message shows.
const SHOWN: usize = 60;

/// Is the trigger the description, in the same words?
fn repeats(page: &Page, skill: &Skill) -> bool {
    !page.trigger.is_empty() && copies(&page.trigger, skill)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::page::name::tests::skill;

    fn rules(trigger: &str, case: &str, body: &str) -> Vec<String> {
        let boundary = if case.is_empty() { vec![] } else { vec![Case::new(case, None)] };
        let page = Page { trigger: trigger.into(), boundary, body: body.into() };
        let of = skill("a", "a", "Merges PDF files in the order they are given.", "");
        faults(&page, &of).into_iter().map(|fault| fault.rule).collect()
    }

    #[test]
    fn each_fault_is_seen() {
        let none: [&str; 0] = [];
        assert_eq!(
            rules("Several scans belong together.", "Splitting a file", "Keep bookmarks."),
            none
        );
        assert_eq!(rules("", "", ""), none);
        assert_eq!(rules("and voice data. systems of theirs.", "", ""), ["lower-case"]);
        assert_eq!(rules("", "Splitting a file (into", ""), ["fragment"]);
        assert_eq!(rules("", "", "See https://x.y for it."), ["url"]);
        assert_eq!(rules("", "", "![Packaging status](x.svg) is shown."), ["raw-markup"]);
        assert_eq!(rules("", "Also use when the user mentions GA4", ""), ["use-when"]);
        assert_eq!(rules("Merges PDF files in the given order.", "", ""), ["repeats-description"]);
        assert_eq!(rules("", "", "Packaging status"), ["no-rule"]);
    }

    #[test]
    fn no_fault_keeps_a_page_from_being_used() {
        assert!(RULES.iter().all(|rule| !Failure::new(rule, "").breaks()));
    }
}
