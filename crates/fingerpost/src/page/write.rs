//! How do all skills of a library get their pages?
//!
//! Neighborhood by neighborhood, or each against its own rivals (`write/rivals.rs`). A page's key
//! says what it was written from: where it is known already, nothing is written again. A draft that
//! breaks a rule is not used; the skill then is served by its document, and the row says why. What a
//! person pinned stays.

mod rivals;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use self::rivals::write_against_rivals;
use super::audit::audit;
use super::check::{Failure, Subject, check, check_exclusive};
use super::faults::faults;
use super::language::Language;
use super::local::{self, Draft, LocalConfig};
use super::round_trip::{RoundTrip, round_trip};
use super::{Page, Status};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::protocol::Alone;
use crate::rivals::Rivals;
use crate::skill::{Skill, SkillId, SkillIdx};

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

    /// Did a person or a model write it for another document than there is now?
    pub fn is_stale(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule == STALE)
    }

    /// Notes what the round trip found, and what reads badly; what a check said before stays.
    fn look_back(&mut self, trip: RoundTrip, skill: &Skill) {
        let Some(page) = &self.page else {
            self.score = 0.0;
            return;
        };
        self.findings.retain(|finding| finding.breaks() || finding.rule == STALE);
        self.findings.extend(trip.findings);
        self.findings.extend(faults(page, skill));
        self.score = trip.score;
    }

    /// Notes whether the document is still the one that it was written for.
    fn compare_document(&mut self, digest: &str) {
        self.findings.retain(|finding| finding.rule != STALE);
        if self.page.is_none() || self.document == digest {
            return;
        }
        let message = match self.status {
            Status::Pinned => {
                "the document has changed since this page was pinned; read it again, then edit, pin or unpin it"
            }
            _ => {
                "the document has changed since this page was written; have it written again, or edit it"
            }
        };
        self.findings.push(Failure::new(STALE, message));
    }
}

/// The rule of a kept page whose document changed since.
pub const STALE: &str = "stale";

/// What is known of pages before any is written.
#[derive(Debug, Default)]
pub struct Known {
    /// What a person or money made, by skill: it stays, whatever the writer would write.
    pub kept: BTreeMap<SkillId, PageRow>,
    /// What the generation before had: taken over where it was written from the same.
    pub before: BTreeMap<SkillId, PageRow>,
    /// By what it was judged there.
    pub alone: Alone,
}

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
    /// How the local writer writes.
    pub local: LocalConfig,
    /// Whether known ones count.
    pub again: Again,
    /// Smaller neighborhoods are written as if each member were alone.
    pub min_contrast: usize,
    /// What the boundary of a skill that is alone is made of, if a model writes it.
    pub alone: Alone,
}

/// The rows of all skills, in the order of the library.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// One a skill.
    pub rows: Vec<PageRow>,
    /// How many were written now.
    pub fresh: usize,
}

/// Skills that are read side by side when pages are written.
#[derive(Debug, Clone)]
pub struct Company<'a> {
    /// In the order of their ids.
    pub members: Vec<&'a Skill>,
    /// The place of the one whose page is written, against the others as its rivals; `None` where each has its
    /// page written against all others.
    pub focal: Option<usize>,
    /// Skills whose documents say the same as the focal one's: nothing is written against them.
    pub copies: Vec<&'a Skill>,
}

impl<'a> Company<'a> {
    /// Skills that are all written against each other.
    pub fn of(members: Vec<&'a Skill>) -> Self {
        Self { members, focal: None, copies: Vec::new() }
    }

    /// Those whose pages are written in it.
    pub fn written(&self) -> &[&'a Skill] {
        self.focal.map_or(&self.members, |focal| &self.members[focal..=focal])
    }

    /// Digest of all documents that its pages are written from.
    pub(super) fn documents(&self) -> String {
        let digests: Vec<String> =
            self.members.iter().map(|skill| skill.digest().to_hex().to_string()).collect();
        documents_digest(&self.members, &digests, self.focal)
    }
}

/// The company of every skill: neighborhoods, and alone those that are too few to be contrasted.
pub fn neighborhoods<'a>(
    library: &'a Library,
    neighborhoods: &Neighborhoods,
    min_contrast: usize,
) -> Vec<Company<'a>> {
    let skills = library.skills();
    let mut companies = Vec::with_capacity(neighborhoods.len());
    for (_, members) in neighborhoods.iter() {
        let members = members.iter().map(|member| &skills[member.row()]);
        if members.len() < min_contrast {
            companies.extend(members.map(|skill| Company::of(vec![skill])));
        } else {
            companies.push(Company::of(members.collect()));
        }
    }
    companies
}

