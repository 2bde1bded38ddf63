//! Which pages are wanted of a model, and what is kept of what it wrote?
//!
//! The atlas has a row for every skill already, from whoever wrote before. Rows of this model with
//! these settings stay, and pinned ones; the rest is wanted. What the model wrote takes the row's
//! place; what is pending leaves it as it was, so that a run that stops halfway loses nothing.

use std::collections::BTreeMap;

use super::{Neighborhood, Outcome, Wanted, Written};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::page::Status;
use crate::page::write::{Again, PageRow, documents_digest, key, look_back};
use crate::skill::{Skill, SkillId};

/// The neighborhoods of which something is wanted. `identity` is the writer's, with its settings;
/// smaller neighborhoods than `min_contrast` are written as if each member were alone.
pub fn wanted<'a>(
    library: &'a Library,
    neighborhoods: &Neighborhoods,
    min_contrast: usize,
    rows: &[PageRow],
    identity: &str,
    again: Again,
) -> Vec<Neighborhood<'a>> {
    let rows: BTreeMap<&SkillId, &PageRow> = rows.iter().map(|row| (&row.skill, row)).collect();
    let skills = library.skills();
    let mut all = Vec::new();
    for (_, members) in neighborhoods.iter() {
        let members: Vec<&Skill> = members.iter().map(|member| &skills[member.row()]).collect();
        if members.len() < min_contrast {
            all.extend(members.into_iter().map(|skill| vec![skill]));
        } else {
            all.push(members);
        }
    }
    let neighborhoods = all.into_iter().map(|members| {
        let documents = documents_of(&members);
        let wanted = |skill: &&Skill| {
            let Some(row) = rows.get(&skill.id) else { return Wanted::Page };
            let ours = row.writer == identity && row.key == key(identity, &documents, &skill.id);
            match (row.status, again, &row.page) {
                (Status::Pinned, ..) => Wanted::Nothing(row.page.clone()),
                _ if !ours => Wanted::Page,
                (_, Again::Nothing, page) => Wanted::Nothing(page.clone()),
                (_, Again::Flagged, Some(page)) if row.findings.is_empty() => {
                    Wanted::Nothing(Some(page.clone()))
                }
                (_, _, Some(page)) if !row.findings.is_empty() => {
                    Wanted::Better(page.clone(), row.findings.clone())
                }
                _ => Wanted::Page,
            }
        };
        let wanted = members.iter().map(wanted).collect();
        Neighborhood { members, wanted }
    });
    let is_wanted = |wanted: &Wanted| !matches!(wanted, Wanted::Nothing(_));
    neighborhoods.filter(|neighborhood| neighborhood.wanted.iter().any(is_wanted)).collect()
}

