//! How do all skills of a library get their pages?
//!
//! Neighborhood by neighborhood. A page's key says what it was written from: where it is known
//! already, nothing is written again. A draft that breaks a rule is not used; the skill then is
//! served by its document, and the row says why. What a person pinned stays.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::audit::audit;
use super::check::{Failure, Subject, check, check_exclusive};
use super::language::Language;
use super::local::{self, Draft, LocalConfig};
use super::round_trip::round_trip;
use super::{Page, Pages, Status};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::skill::{Skill, SkillId};

/// What writes pages.
#[derive(Debug, Clone, Copy)]
pub enum Writer {
    /// Chooses from the documents; no model.
    Local(LocalConfig),
}

/// What became of one skill's page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageRow {
    /// The skill.
    pub skill: SkillId,
    /// Digest of its document when the page was written.
    pub document: String,
    /// Digest of everything the page was written from.
    pub key: String,
    /// Whether there is a page, and whose word it is.
    pub status: Status,
    /// The page, unless the skill fell back to its document.
    pub page: Option<Page>,
    /// Who wrote it: the writer with version and settings.
    pub writer: String,
    /// For a fallback why; for a page what a person should look at.
    pub findings: Vec<Failure>,
    /// How well the page did in the round trip, 0 to 1.
    pub score: f64,
}

impl PageRow {
    /// Is there something for a person, or another writer, to look at?
    pub fn is_flagged(&self) -> bool {
        self.page.is_some() && !self.findings.is_empty()
    }
}

/// The rule of a pin whose document changed since.
pub const STALE: &str = "stale";

/// Which known pages are written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Again {
    /// None: what is known is taken over.
    #[default]
    Nothing,
    /// Those that are flagged or fell back.
    Flagged,
    /// All but the pinned ones.
    All,
}

/// How pages are to be written.
#[derive(Debug, Clone, Copy)]
pub struct WriteConfig {
    /// By whom.
    pub writer: Writer,
    /// Whether known ones count.
    pub again: Again,
    /// Smaller neighborhoods are written as if each member were alone.
    pub min_contrast: usize,
}

/// The rows of all skills, in the order of the library.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// One a skill.
    pub rows: Vec<PageRow>,
    /// How many were written now.
    pub fresh: usize,
}

/// Writes what is not known; `progress` hears how many skills are done.
pub fn write_pages(
    library: &Library,
    neighborhoods: &Neighborhoods,
    known: &[PageRow],
    config: &WriteConfig,
    progress: &(dyn Fn(usize) + Sync),
) -> Written {
    let known: BTreeMap<&SkillId, &PageRow> = known.iter().map(|row| (&row.skill, row)).collect();
    let skills = library.skills();
    let mut units: Vec<Vec<&Skill>> = Vec::with_capacity(neighborhoods.len());
    for (_, members) in neighborhoods.iter() {
        let members = members.iter().map(|member| &skills[member.row()]);
        if members.len() < config.min_contrast {
            units.extend(members.map(|skill| vec![skill]));
        } else {
            units.push(members.collect());
        }
    }
    let done = AtomicUsize::new(0);
    let written: Vec<(Vec<PageRow>, usize)> = units
        .par_iter()
        .map(|members| {
            let rows = write_neighborhood(members, &known, config);
            progress(done.fetch_add(members.len(), Ordering::Relaxed) + members.len());
            rows
        })
        .collect();
    let mut all = Written::default();
    for (rows, fresh) in written {
        all.rows.extend(rows);
        all.fresh += fresh;
    }
    all.rows.sort_by(|a, b| a.skill.cmp(&b.skill));
    all
}

fn write_neighborhood(
    members: &[&Skill],
    known: &BTreeMap<&SkillId, &PageRow>,
    config: &WriteConfig,
) -> (Vec<PageRow>, usize) {
    let Writer::Local(local) = &config.writer;
    let digests: Vec<String> =
        members.iter().map(|skill| skill.digest().to_hex().to_string()).collect();
    let documents = documents_digest(&digests);
    let mut rows: Vec<Option<PageRow>> = members
        .iter()
        .zip(&digests)
        .map(|(skill, digest)| {
            known.get(&skill.id).and_then(|row| taken_over(row, &documents, digest, config))
        })
        .collect();
    let fresh = rows.iter().filter(|row| row.is_none()).count();
    if fresh == 0 {
        return (rows.into_iter().flatten().collect(), 0);
    }
    let is_fresh: Vec<bool> = rows.iter().map(Option::is_none).collect();
    let row_of = |at: usize, draft: Page| {
        let writer = config.writer.identity();
        let findings = judge(&draft, members[at], members, config.writer.language(members[at]));
        let (status, page) = if findings.is_empty() {
            (Status::Written, Some(draft))
        } else {
            (Status::Fallback, None)
        };
        PageRow {
            skill: members[at].id.clone(),
            document: digests[at].clone(),
            key: key(&writer, &documents, &members[at].id),
            status,
            page,
            writer,
            findings,
            score: 1.0,
        }
    };
    for (at, draft) in local::write(members, local, Draft::First).into_iter().enumerate() {
        rows[at].get_or_insert_with(|| row_of(at, draft));
    }
    let mut rows: Vec<PageRow> = rows.into_iter().flatten().collect();
    keep_exclusive(members, &mut rows);
    look_back(members, &mut rows);
    let is_poor = |at: usize, row: &PageRow| is_fresh[at] && !row.findings.is_empty();
    if rows.iter().enumerate().any(|(at, row)| is_poor(at, row)) {
        let mut drafts = local::write(members, local, Draft::Second).into_iter();
        for at in 0..rows.len() {
            let draft = drafts.next().expect("a draft a member");
            if is_poor(at, &rows[at]) && rows[at].page.as_ref() != Some(&draft) {
                keep_better(members, &mut rows, at, row_of(at, draft));
            }
        }
    }
    (rows, fresh)
}

