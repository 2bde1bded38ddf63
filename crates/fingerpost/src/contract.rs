//! What does each verb answer?
//!
//! One type a verb, for every door: the command line, HTTP and MCP print the same fields. Fields are
//! added, never renamed or removed. Every answer says of which generation it is.

mod cards;
mod doctor;
mod review;
mod shown;
mod skills;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::cards::{CardsAnswer, CompareAnswer, Detail, SkillCard, shown_line, shown_text};
pub use self::doctor::{DoctorAnswer, LedgerAnswer};
pub use self::review::{EmptyFields, ReviewAnswer, ReviewedRule};
pub use self::shown::{ShownCard, ShownCase};
pub use self::skills::{
    ListedSkill, PagesAnswer, SkillAnswer, SkillsAnswer, SkillsFilter, SourcedPageAnswer,
};
use crate::compile::CompileReport;
use crate::contrast::Contrast;
use crate::index::{Explanation, Hit};
use crate::page::write::PageRow;
use crate::page::{Case, Status};
use crate::protocol::Against;
use crate::rivals::Rival;
use crate::route::explain::Explained;
use crate::route::{Decision, Route};
use crate::search::Retriever;
use crate::skill::{SkillId, SkillIdx};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::view::Cards;

/// Which state of the atlas an answer is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Freshness {
    /// Counts the states of an atlas, from one.
    pub generation: u64,
    /// Has the library changed since, so that a later answer may be another?
    pub stale: bool,
}

/// A skill that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FoundSkill {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The file that it was read from.
    pub path: String,
    /// Its score; larger is better.
    pub score: f32,
    /// Its place, from one.
    pub rank: usize,
    /// Which terms gave which share of the score, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl FoundSkill {
    /// Hits in their order.
    pub fn list(snapshot: &Snapshot, hits: &[Hit]) -> Vec<Self> {
        let found = |(rank, hit): (usize, &Hit)| {
            let row = snapshot.row(hit.skill);
            Self {
                skill: row.id.to_owned(),
                name: row.name.to_owned(),
                description: row.description.to_owned(),
                path: row.path.to_owned(),
                score: hit.score,
                rank,
                explanation: None,
            }
        };
        (1..).zip(hits).map(found).collect()
    }
}

/// `search`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// The request.
    pub query: String,
    /// Best first.
    pub hits: Vec<FoundSkill>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// `route`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RouteAnswer {
    /// The request.
    pub request: String,
    /// Who chose: `local` or `llm`.
    pub chooser: &'static str,
    /// What the cards showed.
    pub cards: Cards,
    /// The decision.
    #[serde(flatten)]
    pub route: Route,
    /// The name of the chosen skill.
    pub name: Option<String>,
    /// Its file.
    pub path: Option<String>,
    /// What it was chosen from.
    pub hits: Vec<FoundSkill>,
    /// The cards of these, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Vec<ShownCard>>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl RouteAnswer {
    /// What a chooser decided among these hits.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        request: &str,
        chooser: &'static str,
        cards: Cards,
        (route, hits): (Route, &[Hit]),
    ) -> Self {
        let chosen = route.skill.as_deref().and_then(|id| snapshot.find(id));
        let chosen = chosen.map(|skill| snapshot.row(skill));
        Self {
            request: request.to_owned(),
            chooser,
            cards,
            name: chosen.map(|row| row.name.to_owned()),
            path: chosen.map(|row| row.path.to_owned()),
            route,
            hits: FoundSkill::list(snapshot, hits),
            shown: None,
            freshness,
        }
    }
}

/// `explain`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainAnswer {
    /// The request.
    pub request: String,
    /// What found the candidates.
    pub retriever: Retriever,
    /// Use a skill, or none.
    pub decision: Decision,
    /// The skill.
    pub skill: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its file.
    pub path: Option<String>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Why this one.
    pub reason: String,
    /// All candidates, taken apart.
    pub candidates: Vec<Explained>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// `neighbors`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NeighborsAnswer {
    /// The skill.
    pub skill: String,
    /// The number of its neighborhood.
    pub neighborhood: u32,
    /// How many skills that has.
    pub members: usize,
    /// Most similar first.
    pub neighbors: Vec<Neighbor>,
    /// What its page is written against.
    pub against: Against,
    /// The skills that its page is written against, the hardest to keep apart first.
    pub rivals: Vec<RivalSkill>,
    /// Skills whose documents say the same, where they are set apart from the rivals.
    pub copies: Vec<String>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A skill that is like another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Neighbor {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Cosine of their vectors.
    pub similarity: f32,
    /// In the same neighborhood?
    pub together: bool,
}

/// A skill that another one's page is written against.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RivalSkill {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// How nearly it wins requests meant for the other, 2 at most as a rule; in a neighborhood the cosine of
    /// their vectors.
    pub weight: f32,
}

impl RivalSkill {
    fn new(snapshot: &Snapshot, rival: &Rival) -> Self {
        let row = snapshot.row(rival.skill);
        Self {
            skill: row.id.to_owned(),
            name: row.name.to_owned(),
            description: row.description.to_owned(),
            weight: rival.weight,
        }
    }
}

