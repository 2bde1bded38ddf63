//! Which pages are wanted of a model, and what is kept of what it wrote?
//!
//! The atlas has a row for every skill already, from whoever wrote before. Rows of this model with
//! these settings stay, and pinned ones; the rest is wanted. What the model wrote is kept page by
//! page; what is pending leaves the row as it was, so that a run that stops halfway loses nothing.

use std::collections::BTreeMap;

use super::{Neighborhood, Wanted, Written};
use crate::page::Status;
use crate::page::write::{Again, Company, PageRow, key};
use crate::skill::{Skill, SkillId};

/// What is wanted of skills in their company; those of which nothing is are left out. `identity` is the
/// writer's, with its settings. Of a skill's rivals nothing is wanted: each is asked for in its own company,
/// perhaps at the same time, so that whose trigger is nearly another's is found afterwards.
pub fn wanted<'a>(
    companies: &[Company<'a>],
    rows: &[PageRow],
    identity: &str,
    again: Again,
) -> Vec<Neighborhood<'a>> {
    let rows = by_skill(rows);
    companies.iter().filter_map(|company| wanted_in(company, &rows, identity, again)).collect()
}

fn by_skill(rows: &[PageRow]) -> BTreeMap<&SkillId, &PageRow> {
    rows.iter().map(|row| (&row.skill, row)).collect()
}

/// What is wanted in one company, if anything is.
fn wanted_in<'a>(
    company: &Company<'a>,
    rows: &BTreeMap<&SkillId, &PageRow>,
    identity: &str,
    again: Again,
) -> Option<Neighborhood<'a>> {
    let documents = company.documents();
    let Company { members, focal, .. } = company.clone();
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
    let wanted = |(at, skill): (usize, &&Skill)| match focal {
        Some(focal) if focal != at => Wanted::Nothing(None),
        _ => wanted(skill),
    };
    let wanted: Vec<Wanted> = members.iter().enumerate().map(wanted).collect();
    let is_wanted = |wanted: &Wanted| !matches!(wanted, Wanted::Nothing(_));
    wanted.iter().any(is_wanted).then_some(Neighborhood { members, wanted, focal })
}

/// A piece of work that one worker does: the pages that are wanted in one company.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    /// Digest of the writer and of all that the pages are written from: any machine finds the unit by it.
    pub key: String,
    /// Who is read side by side.
    pub company: Company<'a>,
    /// What is wanted of whom.
    pub work: Neighborhood<'a>,
}

impl Unit<'_> {
    /// How many pages are wanted.
    pub fn pages(&self) -> usize {
        self.work.wanted.iter().filter(|wanted| !matches!(wanted, Wanted::Nothing(_))).count()
    }

    /// The first skill whose page is wanted: what people know the unit by.
    pub fn skill(&self) -> Option<&SkillId> {
        let skills = self.work.members.iter().zip(&self.work.wanted);
        let mut wanted = skills.filter(|(_, wanted)| !matches!(wanted, Wanted::Nothing(_)));
        wanted.next().map(|(skill, _)| &skill.id)
    }
}

/// The same as [`wanted`], as pieces of work for many machines, in the order of the companies.
pub fn units<'a>(
    companies: &[Company<'a>],
    rows: &[PageRow],
    identity: &str,
    again: Again,
) -> Vec<Unit<'a>> {
    let rows = by_skill(rows);
    let unit = |company: &Company<'a>| {
        let work = wanted_in(company, &rows, identity, again)?;
        let key = unit_key(identity, &company.documents());
        Some(Unit { key, company: company.clone(), work })
    };
    companies.iter().filter_map(unit).collect()
}

fn unit_key(identity: &str, documents: &str) -> String {
    blake3::hash(format!("unit\n{identity}\n{documents}").as_bytes()).to_hex().to_string()
}

