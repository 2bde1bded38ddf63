//! How is each skill's page written against its own rivals?
//!
//! A neighborhood is written at once; here the page that a rival gets is written in other company. So the
//! work goes in steps, each for all skills side by side: drafts; which of them are nearly a rival's; the
//! round trip beside the pages that the rivals have by now; a second draft where that went badly; and the
//! round trip again where a second draft changed something. A page whose rivals' pages are as they
//! were is left alone.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::{
    Company, Failure, Known, PageRow, WriteConfig, Written, drafted, kept_row, not_exclusive,
    taken_over,
};
use crate::page::Page;
use crate::page::check::check_exclusive;
use crate::page::local::{self, Draft, Outline, outline};
use crate::page::round_trip::{RoundTrip, round_trip, round_trip_of};
use crate::skill::SkillId;

/// A skill's row on the way.
struct Step {
    row: PageRow,
    /// Written now.
    is_fresh: bool,
    /// Not the row that the rivals' round trips have seen before.
    is_news: bool,
}

/// Writes what is not known of skills that have a company each; `progress` hears how many are done.
pub fn write_against_rivals(
    companies: &[Company<'_>],
    known: &Known,
    config: &WriteConfig,
    progress: &(dyn Fn(usize) + Sync),
) -> Written {
    let library = Together::of(companies);
    let mut steps: Vec<Step> =
        (0..companies.len()).into_par_iter().map(|at| library.draft(at, known, config)).collect();

    // Judged by the drafts alone, all at once: of two triggers that are nearly one, neither stays.
    let alike: Vec<_> = (0..steps.len())
        .into_par_iter()
        .map(|at| library.is_touched(at, &steps).then(|| library.alike(at, &steps)).flatten())
        .collect();
    for (step, failure) in steps.iter_mut().zip(alike) {
        if let Some(failure) = failure {
            not_exclusive(&mut step.row, step.is_fresh, failure);
        }
    }
    let touched: Vec<usize> =
        (0..steps.len()).filter(|&at| library.is_touched(at, &steps)).collect();
    library.look_back(&touched, &mut steps);

    let second: Vec<Option<PageRow>> = (0..steps.len())
        .into_par_iter()
        .map(|at| {
            let better = library.second(at, &steps, config);
            progress(1);
            better
        })
        .collect();
    let mut changed = vec![false; steps.len()];
    for (at, better) in second.into_iter().enumerate() {
        if let Some(row) = better {
            (steps[at].row, changed[at]) = (row, true);
        }
    }
    let touched: Vec<usize> = (0..steps.len())
        .filter(|&at| library.places[at].iter().any(|&member| changed[member]))
        .collect();
    library.look_back(&touched, &mut steps);

    let fresh = steps.iter().filter(|step| step.is_fresh).count();
    let mut rows: Vec<PageRow> = steps.into_iter().map(|step| step.row).collect();
    rows.sort_by(|a, b| a.skill.cmp(&b.skill));
    Written { rows, fresh }
}

fn focal(company: &Company<'_>) -> usize {
    company.focal.expect("a company of rivals has a focal skill")
}

/// All companies, and where their members stand among all skills.
struct Together<'a> {
    companies: &'a [Company<'a>],
    places: Vec<Vec<usize>>,
    /// What each skill's document says: it is read in ten companies, and outlined once.
    outlines: Vec<OnceLock<Outline>>,
}

