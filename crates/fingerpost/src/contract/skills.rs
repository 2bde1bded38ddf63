//! What is answered about the skills of a library, and about one of them?

use schemars::JsonSchema;
use serde::Serialize;

use super::{Freshness, PageAnswer};
use crate::page::Status;
use crate::page::write::PageRow;
use crate::skill::SkillIdx;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::sources::{SourcedSentence, sources};

/// Characters of a content that are shown.
const SHOWN: usize = 200_000;

/// A part of the list of skills.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillsAnswer {
    /// How many there are that were asked for.
    pub total: usize,
    /// Some of them, in the order of their ids.
    pub skills: Vec<ListedSkill>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A skill in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedSkill {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The number of its neighborhood.
    pub neighborhood: u32,
    /// Whether there is a page, and whose word it is.
    pub status: Status,
    /// Is there something on its page for a person to look at?
    pub flagged: bool,
}

/// Which skills are listed.
#[derive(Debug, Clone, Default)]
pub struct SkillsFilter<'a> {
    /// Those with this in their id or name, whatever its case.
    pub text: &'a str,
    /// Those whose page is this.
    pub status: Option<Status>,
    /// How many are left out first.
    pub offset: usize,
    /// How many are listed at most.
    pub limit: usize,
}

impl SkillsAnswer {
    /// The skills that a filter lets pass.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        filter: &SkillsFilter<'_>,
    ) -> Result<Self, SnapshotError> {
        let text = filter.text.to_lowercase();
        let has_text = |skill: &SkillIdx| {
            let row = snapshot.row(*skill);
            let has = |said: &str| said.to_lowercase().contains(&text);
            text.is_empty() || has(row.id) || has(row.name)
        };
        // Pages are read only for those that are shown, but where they decide.
        let rows = filter.status.map(|_| snapshot.page_rows()).transpose()?;
        let has_status = |skill: &SkillIdx| {
            rows.is_none_or(|rows| Some(rows[skill.row()].status) == filter.status)
        };
        let found: Vec<SkillIdx> = snapshot.rows().filter(has_text).filter(has_status).collect();
        let shown = found.iter().skip(filter.offset).take(filter.limit);
        let skills =
            shown.map(|&skill| ListedSkill::of(snapshot, skill)).collect::<Result<_, _>>()?;
        Ok(Self { total: found.len(), skills, freshness })
    }
}

impl ListedSkill {
    fn of(snapshot: &Snapshot, skill: SkillIdx) -> Result<Self, SnapshotError> {
        let (row, page) = (snapshot.row(skill), snapshot.page_row(skill)?);
        Ok(Self {
            skill: row.id.to_owned(),
            name: row.name.to_owned(),
            description: row.description.to_owned(),
            neighborhood: snapshot.neighborhoods().of(skill).0,
            status: page.status,
            flagged: page.is_flagged(),
        })
    }
}

/// One skill, with its document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillAnswer {
    /// What a list says of it.
    #[serde(flatten)]
    pub listed: ListedSkill,
    /// What its author wrote below the description, as it is.
    pub content: String,
    /// Was the content cut, because it is too long to be shown?
    pub cut: bool,
    /// The file that it was read from.
    pub path: String,
    /// Its line there, for files that hold many.
    pub line: Option<u64>,
    /// All skills of its neighborhood, itself included, in the order of their ids.
    pub members: Vec<String>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl SkillAnswer {
    /// All that is known of a skill.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        skill: SkillIdx,
    ) -> Result<Self, SnapshotError> {
        let row = snapshot.row(skill);
        let mut content = snapshot.skill(skill)?.content;
        let end = content.char_indices().nth(SHOWN).map(|(end, _)| end);
        if let Some(end) = end {
            content.truncate(end);
        }
        let neighborhoods = snapshot.neighborhoods();
        let members = neighborhoods.members(neighborhoods.of(skill)).iter();
        Ok(Self {
            listed: ListedSkill::of(snapshot, skill)?,
            content,
            cut: end.is_some(),
            path: row.path.to_owned(),
            line: row.line,
            members: members.map(|&member| snapshot.row(member).id.to_owned()).collect(),
            freshness,
        })
    }
}

/// A page, and where each of its sentences came from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourcedPageAnswer {
    /// The page.
    #[serde(flatten)]
    pub page: PageAnswer,
    /// Its sentences, in their order.
    pub sources: Vec<SourcedSentence>,
}

impl SourcedPageAnswer {
    /// The page of a skill.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        skill: SkillIdx,
    ) -> Result<Self, SnapshotError> {
        let row: PageRow = snapshot.page_row(skill)?;
        let own = snapshot.skill(skill)?;
        let mut others = Vec::new();
        for rival in snapshot.rivals_of(skill)? {
            others.push(snapshot.skill(rival.skill)?);
        }
        let sources = row.page.as_ref().map_or_else(Vec::new, |page| sources(page, &own, &others));
        Ok(Self { page: PageAnswer::new(snapshot, freshness, &row), sources })
    }
}

/// A part of the list of pages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PagesAnswer {
    /// How many there are that were asked for.
    pub total: usize,
    /// Some of them: in the order of ids, or the worst first where only flagged ones were asked for.
    pub pages: Vec<PageAnswer>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl PagesAnswer {
    /// All pages, a part at a time.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        (offset, limit): (usize, usize),
    ) -> Result<Self, SnapshotError> {
        let shown = snapshot.rows().skip(offset).take(limit);
        let page = |skill| Ok(PageAnswer::new(snapshot, freshness, &snapshot.page_row(skill)?));
        let pages = shown.map(page).collect::<Result<_, SnapshotError>>()?;
        Ok(Self { total: snapshot.len(), pages, freshness })
    }

    /// Those that a person should look at, the worst first.
    pub fn flagged(
        snapshot: &Snapshot,
        freshness: Freshness,
        (offset, limit): (usize, usize),
    ) -> Result<Self, SnapshotError> {
        let rows = super::review::worst(snapshot.page_rows()?);
        let shown = rows.iter().skip(offset).take(limit);
        let pages = shown.map(|row| PageAnswer::new(snapshot, freshness, row)).collect();
        Ok(Self { total: rows.len(), pages, freshness })
    }
}
