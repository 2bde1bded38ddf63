//! Does a text name a skill?

use crate::skill::Skill;

/// Does `text`, on the page of `of`, name `skill`? A name of one ordinary word ("search") that the
/// page's own skill uses too is a word there, not a name.
pub fn mentions(text: &str, skill: &Skill, of: &Skill) -> bool {
    has_any(text, &forms(skill, of))
}

/// What `skill` is called, in lower case, where that is not a word of `of` itself.
pub(crate) fn forms(skill: &Skill, of: &Skill) -> Vec<String> {
    let own = format!("{}\n{}", of.name, of.description).to_lowercase();
    let mut forms = vec![skill.name.to_lowercase(), skill.id.as_str().to_lowercase()];
    forms.dedup();
    forms.retain(|form| {
        let telling = form.chars().count() >= 3 && form.chars().any(char::is_alphabetic);
        telling && !contains_name(&own, form)
    });
    forms
}

/// Does a text have one of these names?
pub(crate) fn has_any(text: &str, forms: &[String]) -> bool {
    if forms.is_empty() {
        return false;
    }
    let text = text.to_lowercase();
    forms.iter().any(|form| contains_name(&text, form))
}

/// Where `name` stands in `text` as a whole; both in lower case.
pub(crate) fn contains_name(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, found)| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + found.len()..].chars().next().is_some_and(is_word);
        // Chinese has no spaces to tell a word's end by.
        let spaced = name.is_ascii();
        !spaced || (!before && !after)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::skill::{Invocation, Origin, SkillId};

    /// A skill of these words.
    pub(crate) fn skill(id: &str, name: &str, description: &str, content: &str) -> Skill {
        Skill {
            id: SkillId::new(id),
            name: name.into(),
            description: description.into(),
            content: content.into(),
            fields: Default::default(),
            invocation: Invocation::Automatic,
            origin: Origin { file: "test".into(), line: None },
        }
    }

    #[test]
    fn whole_names_count_and_own_words_do_not() {
        let merge = skill("pdf/merge", "pdf-merge", "Joins files", "");
        let of = skill("pdf/split", "pdf-split", "Parts a file", "");
        assert!(mentions("Undo with pdf-merge.", &merge, &of));
        assert!(mentions("Undo with PDF/merge.", &merge, &of));
        assert!(!mentions("Undo with pdf-merge-all.", &merge, &of));
        let search = skill("search", "search", "Finds", "");
        let own = skill("x", "web", "Full-text search of the web", "");
        assert!(!mentions("Use search operators.", &search, &own));
        assert!(mentions("Use search operators.", &search, &of));
    }
}
