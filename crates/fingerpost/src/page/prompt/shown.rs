//! Under which ids and names is a neighborhood shown to a model?
//!
//! As its library has them, if they are as long as ids and names are. A longer one would take the room
//! of the neighbors' documents, in the prompt, in the form of the answer and in every reference, so it is
//! shown cut; a cut id ends with a digest, so that it stands for one skill only, and is put back in
//! what the model answers.

use std::borrow::Cow;

use crate::page::Page;
use crate::prompt::one_line;
use crate::skill::{Skill, SkillId};

/// Characters of an id that is shown as it is.
const LONGEST_ID: usize = 200;

/// Characters of a name that is shown as it is.
const LONGEST_NAME: usize = 120;

/// Characters of a long id or name that are shown.
const SHOWN: usize = 60;

/// The members of a neighborhood as a model sees them, in the same order.
pub(crate) struct Shown<'a> {
    members: Vec<Cow<'a, Skill>>,
    ids: Vec<&'a SkillId>,
}

impl<'a> Shown<'a> {
    pub(crate) fn of(members: &[&'a Skill]) -> Self {
        let is_short = |skill: &Skill| {
            is_within(skill.id.as_str(), LONGEST_ID) && is_within(&skill.name, LONGEST_NAME)
        };
        let shown = |skill: &&'a Skill| match is_short(skill) {
            true => Cow::Borrowed(*skill),
            false => Cow::Owned(Skill {
                id: SkillId::new(short_id(skill.id.as_str(), members)),
                name: short_name(&skill.name),
                ..Skill::clone(skill)
            }),
        };
        let ids = members.iter().map(|skill| &skill.id).collect();
        Self { members: members.iter().map(shown).collect(), ids }
    }

    /// The members, with short ids and names.
    pub(crate) fn skills(&self) -> Vec<&Skill> {
        self.members.iter().map(AsRef::as_ref).collect()
    }

    /// A page with the ids that are shown for those of the library.
    pub(crate) fn page(&self, page: &Page) -> Page {
        let shown = self.members.iter().map(|skill| &skill.id);
        renamed(page, &self.ids.iter().copied().zip(shown).collect::<Vec<_>>())
    }

    /// A page with the ids of the library for those that are shown.
    pub(crate) fn restored(&self, page: &Page) -> Page {
        let shown = self.members.iter().map(|skill| &skill.id);
        renamed(page, &shown.zip(self.ids.iter().copied()).collect::<Vec<_>>())
    }
}

fn renamed(page: &Page, ids: &[(&SkillId, &SkillId)]) -> Page {
    let mut page = page.clone();
    for id in page.boundary.iter_mut().filter_map(|case| case.skill.as_mut()) {
        if let Some((_, to)) = ids.iter().find(|(from, _)| *from == id) {
            *id = SkillId::clone(to);
        }
    }
    page
}

fn is_within(text: &str, characters: usize) -> bool {
    text.chars().nth(characters).is_none()
}

fn short_name(name: &str) -> String {
    match is_within(name, LONGEST_NAME) {
        true => name.to_owned(),
        false => one_line(name, SHOWN),
    }
}

/// An id that no member has.
fn short_id(id: &str, members: &[&Skill]) -> String {
    if is_within(id, LONGEST_ID) {
        return id.to_owned();
    }
    let start: String = id.chars().take(SHOWN).collect();
    let short = |round: u32| {
        let digest =
            blake3::Hasher::new().update(id.as_bytes()).update(&round.to_le_bytes()).finalize();
        format!("{start}…{}", &digest.to_hex()[..16])
    };
    let is_free = |short: &String| members.iter().all(|member| member.id.as_str() != short);
    (0..).map(short).find(is_free).expect("a neighborhood is finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::page::llm::tests::skill;

    fn page_naming(id: &str) -> Page {
        let case = Case::new("x", Some(SkillId::new(id)));
        Page { trigger: "t".into(), boundary: vec![case], body: "b".into() }
    }

    #[test]
    fn what_is_short_is_shown_as_it_is() {
        let skills = [skill("a/1"), skill("年终奖")];
        let members: Vec<&Skill> = skills.iter().collect();
        let shown = Shown::of(&members);
        let is_same = |(shown, own): (&&Skill, &&Skill)| std::ptr::eq(*shown, *own);
        assert!(shown.skills().iter().zip(&members).all(is_same));
    }

    #[test]
    fn a_long_id_is_cut_and_put_back() {
        let long = "x".repeat(1 << 20);
        let mut skills = vec![skill(&format!("{long}1")), skill(&format!("{long}2")), skill("b")];
        // Somebody who foresaw how the first one is shown.
        let foreseen = Shown::of(&[&skills[0]]).skills()[0].id.clone();
        skills.push(skill(foreseen.as_str()));
        let members: Vec<&Skill> = skills.iter().collect();
        let shown = Shown::of(&members);
        let mut ids: Vec<&str> = shown.skills().iter().map(|skill| skill.id.as_str()).collect();
        assert!(ids.iter().all(|id| id.len() < 100), "{ids:?}");
        for (id, real) in ids.iter().zip(&skills) {
            let restored = shown.restored(&page_naming(id));
            assert_eq!(restored.references(), [&real.id]);
            assert_eq!(shown.page(&restored), page_naming(id));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4, "each stands for one skill");
        assert!(shown.skills().iter().all(|skill| skill.name.chars().count() < 100));
    }
}