/// Puts another draft of a page in its place if it does better in the round trip and makes no other
/// page worse.
fn keep_better(members: &[&Skill], rows: &mut Vec<PageRow>, at: usize, draft: PageRow) {
    let total = |rows: &[PageRow]| rows.iter().map(|row| row.score).sum::<f64>();
    let mut tried = rows.clone();
    tried[at] = draft;
    keep_exclusive(members, &mut tried);
    look_back(members, &mut tried);
    if tried[at].score > rows[at].score && total(&tried) > total(rows) {
        *rows = tried;
    }
}

/// A known row, if it may stay: pinned, or written from the same documents. A row of another writer
/// stays too while the local one is at work, which costs nothing and knows less.
fn taken_over(
    row: &PageRow,
    documents: &str,
    digest: &str,
    config: &WriteConfig,
) -> Option<PageRow> {
    let mut row = row.clone();
    if row.status == Status::Pinned {
        row.findings.retain(|finding| finding.rule != STALE);
        if row.document != digest {
            let message = "the document has changed since this page was pinned; read it again, then edit, pin or unpin it";
            row.findings.push(Failure::new(STALE, message));
        }
        return Some(row);
    }
    let of_these = row.key == key(&row.writer, documents, &row.skill);
    let ours = match config.writer {
        Writer::Local(_) => {
            row.writer == config.writer.identity() || !row.writer.starts_with("local ")
        }
    };
    let wanted = match config.again {
        Again::Nothing => true,
        Again::Flagged => row.page.is_some() && row.findings.is_empty(),
        Again::All => false,
    };
    (of_these && ours && wanted).then_some(row)
}

/// Everything a page can be rejected for.
pub fn judge(page: &Page, skill: &Skill, members: &[&Skill], language: Language) -> Vec<Failure> {
    let neighbors: Vec<&Skill> =
        members.iter().copied().filter(|other| other.id != skill.id).collect();
    let subject = Subject { skill, neighbors: &neighbors, language };
    let mut failures = check(page, &subject);
    failures.extend(audit(page, &subject));
    failures
}

/// Of triggers that can hardly be told apart none helps: their skills fall back, unless pinned.
fn keep_exclusive(members: &[&Skill], rows: &mut [PageRow]) {
    let triggers: Vec<Option<&str>> =
        rows.iter().map(|row| row.page.as_ref().map(|page| page.trigger.as_str())).collect();
    for (at, failure) in check_exclusive(members, &triggers) {
        let row = &mut rows[at];
        if row.status == Status::Written {
            row.status = Status::Fallback;
            row.page = None;
        }
        row.findings.push(failure);
    }
}

/// What the round trip finds is noted on the rows; what a check said before stays.
pub(super) fn look_back(members: &[&Skill], rows: &mut [PageRow]) {
    let pages: Vec<Option<Page>> = rows.iter().map(|row| row.page.clone()).collect();
    for (row, trip) in rows.iter_mut().zip(round_trip(members, &pages)) {
        if row.page.is_some() {
            row.findings.retain(|finding| finding.rule == STALE);
            row.findings.extend(trip.findings);
        }
        row.score = if row.page.is_some() { trip.score } else { 0.0 };
    }
}

/// A page that did not come from the writer at work takes the place of a skill's row. The checks do
/// not overrule a person: what they find is noted.
pub fn adopt(
    page: Page,
    skill: &Skill,
    members: &[&Skill],
    rows: &[Option<&PageRow>],
    status: Status,
    writer: &str,
) -> PageRow {
    let mut findings = judge(&page, skill, members, Language::of_skill(skill));
    let at = members.iter().position(|member| member.id == skill.id).expect("a member");
    let mut pages: Vec<Option<Page>> =
        rows.iter().map(|row| row.and_then(|row| row.page.clone())).collect();
    pages[at] = Some(page.clone());
    let trip = round_trip(members, &pages).swap_remove(at);
    findings.extend(trip.findings);
    let digests: Vec<String> =
        members.iter().map(|skill| skill.digest().to_hex().to_string()).collect();
    PageRow {
        skill: skill.id.clone(),
        document: digests[at].clone(),
        key: key(writer, &documents_digest(&digests), &skill.id),
        status,
        page: Some(page),
        writer: writer.to_owned(),
        findings,
        score: trip.score,
    }
}

impl Writer {
    /// Everything that decides the pages of given documents.
    pub fn identity(&self) -> String {
        match self {
            Writer::Local(config) => config.identity(),
        }
    }

    /// The language of a skill's page.
    fn language(&self, skill: &Skill) -> Language {
        match self {
            Writer::Local(config) => config.language.unwrap_or_else(|| Language::of_skill(skill)),
        }
    }
}

pub(super) fn documents_digest(digests: &[String]) -> String {
    blake3::hash(digests.join(" ").as_bytes()).to_hex().to_string()
}

pub(super) fn key(writer: &str, documents: &str, skill: &SkillId) -> String {
    blake3::hash(format!("{writer}\n{documents}\n{skill}").as_bytes()).to_hex().to_string()
}

/// The pages of a library, by row, for what is built from them.
pub fn pages_of(rows: &[PageRow], library: &Library) -> Pages {
    let by_skill: BTreeMap<&SkillId, &PageRow> = rows.iter().map(|row| (&row.skill, row)).collect();
    let page = |skill: &Skill| by_skill.get(&skill.id).and_then(|row| row.page.clone());
    Pages::new(library.skills().iter().map(page).collect())
}