/// What became of a skill, as it is kept; `None` if nothing new did.
pub fn row(
    skill: &Skill,
    company: &Company<'_>,
    written: &Written,
    identity: &str,
) -> Option<PageRow> {
    let (status, page, findings) = match written {
        Written::Page(page, _) => (Status::Written, Some(page.clone()), Vec::new()),
        Written::Fallback(reasons) => (Status::Fallback, None, reasons.clone()),
        Written::Kept | Written::Pending => return None,
    };
    Some(PageRow {
        skill: skill.id.clone(),
        document: skill.digest().to_hex().to_string(),
        key: key(identity, &company.documents(), &skill.id),
        status,
        page,
        writer: identity.to_owned(),
        findings,
        score: 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;
    use crate::neighborhood::Neighborhoods;
    use crate::page::Page;
    use crate::page::check::Failure;
    use crate::page::llm::tests::skill;
    use crate::page::write::neighborhoods;
    use crate::skill::SkillIdx;

    const WRITER: &str = "llm m";

    fn library() -> Library {
        Library::from_skills(["a/1", "a/2", "b"].map(skill).to_vec()).value
    }

    fn companies(library: &Library, min_contrast: usize) -> Vec<Company<'_>> {
        let pair = vec![vec![SkillIdx(0), SkillIdx(1)], vec![SkillIdx(2)]];
        neighborhoods(library, &Neighborhoods::new(pair), min_contrast)
    }

    fn page(trigger: &str) -> Page {
        Page { trigger: trigger.into(), boundary: vec![], body: "the rule of a/1".into() }
    }

    fn rows(library: &Library, written: [Written; 3]) -> Vec<PageRow> {
        let companies = companies(library, 2);
        let company = |skill: &Skill| {
            companies.iter().find(|company| company.members.iter().any(|m| m.id == skill.id))
        };
        let skills = library.skills().iter().zip(&written);
        skills
            .filter_map(|(skill, written)| row(skill, company(skill).unwrap(), written, WRITER))
            .collect()
    }

    #[test]
    fn what_is_written_is_not_wanted_again_until_its_documents_change() {
        let library = library();
        let reasons = vec![Failure::new("reply", "the answer is empty")];
        let done = [
            Written::Page(page("the rule of a/1"), 1),
            Written::Fallback(reasons),
            Written::Pending,
        ];
        let rows = rows(&library, done);
        let ids: Vec<&str> = rows.iter().map(|row| row.skill.as_str()).collect();
        assert_eq!(ids, ["a/1", "a/2"], "what is pending has no row");
        assert_eq!((rows[0].status, rows[1].status), (Status::Written, Status::Fallback));
        assert_eq!(rows[1].findings[0].rule, "reply");

        let groups = wanted(&companies(&library, 2), &rows, WRITER, Again::Nothing);
        assert_eq!(groups.len(), 1, "only b is left");
        assert_eq!(groups[0].members[0].id.as_str(), "b");
        let groups = wanted(&companies(&library, 2), &rows, WRITER, Again::Flagged);
        assert_eq!(groups[0].wanted[1], Wanted::Page, "a fallback is tried again when asked for");
        let groups = wanted(&companies(&library, 2), &rows, "llm other", Again::Nothing);
        assert_eq!(groups.len(), 2, "another writer is another page");

        let mut changed = ["a/1", "a/2", "b"].map(skill);
        changed[1].content.push_str(" One more line.");
        let changed = Library::from_skills(changed.to_vec()).value;
        let groups = wanted(&companies(&changed, 2), &rows, WRITER, Again::Nothing);
        assert_eq!(groups[0].wanted, [Wanted::Page, Wanted::Page], "a neighbor changed");
        let mut renamed = ["a/1", "a/3", "b"].map(skill);
        renamed[1] = Skill { id: SkillId::new("a/3"), ..skill("a/2") };
        let renamed = Library::from_skills(renamed.to_vec()).value;
        let groups = wanted(&companies(&renamed, 2), &rows, WRITER, Again::Nothing);
        assert_eq!(groups[0].wanted[0], Wanted::Page, "a neighbor has another id");
    }

    #[test]
    fn pins_stay() {
        let library = library();
        let written = |trigger: &str| Written::Page(page(trigger), 1);
        let mut before = rows(&library, [written("first"), written("second"), written("b")]);
        before[0].status = Status::Pinned;
        before.iter_mut().for_each(|row| row.writer = "local 1".into());
        let groups = wanted(&companies(&library, 2), &before, WRITER, Again::Nothing);
        assert_eq!(groups[0].wanted[0], Wanted::Nothing(Some(page("first"))));
        assert_eq!(groups[0].wanted[1], Wanted::Page);
        // Two members alone, where contrast wants three.
        let groups = wanted(&companies(&library, 3), &[], WRITER, Again::Nothing);
        assert_eq!(groups.len(), 3);
    }
}