impl NeighborsAnswer {
    /// The `k` skills that are most like one.
    pub fn new(
        snapshot: &Snapshot,
        freshness: Freshness,
        skill: SkillIdx,
        k: usize,
    ) -> Result<Self, SnapshotError> {
        let neighborhoods = snapshot.neighborhoods();
        let own = neighborhoods.of(skill);
        let neighbor = |(other, similarity): (SkillIdx, f32)| {
            let row = snapshot.row(other);
            Neighbor {
                skill: row.id.to_owned(),
                name: row.name.to_owned(),
                description: row.description.to_owned(),
                similarity,
                together: neighborhoods.of(other) == own,
            }
        };
        Ok(Self {
            skill: snapshot.row(skill).id.to_owned(),
            neighborhood: own.0,
            members: neighborhoods.members(own).len(),
            neighbors: snapshot.vectors()?.nearest(skill, k).into_iter().map(neighbor).collect(),
            against: snapshot.against(),
            rivals: snapshot
                .rivals_of(skill)?
                .iter()
                .map(|rival| RivalSkill::new(snapshot, rival))
                .collect(),
            copies: snapshot
                .copies_of(skill)
                .into_iter()
                .map(|copy| snapshot.row(copy).id.to_owned())
                .collect(),
            freshness,
        })
    }
}

/// `diff`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffAnswer {
    /// The first skill; `first` are the terms that speak for it.
    #[serde(rename = "first_skill")]
    pub first: String,
    /// The second.
    #[serde(rename = "second_skill")]
    pub second: String,
    /// Cosine of their vectors.
    pub similarity: f32,
    /// In the same neighborhood?
    pub together: bool,
    /// What pages are written against.
    pub against: Against,
    /// Is the page of one written against the other?
    pub rivals: bool,
    /// The terms that they share, and that each has alone.
    #[serde(flatten)]
    pub contrast: Contrast,
    /// Judged requests that belong to one of the two.
    pub requests: Vec<Contested>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A judged request that belongs to one of two skills.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Contested {
    /// Its id.
    pub query: String,
    /// What it says.
    pub text: String,
    /// Whose it is.
    pub belongs_to: String,
    /// The one of the two that search ranks higher; absent if it finds neither.
    pub wins: Option<String>,
}

/// `page show`, and each page of `page review`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PageAnswer {
    /// The skill.
    pub skill: SkillId,
    /// Whether there is a page, and whose word it is.
    pub status: Status,
    /// Requests that should select it.
    pub trigger: Option<String>,
    /// Look-alike requests that belong elsewhere, as text.
    pub boundary: Option<String>,
    /// The skills that the boundary names.
    pub references: Vec<SkillId>,
    /// The boundary, case by case.
    pub cases: Option<Vec<Case>>,
    /// The rule that makes it itself.
    pub body: Option<String>,
    /// What the checks found.
    pub checks: Vec<crate::page::check::Failure>,
    /// Share of round-trip tests passed.
    pub score: f64,
    /// Who wrote it, from what.
    pub provenance: Provenance,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// Where a page comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Provenance {
    /// Who wrote it.
    pub writer: String,
    /// Digest of everything it was written from.
    pub key: String,
    /// Digest of the document it was written for.
    pub document: String,
}

impl PageAnswer {
    /// A row as it is shown.
    pub fn new(snapshot: &Snapshot, freshness: Freshness, row: &PageRow) -> Self {
        let page = row.page.as_ref();
        Self {
            skill: row.skill.clone(),
            status: row.status,
            trigger: page.map(|page| page.trigger.clone()),
            boundary: page.map(|page| page.boundary_text(|id| snapshot.name_of(id))),
            references: page
                .map_or_else(Vec::new, |page| page.references().into_iter().cloned().collect()),
            cases: page.map(|page| page.boundary.clone()),
            body: page.map(|page| page.body.clone()),
            checks: row.findings.clone(),
            score: row.score,
            provenance: Provenance {
                writer: row.writer.clone(),
                key: row.key.clone(),
                document: row.document.clone(),
            },
            freshness,
        }
    }
}

/// `compile`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CompileAnswer<'a> {
    /// Skills.
    pub skills: usize,
    /// Neighborhoods, those of one included.
    pub neighborhoods: usize,
    /// Skills that are alone.
    pub singletons: usize,
    /// Size of the largest neighborhood.
    pub largest: usize,
    /// What made the vectors.
    pub embedder: String,
    /// How near look-alikes are.
    pub max_distance: f64,
    /// Skills with a page.
    pub pages: usize,
    /// Skills that are served by their documents.
    pub fallback: usize,
    /// Pages that a person should look at.
    pub flagged: usize,
    /// Pages that a person wrote or approved.
    pub pinned: usize,
    /// Pages whose documents changed after a person or a model wrote them.
    pub stale_pages: usize,
    /// Who wrote most pages.
    pub writer: &'a str,
    /// What was done, if anything was.
    #[serde(flatten)]
    pub report: Option<&'a CompileReport>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl<'a> CompileAnswer<'a> {
    /// What a compilation came to.
    pub fn new(
        snapshot: &'a Snapshot,
        freshness: Freshness,
        report: Option<&'a CompileReport>,
    ) -> Self {
        let head = snapshot.head();
        Self {
            skills: snapshot.len(),
            neighborhoods: head.neighborhoods.count,
            singletons: head.neighborhoods.singletons,
            largest: head.neighborhoods.largest,
            embedder: head.profile.key(),
            max_distance: head.calibration.max_distance,
            pages: head.pages.pages,
            fallback: head.pages.fallback,
            flagged: head.pages.flagged,
            pinned: head.pages.pinned,
            stale_pages: head.pages.stale,
            writer: head.main_writer(),
            report,
            freshness,
        }
    }
}