/// The rows that changed, in the order of ids. The round trip of a neighborhood is made again, so
/// members that were not written may have other findings now.
pub fn rows(
    neighborhoods: &[Neighborhood<'_>],
    outcome: &Outcome,
    identity: &str,
    before: &[PageRow],
) -> Vec<PageRow> {
    let before: BTreeMap<&SkillId, &PageRow> = before.iter().map(|row| (&row.skill, row)).collect();
    let mut changed = Vec::new();
    for (Neighborhood { members, .. }, written) in neighborhoods.iter().zip(&outcome.written) {
        let news = |written: &Written| matches!(written, Written::Page(..) | Written::Fallback(_));
        if !written.iter().any(news) {
            continue;
        }
        let documents = documents_of(members);
        let row = |(skill, written): (&&Skill, &Written)| {
            let (status, page, findings) = match written {
                Written::Page(page, _) => (Status::Written, Some(page.clone()), Vec::new()),
                Written::Fallback(reasons) => (Status::Fallback, None, reasons.clone()),
                Written::Kept | Written::Pending => {
                    return before.get(&skill.id).copied().cloned();
                }
            };
            Some(PageRow {
                skill: skill.id.clone(),
                document: skill.digest().to_hex().to_string(),
                key: key(identity, &documents, &skill.id),
                status,
                page,
                writer: identity.to_owned(),
                findings,
                score: 1.0,
            })
        };
        let rows: Vec<Option<PageRow>> = members.iter().zip(written).map(row).collect();
        // A member without a row has no page either: the others are tested without it.
        let with_rows: Vec<&Skill> = members
            .iter()
            .zip(&rows)
            .filter(|(_, row)| row.is_some())
            .map(|(skill, _)| *skill)
            .collect();
        let mut rows: Vec<PageRow> = rows.into_iter().flatten().collect();
        look_back(&with_rows, &mut rows);
        changed.extend(rows);
    }
    changed.sort_by(|a, b| a.skill.cmp(&b.skill));
    changed
}

fn documents_of(members: &[&Skill]) -> String {
    let digests: Vec<String> =
        members.iter().map(|skill| skill.digest().to_hex().to_string()).collect();
    documents_digest(&digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::page::check::Failure;
    use crate::page::llm::tests::skill;
    use crate::reply::Tally;
    use crate::skill::SkillIdx;

    const WRITER: &str = "llm m";

    fn library() -> Library {
        Library::from_skills(["a/1", "a/2", "b"].map(skill).to_vec()).value
    }

    fn neighborhoods() -> Neighborhoods {
        Neighborhoods::new(vec![vec![SkillIdx(0), SkillIdx(1)], vec![SkillIdx(2)]])
    }

    fn page(trigger: &str) -> Page {
        Page { trigger: trigger.into(), boundary: vec![], body: "the rule of a/1".into() }
    }

    fn run(library: &Library, before: &[PageRow], written: Vec<Vec<Written>>) -> Vec<PageRow> {
        let groups = wanted(library, &neighborhoods(), 2, before, WRITER, Again::Nothing);
        let outcome = Outcome { written, tally: Tally::default(), stopped: None };
        rows(&groups, &outcome, WRITER, before)
    }

    #[test]
    fn what_is_written_is_not_wanted_again_until_its_documents_change() {
        let library = library();
        let written = |trigger: &str| Written::Page(page(trigger), 1);
        let reasons = vec![Failure::new("reply", "the answer is empty")];
        let done = vec![
            vec![written("the rule of a/1"), Written::Fallback(reasons)],
            vec![Written::Pending],
        ];
        let rows = run(&library, &[], done);
        let ids: Vec<&str> = rows.iter().map(|row| row.skill.as_str()).collect();
        assert_eq!(ids, ["a/1", "a/2"], "what is pending has no row");
        assert_eq!((rows[0].status, rows[1].status), (Status::Written, Status::Fallback));
        assert_eq!(rows[1].findings[0].rule, "reply");

        let groups = wanted(&library, &neighborhoods(), 2, &rows, WRITER, Again::Nothing);
        assert_eq!(groups.len(), 1, "only b is left");
        assert_eq!(groups[0].members[0].id.as_str(), "b");
        let groups = wanted(&library, &neighborhoods(), 2, &rows, WRITER, Again::Flagged);
        assert_eq!(groups[0].wanted[1], Wanted::Page, "a fallback is tried again when asked for");
        let groups = wanted(&library, &neighborhoods(), 2, &rows, "llm other", Again::Nothing);
        assert_eq!(groups.len(), 2, "another writer is another page");

        let mut changed = ["a/1", "a/2", "b"].map(skill);
        changed[1].content.push_str(" One more line.");
        let changed = Library::from_skills(changed.to_vec()).value;
        let groups = wanted(&changed, &neighborhoods(), 2, &rows, WRITER, Again::Nothing);
        assert_eq!(groups[0].wanted, [Wanted::Page, Wanted::Page], "a neighbor changed");
    }

    #[test]
    fn pins_stay_and_pending_rows_are_as_they_were() {
        let library = library();
        let written = |trigger: &str| Written::Page(page(trigger), 1);
        let mut before =
            run(&library, &[], vec![vec![written("first"), written("second")], vec![written("b")]]);
        before[0].status = Status::Pinned;
        before.iter_mut().for_each(|row| row.writer = "local 1".into());
        let groups = wanted(&library, &neighborhoods(), 2, &before, WRITER, Again::Nothing);
        assert_eq!(groups[0].wanted[0], Wanted::Nothing(Some(page("first"))));
        let done = vec![vec![Written::Kept, Written::Pending], vec![written("new")]];
        let rows = run(&library, &before, done);
        assert_eq!(rows.len(), 1, "nothing changed in the first neighborhood");
        assert_eq!((rows[0].skill.as_str(), rows[0].writer.as_str()), ("b", WRITER));
        // Two members alone, where contrast wants three.
        let groups = wanted(&library, &neighborhoods(), 3, &[], WRITER, Again::Nothing);
        assert_eq!(groups.len(), 3);
    }
}