/// The company of every skill, in their order: itself with its rivals.
pub fn against_rivals<'a>(library: &'a Library, rivals: &Rivals) -> Vec<Company<'a>> {
    let skills = library.skills();
    let company = |row: u32| {
        let skill = SkillIdx(row);
        let mut members: Vec<SkillIdx> = rivals.of(skill).iter().map(|rival| rival.skill).collect();
        members.push(skill);
        members.sort_unstable();
        Company {
            focal: members.iter().position(|&member| member == skill),
            members: members.iter().map(|member| &skills[member.row()]).collect(),
            copies: rivals.copies(skill).iter().map(|copy| &skills[copy.row()]).collect(),
        }
    };
    (0..skills.len() as u32).map(company).collect()
}

/// Writes what is not known; `progress` hears how many skills are done.
pub fn write_pages(
    neighborhoods: &[Company<'_>],
    known: &Known,
    config: &WriteConfig,
    progress: &(dyn Fn(usize) + Sync),
) -> Written {
    let written: Vec<(Vec<PageRow>, usize)> = neighborhoods
        .par_iter()
        .map(|company| {
            let rows = write_neighborhood(&company.members, known, config);
            progress(company.members.len());
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
    known: &Known,
    config: &WriteConfig,
) -> (Vec<PageRow>, usize) {
    let digests: Vec<String> =
        members.iter().map(|skill| skill.digest().to_hex().to_string()).collect();
    let documents = documents_digest(members, &digests, None);
    let mut news = false;
    let mut rows: Vec<Option<PageRow>> = Vec::with_capacity(members.len());
    for (skill, digest) in members.iter().zip(&digests) {
        rows.push(match known.kept.get(&skill.id) {
            Some(kept) => {
                let (row, is_news) = kept_row(kept, known, (skill, digest), members, config.alone);
                news |= is_news;
                Some(row)
            }
            None => {
                let before = known.before.get(&skill.id);
                before.and_then(|row| taken_over(row, &documents, config))
            }
        });
    }
    let fresh = rows.iter().filter(|row| row.is_none()).count();
    if fresh == 0 && !news {
        return (rows.into_iter().flatten().collect(), 0);
    }
    let is_fresh: Vec<bool> = rows.iter().map(Option::is_none).collect();
    let row_of = |at: usize, draft: Page| {
        drafted(draft, members, at, (&documents, &digests[at]), &config.local)
    };
    if fresh > 0 {
        let drafts = local::write(members, &config.local, Draft::First).into_iter();
        for (at, draft) in drafts.enumerate() {
            rows[at].get_or_insert_with(|| row_of(at, draft));
        }
    }
    let mut rows: Vec<PageRow> = rows.into_iter().flatten().collect();
    keep_exclusive(members, &mut rows, &is_fresh);
    look_back(members, &mut rows);
    let is_poor = |at: usize, row: &PageRow| is_fresh[at] && !row.findings.is_empty();
    if rows.iter().enumerate().any(|(at, row)| is_poor(at, row)) {
        let mut drafts = local::write(members, &config.local, Draft::Second).into_iter();
        for at in 0..rows.len() {
            let draft = drafts.next().expect("a draft a member");
            if is_poor(at, &rows[at]) && rows[at].page.as_ref() != Some(&draft) {
                keep_better(members, &mut rows, &is_fresh, at, row_of(at, draft));
            }
        }
    }
    (rows, fresh)
}

/// The row of a draft: a fallback, if it breaks a rule. The digests are of all documents that it was
/// written from, and of its own.
fn drafted(
    draft: Page,
    members: &[&Skill],
    at: usize,
    (documents, document): (&str, &str),
    config: &LocalConfig,
) -> PageRow {
    let (skill, writer) = (members[at], config.identity());
    let language = config.language.unwrap_or_else(|| Language::of_skill(skill));
    // No local page has anything imagined.
    let findings = judge_as(&draft, skill, members, language, Alone::Document, &writer);
    let (status, page) =
        if findings.is_empty() { (Status::Written, Some(draft)) } else { (Status::Fallback, None) };
    PageRow {
        skill: skill.id.clone(),
        document: document.to_owned(),
        key: key(&writer, documents, &skill.id),
        status,
        page,
        writer,
        findings,
        score: 1.0,
    }
}

/// The row of a kept page: with what was found before, if it is the same; else judged now, which is
/// news to its neighbors. The checks do not overrule a person: what they find is noted.
fn kept_row(
    kept: &PageRow,
    known: &Known,
    (skill, digest): (&Skill, &str),
    members: &[&Skill],
    alone: Alone,
) -> (PageRow, bool) {
    let same = |before: &&PageRow| {
        (&before.page, before.status, &before.key, &before.document, &before.writer)
            == (&kept.page, kept.status, &kept.key, &kept.document, &kept.writer)
    };
    let before = known.before.get(&skill.id).filter(|_| known.alone == alone);
    let (mut row, is_news) = match before.filter(same) {
        Some(before) => (before.clone(), false),
        None => {
            let mut row = kept.clone();
            if let Some(page) = &row.page {
                let language = Language::of_skill(skill);
                row.findings = judge_as(page, skill, members, language, alone, &row.writer);
            }
            (row, true)
        }
    };
    row.compare_document(digest);
    (row, is_news)
}

/// Puts another draft of a page in its place if it does better in the round trip and makes no other
/// page worse.
fn keep_better(
    members: &[&Skill],
    rows: &mut Vec<PageRow>,
    is_fresh: &[bool],
    at: usize,
    draft: PageRow,
) {
    let total = |rows: &[PageRow]| rows.iter().map(|row| row.score).sum::<f64>();
    let mut tried = rows.clone();
    tried[at] = draft;
    keep_exclusive(members, &mut tried, is_fresh);
    look_back(members, &mut tried);
    if tried[at].score > rows[at].score && total(&tried) > total(rows) {
        *rows = tried;
    }
}

/// A row of this writer, if it was written from the same documents.
fn taken_over(row: &PageRow, documents: &str, config: &WriteConfig) -> Option<PageRow> {
    let same = row.writer == config.local.identity()
        && row.status != Status::Pinned
        && row.key == key(&row.writer, documents, &row.skill);
    let wanted = match config.again {
        Again::Nothing => true,
        Again::Flagged => row.page.is_some() && row.findings.is_empty(),
        Again::All => false,
    };
    (same && wanted).then(|| row.clone())
}

/// Everything a page can be rejected for.
pub fn judge(
    page: &Page,
    skill: &Skill,
    members: &[&Skill],
    language: Language,
    alone: Alone,
) -> Vec<Failure> {
    let neighbors: Vec<&Skill> =
        members.iter().copied().filter(|other| other.id != skill.id).collect();
    let subject = Subject { skill, neighbors: &neighbors, language, alone };
    let mut failures = check(page, &subject);
    failures.extend(audit(page, &subject));
    failures
}

/// As [`judge`], for a page of this writer. A model that leaves a field empty is asked again; anybody else may have
/// nothing to say that the document does not say already.
fn judge_as(
    page: &Page,
    skill: &Skill,
    members: &[&Skill],
    language: Language,
    alone: Alone,
    writer: &str,
) -> Vec<Failure> {
    let mut failures = judge(page, skill, members, language, alone);
    if !writer.starts_with(MODEL) {
        let of_models = ["empty", "no-neighbor", "no-case"];
        failures.retain(|failure| !of_models.contains(&failure.rule.as_str()));
    }
    failures
}

/// How the writers that are models call themselves.
const MODEL: &str = "llm ";

/// Of triggers that can hardly be told apart none helps: the skills whose pages are written now fall
/// back.
fn keep_exclusive(members: &[&Skill], rows: &mut [PageRow], is_fresh: &[bool]) {
    let triggers: Vec<Option<&str>> =
        rows.iter().map(|row| row.page.as_ref().map(|page| page.trigger.as_str())).collect();
    for (at, failure) in check_exclusive(members, &triggers) {
        not_exclusive(&mut rows[at], is_fresh[at], failure);
    }
}

/// A new page falls back, one that was there before is flagged.
fn not_exclusive(row: &mut PageRow, is_fresh: bool, failure: Failure) {
    if is_fresh && row.status == Status::Written {
        row.status = Status::Fallback;
        row.page = None;
    }
    if !row.findings.contains(&failure) {
        row.findings.push(failure);
    }
}

/// What the round trip finds, and what reads badly, is noted on the rows; what a check said before stays.
pub(super) fn look_back(members: &[&Skill], rows: &mut [PageRow]) {
    let pages: Vec<Option<Page>> = rows.iter().map(|row| row.page.clone()).collect();
    let trips = round_trip(members, &pages);
    for ((row, trip), skill) in rows.iter_mut().zip(trips).zip(members) {
        row.look_back(trip, skill);
    }
}

/// The row of a page that did not come from the writer at work.
pub fn adopt(
    page: Page,
    skill: &Skill,
    company: &Company<'_>,
    status: Status,
    writer: &str,
    alone: Alone,
) -> PageRow {
    let language = Language::of_skill(skill);
    PageRow {
        skill: skill.id.clone(),
        document: skill.digest().to_hex().to_string(),
        key: key(writer, &company.documents(), &skill.id),
        status,
        findings: judge_as(&page, skill, &company.members, language, alone, writer),
        page: Some(page),
        writer: writer.to_owned(),
        score: 1.0,
    }
}

/// Digest of all documents that a page is written from, and of whose they are: a page names its
/// neighbors by their ids. What one skill's rivals are read for is not what a neighborhood is read for.
fn documents_digest(members: &[&Skill], digests: &[String], focal: Option<usize>) -> String {
    let mut hasher = blake3::Hasher::new();
    if let Some(focal) = focal {
        hasher.update(format!("rivals of {}\n", members[focal].id).as_bytes());
    }
    for (skill, digest) in members.iter().zip(digests) {
        hasher.update(format!("{digest} {}\n", skill.id).as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

pub(super) fn key(writer: &str, documents: &str, skill: &SkillId) -> String {
    blake3::hash(format!("{writer}\n{documents}\n{skill}").as_bytes()).to_hex().to_string()
}
