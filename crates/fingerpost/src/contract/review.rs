//! What does `page review` answer?

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Freshness, PageAnswer};
use crate::page::write::PageRow;
use crate::skill::SkillId;
use crate::snapshot::{Snapshot, SnapshotError};

/// What the checks found of one kind, over the whole atlas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedRule {
    /// The rule's name.
    pub rule: String,
    /// Skills that it was found on.
    pub skills: usize,
    /// Does it keep a page from being used?
    pub breaks: bool,
    /// The first of them, in the order of their ids.
    pub examples: Vec<SkillId>,
}

/// Skills that stand for a rule.
const EXAMPLES: usize = 5;

/// `page review`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReviewAnswer {
    /// Pages that a person should look at.
    pub flagged: usize,
    /// Skills without a page.
    pub fallback: usize,
    /// Fields that are empty, because the document has nothing to say there beyond its description.
    pub empty: EmptyFields,
    /// What was found, the commonest first.
    pub rules: Vec<ReviewedRule>,
    /// The worst first, as many as were asked for.
    pub pages: Vec<PageAnswer>,
    /// Of which state.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl ReviewAnswer {
    /// The worst `k` pages: one that misleads is worse than none, and of those the one that fails
    /// most tests.
    pub fn new(snapshot: &Snapshot, freshness: Freshness, k: usize) -> Result<Self, SnapshotError> {
        let all = snapshot.page_rows()?;
        let (rules, empty) = (reviewed(all), EmptyFields::of(all));
        let mut rows = worst(all);
        let flagged = rows.iter().filter(|row| row.is_flagged()).count();
        let fallback = rows.len() - flagged;
        rows.truncate(k);
        let pages = rows.into_iter().map(|row| PageAnswer::new(snapshot, freshness, row)).collect();
        Ok(Self { flagged, fallback, empty, rules, pages, freshness })
    }
}

/// Pages with findings, the worst first.
pub(super) fn worst(all: &[PageRow]) -> Vec<&PageRow> {
    let mut rows: Vec<&PageRow> = all.iter().filter(|row| !row.findings.is_empty()).collect();
    rows.sort_by(|a, b| {
        let flagged = b.is_flagged().cmp(&a.is_flagged());
        flagged.then(a.score.total_cmp(&b.score)).then_with(|| a.skill.cmp(&b.skill))
    });
    rows
}

/// How many pages have nothing in a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EmptyFields {
    /// No trigger.
    pub trigger: usize,
    /// No boundary.
    pub boundary: usize,
    /// No body.
    pub body: usize,
}

impl EmptyFields {
    fn of(rows: &[PageRow]) -> Self {
        let mut empty = Self::default();
        for page in rows.iter().filter_map(|row| row.page.as_ref()) {
            empty.trigger += usize::from(page.trigger.is_empty());
            empty.boundary += usize::from(page.boundary.is_empty());
            empty.body += usize::from(page.body.is_empty());
        }
        empty
    }
}

/// What was found on all rows, by rule.
fn reviewed(rows: &[PageRow]) -> Vec<ReviewedRule> {
    let mut rules: BTreeMap<&str, ReviewedRule> = Default::default();
    for row in rows {
        let mut seen: Vec<&str> = Vec::new();
        for finding in &row.findings {
            // A skill counts once a rule, however often it breaks it.
            if seen.contains(&finding.rule.as_str()) {
                continue;
            }
            seen.push(&finding.rule);
            let found = rules.entry(&finding.rule).or_insert_with(|| ReviewedRule {
                rule: finding.rule.clone(),
                skills: 0,
                breaks: finding.breaks(),
                examples: Vec::new(),
            });
            found.skills += 1;
            if found.examples.len() < EXAMPLES {
                found.examples.push(row.skill.clone());
            }
        }
    }
    let mut rules: Vec<ReviewedRule> = rules.into_values().collect();
    // Stable, so that equal ones stay in the order of their names.
    rules.sort_by_key(|rule| Reverse(rule.skills));
    rules
}