impl<'a> Together<'a> {
    fn of(companies: &'a [Company<'a>]) -> Self {
        let own = |company: &'a Company<'a>| &company.members[focal(company)].id;
        let at: BTreeMap<&SkillId, usize> = companies.iter().map(own).zip(0..).collect();
        let places = |company: &Company<'_>| {
            let ids = company.members.iter().map(|member| &member.id);
            ids.map(|id| at[id]).collect()
        };
        let places = companies.iter().map(places).collect();
        let outlines = companies.iter().map(|_| OnceLock::new()).collect();
        Self { companies, places, outlines }
    }

    /// The page that is known, or a first draft.
    fn draft(&self, at: usize, known: &Known, config: &WriteConfig) -> Step {
        let company = &self.companies[at];
        let (members, place) = (&company.members, focal(company));
        let skill = members[place];
        let digest = skill.digest().to_hex().to_string();
        if let Some(kept) = known.kept.get(&skill.id) {
            let (row, is_news) = kept_row(kept, known, (skill, &digest), members, config.alone);
            return Step { row, is_fresh: false, is_news };
        }
        let documents = company.documents();
        let before = known.before.get(&skill.id);
        if let Some(row) = before.and_then(|row| taken_over(row, &documents, config)) {
            return Step { row, is_fresh: false, is_news: false };
        }
        let page = self.page(at, config, Draft::First);
        let row = drafted(page, members, place, (&documents, &digest), &config.local);
        Step { row, is_fresh: true, is_news: true }
    }

    fn page(&self, at: usize, config: &WriteConfig, draft: Draft) -> Page {
        let company = &self.companies[at];
        let places = self.places[at].iter().zip(&company.members);
        let outlines = places
            .map(|(&place, skill)| self.outlines[place].get_or_init(|| outline(skill)))
            .collect();
        local::write_one(&company.members, outlines, focal(company), &config.local, draft)
    }

    /// Has its own page, or a rival's, changed?
    fn is_touched(&self, at: usize, steps: &[Step]) -> bool {
        self.places[at].iter().any(|&member| steps[member].is_news)
    }

    fn pages(&self, at: usize, steps: &[Step]) -> Vec<Option<Page>> {
        self.places[at].iter().map(|&member| steps[member].row.page.clone()).collect()
    }

    /// Is its trigger nearly that of a rival?
    fn alike(&self, at: usize, steps: &[Step]) -> Option<Failure> {
        let pages = self.pages(at, steps);
        self.alike_among(at, &pages)
    }

    fn alike_among(&self, at: usize, pages: &[Option<Page>]) -> Option<Failure> {
        let company = &self.companies[at];
        let triggers: Vec<Option<&str>> =
            pages.iter().map(|page| page.as_ref().map(|page| page.trigger.as_str())).collect();
        let mut failures = check_exclusive(&company.members, &triggers).into_iter();
        failures.find(|(place, _)| *place == focal(company)).map(|(_, failure)| failure)
    }

    /// Has each of these rows tested beside its rivals' pages.
    fn look_back(&self, rows: &[usize], steps: &mut [Step]) {
        let trips: Vec<_> = rows
            .par_iter()
            .map(|&at| {
                let company = &self.companies[at];
                let pages = self.pages(at, steps);
                round_trip_of(focal(company), &company.members, &pages, &company.copies)
            })
            .collect();
        for (&at, trip) in rows.iter().zip(trips) {
            let company = &self.companies[at];
            steps[at].row.look_back(trip, company.members[focal(company)]);
        }
    }

    /// A second draft of a page that did badly, if it does better and makes no rival's page worse.
    fn second(&self, at: usize, steps: &[Step], config: &WriteConfig) -> Option<PageRow> {
        let Step { row, is_fresh, .. } = &steps[at];
        if !is_fresh || row.findings.is_empty() {
            return None;
        }
        let company = &self.companies[at];
        let place = focal(company);
        let draft = self.page(at, config, Draft::Second);
        if row.page.as_ref() == Some(&draft) {
            return None;
        }
        let from = (company.documents(), company.members[place].digest().to_hex().to_string());
        let mut tried = drafted(draft, &company.members, place, (&from.0, &from.1), &config.local);
        let mut pages = self.pages(at, steps);
        let total = |pages: &[Option<Page>]| -> (f64, f64) {
            let trips = round_trip(&company.members, pages);
            let score = |(trip, page): (&RoundTrip, &Option<Page>)| match page {
                Some(_) => trip.score,
                None => 0.0,
            };
            let scores: Vec<f64> = trips.iter().zip(pages).map(score).collect();
            (scores[place], scores.iter().sum())
        };
        let before = total(&pages);
        pages[place].clone_from(&tried.page);
        if let Some(failure) = self.alike_among(at, &pages) {
            not_exclusive(&mut tried, true, failure);
            pages[place].clone_from(&tried.page);
        }
        let after = total(&pages);
        (after.0 > before.0 && after.1 > before.1).then_some(tried)
    }
}
