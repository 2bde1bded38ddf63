//! What did a model answer?
//!
//! A server that enforces the form answers with one JSON object. Others wrap it in a fence, think
//! aloud before it, or add a sentence. What is around the object is taken off; what is wrong inside
//! it is repaired as a last resort, and that is counted. Everything else is an error that says what
//! the model should do better.

mod repair;

use serde::Deserialize;
use serde_json::Value;

use super::{Case, Page};
use crate::chat::{Finish, Reply};
use crate::skill::{Skill, SkillId};

/// An answer that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    /// What it says.
    pub value: T,
    /// It was no JSON, and had to be made into some.
    pub repaired: bool,
}

/// Why an answer could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// There is nothing in it.
    #[error("the answer is empty")]
    Blank,
    /// It was cut at the longest allowed.
    #[error("the answer was cut off before its end; be shorter")]
    Truncated,
    /// The model would not answer.
    #[error("the model declined to answer")]
    Withheld,
    /// There is no JSON object in it, not even a broken one.
    #[error("the answer holds no JSON object")]
    NoObject,
    /// The object has another form.
    #[error("the answer has not the form asked for: {message}")]
    Shape {
        /// What is wrong.
        message: String,
    },
    /// A page of the neighborhood is missing.
    #[error("the page of the skill \"{skill}\" is missing")]
    MissingSkill {
        /// Whose.
        skill: SkillId,
    },
    /// There is a page too many.
    #[error("\"{skill}\" is not one of the skills, or has two pages")]
    UnexpectedSkill {
        /// Whose, in the model's words.
        skill: String,
    },
}

