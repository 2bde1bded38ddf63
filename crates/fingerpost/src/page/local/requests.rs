//! Which requests does a document by itself lead to expect?
//!
//! The baseline that pages are measured against: an index can be widened by likely requests that
//! are found without a look at the neighbors (doc2query). Without a model, they are what the author
//! gives as examples, says about when to use the skill, and says that it does, in this order.

use super::outline::{Kind, Part, outline};
use super::plain::{clause, cut};
use crate::skill::Skill;

/// Requests of a skill at most, as in the experiment that pages are compared with.
const MOST: usize = 5;

/// Characters of a request.
const LONGEST: usize = 160;

/// Shorter ones ask for nothing.
const SHORTEST: usize = 12;

/// Requests that should find this skill, by its document alone.
pub(crate) fn requests(skill: &Skill) -> Vec<String> {
    let parts = outline(skill).parts;
    let kinds: [&dyn Fn(&Part) -> bool; 4] = [
        &|part| part.kind == Kind::Example,
        &|part| part.kind == Kind::Described && part.says_when,
        &|part| matches!(part.kind, Kind::Prose | Kind::Item) && part.says_when,
        &|part| part.kind == Kind::Described && !part.says_when,
    ];
    let mut requests: Vec<String> = Vec::new();
    for part in kinds.iter().flat_map(|is| parts.iter().filter(|part| is(part))) {
        let request = clause(cut(&part.text, LONGEST));
        let told = requests.iter().any(|known| known == request);
        if requests.len() < MOST && !told && request.chars().count() >= SHORTEST {
            requests.push(request.to_owned());
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::name::tests::skill;

    #[test]
    fn examples_come_first_then_when_then_what() {
        let content = "# Merge\n\n## Example requests\n\n- put these two PDFs into one\n\n## When to use\n\n- Several scans belong together\n\n## Steps\n\nRun `pdfunite`.";
        let description =
            "Merges PDF files in order. Use when the user has several files and wants one.";
        assert_eq!(
            requests(&skill("pdf/merge", "pdf-merge", description, content)),
            [
                "put these two PDFs into one",
                "Use when the user has several files and wants one",
                "Several scans belong together",
                "Merges PDF files in order",
            ]
        );
        assert_eq!(requests(&skill("x", "x", "", "")), [""; 0]);
    }
}
