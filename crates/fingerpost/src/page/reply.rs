//! Which pages did a model write?

use serde::Deserialize;

use super::{Case, Page};
use crate::chat::Reply;
use crate::prompt::one_line;
use crate::reply::{Parsed, ReplyError, form, object};
use crate::skill::{Skill, SkillId};
use crate::text::tidy;

/// Characters of a model's words that are repeated to it.
const MAX_REPEATED: usize = 80;

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
            _ => {
                let skill = one_line(&skill, MAX_REPEATED);
                return Err(ReplyError::UnexpectedSkill { skill });
            }
        }
    }
    let found = found.into_iter().zip(members);
    let found = found.map(|(page, member)| {
        page.ok_or_else(|| ReplyError::MissingSkill { skill: member.id.clone() })
    });
    Ok(Parsed { value: found.collect::<Result<_, _>>()?, repaired })
}

fn to_page(trigger: String, boundary: Vec<CaseForm>, body: String) -> Page {
    let case = |CaseForm { request, skill }: CaseForm| {
        let request = tidy(&request).trim_end_matches(['.', '。', ':', '：']).to_owned();
        Case::new(request, skill.filter(|id| !id.is_empty()).map(SkillId::new))
    };
    Page {
        trigger: tidy(&trigger),
        boundary: boundary.into_iter().map(case).collect(),
        body: tidy(&body),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::chat::{Finish, Usage};

    const GOOD: &str = r#"{"trigger":"Square root","boundary":[{"request":"Cube root.","skill":"qt/fridericia"}],"body":"QT / sqrt(RR)"}"#;

    fn reply(text: &str) -> Reply {
        let (usage, finish, model) = (Usage::default(), Finish::Stop, String::new());
        Reply { text: text.into(), usage, finish, model }
    }

    fn good() -> Page {
        let case = Case::new("Cube root", Some(SkillId::new("qt/fridericia")));
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