impl ReplyError {
    /// Is it worth showing to the model? Otherwise it is simply asked again.
    pub fn is_instructive(&self) -> bool {
        !matches!(self, Self::Blank | Self::Truncated | Self::Withheld)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageForm {
    trigger: String,
    boundary: Vec<CaseForm>,
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseForm {
    request: String,
    // Required, though it may be null.
    #[serde(deserialize_with = "Option::deserialize")]
    skill: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PagesForm {
    pages: Vec<MemberForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberForm {
    skill: String,
    trigger: String,
    boundary: Vec<CaseForm>,
    body: String,
}

/// Reads the page of one skill.
pub fn page(reply: &Reply) -> Result<Parsed<Page>, ReplyError> {
    let Parsed { value, repaired } = object(reply)?;
    let PageForm { trigger, boundary, body } = form(value)?;
    Ok(Parsed { value: to_page(trigger, boundary, body), repaired })
}

/// Reads the pages of a neighborhood, in the order of its members.
pub fn pages(reply: &Reply, members: &[&Skill]) -> Result<Parsed<Vec<Page>>, ReplyError> {
    let Parsed { value, repaired } = object(reply)?;
    let PagesForm { pages } = form(value)?;
    let mut found: Vec<Option<Page>> = vec![None; members.len()];
    for MemberForm { skill, trigger, boundary, body } in pages {
        let place = members.iter().position(|member| member.id.as_str() == skill);
        match place.map(|at| &mut found[at]) {
            Some(place @ None) => *place = Some(to_page(trigger, boundary, body)),
            _ => return Err(ReplyError::UnexpectedSkill { skill }),
        }
    }
    let found = found.into_iter().zip(members);
    let found = found.map(|(page, member)| {
        page.ok_or_else(|| ReplyError::MissingSkill { skill: member.id.clone() })
    });
    Ok(Parsed { value: found.collect::<Result<_, _>>()?, repaired })
}

fn form<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, ReplyError> {
    serde_json::from_value(value).map_err(|error| ReplyError::Shape { message: error.to_string() })
}

fn to_page(trigger: String, boundary: Vec<CaseForm>, body: String) -> Page {
    let case = |CaseForm { request, skill }: CaseForm| Case {
        request: tidy(&request).trim_end_matches(['.', '。', ':', '：']).to_owned(),
        skill: skill.filter(|id| !id.is_empty()).map(SkillId::new),
    };
    Page {
        trigger: tidy(&trigger),
        boundary: boundary.into_iter().map(case).collect(),
        body: tidy(&body),
    }
}

/// Spaces and line breaks become single spaces, and characters that nobody sees go: models leave
/// them behind, and no check should fail for them.
fn tidy(text: &str) -> String {
    let seen = |c: &char| {
        let invisible = matches!(*c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}');
        c.is_whitespace() || !(c.is_control() || invisible)
    };
    let text: String = text.chars().filter(seen).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The JSON object of an answer.
fn object(reply: &Reply) -> Result<Parsed<Value>, ReplyError> {
    match reply.finish {
        Finish::Length => return Err(ReplyError::Truncated),
        Finish::Withheld => return Err(ReplyError::Withheld),
        Finish::Stop => {}
    }
    let text = without_thoughts(&reply.text);
    if text.trim().is_empty() {
        return Err(ReplyError::Blank);
    }
    let Some(start) = text.find('{') else { return Err(ReplyError::NoObject) };
    let text = &text[start..];
    // The first whole object counts, whatever follows it.
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = objects.next() {
        return Ok(Parsed { value, repaired: false });
    }
    let value = repair::repaired(text).ok_or(ReplyError::NoObject)?;
    Ok(Parsed { value, repaired: true })
}

/// Reasoning that a server leaves in the answer. If it never ends, there is no answer.
fn without_thoughts(text: &str) -> &str {
    let mut rest = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        // Some templates swallow the opening mark.
        if let Some((_, after)) = rest.rsplit_once(close) {
            rest = after.trim_start();
        } else if rest.starts_with(open) {
            return "";
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::chat::Usage;

    const GOOD: &str = r#"{"trigger":"Square root","boundary":[{"request":"Cube root.","skill":"qt/fridericia"}],"body":"QT / sqrt(RR)"}"#;

    fn reply(text: &str) -> Reply {
        let (usage, finish, model) = (Usage::default(), Finish::Stop, String::new());
        Reply { text: text.into(), usage, finish, model }
    }

    fn good() -> Page {
        let case = Case { request: "Cube root".into(), skill: Some(SkillId::new("qt/fridericia")) };
        Page { trigger: "Square root".into(), boundary: vec![case], body: "QT / sqrt(RR)".into() }
    }

    #[test]
    fn what_is_around_the_object_does_not_count() {
        for text in [
            GOOD.to_owned(),
            format!("```json\n{GOOD}\n```"),
            format!("<think>A {{tricky}} one </think>\n{GOOD}"),
            format!("so I think…</think>{GOOD}"),
            format!("Here is the page:\n\n{GOOD}\n\nAnything else? {{}}"),
            format!("\u{feff}{GOOD}"),
            GOOD.replace("Square root", "Square \\n\\u200b root"),
        ] {
            let parsed = page(&reply(&text)).unwrap();
            assert_eq!((parsed.value, parsed.repaired), (good(), false), "{text}");
        }
    }

    #[test]
    fn repair_is_the_last_resort_and_told() {
        for text in [
            GOOD.replace("}],", "},],"),
            GOOD.replace('"', "'"),
            GOOD.replace(r#""body""#, "body"),
            GOOD.replace("Square root\",", "Square root\""),
        ] {
            let parsed = page(&reply(&text)).unwrap();
            assert_eq!((parsed.value, parsed.repaired), (good(), true), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let check = |text: &str, expect: Expect| {
            expect.assert_eq(&page(&reply(text)).unwrap_err().to_string());
        };
        check(" \n", expect!["the answer is empty"]);
        check("<think>and so on", expect!["the answer is empty"]);
        check("I cannot do that.", expect!["the answer holds no JSON object"]);
        check(
            r#"{"trigger":"a","body":"b"}"#,
            expect!["the answer has not the form asked for: missing field `boundary`"],
        );
        check(
            r#"{"trigger":"a","boundary":"none","body":"b"}"#,
            expect![[
                r#"the answer has not the form asked for: invalid type: string "none", expected a sequence"#
            ]],
        );
        check(
            r#"{"trigger":"a","boundary":[{"request":"x"}],"body":"b"}"#,
            expect!["the answer has not the form asked for: missing field `skill`"],
        );
        check(
            r#"{"trigger":"a","boundary":[],"body":"b","why":"c"}"#,
            expect![[
                r#"the answer has not the form asked for: unknown field `why`, expected one of `trigger`, `boundary`, `body`"#
            ]],
        );
        let cut = Reply { finish: Finish::Length, ..reply(GOOD) };
        assert_eq!(page(&cut), Err(ReplyError::Truncated));
        let withheld = Reply { finish: Finish::Withheld, ..reply(GOOD) };
        assert_eq!(page(&withheld), Err(ReplyError::Withheld));
    }

    #[test]
    fn a_case_may_name_nobody() {
        let text = GOOD.replace(r#""qt/fridericia""#, "null");
        assert_eq!(page(&reply(&text)).unwrap().value.boundary[0].skill, None);
    }

    #[test]
    fn pages_of_a_neighborhood_are_one_each() {
        let skills = ["qt/bazett", "qt/fridericia"].map(crate::page::llm::tests::skill);
        let members: Vec<&Skill> = skills.iter().collect();
        let entry = |id: &str| GOOD.replacen('{', &format!(r#"{{"skill":"{id}","#), 1);
        let answer = |ids: &[&str]| {
            let entries: Vec<String> = ids.iter().map(|id| entry(id)).collect();
            pages(&reply(&format!(r#"{{"pages":[{}]}}"#, entries.join(","))), &members)
        };
        assert_eq!(answer(&["qt/fridericia", "qt/bazett"]).unwrap().value.len(), 2);
        assert_eq!(
            answer(&["qt/bazett"]),
            Err(ReplyError::MissingSkill { skill: SkillId::new("qt/fridericia") })
        );
        for ids in [&["qt/bazett", "qt/bazett"][..], &["qt/other"]] {
            assert!(matches!(answer(ids), Err(ReplyError::UnexpectedSkill { .. })));
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in "(\\{|\\}|\\[|\\]|\"|'|,|:|\\\\|trigger|boundary|null|年|[ -~]|\u{0}|\u{2028}){0,80}") {
            let _ = page(&reply(&text));
            let _ = page(&reply(&GOOD.replace("Square", &text)));
        }
    }
}
